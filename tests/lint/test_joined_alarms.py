"""What was said of two files of public repositories that nothing joins, in our own words."""

from __future__ import annotations

import pytest
from linted import said

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

CHARTS = """\
resource "helm_release" "nvidia" {
  name       = "nvidia"
  repository = "https://helm.ngc.nvidia.com/nvidia"
  chart      = "gpu-operator"
  version    = "v26.3.0"
  values     = [yamlencode({driver = {enabled = false}})]
}
resource "helm_release" "other" {
  name       = "other"
  repository = "https://charts.example.com/gpus"
  chart      = "CHART"
  values     = [yamlencode({driver = {enabled = false}})]
}
"""


@pytest.mark.parametrize(
    ("chart", "wrong"), [("gpu-operator-charts", False), ("nvidia/gpu-operator", True)]
)
def test_a_chart_whose_name_begins_like_that_of_nvidia_is_another(chart: str, wrong: bool) -> None:
    assert ("GPU1187" in said({"main.tf": CHARTS.replace("CHART", chart)})) == wrong


EXPORTER = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: exporter, namespace: metrics}
spec:
  selector: {matchLabels: {app: exporter}}
  template:
    metadata: {labels: {app: exporter}}
    spec:
      containers:
        - name: exporter
          image: "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.2-4.8.1-distroless"
          resources: {limits: {memory: 1Gi}}
"""
VALUES = "driver: {enabled: false}\nmigManager: {enabled: false}\noperator: {cleanupCRD: false}\n"
INSTALL = "helm install gpu-operator nvidia/gpu-operator -n gpus --version v25.3.0 -f values.yaml\n"


@pytest.mark.parametrize(("script", "wrong"), [("", False), (INSTALL, True)])
def test_values_that_nothing_installs_are_no_second_exporter(script: str, wrong: bool) -> None:
    files = {"values.yaml": VALUES, "exporter.yaml": EXPORTER, "up.sh": f"#!/bin/bash\n{script}"}

    assert ("GPU1187" in said(files)) == wrong


NODES = """\
resource "aws_eks_node_group" "gpu" {
  cluster_name   = "ml"
  instance_types = ["g5.xlarge"]
  node_role_arn  = "arn:aws:iam::111122223333:role/nodes"
  subnet_ids     = ["subnet-1"]
  labels         = { accelerator = "VALUE" }
  scaling_config {
    desired_size = 1
    max_size     = 1
    min_size     = 1
  }
  taint {
    key    = "accelerator"
    value  = "VALUE"
    effect = "NO_SCHEDULE"
  }
}
"""
BY_HAND = """\
#!/bin/bash
kubectl label node "$NODE" accelerator=nvidia
kubectl taint node "$NODE" accelerator=nvidia:NoSchedule
"""


@pytest.mark.parametrize(("value", "wrong"), [("nvidia", 0), ("amd", 1)])
def test_what_a_node_group_gives_its_nodes_is_not_only_put_by_hand(value: str, wrong: int) -> None:
    """Nodes with another value of a label are chosen by that; of a taint both keep pods off."""
    files = {"infra/nodes.tf": NODES.replace("VALUE", value), "scripts/up.sh": BY_HAND}

    assert said(files).count("GPU1062") == wrong


@pytest.mark.parametrize(
    ("label", "values", "wrong"),
    [
        ("nvidia.com/gpu.present=true", "", 0),
        ("nvidia.com/gpu.present=true", " --set driver.enabled=false", 0),
        ("nvidia.com/gpu.present=true", " --set nfd.enabled=false", 1),
        ("nvidia.com/gpu.present=false", "", 1),
        ("nvidia.com/device-plugin.config=shared", "", 1),
    ],
)
def test_what_the_operator_gives_nodes_is_not_only_put_by_hand(
    label: str, values: str, wrong: int
) -> None:
    install = f"helm install gpu-operator nvidia/gpu-operator -n gpu-operator{values}\n"
    files = {
        "docs/nodes.md": f"# Nodes of EKS\n```sh\nkubectl label node ip-1 {label}\n```\n",
        "addons/up.sh": install,
    }

    assert said(files).count("GPU1062") == wrong


def test_a_label_called_like_a_resource_may_be_of_who_owns_the_nodes() -> None:
    """Where no nodes are declared; where they are, GPU1112 goes by what they have."""
    pod = """\
