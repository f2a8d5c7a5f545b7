"""Set-ups around sharing, as they are reported: each with what is near it and right."""

from __future__ import annotations

import pytest

from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile


def said(*codes: str, **files: str) -> list[str]:
    """Messages with these codes; names of files have `__` for a dot and `_0_` for a slash."""
    given = [
        GivenFile(name.replace("__", ".").replace("_0_", "/"), text) for name, text in files.items()
    ]
    found = [each for report in lint_files(given) for each in report.findings]
    assert CHECK_FAILED.id not in {each.code for each in found}
    return [each.message for each in found if each.code in codes]


def group(more: str = "", kind: str = "g5.xlarge", name: str = "c") -> str:
    return f"""\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {{name: {name}, region: us-west-2, version: "1.33"}}
managedNodeGroups:
  - {{name: gpu, instanceType: {kind}, amiFamily: AmazonLinux2023{more and ", "}{more}}}
"""


def pod(limits: str = "nvidia.com/gpu: 1", more: str = "") -> str:
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec:
  containers:
    - name: main
      image: own:1.0.0
      resources: {{limits: {{{limits}}}}}
      {more}
"""


def flux(chart: str, values: str = "{}", name: str = "it") -> str:
    return f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: {name}, namespace: gpu}}
spec: {{chart: {{spec: {{chart: {chart}}}}}, values: {values}}}
"""


HAMI = flux("hami", name="hami")
ON = 'labels: {gpu: "on"}'


@pytest.mark.parametrize(
    ("limits", "files", "wrong"),
    [
        ("nvidia.com/gpu: 2, nvidia.com/gpumem: 100", (HAMI, group(ON)), True),
        ("nvidia.com/gpu: 1, nvidia.com/gpumem: 100", (HAMI, group(ON)), False),
        ("nvidia.com/gpu: 4, nvidia.com/gpumem: 100", (HAMI, group(ON, "g5.12xlarge")), False),
        ("nvidia.com/gpu: 2, nvidia.com/gpumem: 100", (HAMI,), False),
        ("nvidia.com/gpu: 2, nvidia.com/gpumem: 100", (group(ON),), False),
        ("nvidia.com/gpu: '{{ .n }}', nvidia.com/gpumem: 100", (HAMI, group(ON)), False),
        ("nvidia.com/gpu: 2", (HAMI, group(ON)), False),
    ],
)
def test_hami_gives_a_container_one_part_of_each_gpu(
    limits: str, files: tuple[str, ...], wrong: bool
) -> None:
    others = {f"f{number}__yaml": text for number, text in enumerate(files)}

    assert bool(said("GPU1276", a__yaml=pod(limits), **others)) == wrong


VCJOB = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j}
spec:
  minAvailable: 1
  tasks:
    - name: w
      replicas: 1
      template:
        spec:
          containers:
            - {name: m, image: "own:1.0.0", resources: {limits: {RESOURCE: 1}}}
"""
VGPU = VCJOB.replace("RESOURCE", "volcano.sh/vgpu-number")


def conf(*plugins: str) -> str:
    listed = "\n".join(f"      - {each}" for each in plugins)
    return f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: volcano-scheduler-configmap, namespace: volcano-system}}
data:
  volcano-scheduler.conf: |
    actions: "enqueue, allocate, backfill"
    tiers:
    - plugins:
{listed}
"""


SHARE = "{name: deviceshare, arguments: {%s}}"


@pytest.mark.parametrize(
    ("job", "plugins", "wrong"),
    [
        (VGPU, (SHARE % "deviceshare.VGPUEnable: true",), False),
        (VGPU, (SHARE % "deviceshare.VGPUEnable: 'true'",), False),
        (VGPU, (SHARE % "predicate.VGPUEnable: true",), True),
        (VGPU, (SHARE % "deviceshare.VGPUEnable: false",), True),
        (VGPU, ("{name: deviceshare}",), True),
        (VGPU, ("{name: drf}",), True),
        (
            VGPU,
            ("{name: deviceshare}", "{name: predicates, arguments: {predicate.VGPUEnable: true}}"),
            False,
        ),
        (VGPU, ("{name: deviceshare, arguments: {'{{ .a }}': true}}",), False),
        (VGPU, ("{name: [",), False),
        (VGPU, ("{name: drf, arguments: {a: ${B}}}",), False),
        (VGPU, (), False),
        (
            VCJOB.replace("RESOURCE", "volcano.sh/gpu-memory"),
            (SHARE % "deviceshare.VGPUEnable: true",),
            True,
        ),
        (VCJOB.replace("RESOURCE", "cpu"), ("{name: deviceshare}",), False),
    ],
)
def test_volcano_is_told_to_place_parts(job: str, plugins: tuple[str, ...], wrong: bool) -> None:
    assert bool(said("GPU1274", a__yaml=job, b__yaml=conf(*plugins))) == wrong


