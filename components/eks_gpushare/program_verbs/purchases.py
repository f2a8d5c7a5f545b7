"""`preview --pods POOL=COUNT`: what Karpenter buys for pods, and what would be the cheapest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.sharing.karpenter.purchase import Purchase

_MOST_PODS = 10_000


class PodsError(Exception):
    """Why the pods that were asked about cannot be, for the person at the keyboard."""


def asked_pods(given: Iterable[str], pools: Mapping[str, Any]) -> dict[str, int]:
    """Pods by pool, of the command line.

    Raises:
        PodsError: One of the texts is not POOL=COUNT of a pool that Karpenter makes nodes for.
    """
    found: dict[str, int] = {}
    for text in given:
        name, _, count = text.partition("=")
        if not (count.isascii() and count.isdecimal() and 0 < int(count[:9]) <= _MOST_PODS):
            raise PodsError(f"--pods {text}: write POOL=COUNT, of 1 to {_MOST_PODS} pods")
        dynamic = [item for item, pool in pools.items() if _is_dynamic(pool)]
        if name not in dynamic:
            known = ", ".join(sorted(dynamic)) or "none here"
            raise PodsError(f"--pods {text}: pools that Karpenter makes nodes for are {known}")
        found[name] = int(count)
    return found


def purchases(asked: Mapping[str, int], pools: Mapping[str, Any]) -> dict[str, Any]:
    """What is bought for the pods of each pool as JSON; None where a price is not known."""
    return {name: _of_pool(pools[name], pods) for name, pods in asked.items()}


def purchase_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The same as text, its title first."""
    yield "What Karpenter buys"
    for name, item in found.items():
        if item is None:
            yield f"  {name}: not known, since a price is not"
            continue
        made, best, waiting = item["bought"], item["cheapest"], item["waiting"]
        yield f"  {name}: for {item['pods'] - waiting} pods {_text(made)}"
        if best["usdPerHour"] < made["usdPerHour"]:
            yield f"    the cheapest would be {_text(best)}"
        if waiting:
            room = item["pods"] - waiting
            yield f"    {waiting} more wait: at its largest the pool has room for {room}"


def _is_dynamic(pool: Mapping[str, Any]) -> bool:
    return pool["provisioner"] == "karpenter" and "scaling" in pool


def _of_pool(pool: Mapping[str, Any], pods: int) -> dict[str, Any] | None:
    from eks_gpushare.sharing.karpenter.purchase import bought, cheapest

    (resource,) = pool["request"]
    holds = {name: node.get(resource, 0) for name, node in pool["perNode"].items()}
    if any(share["usdPerHour"] is None for share in pool["shares"]):
        return None
    prices = {name: _price(pool["shares"], name) for name in holds}
    largest = pool["scaling"]["max"]
    room = pods if largest is None else min(pods, largest["shares"].get(resource, 0))
    ways = {"bought": bought(holds, prices, room), "cheapest": cheapest(holds, prices, room)}
    made = {key: _json(way) for key, way in ways.items()}
    return {"pods": pods, "waiting": pods - room, **made}


def _price(shares: Iterable[Mapping[str, Any]], instance_type: str) -> float:
    """A node's price: that of all its shares together."""
    return round(sum(_of_shares(share, instance_type) for share in shares), 4)


def _of_shares(share: Mapping[str, Any], instance_type: str) -> float:
    each: float = share.get("usdPerHourByType", {}).get(instance_type, share["usdPerHour"])
    count: int = share["perNode"].get(instance_type, 0)
    return each * count


def _json(way: Purchase) -> dict[str, Any]:
    return {"nodes": dict(way.nodes), "usdPerHour": way.usd_per_hour}


def _text(way: Mapping[str, Any]) -> str:
    nodes = " and ".join(f"{count} x {name}" for name, count in way["nodes"].items())
    return f"{nodes}, {way['usdPerHour']:.2f} $/hour"
