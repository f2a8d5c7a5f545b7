"""What nodes cost is divided whole, whoever uses them and however it is added up."""

from __future__ import annotations

from collections import defaultdict
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.environment import CatalogAdditions
from eks_gpushare.config.pools import Pool
from eks_gpushare.sharing.apportion import apportioned
from eks_gpushare.sharing.cost_split import (
    USES,
    CostLine,
    PaidNodes,
    PodShares,
    average_lines,
    split_cost,
)
from eks_gpushare.sharing.cost_table import GROUPS, CostTable, added, priced, together
from eks_gpushare.sharing.paid_nodes import ObservedNodes, Prices, SplitError
from eks_gpushare.sharing.plan import plan_pool

OWNERS = {"a1": "a", "a2": "a", "b": "b"}
SPACES = [*OWNERS, "ci", "default"]
KINDS = ["small", "middle", "large"]
AMOUNTS = st.fractions(0, 40, max_denominator=12)
CENT = Decimal("0.01")

Cluster = tuple[list[PaidNodes], list[PodShares], dict[Any, Any]]


@st.composite
def pools(draw: st.DrawFn, name: str) -> list[PaidNodes]:
    """Nodes of a pool, of one type or several, with prices as AWS lists them."""
    found = []
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, unique=True))
    for at in range(draw(st.integers(1, 3))):
        per_node = {kind: draw(st.integers(1, 16)) for kind in kinds}
        weights = {kind: draw(st.integers(1, 9)) for kind in kinds}
        whole = sum(per_node[kind] * weights[kind] for kind in kinds)
        number = draw(st.one_of(st.integers(0, 30).map(Fraction), AMOUNTS))
        offered = {
            # Some nodes advertise less than they should, and some more.
            kind: number * max(0, count + draw(st.sampled_from([0, 0, 0, -1, -count, 3])))
            for kind, count in per_node.items()
        }
        parts = {kind: Fraction(weight, whole) for kind, weight in weights.items()}
        price = draw(st.decimals(Decimal("0.1"), 100, places=draw(st.integers(2, 6))))
        found.append(PaidNodes(name, f"type{at}", number, Fraction(price), parts, offered))
    return found


