"""Rules about chart values that no template reads. Helm takes them without a word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog import versions
from eks_gpushare.catalog.chart_keys import chart_keys
from eks_gpushare.config.base import known_fields
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.efa import pools_with_efa
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.catalog.chart_keys import ChartKeys, Place
    from eks_gpushare.config.environment import Chart, Environment
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_HELM = "https://helm.sh/docs/chart_template_guide/values_files/"

UNKNOWN_VALUE = rule_of("GPU711")
IDLE_VALUE = rule_of("GPU712")
UNCHECKED_VALUES = Rule(
    "GPU713",
    "info",
    "The values that the chart reads are known.",
    "Of another version, a misspelt value is not found.",
    _HELM,
)

_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_OTHERS: Mapping[str, tuple[str, versions.HelmChart]] = {
    "cluster_autoscaler": ("clusterAutoscaler", versions.CLUSTER_AUTOSCALER),
    "keda": ("keda", versions.KEDA),
    "kueue": ("kueue", versions.KUEUE),
    "prometheus": ("prometheus", versions.PROMETHEUS),
    "dcgm_exporter": ("dcgmExporter", versions.DCGM_EXPORTER),
}
_MOST_OTHERS = 3
"""More places with the same key say nothing about which one was meant."""


@check(Scope.CHARTS, UNKNOWN_VALUE, IDLE_VALUE, UNCHECKED_VALUES)
def values_read(ctx: Context) -> Iterator[Finding]:
    """For the chart that is installed."""
    yield from _of_stack(*installed(ctx))


@check(Scope.CHARTS, UNKNOWN_VALUE, IDLE_VALUE, UNCHECKED_VALUES)
def other_values_read(ctx: Context) -> Iterator[Finding]:
    """For the charts beside it."""
    for chart in other_charts(ctx.environment):
        yield from _of_stack(*chart)


def other_charts(environment: Environment) -> Iterator[tuple[str, Chart, versions.HelmChart]]:
    """Charts that are no device plugin: each key, what is said of it, and what is pinned.

    That of Karpenter has rules of its own.
    """
    given = known_fields(environment.charts)
    for name, (key, default) in _OTHERS.items():
        if (chart := given.get(name)) is not None:
            yield key, chart, default
    chart = given.get("efa_device_plugin")
    if chart is not None and pools_with_efa(environment):
        yield "efaDevicePlugin", chart, versions.EFA_DEVICE_PLUGIN


def installed(ctx: Context) -> tuple[str, Chart, versions.HelmChart]:
    """The chart that runs the device plugin: its key, what is said of it, and what is pinned."""
    charts = ctx.environment.charts
    if ctx.environment.gpu_stack.manager == "gpuOperator":
        return "gpuOperator", charts.gpu_operator, versions.GPU_OPERATOR
    return "devicePlugin", charts.device_plugin, versions.DEVICE_PLUGIN


def known_keys(chart: Chart, default: versions.HelmChart) -> ChartKeys | None:
    """What the chart reads, None where another version or a chart on disk is installed."""
    keys = chart_keys(default.name)
    version = (chart.version or default.version).removeprefix("v")
    known = keys is not None and version == keys.version.removeprefix("v")
    return keys if known and chart.path is None else None


def _of_stack(key: str, chart: Chart, default: versions.HelmChart) -> Iterator[Finding]:
    return of_values(("charts", key), chart, default)


def of_values(above: FieldPath, chart: Chart, default: versions.HelmChart) -> Iterator[Finding]:
    """Findings on the values that are given to one chart.

    Args:
        above: Where the chart stands.
        chart: What is changed about it.
        default: The chart that this release of the package is for.
    """
    if not chart.values:
        return
    at = (*above, "values")
    keys = known_keys(chart, default)
    if keys is None:
        version = (chart.version or default.version).removeprefix("v")
        which = "a chart on disk" if chart.path is not None else f"version {version}"
        message = f"Which values {which} reads is not known, so they are not checked."
        known = default.version.removeprefix("v")
        fix = f"Compare them with the chart's templates; those of {known} are known."
        yield UNCHECKED_VALUES.finding(at, message, fix)
        return
    for place, kind in wrong_values(chart.values, keys):
        rule, message, fix = what_is_wrong(keys, place, kind)
        yield rule.finding((*at, *place), message, fix)


_FILES: Final = (".conf", ".ini", ".json", ".toml", ".yaml", ".yml")
"""How keys end that are files, which templates read by `index`: `grafana.ini`."""


def wrong_values(
    values: Mapping[str, Any], keys: ChartKeys, above: Place = ()
) -> Iterator[tuple[Place, str]]:
    """Places whose value does nothing, and why: they are unknown, idle, or a block."""
    for key, value in values.items():
        place = (*above, str(key))
        kind = keys.kind(place)
        if kind is None:
            if not str(key).endswith(_FILES):
                yield place, "unknown"
        elif kind == "idle":
            if value not in ({}, [], "", None):  # such as the default, copied
                yield place, "idle"
        elif kind == "block":
            if isinstance(value, dict):
                yield from wrong_values(value, keys, place)
            elif value is not None:  # null takes the block's defaults away
                yield place, "block"


def what_is_wrong(keys: ChartKeys, place: Place, kind: str) -> tuple[Rule, str, str]:
    """The rule, the message and the fix for a value that does nothing.

    Args:
        keys: What the chart reads.
        place: Where the value stands.
        kind: Why it does nothing: `unknown`, `idle` or `block`.
    """
    name, chart = ".".join(place), f"{keys.chart} {keys.version.removeprefix('v')}"
    if kind == "idle":
        message = f"{name} is among the defaults of {chart}, but no template reads it."
        return IDLE_VALUE, message, _instead(keys, place) or "Remove it."
    if kind == "block":
        message = f"{name} is a block of values in {chart}, not one value."
        some = ", ".join(keys.below(place)[:5])
        return UNKNOWN_VALUE, message, f"Give what is in it, such as {some}."
    message = f"{name} is no value of {chart}: no template reads it."
    return UNKNOWN_VALUE, message, _instead(keys, place) or _meant(keys, place) or "Remove it."


def _instead(keys: ChartKeys, place: Place) -> str | None:
    hint = keys.hint(place)
    return f"{hint[0].upper()}{hint[1:]}." if hint else None


def _nested(parts: Sequence[str]) -> str:
    """Keys as mappings within mappings, as YAML has them on one line."""
    first, *rest = parts
    return f"{first}: {{{_nested(rest)}}}" if rest else f"{first}: ..."


def _meant(keys: ChartKeys, place: Place) -> str | None:
    """What may have been meant: an environment variable, a neighbour, or the key elsewhere."""
    block, key = place[:-1], place[-1]
    if "." in key and keys.kind((*block, *key.split("."))) is not None:
        return f"Dots do not part keys here: write {_nested(key.split('.'))}."
    if _VARIABLE.fullmatch(key) and keys.kind((*block, "env")) is not None:
        return f"Put it into {'.'.join((*block, 'env'))} as an item {{name: {key}, value: ...}}."
    if (close := similar(key, keys.below(block))) is not None:
        return f"Did you mean {'.'.join((*block, close))}?"
    others = sorted({".".join(path) for path in keys.all() if path[-1] == key})
    if 0 < len(others) <= _MOST_OTHERS:
        return f"The chart reads {' and '.join(others)}."
    return None
