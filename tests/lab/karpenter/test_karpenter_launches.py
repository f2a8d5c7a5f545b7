"""Pods that ask for shares get their nodes; and what comes of it where Karpenter is misled."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from documented import documented
from karpenter_scene import NODES, OVERLAYS, POOLS, Case, Scene, until

from eks_gpushare.catalog import Catalog, InstanceType
from eks_gpushare.live.pods import condition
from eks_gpushare.sharing.karpenter.purchase import bought
from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.cloud.settings import CloudSettings, Shortage

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare_lab.client import Object

POOLS_OF_STACK = """
      slices: &slices
        provisioner: karpenter
        instanceTypes: [g5.xlarge]
        amiVersion: 1.35.8-20260930
        nodes: {max: 20}
        sharing: {mode: timeSlicing, replicas: 4}
      tens: {<<: *slices, sharing: {mode: timeSlicing, replicas: 10}}
      plain: {<<: *slices, sharing: {mode: timeSlicing, replicas: 4, rename: false}}
      whole: {<<: *slices, sharing: {mode: exclusive}}
      mps: {<<: *slices, instanceTypes: [g6.2xlarge], sharing: {mode: mps, replicas: 4}}
      mixed:
        <<: *slices
        instanceTypes: [p4d.24xlarge]
        sharing: {mode: mig, layout: all-balanced}
      single:
        <<: *slices
        instanceTypes: [p4d.24xlarge]
        sharing: {mode: mig, layout: all-3g.20gb, strategy: single}
      both:
        <<: *slices
        instanceTypes: [p4d.24xlarge]
        sharing: {mode: mig, layout: all-3g.20gb, timeSlicing: {replicas: 2}}
      bottle: {<<: *slices, amiFamily: bottlerocket, amiVersion: 1.65.0-0be31b34}
      two: {<<: *slices, instanceTypes: [g5.xlarge, g6.xlarge]}
      sizes: {<<: *slices, instanceTypes: [g5.xlarge, g5.12xlarge, g5.48xlarge]}
      dear: {<<: *slices, instanceTypes: [g6.xlarge, g6.12xlarge]}
      tesla: {<<: *slices, instanceTypes: [g4dn.xlarge, g4dn.2xlarge]}
      kept: {<<: *slices, nodes: {desired: 2, max: 3}, karpenter: {static: true}}
      waits:
        <<: *slices
        karpenter: {startupTaints: [{key: example.com/not-yet, effect: NoSchedule}]}
      parts: {<<: *slices, instanceTypes: [g6f.xlarge], sharing: {mode: exclusive}}
      parts-sliced: {<<: *slices, instanceTypes: [g6f.xlarge]}
