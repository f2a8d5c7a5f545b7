"""Classes of what users reported of nodes, images, drivers and charts in November 2026."""

from __future__ import annotations

import pytest
from linted import said_of as said

from eks_gpushare.findings.defects import CHECK_FAILED

GROUP = """\
module "eks" {
  source          = "terraform-aws-modules/eks/aws"
  version         = "20.37.0"
  cluster_name    = "ml"
  cluster_version = "VERSION"
  vpc_id          = "vpc-1"
  subnet_ids      = ["subnet-1", "subnet-2"]
  eks_managed_node_groups = {
    gpu = {
      instance_types        = ["g6.xlarge"]
      block_device_mappings = { xvda = { device_name = "/dev/xvda", ebs = { volume_size = 200 } } }
      taints = { gpu = { key = "nvidia.com/gpu", value = "true", effect = "NO_SCHEDULE" } }
      GIVEN
    }
  }
}
"""
NVIDIA = 'ami_type = "AL2023_x86_64_NVIDIA"'


def group(given: str, version: str = "1.32") -> str:
    """A node group of the EKS module."""
    return GROUP.replace("GIVEN", given).replace("VERSION", version)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ('ami_type = "AL2023_X86_64_NVIDIA"', True),
        ('ami_type = "al2023-x86_64-nvidia"', True),
        (f'{NVIDIA}\n      capacity_type = "spot"', True),
        (f'{NVIDIA}\n      capacity_type = "SPOT"', False),
        ('ami_type = "AL2027_x86_64_NVIDIA"', False),  # may have come since
        ("ami_type = var.ami_type", False),
    ],
)
def test_words_of_eks_are_spelled_as_it_has_them(given: str, *, wrong: bool) -> None:
    assert ("GPU1081" in said(main__tf=group(given))) is wrong


def test_words_of_eks_in_a_template() -> None:
    template = """\
AWSTemplateFormatVersion: "2010-09-09"
Resources:
  Gpu:
    Type: AWS::EKS::Nodegroup
    Properties:
      ClusterName: ml
      InstanceTypes: [g6.xlarge]
      AmiType: AL2023_X86_64_NVIDIA
      CapacityType: ON_DEMAND
"""

    assert "GPU1081" in said(stack__yaml=template)
    assert "GPU1081" not in said(stack__yaml=template.replace("X86", "x86"))


CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: gpu}
spec:
  role: node
  amiSelectorTerms: [{alias: ALIAS}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
  blockDeviceMappings:
    - {deviceName: /dev/xvda, ebs: {volumeSize: 200Gi, encrypted: true}}
    - {deviceName: /dev/xvdb, ebs: {volumeSize: 200Gi, encrypted: true}}
  userData: |
    [settings.kubernetes]
    max-pods = 50
SETTINGS
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {nvidia.com/gpu: "8"}
  template:
    metadata: {labels: {pool: gpu}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [TYPE]}
"""


def pool(alias: str, kind: str = "g5.xlarge", *settings: str) -> str:
    """A NodePool with its class."""
    lines = "".join(f"    {each}\n" for each in settings)
    text = CLASS.replace("ALIAS", alias).replace("TYPE", kind).replace("SETTINGS\n", lines)
    if alias.startswith("al2023"):
        head, _, rest = text.partition("  userData: |\n")
        text = head + "---" + rest.partition("---")[2]
    return text


SLICED = (
    "[settings.kubelet-device-plugins.nvidia]",
    'device-sharing-strategy = "time-slicing"',
    "[settings.kubelet-device-plugins.nvidia.time-slicing]",
    "replicas = 4",
)
MIG = (
    "[settings.kubelet-device-plugins.nvidia]",
    'device-partitioning-strategy = "mig"',
)
MPS = (*SLICED[:1], 'device-sharing-strategy = "mps"', *SLICED[2:3], *SLICED[3:])
BOOT = ("[settings.bootstrap-containers.a]", 'mode = "once"')


@pytest.mark.parametrize(
    ("alias", "kind", "settings", "wrong"),
    [
        ("al2023@v20250410", "gr6.4xlarge", (), True),
        ("al2023@v20250501", "gr6.4xlarge", (), False),
        ("al2023@v20250410", "g6.4xlarge", (), False),
        ("al2023@latest", "gr6.4xlarge", (), False),
        ("bottlerocket@v1.24.1", "g5.xlarge", SLICED, True),
        ("bottlerocket@v1.25.0", "g5.xlarge", SLICED, False),
        ("bottlerocket@latest", "g5.xlarge", SLICED, False),
        ("bottlerocket@v1.33.0", "p4d.24xlarge", MIG, True),
        ("bottlerocket@v1.34.0", "p4d.24xlarge", MIG, False),
        ("bottlerocket@v1.53.0", "g5.xlarge", MPS, True),
        ("bottlerocket@v1.62.0", "g5.xlarge", (*SLICED[:1], "enabled = false"), True),
        ("bottlerocket@v1.63.0", "g5.xlarge", (*SLICED[:1], "enabled = false"), False),
        ("bottlerocket@v1.30.0", "g5.xlarge", BOOT, True),
        ("bottlerocket@v1.30.0", "g5.xlarge", (*BOOT, 'source = "a/b:1"'), False),
        ("bottlerocket@v1.30.0", "g5.xlarge", (BOOT[0], 'mode = "off"'), False),
        ("bottlerocket@v1.40.0", "g5.xlarge", BOOT, False),
    ],
)
def test_a_pinned_image_knows_what_its_nodes_are_told(
    alias: str, kind: str, settings: tuple[str, ...], *, wrong: bool
) -> None:
    assert ("GPU1280" in said(pool__yaml=pool(alias, kind, *settings))) is wrong


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        (("[settings.kubernetes.node-taints]", '"a.b/c" = "x:NO_SCHEDULE"'), True),
        (("[settings.kubernetes.node-taints]", '"a.b/c" = ["x:NO_SCHEDULE"]'), True),
        (("[settings.kubernetes.node-taints]", '"a.b/c" = "x:NoSchedule"'), False),
        ((BOOT[0], 'mode = "first"'), True),
        (("[settings.host-containers.mine]", "enabled = true"), True),
        (("[settings.host-containers.mine]", "enabled = false"), False),
        (("[settings.host-containers.admin]", "enabled = true"), False),
    ],
)
def test_settings_of_bottlerocket_are_ones_that_it_takes(
    settings: tuple[str, ...], *, wrong: bool
) -> None:
    codes = said(pool__yaml=pool("bottlerocket@v1.57.0", "g5.xlarge", *settings))

    assert ("GPU1082" in codes) is wrong


@pytest.mark.parametrize(
    ("version", "wrong"), [("v1alpha", True), ("v1", True), ("v1alpha1", False)]
)
def test_a_node_config_is_of_a_version_that_there_is(version: str, *, wrong: bool) -> None:
    given = f"""{NVIDIA}
      cloudinit_pre_nodeadm = [{{
        content_type = "application/node.eks.aws"
        content      = <<-EOT
          apiVersion: node.eks.aws/{version}
          kind: NodeConfig
          spec:
            kubelet:
              flags:
                - --node-labels=a=b
        EOT
      }}]"""

    assert ("GPU1086" in said(main__tf=group(given))) is wrong


PLUGIN = """\
resource "helm_release" "plugin" {
  name       = "nvdp"
  namespace  = "nvidia"
  repository = "https://nvidia.github.io/k8s-device-plugin"
  chart      = "nvidia-device-plugin"
  version    = "0.17.4"
  values     = [yamlencode({ gfd = { enabled = VALUE } })]
}
"""


@pytest.mark.parametrize("gfd", ["true", "false"])
def test_nodes_of_kubernetes_1_35_label_themselves(gfd: str) -> None:
    """So the plugin's chart finds them, with an NFD that is kept off or with none."""
    chart = PLUGIN.replace("VALUE", gfd)
    code = {"true": "GPU1100", "false": "GPU1101"}[gfd]

    assert code in said(main__tf=group(NVIDIA, "1.34"), plugin__tf=chart)
    assert code not in said(main__tf=group(NVIDIA, "1.35"), plugin__tf=chart)
    assert code in said(
        main__tf=group('ami_type = "AL2_x86_64_GPU"', "1.35"), plugin__tf=chart
    )  # nodeadm is of AL2023


def argo(chart: str, version: str, values: str, release: str = "") -> str:
    """An Application of a chart."""
    indented = "".join(f"          {line}\n" for line in values.splitlines())
    named = f"      releaseName: {release}\n" if release else ""
    return f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: {chart}, namespace: argocd}}