@pytest.mark.parametrize(("switch", "count"), [("GPUSharingEnable", 1), ("VGPUEnable", 0)])
def test_values_of_volcanos_chart_tell_it_too(switch: str, count: int) -> None:
    text = conf(SHARE % f"deviceshare.{switch}: true").split("scheduler.conf: |\n")[1]
    values = f"custom:\n  scheduler_config_override: |\n{text}"

    assert len(said("GPU1274", a__yaml=VGPU, values__yaml=values)) == count
    assert said("GPU1274", a__yaml=VGPU, values__yaml=values.replace("custom", "other")) == []


def test_where_the_scheduler_is_told() -> None:
    told = conf("{name: deviceshare}")
    values = f"custom:\n  scheduler_config_override: |\n{told.split('conf: |')[1][1:]}"
    places = [
        finding.path
        for text in (told, values)
        for file in lint_files([GivenFile("a.yaml", VGPU), GivenFile("values.yaml", text)])
        for finding in file.findings
        if finding.code == "GPU1274"
    ]

    assert places == ['data["volcano-scheduler.conf"]', "custom.scheduler_config_override"]


def test_guides_show_one_of_several_ways() -> None:
    wrong = conf(SHARE % "predicate.VGPUEnable: true")

    assert said("GPU1274", a__yaml=VGPU, b__md=f"```yaml\n{wrong}```\n") == []
    assert said("GPU1274", a__md=f"```yaml\n{VGPU}```\n", b__yaml=wrong) == []
    assert (
        said("GPU1274", a__yaml=VGPU, b__yaml=f"{wrong}---\n{wrong.replace('-conf', '-b')}") == []
    )


def test_jobs_of_volcano_are_placed_by_volcano() -> None:
    assert said("GPU1274", a__yaml=VGPU) == []
    assert said("GPU1274", a__yaml=pod("volcano.sh/vgpu-number: 1")) != []
    found = said("GPU1274", a__yaml=VGPU, b__yaml=conf(SHARE % "predicate.VGPUEnable: true"))

    assert found == [
        (
            "The Job j asks for volcano.sh/vgpu-number, for which Volcano's plugin deviceshare has "
            "to have deviceshare.VGPUEnable; it has predicate.VGPUEnable, which it does not read."
        )
    ]


@pytest.mark.parametrize("key", ["gpu-fraction: '0.5'", "gpu-memory: '2000'"])
def test_kai_gives_a_server_a_gpu_without_a_request(key: str) -> None:
    server = pod("cpu: 1").replace("own:1.0.0", "vllm/vllm-openai:v0.8.5")
    given = server.replace("{name: p}", f"{{name: p, annotations: {{{key}}}}}")

    assert len(said("GPU1238", a__yaml=server)) == 1
    assert said("GPU1238", a__yaml=given) == []


@pytest.mark.parametrize(
    ("more", "kind", "wrong"),
    [
        ('ami: ami-1, overrideBootstrapCommand: "/etc/eks/bootstrap.sh c"', "g5.xlarge", True),
        ('overrideBootstrapCommand: "#!/bin/sh\\necho"', "g5.xlarge", True),
        ('overrideBootstrapCommand: "kind: NodeConfig"', "g5.xlarge", False),
        ('overrideBootstrapCommand: "{{ .a }}"', "g5.xlarge", False),
        ('overrideBootstrapCommand: "/etc/eks/bootstrap.sh c"', "m5.large", False),
    ],
)
def test_amazon_linux_2023_boots_by_no_script(more: str, kind: str, wrong: bool) -> None:
    found = [each for each in said("GPU1071", a__yaml=group(more, kind)) if "NodeConfig" in each]

    assert bool(found) == wrong
    older = group(more, kind).replace("AmazonLinux2023", "AmazonLinux2")
    assert not [each for each in said("GPU1071", a__yaml=older) if "NodeConfig" in each]


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ("maxSize: 4, iam: {withAddonPolicies: {autoScaler: true}}", False),
        ("minSize: 0, maxSize: 4, propagateASGTags: true", True),
        ("minSize: 2, maxSize: 2, propagateASGTags: true", False),
        ("maxSize: 4, iam: {withAddonPolicies: {ebs: true}}", False),
        (
            "maxSize: 4, propagateASGTags: true, labels: {k8s.amazonaws.com/accelerator: a}",
            False,
        ),
    ],
)
def test_an_autoscaler_of_groups_waits_for_gpus(more: str, wrong: bool) -> None:
    assert bool(said("GPU1263", a__yaml=group(more))) == wrong


