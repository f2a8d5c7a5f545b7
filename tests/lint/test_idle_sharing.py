"""Sharing that comes to nothing on its nodes, and pods that no node of the files has room for."""

from __future__ import annotations

from pathlib import Path

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

EXAMPLES = Path(__file__).parents[2] / "examples" / "lint"


def codes(text: str) -> dict[str, str]:
    (report,) = lint_files([GivenFile("all.yaml", text)])
    return {one.code: one.severity for one in report.findings if one.severity != "info"}


def wrong(code: str) -> str:
    return (EXAMPLES / code / "bad.yaml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("", "", True),
        ("strategy: mixed", "strategy: single", False),  # the devices are nvidia.com/gpu
        ("all-1g.5gb", "$(LAYOUT)", False),
        ("all-1g.5gb", "half-and-whole", False),  # of no layout that is known
        ("all-1g.5gb", "all-disabled", False),
        ("    labels: {nvidia.com/mig.config: all-1g.5gb}\n", "", False),
        (
            "---\napiVersion: v1\n",
            (
                "  - {name: whole, instanceType: g5.xlarge, amiFamily: AmazonLinux2023}\n---\n"
                "apiVersion: v1\n"
            ),
            False,  # it is for those
        ),
        (
            "          - {name: nvidia.com/gpu, replicas: 2}\n",
            (
                "          - {name: nvidia.com/gpu, replicas: 2}\n"
                "          - {name: nvidia.com/mig-1g.5gb, replicas: 2}\n"
            ),
            False,
        ),
    ],
)
def test_sharing_of_what_a_cut_gpu_is_not(old: str, new: str, told: bool) -> None:
    assert ("GPU1136" in codes(wrong("GPU1136").replace(old, new, 1))) is told


@pytest.mark.parametrize(
    ("strategy", "shared", "has"),
    [
        ("mixed", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"),
        ("single", "nvidia.com/mig-1g.5gb", "nvidia.com/gpu"),
    ],
)
def test_what_the_gpus_are_instead_is_said(strategy: str, shared: str, has: str) -> None:
    text = wrong("GPU1136").replace("strategy: mixed", f"strategy: {strategy}")
    text = text.replace("- {name: nvidia.com/gpu, replicas", f"- {{name: {shared}, replicas")
    (report,) = lint_files([GivenFile("all.yaml", text)])
    (message,) = [one.message for one in report.findings if one.code == "GPU1136"]
    assert message.endswith(f"is to share {shared}, and its GPUs are given to pods as {has}.")


def test_types_of_one_group_are_told_of_once() -> None:
    text = wrong("GPU1136").replace(
        "instanceType: p4d.24xlarge", "instanceTypes: [p4d.24xlarge, p4de.24xlarge]"
    )
    (report,) = lint_files([GivenFile("all.yaml", text.replace("all-1g.5gb", "all-3g.20gb"))])
    assert [one.code for one in report.findings].count("GPU1136") <= 1


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("nvidia-smi -c EXCLUSIVE_PROCESS", True),
        ("nvidia-smi -i 0 -c 3", True),
        ("sudo nvidia-smi --compute-mode=PROHIBITED", True),
        ("nvidia-smi --compute-mode 1 && date", True),
        ("nvidia-smi -c 0", False),
        ("nvidia-smi -c 30", False),
        ("# nvidia-smi -c 3", False),
        ("nvidia-smi -pm 1; other -c 3", False),
        ("nvidia-smi -ac 3", False),
    ],
)
def test_a_boot_that_lets_one_process_have_a_gpu(command: str, told: bool) -> None:
    text = wrong("GPU1137").replace("nvidia-smi -c EXCLUSIVE_PROCESS", command)
    assert ("GPU1137" in codes(text)) is told


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("timeSlicing:", "mps:"),
        ("sharing:", "flags: {}\n          other:"),
    ],
)
def test_a_boot_that_is_none_of_time_slices(old: str, new: str) -> None:
    assert "GPU1137" not in codes(wrong("GPU1137").replace(old, new))


AUTO = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}
"""
NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: us-east-1, version: "1.34"}
managedNodeGroups:
  - {name: gpu, instanceType: g5.xlarge, amiFamily: AmazonLinux2023}
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - name: a
      image: a
      resources: {requests: {memory: 16Gi, cpu: "1"}, limits: {nvidia.com/gpu: 1}}
"""
SMALL = "  - {name: gpu, instanceType: g5.xlarge, amiFamily: AmazonLinux2023}\n"


