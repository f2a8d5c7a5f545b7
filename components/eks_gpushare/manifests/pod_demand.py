"""What a pod asks of a node, as the scheduler adds it up.

Source: `PodRequests` in component-helpers/resource of k8s.io/component-helpers 0.35.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.scheduling import containers, is_extended
from eks_gpushare.inventory.values import at, pairs, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath

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


def demand_of(spec: Any) -> PodDemand:
    """What a pod asks of a node.

    Containers that run together are added up; of those that run one after the other before them,
    the largest counts. A sidecar runs beside all that come after it.

    Args:
        spec: The pod's spec.
    """
    together: dict[str, Fraction] = {}
    before: dict[str, Fraction] = {}
    sidecars: dict[str, Fraction] = {}
    places: dict[str, tuple[Fraction, FieldPath]] = {}
    for path, container in containers(spec):
        given = dict(_asked(container))
        for name, (amount, place) in given.items():
            if name not in places or amount > places[name][0]:
                places[name] = amount, (*path, *place)
        amounts = {name: amount for name, (amount, _) in given.items()}
        if path[0] == "containers":
            _add(together, amounts)
        elif at(container, "restartPolicy") == "Always":
            _add(together, amounts)
            _add(sidecars, amounts)
            _most(before, sidecars)
        else:
            with_sidecars = dict(sidecars)
            _add(with_sidecars, amounts)
            _most(before, with_sidecars)
    _most(together, before)
    for name in _MEASURED:  # those of the whole pod stand in place of the sum
        own = _amount(at(spec, "resources", "requests", name))
        if own is not None:
            together[name], places[name] = own, (own, ("resources", "requests", name))
    return PodDemand(together, {name: place for name, (_, place) in places.items()})


def _asked(container: Any) -> Iterator[tuple[str, tuple[Fraction, FieldPath]]]:
    """Requests of a container; a limit is the request where none is written."""
    for part in ("limits", "requests"):
        for name, value in pairs(at(container, "resources", part)):
            amount = _amount(value)
            if amount is not None and (name in _MEASURED or is_extended(name)):
                yield name, (amount, ("resources", part, name))


def _amount(value: Any) -> Fraction | None:
    found = quantity(str(text(value)))  # none of what is not known, or is no number
    return found if found is not None and found >= 0 else None


def _add(total: dict[str, Fraction], more: dict[str, Fraction]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


def _most(total: dict[str, Fraction], other: dict[str, Fraction]) -> None:
    for name, amount in other.items():
        total[name] = max(total.get(name, Fraction(0)), amount)
