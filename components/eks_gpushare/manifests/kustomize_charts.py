"""Charts that a kustomization inflates, with the files of values that it names.

Source: `HelmChartInflationGenerator.go` of kubernetes-sigs/kustomize, v5.8 (2026-11-22).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.inventory.values import at, items
from eks_gpushare.manifests.charts import chart_named
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Layered(dict[str, Any]):
    """Values of a chart: those of files, and those in the kustomization, merged.

    Args:
        merged: All of them.
        own: Those in the kustomization.
    """

    def __init__(self, merged: dict[str, Any], own: dict[str, Any]) -> None:
        super().__init__(merged)
        self.own = own


def values_files(kustomization: Any) -> Iterator[tuple[str, str, bool]]:
    """Files of values that a kustomization names: with their chart, and whether they are all.

    Args:
        kustomization: As written.
    """
    for item in items(at(kustomization, "helmCharts")):
        chart = chart_named(at(item, "name"))
        named = [
            one
            for one in (at(item, "valuesFile"), *items(at(item, "additionalValuesFiles")))
            if isinstance(one, str) and one
        ]
        several = len(named) > 1 or isinstance(at(item, "valuesInline"), dict)
        if chart is not None:
            yield from ((one, chart, not several) for one in named)


def with_files(chart: Any, content: Callable[[str], str | None]) -> Any:
    """A chart of a kustomization with all of its values, if all of their files are given.

    Args:
        chart: As written.
        content: The text of a file that is named, None where it is not given.
    """
    inline, first = at(chart, "valuesInline"), at(chart, "valuesFile")
    more = items(at(chart, "additionalValuesFiles"))
    own = inline if isinstance(inline, dict) else {}
    if not own and not more:
        return chart  # the values stand in their own file, where they are judged
    texts = [content(path) for path in ([first] if first else []) + more if isinstance(path, str)]
    read = [None if text is None else _values(text) for text in texts]
    if not read or None in read:
        return chart
    files = [file for file in read if file is not None]
    merged = own
    if first:
        how = at(chart, "valuesMerge") or "override"
        below = files.pop(0)
        if how == "merge":
            merged = merge_values(own, below, keep_null=True)
        elif how == "override":
            merged = merge_values(below, own, keep_null=True)
    for file in files:
        merged = merge_values(merged, file, keep_null=True)
    kept = {
        key: item
        for key, item in chart.items()
        if key not in {"valuesFile", "additionalValuesFiles"}
    }
    return {**kept, "valuesInline": Layered(merged, own)}


def _values(text: str) -> dict[str, Any] | None:
    documents = read_texts(text, "").documents
    value = documents[0].value if documents else {}
    return value if isinstance(value, dict) else None