apiVersion: v1
kind: Pod
metadata: {name: server}
spec:
  nodeSelector: {nvidia.com/gpu: "true"}
  containers:
    - {name: server, image: "example.com/server:1", resources: {limits: {nvidia.com/gpu: 1}}}
"""

    assert said({"pod.yaml": pod}) == []
    assert said({"pod.yaml": pod.replace('gpu: "true"', 'mig-1g.5gb: "true"')}) == ["GPU1205"]


GUIDE = """\
```bash
helm install gpu-operator nvidia/gpu-operator -n gpu-operator --version v25.3.0 \\
  --set devicePlugin.config.name=shares --set devicePlugin.config.default=any
```
```yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu-operator}
data:
  any: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
```
MORE
```bash
kubectl label node ip-10-0-0-1.ec2.internal nvidia.com/device-plugin.config=dev
```
"""
MORE = """\
```yaml
data:
  dev: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 8}]}}
```
"""


@pytest.mark.parametrize(("more", "wrong"), [(MORE, False), ("", True)])
def test_a_guide_may_show_further_keys_of_a_map_by_themselves(more: str, wrong: bool) -> None:
    assert ("GPU1122" in said({"guide.md": GUIDE.replace("MORE", more)})) == wrong


LOOSE = """\
```yaml
# dev
version: v1
sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 8}]}}
```
"""


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ("A map may have several keys, such as `dev` with eight replicas.", False),
        ("A map may have several keys, such as `device` with eight replicas.", True),
        ("Nodes for dev have eight replicas.", True),
        (LOOSE, False),
        (LOOSE.replace("version: v1", "apiVersion: example.com/v1"), True),
        (f"The label `dev` is a key.\n{MORE}", False),
    ],
)
def test_a_guide_may_tell_of_further_keys(more: str, wrong: bool) -> None:
    assert ("GPU1122" in said({"guide.md": GUIDE.replace("MORE", more)})) == wrong


def test_what_a_guide_tells_is_of_its_own_map() -> None:
    told = GUIDE.replace("MORE", "Key `dev` is for tests.")
    other = """\
apiVersion: v1
kind: Node
metadata: {name: a, labels: {nvidia.com/gpu.present: "true", nvidia.com/device-plugin.config: few}}
"""

    assert "GPU1122" in said({"guide.md": told, "node.yaml": other})


CONFIG = """\
nfd: {enabled: true}
config:
  map:
    default: |-
      version: v1
      sharing:
        timeSlicing:
          resources:
            - name: nvidia.com/gpu
              replicas: REPLICAS
  default: default
"""


@pytest.mark.parametrize(("replicas", "wrong"), [("{{ .Env.REPLICAS }}", False), ("[a", True)])
def test_a_configuration_that_a_program_fills_in_is_not_known(replicas: str, wrong: bool) -> None:
    text = CONFIG.replace("REPLICAS", replicas)

    assert ("GPU1125" in said({"nvidia-device-plugin/values.yaml": text})) == wrong


@pytest.mark.parametrize(("other", "wrong"), [("false", False), ("true", True)])
def test_an_exporter_need_not_know_a_name_that_only_some_configuration_gives(
    other: str, wrong: bool
) -> None:
    values = """\
devicePlugin: {config: {name: shares, default: any}}
dcgmExporter: {env: [{name: KUBERNETES_VIRTUAL_GPUS, value: "true"}]}
"""
    shares = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu-operator}
data:
  any: |
    version: v1
    sharing:
      timeSlicing:
        renameByDefault: OTHER
        resources: [{name: nvidia.com/gpu, replicas: 4}]
  dev: |
    version: v1
    sharing:
      timeSlicing:
        renameByDefault: true
        resources: [{name: nvidia.com/gpu, replicas: 8}]
"""
    files = {"gpu-operator-values.yaml": values, "shares.yaml": shares.replace("OTHER", other)}

    assert ("GPU1245" in said(files)) == wrong


POLICY = """\
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: NAME}
spec: {dcgmExporter: {enabled: true}, devicePlugin: {enabled: true}}
"""


