"""Metrics of pods by which something is scaled, against the rules of the adapter that makes them.

Source: docs/config.md of https://github.com/kubernetes-sigs/prometheus-adapter and the values of
prometheus-community/prometheus-adapter, November 2026. Its default rules make any series a metric.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import Pointer, Release
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import at, has_unknown, items
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.rules.two_numbers import NO_SUCH_METRIC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_CHART: Final = "prometheus-adapter"
_SCALER: Final = "HorizontalPodAutoscaler"
_KINDS: Final = (("Pods", "pods", "custom"), ("External", "external", "external"))
_SERIES: Final = re.compile(r"\s*([A-Za-z_:][A-Za-z0-9_:]*)\s*(?:\{.*)?", re.DOTALL)


@edge(NO_SUCH_METRIC)
def of_adapter(inventory: Inventory) -> Iterator[Judgement]:
    """Where one adapter is here, and makes no other metrics than those of its rules."""
    for cluster in inventory.clusters():
        adapters = [each for each in inventory.of(Release, cluster) if each.chart == _CHART]
        rules = at(adapters[0].values, "rules") if len(adapters) == 1 else None
        if rules is None or at(rules, "existing"):
            continue
        if at(rules, "default") is not False or is_guide(adapters[0].source.file):
            continue
        for pointer in inventory.of(Pointer, cluster):
            if pointer.kind != _SCALER:
                continue
            for index, metric in enumerate(items(at(pointer.spec, "metrics"))):
                for kind, key, part in _KINDS:
                    name = at(metric, key, "metric", "name")
                    made = _made(items(at(rules, part)))
                    if at(metric, "type") != kind or not isinstance(name, str) or not made:
                        continue
                    if name not in made:
                        yield Problem(
                            NO_SUCH_METRIC,
                            pointer.source,
                            ("spec", "metrics", index, key, "metric", "name"),
                            f"{at_start(pointer.source.name)} goes by {name}, and "
                            f"{adapters[0].source.name} makes {', '.join(made)}.",
                            f"Write {' or '.join(made)}, or give the adapter a rule for it.",
                        )


def queries(inventory: Inventory, cluster: str) -> dict[str, str]:
    """What adapters ask Prometheus for, by the name of the metric; of several rules not known."""
    found: dict[str, str] = {}
    for adapter in inventory.of(Release, cluster):
        rules = at(adapter.values, "rules") if adapter.chart == _CHART else None
        for rule in (*items(at(rules, "custom")), *items(at(rules, "external"))):
            series, asked = at(rule, "seriesQuery"), at(rule, "metricsQuery")
            for name in () if has_unknown([series, asked]) else _made([rule]):
                found[name] = "" if name in found else f"{series} {asked}"
    return found


def _made(rules: list[Any]) -> list[str]:
    """Names of all metrics that rules make; none where one cannot be told."""
    names: list[str] = []
    for rule in rules:
        series = _SERIES.fullmatch(str(at(rule, "seriesQuery")))
        matches, named = at(rule, "name", "matches"), at(rule, "name", "as")
        if has_unknown([at(rule, "seriesQuery"), matches, named]):
            return []
        if isinstance(named, str) and named and "$" not in named:
            names.append(named)
        elif series and not matches and not named:
            names.append(series[1])
        else:
            return []
    return names