@st.composite
def payers(draw: st.DrawFn) -> tuple[tuple[str, Fraction], ...]:
    """Who pays for a holding by what is measured, or nobody is told."""
    weights = draw(st.dictionaries(st.sampled_from(SPACES), st.integers(1, 9), max_size=3))
    return tuple(
        (name, Fraction(weight, sum(weights.values()))) for name, weight in weights.items()
    )


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Nodes, what pods hold of them, more of it than there is at times, and what tenants may."""
    names = [f"pool{at}" for at in range(draw(st.integers(1, 4)))]
    nodes = [each for name in names for each in draw(pools(name))]
    holdings = draw(
        st.lists(
            st.builds(
                PodShares,
                st.sampled_from(names),
                st.sampled_from(SPACES),
                st.sampled_from([*KINDS, "strange"]),
                st.one_of(st.integers(0, 12).map(Fraction), AMOUNTS),
                st.sampled_from(["", "", "type0", "type1", "gone"]),
                payers(),
            ),
            max_size=12,
        )
    )
    guarantees = draw(
        st.dictionaries(
            st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(names)),
            st.dictionaries(st.sampled_from(KINDS), st.integers(1, 40), min_size=1),
            max_size=6,
        )
    )
    return nodes, holdings, guarantees


@given(clusters())
def test_sums_of_random_clusters_are_the_prices_of_their_nodes(cluster: Cluster) -> None:
    sums_are_the_prices(cluster)


@pytest.mark.at_length
@settings(max_examples=1000)
@given(clusters())
def test_so_they_are_of_a_thousand_clusters(cluster: Cluster) -> None:
    sums_are_the_prices(cluster)


def sums_are_the_prices(cluster: Cluster) -> None:
    """To the cent of all nodes, and however lines are added up."""
    nodes, holdings, guarantees = cluster
    lines = split_cost(nodes, holdings, OWNERS, guarantees)
    table = CostTable(tuple(nodes), priced(lines), "share")

    paid: dict[str, Fraction] = defaultdict(Fraction)
    for each in nodes:
        paid[each.pool] += each.number * (each.price or 0)
    for pool, cost in paid.items():
        of_pool = [line for line in lines if line.pool == pool]
        assert sum(line.usd for line in of_pool) == cost
        assert all(line.usd >= 0 and line.shares >= 0 for line in of_pool)
        hour = added(x for x in table.lines if x.line.pool == pool).hour
        assert abs(Fraction(hour, 10_000) - cost) < Fraction(1, 10_000)
    month = decimal(sum(paid.values(), Fraction(0)) * 730)
    assert Decimal(table.total().month) * CENT == month.quantize(CENT, ROUND_HALF_EVEN)
    for group in GROUPS:
        by = table.by(group)
        assert sum(together(uses).month for uses in by.values()) == table.total().month
        assert sum(together(uses).hour for uses in by.values()) == table.total().hour
    for line, usd in table.lines:
        exact = line.usd * 10_000
        assert abs(usd.hour - exact) < 2
        assert (usd.hour, usd.month) == (0, 0) or line.usd > 0


def decimal(amount: Fraction) -> Decimal:
    return Decimal(amount.numerator) / Decimal(amount.denominator)


@given(clusters())
def test_whose_idle_shares_are(cluster: Cluster) -> None:
    nodes, holdings, guarantees = cluster
    for line in split_cost(nodes, holdings, OWNERS, guarantees):
        assert line.use in USES
        if line.use == "used":
            assert line.namespace is not None
            assert line.tenant == OWNERS.get(line.namespace)
            continue
        assert line.namespace is None
        assert (line.tenant is None) is (line.use == "idle")
        if line.tenant is not None:
            sure = guarantees[line.tenant, line.pool][line.resource or ""]
            assert 0 < line.shares <= sure


def one_pool(number: int = 1, **more: Any) -> list[PaidNodes]:
    """Nodes at 8 USD of eight shares."""
    eight = {"share": Fraction(8 * number)}
    found = PaidNodes("p", "t", Fraction(number), Fraction(8), {"share": Fraction(1, 8)}, eight)
    return [found._replace(**more)]


def told(lines: tuple[CostLine, ...]) -> dict[tuple[str | None, str | None, str], float]:
    return {(line.tenant, line.namespace, line.use): float(line.usd) for line in lines}


def held(namespace: str, shares: int) -> PodShares:
    return PodShares("p", namespace, "share", Fraction(shares))


SURE = {("a", "p"): {"share": 4}}


def test_a_tenant_pays_for_what_it_is_sure_of_and_leaves() -> None:
    assert told(split_cost(one_pool(), [held("a1", 1)], OWNERS, SURE)) == {
        ("a", "a1", "used"): 1,
        ("a", None, "guaranteed"): 3,
        (None, None, "idle"): 4,
    }


def test_namespaces_of_a_tenant_use_one_contract() -> None:
    found = told(split_cost(one_pool(), [held("a1", 3), held("a2", 2)], OWNERS, SURE))

    assert found == {("a", "a1", "used"): 3, ("a", "a2", "used"): 2, (None, None, "idle"): 3}


def test_who_borrows_pays_and_the_owner_does_not() -> None:
    found = told(split_cost(one_pool(), [held("b", 6)], OWNERS, SURE))

    assert found == {("b", "b", "used"): 6, ("a", None, "guaranteed"): 2}


def test_two_who_are_sure_of_more_than_is_there_have_it_in_proportion() -> None:
    sure = {**SURE, ("b", "p"): {"share": 12}}

    assert told(split_cost(one_pool(), [], OWNERS, sure)) == {
        ("a", None, "guaranteed"): 2,
        ("b", None, "guaranteed"): 6,
    }


def test_pods_that_hold_more_than_there_is_divide_it() -> None:
    found = told(split_cost(one_pool(), [held("a1", 12), held("ci", 4)], OWNERS, {}))

    assert found == {("a", "a1", "used"): 6, (None, "ci", "used"): 2}


def test_what_nodes_do_not_advertise_is_the_platforms() -> None:
    lines = split_cost(one_pool(offered={"share": Fraction(6)}), [], OWNERS, SURE)

    assert [
        (line.tenant, line.resource, float(line.shares), float(line.usd)) for line in lines
    ] == [
        ("a", "share", 4, 4),
        (None, "share", 2, 2),
        (None, None, 0, 2),
    ]


def test_nodes_that_advertise_too_much_cost_no_more() -> None:
    lines = split_cost(one_pool(offered={"share": Fraction(12)}), [held("b", 2)], OWNERS, SURE)

    assert told(lines) == {
        ("b", "b", "used"): 2,
        ("a", None, "guaranteed"): 4,
        (None, None, "idle"): 2,
    }


def test_nodes_without_shares_are_the_platforms() -> None:
    (line,) = split_cost(one_pool(parts={}, offered={}), [held("a1", 3)], OWNERS, SURE)

    assert (line.tenant, line.use, float(line.usd)) == (None, "idle", 8.0)


def test_nodes_of_no_price_are_unknown_and_those_beside_them_known() -> None:
    nodes = [*one_pool(), *one_pool(instance_type="u", price=None)]
    table = CostTable(tuple(nodes), priced(split_cost(nodes, [held("b", 4)], OWNERS, {})), "share")

    total = table.total()
    assert (total.is_known, total.hour) == (False, 80_000)
    assert total.as_json() == {"usdPerHour": None, "usdPerMonth": None}
    assert total.as_text() == ("unknown", "unknown")
    assert {line.is_known for line, _ in table.lines} == {False}


def test_a_dear_type_and_a_cheap_one_are_told_apart_where_it_is_known() -> None:
    nodes = [*one_pool(), *one_pool(instance_type="u", price=Fraction(16))]
    either, dear = held("b", 4), held("b", 4)._replace(instance_type="u")

    assert told(split_cost(nodes, [either], OWNERS, {}))["b", "b", "used"] == 6
    assert told(split_cost(nodes, [dear], OWNERS, {}))["b", "b", "used"] == 8


def test_moments_are_averaged_one_by_one() -> None:
    """Half of the time a tenant borrows what it leaves at the other half: both are its."""
    moments = [
        (Fraction(1, 2), line)
        for shares in (0, 8)
        for line in split_cost(one_pool(), [held("a1", shares)], OWNERS, SURE)
    ]

    assert told(tuple(average_lines(moments))) == {
        ("a", "a1", "used"): 4,
        ("a", None, "guaranteed"): 2,
        (None, None, "idle"): 2,
    }


@given(st.lists(st.fractions(0, 1000, max_denominator=1000), max_size=30))
def test_no_amount_is_off_by_a_unit(amounts: list[Fraction]) -> None:
    total = round(sum(amounts))
    found = apportioned(total, amounts)

    assert sum(found) == total
    assert all(abs(one - amount) < 1 for one, amount in zip(found, amounts, strict=True))


def test_what_is_left_goes_to_those_that_lost_most() -> None:
    thirds = [Fraction(1, 3), Fraction(4, 3), Fraction(4, 3)]

    assert apportioned(3, thirds) == [1, 1, 1]
    assert apportioned(3, [Fraction(1, 5), Fraction(9, 5), Fraction(1)]) == [0, 2, 1]
    with pytest.raises(ValueError, match="4 is not the rounded sum, 2"):
        apportioned(4, [Fraction(2)])


def prices(instance_type: str, sharing: dict[str, Any], **more: Any) -> Prices:
    keys = {"instanceTypes": [instance_type], "sharing": sharing, **more.pop("pool", {})}
    own = CatalogAdditions.model_validate({"instanceTypes": more.pop("types", {})})
    catalog, _ = catalog_of(own, "us-east-1")
    plan = plan_pool("p", Pool.model_validate(keys), catalog, "us-east-1")
    return Prices({"p": plan}, catalog, more.pop("region", "us-east-1"), **more)


BALANCED = {"mode": "mig", "layout": "all-balanced"}


def test_compute_slices_and_memory_divide_a_mig_node_otherwise() -> None:
    by_share = prices("p4d.24xlarge", BALANCED).parts("p", "p4d.24xlarge")
    by_memory = prices("p4d.24xlarge", BALANCED, split="memory").parts("p", "p4d.24xlarge")

    assert list(by_share.values()) == [Fraction(1, 56), Fraction(2, 56), Fraction(3, 56)]
    # 4,864, 9,856 and 19,968 MiB, as NVML has them; a GPU has two, one and one of them.
    whole = 8 * (2 * 4864 + 9856 + 19968)
    assert list(by_memory.values()) == [Fraction(mib, whole) for mib in (4864, 9856, 19968)]


@pytest.mark.parametrize("split", ["share", "memory"])
@pytest.mark.parametrize(
    "sharing",
    [
        {"mode": "exclusive"},
        {"mode": "timeSlicing", "replicas": 7},
        {"mode": "mps", "replicas": 48},
        {"mode": "mig", "layout": "all-1g.5gb", "timeSlicing": {"replicas": 3}},
        {"mode": "mig", "layout": [{"gpus": [0, 1, 2], "devices": {"1g.5gb": 6}}]},
        {"mode": "mig", "layout": [{"gpus": [3], "devices": {"3g.20gb": 1, "1g.5gb": 2}}]},
    ],
)
def test_parts_of_a_node_are_the_whole_node(split: Any, sharing: dict[str, Any]) -> None:
    found = prices("p4d.24xlarge", sharing, split=split)
    shares = found.plans["p"].shares["p4d.24xlarge"]
    parts = found.parts("p", "p4d.24xlarge")

    assert sum(share.per_node * parts[share.resource] for share in shares) == 1


def test_memory_that_is_not_known_divides_nothing() -> None:
    found = prices("g6.xlarge", {"mode": "exclusive"}, split="memory")
    plan = found.plans["p"]
    (share,) = plan.shares["g6.xlarge"]
    object.__setattr__(plan, "shares", {"g6.xlarge": (share._replace(memory_mib=None),)})

    with pytest.raises(SplitError, match=r"^p: how much memory nvidia\.com/gpu has is not known"):
        found.parts("p", "g6.xlarge")


def test_reserved_instances_are_paid_for_before_they_are_there() -> None:
    pool = {
        "capacityType": "reserved",
        "reservation": {"id": "cr-0123456789abcdef0", "instances": 5},
        "nodes": {"min": 0, "desired": 2, "max": 5},
    }
    found = prices("g6.xlarge", {"mode": "exclusive"}, pool=pool)

    nodes, unknown = found.declared()
    assert unknown == []
    gpus = Fraction(2)
    assert [(float(each.number), dict(each.offered)) for each in nodes] == [
        (2, {"nvidia.com/gpu": gpus}),
        (3, {}),
    ]
    there = ObservedNodes("p", "g6.xlarge", None, Fraction(4), {"nvidia.com/gpu": Fraction(4)})
    assert [float(each.number) for each in found.observed([there])[0]] == [4, 1]
    assert [float(each.number) for each in found.observed([])[0]] == [5]


def test_a_reservation_of_unknown_size_makes_the_sum_unknown() -> None:
    pool = {
        "provisioner": "karpenter",
        "nodes": {"min": 0},
        "capacityType": "reserved",
        "reservation": {"id": "cr-0123456789abcdef0"},
    }
    nodes, unknown = prices("g6.xlarge", {"mode": "exclusive"}, pool=pool).declared()
    table = CostTable(tuple(nodes), priced(split_cost(nodes, [], OWNERS, {})), "share")

    assert unknown == [
        "p: how many instances its reservation has is not known; give reservation.instances."
    ]
    assert (table.total().is_known, table.total().hour) == (False, 0)


def test_nodes_of_some_hours_count_for_that_part_of_the_week() -> None:
    window = {"start": "0 8 * * 1-5", "end": "0 18 * * 1-5", "timeZone": "UTC"}
    pool = {
        "provisioner": "karpenter",
        "nodes": {"max": 4},
        "warm": {"nodes": 2, "schedule": [window]},
    }
    found = prices("g6.xlarge", {"mode": "exclusive"}, pool=pool)

    (nodes,), _ = found.declared()
    assert nodes.number == Fraction(2 * 50, 168)
    assert nodes.offered == {"nvidia.com/gpu": nodes.number}


NO_SPOT = (
    "p: spot prices change by the hour, and AWS lists none; write what you pay to catalog: "
    "{instanceTypes: {g6.xlarge: {spotUsdPerHour: ...}}}."
)


def test_what_has_no_price_says_why() -> None:
    spot = prices("g6.xlarge", {"mode": "exclusive"}, pool={"capacityType": "spot"})
    nowhere = prices("g6.xlarge", {"mode": "exclusive"}, region=None)
    elsewhere = prices("g6.xlarge", {"mode": "exclusive"}, region="eu-nowhere-1")

    assert spot.declared()[1] == [NO_SPOT]
    assert nowhere.declared()[1] == ["p: the stack names no aws:region."]
    assert elsewhere.declared()[1] == [
        (
            "p: no price of g6.xlarge in eu-nowhere-1 is known; write it to catalog: "
            "{instanceTypes: {g6.xlarge: {priceUsdPerHour: ...}}}."
        )
    ]
    assert [each.price for each in spot.declared()[0]] == [None]


def test_a_type_without_price_makes_that_of_the_pool_unknown() -> None:
    """Any of its types may be launched, and which is the dearest is not known."""
    types = ["p5.48xlarge", "p5e.48xlarge"]
    found = prices(types[0], {"mode": "exclusive"}, pool={"instanceTypes": types})

    (nodes,), (unknown,) = found.declared()
    assert (nodes.instance_type, nodes.price) == ("p5.48xlarge", None)
    assert unknown.startswith("p: no price of p5e.48xlarge in us-east-1 is known;")


def test_a_spot_node_of_a_pool_that_may_have_both_has_no_price() -> None:
    found = prices("g6.xlarge", {"mode": "exclusive"})
    shares = {"nvidia.com/gpu": Fraction(1)}
    seen = [
        ObservedNodes("p", "g6.xlarge", how, Fraction(1), shares) for how in ("onDemand", "spot")
    ]

    nodes, unknown = found.observed(seen)
    assert [each.price is None for each in nodes] == [False, True]
    assert unknown == [NO_SPOT]


def test_what_a_stack_pays_for_spot_counts_for_spot_alone() -> None:
    own = {"g6.xlarge": {"spotUsdPerHour": 0.3}}
    shares = {"nvidia.com/gpu": Fraction(1)}
    seen = [
        ObservedNodes("p", "g6.xlarge", how, Fraction(1), shares) for how in ("onDemand", "spot")
    ]
    pools = [{"capacityType": "spot"}, {}]
    spot, on_demand = (
        prices("g6.xlarge", {"mode": "exclusive"}, pool=pool, types=own) for pool in pools
    )

    assert [each.price for each in spot.declared()[0]] == [Fraction("0.3")]
    assert [each.price for each in on_demand.declared()[0]] == [Fraction("0.8048")]
    nodes, unknown = on_demand.observed(seen)
    assert [each.price for each in nodes] == [Fraction("0.8048"), Fraction("0.3")]
    assert unknown == []


def test_a_type_that_the_pool_does_not_declare_is_shared_as_the_pool_says() -> None:
    found = prices("p4d.24xlarge", {"mode": "mig", "layout": "all-1g.5gb"})

    assert found.parts("p", "p4de.24xlarge") == {}  # its smallest device is 1g.10gb
    assert found.parts("p", "t3.large") == {}
    assert found.parts("p", "nothing.large") == {}
    assert prices("g6.xlarge", {"mode": "exclusive"}).parts("p", "g6.12xlarge") == {
        "nvidia.com/gpu": Fraction(1, 4)
    }