def test_policies_of_one_operator_are_no_two_exporters() -> None:
    """The operator goes by one of them, whatever its chart or others declare."""
    files = {f"{name}.yaml": POLICY.replace("NAME", name) for name in ("shares", "mig")}
    files["main.tf"] = CHARTS.split("resource", 2)[1].join(("resource", ""))

    assert said(files) == []
    assert "GPU1187" in said({**files, "exporter.yaml": EXPORTER})


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shares, namespace: argocd}
spec:
  project: default
  source:
    repoURL: https://git.example.com/gpus.git
    targetRevision: main
    path: kubernetes/gpu-operator
    HOW
  destination: {server: "https://kubernetes.default.svc", namespace: gpus}
"""


@pytest.mark.parametrize(
    ("how", "wrong"),
    [
        ("directory: {include: map.yaml}", False),
        ("helm: {valuesObject: {dcgmExporter: {enabled: true}}}", True),
    ],
)
def test_a_folder_of_manifests_may_be_called_like_a_chart(how: str, wrong: bool) -> None:
    files = {"application.yaml": APPLICATION.replace("HOW", how), "exporter.yaml": EXPORTER}

    assert ("GPU1187" in said(files)) == wrong


OWN = """\
apiVersion: v2
name: gpu-operator
version: 0.1.0
description: The NVIDIA GPU Operator as we subscribe to it
SOURCES
"""


@pytest.mark.parametrize(
    ("sources", "wrong"),
    [("", False), ("sources:\n  - https://github.com/NVIDIA/gpu-operator", True)],
)
def test_a_chart_of_ones_own_reads_its_values_itself(sources: str, wrong: bool) -> None:
    files = {
        "charts/gpu-operator/Chart.yaml": OWN.replace("SOURCES", sources),
        "charts/gpu-operator/values.yaml": "clusterPolicy: {name: gpus}\nnfd: {subscription: a}\n",
    }

    assert ("GPU1034" in said(files)) == wrong


def test_a_metric_of_ones_own_is_no_value_of_an_exporter() -> None:
    block = "custom_metrics:\n  - {name: calls, type: gauge}\n"

    assert said({"guide.md": f"```yaml\n{block}```\n"}) == []


NOTEBOOK = """\
apiVersion: kubeflow.org/v1
kind: Notebook
metadata: {name: lab, namespace: ml, labels: {team: vision}}
spec:
  template:
    spec:
      containers: [{name: lab, image: "example.com/lab:1"}]
---
apiVersion: v1
kind: Service
metadata: {name: lab, namespace: ml}
spec: {ports: [{port: 80}], selector: {LABEL}}
"""


@pytest.mark.parametrize(
    ("label", "wrong"),
    [("notebook-name: lab", False), ("team: vision", False), ("notebook-name: other", True)],
)
def test_pods_of_a_notebook_have_labels_of_its_controller(label: str, wrong: bool) -> None:
    assert ("GPU1192" in said({"lab.yaml": NOTEBOOK.replace("LABEL", label)})) == wrong


@pytest.mark.parametrize(("env", "wrong"), [("[{name: NVIDIA_VISIBLE_DEVICES}]", 0), ("[]", 1)])
def test_what_stands_under_env_goes_over_a_map(env: str, wrong: int) -> None:
    pod = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: server}}
spec:
  containers:
    - name: server
      image: example.com/server:1
      env: {env}
      envFrom: [{{configMapRef: {{name: settings}}}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings}}
data: {{NVIDIA_VISIBLE_DEVICES: "0"}}
"""

    assert said({"pod.yaml": pod}).count("GPU1009") == wrong


@pytest.mark.parametrize(
    ("chart", "values", "wrong"),
    [
        ("keda", "resources: {operator: {limits: {cpu: 250m}}}", False),
        ("keda", "resources: {operator: {limits: {cpu: 1}}}", False),
        ("keda", "resources: {operator: {limits: {cpu: [1]}}}", True),
        ("gpu-operator", "driver: {usePrecompiled: true, version: 590}", False),
        ("gpu-operator", "driver: {version: 580.10}", True),  # is 580.1 then
        ("gpu-operator", "driver: {version: 100}", False),
        ("gpu-operator", "driver: {version: 99}", True),  # may have been 99.0
    ],
)
def test_amounts_and_branches_of_drivers_are_numbers_or_text(
    chart: str, values: str, wrong: bool
) -> None:
    """The chart's template puts the branch in quotes, and an amount is read as a text."""
    application = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n"
        f"  source:\n    chart: {chart}\n    repoURL: https://charts.example.com\n"
        f"    helm:\n      valuesObject:\n        {values}\n"
    )

    assert ("GPU1036" in said({"application.yaml": application})) == wrong


POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: shared}
spec:
  limits: {nvidia.com/gpu: 40}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: shared}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [TYPES]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: shared}
spec:
  role: nodes
  amiSelectorTerms: [{alias: bottlerocket@v1.50.0}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
  blockDeviceMappings: [{deviceName: /dev/xvdb, ebs: {volumeSize: 200Gi}}]
  userData: |
    [settings.kubelet-device-plugins.nvidia]
    device-sharing-strategy = "time-slicing"
    [settings.kubelet-device-plugins.nvidia.time-slicing]
    replicas = 4
    rename-by-default = false
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: shared}
spec:
  requirements: [{key: karpenter.sh/nodepool, operator: In, values: [shared]}]
  capacity: {nvidia.com/gpu: 4}
"""
PODS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: pods}
spec:
  replicas: 4
  selector: {matchLabels: {app: pods}}
  template:
    metadata: {labels: {app: pods}}
    spec:
      containers:
        - name: pod
          image: registry.example.com/pod:1
          resources: {requests: {cpu: 1500m}, limits: {nvidia.com/gpu: AMOUNT}}
"""


@pytest.mark.parametrize(
    ("types", "wrong"), [("g6.xlarge", True), ("g6.xlarge, g6.4xlarge", False)]
)
def test_karpenter_takes_a_type_that_has_room_for_all_pods_that_wait(
    types: str, wrong: bool
) -> None:
    pods = PODS.replace("AMOUNT", "1")

    found = said({"pool.yaml": POOL.replace("TYPES", types), "pods.yaml": pods})
    assert ("GPU1207" in found) == wrong


SLICES = """\
config:
  map:
    any: |-
      version: v1
      sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 3}]}}
"""
PLUGIN = """\
helm upgrade --install nvdp nvdp/nvidia-device-plugin -n gpus --version 0.20.0 -f slices.yaml
"""


@pytest.mark.parametrize(
    ("amount", "wrong"), [("2", ["info"]), ("3", ["info"]), ("6", []), ("1", [])]
)
def test_more_shares_than_one_gpu_has_are_of_several(amount: str, wrong: list[str]) -> None:
    files = {
        "slices.yaml": SLICES,
        "up.sh": PLUGIN,
        "pods.yaml": PODS.replace("AMOUNT", amount),
    }

    reports = lint_files([GivenFile(*each) for each in files.items()])
    found = [each for one in reports for each in one.findings if each.code == "GPU1113"]
    assert [each.severity for each in found] == wrong


@pytest.mark.parametrize(("given", "wrong"), [("false", False), ("true", True)])
def test_what_a_later_chart_has_may_be_switched_off(given: str, wrong: bool) -> None:
    """A copy of its values says so of everything, and it has no effect."""
    values = (
        "helm upgrade --install gpu-operator nvidia/gpu-operator --version=v26.3.0 -f gpus.yaml"
    )
    files = {"up.sh": f"{values}\n", "gpus.yaml": f"validator: {{hostNetwork: {given}}}\n"}

    assert ("GPU1034" in said(files)) == wrong


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ("patch node n1 --subresource=status --type=json -p '[{}]'", False),
        ("replace --raw /api/v1/nodes/${NODE}/status -f -", False),
        ("patch node n1 --type=json -p '[{}]'", True),
        ("get --raw /api/v1/nodes/n1", True),
    ],
)
def test_nodes_that_are_given_gpus_by_hand_are_stand_ins(given: str, wrong: bool) -> None:
    script = f"kubectl label node n1 lab/accelerator=fake-h100\nkubectl {given}\n"

    assert ("GPU1062" in said({"up.sh": script})) == wrong


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: flux}
spec:
  chart: {spec: {chart: gpu-operator, version: v26.7.0}}
  releaseName: gpu-operator
  targetNamespace: gpus
