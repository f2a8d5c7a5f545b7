"""Values as documents give them: anything may be anything, or not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.items import NodeTaint
from eks_gpushare.inventory.source import UNKNOWN, Unknown
from eks_gpushare.inventory.values import PartlyKnown, at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.source import Maybe

_EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}
_DIGITS = 9
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
"""As Kubernetes spells them."""


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any, otherwise: str = "") -> Maybe[str]:
    """A text, UNKNOWN as it is; numbers and booleans as YAML would have written them."""
    if value is UNKNOWN:
        return Unknown.UNKNOWN
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    return otherwise


def whole(value: Any) -> Maybe[int | None]:
    """A whole number, UNKNOWN as it is; None of anything else."""
    if value is UNKNOWN:
        return Unknown.UNKNOWN
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _DIGITS:
        return int(value)
    return None


def labels(value: Any) -> Maybe[Mapping[str, Any]]:
    """Labels with values that are texts or UNKNOWN."""
    if value is UNKNOWN:
        return Unknown.UNKNOWN
    found = {key: text(item) for key, item in mapping(value).items()}
    return PartlyKnown(found) if isinstance(value, PartlyKnown) else found


def taints(value: Any) -> Maybe[tuple[NodeTaint, ...]]:
    """Taints of a list of mappings, whichever way the effect is spelled."""
    if value is UNKNOWN:
        return Unknown.UNKNOWN
    found = []
    for item in items(value):
        if item is UNKNOWN:
            return Unknown.UNKNOWN
        key, word, effect = (text(at(item, name)) for name in ("key", "value", "effect"))
        if UNKNOWN in (key, word, effect):
            return Unknown.UNKNOWN
        if key:
            found.append(NodeTaint(str(key), str(word), _EFFECTS.get(str(effect), str(effect))))
    return tuple(found)


def kubernetes_effect(effect: str) -> str | None:
    """The effect as Kubernetes spells it; None of what is none."""
    if effect in EFFECTS:
        return effect
    bare = effect.replace("_", "").replace("-", "").lower()
    return next((known for known in EFFECTS if known.lower() == bare), None)


def no_strings(value: Any, path: FieldPath) -> Iterator[tuple[FieldPath, Any]]:
    """The values of a mapping of labels that are no strings, with their places."""
    for key, item in mapping(value).items():
        if isinstance(item, bool | int | float):
            yield (*path, key), item


def written(value: Any) -> str:
    """A scalar as YAML writes it."""
    return str(text(value))