def more(group: str) -> tuple[str, str]:
    return SMALL, SMALL + f"  - {{name: b, amiFamily: AmazonLinux2023, {group}}}\n"


@pytest.mark.parametrize(
    ("old", "new", "severity"),
    [
        ("", "", "error"),
        ("memory: 16Gi", "memory: 15900Mi", "warning"),  # the kubelet may keep back less
        ("memory: 16Gi", "memory: 8Gi", None),
        ('cpu: "1"', 'cpu: "4"', "error"),
        ('16Gi, cpu: "1"', "1Gi, cpu: 3920m", None),  # all that there is
        ('16Gi, cpu: "1"', "1Gi, cpu: 3921m", "warning"),
        (NODES.partition("---")[0], AUTO, None),  # of which it is not known what it keeps back
        ("memory: 16Gi", "memory: $(MEMORY)", None),
        ("g5.xlarge", "g5.4xlarge", None),
        (*more("instanceType: g5.4xlarge"), None),
        (*more("instanceType: c5.large"), "error"),  # without GPUs
        (*more("instanceType: $TYPE"), None),
        (*more("instanceType: g5.xlarge"), None),  # and the pod selects neither: maybe a third
    ],
)
def test_a_pod_that_no_node_has_room_for(old: str, new: str, severity: str | None) -> None:
    text = NODES.replace(old, new, 1)
    assert text != NODES or not old
    assert codes(text).get("GPU1202") == severity


@pytest.mark.parametrize(
    ("requests", "severity"),
    [
        ("{cpu: 1}", "error"),  # the limit is the request of memory
        ("{memory: 1Gi}", None),
        ("{memory: $(MEMORY)}", None),
        ("$(REQUESTS)", None),
    ],
)
def test_a_limit_is_the_request_where_none_is_written(requests: str, severity: str | None) -> None:
    given = 'requests: {memory: 16Gi, cpu: "1"}, limits: {'
    text = NODES.replace(given, f"requests: {requests}, limits: {{memory: 16Gi, ")
    assert text != NODES
    assert codes(text).get("GPU1202") == severity


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('cpu: "1"', "cpu: 4500m", "asks for 4500m of cpu, and the most that a node of the node "),
        ("16Gi", "17Gi", "asks for 17408 MiB of memory, and the most that a node of the node "),
    ],
)
def test_how_much_a_pod_asks_for_is_said(old: str, new: str, said: str) -> None:
    (report,) = lint_files(
        [
            GivenFile(
                "all.yaml",
                NODES.replace("16Gi", "1Gi" if "cpu" in old else "16Gi").replace(old, new),
            )
        ]
    )
    (message,) = [one.message for one in report.findings if one.code == "GPU1202"]
    assert said in message


def test_a_pod_may_ask_for_all_that_there_is() -> None:
    text = NODES.replace('16Gi, cpu: "1"', "16Gi, cpu: 3920m")
    (report,) = lint_files([GivenFile("all.yaml", text)])
    (message,) = [one.message for one in report.findings if one.code == "GPU1202"]
    assert "of memory" in message


def test_the_nodes_are_named_that_have_the_most() -> None:
    chosen = "  nodeSelector: {kubernetes.io/os: linux}\n  containers:"
    text = NODES.replace(*more("instanceType: g5.4xlarge")).replace("  containers:", chosen)
    (report,) = lint_files([GivenFile("all.yaml", text.replace('16Gi, cpu: "1"', "1Gi, cpu: 20"))])
    (message,) = [one.message for one in report.findings if one.code == "GPU1202"]
    assert "that a node of the node group b has for pods is " in message


def test_containers_need_room_together() -> None:
    text = NODES.replace("16Gi", "9Gi")
    assert "GPU1202" not in codes(text)
    beside = "    - {name: b, image: b, resources: {requests: {memory: 8Gi}}}\n"
    assert codes(text + beside)["GPU1202"] == "error"


def test_a_pod_that_selects_its_nodes_needs_room_there() -> None:
    text = NODES.replace(*more("instanceType: g5.4xlarge")).replace(
        "  containers:",
        "  nodeSelector: {node.kubernetes.io/instance-type: g5.xlarge}\n  containers:",
    )
    assert codes(text).get("GPU1202") == "error"