spec:
  project: default
  destination: {{server: https://kubernetes.default.svc, namespace: nvidia}}
  source:
    repoURL: https://example.com/charts
    chart: {chart}
    targetRevision: {version}
    helm:
{named}      values: |
{indented}"""


CLUSTER = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: eu-west-1, version: "1.32"}
managedNodeGroups:
  - {name: gpu, instanceType: g6.xlarge, amiFamily: AmazonLinux2023, minSize: 1, maxSize: 2}
"""


@pytest.mark.parametrize(
    ("config", "wrong"),
    [
        ("{}", True),
        ("{deviceLabelFields: [class, vendor]}", True),
        ("{deviceLabelFields: [vendor]}", False),
        ('{deviceLabelFields: [vendor], deviceClassWhitelist: ["0200"]}', True),
        ('{deviceLabelFields: [vendor], deviceClassWhitelist: ["0200", "0302"]}', False),
    ],
)
def test_nfd_labels_as_the_plugin_goes_by(config: str, *, wrong: bool) -> None:
    nfd = argo(
        "node-feature-discovery", "0.17.2", f"worker: {{config: {{sources: {{pci: {config}}}}}}}"
    )
    plugin = argo("nvidia-device-plugin", "0.17.1", "gfd: {enabled: true}\nnfd: {enabled: false}")

    codes = said(cluster__yaml=CLUSTER, nfd__yaml=nfd, plugin__yaml=plugin)
    assert ("GPU1101" in codes) is wrong
    newer = CLUSTER.replace("1.32", "1.36")
    assert "GPU1101" not in said(cluster__yaml=newer, nfd__yaml=nfd, plugin__yaml=plugin)


@pytest.mark.parametrize(
    ("release", "label", "wrong"),
    [("kps", "kps", False), ("kps", "kube-prometheus-stack", True), ("", "kps", True)],
)
def test_a_release_of_argo_has_the_name_that_it_is_given(
    release: str, label: str, *, wrong: bool
) -> None:
    server = argo("kube-prometheus-stack", "70.4.2", "grafana: {enabled: true}", release)
    monitor = f"serviceMonitor: {{enabled: true, additionalLabels: {{release: {label}}}}}"
    values = f"driver: {{enabled: false}}\ndcgmExporter: {{{monitor}}}"

    codes = said(server__yaml=server, op__yaml=argo("gpu-operator", "v25.3.2", values))
    assert ("GPU1393" in codes) is wrong


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ("toolkit: {env: [{name: A, value: true}]}", True),
        ("toolkit: {env: [{name: A, value: 1}]}", True),
        ('toolkit: {env: [{name: A, value: "true"}]}', False),
        ("daemonsets: {tolerations: [{key: gpu, value: true}]}", True),
        ("daemonsets: {tolerations: [{key: gpu, operator: Exists}]}", False),
        ("validator: {driver: {env: [{name: A, value: false}]}}", True),
    ],
)
def test_lists_of_kubernetes_hold_text(values: str, *, wrong: bool) -> None:
    assert ("GPU1036" in said(op__yaml=argo("gpu-operator", "v24.9.2", values))) is wrong


@pytest.mark.parametrize(("kind", "wrong"), [("", True), ('type = "string"', False)])
def test_what_terraform_sets_is_text_where_it_is_said(kind: str, *, wrong: bool) -> None:
    chart = f"""\
resource "helm_release" "o" {{
  name       = "o"
  namespace  = "gpu-operator"
  repository = "https://helm.ngc.nvidia.com/nvidia"
  chart      = "gpu-operator"
  version    = "v24.9.1"
  set {{
    name  = "toolkit.env[0].name"
    value = "A"
  }}
  set {{
    name  = "toolkit.env[0].value"
    value = "true"
    {kind}
  }}
}}
"""

    assert ("GPU1036" in said(o__tf=chart)) is wrong


