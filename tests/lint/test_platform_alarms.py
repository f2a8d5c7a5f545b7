"""What was said of repositories of platforms and was not so, each class in our own words."""

from __future__ import annotations

from linted import found

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile


def said(*files: tuple[str, str]) -> list[str]:
    """The errors and warnings of files."""
    return [each.code for each in found(files)]


INSTALLED = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: plugin, namespace: kube-system}
spec:
  chart:
    spec:
      chart: nvidia-device-plugin
      version: %s
      sourceRef: {kind: HelmRepository, name: nvidia}
  values: {affinity: {}}
"""
GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: vision, region: us-west-2, version: "1.34"}
managedNodeGroups:
  - name: gpu
    instanceType: g5.xlarge
    amiFamily: AmazonLinux2023
    volumeSize: 200
"""


def test_the_plugins_chart_keeps_to_labelled_nodes_since_a_release() -> None:
    """The chart of 0.14.5 has an empty affinity, and that of 0.15.0 one of its own."""
    before, since = (INSTALLED % version for version in ("0.14.5", "0.15.0"))

    assert said(("release.yaml", before), ("cluster.yaml", GROUP)) == []
    assert said(("release.yaml", since), ("cluster.yaml", GROUP)) == ["GPU1101"]


ENGINE = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: engine, namespace: watch}
spec:
  selector: {matchLabels: {app: engine}}
  template:
    metadata: {labels: {app: engine}}
    spec:
      containers:
        - {name: engine, image: "nvcr.io/nvidia/cloud-native/dcgm:4.4.1-1-ubuntu22.04"}
"""
EXPORTER = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: exporter, namespace: watch}
spec:
  selector: {matchLabels: {app: exporter}}
  template:
    metadata: {labels: {app: exporter}}
    spec:
      containers:
        - name: exporter
          image: nvcr.io/nvidia/k8s/dcgm-exporter:4.4.1-4.6.0-ubuntu22.04
          command: [/bin/bash, -c]
          args: ["hostname $NODE; dcgm-exporter %s"]
"""


def test_an_exporter_is_told_of_an_engine_within_a_command_of_a_shell() -> None:
    """As Google's manifests for GKE do."""
    remote = EXPORTER % "--remote-hostengine-info $(NODE_IP)"

    assert said(("engine.yaml", ENGINE), ("exporter.yaml", remote)) == []
    assert said(("engine.yaml", ENGINE), ("exporter.yaml", EXPORTER % "-a :9400")) == ["GPU1187"]


SHARES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu-operator}
data:
  any: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
VALUES = "driver: {enabled: false}\ntoolkit: {enabled: true}\n"
INSTALL = "helm install gpu-operator nvidia/gpu-operator -n gpu-operator -f values.yaml\n"


def test_values_that_nothing_installs_do_not_tell_which_configurations_there_are() -> None:
    """NVIDIA's guide has one patch the ClusterPolicy after the chart is there."""
    files = (("shares.yaml", SHARES), ("values.yaml", VALUES))

    assert said(*files) == []
    assert said(*files, ("install.sh", INSTALL)) == ["GPU1121"]


def test_a_cluster_policy_that_somebody_edits_may_name_configurations() -> None:
    edit = f"{INSTALL}kubectl apply -f shares.yaml\nkubectl edit clusterpolicies.nvidia.com\n"

    assert said(("shares.yaml", SHARES), ("values.yaml", VALUES), ("install.sh", edit)) == []


def test_a_plugin_that_somebody_made_of_nvidias_has_values_of_its_own() -> None:
    values = (
        "config: {name: '', create: true, map: {}}\nmigStrategy: null\nfailOnInitError: null\n"
        "image: {repository: example.com/team/%s}\nmps: {enabled: true, userID: 1000}\n"
    )

    assert said(("values.yaml", values % "k8s-mps-device-plugin")) == []
    assert set(said(("values.yaml", values % "k8s-device-plugin"))) == {"GPU1034"}


def test_values_in_a_chart_are_those_of_its_version() -> None:
    """A copy of an early chart has an affinity that is empty, and nothing to take away."""
    chart = (
        "apiVersion: v2\nname: nvidia-device-plugin\nversion: %s\n"
        "home: https://github.com/NVIDIA/k8s-device-plugin\n"
    )
    values = ("gpu/values.yaml", "failOnInitError: true\nnodeSelector: {}\naffinity: {}\n")

    assert said(("gpu/Chart.yaml", chart % "0.6.0-own"), values) == []
    assert said(("gpu/Chart.yaml", chart % "0.17.0"), values) == ["GPU1035"]


def test_user_data_in_a_file_called_yaml_is_read_where_it_is_given() -> None:
    parts = (
        'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="B"\n\n--B\n'
        "Content-Type: application/node.eks.aws\n\n"
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n--B--\n"
    )

    assert said(("user-data.yaml", parts)) == []


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: one}
spec:
  %s: {matchLabels: {app: one}}
  containers: [{name: main, image: "example.com/app:1"}]
