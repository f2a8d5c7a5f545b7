"""Nodes from capacity reservations and Capacity Blocks, and what comes when they are used up."""

from __future__ import annotations

import os

import pytest
from karpenter_scene import Case, Scene, until

from eks_gpushare_lab.cloud.settings import CloudSettings

pytestmark = pytest.mark.skipif(
    not os.environ.get("EKS_GPUSHARE_TEST_KARPENTER"),
    reason="EKS_GPUSHARE_TEST_KARPENTER is not set",
)

POOLS_OF_STACK = """
      first: &slices
        provisioner: karpenter
        instanceTypes: [g5.xlarge]
        amiVersion: 1.35.8-20260930
        nodes: {max: 20}
        zones: [us-west-2b]
        sharing: {mode: timeSlicing, replicas: 4}
        reservation: {id: cr-0123456789abcdef0}
        karpenter: {capacityTypes: [reserved, onDemand], consolidateAfter: 1s}
      only:
        <<: *slices
        reservation: {id: cr-0fedcba9876543210}
        karpenter: {capacityTypes: [reserved], consolidateAfter: 1s}
      block:
        <<: *slices
        instanceTypes: [p4d.24xlarge]
        zones: [us-west-2a]
        reservation: {id: cr-0aaaabbbbccccdddd}
        karpenter: {capacityTypes: [capacityBlock], consolidateAfter: 1s}
"""
SETTINGS = CloudSettings(start=0.3, reserved=2)
SHARED, CAPACITY = "nvidia.com/gpu.shared", "karpenter.sh/capacity-type"
OF_RESERVATION = "karpenter.k8s.aws/capacity-reservation"

CASES = {
    "first": Case("first", 10, SHARED, nodes=3),
    "only": Case("only", 10, SHARED, nodes=2, runs=8),
    "block": Case("block", 100, SHARED, nodes=2, runs=64),
}


@pytest.fixture(scope="module")
def reserved(scene: Scene) -> Scene:
    scene.start(CASES)
    scene.settle(CASES)
    return scene


@pytest.mark.parametrize(
    ("name", "bought"),
    [
        ("first", ["on-demand", "reserved", "reserved"]),
        ("only", ["reserved", "reserved"]),
        ("block", ["reserved", "reserved"]),
    ],
)
def test_what_is_reserved_is_taken_first_and_no_more_of_it(
    reserved: Scene, name: str, bought: list[str]
) -> None:
    case = CASES[name]
    launched = reserved.launched(name)
    assert sorted(each["capacityType"] for each in launched) == bought, reserved.words(name)[:1]
    assert (len(launched), reserved.running(name)) == (case.nodes, case.running)


@pytest.mark.parametrize(
    ("name", "kind", "reservation"),
    [
        ("first", "default", "cr-0123456789abcdef0"),
        ("only", "default", "cr-0fedcba9876543210"),
        ("block", "capacity-block", "cr-0aaaabbbbccccdddd"),
    ],
)
def test_nodes_say_which_reservation_they_are_of(
    reserved: Scene, name: str, kind: str, reservation: str
) -> None:
    labels = [each["metadata"]["labels"] for each in reserved.nodes(name)]
    of_it = [each for each in labels if each[CAPACITY] == "reserved"]
    assert len(of_it) == 2
    for each in of_it:
        assert each[f"{OF_RESERVATION}-id"] == reservation
        assert each[f"{OF_RESERVATION}-type"] == kind


def test_what_ends_can_be_launched_again(reserved: Scene) -> None:
    """Last in the module: the pods of a case go, and its nodes with them."""
    reserved.scale("only", 0)
    ended = lambda: all(each["ended"] for each in reserved.launched("only"))  # noqa: E731
    assert until(ended, 120)
    reserved.scale("only", 5)
    assert until(lambda: reserved.running("only") == 5, 120), reserved.words("only")[:1]
    again = reserved.launched("only")[2:]
    assert [each["capacityType"] for each in again] == ["reserved", "reserved"]