@pytest.mark.parametrize(
    ("version", "values", "wrong"),
    [
        ("v24.9.2", "driver: {version: 550.144.03-ubuntu22.04}", True),
        ("v24.9.2", "driver: {version: 550.144.03}", False),
        ("v24.9.2", 'driver: {version: "535"}', False),
        ("v25.3.4", "driver: {enabled: false, nvidiaDriverCRD: {enabled: true}}", True),
        ("v26.3.0", "driver: {enabled: false, nvidiaDriverCRD: {enabled: true}}", False),
        (
            "v25.3.4",
            "driver: {enabled: false, nvidiaDriverCRD: {enabled: true, deployDefaultCR: false}}",
            False,
        ),
    ],
)
def test_the_operator_is_told_of_one_driver(version: str, values: str, *, wrong: bool) -> None:
    assert ("GPU1281" in said(op__yaml=argo("gpu-operator", version, values))) is wrong
    assert "GPU1281" not in said(op__yaml=argo("dcgm-exporter", version, values))


DRIVER = """\
apiVersion: nvidia.com/v1alpha1
kind: NVIDIADriver
metadata: {name: t4}
spec:
  driverType: gpu
  version: VERSION
  nodeSelector: {gpu: t4}
"""


@pytest.mark.parametrize(
    ("version", "default", "wrong"),
    [("v25.3.4", "true", True), ("v25.3.4", "false", False), ("v26.7.0", "true", False)],
)
def test_drivers_of_ones_own_are_alone(version: str, default: str, *, wrong: bool) -> None:
    values = f"driver: {{nvidiaDriverCRD: {{enabled: true, deployDefaultCR: {default}}}}}"
    own = DRIVER.replace("VERSION", "550.144.03")

    codes = said(op__yaml=argo("gpu-operator", version, values), own__yaml=own)
    assert ("GPU1281" in codes) is wrong
    assert "GPU1281" in said(own__yaml=DRIVER.replace("VERSION", "550.144.03-ubuntu22.04"))


@pytest.mark.parametrize(
    ("values", "more", "wrong"),
    [
        ("toolkit: {enabled: false}", "", True),
        ("toolkit: {enabled: true}", "", False),
        ("toolkit: {enabled: false}\ndriver: {enabled: false}", "", False),
        (
            "toolkit: {enabled: false}",
            ", preBootstrapCommands: [apt install nvidia-container-toolkit]",
            False,
        ),
    ],
)
def test_plain_images_get_the_runtime_too(values: str, more: str, *, wrong: bool) -> None:
    cluster = f"""\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {{name: ml, region: eu-west-1, version: "1.32"}}
nodeGroups:
  - {{name: gpu, instanceType: g6.xlarge, amiFamily: Ubuntu2204, maxSize: 2{more}}}
"""
    codes = said(cluster__yaml=cluster, op__yaml=argo("gpu-operator", "v24.9.2", values))

    assert ("GPU1181" in codes) is wrong


@pytest.mark.parametrize(
    ("family", "values", "wrong"),
    [
        ("Ubuntu2404", "driver: {enabled: true}", False),
        ("Ubuntu2404", "driver: {enabled: false}", True),
        ("Ubuntu2404", None, True),
        ("WindowsServer2022FullContainer", "driver: {enabled: true}", True),
        ("AmazonLinux2023", None, False),
    ],
)
def test_the_operator_brings_the_driver_to_ubuntu(
    family: str, values: str | None, *, wrong: bool
) -> None:
    cluster = f"""\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {{name: ml, region: eu-west-1, version: "1.33"}}
managedNodeGroups:
  - {{name: gpu, instanceType: g6.xlarge, amiFamily: {family}, maxSize: 2}}
"""
    operator = {} if values is None else {"op__yaml": argo("gpu-operator", "v25.3.0", values)}

    assert ("GPU1262" in said(cluster__yaml=cluster, **operator)) is wrong


CONTROL = "node-role.kubernetes.io/control-plane"
ONLY = (
    "{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
    "[{matchExpressions: [{key: KEY, operator: Exists}]}]}}}"
)


