"""Pods that ask for GPUs are held against the nodes that have them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import (
    ANY_GPU_TAINT,
    GPU,
    PRESENT,
    USUAL,
    claim,
    codes,
    config_map,
    judgements,
    nodes,
    operator,
    plugin,
    pods,
    problems,
)

from eks_gpushare.inventory.edges import landing
from eks_gpushare.inventory.items import PART_OF_POD, DeviceClaim, NodeTaint, Pointer
from eks_gpushare.inventory.problem import Edit, NotSeen
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.sharing.kueue import QUEUE_LABEL

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item, Workload

SHARED = f"{GPU}.shared"
TEAM = ("team", "ml", "NoSchedule")


def sharing(kind: str = "timeSlicing", replicas: int = 4, **more: Any) -> dict[str, Any]:
    block = {"resources": [{"name": GPU, "replicas": replicas}], **more}
    return {"version": "v1", "sharing": {kind: block}}


def sliced(**more: Any) -> Item:
    """The plugin's chart, which cuts each GPU into four."""
    return plugin(
        {"config": {"map": {"default": sharing(**more)}}, "tolerations": [{"operator": "Exists"}]}
    )


POOL = nodes(taints=[USUAL], labels={**PRESENT, "pool": "gpu"})
TEAMS = nodes(taints=[TEAM], labels=PRESENT)
TOLERATED = {"tolerations": [ANY_GPU_TAINT]}
RENAMED = sliced(renameByDefault=True)


def affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


MIG = "nvidia.com/mig-1g.5gb"
BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "renamed, and asked for by the old name": ("GPU1110", (POOL, RENAMED, pods({GPU: 1}))),
    "not renamed, and asked for as shared": (
        "GPU1110",
        (POOL, sliced(), pods({SHARED: 1}, **TOLERATED)),
    ),
    "not shared at all": ("GPU1110", (POOL, plugin(), pods({SHARED: 1}, **TOLERATED))),
    "a MIG device of whole GPUs": (
        "GPU1110",
        (POOL, plugin(), pods({"nvidia.com/mig-1g.5gb": 1}, **TOLERATED)),
    ),
    "EKS tolerates the resource, not the taint": ("GPU1111", (POOL, RENAMED, pods({SHARED: 1}))),
    "another value": (
        "GPU1111",
        (
            POOL,
            RENAMED,
            pods({SHARED: 1}, tolerations=[{"key": GPU, "value": "present"}]),
        ),
    ),
    "another effect": (
        "GPU1111",
        (
            nodes(taints=[(GPU, "true", "NoExecute")], labels=PRESENT),
            sliced(),
            pods({GPU: 1}),
        ),
    ),
    "a taint of a team": ("GPU1111", (TEAMS, sliced(), pods({GPU: 1}))),
    "a label that nobody sets": (
        "GPU1112",
        (POOL, sliced(), pods({GPU: 1}, nodeSelector={"pool": "gpus"})),
    ),
    "a label with a wrong value": (
        "GPU1112",
        (POOL, sliced(), pods({GPU: 1}, nodeSelector={"pool": True})),
    ),
    "an affinity that no node meets": (
        "GPU1112",
        (
            POOL,
            sliced(),
            pods(
                {GPU: 1},
                affinity=affinity({"key": "pool", "operator": "NotIn", "values": ["gpu"]}),
            ),
        ),
    ),
    "another instance type": (
        "GPU1112",
        (
            POOL,
            sliced(),
            pods({GPU: 1}, nodeSelector={"node.kubernetes.io/instance-type": "p4d.24xlarge"}),
        ),
    ),
    "labels of one pool, taints of both": (
        "GPU1111",
        (
            nodes(taints=[TEAM], labels={**PRESENT, "pool": "a"}),
            nodes(name="b", labels={**PRESENT, "pool": "b"}),
            sliced(),
            pods({GPU: 1}, nodeSelector={"pool": "a"}),
        ),
    ),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "EKS tolerates the taint": (POOL, sliced(), pods({GPU: 1})),
    "by requests too": (POOL, sliced(), pods({GPU: 1}, {GPU: 1})),
    "renamed and tolerated": (POOL, RENAMED, pods({SHARED: 1}, **TOLERATED)),
    "all is tolerated": (TEAMS, sliced(), pods({GPU: 1}, tolerations=[{"operator": "Exists"}])),
    "the label is there": (POOL, sliced(), pods({GPU: 1}, nodeSelector={"pool": "gpu"})),
    "the type is": (
        POOL,
        sliced(),
        pods({GPU: 1}, nodeSelector={"node.kubernetes.io/instance-type": "g5.xlarge"}),
    ),
    "labels that discovery writes": (
        POOL,
        sliced(),
        pods({GPU: 1}, nodeSelector={"nvidia.com/gpu.product": "NVIDIA-A10G-SHARED"}),
    ),
    "labels that AWS writes": (
        POOL,
        sliced(),
        pods({GPU: 1}, nodeSelector={"topology.kubernetes.io/zone": "us-west-2a"}),
    ),
    "nodes of another cluster": (
        POOL,
        sliced(),
        pods({GPU: 1}, nodeSelector={"pool": "other", "topology.liqo.io/type": "virtual-node"}),
    ),
    "one pool of two": (
        TEAMS,
        nodes(name="b", labels=PRESENT),
        sliced(),
        pods({GPU: 1}),
    ),
    "no GPU is asked for": (TEAMS, sliced(), pods({"cpu": 1}, nodeSelector={"a": "b"})),
    "put there by name": (TEAMS, sliced(), pods({GPU: 1}, nodeName="ip-10-0-0-1")),
    "preferred, not required": (
        POOL,
        sliced(),
        pods(
            {GPU: 1},
            affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
        ),
    ),
    "what another plugin gives out": (POOL, sliced(), pods({"vpc.amazonaws.com/efa": 1})),
}


