"""Labels and annotations that are no text, and amounts that Kubernetes refuses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.findings.finding import dotted
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.values import at, pairs
from eks_gpushare.manifests.readers.values import mappings, walk
from eks_gpushare.manifests.readers.words import shown
from eks_gpushare.manifests.rules.kubernetes import WRONG_KIND

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.source import Source

_METADATA: Final[tuple[FieldPath, ...]] = (
    ("metadata",),
    ("spec", "template", "metadata"),
    ("spec", "jobTemplate", "metadata"),
    ("spec", "jobTemplate", "spec", "template", "metadata"),
)
_COUNTED: Final = re.compile(
    r"(?:requests\.|limits\.)?(?:cpu|memory|ephemeral-storage|storage|hugepages-[0-9A-Za-z]+)"
)
"""Resources of which an amount is no count; GPUs have words of their own."""
_PLAIN: Final = re.compile(r"[0-9][0-9.]*(?: ?[A-Za-z]+)*")
"""What a hand has written, and no placeholder."""
_SPELT: Final = {
    **{f"{unit}b": unit for unit in ("ki", "mi", "gi", "ti", "k", "m", "g", "t")},
    **{unit: unit for unit in ("ki", "mi", "gi", "ti", "g", "t", "k")},
}
_OF_LIMIT_RANGES: Final = ("default", "defaultRequest", "max", "min")


def judge_texts(value: Mapping[str, Any], source: Source) -> Iterator[Problem]:
    """What is of another kind than Kubernetes takes."""
    for place in _METADATA:
        for part in ("labels", "annotations"):
            for key, given in pairs(at(value, *place, part)):
                if isinstance(given, bool | int | float):
                    yield _no_text(source, (*place, part, key), given)
    for path, amounts in _amounts(value):
        for key, given in pairs(amounts):
            plain = isinstance(given, str) and _PLAIN.fullmatch(given.strip())
            if plain and _COUNTED.fullmatch(str(key)) and quantity(given) is None:
                yield _no_amount(source, (*path, key), given)


def _amounts(value: Mapping[str, Any]) -> Iterator[tuple[FieldPath, Any]]:
    """Where an object says amounts of resources by their names."""
    kind = value.get("kind")
    if kind == "ResourceQuota":
        yield ("spec", "hard"), at(value, "spec", "hard")
    if kind == "LimitRange":
        for index, limit in mappings(at(value, "spec", "limits")):
            for part in _OF_LIMIT_RANGES:
                yield ("spec", "limits", index, part), limit.get(part)
    for path, inner in walk(value.get("spec")):
        if path[-1:] == ("resources",):
            for part in ("limits", "requests"):
                yield ("spec", *path, part), inner.get(part)


def _no_text(source: Source, path: FieldPath, given: Any) -> Problem:
    text = str(given).lower() if isinstance(given, bool) else str(given)
    message = f"{dotted(path)} of {source.name} is {shown(given)}, not text."
    edits = (Edit("set", path, text),)
    return Problem(WRONG_KIND, source, path, message, f'Put it in quotes: "{text}".', None, edits)


def _no_amount(source: Source, path: FieldPath, given: str) -> Problem:
    number = re.match(r"[0-9.]+", given.strip())
    unit = _SPELT.get(given.strip().lstrip("0123456789.").strip().lower())
    wanted = f"{number[0]}{unit if unit == 'k' else unit.capitalize()}" if unit and number else ""
    message = f"{dotted(path)} of {source.name} is {shown(given)}, no amount that Kubernetes reads."
    fix = f"Write {wanted}." if wanted else "Write a number with a unit such as m, Mi or Gi."
    return Problem(WRONG_KIND, source, path, message, fix)