CUT = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: us-east-1, version: "1.34"}
managedNodeGroups:
  - name: gpu
    instanceType: p4d.24xlarge
    amiFamily: AmazonLinux2023
    labels: {nvidia.com/mig.config: all-1g.5gb}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: gpu-operator}
spec:
  chart: {spec: {chart: gpu-operator, version: v25.3.4}}
  values: {driver: {enabled: false}, toolkit: {enabled: false}, mig: {strategy: single}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: b}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: a, namespace: b}
spec:
  scaleTargetRef: {name: a}
  minReplicaCount: 1
  triggers:
    - type: prometheus
      metadata: {serverAddress: "http://a", query: "avg(DCGM_FI_DEV_GPU_UTIL)", threshold: "50"}
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("", "", True),
        ("all-1g.5gb", "all-disabled", False),
        ("all-1g.5gb", "$(LAYOUT)", False),
        ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", False),
        ("avg(DCGM_FI_DEV_GPU_UTIL)", "avg(DCGM_FI_DEV_GPU_UTIL) or vector(0)", False),
        (
            "---\napiVersion: helm",
            "  - {name: w, instanceType: g5.xlarge}\n---\napiVersion: helm",
            False,
        ),
    ],
)
def test_a_load_that_devices_of_one_strategy_have_no_figure_of(
    old: str, new: str, told: bool
) -> None:
    assert ("GPU1241" in codes(CUT.replace(old, new, 1))) is told