@pytest.mark.parametrize("case", BROKEN)
def test_pods_that_never_run_are_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_pods_that_run_are_not(case: str) -> None:
    assert codes(*RIGHT[case]) == []


def test_the_message_says_why_eks_does_not_help() -> None:
    (found,) = problems(POOL, RENAMED, pods({SHARED: 1}))

    assert found.message == (
        "The Deployment app asks for nvidia.com/gpu.shared and does not tolerate the taint "
        "nvidia.com/gpu=true:NoSchedule of the node group gpu, which has it. EKS adds a toleration "
        "of nvidia.com/gpu.shared by itself, which is not the key of that taint."
    )
    toleration = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
    place = ("spec", "template", "spec", "tolerations")
    assert found.edits == (Edit("set", place, [toleration]),)


def test_the_name_that_is_meant_is_named() -> None:
    (found,) = problems(POOL, RENAMED, pods({GPU: 1}))

    assert found.fix == (
        "Ask for nvidia.com/gpu.shared, as shares are called with renameByDefault."
    )
    resources = ("containers", 0, "resources", "limits", GPU)
    assert found.path == ("spec", "template", "spec", *resources)


def test_without_any_node_of_gpus_a_program_cannot_run_it() -> None:
    assert codes(nodes("m5.large"), pods({GPU: 1})) == ["GPU1110"]
    assert codes(nodes("m5.large"), pods({GPU: 1}), complete=False) == []


def test_of_files_other_nodes_may_have_the_labels() -> None:
    (found,) = problems(POOL, sliced(), pods({GPU: 1}, nodeSelector={"a": "b"}), complete=False)

    assert (found.rule, found.severity) == (landing.ELSEWHERE, "warning")


def test_nodes_that_pods_select_and_that_lack_what_they_ask_for_are_named() -> None:
    more: dict[str, Any] = {"labels": {"pool": "whole"}, "provisioner": "autoMode"}
    other = nodes(name="whole", taints=[USUAL], **more)
    kept = nodes(name="kept", taints=[TEAM], **more)
    pod = pods({SHARED: 1}, nodeSelector={"pool": "whole"}, **TOLERATED)
    led = [
        found.message.partition("is not such. ")[2]
        for given in ((other,), (kept,), (kept, other))
        for found in problems(POOL, RENAMED, *given, pod, of=[landing.ELSEWHERE])
    ]

    said = "The node group whole is, and has no nvidia.com/gpu.shared."
    assert led == [said, "", said]


