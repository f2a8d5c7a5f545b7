"""Looking into plain values of which parts may be missing, of another kind, or not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable


class PartlyKnown(dict[str, Any]):
    """A mapping of which only a part is seen: what is missing may be there, and is not known."""

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ARG002  (there is none)
        """What stands at a key."""
        return super().get(key, UNKNOWN)


def partly_known(value: Any) -> Any:
    """A value whose mappings may have more keys than are seen."""
    if not isinstance(value, Mapping):
        return value
    return PartlyKnown({str(key): partly_known(item) for key, item in value.items()})


def at(value: Any, *path: str | int) -> Any:
    """What stands at a path; None where nothing does, `UNKNOWN` below what is not known."""
    for part in path:
        if type(value) is dict:  # as most are
            value = value.get(part)
        elif value is None or value is UNKNOWN:
            return value
        elif isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            value = value[part] if isinstance(part, int) and part < len(value) else None
        else:
            return None
    return value


def may_be_same(one: Any, other: Any) -> bool:
    """Whether two values are the same, as far as is known."""
    return UNKNOWN in (one, other) or one == other


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are known to be the same: two that are not known may be different ones."""
    return UNKNOWN not in (one, other) and bool(one == other)


def holds(value: Any, *path: str) -> bool:
    """Whether a key is written, be it with null."""
    above = at(value, *path[:-1])
    return isinstance(above, Mapping) and path[-1] in above


def items(value: Any) -> list[Any]:
    """The items of a list; none of anything else."""
    return list(value) if isinstance(value, list | tuple) else []


def pairs(value: Any) -> list[tuple[str, Any]]:
    """The keys of a mapping with their values; none of anything else."""
    if not value:  # as most are, and to ask what they are takes longer
        return []
    return [(str(key), of) for key, of in value.items()] if isinstance(value, Mapping) else []


def text(value: Any) -> Any:
    """A scalar as Kubernetes and Helm write it; an empty text for nothing, `UNKNOWN` as it is."""
    if value is UNKNOWN:
        return UNKNOWN
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def switch(value: Any) -> Any:
    """A switch as Helm takes it, where any text is true but an empty one; `UNKNOWN` as it is."""
    return UNKNOWN if value is UNKNOWN else bool(value)


def has_unknown(value: Any) -> bool:
    """Whether something in a value is not known."""
    if isinstance(value, PartlyKnown):
        return True
    if isinstance(value, Mapping):
        return any(has_unknown(inner) for inner in (*value, *value.values()))
    if isinstance(value, list | tuple):
        return any(has_unknown(inner) for inner in value)
    return value is UNKNOWN


def frozen(value: Any) -> Any:
    """A value as a key of mappings: two have the same where nothing tells them apart."""
    if isinstance(value, Mapping):
        parts = tuple((key, frozen(item)) for key, item in value.items())
        return type(value), parts
    if isinstance(value, list | tuple):
        return tuple(map(frozen, value))
    return type(value), value


def every(verdicts: Iterable[bool | None]) -> bool | None:
    """Whether all hold: no as soon as one does not, None if one is not known."""
    known = True
    for verdict in verdicts:
        if verdict is False:
            return False
        known = known and verdict is not None
    return True if known else None


def some(verdicts: Iterable[bool | None]) -> bool | None:
    """Whether one holds: yes as soon as one does, None if one is not known."""
    known = True
    for verdict in verdicts:
        if verdict:
            return True
        known = known and verdict is not None
    return False if known else None
