"""Functions on lists, sets and maps: what of their result is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.hcl.operators import equal
from eks_gpushare.lint.hcl.values import (
    HclList,
    HclObject,
    OpenObject,
    has_gaps,
    is_open,
    number,
    place_in,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST: Final = 1_024
"""Most items that `range` makes, in Terraform too."""


def merge(*given: Any) -> Any:
    """`merge`."""
    made = HclObject()
    for each in given:
        if each is None:
            continue
        if each is UNKNOWN:
            # It may have any key, and each goes over what stands there.
            made = OpenObject(dict.fromkeys(made, UNKNOWN), made.places)
            continue
        if not isinstance(each, dict):
            return UNKNOWN
        if is_open(each):
            made = OpenObject(dict.fromkeys(made, UNKNOWN), made.places)
        for key, value in each.items():
            made.put(key, value, place_in(each, key))
    return made


def concat(*given: Any) -> Any:
    """`concat`."""
    made = HclList()
    for each in given:
        if each is UNKNOWN:
            made.put(UNKNOWN, None)
        for index, value in enumerate(each if isinstance(each, list) else ()):
            made.put(value, place_in(each, index))
    return made


def flatten(given: Any) -> Any:
    """`flatten`."""
    made = HclList()
    for index, each in enumerate(given):
        if isinstance(each, list):
            inner = flatten(each)
            for number_, value in enumerate(inner):
                made.put(value, place_in(inner, number_))
        else:
            made.put(each, place_in(given, index))
    return made


def compact(given: Any) -> Any:
    """`compact`."""
    kept = [(each, place_in(given, i)) for i, each in enumerate(given) if each not in ("", None)]
    return HclList((each for each, _ in kept), [place for _, place in kept])


def set_of(given: Any) -> Any:
    """`toset`."""
    if given is UNKNOWN:
        return UNKNOWN
    made: list[Any] = []
    for each in list_of(given):
        if each not in made:
            made.append(each)
    if all(isinstance(each, str) for each in made):
        made.sort()
    return HclList(made)


def list_of(given: Any) -> Any:
    """Of one type: numbers beside texts become texts."""
    if not isinstance(given, list):
        return UNKNOWN
    scalars = all(isinstance(each, str | bool | int | float) for each in given)
    if not scalars or len({isinstance(each, str) for each in given}) == 1:
        return given
    return HclList((written(each) for each in given), getattr(given, "places", ()))


def map_of(given: Any) -> Any:
    """`tomap`."""
    return given if isinstance(given, dict) else UNKNOWN


def lookup(given: Any, key: Any, *default: Any) -> Any:
    """`lookup`."""
    if given is UNKNOWN or key is UNKNOWN:
        return UNKNOWN
    if key in given:
        return given[key]
    return UNKNOWN if is_open(given) or not default else default[0]


def coalesce(*given: Any) -> Any:
    """`coalesce`."""
    for each in given:
        if each is UNKNOWN:
            return UNKNOWN
        if each not in (None, ""):
            return each
    return UNKNOWN


def coalesce_list(*given: Any) -> Any:
    """`coalescelist`."""
    return next((each for each in given if each is UNKNOWN or each), UNKNOWN)


def length_of(given: Any) -> Any:
    """`length`."""
    if given is UNKNOWN or is_open(given) or has_gaps(given):
        return UNKNOWN
    if isinstance(given, list) and UNKNOWN in given:
        return UNKNOWN  # it may stand for several
    return len(given)


def keys_of(given: Any) -> Any:
    """`keys`."""
    return UNKNOWN if is_open(given) else HclList(sorted(given))


def values_of(given: Any) -> Any:
    """`values`."""
    if is_open(given):
        return UNKNOWN
    return HclList(
        (given[key] for key in sorted(given)), [place_in(given, k) for k in sorted(given)]
    )


def element_of(given: Any, index: Any) -> Any:
    """`element`."""
    if given is UNKNOWN or index is UNKNOWN or UNKNOWN in given:
        return UNKNOWN
    return given[number(index) % len(given)]


def zipped(keys: Any, values: Any) -> Any:
    """`zipmap`."""
    if UNKNOWN in (keys, values) or UNKNOWN in keys:
        return UNKNOWN
    return HclObject(zip(keys, values, strict=True))


def only_one(given: Any) -> Any:
    """`one`."""
    if not given:
        return None
    return given[0] if len(given) == 1 else UNKNOWN


def numbers_in(*given: Any) -> Any:
    """`range`."""
    start, end, *step = (
        [number(each) for each in given] if len(given) > 1 else [0, number(given[0])]
    )
    by = step[0] if step else (1 if end >= start else -1)
    count = math.ceil((end - start) / by)
    if count > _MOST:
        raise ValueError(count)
    return HclList(start + by * index for index in range(count))


def holds_value(given: Any, value: Any) -> bool:
    """`contains`."""
    return any(equal(each, value) for each in given)


def transposed(given: Mapping[str, Any]) -> Any:
    """`transpose`."""
    made: dict[str, list[str]] = {}
    for key, values in given.items():
        for each in values:
            made.setdefault(each, []).append(key)
    return HclObject({key: HclList(sorted(made[key])) for key in sorted(made)})


def distinct(given: Any) -> Any:
    """`distinct`."""
    made = HclList()
    for index, each in enumerate(given):
        if each not in made:
            made.put(each, place_in(given, index))
    return made


def sliced(given: Any, start: int, end: int) -> Any:
    """`slice`."""
    return HclList(given[start:end], [place_in(given, i) for i in range(start, end)])


def in_order(given: Any) -> Any:
    """`sort`."""
    return HclList(sorted(str(written(each)) for each in given))
