"""How few nodes could run pods: first fit, the largest first, of pods that are alike at once."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Amounts: TypeAlias = "Mapping[str, Decimal]"
"""Of each resource, how much."""


def least_nodes(pods: Iterable[Amounts], nodes: Sequence[Amounts]) -> int | None:
    """The fewest nodes on which pods fit, by first fit; exact where all pods are alike.

    Args:
        pods: what each asks for; what no node names is left out of account.
        nodes: what a node of each kind gives; of several kinds, the one of which fewest will do.

    Returns:
        The number, or None where some pod fits on no node.
    """
    wanted = Counter(tuple(sorted(pod.items())) for pod in pods)
    counts = [_of_kind(wanted, node) for node in nodes]
    return min((count for count in counts if count is not None), default=None)


def _of_kind(wanted: Mapping[tuple[tuple[str, Decimal], ...], int], node: Amounts) -> int | None:
    """Nodes of one kind that take all pods. Nodes with the same room left are counted together."""
    alike = [({k: v for k, v in pod if k in node and v}, n) for pod, n in wanted.items()]
    alike.sort(key=lambda ask: _part(ask[0], node), reverse=True)
    rooms: list[tuple[dict[str, Decimal], int]] = []
    for pod, count in alike:
        most = _times(pod, node)
        if most == 0:
            return None
        left, kept = count, []
        for room, there in rooms:
            left, changed = _place(pod, left, room, there, _times(pod, room))
            kept += changed
        rooms = kept
        if left and (most is not None or not rooms):  # what asks for nothing goes onto any node
            at_once = most or left
            rooms += _place(pod, left, node, -(-left // at_once), at_once)[1]
    return sum(there for _, there in rooms)


def _part(pod: Amounts, node: Amounts) -> Decimal:
    """How large a part of a node a pod takes, of the resource of which it takes most."""
    return max((v / node[k] for k, v in pod.items() if node[k]), default=Decimal())


def _place(
    pod: Amounts, left: int, room: Amounts, count: int, fits: int | None
) -> tuple[int, list[tuple[dict[str, Decimal], int]]]:
    """Put pods on some nodes with the same room: how many are left, and the room after it."""
    if fits is None:
        return 0, [(dict(room), count)]
    if not fits or not left:
        return left, [(dict(room), count)]
    full = min(count, left // fits)
    rest = 0 if full == count else left % fits
    changed = [(full, fits), (1 if rest else 0, rest), (count - full - (1 if rest else 0), 0)]
    after = [({k: v - n * pod.get(k, Decimal()) for k, v in room.items()}, c) for c, n in changed]
    return left - full * fits - rest, [ask for ask in after if ask[1]]


def _times(pod: Amounts, room: Amounts) -> int | None:
    """How often a pod fits into room; None where it asks for nothing of it."""
    return min((int(room[name] // amount) for name, amount in pod.items()), default=None)
