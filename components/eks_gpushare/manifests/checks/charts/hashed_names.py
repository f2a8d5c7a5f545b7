"""ConfigMaps that Kustomize makes, named by what it does not correct.

It puts a hash of the content behind their names, and corrects references to them in the kinds of
Kubernetes alone: `api/internal/konfig/builtinpluginconsts/namereference.go` of
kubernetes-sigs/kustomize, November 2026. Values of charts and the operator's object are not there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, PLUGIN_CHART, chart_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.items import ConfigMap, Release
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import at, items
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Source

HASHED: Final = Rule(
    "GPU1284",
    "error",
    "A ConfigMap that Kustomize makes keeps the name by which charts and operators ask for it.",
    "It gets a hash behind its name, and only references of Kubernetes' own kinds are corrected: "
    "what else names it waits for a ConfigMap that is not there.",
    "https://github.com/kubernetes-sigs/kustomize/issues/4674",
)
_GENERATOR: Final = "configMapGenerator"
_NAMES: Final = {
    OPERATOR_CHART: (
        ("devicePlugin", "config", "name"),
        ("migManager", "config", "name"),
        ("dcgmExporter", "config", "name"),
    ),
    PLUGIN_CHART: (("config", "name"),),
}
"""Where values name ConfigMaps."""
_CORRECTS: Final = ("transformers", "replacements", "vars", "components")
"""Keys by which somebody may have Kustomize correct more."""


@edge(HASHED)
def hashed_names(inventory: Inventory) -> Iterator[Judgement]:
    """Of ConfigMaps that one kustomization makes, and no other declaration has."""
    for cluster in inventory.clusters():
        maps = inventory.of(ConfigMap, cluster)
        hashed = {each.name: each for each in maps if _is_hashed(each)}
        plain = {each.name for each in maps if not _is_hashed(each)}
        for release in inventory.of(Release, cluster):
            chart = chart_of(release.chart) or ""
            places = _NAMES.get(chart, ())
            named = [
                (release.source, value_place(release, path), at(release.values, *path))
                for path in places
            ]
            for source, place, name in (*named, *_values_from(release)):
                found = hashed.get(name) if isinstance(name, str) else None
                if found is None or name in plain or _is_corrected(found, chart):
                    continue
                if not _is_configured(found, source, place):
                    yield Problem(
                        HASHED,
                        source,
                        place,
                        f"{at_start(release.source.name)} names the ConfigMap {name}, and "
                        f"Kustomize makes it as {name}-HASH.",
                        "Write generatorOptions: {disableNameSuffixHash: true} in the "
                        "kustomization.",
                    )


def _is_corrected(config_map: ConfigMap, chart: str) -> bool:
    """Whether the kustomization has the pods of a chart too: those of the plugin's are its own."""
    return chart == PLUGIN_CHART and at(value_of(config_map), "helmCharts") is not None


def _is_configured(config_map: ConfigMap, source: Source, place: FieldPath) -> bool:
    """Whether a file of configurations names the field of an object in which the name stands."""
    named = getattr(source.document, "value", None)
    path = [str(each) for each in (*source.path, *place) if not isinstance(each, int)]
    return any(
        at(field, "path") == "/".join(path) and at(field, "kind") in (None, at(named, "kind"))
        for each in items(at(value_of(config_map), "configurations"))
        for reference in items(at(each, "nameReference"))
        if at(reference, "kind") == "ConfigMap"
        for field in items(at(reference, "fieldSpecs"))
    )


def _values_from(release: Release) -> Iterator[tuple[Source, FieldPath, Any]]:
    """What Flux takes values of, which has a kustomization of its own correct such names."""
    for index, each in enumerate(items(at(value_of(release), "spec", "valuesFrom"))):
        if at(each, "kind") == "ConfigMap":
            whole = replace(release.source, path=())
            yield whole, ("spec", "valuesFrom", index, "name"), at(each, "name")


def _is_hashed(config_map: ConfigMap) -> bool:
    """Whether it surely gets a hash: of a generator whose kustomization corrects nothing more."""
    value, path = value_of(config_map), config_map.source.path
    if path[:1] != (_GENERATOR,) or any(at(value, key) for key in _CORRECTS):
        return False
    if not all(isinstance(each, dict) for each in items(at(value, "configurations"))):
        return False  # of files that are not given
    options = at(value, "generatorOptions"), at(value, *path, "options")
    return not any(at(each, "disableNameSuffixHash") for each in options)