PORTS = "ports: [{name: http, containerPort: 8000}]\n      "
PROBE = "readinessProbe: {httpGet: {path: /, port: PORT}}"


@pytest.mark.parametrize(
    ("ports", "port", "wrong"),
    [
        (PORTS, "http", False),
        (PORTS, "web", True),
        (PORTS, "8000", False),
        (PORTS, "'8000'", False),
        (PORTS, "'{{ .a }}'", False),
        ("", "http", True),
        (PORTS.replace("http", "'{{ .a }}'"), "web", False),
    ],
)
def test_a_probe_names_a_port_of_its_container(ports: str, port: str, wrong: bool) -> None:
    probe = PROBE.replace("PORT", port)

    assert bool(said("GPU1397", a__yaml=pod(more=ports + probe))) == wrong
    assert said("GPU1397", a__yaml=pod("cpu: 1", more=ports + probe)) == []


def test_pods_of_others_may_get_ports_from_elsewhere() -> None:
    model = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: m}
spec:
  predictor:
    model:
      modelFormat: {name: huggingface}
      readinessProbe: {httpGet: {path: /, port: web}}
      resources: {limits: {nvidia.com/gpu: 1}}
"""

    assert said("GPU1397", a__yaml=model) == []


def test_a_port_that_is_not_there_is_told_with_those_that_are() -> None:
    socket = "livenessProbe: {tcpSocket: {port: web}}"

    assert said("GPU1397", a__yaml=pod(more=PORTS + socket), b__yaml=pod(more=socket)) == [
        "The livenessProbe of the Pod p asks the port web, and its container has http.",
        "The livenessProbe of the Pod p asks the port web, and its container names none.",
    ]


SCALER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: scaler, namespace: kube-system}
spec:
  selector: {matchLabels: {app: s}}
  template:
    metadata: {labels: {app: s}}
    spec:
      containers:
        - name: s
          image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0
          command: [./cluster-autoscaler, "--node-group-auto-discovery=asg:tag=TAGS"]
"""
TAGS = "k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/"


POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}]
"""


@pytest.mark.parametrize(
    ("scaler", "wrong"),
    [
        (flux("cluster-autoscaler", "{autoDiscovery: {clusterName: other}}"), True),
        (flux("cluster-autoscaler", "{autoDiscovery: {clusterName: c}}"), False),
        (flux("cluster-autoscaler", "{autoDiscovery: {clusterName: '{{ .a }}'}}"), False),
        (flux("cluster-autoscaler", "{autoDiscovery: {clusterName: <name>}}"), False),
        (flux("keda", "{autoDiscovery: {clusterName: other}}"), False),
        ("autoDiscovery: {clusterName: other}\n", True),
        (SCALER.replace("TAGS", f"{TAGS}other"), True),
        (SCALER.replace("TAGS", f"{TAGS}c"), False),
        (SCALER.replace("TAGS", f"{TAGS}<YOUR CLUSTER NAME>"), False),
        (SCALER.replace("TAGS", "k8s.io/cluster-autoscaler/enabled"), False),
        (SCALER.replace("--node-group-auto-discovery", "--x").replace("TAGS", f"{TAGS}d"), False),
    ],
)
def test_an_autoscaler_looks_for_the_cluster_that_is_here(scaler: str, wrong: bool) -> None:
    assert bool(said("GPU1398", a__yaml=scaler, b__yaml=group())) == wrong
    assert said("GPU1398", a__yaml=scaler) == []
    assert said("GPU1398", a__yaml=scaler, b__yaml=POOL) == []
    assert said("GPU1398", a__md=f"```yaml\n{scaler}---\n{group()}```\n") == []
    assert said("GPU1398", a__yaml=scaler, b__yaml=group(kind="m5.large")) == []
    assert said("GPU1398", a__yaml=scaler, b__yaml=group(), c__yaml=group(name="d")) == []
    assert said("GPU1398", a__yaml=scaler, b__yaml=group(name="'{{ .a }}'")) == []


TERRAFORM = {
    "a group of EKS": """\
resource "aws_eks_node_group" "gpu" {
  cluster_name   = "c"
  instance_types = ["g5.xlarge"]
}
""",
    "groups of the module": """\
module "eks" {
  source       = "terraform-aws-modules/eks/aws"
  version      = "~> 20.0"
  cluster_name = "c"
  eks_managed_node_groups = { gpu = { instance_types = ["g5.xlarge"] } }
}
""",
    "groups of the newer module": """\
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.0"
  name    = "c"
  eks_managed_node_groups = { gpu = { name = "d", instance_types = ["g5.xlarge"] } }
}
""",
    "a group by itself": """\