"""
pytestmark = pytest.mark.skipif(
    not os.environ.get("EKS_GPUSHARE_TEST_KARPENTER"),
    reason="two minutes of two cores: EKS_GPUSHARE_TEST_KARPENTER=1",
)
SETTINGS = CloudSettings(
    start=0.3,
    insufficient=tuple(
        Shortage.read(each)
        for each in ("g4dn.xlarge::spot", "g4dn.2xlarge", "g6.2xlarge:us-west-2a")
    ),
)

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
CAPACITY, NOT_YET = "karpenter.sh/capacity-type", "example.com/not-yet"
SHARED, GPU = "nvidia.com/gpu.shared", "nvidia.com/gpu"
CONFIG = "nvidia.com/device-plugin.config"


def limited(**limits: str) -> Callable[[Object], None]:
    """A NodePool with other limits; names have _ for / and -."""

    def edit(pool: Object) -> None:
        pool["spec"]["limits"] = {LIMITS[name]: value for name, value in limits.items()}

    return edit


LIMITS = {"shared": SHARED, "gpu": GPU, "nodes": "nodes", "cpu": "cpu"}


def ordinary(pool: Object) -> None:
    """The taint that goes among those that stay."""
    node = pool["spec"]["template"]["spec"]
    node["taints"] = [*node.get("taints", ()), *node.pop("startupTaints")]


def bought_as(*capacity_types: str, weight: int | None = None) -> Callable[[Object], None]:
    """A NodePool with other capacity types, and a weight."""

    def edit(pool: Object) -> None:
        for each in pool["spec"]["template"]["spec"]["requirements"]:
            if each["key"] == CAPACITY:
                each["values"] = list(capacity_types)
        if weight is not None:
            pool["spec"]["weight"] = weight

    return edit


G5, G6 = "g5.xlarge", "g6.xlarge"
SIZES = {"sizes": (G5, "g5.12xlarge", "g5.48xlarge"), "dear": (G6, "g6.12xlarge")}


def type_of(name: str) -> InstanceType:
    found = Catalog().find(name)
    assert found is not None
    return found


CASES = {
    # As the stack says it.
    "slices": Case("slices", 10, SHARED, nodes=3),
    "plain": Case("plain", 10, GPU, nodes=3),
    "whole": Case("whole", 3, GPU, nodes=3),
    "mps": Case("mps", 9, SHARED, nodes=3),
    "mixed": Case("mixed", 20, "nvidia.com/mig-1g.5gb", nodes=2),
    "single": Case("single", 20, GPU, nodes=2),
    "both": Case("both", 33, "nvidia.com/mig-3g.20gb.shared", nodes=2),
    "bottle": Case("bottle", 10, SHARED, nodes=3),
    # Told nothing, or something else.
    "untold": Case("plain", 10, GPU, nodes=10, overlay={}),
    "untold-renamed": Case("slices", 10, SHARED, nodes=0, overlay={}),
    "untold-mps": Case("mps", 9, SHARED, nodes=0, overlay={}),
    "untold-mixed": Case("mixed", 20, "nvidia.com/mig-1g.5gb", nodes=0, overlay={}),
    # EC2 tells of eight GPUs, and a node has sixteen devices by that name.
    "untold-single": Case("single", 20, GPU, nodes=3, overlay={}),
    "untold-both": Case("both", 33, "nvidia.com/mig-3g.20gb.shared", nodes=0, overlay={}),
    "too-few": Case("tens", 10, SHARED, nodes=3, overlay={G5: {SHARED: 4, GPU: 0}}),
    "too-many": Case("slices", 10, SHARED, nodes=3, overlay={G5: {SHARED: 10, GPU: 0}}),
    "other-name": Case("slices", 10, SHARED, nodes=3, runs=0, labels={CONFIG: "plain"}),
    "one-of-two": Case("two", 10, SHARED, nodes=3, overlay={G6: {SHARED: 4, GPU: 0}}),
    # Limits count what the overlay says, and nothing else.
    "limit-shares": Case("slices", 10, SHARED, nodes=2, runs=8, edit=limited(shared="11")),
    "limit-exactly": Case("slices", 10, SHARED, nodes=3, edit=limited(shared="12")),
    "limit-none": Case("slices", 10, SHARED, nodes=0, edit=limited(shared="3")),
    "limit-gpus": Case("slices", 10, SHARED, nodes=3, edit=limited(gpu="1")),
    "limit-nodes": Case("slices", 10, SHARED, nodes=3, edit=limited(nodes="1")),
    "limit-cpu": Case("slices", 10, SHARED, nodes=2, runs=8, edit=limited(cpu="8")),
    "limit-plain": Case("plain", 10, GPU, nodes=2, runs=8, edit=limited(gpu="11")),
    # Sizes: what is cheapest and takes all.
    "few": Case("sizes", 4, SHARED, nodes=1),
    "many": Case("sizes", 16, SHARED, nodes=1),
    "most": Case("sizes", 30, SHARED, nodes=1),
    "dear": Case("dear", 25, SHARED, nodes=2),
    "dear-few": Case("dear", 5, SHARED, nodes=1),
    "dear-rest": Case("dear", 20, SHARED, nodes=2),
    # Where there is no capacity.
    "other-zone": Case("mps", 3, SHARED, nodes=1),
    "by-weight": Case("tesla", 5, SHARED, nodes=2, edit=bought_as("on-demand", weight=1)),
    "on-demand-instead": Case("tesla", 5, SHARED, nodes=2, edit=bought_as("spot", "on-demand")),
    "no-capacity": Case("tesla", 5, SHARED, nodes=0, edit=bought_as("spot")),
    # A taint that goes is no obstacle, one that stays is.
    "waits": Case("waits", 5, SHARED, nodes=2),
    "waits-for-ever": Case("waits", 5, SHARED, nodes=0, edit=ordinary),
    # EC2 counts no GPU on a part of one.
    "parts": Case("parts", 2, GPU, nodes=2),
    "parts-sliced": Case("parts-sliced", 7, SHARED, nodes=2),
    "parts-untold": Case("parts", 2, GPU, nodes=0, overlay={}),
}
STATIC, ON_STATIC = "kept", "on-kept"


@pytest.fixture(scope="module")
def told(scene: Scene) -> Scene:
    first = Case("tesla", 0, "", nodes=0, edit=bought_as("spot", weight=50))
    scene.pool("by-weight-first", first, label="by-weight")
    scene.start(CASES)
    # Pods for the pool of the stack itself.
    scene.pods(ON_STATIC, 10, SHARED, nodeSelector={"eks-gpushare/pool": STATIC})
    scene.settle(CASES, seconds=240, meanwhile=partial(take_taint, scene))
    return scene


def take_taint(scene: Scene) -> None:
    """What a controller of the user's does once a node is in the cluster."""
    for node in scene.nodes("waits"):
        taints = node["spec"].get("taints") or ()
        if any(each["key"] == NOT_YET for each in taints):
            left = [each for each in taints if each["key"] != NOT_YET]
            scene.client.patch(f"{NODES}/{node['metadata']['name']}", {"spec": {"taints": left}})


@pytest.mark.parametrize("name", CASES)
def test_it_launches(told: Scene, name: str) -> None:
    case = CASES[name]
    assert len(told.launched(name)) == case.nodes, told.words(name)
    assert told.running(name) == case.running


