"""The containers of a pod, and what they ask of its node together.

Source: `AggregateContainerRequests` in resource/helpers.go of k8s.io/component-helpers 0.35.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from eks_gpushare.inventory.values import at, items

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Turn: TypeAlias = Literal["before", "beside", "together"]
"""When a container runs: before the pod's own, beside all that come after it, or with them."""
Amount = TypeVar("Amount", int, Decimal, Fraction)


def containers(spec: Any) -> Iterator[tuple[tuple[str, int], Any]]:
    """Every container of a pod with its place in the spec."""
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(items(at(spec, kind))):
            yield (kind, index), container


def turn_of(kind: str, container: Any) -> Turn:
    """When a container of a pod's list, `containers` or `initContainers`, runs."""
    if kind == "containers":
        return "together"
    return "beside" if at(container, "restartPolicy") == "Always" else "before"


def pod_total(asked: Iterable[tuple[Turn, Mapping[str, Amount]]]) -> dict[str, Amount]:
    """What a pod asks for in all, by resource.

    Containers that run together are added up; of those that run one after the other before them,
    the largest counts. A sidecar runs beside all that come after it.

    Args:
        asked: What each container asks for, those of `initContainers` first and in their order.
    """
    together: dict[str, Amount] = {}
    before: dict[str, Amount] = {}
    sidecars: dict[str, Amount] = {}
    for turn, amounts in asked:
        if turn == "together":
            _add(together, amounts)
        elif turn == "beside":
            _add(together, amounts)
            _add(sidecars, amounts)
        else:
            with_sidecars = dict(sidecars)
            _add(with_sidecars, amounts)
            _most(before, with_sidecars)
    _most(together, before)
    return together


def _add(total: dict[str, Amount], more: Mapping[str, Amount]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _most(total: dict[str, Amount], other: Mapping[str, Amount]) -> None:
    for name, amount in other.items():
        total[name] = max(total[name], amount) if name in total else amount