def of_kueue(kind: str, name: Any = "default", **spec: Any) -> Pointer:
    space = "default" if kind == "LocalQueue" else ""
    source = Source(f"the {kind} {name}")
    return Pointer(source=source, kind=kind, name=name, namespace=space, spec=spec)


def of_group(version: str, kind: str) -> Workload:
    made = pods({GPU: 1}, kind=kind)
    document = SimpleNamespace(value={"apiVersion": version, "kind": kind})
    return replace(made, source=Source(f"the {kind} app", document))


LET_IN = of_kueue("ResourceFlavor", tolerations=[{"key": "team", "operator": "Exists"}])
JOB = of_group("batch/v1", "Job")


@pytest.mark.parametrize(
    ("given", "kept_out"),
    [
        ((JOB, of_kueue("LocalQueue"), LET_IN), False),
        ((JOB, of_kueue("LocalQueue"), of_kueue("ResourceFlavor")), True),
        ((JOB, of_kueue("LocalQueue", "team"), LET_IN), True),
        ((JOB, of_kueue("ClusterQueue"), LET_IN), True),
        ((JOB, replace(of_kueue("LocalQueue"), namespace="other"), LET_IN), True),
        ((replace(JOB, labels={QUEUE_LABEL: "team"}), LET_IN), False),
        ((of_group("v1", "Pod"), of_kueue("LocalQueue"), LET_IN), False),
        ((of_group("batch/v1", "CronJob"), of_kueue("LocalQueue"), LET_IN), False),
        ((of_group("kubeflow.org/v1", "PyTorchJob"), of_kueue("LocalQueue"), LET_IN), False),
        ((of_group("example.com/v1", "Job"), of_kueue("LocalQueue"), LET_IN), True),
        ((of_group("apps/v1", "ReplicaSet"), of_kueue("LocalQueue"), LET_IN), True),
    ],
)
def test_kueue_lets_in_what_it_gives_the_default_queue(
    given: tuple[Item, ...], kept_out: bool
) -> None:
    pool = nodes(taints=[TEAM], labels=PRESENT)
    found = problems(pool, sliced(), *given, of=[landing.PODS_KEPT_OUT])

    assert bool(found) is kept_out


FREE = nodes(labels=PRESENT)


@pytest.mark.parametrize(
    ("pool", "pod"),
    [
        (FREE, pods({GPU: 1}, nodeSelector=UNKNOWN)),
        (FREE, pods({GPU: 1}, affinity=UNKNOWN)),
        (TEAMS, pods({GPU: 1}, tolerations=UNKNOWN)),
        (nodes(labels=UNKNOWN), pods({GPU: 1}, nodeSelector={"a": "b"})),
        (nodes(labels=PRESENT, taints=UNKNOWN), pods({GPU: 1})),
    ],
)
def test_what_is_not_known_of_pods_and_nodes_is_said(pool: Item, pod: Item) -> None:
    assert "?GPU1111" in codes(pool, sliced(), pod)


def test_a_toleration_that_is_not_known_may_be_the_one() -> None:
    pod = pods({GPU: 1}, tolerations=[{"key": "other", "operator": "Exists"}, UNKNOWN])

    assert codes(TEAMS, sliced(), pod) == ["?GPU1111"]


def test_taints_that_nodes_lose_once_they_are_ready_keep_no_workload_off() -> None:
    keys = ("eks-gpushare/mig-layout", "startup-taint.cluster-autoscaler.kubernetes.io/network")
    starting = tuple(NodeTaint(key, "x", "NoSchedule") for key in keys)
    pool = nodes(labels=PRESENT, taints=starting)
    lasting = nodes(labels=PRESENT, taints=(NodeTaint("eks-gpushare/mig", "x", "NoSchedule"),))

    assert codes(pool, sliced(), pods({GPU: 1})) == []
    assert codes(lasting, sliced(), pods({GPU: 1})) == ["GPU1111"]


