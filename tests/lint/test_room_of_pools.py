"""Pools that launch nodes of use, for what pods ask: what is near a mistake and is none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.manifests.checks.nodes.limits_of_pools import limits
from eks_gpushare.manifests.checks.nodes.room_of_pools import pools
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Finding

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: demo}
spec:
  containers:
    - {name: main, image: "app:1", resources: {limits: {LIMITS}}}
"""
GPU = "nvidia.com/gpu: 1"
TWO = "nvidia.com/gpu: 2"
JUDGED = {f"GPU{number}" for number in (*range(1248, 1265), 1181, 1085, 1214)} | {CHECK_FAILED.id}


def judged(*texts: str) -> list[Finding]:
    """Without what could not be decided."""
    reports = lint_files([GivenFile(f"{n}.yaml", text) for n, text in enumerate(texts)])
    found = (each for report in reports for each in report.findings)
    return [each for each in found if each.code in JUDGED and each.severity != "info"]


def codes(*texts: str) -> set[str]:
    return {each.code for each in judged(*texts)}


POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {LIMITS}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements: [REQUIREMENTS]
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: gpu}
spec:
  amiSelectorTerms: [AMI]
  role: nodes
  subnetSelectorTerms: [{tags: {cluster: demo}}]
  securityGroupSelectorTerms: [{tags: {cluster: demo}}]
  MORE
