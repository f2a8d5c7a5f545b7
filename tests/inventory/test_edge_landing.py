"""Pods that ask for GPUs are held against the nodes that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import ANY_GPU_TAINT, GPU, PRESENT, USUAL, codes, nodes, plugin, pods, problems

from eks_gpushare.inventory.edges import landing
from eks_gpushare.inventory.items import NodeTaint
from eks_gpushare.inventory.problem import Edit
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

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
