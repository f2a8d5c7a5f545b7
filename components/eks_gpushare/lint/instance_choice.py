"""Which GPU types the requirements of a NodePool, or an eksctl selector, leave to choose from."""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.inventory.source import UNKNOWN, Unknown
from eks_gpushare.inventory.type_labels import PREFIXES, facts_of
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.plain import items, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from eks_gpushare.inventory.source import Maybe

TYPE_KEYS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
"""Labels whose value is the name of an instance type."""
_GPU_KEYS = ("gpu-name", "gpu-manufacturer", "gpu-count", "gpu-memory")
_GPU_CATEGORIES = frozenset({"g", "gr", "p"})
_NUMBER = re.compile("[0-9]+")
_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "Gt": operator.gt,
    "Gte": operator.ge,
    "Lt": operator.lt,
    "Lte": operator.le,
}


def chosen_types(requirements: Any) -> Maybe[tuple[str, ...]]:
    """The types that requirements are about; empty where they do not ask for GPUs.

    Types that requirements name by `In` are taken whatever they are. Where they speak of families,
    categories or GPUs, it is the GPU types of the catalog that they leave.
    """
    if requirements is UNKNOWN:
        return Unknown.UNKNOWN
    known = items(requirements)
    if UNKNOWN in known:
        return Unknown.UNKNOWN
    named = [each for each in known if at(each, "key") in TYPE_KEYS]
    for each in named:
        if at(each, "operator") == "In":
            values = at(each, "values")
            if values is UNKNOWN or UNKNOWN in items(values):
                return Unknown.UNKNOWN
            given = tuple(str(text(value)) for value in items(values))
            return tuple(name for name in given if _allowed(name, known))
    if not any(_asks_for_gpus(each) for each in known):
        return ()
    return tuple(
        name
        for name, found in gpu_instance_types().items()
        if not found.retired and _allowed(name, known)
    )


def _asks_for_gpus(requirement: Any) -> bool:
    """Whether a requirement leaves none, or hardly any, but GPU types."""
    key, how = at(requirement, "key"), at(requirement, "operator")
    if not isinstance(key, str) or not key.startswith(PREFIXES):
        return False
    word = key.partition("instance-")[2]
    if word in _GPU_KEYS:
        return how in ("In", "Exists", "Gt", "Gte")
    values = {str(value) for value in items(at(requirement, "values")) if value is not UNKNOWN}
    if how != "In" or not values:
        return False
    if word == "category":
        return values <= _GPU_CATEGORIES
    families = {name.partition(".")[0] for name in gpu_instance_types()}
    return word == "family" and values <= families


def _allowed(name: str, requirements: Iterable[Any]) -> bool:
    found = gpu_instance_types().get(name)
    # Of others nothing is known.
    return found is None or all(_fits(each, facts_of(found)) for each in requirements)


def _fits(requirement: Any, facts: dict[str, str]) -> bool:
    key, how = at(requirement, "key"), at(requirement, "operator")
    if key == "kubernetes.io/arch":
        have: str | None = facts["arch"]
    elif isinstance(key, str) and key.startswith(PREFIXES):
        have = facts.get(key.partition("instance-")[2])
    else:
        return True
    given = at(requirement, "values")
    values = [text(value) for value in items(given)]
    if have is None or given is UNKNOWN or UNKNOWN in values:
        return True
    if how == "In":
        return have in values
    if how == "NotIn":
        return have not in values
    number = str(values[0]) if values else ""
    compare = _COMPARED.get(how) if isinstance(how, str) else None
    if compare is None or not (_NUMBER.fullmatch(have) and _NUMBER.fullmatch(number)):
        return True
    return compare(int(have), int(number))
