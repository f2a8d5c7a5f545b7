"""GPUs that pods choose by the labels of nodes that they select, whichever nodes there are.

The labels are those that a cloud's controller, Karpenter and GPU feature discovery give: of others
only the declarations of nodes know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.inventory.matching import required_terms
from eks_gpushare.inventory.nodes import TYPE_LABELS
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.type_labels import PREFIXES, facts_of
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.sharing.labels import PRODUCT_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.catalog.instances import Gpu, InstanceType


def selected_gpus(spec: Any) -> list[Gpu]:
    """The GPUs of all types that pods leave, by labels that tell of a type.

    Args:
        spec: The pod's spec.

    Returns:
        None at all where no label tells, or of a type that the catalog does not have.
    """
    wanted = [(key, values) for key, values in _wanted(spec) if _tells(key)]
    if not wanted:
        return []
    known = {
        key: {_label(each, key) for each in gpu_instance_types().values()} for key, _ in wanted
    }
    if any(not values <= known[key] for key, values in wanted):
        return []
    left = [
        each
        for each in gpu_instance_types().values()
        if all(_label(each, key) in values for key, values in wanted)
    ]
    return [each.gpu for each in left if each.gpu is not None]


def _wanted(spec: Any) -> Iterator[tuple[str, frozenset[str]]]:
    """Labels with the values that pods take: of selectors, and of the one term of an affinity."""
    for key, value in pairs(at(spec, "nodeSelector")):
        if value is not UNKNOWN:
            yield key, frozenset({_as_label(key, str(text(value)))})
    terms = items(required_terms(spec))
    for each in items(at(terms, 0, "matchExpressions")) if len(terms) == 1 else ():
        values = at(each, "values")
        if at(each, "operator") == "In" and not has_unknown(each):
            key = str(text(at(each, "key")))
            yield key, frozenset(_as_label(key, str(text(value))) for value in items(values))


def _tells(key: str) -> bool:
    return key in (*TYPE_LABELS, PRODUCT_LABEL) or key.startswith(PREFIXES)


def _as_label(key: str, value: str) -> str:
    """A value as it is compared: of a product the model, without its maker and what follows."""
    return value.partition("-")[2].partition("-")[0] if key == PRODUCT_LABEL else value


def _label(found: InstanceType, key: str) -> str:
    if key in TYPE_LABELS:
        return found.name
    if key == PRODUCT_LABEL:
        return "" if found.gpu is None else found.gpu.model.partition(" ")[0]
    prefix = next(each for each in PREFIXES if key.startswith(each))
    return facts_of(found).get(key.removeprefix(prefix), "")