LABELLED = """\
apiVersion: v1
kind: Node
metadata: {name: w, labels: {nvidia.com/gpu.present: "true"}}
"""
ALERT = """\
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: idle, namespace: b}
spec:
  groups:
    - name: idle
      rules:
        - {alert: Idle, expr: 'max(max_over_time(DCGM_FI_DEV_GPU_UTIL{pod!=""}[1h])) < 1'}
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("", "", True),
        ("all-1g.5gb", "all-disabled", False),
        ("all-1g.5gb", "own", False),
        ("metadata: {name: idle", "# nvidia.com/mig.config=own\nmetadata: {name: idle", False),
        ("alert: Idle", "record: idle", False),
        ("alert: Idle", "alert: [a]", True),
        ("< 1", "< 1 unless up", False),
        ("max(max", "absent_over_time(max", False),
        ("pod!=", "GPU_I_ID=", False),
        ('pod!=""', 'pod="unless"', True),
        ("GPU_UTIL{", "GPU_TEMP{", False),
        (
            "---\napiVersion: helm",
            "  - {name: w, instanceType: g5.xlarge}\n---\napiVersion: helm",
            False,
        ),
        (
            "---\napiVersion: helm",
            "  - {name: w, instanceType: m5.xlarge}\n---\napiVersion: helm",
            True,
        ),
        (
            "---\napiVersion: helm",
            "  - {name: w, instanceType: $(T)}\n---\napiVersion: helm",
            False,
        ),
        (
            "---\napiVersion: helm",
            f"---\n{LABELLED}---\napiVersion: helm",
            False,
        ),
    ],
)
def test_alerts_are_by_what_devices_of_all_nodes_have(old: str, new: str, told: bool) -> None:
    text = "---".join(CUT.split("---")[:2]) + ALERT

    assert ("GPU1241" in codes(text.replace(old, new, 1))) is told


@pytest.mark.parametrize(("name", "called"), [("Idle", "The alert Idle"), ("[a]", "An alert")])
def test_an_alert_is_told_by_its_name(name: str, called: str) -> None:
    text = "---".join(CUT.split("---")[:2]) + ALERT.replace("alert: Idle", f"alert: {name}")
    reports = lint_files([GivenFile("a.yaml", text)])
    told = [each for one in reports for each in one.findings if each.code == "GPU1241"]

    assert [each.message.split(" of ")[0] for each in told] == [called]


POOL = """\
resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = "/subscriptions/s/managedClusters/ml"
  vm_size               = "Standard_NC24ads_A100_v4"
  node_labels           = { "nvidia.com/mig.config" = "all-1g.10gb" }
}
"""
SECOND = POOL.replace('"gpu"', '"other"')
BY_INSTANCE = POOL.replace("node_labels  ", "gpu_instance ").replace(
    '{ "nvidia.com/mig.config" = "all-1g.10gb" }', '"MIG1g"'
)


@pytest.mark.parametrize(
    ("pools", "told"),
    [
        (POOL, True),
        (BY_INSTANCE, True),
        (POOL + SECOND.replace("Standard_NC24ads_A100_v4", "Standard_D4s_v5"), True),
        (POOL + SECOND.replace("all-1g.10gb", "all-disabled"), False),
        (POOL + SECOND.replace('"Standard_NC24ads_A100_v4"', "var.size"), False),
        (BY_INSTANCE.replace('"MIG1g"', "null"), False),
        (BY_INSTANCE.replace('"MIG1g"', "var.instance"), False),
        (POOL.replace("all-1g.10gb", "own"), False),
        (POOL.replace("Standard_NC24ads_A100_v4", "Standard_D4s_v5"), False),
    ],
)
@pytest.mark.parametrize("rest", [CUT.split("---", 1)[1], CUT.split("---")[1] + ALERT])
def test_pools_of_azure_tell_of_devices_too(pools: str, told: bool, rest: str) -> None:
    reports = lint_files([GivenFile("main.tf", pools), GivenFile("all.yaml", rest)])
    found = [each.code for report in reports for each in report.findings]

    assert ("GPU1241" in found) is told


def test_a_label_is_nothing_without_who_goes_by_it() -> None:
    rest = CUT.split("---", 2)[2]
    reports = lint_files([GivenFile("main.tf", POOL), GivenFile("all.yaml", rest)])

    assert not [each for report in reports for each in report.findings if each.code == "GPU1241"]


SHARED = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: us-east-1, version: "1.34"}
managedNodeGroups:
  - name: gpu
    instanceType: g5.xlarge
    amiFamily: AmazonLinux2023
    maxSize: 1
    labels: {nvidia.com/gpu.present: "true"}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nvidia-device-plugin, namespace: kube-system}
spec:
  chart: {spec: {chart: nvidia-device-plugin, version: 0.17.4}}
  values:
    config:
      map:
        shared: |
          version: v1
          sharing:
            timeSlicing:
              resources: [{name: nvidia.com/gpu, replicas: 4}]
"""
SERVER = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: b}
spec:
  replicas: PODS
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {a: NAME}}
  template:
    metadata: {labels: {a: NAME}}
    spec: {containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""


SCALER = """\
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: a, namespace: b}
spec:
  scaleTargetRef: {name: a}
  triggers: [{type: kafka, metadata: {topic: a}}]
"""


def servers(*pods: int) -> str:
    named = zip("abcdef", pods, strict=False)
    return SHARED + "".join(
        SERVER.replace("NAME", name).replace("PODS", str(count)) for name, count in named
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (servers(4), 1),
        (servers(3), 0),
        (servers(5), 1),  # one is too many from the beginning
        (servers(2, 2), 2),  # neither of them gets a share to begin with
        (servers(2, 1), 0),
        (servers(3, 2), 1),
        (servers(4).replace("maxUnavailable: 0", "maxUnavailable: 1"), 0),
        (servers(4).replace("replicas: 4}]", "replicas: $(SHARES)}]"), 0),
        (servers(4).replace("maxSize: 1", "maxSize: 2"), 0),
        (servers(4).replace("maxSize: 1", "maxSize: $MOST"), 0),
        (
            servers(4).replace("\n---", "\n  - {name: b, instanceType: $TYPE}\n---", 1),
            0,
        ),  # maybe of GPUs
        (
            servers(4).replace(
                "\n---",
                "\n  - {name: b, instanceType: $TYPE, taints: [{key: a, effect: NoSchedule}]}\n---",
                1,
            ),
            1,
        ),
        (
            servers(4)
            .replace("\n---", "\n  - {name: b, instanceType: $TYPE}\n---", 1)
            .replace("{containers", "{nodeSelector: {for: servers}, containers")
            .replace("labels: {nv", "labels: {for: servers, nv"),
            1,
        ),
        (servers(4) + SCALER, 0),
        (servers(4) + SCALER.replace("name: a}", "name: other}"), 1),
        (servers(4) + SCALER.replace("name: a}", "name: $(NAME)}"), 0),
        (servers(4) + SCALER.replace("name: a}", "name: a, kind: StatefulSet}"), 1),
    ],
)
def test_shares_that_are_all_held(text: str, told: int) -> None:
    (report,) = lint_files([GivenFile("all.yaml", text)])
    assert [one.code for one in report.findings].count("GPU1243") == told