"""
ALIAS = "{alias: al2023@v20260714}"
DISK = "blockDeviceMappings: [{deviceName: DEVICE, ebs: {volumeSize: SIZE}}]"


def of_type(name: str) -> str:
    return f"{{key: node.kubernetes.io/instance-type, operator: In, values: [{name}]}}"


def label(key: str, value: str, operator: str = "In") -> str:
    return f'{{key: karpenter.k8s.aws/instance-{key}, operator: {operator}, values: ["{value}"]}}'


def disk(size: str = "200Gi", device: str = "/dev/xvda") -> str:
    return DISK.replace("DEVICE", device).replace("SIZE", size)


def pool(
    *requirements: str, limits: str = 'cpu: "256"', ami: str = ALIAS, more: str | None = None
) -> str:
    wanted = ", ".join(requirements or (of_type("g5.xlarge"),))
    made = POOL.replace("LIMITS", limits).replace("REQUIREMENTS", wanted).replace("AMI", ami)
    return made.replace("MORE", disk() if more is None else more)


def disks(first: str, second: str) -> str:
    """Those of Bottlerocket: one of the system, one of images."""
    both = ", ".join(
        f"{{deviceName: /dev/{device}, ebs: {{volumeSize: {size}}}}}"
        for device, size in (("xvda", first), ("xvdb", second))
    )
    return f"blockDeviceMappings: [{both}]"


def with_taint(text: str) -> str:
    taint = "{key: nvidia.com/gpu, effect: NoSchedule}"
    return text.replace("requirements:", f"taints: [{taint}]\n      requirements:", 1)


def with_labels(text: str, labels: str) -> str:
    return text.replace("template:\n", f"template:\n    metadata: {{labels: {labels}}}\n", 1)


def of_auto_mode(text: str) -> str:
    return text.replace(
        "group: karpenter.k8s.aws, kind: EC2NodeClass", "group: eks.amazonaws.com, kind: NodeClass"
    )


TEMPLATED = "userData: {{ .Values.userData | quote }}"
BOTTLEROCKET = "{alias: bottlerocket@v1.62.0}"
NAMED = "{name: amazon-eks-node-al2023-x86_64-VARIANT-1.35-v20260714}"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (pool(), set()),
        (pool(more=""), {"GPU1248"}),
        (pool(more="instanceStorePolicy: RAID0"), set()),
        (pool(ami=BOTTLEROCKET), {"GPU1248"}),
        (pool(ami=BOTTLEROCKET, more=disk(device="/dev/xvdb")), set()),
        (pool(more="").partition("---")[0], set()),
        (pool(more="", ami="{tags: {made-by: us}}"), set()),
        (pool(more=TEMPLATED), set()),
        (pool(ami=BOTTLEROCKET, more=disks("200Gi", "100Gi")), set()),
        (pool(ami=BOTTLEROCKET, more=disks("100Gi", "99Gi")), {"GPU1248"}),
        (pool(ami=BOTTLEROCKET, more=disks("null", "99Gi")), {"GPU1248"}),
        (pool(ami=BOTTLEROCKET, more=disks("200Gi", "null")), set()),
        (pool(ami=BOTTLEROCKET, more=disks("20Gi", "99Gi")), {"GPU1214"}),
        (pool(more=disks("20Gi", "200Gi")), set()),
        (pool(limits='cpu: "2"'), {"GPU1251"}),
        (pool(limits='cpu: "4"'), set()),
        (pool(limits="memory: 8Gi"), {"GPU1251"}),
        (pool(limits="memory: 16Gi"), set()),
        (pool(of_type("p4d.24xlarge"), limits='nvidia.com/gpu: "4"'), {"GPU1251"}),
        (pool(limits='cpu: "0"'), set()),
        (pool(of_type("g5.xlarge"), limits='nvidia.com/gpu: "1"'), set()),
        (pool(label("category", 'g", "c')), {"GPU1252"}),
        (pool(label("category", 'p", "c', "NotIn"), of_type("g5.xlarge")), set()),
        (pool(label("category", 'g", "p')), set()),
        (with_taint(pool(label("category", 'g", "c'))), set()),
        (of_auto_mode(pool(label("category", 'g", "c'))), set()),
        (pool(label("category", 'g", "c'), label("size", "{{ .size }}")), set()),
        (pool(of_type("g5g.xlarge"), ami=NAMED.replace("VARIANT", "nvidia")), {"GPU1259"}),
        (pool(ami=NAMED.replace("VARIANT", "nvidia")), set()),
        (pool(ami=NAMED.replace("VARIANT", "standard")), {"GPU1181"}),
        (pool(label("gpu-memory", "23", "Gt"), label("family", "g5")), {"GPU1264"}),
        (pool(label("gpu-name", "A10G")), {"GPU1264"}),
        (pool(label("gpu-name", "a10g")), set()),
        (pool(label("family", "p4d"), label("cpu", "8")), {"GPU1085"}),
        (pool(label("family", "p4d"), label("cpu", "96")), set()),
    ],
)
def test_a_pool_launches_nodes_that_are_of_use(text: str, wrong: set[str]) -> None:
    assert codes(text) == wrong


def test_a_class_of_two_pools_is_told_of_once() -> None:
    two = (
        pool(more="") + "---\n" + POOL.partition("---\n")[0].replace("{name: gpu}", "{name: b}", 1)
    )
    two = two.replace("LIMITS", 'cpu: "8"').replace("REQUIREMENTS", of_type("g5.xlarge"))

    assert [each.code for each in judged(two)] == ["GPU1248"]


@pytest.mark.parametrize(
    ("text", "path"),
    [(pool(more=""), "spec"), (pool(ami=BOTTLEROCKET), "spec.blockDeviceMappings")],
)
def test_a_volume_that_is_not_there_is_told_where_it_goes(text: str, path: str) -> None:
    assert [each.path for each in judged(text)] == [path]


CLASS = "The EC2NodeClass gpu"


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        (
            pool(more=""),
            f"{CLASS} says nothing of a volume, and GPU nodes get 20 GiB.",
            "Give /dev/xvda 100 GiB or more under blockDeviceMappings.",
        ),
        (
            pool(more="", ami=BOTTLEROCKET),
            f"{CLASS} says nothing of a volume, and GPU nodes get 20 GiB.",
            "Give /dev/xvdb 100 GiB or more under blockDeviceMappings.",
        ),
        (
            pool(ami=BOTTLEROCKET),
            (
                f"{CLASS} says nothing of /dev/xvdb, where Bottlerocket has images, and GPU nodes "
                "get 20 GiB."
            ),
            "Give /dev/xvdb 100 GiB or more under blockDeviceMappings.",
        ),
        (
            pool(ami=BOTTLEROCKET, more=disks("200Gi", "20Gi")),
            f"{CLASS} gives /dev/xvdb, where Bottlerocket has images, 20 GiB.",
            "Give it 100 GiB or more.",
        ),
        (
            pool(limits="memory: 8Gi"),
            (
                "The NodePool gpu limits memory to 8Gi, and the smallest of its nodes has 16 GiB "
                "of memory."
            ),
            "Raise the limit to that of as many nodes as there may be.",
        ),
        (
            pool(of_type("g5.2xlarge"), limits='cpu: "2"'),
            "The NodePool gpu limits cpu to 2, and the smallest of its nodes has 8 of cpu.",
            "Raise the limit to that of as many nodes as there may be.",
        ),
        (
            pool(label("category", 'g", "c", "p')),
            (
                "The NodePool gpu launches types with GPUs (g, p) and without (c), and no taint "
                "keeps pods without a GPU off."
            ),
            "Make a pool of its own for GPUs, with a taint.",
        ),
    ],
)
def test_it_is_said_what_a_pool_has(text: str, message: str, fix: str) -> None:
    assert [(each.message, each.fix) for each in judged(text)] == [(message, fix)]


def test_only_documents_of_pools_are_looked_at() -> None:
    """What a program declares has its values elsewhere, and rules of its own."""
    mixed = pool(label("category", 'g", "c'))
    for check, text in ((limits, pool(limits='cpu: "2"')), (pools, mixed)):
        whole = tuple(read_files([GivenFile("a.yaml", text)]).items)
        apart = tuple(replace(each, source=replace(each.source, document=None)) for each in whole)

        assert [len(list(check.look(Inventory(items)))) for items in (whole, apart)] == [1, 0]


def overlay(capacity: str, of_type: str = "g6.12xlarge", weight: str = "1", name: str = "o") -> str:
    return f"""\
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {{name: {name}}}
spec:
  weight: {weight}
  requirements:
    - {{key: node.kubernetes.io/instance-type, operator: In, values: [{of_type}]}}
  capacity: {{{capacity}}}