@pytest.mark.parametrize("name", ["gpus", "gup", "GPU", "gpu.share", "gpu-shared", "gpu.shraed"])
def test_a_resource_that_is_meant_to_be_one_of_gpus_is_nowhere(name: str) -> None:
    assert codes(FREE, sliced(), pods({f"nvidia.com/{name}": 1})) == ["GPU1110"]


@pytest.mark.parametrize("name", ["pgpu", "vgpu", "gpumem", "gpucores", "hostdev", "rdma_shared_a"])
def test_resources_of_other_plugins_are_left_alone(name: str) -> None:
    assert codes(FREE, sliced(), pods({f"nvidia.com/{name}": 1})) == []


SMALL = "nvidia.com/mig-1g.5gb"


def cut(layout: str, **more: Any) -> Item:
    return nodes("p4d.24xlarge", labels={"nvidia.com/mig.config": layout, **more}, name=layout)


def by(strategy: str) -> Item:
    return operator({"mig": {"strategy": strategy}})


@pytest.mark.parametrize(
    ("items", "fix"),
    [
        (
            (FREE, sliced(), pods({SHARED: 1})),
            "Ask for nvidia.com/gpu, as shares are called without renameByDefault.",
        ),
        (
            (cut("all-1g.5gb"), by("single"), pods({SMALL: 1})),
            "Ask for nvidia.com/gpu, as MIG devices are called by the single strategy.",
        ),
        (
            (cut("all-1g.5gb"), by("mixed"), pods({GPU: 1})),
            "Ask for nvidia.com/mig-1g.5gb, as MIG devices are called by the mixed strategy.",
        ),
        ((FREE, sliced(), pods({"nvidia.com/gpus": 1})), "Ask for nvidia.com/gpu."),
        ((FREE, RENAMED, pods({SMALL: 1})), "Ask for nvidia.com/gpu.shared."),
        (
            (cut("all-1g.5gb"), by("mixed"), pods({"nvidia.com/mig-7g.40gb": 1})),
            "Ask for nvidia.com/mig-1g.5gb.",
        ),
        (
            (cut("all-1g.5gb"), by("mixed"), pods({SHARED: 1})),
            "Ask for nvidia.com/mig-1g.5gb.",
        ),
        (
            (cut("all-balanced"), by("mixed"), pods({GPU: 1})),
            "Ask for one of those, or change what the nodes advertise.",
        ),
        (
            (FREE, cut("all-balanced"), by("mixed"), pods({SHARED: 1})),
            "Ask for nvidia.com/gpu, as shares are called without renameByDefault.",
        ),
        ((nodes("m5.large"), pods({GPU: 1})), "Add nodes with GPUs, or ask for none."),
    ],
)
def test_the_fix_says_what_is_meant(items: tuple[Item, ...], fix: str) -> None:
    assert [each.fix for each in problems(*items)] == [fix]


def test_nodes_whose_plugin_stops_have_no_gpu() -> None:
    (found,) = problems(
        cut("all-balanced"), by("single"), pods({GPU: 1}), of=[landing.NOT_ADVERTISED]
    )

    assert found.message == (
        "The Deployment app asks for nvidia.com/gpu, which no node advertises: the nodes with GPUs "
        "have no GPU at all."
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("nvidia.com/mig-1g.10gb", ["GPU1130"]),
        ("nvidia.com/mig-3g.20gb", ["GPU1130"]),
        (SHARED, ["GPU1110", "GPU1130"]),
    ],
)
def test_of_a_layout_that_cannot_be_made_it_is_told_once(asked: str, said: list[str]) -> None:
    """An A100 of 40 GB has four places for 1g.10gb, and seven for 1g.5gb."""
    layouts = "version: v1\nmig-configs:\n  own:\n  - {devices: all, mig-enabled: true, "
    given = config_map("own", {"config.yaml": f"{layouts}mig-devices: {{1g.10gb: 5}}}}\n"})
    manager = operator({"mig": {"strategy": "mixed"}, "migManager": {"config": {"name": "own"}}})
    found = problems(cut("own"), manager, given, pods({asked: 1}))

    assert sorted({each.rule.id for each in found} & {"GPU1110", "GPU1130"}) == said


