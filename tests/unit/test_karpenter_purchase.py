"""What Karpenter buys for pods that wait together, and the cheapest, against every way there is."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eks_gpushare.program_verbs.purchases import (
    PodsError,
    asked_pods,
    purchase_lines,
    purchases,
)
from eks_gpushare.sharing.karpenter.purchase import bought, cheapest

HOLDS = {"g6.xlarge": 4, "g6.12xlarge": 16}
PRICES = {"g6.xlarge": 0.8048, "g6.12xlarge": 4.6016}


@pytest.mark.parametrize(
    ("pods", "nodes", "usd", "least"),
    [
        # As the real Karpenter was seen to do it.
        (25, {"g6.12xlarge": 2}, 9.2032, {"g6.xlarge": 7}),
        (4, {"g6.xlarge": 1}, 0.8048, {"g6.xlarge": 1}),
        (5, {"g6.12xlarge": 1}, 4.6016, {"g6.xlarge": 2}),
        (20, {"g6.12xlarge": 1, "g6.xlarge": 1}, 5.4064, {"g6.xlarge": 5}),
    ],
)
def test_nodes_are_few_and_not_always_cheap(
    pods: int, nodes: dict[str, int], usd: float, least: dict[str, int]
) -> None:
    made = bought(HOLDS, PRICES, pods)

    assert (made.nodes, made.usd_per_hour) == (nodes, usd)
    assert cheapest(HOLDS, PRICES, pods).nodes == least


SIZES = st.dictionaries(
    st.sampled_from("abc"), st.tuples(st.integers(1, 6), st.integers(1, 9)), min_size=1
)


@settings(max_examples=200, deadline=None)
@given(sizes=SIZES, pods=st.integers(1, 12))
def test_the_cheapest_is_the_least_of_all_ways(
    sizes: dict[str, tuple[int, int]], pods: int
) -> None:
    holds = {name: held for name, (held, _) in sizes.items()}
    prices = {name: float(price) for name, (_, price) in sizes.items()}
    ways = product(range(pods + 1), repeat=len(sizes))
    costs = [
        sum(n * prices[name] for n, name in zip(way, sizes, strict=True))
        for way in ways
        if sum(n * holds[name] for n, name in zip(way, sizes, strict=True)) >= pods
    ]
    least, made = cheapest(holds, prices, pods), bought(holds, prices, pods)

    assert least.usd_per_hour == min(costs)
    assert sum(n * holds[name] for name, n in least.nodes.items()) >= pods
    assert sum(n * holds[name] for name, n in made.nodes.items()) >= pods
    assert sum(made.nodes.values()) == -(-pods // max(holds.values()))


POOL = {
    "provisioner": "karpenter",
    "scaling": {"max": None},
    "request": {"nvidia.com/gpu.shared": 1},
    "perNode": {name: {"nvidia.com/gpu.shared": held} for name, held in HOLDS.items()},
    "shares": [
        {
            "resource": "nvidia.com/gpu.shared",
            "perNode": HOLDS,
            "usdPerHour": 0.2876,
            "usdPerHourByType": {"g6.xlarge": 0.2012, "g6.12xlarge": 0.2876},
        }
    ],
}


def test_it_is_told_beside_the_cheapest() -> None:
    found = purchases({"gpu": 25, "few": 3}, {"gpu": POOL, "few": POOL})

    assert list(purchase_lines(found)) == [
        "What Karpenter buys",
        "  gpu: for 25 pods 2 x g6.12xlarge, 9.20 $/hour",
        "    the cheapest would be 7 x g6.xlarge, 5.63 $/hour",
        "  few: for 3 pods 1 x g6.xlarge, 0.80 $/hour",
    ]


def test_no_more_is_bought_than_the_pool_may_have() -> None:
    most = {"nodes": 2, "shares": {"nvidia.com/gpu.shared": 32}}
    found = purchases({"gpu": 35}, {"gpu": {**POOL, "scaling": {"max": most}}})

    assert (found["gpu"]["pods"], found["gpu"]["waiting"]) == (35, 3)
    assert list(purchase_lines(found)) == [
        "What Karpenter buys",
        "  gpu: for 32 pods 2 x g6.12xlarge, 9.20 $/hour",
        "    the cheapest would be 8 x g6.xlarge, 6.44 $/hour",
        "    3 more wait: at its largest the pool has room for 32",
    ]


def test_without_a_price_nobody_knows() -> None:
    unknown = {**POOL, "shares": [{**POOL["shares"][0], "usdPerHour": None}]}  # type: ignore[index]  # a list

    assert list(purchase_lines(purchases({"gpu": 1}, {"gpu": unknown}))) == [
        "What Karpenter buys",
        "  gpu: not known, since a price is not",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu", "write POOL=COUNT, of 1 to 10000 pods"),
        ("gpu=0", "write POOL=COUNT, of 1 to 10000 pods"),
        ("gpu=10001", "write POOL=COUNT, of 1 to 10000 pods"),
        ("gpu=-1", "write POOL=COUNT, of 1 to 10000 pods"),
        ("other=1", "pools that Karpenter makes nodes for are gpu"),
        ("managed=1", "pools that Karpenter makes nodes for are gpu"),
    ],
)
def test_what_cannot_be_asked(text: str, message: str) -> None:
    pools = {"gpu": POOL, "managed": {**POOL, "provisioner": "managedNodeGroup"}}

    with pytest.raises(PodsError) as raised:
        asked_pods([text], pools)
    assert str(raised.value) == f"--pods {text}: {message}"
    assert asked_pods(["gpu=10000"], pools) == {"gpu": 10000}
