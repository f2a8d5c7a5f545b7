"""Charts as others install them: rendered, brought along, upgraded, of earlier releases."""

from __future__ import annotations

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

NODE = """\
apiVersion: v1
kind: Node
metadata:
  name: ip-10-0-1-2
  labels: {node.kubernetes.io/instance-type: g5.12xlarge, nvidia.com/gpu.present: "true"%s}
spec:
  taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]
"""
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu}
data:
  none: "version: v1"
  renamed: |
    version: v1
    sharing:
      timeSlicing:
        renameByDefault: true
        resources: [{name: nvidia.com/gpu, replicas: 4}]
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: work}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - {name: main, image: "example.com/app:1", resources: {limits: {%s: 1}}}
"""


def daemon_set(name: str, program: str) -> str:
    """As the chart's templates write them, each with config-manager beside the program."""
    return f"""\
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: {name}, namespace: gpu}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      tolerations: [{{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}}]
      containers:
        - name: sidecar
          image: nvcr.io/nvidia/k8s-device-plugin:v0.20.0
          command: [config-manager]
          env:
            - {{name: NODE_LABEL, value: nvidia.com/device-plugin.config}}
            - {{name: CONFIG_FILE_SRCDIR, value: /available-configs}}
            - {{name: CONFIG_FILE_DST, value: /config/config.yaml}}
            - {{name: DEFAULT_CONFIG, value: none}}
            - {{name: FALLBACK_STRATEGIES, value: "named,single"}}
          volumeMounts:
            - {{name: available, mountPath: /available-configs}}
            - {{name: config, mountPath: /config}}
        - name: main
          image: nvcr.io/nvidia/k8s-device-plugin:v0.20.0
          command: [{program}]
          env: [{{name: CONFIG_FILE, value: /config/config.yaml}}]
          volumeMounts: [{{name: config, mountPath: /config}}]
      volumes:
        - {{name: available, configMap: {{name: shares}}}}
        - {{name: config, emptyDir: {{}}}}
"""


def codes(**files: str) -> list[str]:
    given = [
        GivenFile(name.replace("__", "/").replace("_", "."), text) for name, text in files.items()
    ]
    return [
        finding.code
        for report in lint_files(given)
        for finding in report.findings
        if finding.severity != "info"
    ]


def cluster(label: str, resource: str) -> str:
    parts = [
        daemon_set("plugin", "nvidia-device-plugin"),
        daemon_set("gfd", "gpu-feature-discovery"),
    ]
    return "---\n".join([NODE % label, MAP, *parts, POD % resource])


def test_feature_discovery_with_config_manager_is_no_second_plugin() -> None:
    assert codes(all_yaml=cluster("", "nvidia.com/gpu")) == []


def test_the_label_of_the_node_chooses_the_configuration_of_a_plugin_written_out() -> None:
    label = ", nvidia.com/device-plugin.config: renamed"

    assert codes(all_yaml=cluster(label, "nvidia.com/gpu.shared")) == []
    assert codes(all_yaml=cluster(label, "nvidia.com/gpu")) == ["GPU1110"]
    assert codes(all_yaml=cluster("", "nvidia.com/gpu.shared")) == ["GPU1110"]


CHART = """\
apiVersion: v2
name: mine
version: 0.1.0
dependencies:
  - name: nvidia-device-plugin
    alias: plugin
    version: %s
    condition: plugin.enabled
"""


def test_what_a_chart_brings_along_is_known_by_alias_condition_and_version() -> None:
    values = "plugin:\n  enabled: true\n  nfd: {enableNodeFeatureApi: true}\n  unheardOf: 1\n"

    assert codes(c__Chart_yaml=CHART % "0.17.1", c__values_yaml=values) == ["GPU1034"]
    assert codes(c__Chart_yaml=CHART % "~0.17", c__values_yaml=values) == []
    off = values.replace("true\n  nfd", "false\n  nfd")
    assert codes(c__Chart_yaml=CHART % "0.17.1", c__values_yaml=off) == []


def test_an_upgrade_keeps_values_that_are_not_to_be_seen() -> None:
    group = "eksctl create nodegroup --cluster a --name g --node-type g5.xlarge\n"
    keeps = "helm upgrade o nvidia/gpu-operator --reuse-values --set mig.strategy=mixed\n"

    assert codes(up_sh=f"{group}{keeps}") == []
    assert codes(up_sh=f"{group}helm upgrade o nvidia/gpu-operator --version v26.7.0\n") == []
    assert "GPU1180" in codes(up_sh=f"{group}helm install o nvidia/gpu-operator\n")


def test_a_compute_domain_makes_the_template_that_its_pods_name() -> None:
    domain = (
        "apiVersion: resource.nvidia.com/v1beta1\nkind: ComputeDomain\n"
        "metadata: {name: d, namespace: a}\n"
        "spec: {numNodes: 2, channel: {resourceClaimTemplate: {name: channel}}}\n---\n"
    )
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\nspec:\n"
        "  containers: [{name: c, image: 'x:1', resources: {claims: [{name: ch}]}}]\n"
        "  resourceClaims: [{name: ch, resourceClaimTemplateName: channel}]\n"
    )

    assert codes(all_yaml=domain + pod) == []


def test_a_pool_of_cpu_types_is_no_gpu_pool() -> None:
    pool = (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: cpu}\nspec:\n"
        "  template:\n    spec:\n      nodeClassRef: "
        "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}\n      requirements:\n"
        "        - {key: node.kubernetes.io/instance-type, operator: In, values: [%s]}\n"
    )

    assert codes(pool_yaml=pool % "c5.xlarge, m5.large") == []
    assert codes(pool_yaml=pool % "$INSTANCE_TYPE") == []
    assert {"GPU1078", "GPU1079"} <= {*codes(pool_yaml=pool % "c5.xlarge, g5.xlarge")}


LAYOUT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: layouts}
data:
  config.yaml: |
    version: v1
    mig-configs:
      uneven: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 9}}]
"""
RAW = "resources:\n- " + LAYOUT.replace("\n", "\n  ")
INLINE = "releases:\n- name: layouts\n  chart: bedag/raw\n  values:\n  - " + RAW.replace(
    "\n", "\n    "
)
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: layouts}
spec:
  chart: {spec: {chart: raw, version: 2.0.0}}
  values:
    """ + RAW.replace("\n", "\n    ")


def test_objects_in_values_are_read_as_such() -> None:
    for text in (LAYOUT, RAW, INLINE, RELEASE):
        assert "GPU1032" in codes(a_yaml=text)
    for before, after in (("kind: ConfigMap", "type: ConfigMap"), ("resources:", "objects:")):
        assert codes(a_yaml=RAW.replace(before, after)) == []