def test_resources_of_two_pools_are_on_no_node_together() -> None:
    (found,) = problems(FREE, cut("all-1g.5gb"), by("mixed"), pods({GPU: 1, SMALL: 1}))

    assert found.message == (
        "The Deployment app asks for nvidia.com/gpu and nvidia.com/mig-1g.5gb, and no node has "
        "both."
    )
    assert found.path[-1] == GPU


@pytest.mark.parametrize(
    "items",
    [
        (nodes(taints=[(GPU, "true", "NoExecute")], labels=PRESENT), sliced(), pods({GPU: 1})),
        (TEAMS, RENAMED, pods({SHARED: 1})),
    ],
)
def test_of_other_taints_nothing_is_said_of_eks(items: tuple[Item, ...]) -> None:
    (found,) = problems(*items)

    assert found.message.endswith("which has it.")


def test_a_toleration_is_added_to_those_that_are_there() -> None:
    other = {"key": "other", "operator": "Exists"}
    (found,) = problems(TEAMS, sliced(), pods({GPU: 1}, tolerations=[other]))

    added = {"key": "team", "operator": "Exists", "effect": "NoSchedule"}
    assert found.edits == (Edit("append", ("spec", "template", "spec", "tolerations"), added),)


@pytest.mark.parametrize(
    ("pools", "more"),
    [
        ((POOL,), ""),
        ((POOL, nodes(name="b", labels=PRESENT)), ", nor is the other pool"),
        (
            (POOL, *(nodes(name=each, labels=PRESENT) for each in "bc")),
            ", nor are 2 other pools",
        ),
        ((nodes("g5.xlarge", "g5.2xlarge", labels=PRESENT),), ""),
    ],
)
def test_the_message_counts_pools_that_are_not_such(pools: tuple[Item, ...], more: str) -> None:
    (found,) = problems(*pools, sliced(), pods({GPU: 1}, nodeSelector={"a": "b"}))

    assert found.message == (
        f"The Deployment app wants the label a=b, and the node group gpu is not such{more}."
    )
    assert found.path == ("spec", "template", "spec", "nodeSelector")


def other(*types: str, labels: Any = None, **more: Any) -> Item:
    return nodes(*types, name="other", labels=labels or {"a": "b"}, **more)


@pytest.mark.parametrize(
    ("nodes_beside", "told"),
    [
        (other(instance_types=UNKNOWN), " The node group other may have GPUs."),
        (
            other("m5.large", leaves_gpus=True),
            " The node group other launches types with GPUs too.",
        ),
        (other(instance_types=UNKNOWN, labels={"a": "c"}), ""),
        (other("m5.large"), ""),
        (other(instance_types=UNKNOWN, taints=[TEAM]), ""),
    ],
)
def test_nodes_that_may_have_gpus_may_be_those_that_are_meant(
    nodes_beside: Item, told: str
) -> None:
    (found,) = problems(POOL, nodes_beside, sliced(), pods({GPU: 1}, nodeSelector={"a": "b"}))

    assert found.rule is landing.ELSEWHERE
    assert found.severity == ("info" if told else None)
    assert found.message.endswith(f"the node group gpu is not such.{told}")


def test_a_pool_that_launches_gpus_too_lets_in_what_another_keeps_out() -> None:
    (found,) = problems(TEAMS, sliced(), pods({GPU: 1}), other("m5.large", leaves_gpus=True))
    (unknown,) = problems(TEAMS, sliced(), pods({GPU: 1}), other(instance_types=UNKNOWN))

    assert (found.rule, found.severity, found.edits) == (landing.PODS_KEPT_OUT, "info", ())
    assert unknown.severity is None