"""
INSTALL = "helm upgrade --install gpu-operator nvidia/gpu-operator --version v26.7.0 -n SPACE\n"


@pytest.mark.parametrize(("second", "wrong"), [("gpu-operator", False), ("other", True)])
def test_two_scripts_that_install_the_operator_are_two_ways(second: str, wrong: bool) -> None:
    """Under two names they are two operators, wherever each is."""
    files = {
        "stage.sh": INSTALL.replace("SPACE", "gpu-operator"),
        "whole.sh": INSTALL.replace("SPACE", "gpus").replace(
            "install gpu-operator", f"install {second}"
        ),
    }

    assert ("GPU1187" in said(files)) == wrong
    assert "GPU1187" in said({**files, "release.yaml": RELEASE})


@pytest.mark.parametrize(
    ("made", "wrong"), [("curl -sfL https://get.k3s.io | sh -\n", False), ("", True)]
)
def test_a_machine_that_a_script_makes_a_cluster_of_is_not_replaced(made: str, wrong: bool) -> None:
    script = f"{made}kubectl label node n1 node-type=gpu\n"

    assert ("GPU1062" in said({"up.sh": script})) == wrong


@pytest.mark.parametrize(
    ("above", "wrong"), [("# k8s/sharing.yaml\n", False), ("# four shares\n", True), ("", True)]
)
def test_a_guide_shows_a_part_of_a_file_that_it_names(above: str, wrong: bool) -> None:
    guide = f"```yaml\n{above}sharing:\n  timeSlicing:\n    replicas: 4\n```\n"

    assert ("GPU1021" in said({"guide.md": guide})) == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("sharing:\n  timeSlicing:\n    renameByDefault: true\n", False),
        ("sharing:\n  mps:\n    failRequestsGreaterThanOne: true\n", False),
        ("sharing:\n  timeSlicing:\n    renameByDefault: true\n    resources: []\n", True),
        ("sharing:\n  timeSlicing: {}\n", True),
        ("version: v1\nsharing:\n  timeSlicing:\n    renameByDefault: true\n", True),
    ],
)
def test_a_guide_may_show_the_setting_alone_that_it_speaks_of(text: str, wrong: bool) -> None:
    assert ("GPU1021" in said({"guide.md": f"```yaml\n{text}```\n"})) == wrong
    assert "GPU1021" in said({"sharing.yaml": text})


RELEASE_AND_MAP = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: plugin, namespace: gpus}
spec:
  chart: {spec: {chart: nvidia-device-plugin, version: 0.17.4}}
  values: {gfd: {enabled: true}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plugin-values, namespace: gpus}
data:
  values.yaml: |
"""
SHARING = (
    "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n"
)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (f"config: {{map: {{any: {SHARING!r}}}}}", False),
        (SHARING, True),
        (SHARING.replace("sharing", "Sharing"), True),
        (SHARING.replace("v1", "["), True),
        (SHARING.replace("replicas", "count"), False),
    ],
)
def test_values_that_hold_a_configuration_are_no_configuration(text: str, wrong: bool) -> None:
    within = "".join(f"    {line}\n" for line in text.splitlines())

    assert ("GPU1121" in said({"a.yaml": RELEASE_AND_MAP + within})) == wrong


UNUSED = RELEASE_AND_MAP + "    version: v1\n" + SHARING.replace("version: v1\n", "    ")


@pytest.mark.parametrize(
    ("files", "wrong"),
    [
        ({"a.yaml": UNUSED}, True),
        ({"a.yaml": UNUSED, "kustomization.yaml": "resources: [a.yaml]\n"}, True),
        ({"a.yaml": UNUSED, "kustomization.yaml": "resources: [b.yaml]\n# - a.yaml\n"}, False),
        ({"a.yaml": UNUSED, "kustomization.yaml": "# resources: [a.yaml]\n"}, False),
        ({"a.yaml": "# kubectl edit clusterpolicies.nvidia.com cluster-policy\n" + UNUSED}, False),
        ({"a.yaml": "# a policy of this cluster\n" + UNUSED}, True),
        ({"a.yaml": UNUSED, "b.yaml": "a: 1\n# name: 'plugin-values'  to share\n"}, False),
        ({"a.yaml": UNUSED, "b.yaml": "a: 1\n# name: plugin-value\n"}, True),
    ],
)
def test_a_configuration_that_is_left_out_or_named_by_hand_is_not_forgotten(
    files: dict[str, str], wrong: bool
) -> None:
    assert ("GPU1121" in said(files)) == wrong