@pytest.mark.parametrize(
    ("version", "values", "wrong"),
    [
        ("25.8.1", "resources: {gpus: {enabled: false}}", True),
        ("25.8.1", "controller: {priorityClassName: a}", True),
        ("25.8.1", "controller: {affinity: null}", False),
        ("25.8.1", f"controller: {{affinity: {ONLY.replace('KEY', CONTROL)}}}", True),
        ("25.8.1", f"controller: {{affinity: {ONLY.replace('KEY', 'team')}}}", False),
        ("25.8.1", "controller: {affinity: {nodeAffinity: {}}}", False),
        ("25.8.1", "resources: {computeDomains: {enabled: false}}", False),
        ("0.4.0", "resources: {gpus: {enabled: false}}", False),
    ],
)
def test_the_controller_of_claims_has_a_node(version: str, values: str, *, wrong: bool) -> None:
    chart = argo("nvidia-dra-driver-gpu", version, f"gpuResourcesEnabledOverride: true\n{values}")
    codes = said(
        cluster__yaml=CLUSTER.replace(
            "minSize", "labels: {nvidia.com/gpu.present: 'true'}, minSize"
        ),
        dra__yaml=chart,
    )

    assert ("GPU1282" in codes) is wrong
    assert "GPU1282" not in said(dra__yaml=chart)  # of which cluster is not told


@pytest.mark.parametrize(
    ("alias", "label", "wrong"),
    [
        ("al2023@v20250920", "", True),
        ("al2023@v20250920", "nvidia.com/gpu.present: 'true', ", False),
        ("al2023@v20260714", "", False),
        ("al2023@latest", "", False),
    ],
)
def test_the_plugin_of_claims_has_nodes(alias: str, label: str, *, wrong: bool) -> None:
    chart = argo("nvidia-dra-driver-gpu", "25.8.0", "resources: {computeDomains: {enabled: false}}")
    nodes = pool(alias, "g6.xlarge").replace("labels: {", f"labels: {{{label}")

    assert ("GPU1282" in said(pool__yaml=nodes, dra__yaml=chart)) is wrong
    off = chart.replace("resources: {", "resources: {gpus: {enabled: false}, ")
    own = chart.replace("resources: {", "kubeletPlugin: {affinity: null}\n          resources: {")
    nfd = argo("node-feature-discovery", "0.17.2", "worker: {tolerations: [{operator: Exists}]}")
    assert "GPU1282" not in said(pool__yaml=nodes, dra__yaml=off)
    assert "GPU1282" not in said(pool__yaml=nodes, dra__yaml=own)
    assert "GPU1282" not in said(pool__yaml=nodes, dra__yaml=chart, nfd__yaml=nfd)
    on = chart.replace("resources: {", "resources: {gpus: {enabled: true}, ")
    assert ("GPU1282" in said(pool__yaml=nodes, dra__yaml=on)) is wrong


@pytest.mark.parametrize(
    ("version", "values", "made", "wrong"),
    [
        ("v0.13.4", "global: {gpuSharing: true}", False, True),
        ("v0.13.4", "global: {gpuSharing: true}", True, False),
        ("v0.13.4", 'admission: {gpuPodRuntimeClassName: ""}', False, False),
        ("v0.9.0", "global: {gpuSharing: true}", False, False),
    ],
)
def test_the_class_that_kai_gives_pods_is_there(
    version: str, values: str, *, made: bool, wrong: bool
) -> None:
    runtime = "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: nvidia}\n"
    files = {
        "cluster__yaml": CLUSTER,
        "plugin__yaml": argo("nvidia-device-plugin", "0.17.4", "affinity: null"),
        "kai__yaml": argo("kai-scheduler", version, values),
    }
    if made:
        files["class__yaml"] = f"{runtime}handler: nvidia\n"

    assert ("GPU1255" in said(**files)) is wrong


EXPORTER = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: dcgm-exporter, namespace: gpus}
spec:
  selector: {matchLabels: {app: dcgm}}
  template:
    metadata: {labels: {app: dcgm}}
    spec:
      containers:
        - name: exporter
          image: nvcr.io/nvidia/k8s/dcgm-exporter:4.5.2-4.8.1-ubuntu22.04
          GIVEN
"""
LIST = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: counters, namespace: SPACE}
data:
  KEY: |
    DCGM_FI_DEV_GPU_UTIL, gauge, GPU utilization.
"""
_ENV = "env: [{name: DCGM_EXPORTER_CONFIGMAP_DATA, value: 'gpus:counters'}]"