def test_the_place_of_an_affinity_is_named() -> None:
    required = affinity({"key": "a", "operator": "In", "values": ["b"]})
    (found,) = problems(POOL, sliced(), pods({GPU: 1}, affinity=required))

    assert found.path == ("spec", "template", "spec", "affinity")


@pytest.mark.parametrize(
    ("pool", "pod", "what"),
    [
        (TEAMS, pods({GPU: 1}, tolerations=UNKNOWN), "the tolerations of the Deployment app"),
        (TEAMS, pods({GPU: 1}, nodeSelector=UNKNOWN), None),
        (FREE, pods({GPU: 1}, nodeSelector=UNKNOWN), "the nodeSelector of the Deployment app"),
        (FREE, pods({GPU: 1}, affinity=UNKNOWN), "the affinity of the Deployment app"),
        (nodes(labels=PRESENT, taints=UNKNOWN), pods({GPU: 1}), "the taints of the node group gpu"),
        (FREE, pods({GPU: 1}, schedulerName=UNKNOWN, nodeSelector={"a": "b"}), None),
    ],
)
def test_what_is_not_known_is_named(pool: Item, pod: Item, what: str | None) -> None:
    found = [
        each.what
        for each in judgements(pool, sliced(), pod)
        if isinstance(each, NotSeen) and each.rule is landing.PODS_KEPT_OUT
    ]

    assert found == ([] if what is None else [what])


NEVER: dict[str, tuple[Item, ...]] = {
    "no GPU has MIG": (
        nodes("g5.xlarge", "g6.xlarge", provisioner="karpenter"),
        pods({MIG: 1}),
    ),
    "of another GPU": (nodes("p5.48xlarge"), pods({MIG: 1})),
    "a share of one": (nodes("g5.xlarge"), pods({f"{MIG}.shared": 1})),
    "where the AMI excludes MIG": (nodes("p6e-gb200.36xlarge"), pods({MIG: 1})),
}
PERHAPS: dict[str, tuple[Item, ...]] = {
    "a GPU that can": (nodes("p4d.24xlarge", provisioner="karpenter"), pods({MIG: 1})),
    "one type of two": (nodes("g5.xlarge", "p4d.24xlarge"), pods({MIG: 1})),
    "with attributes": (nodes("p4d.24xlarge"), pods({f"{MIG}.me": 1})),
    "a type that the catalog does not know": (nodes("p9.48xlarge"), pods({MIG: 1})),
    "nodes that may have any type": (
        nodes("g5.xlarge"),
        nodes(instance_types=(), labels=PRESENT, name="any"),
        pods({MIG: 1}),
    ),
    "a whole GPU": (nodes("g5.xlarge"), pods({GPU: 1})),
}


@pytest.mark.parametrize("case", NEVER)
def test_gpus_are_not_cut_otherwise_whatever_plugin_they_get(case: str) -> None:
    assert codes(*NEVER[case], complete=False) == ["GPU1110"]


@pytest.mark.parametrize("case", PERHAPS)
def test_without_a_plugin_the_rest_is_open(case: str) -> None:
    assert codes(*PERHAPS[case], complete=False) == []


def test_what_no_gpu_can_be_cut_into_is_said_with_the_types() -> None:
    types = ("g4dn.xlarge", "g5.xlarge", "g6.xlarge", "g6e.xlarge", "g5.2xlarge", "g6.2xlarge")
    (found,) = problems(
        nodes(*types, name="a"), nodes("p5.48xlarge", name="b"), pods({MIG: 1}), complete=False
    )

    assert found.message == (
        f"The Deployment app asks for {MIG}, and no GPU of the node group a and the node group b "
        "(g4dn.xlarge, g5.xlarge, g6.xlarge, g6e.xlarge, g5.2xlarge, ...) can be cut into such a "
        "device."
    )
    (found,) = problems(nodes(*types[:5]), pods({MIG: 1}), complete=False)
    assert "g5.2xlarge) can be cut" in found.message


