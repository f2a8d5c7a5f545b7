"""Questions that fronts ask, on both sides of each limit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from eks_gpushare.catalog import Catalog
from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.karpenter_pools import moves_pods
from eks_gpushare.facts.names import only_a_policy_says
from eks_gpushare.facts.public_networks import reaches_everybody
from eks_gpushare.facts.replicas import are_many_slices
from eks_gpushare.facts.shares import are_more_than_pods, fit_before_shares, most_pods, thin
from eks_gpushare.facts.vcpus import Group, demands

MOVES = "WhenEmptyOrUnderutilized"
G5 = Catalog().find("g5.xlarge")


def test_eight_slices_are_advised_and_nine_are_many() -> None:
    assert [are_many_slices(count) for count in (8, 9)] == [False, True]
    assert are_many_slices(5, 4)


def test_eight_pods_of_a_node_are_its_own() -> None:
    assert [are_more_than_pods(shares, 29) for shares in (21, 22)] == [False, True]
    assert not are_more_than_pods(1000, None)


def test_karpenter_keeps_to_the_interfaces_and_eks_to_its_cap() -> None:
    large = Catalog().find("p4d.24xlarge")
    assert large is not None
    assert large.eni_pods is not None
    assert most_pods(large, by_karpenter=True) == large.eni_pods
    assert most_pods(large, by_karpenter=False) == large.max_pods != large.eni_pods


@pytest.mark.parametrize(
    ("name", "by_karpenter", "taken", "pods"),
    [
        ("p5.48xlarge", True, 0, 100),
        ("p5.48xlarge", True, 1, 51),
        ("p5.48xlarge", False, 1, 51),
        ("p5.48xlarge", True, 2, 0),
        ("p4d.24xlarge", True, 1, 688),
        ("p4d.24xlarge", False, 1, 250),
        ("p6e-gb200.36xlarge", True, 1, None),
    ],
)
def test_an_interface_for_efa_alone_has_no_pods(
    name: str, taken: int, pods: int | None, *, by_karpenter: bool
) -> None:
    found = Catalog().find(name)
    assert found is not None
    assert most_pods(found, by_karpenter=by_karpenter, taken_interfaces=taken) == pods


@pytest.mark.parametrize(
    ("cpu", "memory", "lacking"),
    [
        (4000, 4096, ()),
        (3999, 4096, ("a CPU",)),
        (4000, 4095, ("1 GiB of memory",)),
        (0, 0, ("a CPU", "1 GiB of memory")),
    ],
)
def test_a_share_is_a_cpu_and_a_gibibyte(cpu: int, memory: int, lacking: tuple[str, ...]) -> None:
    assert thin(cpu, memory, 4) == lacking


@pytest.mark.parametrize(
    ("asked", "shares", "pods", "fit"),
    [
        ("2/5", 4, 4, 2),
        ("3/5", 4, 4, 1),
        ("1/4", 4, 4, None),
        ("2/5", 4, 2, None),
        ("2/5", 2, 4, None),
        ("2", 4, 4, None),
        ("0", 4, 4, None),
    ],
)
def test_what_fills_a_node_before_its_shares(
    asked: str, shares: int, pods: int, fit: int | None
) -> None:
    assert fit_before_shares(Fraction(1), Fraction(asked), shares, pods) == fit


@pytest.mark.parametrize(
    ("budget", "moves"),
    [
        ({"nodes": "0"}, False),
        ({"nodes": 0}, False),
        ({"nodes": "0%", "reasons": ["Underutilized", "Empty"]}, False),
        ({"nodes": "0", "reasons": ("Underutilized",)}, False),
        ({"nodes": "0", "reasons": ["Empty"]}, True),
        ({"nodes": "0", "reasons": "Underutilized"}, True),
        ({"nodes": "0", "schedule": "@daily"}, True),
        ({"nodes": "1"}, True),
    ],
)
def test_which_budget_keeps_pods_where_they_are(budget: dict[str, Any], *, moves: bool) -> None:
    assert moves_pods(MOVES, "5m", [budget]) is moves
    assert not moves_pods("WhenEmpty", "5m", [budget])
    assert not moves_pods(MOVES, "Never", [])


@pytest.mark.parametrize(
    ("cidr", "is_open"), [("2000::/8", True), ("2000::/9", False), ("8.0.0.0/8", False)]
)
def test_a_thirty_second_of_all_addresses_is_more_than_anybody_has(
    cidr: str, *, is_open: bool
) -> None:
    assert reaches_everybody([cidr]) is is_open


def test_no_nodes_take_nothing_of_a_quota() -> None:
    assert G5 is not None
    none, some = (
        Group(name, {G5.name: most}, [G5], ("onDemand",)) for name, most in (("a", 0), ("b", 2))
    )
    (demand,) = demands([none, some]).values()

    assert (demand.vcpus, demand.parts) == (2 * G5.vcpus, (("a", 0), ("b", 2 * G5.vcpus)))


def test_a_rule_is_of_a_code_that_says_a_fact() -> None:
    assert rule_of("GPU608", not_alone="why").not_alone == "why"
    with pytest.raises(ValueError, match="GPU999 says no fact of the index"):
        rule_of("GPU999")


@pytest.mark.parametrize(
    ("name", "alone"),
    [
        ("public-endpoint-not-open", False),
        ("GPU1087", False),
        ("workloads-can-land", True),
        ("GPU1111", True),
        ("deletion-protection", True),
        ("GPU1001", False),
    ],
)
def test_what_check_never_finds_and_a_policy_may(name: str, *, alone: bool) -> None:
    assert only_a_policy_says(name) is alone