@pytest.mark.parametrize("given", [_ENV, "args: [-m, 'gpus:counters']"])
@pytest.mark.parametrize(
    ("space", "key", "wrong"),
    [("gpus", "metrics", False), ("monitoring", "metrics", True), ("gpus", "list.csv", True)],
)
def test_the_list_of_metrics_is_where_it_is_looked_for(
    given: str, space: str, key: str, *, wrong: bool
) -> None:
    found = LIST.replace("SPACE", space).replace("KEY", key)
    exporter = EXPORTER.replace("GIVEN", given)

    assert ("GPU1381" in said(exporter__yaml=exporter, list__yaml=found)) is wrong
    assert "GPU1381" not in said(exporter__yaml=exporter)  # it may be elsewhere


@pytest.mark.parametrize(
    "given",
    [
        "env: [{name: OTHER, value: 'gpus:counters'}]",
        "env: [{name: DCGM_EXPORTER_CONFIGMAP_DATA, value: /etc/counters.csv}]",
        "env: [{name: DCGM_EXPORTER_CONFIGMAP_DATA, valueFrom: {fieldRef: {fieldPath: a}}}]",
        "args: [--other, 'gpus:counters']",
        "args: [-m, /etc/counters.csv]",
        "args: [-m, 5]",
    ],
)
def test_what_names_no_list_is_none(given: str) -> None:
    found = LIST.replace("SPACE", "monitoring").replace("KEY", "metrics")

    exporter = EXPORTER.replace("GIVEN", given)

    told = said(exporter__yaml=exporter, list__yaml=found)
    assert told == said(exporter__yaml=exporter, list__yaml=found.replace("counters", "others"))
    assert not {"GPU1381", CHECK_FAILED.id} & set(told)


def test_the_chart_of_the_exporter_is_told_of_a_list() -> None:
    chart = argo("dcgm-exporter", "4.8.2", "arguments: [-m, 'gpus:counters']")

    assert "GPU1381" in said(
        chart__yaml=chart, list__yaml=LIST.replace("SPACE", "a").replace("KEY", "metrics")
    )


MPS_PLUGIN = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shared, namespace: kube-system}
data:
  config.yaml: |
    version: v1
    sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: nvidia-device-plugin, namespace: kube-system}