@pytest.mark.parametrize(
    ("comment", "wrong"),
    [
        ("", True),
        ("# why", True),
        ("# kubectl wait clusterpolicy/cluster-policy --for=jsonpath={.status.state}=ready", True),
        ("#kubectl patch clusterpolicies.nvidia.com/cluster-policy --type merge -p ...", False),
        ("# the cluster policy: kubectl edit clusterpolicy", False),
    ],
)
def test_a_comment_may_tell_the_operator_of_the_configuration_that_nodes_ask_for(
    comment: str, wrong: bool
) -> None:
    """A script for InstaSlice has the command that is to be run once the operator is there."""
    script = (
        "helm install gpu nvidia/gpu-operator -n gpu --set mig.strategy=mixed\n"
        f"{comment}\nkubectl label node --all nvidia.com/device-plugin.config=shared\n"
    )
    assert ("GPU1124" in said({"up.sh": script})) == wrong


def test_a_chart_that_makes_its_configurations_names_no_other() -> None:
    release = UNUSED.replace("{gfd: {enabled: true}}", "{config: {map: {any: 'version: v1'}}}")
    reports = lint_files([GivenFile("a.yaml", release)])
    (found,) = [each for one in reports for each in one.findings if each.code == "GPU1121"]

    assert found.message.endswith("nvidia-device-plugin has its own in config.map.")
    assert found.fix == "Move it there, or remove it."


SHARING_RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: plugin, namespace: gpus}
spec:
  chart: {spec: {chart: nvidia-device-plugin, version: 0.17.4}}
  values: {config: {map: {any: "version: v1\\nsharing: {timeSlicing: {resources: [ONE]}}"}}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: exporter, namespace: gpus}
spec:
  chart: {spec: {chart: dcgm-exporter, version: 4.7.1}}
  values: {extraEnv: ENV}
  MORE
""".replace("ONE", "{name: nvidia.com/gpu, replicas: 4}")


@pytest.mark.parametrize(
    ("env", "more", "wrong"),
    [
        ("[]", "interval: 1h", True),
        ('[{name: DCGM_EXPORTER_KUBERNETES, value: "true"}]', "interval: 1h", True),
        ('[{name: DCGM_EXPORTER_KUBERNETES, value: "false"}]', "interval: 1h", False),
        ("[]", "postRenderers: []", True),
    ],
)
def test_an_exporter_that_names_no_pods_need_not_know_shares(
    env: str, more: str, wrong: bool
) -> None:
    text = SHARING_RELEASE.replace("ENV", env).replace("MORE", more)

    assert ("GPU1245" in said({"a.yaml": text})) == wrong


@pytest.mark.parametrize(("kind", "wrong"), [("DaemonSet", False), ("Deployment", True)])
def test_what_a_post_renderer_changes_is_not_known(kind: str, wrong: bool) -> None:
    text = SHARING_RELEASE.replace("{extraEnv: ENV}", "{serviceMonitor: {enabled: true}}")
    renderer = (
        f"postRenderers: [{{kustomize: {{patches: [{{patch: a, target: {{kind: {kind}}}}}]}}}}]"
    )

    assert ("GPU1245" in said({"a.yaml": text.replace("MORE", renderer)})) == wrong


ENGINE = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: engine, namespace: metrics}
spec:
  selector: {matchLabels: {app: engine}}
  template:
    metadata: {labels: {app: engine}}
    spec:
      containers:
        - name: engine
          image: nvcr.io/nvidia/cloud-native/dcgm:4.5.2-1-ubuntu22.04
          command: [nv-hostengine, -n]
"""


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("dcgm-exporter --remote-hostengine-info $(NODE_IP)", False),
        ("dcgm-exporter --collectors /etc/counters.csv", True),
    ],
)
def test_an_exporter_may_be_told_of_an_engine_by_a_line_of_a_shell(line: str, wrong: bool) -> None:
    started = f"resources: {{limits: {{memory: 1Gi}}}}\n          args: [-c, '{line}']"
    told = EXPORTER.replace("resources: {limits: {memory: 1Gi}}", started)

    assert ("GPU1187" in said({"engine.yaml": ENGINE, "exporter.yaml": told})) == wrong


CLAIMING = """\
apiVersion: v1
kind: Pod
metadata: {name: render}
spec:
  resourceClaims: [{name: gpu, source: {resourceClaimTemplateName: gpu}}]
  containers: [{name: main, image: "nginx:1.31.1", resources: {claims: [{name: gpu}]}}]
"""


def test_a_claim_in_the_form_before_is_told_once() -> None:
    assert said({"pod.yaml": CLAIMING}) == ["GPU1149"]
    assert "GPU1005" in said({"pod.yaml": CLAIMING.replace("source", "sources")})
