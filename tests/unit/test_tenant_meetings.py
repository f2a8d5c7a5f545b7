"""Who may meet whom on one GPU, from contracts and modes to a table."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.test_tenants_plan import plan

from eks_gpushare.cli.tenant_lines import matrix_lines
from eks_gpushare.config.tenants import Tenant
from eks_gpushare.sharing.tenants import contracts, meetings, tenants_json

PLANS = {
    "turns": plan("g6.12xlarge"),
    "mps": plan("g6.2xlarge"),
    "whole": plan("g6.48xlarge"),
    "slices": plan("p4d.24xlarge"),
}


def of(*pools: str, **amount: Any) -> Tenant:
    return Tenant.model_validate(
        {
            "namespaces": ["n"],
            "pools": {pool: {"guaranteed": amount or {"gpus": 1}} for pool in pools},
        }
    )


def met(**tenants: Tenant) -> dict[str, dict[str, str]]:
    return {a: dict(others) for a, others in meetings(contracts(tenants, PLANS), PLANS).items()}


@pytest.mark.parametrize(
    ("pool", "how"),
    [("turns", "timeSlicing"), ("mps", "mps"), ("whole", "exclusive"), ("slices", "exclusive")],
)
def test_two_of_a_pool_meet_as_it_shares(pool: str, how: str) -> None:
    assert met(a=of(pool), b=of(pool)) == {"a": {"b": how}, "b": {"a": how}}


def test_of_several_pools_the_closest_counts() -> None:
    found = met(a=of("whole", "mps"), b=of("mps", "whole"), c=of("turns"), d=of("turns", "mps"))

    assert found["a"] == {"b": "mps", "d": "mps"}
    assert found["d"] == {"a": "mps", "b": "mps", "c": "timeSlicing"}


def test_who_has_other_devices_of_a_pool_is_on_its_nodes_alone() -> None:
    small, large = (
        of("slices", sharesOf={"mig-1g.5gb": 1}),
        of("slices", sharesOf={"mig-3g.20gb": 1}),
    )

    assert met(a=small, b=large)["a"] == {"b": "exclusive"}


def lines(width: int, **tenants: Tenant) -> list[str]:
    return list(matrix_lines(tenants_json(tenants, contracts(tenants, PLANS), PLANS), width))


def test_the_table_says_each_pair_and_what_its_words_mean() -> None:
    assert lines(80, research=of("slices"), vision=of("slices", "mps"), team=of("mps")) == [
        "Who may meet whom on one GPU",
        "            research  vision  team",
        "  research  -         node    -",
        "  vision    node      -       MPS",
        "  team      -         MPS     -",
        "  node: on one node, each with a GPU or MIG device of its own: kernel and driver",
        "    are one",
        "  MPS: on one GPU by MPS: memory is limited for each process, a fault ends all",
    ]


def test_where_the_table_has_no_room_each_tenant_has_a_line() -> None:
    assert lines(30, research=of("turns"), vision=of("turns"), team=of("slices"))[:4] == [
        "Who may meet whom on one GPU",
        "  research: turns with vision",
        "  vision: turns with research",
        "  team: nobody",
    ]