"""


def test_a_field_of_another_object_is_not_renamed() -> None:
    """A pod that is written like a Deployment would get a nodeSelector of no labels."""
    edits = {
        field: [
            bool(placed.edits)
            for report in lint_files([GivenFile("pod.yaml", POD % field)])
            for placed in report.found
            if placed.finding.code == "GPU1005"
        ]
        for field in ("selector", "nodeSeletor")
    }

    assert edits == {"selector": [False], "nodeSeletor": [True]}


WORKERS = "kubectl label node $NODE nvidia.com/mig.config=%s --overwrite\n"


def test_a_label_that_is_changed_to_and_fro_works_a_controller() -> None:
    script = "#!/bin/bash\n" + WORKERS % "idle" + WORKERS % "all-1g.10gb"

    assert said(("mig.sh", script)) == []
    assert said(("mig.sh", "#!/bin/bash\n" + WORKERS % "all-1g.10gb")) == ["GPU1062"]


def test_nodes_whose_status_somebody_writes_have_no_gpus() -> None:
    script = (
        "#!/bin/bash\ncurl -X PATCH $API/nodes/$NODE/status --data "
        '\'[{"op": "add", "path": "/status/capacity/nvidia.com~1gpu", "value": "4"}]\'\n'
    )
    label = "kubectl label node $NODE nvidia.com/gpu.present=true\n"

    assert said(("fake.sh", script + label)) == []
    assert said(("real.sh", "#!/bin/bash\n" + label)) == ["GPU1062"]


BEGUN = """\
#!/bin/bash
cat <<'EOF' > "$OUT"
apiVersion: v1
kind: ConfigMap
metadata: {name: layouts, namespace: gpu-operator}
data:
  config.yaml: |
    version: v1
    mig-configs:
      mine:
EOF
"""


def test_a_file_that_a_script_goes_on_with_is_not_whole() -> None:
    added = 'echo "        - devices: all" >> "$OUT"\n'
    another = (
        'cat <<EOF >> "$OUT"\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\nEOF\n'
    )

    assert said(("make.sh", BEGUN + added)) == []
    assert said(("make.sh", BEGUN + another)) == said(("make.sh", BEGUN)) == ["GPU1030"]


SCALED = """\
# Scaling

```yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: server}
spec:
  selector: {matchLabels: {app: server}}
  template:
    metadata: {labels: {app: server}}
    spec:
      containers:
        - {name: server, image: "example.com/server:1", resources: {limits: {nvidia.com/gpu: 1}}}
```

## By KEDA

```yaml
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: one}
spec: {scaleTargetRef: {name: server}, triggers: [{type: cron}]}
```
%s
```yaml
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: two}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: server}, maxReplicas: 3}
```
"""


def test_sections_of_a_guide_that_scale_the_same_pods_are_to_choose_from() -> None:
    assert said(("guide.md", SCALED % "\n## By CPU, as a fallback\n")) == []
    assert said(("guide.md", SCALED % "")) == ["GPU1239"]


def test_a_chart_in_a_folder_is_of_no_version_that_is_known() -> None:
    command = "helm upgrade gpu-operator %s --set mig.enabled=false\n"

    assert said(("roll-back.sh", command % "charts/gpu-operator/")) == []
    assert said(("roll-back.sh", command % "charts/nvidia/gpu-operator")) == []
    assert said(("roll-back.sh", command % "nvidia/gpu-operator")) == ["GPU1034"]


LABELLED = """\
# Installing

```sh
helm upgrade -i nvdp nvdp/nvidia-device-plugin --set config.name=shares
```

A node with a label takes another of them:

```sh
kubectl label node worker nvidia.com/device-plugin.config=large
```

Feature discovery labels them:

```sh
helm upgrade -i nvdp nvdp/nvidia-device-plugin %s
```
"""


def test_a_guide_that_installs_a_chart_anew_leaves_open_which_values_go_on() -> None:
    """As the README of the device plugin until 0.14 does."""
    assert "GPU1124" not in said(("README.md", LABELLED % "--set gfd.enabled=true"))
    assert "GPU1124" in said(("README.md", LABELLED.replace("--set config.name=shares", "") % ""))


TEMPLATE = """\
resource "aws_launch_template" "gpu" {
  user_data = base64encode(<<-EOT
    MIME-Version: 1.0
    Content-Type: multipart/mixed; boundary="B"

    --B
    Content-Type: TYPE

    apiVersion: node.eks.aws/v1alpha1
    kind: NodeConfig
    spec:
      kubelet:
        flags: ["--register-with-taints=nvidia.com/gpu=true:NoSchedule"]
    --B--
  EOT
  )
}
resource "aws_eks_node_group" "gpu" {
  cluster_name   = "vision"
  node_role_arn  = "arn:aws:iam::111122223333:role/node"
  subnet_ids     = ["subnet-1"]
  instance_types = ["g5.xlarge"]
  ami_type       = "AL2023_x86_64_NVIDIA"
  launch_template {
    id      = aws_launch_template.gpu.id
    version = aws_launch_template.gpu.latest_version
  }
  scaling_config {
    desired_size = 1
    max_size     = 1
    min_size     = 1
  }
}
resource "helm_release" "plugin" {
  name       = "plugin"
  chart      = "nvidia-device-plugin"
  version    = "0.14.5"
  values     = [yamlencode({tolerations = [{key = "gpu", operator = "Exists"}]})]
}
"""


def test_a_part_of_user_data_that_nobody_reads_registers_no_taint() -> None:
    """Its NodeConfig does nothing, which is told in place of what would follow from it."""
    read = TEMPLATE.replace("TYPE", "application/node.eks.aws")
    passed_over = TEMPLATE.replace("TYPE", "application/nodeadm.k8s.io")

    assert said(("main.tf", read)) == ["GPU1100"]
    assert said(("main.tf", passed_over)) == ["GPU1086"]
    assert said(("main.tf", passed_over.replace("kind: NodeConfig", "kind: Other"))) == []