def test_a_part_of_a_pod_asks_for_what_nodes_have() -> None:
    part = replace(pods({SHARED: 1}), kind=PART_OF_POD)

    assert len(problems(POOL, sliced(), part, of=[landing.NOT_ADVERTISED])) == 1
    assert problems(POOL, sliced(), part, complete=False, of=[landing.NOT_ADVERTISED]) == []


def both_classes() -> DeviceClaim:
    names = ("gpu.nvidia.com", "mig.nvidia.com")
    requests = [{"exactly": {"deviceClassName": each}} for each in names]
    return claim("ResourceClaimTemplate", {"spec": {"devices": {"requests": requests}}})


def claimed(selector: Any, kind: str = "resourceClaimTemplateName", **more: Any) -> Item:
    """A pod that gets its GPU by a claim."""
    named = {"name": "gpu", kind: "gpu"}
    spec = {"nodeSelector": selector, "resourceClaims": [named], **more}
    return replace(pods(), spec=spec, namespace="default")


def template(
    device_class: str = "gpu.nvidia.com", kind: str = "ResourceClaimTemplate"
) -> DeviceClaim:
    devices = {"devices": {"requests": [{"exactly": {"deviceClassName": device_class}}]}}
    return claim(kind, {"spec": devices} if kind.endswith("Template") else devices)


NO_POOL = {"pool": "cpu"}


def test_the_pool_with_labels_of_ones_own_is_the_one_that_was_meant() -> None:
    arm = {"kubernetes.io/arch": "arm64"}
    pools = [
        nodes(labels={**PRESENT, **arm, "pool": "a"}, name="a"),
        nodes(labels={**PRESENT, "pool": "b"}, name="b"),
    ]
    (given,) = problems(*pools, sliced(), pods({GPU: 1}, nodeSelector={"pool": "b", **arm}))

    assert "wants the label kubernetes.io/arch=arm64, and the node group b is" in given.message


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ((POOL, template(), claimed(NO_POOL)), ["GPU1112"]),
        ((POOL, both_classes(), claimed(NO_POOL)), ["GPU1112"]),
        ((POOL, template(), claimed({"pool": "gpu"})), []),
        ((POOL, template(), claimed({})), []),
        ((POOL, template("nic.example.com"), claimed(NO_POOL)), []),
        ((POOL, claimed(NO_POOL)), []),  # whose claim is not here
        ((template(), claimed(NO_POOL)), []),
        ((POOL, template(kind="ResourceClaim"), claimed(NO_POOL)), []),
        (
            (
                POOL,
                template("mig.nvidia.com", "ResourceClaim"),
                claimed(NO_POOL, "resourceClaimName"),
            ),
            ["GPU1112"],
        ),
        ((POOL, replace(template(), namespace="other"), claimed(NO_POOL)), []),
        ((POOL, template(), claimed({"type": "virtual-kubelet"})), []),
        ((POOL, template(), claimed(UNKNOWN)), []),
    ],
)
def test_pods_with_claims_select_nodes_that_are_there(
    items: tuple[Item, ...], found: list[str]
) -> None:
    given = [each for each in problems(*items, complete=False) if each.rule.id == "GPU1112"]

    assert [each.rule.id for each in given] == found


@pytest.mark.parametrize(
    ("limits", "more", "found"),
    [
        ({GPU: 1}, {"nodeSelector": NO_POOL}, 1),
        ({GPU: 1}, {"affinity": affinity({"key": "pool", "operator": "In", "values": ["a"]})}, 1),
        ({GPU: 1}, {"nodeSelector": {"pool": "gpu"}}, 0),
        ({GPU: 1}, {}, 0),  # it may tolerate more elsewhere
        ({GPU: 0}, {"nodeSelector": NO_POOL}, 0),
        ({"cpu": 1}, {"nodeSelector": NO_POOL}, 0),
    ],
)
def test_parts_of_pods_are_judged_by_their_selectors(
    limits: dict[str, int], more: dict[str, Any], found: int
) -> None:
    part = replace(pods(limits, **more), kind=PART_OF_POD)

    assert len(problems(POOL, part, complete=False, of=[landing.ELSEWHERE])) == found