spec:
  selector: {matchLabels: {app: plugin}}
  template:
    metadata: {labels: {app: plugin}}
    spec:
      containers:
        - name: plugin
          image: nvcr.io/nvidia/k8s-device-plugin:v0.17.1
          env: [{name: CONFIG_FILE, value: /config/config.yaml}GIVEN]
          volumeMounts: [{name: config, mountPath: /config}]
      volumes: [{name: config, configMap: {name: shared}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: mps, namespace: kube-system}
spec:
  selector: {matchLabels: {app: mps}}
  template:
    metadata: {labels: {app: mps}}
    spec:
      containers:
        - name: daemon
          image: nvcr.io/nvidia/k8s-device-plugin:v0.17.1
          command: [mps-control-daemon, --mps-root=/run/nvidia/mps]
"""


def test_a_plugin_with_mps_has_a_folder_for_it() -> None:
    root = ", {name: MPS_ROOT, value: /run/nvidia/mps}"

    assert "GPU1171" in said(plugin__yaml=MPS_PLUGIN.replace("GIVEN", ""))
    assert "GPU1171" not in said(plugin__yaml=MPS_PLUGIN.replace("GIVEN", root))


@pytest.mark.parametrize(
    ("kind", "count", "privileged", "wrong"),
    [
        ("g6.12xlarge", 1, "true", True),
        ("g6.12xlarge", 2, "true", True),
        ("g6.12xlarge", 4, "true", False),
        ("g6.12xlarge", 2, "false", False),
        ("g6.xlarge", 1, "true", False),
    ],
)
def test_a_privileged_pod_has_all_gpus_of_its_node(
    kind: str, count: int, privileged: str, *, wrong: bool
) -> None:
    job = f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: bench}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: bench
          image: example.com/bench:1
          securityContext: {{privileged: {privileged}}}
          resources: {{limits: {{nvidia.com/gpu: {count}}}}}
"""

    cluster = CLUSTER.replace("g6.xlarge", kind)
    assert ("GPU1009" in said(cluster__yaml=cluster, job__yaml=job)) is wrong
    assert {"GPU012", "GPU1009"}.isdisjoint(said(job__yaml=job))  # of which nodes is not told
    of_all = job.replace("batch/v1", "apps/v1").replace("kind: Job", "kind: DaemonSet")
    assert "GPU1009" not in said(cluster__yaml=cluster, job__yaml=of_all)


@pytest.mark.parametrize(
    ("boot", "wrong"),
    [
        ("/etc/eks/bootstrap.sh other --use-max-pods false", True),
        ("/etc/eks/bootstrap.sh ml --use-max-pods false", False),
        ("/etc/eks/bootstrap.sh $CLUSTER", False),
        ("echo done", False),
    ],
)
def test_nodes_boot_into_their_cluster(boot: str, *, wrong: bool) -> None:
    cluster = f"""\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {{name: ml, region: eu-west-1, version: "1.32"}}
nodeGroups:
  - name: gpu
    ami: ami-0123456789abcdef0
    amiFamily: Ubuntu2204
    instanceType: g6.xlarge
    overrideBootstrapCommand: |
      #!/bin/bash
      {boot}
"""

    assert ("GPU1283" in said(cluster__yaml=cluster)) is wrong
    assert "GPU1283" not in said(cluster__yaml=cluster.replace("g6.xlarge", "m6i.xlarge"))


@pytest.mark.parametrize(
    ("name", "wrong"), [("other", True), ("ml", False), ("${var.name}", False)]
)
def test_user_data_names_the_cluster_of_its_group(name: str, *, wrong: bool) -> None:
    config = "apiVersion: node.eks.aws/v1alpha1\\nkind: NodeConfig\\nspec:\\n  cluster:\\n"
    for data in (
        f'[settings.kubernetes]\\ncluster-name = \\"{name}\\"\\n',
        f"{config}    apiServerEndpoint: https://a\\n    name: {name}\\n",
    ):
        text = f"""\
resource "aws_launch_template" "gpu" {{
  image_id      = "ami-0123456789abcdef0"
  instance_type = "g6.xlarge"
  user_data     = base64encode("{data}")
}}

resource "aws_eks_node_group" "gpu" {{
  cluster_name    = "ml"
  node_group_name = "gpu"
  launch_template {{
    id      = aws_launch_template.gpu.id
    version = "1"
  }}
  scaling_config {{
    min_size     = 1
    desired_size = 1
    max_size     = 2
  }}
}}
"""

        assert ("GPU1283" in said(main__tf=text)) is wrong


def test_shares_of_bottlerocket_are_read_of_an_image_that_is_looked_up() -> None:
    given = """ami_type = "BOTTLEROCKET_x86_64_NVIDIA"
      ami_id                     = data.aws_ssm_parameter.image.value
      enable_bootstrap_user_data = true
      bootstrap_extra_args       = <<-TOML
        [settings.kubelet-device-plugins.nvidia]
        device-sharing-strategy = "time-slicing"
        [settings.kubelet-device-plugins.nvidia.time-slicing]
        replicas = 4
      TOML
      max_size = 1"""
    pods = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  replicas: 1
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
      containers:
        - {name: a, image: "example.com/a:1", resources: {limits: {nvidia.com/gpu.shared: 1}}}
"""
    codes = said(main__tf=group(given), pods__yaml=pods)

    assert {"GPU1110", "GPU1243"}.isdisjoint(codes)
    assert "GPU1110" in said(main__tf=group(given), pods__yaml=pods.replace("gpu.shared", "gpu"))


def test_a_terraform_root_and_a_kustomization_may_be_of_one_cluster() -> None:
    """Found where a cluster's nodes are Terraform's, and its charts those of a kustomization."""
    files = {
        "terraform/main.tf": group(NVIDIA),
        "flux/kustomization.yaml": "resources: [release.yaml]\n",
        "flux/release.yaml": argo("gpu-operator", "v24.9.2", "driver: {enabled: true}"),
    }

    assert "GPU1180" in said(**{name.replace(".", "__"): text for name, text in files.items()})


GENERATED = """\
configMapGenerator:
  - name: slices
    literals: ["any=version: v1"]
GIVEN
"""
_KEPT = "generatorOptions: {disableNameSuffixHash: true}"
_OWN = "    options: {disableNameSuffixHash: true}"
_OF_OPERATOR = "devicePlugin: {config: {name: slices, default: any}}"


@pytest.mark.parametrize(
    ("given", "chart", "values", "wrong"),
    [
        ("namespace: gpu-operator", "gpu-operator", _OF_OPERATOR, True),
        (_KEPT, "gpu-operator", _OF_OPERATOR, False),
        (_OWN, "gpu-operator", _OF_OPERATOR, False),
        ("configurations: [names.yaml]", "gpu-operator", _OF_OPERATOR, False),
        (
            "namespace: a",
            "gpu-operator",
            _OF_OPERATOR.replace("name: slices", "name: others"),
            False,
        ),
        ("namespace: nvidia", "nvidia-device-plugin", "config: {name: slices}", True),
        ("namespace: nvidia", "dcgm-exporter", "config: {name: slices}", False),
    ],
)
def test_names_that_kustomize_makes_are_asked_for_as_they_are(
    given: str, chart: str, values: str, *, wrong: bool
) -> None:
    files = {
        "kustomization__yaml": GENERATED.replace("GIVEN", given) + "resources: [app.yaml]\n",
        "app__yaml": argo(chart, "v24.9.2", values),
    }

    assert ("GPU1284" in said(**files)) is wrong
    own = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: slices}\ndata: {any: 'version: v1'}\n"
    assert "GPU1284" not in said(**files, own__yaml=own)


@pytest.mark.parametrize(("kind", "wrong"), [("ConfigMap", True), ("Secret", False)])
def test_values_that_flux_takes_of_what_kustomize_makes(kind: str, *, wrong: bool) -> None:
    release = f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: gpu-operator, namespace: gpu-operator}}
spec:
  chart: {{spec: {{chart: gpu-operator, version: v25.3.4, sourceRef: {{name: nvidia}}}}}}
  valuesFrom: [{{kind: {kind}, name: slices}}]
"""
    made = GENERATED.replace("GIVEN", "resources: [app.yaml]")

    assert ("GPU1284" in said(kustomization__yaml=made, app__yaml=release)) is wrong


@pytest.mark.parametrize(
    ("chart", "values", "wrong"),
    [
        ("gpu-operator", _OF_OPERATOR, True),
        ("nvidia-device-plugin", "config: {name: slices}", False),  # whose pods it corrects
    ],
)
def test_charts_that_kustomize_inflates(chart: str, values: str, *, wrong: bool) -> None:
    inflated = f"""\
helmCharts:
  - name: {chart}
    repo: https://example.com/charts
    releaseName: a
    valuesInline: {{{values}}}
"""

    found = said(kustomization__yaml=GENERATED.replace("GIVEN\n", inflated))
    assert ("GPU1284" in found) is wrong


CLAIM = """\
apiVersion: API
kind: KIND
metadata: {name: one, namespace: a}
spec: {spec: {devices: {requests: [{name: gpu, REQUEST}]}}}
"""
_FLAT = "deviceClassName: gpu.nvidia.com"
_NESTED = f"exactly: {{{_FLAT}}}"


@pytest.mark.parametrize(
    ("api", "request_", "kubernetes", "wrong"),
    [
        ("resource.k8s.io/v1", _NESTED, "1.33", True),
        ("resource.k8s.io/v1", _NESTED, "1.34", False),
        ("resource.k8s.io/v1beta2", _NESTED, "1.32", True),
        ("resource.k8s.io/v1beta2", _NESTED, "1.33", False),
        ("resource.k8s.io/v1beta1", _FLAT, "1.31", True),
        ("resource.k8s.io/v1beta1", _FLAT, "1.32", False),
        ("resource.k8s.io/v1", _NESTED, "${VERSION}", False),
    ],
)
def test_claims_are_of_a_version_that_the_cluster_serves(
    api: str, request_: str, kubernetes: str, *, wrong: bool
) -> None:
    claim = CLAIM.replace("API", api).replace("REQUEST", request_)
    cluster = CLUSTER.replace("1.32", kubernetes)

    made = claim.replace("KIND", "ResourceClaimTemplate")
    assert ("GPU1149" in said(cluster__yaml=cluster, claim__yaml=made)) is wrong
    assert {"GPU012", "GPU1149"}.isdisjoint(said(claim__yaml=made))


def test_what_the_driver_makes_of_a_domain_is_its_own_matter() -> None:
    domain = """\
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: one, namespace: a}
spec: {numNodes: 2, channel: {resourceClaimTemplate: {name: one}}}
"""

    assert "GPU1149" not in said(cluster__yaml=CLUSTER, domain__yaml=domain)
