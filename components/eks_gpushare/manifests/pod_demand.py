"""What a pod of a manifest asks of a node, and where that is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.pod_totals import containers, pod_total, turn_of
from eks_gpushare.inventory.scheduling import is_extended
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.pod_totals import Turn

_MEASURED = ("cpu", "memory")


class PodDemand(NamedTuple):
    """What one pod asks for."""

    amounts: dict[str, Fraction]
    """By resource: extended ones, CPUs, and bytes of memory; what is not known counts nothing."""
    places: dict[str, FieldPath]
    """Where in the pod's spec the largest part of each is asked for."""

    def of_devices(self) -> dict[str, int]:
        """The extended resources, which are whole numbers."""
        return {name: int(n) for name, n in self.amounts.items() if is_extended(name) and n >= 1}

    def told(self, name: str) -> str:
        """How much of CPU or memory, in words: `500m of cpu`."""
        amount = float(self.amounts[name])
        return (
            f"{amount * 1000:.0f}m of cpu"
            if name == "cpu"
            else f"{amount / 2**20:.0f} MiB of {name}"
        )


def demand_of(spec: Any) -> PodDemand:
    """What a pod asks of a node.

    Args:
        spec: The pod's spec.
    """
    places: dict[str, tuple[Fraction, FieldPath]] = {}
    asked: list[tuple[Turn, dict[str, Fraction]]] = []
    for path, container in containers(spec):
        given = dict(_asked(container))
        for name, (amount, place) in given.items():
            if name not in places or amount > places[name][0]:
                places[name] = amount, (*path, *place)
        turn = turn_of(path[0], container)
        asked.append((turn, {name: amount for name, (amount, _) in given.items()}))
    together = pod_total(asked)
    for name in _MEASURED:  # those of the whole pod stand in place of the sum
        own = _amount(at(spec, "resources", "requests", name))
        if own is not None:
            together[name], places[name] = own, (own, ("resources", "requests", name))
    return PodDemand(together, {name: place for name, (_, place) in places.items()})


def _asked(container: Any) -> Iterator[tuple[str, tuple[Fraction, FieldPath]]]:
    """Requests of a container; a limit is the request where none is written."""
    requests = at(container, "resources", "requests")
    written = {name for name, _ in pairs(requests)}
    for part in ("limits", "requests"):
        for name, value in pairs(at(container, "resources", part)):
            amount = _amount(value)
            # A request of CPU or memory that is not known may be less than the limit.
            if name in _MEASURED and part == "limits" and (requests is UNKNOWN or name in written):
                continue
            if amount is not None and (name in _MEASURED or is_extended(name)):
                yield name, (amount, ("resources", part, name))


def _amount(value: Any) -> Fraction | None:
    found = quantity(str(text(value)))  # none of what is not known, or is no number
    return found if found is not None and found >= 0 else None