module "gpu" {
  source        = "terraform-aws-modules/eks/aws//modules/self-managed-node-group"
  version       = "~> 20.0"
  name          = "gpu"
  instance_type = "g5.xlarge"
  autoscaling_group_tags = { "k8s.io/cluster-autoscaler/c" = "owned" }
}
""",
}


@pytest.mark.parametrize("kind", TERRAFORM)
def test_groups_of_terraform_are_of_a_cluster_too(kind: str) -> None:
    def found(name: str, more: str = "") -> list[str]:
        scaler = flux("cluster-autoscaler", f"{{autoDiscovery: {{clusterName: {name}}}}}")
        files = {"main.tf": TERRAFORM[kind] + more, "scaler.yaml": scaler}
        given = [GivenFile(name, text) for name, text in files.items()]
        found = [each.code for report in lint_files(given) for each in report.findings]
        return [code for code in found if code == "GPU1398"]

    assert found("other") == ["GPU1398"]
    assert found("c") == []
    another = TERRAFORM["a group of EKS"].replace('"gpu"', '"b"').replace('"c"', '"d"')
    assert found("other", another) == []
    assert found("other", another.replace('"d"', "var.name")) == []


@pytest.mark.parametrize(
    ("values", "known"),
    [
        ("gfd: {enabled: false}\ntolerations: [{key: a, operator: Exists}]\n", True),
        ("gfd: {enabled: false}\naffinity: {}\n", True),
        ("gfd: {enabled: false}\ndaemonsets: {tolerations: []}\n", False),
        ("tolerations: [{key: a, operator: Exists}]\n", False),
    ],
)
def test_values_with_feature_discovery_and_fields_of_pods_are_the_plugins(
    values: str, known: bool
) -> None:
    nodes = group("taints: [{key: b, value: c, effect: NoSchedule}]")

    found = said("GPU1100", a__yaml=values, b__yaml=nodes)
    assert [each for each in found if "nvidia-device-plugin" not in each] == []
    assert bool(found) == known


def test_values_of_hami_are_known_by_its_keys() -> None:
    values = "devicePlugin: {deviceSplitCount: 10}\n"

    assert len(said("GPU1102", a__yaml=values, b__yaml=group())) == 1
    assert said("GPU1102", a__yaml="devicePlugin: {enabled: true}\n", b__yaml=group()) == []


def test_folders_called_after_their_chart_are_parts_of_one_cluster() -> None:
    assert len(said("GPU1102", hami_0_a__yaml=HAMI, eks_0_b__yaml=group())) == 1
    assert said("GPU1102", strange_0_a__yaml=HAMI, eks_0_b__yaml=group()) == []


CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: gpu}
spec:
  role: r
  amiFamily: AL2023
  amiSelectorTerms: [{name: "NAME", owner: amazon}]
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("amazon-eks-node-*-nvidia-*", True),
        ("amazon-eks-node-al2023-x86_64-nvidia-1.33-*", False),
        ("my-image-*", False),
    ],
)
def test_names_of_images_have_the_version_of_the_cluster(name: str, told: bool) -> None:
    (found,) = said("GPU1056", a__yaml=CLASS.replace("NAME", name))

    assert found.endswith("the newest may be of another than yours.") == told


@pytest.mark.parametrize(
    ("term", "severity"),
    [
        ("tags: {used-by: gpu}", "warning"),
        ("name: a-*", "warning"),
        ("alias: al2023@latest", "warning"),
        ("name: amazon-eks-node-al2023-*", "error"),
    ],
)
def test_nodes_come_up_from_an_image_that_changes(term: str, severity: str) -> None:
    """But for those of another Kubernetes than the cluster's."""
    given = [GivenFile("a.yaml", CLASS.replace('name: "NAME", owner: amazon', term))]
    found = [each for report in lint_files(given) for each in report.findings]

    assert [each.severity for each in found if each.code == "GPU1056"] == [severity]


def test_labels_of_types_and_classes_are_of_one_provisioner() -> None:
    pool = POOL.replace("node.kubernetes.io/instance-type", "eks.amazonaws.com/instance-family")
    (found,) = [
        each
        for report in lint_files([GivenFile("a.yaml", pool)])
        for each in report.findings
        if each.code == "GPU1054"
    ]

    assert found.fix == (
        "Write karpenter.k8s.aws/instance-family, or name a node class of eks.amazonaws.com: EKS "
        "Auto Mode has NodeClass, Karpenter EC2NodeClass."
    )
