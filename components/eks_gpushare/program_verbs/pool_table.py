"""The pools of a preview as a table, or one after the other where that does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.cli.columns import Table, money
from eks_gpushare.findings.text import wrapped

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
_AUTOSCALERS = {"karpenter": "Karpenter", "clusterAutoscaler": "Cluster Autoscaler"}
_NOBODY = "-"
"""In place of a size that nobody decides."""


def pool_lines(pools: Mapping[str, Any], width: int) -> list[str]:
    """What pools advertise and cost, in lines of at most this width."""
    table = Table(_HEADINGS, left=4)
    for name, pool in pools.items():
        table.rows += _rows(name, pool)
    lines = table.lines(width) if table.width() <= width else _one_by_one(pools, width)
    return ["GPU pools", *lines, *_ranges(pools, width)]


def _ranges(pools: Mapping[str, Any], width: int) -> Iterator[str]:
    """From what to what autoscalers take their pools, in nodes, shares and dollars."""
    for name, pool in pools.items():
        scaling = pool.get("scaling")
        if scaling is None:
            continue
        low, high = scaling["min"], scaling["max"]
        by = _AUTOSCALERS[scaling["by"]]
        kept = "kept" if scaling["static"] else "scaled"
        if (some := scaling.get("scheduled")) is not None:
            nodes = f"{some['nodes']} node{'' if some['nodes'] == 1 else 's'} more"
            hours = f"{some['hoursPerWeek']:g} hours of a week"
            price = f"{money(some['usdPerHour'])} $/hour"
            yield from wrapped(f"{name}: {nodes} for {hours}, {price} in these", width)
        if high is None:
            least = f"{low['nodes']} nodes and more, without a limit"
            yield from wrapped(f"{name}: {kept} by {by} at {least}", width)
            continue
        prices = _between(money(low["usdPerHour"]), money(high["usdPerHour"]))
        nodes = _between(low["nodes"], high["nodes"])
        nodes += " node" if nodes == "1" else " nodes"
        yield from wrapped(f"{name}: {kept} by {by} at {nodes}, {prices} $/hour", width)
        for resource, most in high["shares"].items():
            shares = _between(low["shares"][resource], most)
            yield from wrapped(f"{resource}: {shares}", width, "    ", "  ")


def _between(least: object, most: object) -> str:
    return str(most) if least == most else f"{least} to {most}"


def _is_dynamic(pool: Mapping[str, Any]) -> bool:
    """Whether nodes are there for pods alone, so that no desired size means anything."""
    scaling = pool.get("scaling")
    return scaling is not None and scaling["by"] == "karpenter" and not scaling["static"]


def _is_empty(pool: Mapping[str, Any]) -> bool:
    """Whether it has no node until a pod asks for one."""
    return _is_dynamic(pool) and not pool["scaling"]["min"]["nodes"]


def _rows(name: str, pool: Mapping[str, Any]) -> Iterator[list[str]]:
    head, price = [name, "", _nodes(pool)], _price(pool)
    for instance_type, resources in _resources(pool):
        head[1] = instance_type
        for resource, *numbers, share in resources:
            yield [*head, resource, *numbers, price, share]
            head, price = ["", "", ""], ""


def _one_by_one(pools: Mapping[str, Any], width: int) -> list[str]:
    """A line for each pool, and below it one for each resource."""
    table = Table(_OF_A_RESOURCE)
    for name, pool in pools.items():
        price = _price(pool)
        for instance_type, resources in _resources(pool):
            nodes = f"{_nodes(pool)} nodes (min/desired/max)"
            table.rows.append([f"{name}: {instance_type}, {nodes}, {price} $/hour"])
            table.rows += [[f"  {resource}", *rest] for resource, *rest in resources]
    return table.lines(width)


def _resources(pool: Mapping[str, Any]) -> list[tuple[str, list[list[str]]]]:
    """By instance type, each resource with its counts and the price of a share."""
    shares = {share["resource"]: share for share in pool["shares"]}
    return [
        (
            instance_type,
            [
                [
                    resource,
                    str(count),
                    _NOBODY if _is_empty(pool) else str(pool["atDesired"][resource]),
                    _at_max(pool, resource),
                    _share(shares.get(resource), instance_type),
                ]
                for resource, count in advertised.items()
            ],
        )
        for instance_type, advertised in pool["perNode"].items()
    ]


def _share(share: Mapping[str, Any] | None, instance_type: str) -> str:
    if share is None:
        return ""
    price = share.get("usdPerHourByType", {}).get(instance_type, share["usdPerHour"])
    return "unknown" if price is None else f"{price:.4f}"


def _nodes(pool: Mapping[str, Any]) -> str:
    sizes = {size: str(count) for size, count in pool["nodes"].items()}
    if _is_dynamic(pool):
        low, high = pool["scaling"]["min"], pool["scaling"]["max"]
        most = _NOBODY if high is None else str(high["nodes"])
        sizes = {"min": str(low["nodes"]), "desired": _NOBODY, "max": most}
    return "/".join(sizes[size] for size in ("min", "desired", "max"))


def _at_max(pool: Mapping[str, Any], resource: str) -> str:
    if not _is_dynamic(pool):
        return str(pool["atMax"][resource])
    most = pool["scaling"]["max"]
    return _NOBODY if most is None else str(most["shares"][resource])


def _price(pool: Mapping[str, Any]) -> str:
    cost = pool["usdPerHour"]
    paid = cost and cost["atDesired"]
    return _NOBODY if _is_empty(pool) and not paid else money(paid)
