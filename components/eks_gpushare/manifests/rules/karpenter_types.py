"""Values of another type than Karpenter's definitions have, which the API server refuses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.foreign_keys import (
    karpenter_api_version,
    karpenter_types,
    wrong_types,
)
from eks_gpushare.findings.finding import dotted
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.rules.karpenter_shapes import REFUSED_VALUE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.source import Source

_OF_THEIR_OWN: Final = frozenset(("values", "value", "effect", "operator", "volumeSize"))
"""Keys whose values are judged with words of their own."""
_TYPES: Final[Mapping[str, str]] = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "object": "a mapping",
    "string": "text",
}


def types(value: Mapping[str, Any], source: Source) -> Iterator[Problem]:
    """What is of another type, in an object of a version that is served."""
    kind = str(at(value, "kind"))
    if at(value, "apiVersion") != karpenter_api_version(kind):
        return  # which is said of the version
    spec = at(value, "spec")
    for path, wanted in wrong_types(spec, karpenter_types(kind)):
        given = at(spec, *path)
        key = next(step for step in reversed(path) if isinstance(step, str))
        if key not in _OF_THEIR_OWN and _is_written(given):
            yield _refused(source, path, given, wanted)


def _is_written(given: Any) -> bool:
    """Whether somebody has written it, and no tool fills it in."""
    return not isinstance(given, str) or re.fullmatch(r"[A-Za-z0-9.-]+", given) is not None


def _refused(source: Source, path: FieldPath, given: Any, wanted: str) -> Problem:
    place = ("spec", *path)
    plain = str(given).lower() if isinstance(given, bool) else repr(given)
    is_block = isinstance(given, list | dict)
    shown = f"a {'list' if isinstance(given, list) else 'mapping'}" if is_block else plain
    as_text = wanted == "string" and isinstance(given, int | float)
    fix = f'Put it in quotes: "{plain}".' if as_text else f"Write {_TYPES[wanted]}."
    message = f"{dotted(place)} is {shown}, not {_TYPES[wanted]}."
    return Problem(REFUSED_VALUE, source, place, message, fix)
