"""The pools of a preview as a table, or one after the other where that does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.cli.columns import Table, money

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_HEADINGS = [
    "pool",
    "instance\ntype",
    "nodes\nmin/\ndesired/\nmax",
    "advertised as",
    "per\nnode",
    "at\ndesired",
    "at\nmax",
    "$/hour",
    "$/share\n/hour",
]
_OF_A_RESOURCE = ["advertised as", "per node", "at desired", "at max", "$/share/hour"]


def pool_lines(pools: Mapping[str, Any], width: int) -> list[str]:
    """What pools advertise and cost, in lines of at most this width."""
    table = Table(_HEADINGS, left=4)
    for name, pool in pools.items():
        table.rows += _rows(name, pool)
    if table.width() <= width:
        return ["GPU pools", *table.lines(width)]
    return ["GPU pools", *_one_by_one(pools, width)]


def _rows(name: str, pool: Mapping[str, Any]) -> Iterator[list[str]]:
    cost = pool["usdPerHour"]
    head, price = [name, "", _nodes(pool)], money(cost and cost["atDesired"])
    for instance_type, resources in _resources(pool):
        head[1] = instance_type
        for resource, *numbers, share in resources:
            yield [*head, resource, *numbers, price, share]
            head, price = ["", "", ""], ""


def _one_by_one(pools: Mapping[str, Any], width: int) -> list[str]:
    """A line for each pool, and below it one for each resource."""
    table = Table(_OF_A_RESOURCE)
    for name, pool in pools.items():
        cost = pool["usdPerHour"]
        price = money(cost and cost["atDesired"])
        for instance_type, resources in _resources(pool):
            nodes = f"{_nodes(pool)} nodes (min/desired/max)"
            table.rows.append([f"{name}: {instance_type}, {nodes}, {price} $/hour"])
            table.rows += [[f"  {resource}", *rest] for resource, *rest in resources]
    return table.lines(width)


def _resources(pool: Mapping[str, Any]) -> list[tuple[str, list[list[str]]]]:
    """By instance type, each resource with its counts and the price of a share."""
    prices = {share["resource"]: share["usdPerHour"] for share in pool["shares"]}
    return [
        (
            instance_type,
            [
                [
                    resource,
                    str(count),
                    str(pool["atDesired"][resource]),
                    str(pool["atMax"][resource]),
                    _share(prices, resource),
                ]
                for resource, count in advertised.items()
            ],
        )
        for instance_type, advertised in pool["perNode"].items()
    ]


def _share(prices: Mapping[str, float | None], resource: str) -> str:
    if resource not in prices:
        return ""
    price = prices[resource]
    return "unknown" if price is None else f"{price:.4f}"


def _nodes(pool: Mapping[str, Any]) -> str:
    return "/".join(str(pool["nodes"][size]) for size in ("min", "desired", "max"))