"""


SHARES = "nvidia.com/gpu.shared"


@pytest.mark.parametrize(
    ("limit", "types", "overlays", "wrong"),
    [
        (f"{SHARES}: 15", "g6.12xlarge", overlay(f"{SHARES}: 16"), True),
        (f"{SHARES}: 16", "g6.12xlarge", overlay(f"{SHARES}: 16"), False),
        (f"{SHARES}: 0", "g6.12xlarge", overlay(f"{SHARES}: 16"), False),
        (f"{SHARES}: 15", "g6.12xlarge", overlay(f"{SHARES}: 16", "g5.xlarge"), False),
        (f"{SHARES}: 15", "g6.12xlarge", overlay(f"{SHARES}: '{{{{ .n }}}}'"), False),
        (f"{SHARES}: 15", "g6.12xlarge", "", False),
        # Karpenter launches the smaller one.
        (f"{SHARES}: 15", "g6.12xlarge, g6.xlarge", overlay(f"{SHARES}: 16"), False),
        (
            f"{SHARES}: 3",
            "g6.12xlarge, g6.xlarge",
            overlay(f"{SHARES}: 16") + overlay(f"{SHARES}: 4", "g6.xlarge", name="s"),
            True,
        ),
        ("nvidia.com/gpu: 3", "g6.12xlarge", "", True),
        ("nvidia.com/gpu: 3", "g6.12xlarge", overlay(f"{SHARES}: 16"), True),
        ("nvidia.com/gpu: 3", "g6.12xlarge", overlay("nvidia.com/gpu: 0"), False),
        ("nvidia.com/gpu: 7", "g6.12xlarge", overlay("nvidia.com/gpu: 8"), True),
        (
            "nvidia.com/gpu: 7",
            "g6.12xlarge",
            overlay("nvidia.com/gpu: 8", weight='"{{ .w }}"'),
            False,
        ),
        (
            "nvidia.com/gpu: 7",
            "g6.12xlarge",
            overlay("nvidia.com/gpu: 8") + overlay("nvidia.com/gpu: 4", weight="2", name="h"),
            False,
        ),
        ("nvidia.com/gpu: 3", "g6.12xlarge", overlay("cpu: 1", "'{{ .type }}'"), False),
        ("example.com/gpu: 3", "g6.12xlarge", overlay("example.com/gpu: 4"), False),
    ],
)
def test_limits_are_of_what_karpenter_takes_a_node_to_have(
    limit: str, types: str, overlays: str, wrong: bool
) -> None:
    text = pool(of_type(types), limits=limit) + overlays

    assert ("GPU1251" in codes(text)) is wrong


def test_it_is_said_how_many_shares_a_node_has() -> None:
    text = pool(of_type("g6.12xlarge"), limits=f"{SHARES}: 12") + overlay(f"{SHARES}: 16")
    found = [each for each in judged(text) if each.code == "GPU1251"]

    assert [(each.message, each.fix) for each in found] == [
        (
            (
                "The NodePool gpu limits nvidia.com/gpu.shared to 12, and the smallest of its "
                "nodes has 16 of nvidia.com/gpu.shared."
            ),
            "Raise the limit to that of as many nodes as there may be.",
        )
    ]
    assert found[0].path == 'spec.limits["nvidia.com/gpu.shared"]'


GROUPS = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: demo, region: us-west-2}
managedNodeGroups: [{name: gpu, instanceType: TYPE, MORE}]
"""


