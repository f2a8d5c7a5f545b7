"""Values of which the templates of a chart, or Kubernetes behind them, make nothing.

Sources: templates/validation.yml and configmap.yml of the chart in NVIDIA/k8s-device-plugin, which
indents texts, and plugin_config.yaml and mig_config.yaml of that in NVIDIA/gpu-operator, which
makes `data` of a ConfigMap, whose values are texts; November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, PLUGIN_CHART, chart_of
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.rules.chart_values import WRONG_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_TEXTS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    PLUGIN_CHART: (("config", "map"),),
    OPERATOR_CHART: (("devicePlugin", "config", "data"), ("migManager", "config", "data")),
}
"""Mappings of files to their texts."""


@edge(WRONG_TYPE)
def templates(inventory: Inventory) -> Iterator[Judgement]:
    """Of releases whose values are known; the operator's own object has no such values."""
    for release in inventory.of(Release):
        called = chart_of(release.chart) or ""
        given = release.values if release.own is None else release.own
        for path in _TEXTS.get(called, ()):
            for key, value in pairs(at(given, *path)):
                if value not in (None, UNKNOWN) and not isinstance(value, str):
                    yield Problem(
                        WRONG_TYPE,
                        release.source,
                        value_place(release, (*path, key)),
                        f"{'.'.join(path)} is a mapping of files to texts, and {key} has no text.",
                        f"Write `{key}: |-` above it, or `config.yaml: |-` above all of them.",
                    )
        name, texts = (at(release.values, "config", key) for key in ("name", "map"))
        if called == PLUGIN_CHART and isinstance(name, str) and name and pairs(texts):
            yield Problem(
                WRONG_TYPE,
                release.source,
                value_place(release, ("config", "map")),
                f"{at_start(release.source.name)} has config.name beside config.map, which the "
                "chart refuses.",
                "Keep config.name for a ConfigMap that is there, or config.map for one that the "
                "chart makes.",
            )