def test_what_others_hold_is_said() -> None:
    one, several = (lint_files([GivenFile("a.yaml", servers(*pods))])[0] for pods in ((4,), (2, 2)))
    (alone,) = [each.message for each in one.findings if each.code == "GPU1243"]
    assert "The Deployment a holds 4 of the 4 of nvidia.com/gpu that its nodes can have" in alone
    first, _ = [each.message for each in several.findings if each.code == "GPU1243"]
    assert "holds with those beside it, of which it has 2, 4 of the 4 of nvidia.com/gpu" in first


OWN = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: us-east-1, version: "1.34"}
managedNodeGroups:
  - name: gpu
    instanceType: g5.xlarge
    amiFamily: Bottlerocket
    maxSize: 1
    bottlerocket: {settings: SETTINGS}
"""


@pytest.mark.parametrize(
    ("settings", "told"),
    [("{motd: a}", 1), ("{kubernetes: {a: b}, kubelet-device-plugins: $(SETTINGS)}", 0)],
)
def test_how_bottlerocket_shares_may_not_be_known(settings: str, told: int) -> None:
    server = SERVER.replace("NAME", "a").replace("PODS", "1")
    (report,) = lint_files([GivenFile("a.yaml", OWN.replace("SETTINGS", settings) + server)])
    assert [one.code for one in report.findings].count("GPU1243") == told


KARPENTER = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {nvidia.com/gpu: MOST}
  template:
    metadata: {labels: {nvidia.com/mig.config: LAYOUT}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [p4d.24xlarge]}
"""


@pytest.mark.parametrize(
    ("most", "layout", "pods", "told"),
    [
        ("8", "all-disabled", 9, 1),
        ("16", "all-disabled", 9, 0),
        ("15", "all-disabled", 9, 1),  # of which one node is
        ("$(MOST)", "all-disabled", 9, 0),
        ("64", "all-1g.5gb", 60, 0),  # Karpenter counts GPUs, and pods ask for devices
    ],
)
@pytest.mark.parametrize("strategy", ["single", "mixed"])
def test_a_limit_of_gpus_is_none_of_devices(
    strategy: str, most: str, layout: str, pods: int, told: int
) -> None:
    pool = KARPENTER.replace("MOST", most).replace("LAYOUT", layout)
    operator = CUT.split("---\n")[1].replace("strategy: single", f"strategy: {strategy}")
    server = SERVER.replace("NAME", "a").replace("PODS", str(pods))
    if strategy == "mixed" and layout != "all-disabled":
        server = server.replace("nvidia.com/gpu", "nvidia.com/mig-1g.5gb")
    (report,) = lint_files([GivenFile("all.yaml", f"{pool}---\n{operator}{server}")])
    assert [one.code for one in report.findings].count("GPU1243") == told


def vllm(*parts: float) -> str:
    text = servers(*(1 for _ in parts))
    for part in parts:
        args = f'image: "vllm/vllm-openai:v0.11.0", args: [--gpu-memory-utilization={part}]'
        text = text.replace("{name: a, image: a, ", f"{{name: a, {args}, ", 1)
    return text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (vllm(0.9, 0.3), 1),
        (vllm(0.6, 0.3), 0),
        (vllm(0.5, 0.5), 0),
        (vllm(0.4, 0.4, 0.3), 1),
        (vllm(0.9), 0),
        (vllm(0.9, 0.3).replace("maxSize: 1", "maxSize: 2"), 0),
        (vllm(0.6, 0.6, 0.6).replace("maxSize: 1", "maxSize: 2"), 1),  # two are on one of two
        (vllm(0.6, 0.6).replace("maxSize: 1", "maxSize: 2"), 0),
        (vllm(0.9, 0.3).replace("timeSlicing", "mps"), 0),
        (vllm(0.9, 0.3).replace("utilization=0.9", "utilization=$(PART)"), 0),
        (vllm(0.9, 0.3).replace("maxSize: 1", "maxSize: $MOST"), 0),
    ],
)
def test_memory_of_servers_beside_each_other(text: str, told: int) -> None:
    (report,) = lint_files([GivenFile("all.yaml", text)])
    assert [one.code for one in report.findings].count("GPU1209") == told


def test_a_layout_of_gpus_without_mig_leaves_them_whole() -> None:
    text = CUT.replace("p4d.24xlarge", "g5.48xlarge")
    assert "GPU1130" in codes(text)
    assert "GPU1110" not in codes(text)