@pytest.mark.parametrize("row", documented("karpenter"), ids=lambda row: row["case"])
def test_the_documentation_says_what_was_seen(told: Scene, row: dict[str, Any]) -> None:
    case = CASES[row["case"]]
    assert (case.pods, case.resource) == (row["pods"], row["resource"])
    assert len(told.launched(row["case"])) == row["nodes"] == -(-row["pods"] // row["perNode"])
    nodes = told.nodes(row["case"])
    assert {each["status"]["allocatable"][case.resource] for each in nodes} == {str(row["perNode"])}
    if row["untold"] is not None:
        assert CASES[row["untold"]].pods == case.pods
        seen = (len(told.launched(row["untold"])), told.running(row["untold"]))
        assert seen == (row["nodesUntold"], row["podsUntold"])


def test_every_node_has_the_shares_that_it_was_launched_for(told: Scene) -> None:
    for name, case in CASES.items():
        if case.overlay == "as planned" and name != "other-name":
            for node in told.nodes(name):
                claim = next(
                    c for c in told.claims(name) if c["status"]["nodeName"] == name_of(node)
                )
                believed = claim["status"]["allocatable"].get(case.resource)
                assert node["status"]["allocatable"].get(case.resource) == believed, name


def name_of(node: Object) -> str:
    return str(node["metadata"]["name"])


def test_what_never_gets_what_was_promised_is_never_initialised(told: Scene) -> None:
    for claim in told.claims("other-name"):
        (condition,) = [c for c in claim["status"]["conditions"] if c["type"] == "Initialized"]
        assert (condition["status"], condition["reason"]) == ("Unknown", "ResourceNotRegistered")


@pytest.mark.parametrize("row", documented("severalTypes"), ids=lambda row: row["case"])
def test_it_buys_what_preview_says(told: Scene, row: dict[str, Any]) -> None:
    """Of several types by price and room, and not the cheapest in all."""
    case = CASES[row["case"]]
    assert case.pods == row["pods"]
    assert row["perNode"] == {name: 4 * type_of(name).gpu_count for name in SIZES[case.like]}
    prices = {name: type_of(name).prices["us-west-2"] or 0.0 for name in row["perNode"]}

    launched = Counter(machine["instanceType"] for machine in told.launched(row["case"]))

    assert launched == row["nodes"] == bought(row["perNode"], prices, case.pods).nodes


def test_a_type_without_an_overlay_is_never_taken(told: Scene) -> None:
    assert {each["instanceType"] for each in told.launched("one-of-two")} == {"g6.xlarge"}


def test_without_capacity_it_goes_elsewhere(told: Scene) -> None:
    assert {each["zone"] for each in told.launched("other-zone")} == {"us-west-2b"}
    assert told.launched("by-weight-first") == []
    for name in ("by-weight", "on-demand-instead"):
        assert {each["capacityType"] for each in told.launched(name)} == {"on-demand"}


def test_a_static_pool_has_its_nodes_without_pods_and_no_more_with_them(told: Scene) -> None:
    assert until(lambda: told.running(ON_STATIC) == 8, 30)
    assert len(told.launched(STATIC)) == 2


@pytest.mark.parametrize(
    ("name", "counted"),
    [("slices", 12), ("plain", 12), ("single", 32), ("both", 64), ("too-few", 30)],
)
def test_a_pool_counts_the_shares_that_its_nodes_have(told: Scene, name: str, counted: int) -> None:
    """Not GPUs; and not what an overlay says otherwise, once the nodes are there."""

    def seen() -> str:
        pool = told.client.get(f"{POOLS}/{name}")
        assert pool is not None
        found: str = pool["status"]["resources"].get(CASES[name].resource, "")
        return found

    assert until(lambda: seen() == str(counted), 30), seen()


def test_of_two_overlays_of_equal_weight_one_is_dropped(told: Scene) -> None:
    for number, count in enumerate((4, 8)):
        overlay = {
            "apiVersion": "karpenter.sh/v1alpha1",
            "kind": "NodeOverlay",
            "metadata": {"name": f"equal-{number}"},
            "spec": {
                "weight": 7,
                "requirements": [{"key": INSTANCE_TYPE, "operator": "In", "values": [G6]}],
                "capacity": {"example.com/device": str(count)},
            },
        }
        told.client.apply(overlay)

    def ready() -> list[str]:
        found = [told.client.get(f"{OVERLAYS}/equal-{number}") or {} for number in range(2)]
        return [(condition(each, "Ready") or {}).get("status", "") for each in found]

    # The last by name counts.
    dropped = until(lambda: ready() == ["False", "True"], 180)
    seen = ready()
    for number in range(2):
        told.client.delete(f"{OVERLAYS}/equal-{number}")
    assert dropped, seen


@pytest.mark.parametrize("field", ["weight", "limits"])
def test_a_static_pool_takes_neither_weight_nor_other_limits(told: Scene, field: str) -> None:
    change = {"weight": 10} if field == "weight" else {"limits": {"cpu": "8"}}
    with pytest.raises(ApiError, match=r"weight|nodes"):
        told.client.patch(f"{POOLS}/{STATIC}", {"spec": change})
