"""Affinities that the API server does not take as they are written.

Source: `Affinity` of https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/,
v1.35.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.items import PART_OF_POD, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import PartlyKnown, at, pairs
from eks_gpushare.manifests import pod_fields
from eks_gpushare.manifests.rules.kubernetes import NO_FIELD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


class _Shape(NamedTuple):
    """A mapping, or a list of such."""

    fields: Mapping[str, _Shape | None]
    """Its fields, and what stands under them; None where that is not looked at."""
    needed: tuple[str, ...] = ()
    is_list: bool = False


_EXPRESSIONS: Final = _Shape(
    dict.fromkeys(("key", "operator", "values")), ("key", "operator"), is_list=True
)
_TERM: Final = {"matchExpressions": _EXPRESSIONS, "matchFields": _EXPRESSIONS}
_LABELS: Final = _Shape({"matchLabels": None, "matchExpressions": _EXPRESSIONS})
_PODS: Final = {
    "labelSelector": _LABELS,
    "topologyKey": None,
    "namespaces": None,
    "namespaceSelector": _LABELS,
    "matchLabelKeys": None,
    "mismatchLabelKeys": None,
}
_OF_PODS: Final = _Shape(
    {
        _REQUIRED: _Shape(_PODS, ("topologyKey",), is_list=True),
        _PREFERRED: _Shape(
            {"weight": None, "podAffinityTerm": _Shape(_PODS, ("topologyKey",))},
            ("weight", "podAffinityTerm"),
            is_list=True,
        ),
    }
)
_AFFINITY: Final = {
    "nodeAffinity": _Shape(
        {
            _REQUIRED: _Shape(
                {"nodeSelectorTerms": _Shape(_TERM, is_list=True)}, ("nodeSelectorTerms",)
            ),
            _PREFERRED: _Shape(
                {"weight": None, "preference": _Shape(_TERM)},
                ("weight", "preference"),
                is_list=True,
            ),
        }
    ),
    "podAffinity": _OF_PODS,
    "podAntiAffinity": _OF_PODS,
}


@edge(NO_FIELD)
def affinities(inventory: Inventory) -> Iterator[Judgement]:
    """Of pods, and of parts of pods such as charts have among their values."""
    for workload in inventory.of(Workload):
        if workload.kind == PART_OF_POD or pod_fields.is_plain(workload.kind):
            given = at(workload.spec, "affinity")
            for key, shape in _AFFINITY.items():
                # Values may have words of a chart's own there.
                one = at(given, key)
                is_known = any(name in shape.fields for name, _ in pairs(one))
                if workload.kind == PART_OF_POD and not is_known:
                    continue
                for path, message, fix in _wrong(one, shape, ("affinity", key)):
                    where = (*workload.spec_path, *path)
                    yield Problem(NO_FIELD, workload.source, where, message, fix)


def _wrong(given: Any, shape: _Shape, path: FieldPath) -> Iterator[tuple[FieldPath, str, str]]:
    name = next(step for step in reversed(path) if isinstance(step, str))
    fields = ", ".join(shape.fields)
    if isinstance(given, dict | list) and isinstance(given, list) is not shape.is_list:
        is_a = "is a list, and one mapping stands here" if shape.is_list else "is no list"
        kind = "entries, each with" if shape.is_list else "one mapping, with"
        yield path, f"{name} {is_a}.", f"Write {kind} {fields}."
        return
    listed = enumerate(given) if isinstance(given, list) else [(None, given)]
    for number, one in listed:
        if not isinstance(one, dict) or UNKNOWN in one or not all(map(str.isalpha, one)):
            continue
        place = path if number is None else (*path, number)
        needed = () if isinstance(one, PartlyKnown) else shape.needed
        missing = next((key for key in needed if key not in one), None)
        strange = next((key for key in one if key not in shape.fields), None)
        what = f"An entry of {name}" if shape.is_list else name
        if strange is not None:
            yield (*place, strange), f"{what} has no field {strange}.", f"It has {fields}."
        elif missing is not None:
            yield place, f"{what} has no {missing}.", f"Write {missing}; it has {fields}."
        else:
            for key, inner in one.items():
                if (under := shape.fields[key]) is not None:
                    yield from _wrong(inner, under, (*place, key))