def group(instance_type: str = "g5.xlarge", more: str = "desiredCapacity: 1") -> str:
    return GROUPS.replace("TYPE", instance_type).replace("MORE", more)


def test_the_image_of_a_node_group_is_for_its_processors() -> None:
    assert codes(group("g5g.xlarge", "amiFamily: AL2_x86_64_GPU")) == {"GPU1259"}
    assert codes(group("g5g.xlarge", "amiFamily: AL2023_ARM_64_NVIDIA")) == set()


ON_POOL = "nodeSelector: {karpenter.sh/nodepool: gpu}"


def placed(more: str = ON_POOL, limits: str = GPU) -> str:
    return POD.replace("LIMITS", limits) + f"  {more}\n"


def asking(disk: str, more: str = ON_POOL) -> str:
    return placed(more, f"{GPU}, ephemeral-storage: {disk}")


AND_ANOTHER = ("containers:", "containers:\n    - {name: b, image: b}")
OTHER_POOL = "---\n" + pool(more="").partition("---")[0].replace("{name: gpu}", "{name: b}", 1)
SYSTEM_GROUP = """\
---
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: us-east-1, version: "1.34"}
managedNodeGroups: [{name: system, instanceType: m7i.large, amiFamily: AmazonLinux2023}]
"""
SYSTEM_POOL = OTHER_POOL.replace("g5.xlarge", "m7i.large")
WANTED = "{matchExpressions: [{key: karpenter.sh/nodepool, operator: In, values: [gpu]}]}"
AFFINITY = f"""affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{WANTED}]}}"""
OVERLAY = """\
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: gpu}
spec: {requirements: [], capacity: {nvidia.com/gpu: 4}}
"""
NEXT = "# the next file\n"
SHARED = """\
# Values of nvidia-device-plugin
config:
  map:
    default: |-
      version: v1
      sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
RENAMED = SHARED.replace("{timeSlicing: {", "{timeSlicing: {renameByDefault: true, ")
SETTINGS = """userData: |
    [settings.kubelet-device-plugins.nvidia]
    device-sharing-strategy = "time-slicing"
  blockDeviceMappings: [{deviceName: /dev/xvdb, ebs: {volumeSize: 200Gi}}]"""
PROMISE = "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"
TAGS = f'tags: {{{PROMISE}: "4"}}'


@pytest.mark.parametrize(
    ("pools_of_it", "pod", "wrong"),
    [
        (pool(), placed(), set()),
        (pool(), placed(limits=TWO), {"GPU1253"}),
        (pool(), placed("nodeName: other", limits=TWO), {"GPU1253"}),
        (pool(of_type("g5.12xlarge")), placed(limits=TWO), set()),
        (pool(of_type("g6f.xlarge")), placed(), {"GPU1253"}),
        (pool(label("family", "g4ad")), placed(), {"GPU1253"}),
        (pool(label("family", 'g4ad", "g6f", "gr6f')), placed(), {"GPU1252", "GPU1253"}),
        (pool(label("family", "g4ad")), placed() + NEXT + SHARED, {"GPU1253"}),
        (pool(label("family", "g6f")), placed() + NEXT + SHARED, {"GPU1253"}),
        (pool(of_type("m7i.large")), placed(), {"GPU1253"}),
        (pool(of_type("g6f.xlarge")) + SYSTEM_GROUP, placed() + NEXT + SHARED, {"GPU1253"}),
        (pool(of_type("g6f.xlarge")) + SYSTEM_POOL, placed() + NEXT + SHARED, {"GPU1253"}),
        (pool(), placed().replace(GPU, f"{GPU}, ephemeral-storage: 500Gi"), {"GPU1249"}),
        (pool(), placed().replace(GPU, f"{GPU}, ephemeral-storage: 50Gi"), set()),
        (pool(), asking("180Gi"), set()),
        (pool(), asking("180Gi").replace("180Gi", '"193273528321"'), {"GPU1249"}),
        (pool(), asking("180Gi").replace(*AND_ANOTHER), set()),
        (pool(), asking("500Gi").replace("limits", "requests"), {"GPU1249"}),
        (pool(more="").partition("---")[0], asking("500Gi"), set()),
        (pool(more=disks("20Gi", "null")), asking("500Gi"), set()),
        (pool(more="instanceStorePolicy: RAID0"), asking("500Gi"), set()),
        (group(more="volumeSize: 200"), asking("500Gi", ""), {"GPU1249"}),
        (pool(label("family", "g4ad", "NotIn")), placed(), set()),
        (pool(label("category", "g4ad")), placed(), set()),
        (pool() + OTHER_POOL, placed("hostname: a", limits=TWO), set()),
        (pool() + OTHER_POOL, placed(limits=TWO), {"GPU1253"}),
        (pool() + OTHER_POOL, placed(AFFINITY, limits=TWO), {"GPU1253"}),
        (pool() + OVERLAY, placed(limits=TWO), set()),
        # Karpenter counts the GPUs of a type, whatever its nodes share.
        (pool(), placed(limits=TWO) + NEXT + SHARED, {"GPU1253"}),
        (pool(), placed() + NEXT + SHARED, set()),
        (pool(), placed(limits=TWO) + NEXT + SHARED.replace("s: 4", "s: 2"), {"GPU1253"}),
        (pool(of_type("g6f.xlarge")), placed() + NEXT + RENAMED, set()),
        (
            group(more="labels: {nvidia.com/mig.config: a}"),
            placed("hostname: a", limits=TWO),
            set(),
        ),
        (group(more="labels: {team: a}"), placed("hostname: a", limits=TWO), {"GPU1253"}),
        (
            with_labels(pool(), "{nvidia.com/device-plugin.config: a}"),
            placed(limits=TWO),
            {"GPU1253"},
        ),
        (with_labels(pool(), "{nvidia.com/mig.config: a}"), placed(limits=TWO), {"GPU1253"}),
        (group(), placed("hostname: a", limits=TWO) + NEXT + SHARED, set()),
        (with_labels(pool(), "{team: a}"), placed(limits=TWO), {"GPU1253"}),
        (with_labels(pool(), "{{ .Values.labels }}"), placed(limits=TWO), set()),
        (pool(ami=BOTTLEROCKET, more=SETTINGS), placed(limits=TWO), {"GPU1253"}),
        (group(), placed("hostname: a", limits=TWO), {"GPU1253"}),
        (group(more=TAGS), placed("hostname: a", limits=TWO), set()),
    ],
)
def test_a_pod_has_a_type_and_a_disk(pools_of_it: str, pod: str, wrong: set[str]) -> None:
    assert codes(pools_of_it, *pod.split(NEXT)) == wrong


def test_what_a_pod_asks_for_is_told_where_it_stands() -> None:
    apart = asking("500Gi").replace("{limits: {nvidia.com/gpu: 1, ", "{requests: {")
    before = apart.replace("containers:", f"containers:\n    - {{name: a, image: a, {ONE_GPU}}}")

    assert [each.path for each in judged(pool(), before)] == [
        "spec.containers[1].resources.requests.ephemeral-storage"
    ]


ONE_GPU = "resources: {limits: {nvidia.com/gpu: 1}}"


@pytest.mark.parametrize(
    ("text", "severity", "said"),
    [
        (pool(), "error", "asks for 2 of nvidia.com/gpu in a pod, and the types of the NodePool "),
        (pool(of_type("g6f.xlarge")), "error", " have none of NVIDIA's that EC2 counts."),
        (pool(), "error", " gpu have 1."),
        (group(), "warning", "the types of the node group gpu have 1."),
        (pool(ami=BOTTLEROCKET, more=SETTINGS), "warning", " gpu have 1."),
    ],
)
def test_how_many_a_type_has_is_said(text: str, severity: str, said: str) -> None:
    (found,) = judged(text, placed("hostname: a", limits=TWO))

    assert (found.code, found.severity) == ("GPU1253", severity)
    assert said in found.message


STATIC = ("spec:\n  limits", "spec:\n  replicas: 2\n  limits")
CLAIMS = "resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]"


@pytest.mark.parametrize(
    ("text", "more", "wrong"),
    [
        (pool(), f"{ON_POOL}\n  {CLAIMS}", True),
        (pool(), f"{ON_POOL}", False),
        (pool(), f"{CLAIMS}", False),
        (pool(), f"nodeSelector: {{karpenter.sh/nodepool: b}}\n  {CLAIMS}", False),
        (pool() + OTHER_POOL, f"nodeSelector: {{karpenter.sh/nodepool: b}}\n  {CLAIMS}", True),
        (pool().replace(*STATIC), f"{ON_POOL}\n  {CLAIMS}", False),
        (of_auto_mode(pool()), f"{ON_POOL}\n  {CLAIMS}", False),
        (group(), f"{ON_POOL}\n  {CLAIMS}", False),
        (with_labels(pool(), "{team: a}"), f"nodeSelector: {{team: a}}\n  {CLAIMS}", True),
        (with_labels(pool(), "{team: b}"), f"nodeSelector: {{team: a}}\n  {CLAIMS}", False),
        (with_labels(pool(), "$LABELS"), f"nodeSelector: {{team: a}}\n  {CLAIMS}", False),
        (pool() + group(more="labels: {team: a}"), f"nodeSelector: {{team: a}}\n  {CLAIMS}", False),
        (pool(), f"{AFFINITY}\n  {CLAIMS}", True),
        (
            pool(),
            f"nodeSelector: {{node.kubernetes.io/instance-type: g5.xlarge}}\n  {CLAIMS}",
            True,
        ),
        (
            pool(),
            f"nodeSelector: {{node.kubernetes.io/instance-type: g6.xlarge}}\n  {CLAIMS}",
            False,
        ),
        (pool(of_type("$TYPE")), f"{ON_POOL}\n  {CLAIMS}", True),
    ],
)
def test_nodes_are_there_before_claims(text: str, more: str, wrong: bool) -> None:
    claiming = placed(more).replace("limits: {nvidia.com/gpu: 1}", "limits: {cpu: 1}")

    assert ("GPU1254" in codes(text, claiming)) == wrong


@pytest.mark.parametrize(
    ("more", "place"),
    [
        (
            "nodeSelector: {a: b, karpenter.sh/nodepool: gpu}",
            'nodeSelector["karpenter.sh/nodepool"]',
        ),
        ("nodeSelector: {team: a}", "nodeSelector.team"),
        (AFFINITY, "resourceClaims"),
    ],
)
def test_by_what_pods_with_claims_select_nodes_is_told(more: str, place: str) -> None:
    claiming = placed(f"{more}\n  {CLAIMS}").replace(
        "limits: {nvidia.com/gpu: 1}", "limits: {cpu: 1}"
    )
    found = judged(with_labels(pool(), "{a: b, team: a}"), claiming)

    assert [each.path for each in found if each.code == "GPU1254"] == [f"spec.{place}"]


def test_of_pools_without_a_selector_those_with_gpus_are_meant() -> None:
    third = SYSTEM_POOL.replace("name: b", "name: c")
    told = judged(pool(), SYSTEM_POOL, third, placed("", TWO))
    (one,) = (each for each in told if each.code == "GPU1253")

    assert "the types of the NodePool gpu have 1" in one.message
