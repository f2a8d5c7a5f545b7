"""Values that a chart does not read, or makes nothing of."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_ages import chart_ages
from eks_gpushare.catalog.chart_daemonsets import (
    OPERATOR_CHART,
    PLUGIN_CHART,
    PLUGIN_TERMS_SINCE,
    chart_of,
)
from eks_gpushare.catalog.chart_keys import chart_keys
from eks_gpushare.catalog.chart_releases import is_before
from eks_gpushare.catalog.printed_values import is_printed
from eks_gpushare.inventory.edges.daemonsets import UNLABELLED, plugin_reaches
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.charts import EXPORTER, OF_METRICS
from eks_gpushare.manifests.checks.charts.without_loss import is_without_loss
from eks_gpushare.manifests.readers.device_plugin import CHOICES
from eks_gpushare.manifests.readers.words import close_to, plain, shown
from eks_gpushare.manifests.rules.chart_values import IDLE_VALUE, UNKNOWN_VALUE, WRONG_TYPE
from eks_gpushare.rules.chart_types import wrong_types
from eks_gpushare.rules.chart_values import what_is_wrong, wrong_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.catalog.chart_ages import ChartAges
    from eks_gpushare.catalog.chart_keys import ChartKeys, Place
    from eks_gpushare.findings.finding import FieldPath, Severity
    from eks_gpushare.inventory.problem import Judgement

_HINTS: Final[Mapping[Place, str]] = {
    ("namespace",): "Give the namespace to Helm: --namespace NAME.",
}
"""Instead of those that speak of a stack file."""
_AFFINITY: Final = ("affinity",)
_MEANT: Final = "Did you mean "
_MOST: Final = 0.6
_ALIKE: Final = 0.9
_CHOSEN: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    PLUGIN_CHART: (("migStrategy",), ("deviceListStrategy",), ("deviceIDStrategy",)),
    OPERATOR_CHART: (("mig", "strategy"),),
}
"""Where they stand. The charts' templates make variables and an object of the operator of them."""
_OF_OPERATOR: Final = "migStrategy"
_READ_INTO: Final[Mapping[str, tuple[str, ...]]] = {
    OPERATOR_CHART: (
        *("operator", "daemonsets", "validator", "mig", "driver", "toolkit", "devicePlugin"),
        *("dcgm", "dcgmExporter", "gfd", "migManager", "nodeStatusExporter"),
    ),
    PLUGIN_CHART: ("image", "config", "gfd"),
    EXPORTER: ("image", "service", "serviceAccount", "serviceMonitor"),
}
"""Blocks of values of which the templates of every version read keys without asking for the block.

`config` of the plugin's since 0.12. Sources: deployments/gpu-operator/templates/clusterpolicy.yaml
of NVIDIA/gpu-operator at a22dbf67, the templates of NVIDIA/k8s-device-plugin and dcgm-exporter.
"""


@edge(UNKNOWN_VALUE, IDLE_VALUE, WRONG_TYPE)
def values_are_read(inventory: Inventory) -> Iterator[Judgement]:
    """Of the charts whose templates are known."""
    for release in inventory.of(Release):
        keys = None if _is_of_metrics(release) else chart_keys(release.chart)
        if keys is None or release.values is UNKNOWN or _is_no_chart(release):
            continue
        given = release.values if release.own is None else release.own
        values = _known(given)
        version = "" if release.version is UNKNOWN else release.version.removeprefix("v")
        newest = keys.version.removeprefix("v")
        ages = chart_ages(release.chart)
        if release.version and version != newest:
            if ages is None and version.partition(".")[0] == newest.partition(".")[0]:
                yield from _misspelt(release, values, keys)
            if ages is None or version not in ages.releases:
                continue  # which values that version reads, and as what, is not known
            yield from _unread_then(release, values, keys, ages, version)
        else:
            yield from _unread(release, values, keys, ages)
        of_plugin = chart_of(release.chart) == PLUGIN_CHART
        if of_plugin and _goes_on(given, version) and not _is_told(inventory, release):
            yield Problem(
                IDLE_VALUE,
                release.source,
                value_place(release, _AFFINITY),
                "affinity: {} takes nothing away: Helm merges it with the chart's own, by which "
                "the plugin runs only on nodes that feature discovery or somebody has labelled.",
                "Write `affinity: null` if that is not wanted, or remove it.",
            )
        other = ages if version and version != newest else None
        yield from _of_another_kind(release, values, keys, other)


def _of_another_kind(
    release: Release, values: dict[str, Any], keys: ChartKeys, ages: ChartAges | None
) -> Iterator[Problem]:
    """Values that are not what their templates take; of another version, with its ages."""
    version = str(release.version).removeprefix("v")
    for place, wanted, fix in wrong_types(values, keys):
        steps = tuple(map(str, place))
        # What the lists of Kubernetes hold is no matter of the chart that reads them.
        entry = steps != place and ages is not None and ages.was_read(steps, version)
        if ages is not None and ages.of(steps) and not entry:
            continue
        known = None if release.version is UNKNOWN else version
        if is_printed(release.chart, steps, _at(values, place), known):
            continue
        if _at(values, place) == []:
            continue  # nothing, to the `with` of a template, and so without the default
        message = f"{'.'.join(steps)} is {wanted}, not {shown(_at(values, place))}."
        path = value_place(release, steps)
        what = _as_text(release, path) or fix if wanted == "text" else fix
        path = place if path == steps else path  # numbers of a list are numbers there
        yield Problem(WRONG_TYPE, release.source, path, message, what, None, _set(path, what))


def _as_text(release: Release, path: FieldPath) -> str:
    """How a value stays text that is set by its name; empty of one that stands in YAML."""
    if path[:1] == ("set",):
        in_terraform = release.source.file.endswith((".tf", ".tf.json"))
        other = "Write it below values, in quotes."
        return 'Write type = "string" beside it.' if in_terraform else other
    if "parameters" in path:
        return "Write forceString: true beside it."
    return "Give it by --set-string." if release.source.file.endswith(".sh") else ""


def _is_of_metrics(release: Release) -> bool:
    """Whether its values are in a file of YAML that is read for what it has of metrics alone."""
    file = str(getattr(release.source.document, "file", ""))
    return release.chart in OF_METRICS and file.endswith((".yaml", ".yml"))


def _goes_on(values: Mapping[str, Any], version: str) -> bool:
    """Whether an empty affinity leaves the chart's own, where the chart brings no labels."""
    if at(values, *_AFFINITY) != {} or any(at(values, key, "enabled") for key in ("gfd", "nfd")):
        return False
    return not is_before(version, PLUGIN_TERMS_SINCE)


def _is_told(inventory: Inventory, release: Release) -> bool:
    """Whether it is said of nodes that are declared that they have no such label."""
    return any(
        each.rule is UNLABELLED and each.source is release.source
        for each in plugin_reaches.look(inventory)
        if isinstance(each, Problem) and each.severity != "info"
    )


def _unread(
    release: Release, values: dict[str, Any], keys: ChartKeys, ages: ChartAges | None
) -> Iterator[Judgement]:
    """Values that the newest version does not read."""
    for place, kind in wrong_values(values, keys):
        if place[0] == "global":
            continue  # a chart above may read them
        _, message, fix = what_is_wrong(keys, place, kind)
        path = value_place(release, place)
        if kind == "idle":
            if _is_its_own(values, keys):
                continue
            yield Problem(IDLE_VALUE, release.source, path, message, fix)
            continue
        fix = _HINTS.get(place, fix)
        if not release.version and ages is not None:
            if ages.had(place):
                continue  # which version it is for is not said, and one had it
            if kind == "unknown":
                message = _in_none(release.chart, place)
        # A version to come may have the value, unless something else was meant.
        usual: Severity | None = None if release.version or fix != "Remove it." else "warning"
        severity = _if_lost(release, values, place, usual)
        edits = _renamed(path, fix, values, place)
        yield Problem(UNKNOWN_VALUE, release.source, path, message, fix, severity, edits)


def _if_lost(
    release: Release, values: dict[str, Any], place: Place, usual: Severity | None = None
) -> Severity | None:
    """How grave it is that a value is not read: a note, where it would change nothing."""
    return "info" if is_without_loss(release.chart, values, place) else usual


def _in_none(chart: str, place: Place) -> str:
    return f"{'.'.join(place)} is no value of {chart}: no template reads it."


def _misspelt(release: Release, values: dict[str, Any], keys: ChartKeys) -> Iterator[Judgement]:
    """Values that are one of the newest version but for a letter or for capitals.

    Which ones there were before is not known; of these no version had both.
    """
    for place, kind in wrong_values(values, keys):
        if kind != "unknown" or place[0] == "global":
            continue
        _, _, fix = what_is_wrong(keys, place, kind)
        *above, meant = fix.removeprefix(_MEANT).rstrip("?").split(".")
        is_close = SequenceMatcher(None, plain(meant), plain(place[-1])).ratio() > _ALIKE
        if fix.startswith(_MEANT) and tuple(above) == place[:-1] and is_close:
            path = value_place(release, place)
            message = _in_none(release.chart, place)
            edits = _renamed(path, fix, values, place)
            severity = _if_lost(release, values, place)
            yield Problem(UNKNOWN_VALUE, release.source, path, message, fix, severity, edits)


def _unread_then(
    release: Release, values: dict[str, Any], keys: ChartKeys, ages: ChartAges, version: str
) -> Iterator[Judgement]:
    """Values that an earlier version does not read, which the release pins."""
    called = f"{release.chart} {version}"
    for place, kind in wrong_values(values, keys):
        if place[0] == "global" or kind != "unknown" or ages.was_read(place, version):
            continue
        _, _, fix = what_is_wrong(keys, place, kind)
        fix = _HINTS.get(place, fix)
        message = _in_none(called, place)
        path = value_place(release, place)
        edits = _renamed(path, fix, values, place)
        severity = _if_lost(release, values, place)
        yield Problem(UNKNOWN_VALUE, release.source, path, message, fix, severity, edits)
    for place in _leaves(values):
        if not _at(values, place):
            continue  # switches off what is not there, as a copy of later values does
        if keys.kind(place) == "read" and (first := ages.came_after(place, version)) is not None:
            message = f"{'.'.join(place)} is no value of {called}: it came with {first}."
            fix = f"Install {first} or later, or remove it."
            yield Problem(UNKNOWN_VALUE, release.source, value_place(release, place), message, fix)


def _leaves(values: Any, above: Place = ()) -> Iterator[Place]:
    if not isinstance(values, dict) or not values:
        yield above
        return
    for key, inner in values.items():
        yield from _leaves(inner, (*above, key))


def _is_its_own(values: Mapping[str, Any], keys: ChartKeys) -> bool:
    """Whether they are the chart's own values.yaml with its idle values, or an earlier one."""
    known = {place[0] for place in (*keys.places, *keys.blocks)}
    return len(known & values.keys()) >= _MOST * len(known)


def _is_no_chart(release: Release) -> bool:
    """Whether it is the operator's own object, whose keys are others in places."""
    value = getattr(release.source.document, "value", None)
    return isinstance(value, dict) and value.get("kind") == "ClusterPolicy"


def _renamed(
    path: FieldPath, fix: str, values: Mapping[str, Any], place: Place
) -> tuple[Edit, ...]:
    """What was meant beside it, where nothing else has that name.

    Another beginning may be of a key that stands in the wrong block, and is for people to see.
    """
    if not fix.startswith(_MEANT):
        return ()
    *above, name = fix.removeprefix(_MEANT).rstrip("?").split(".")
    beside = _at(values, tuple(above))
    taken = (
        not isinstance(beside, dict) or name in beside or plain(name)[:1] != plain(place[-1])[:1]
    )
    return () if taken or tuple(above) != place[:-1] else (Edit("rename", path, name),)


def _set(path: FieldPath, fix: str) -> tuple[Edit, ...]:
    meant = {"Write true without quotes.": True, "Write false without quotes.": False}.get(fix)
    return () if meant is None else (Edit("set", path, meant),)


def _at(values: Any, place: FieldPath) -> Any:
    for key in place:
        values = values[key]
    return values


def _known(values: Any) -> Any:
    """The values without what is not known."""
    if isinstance(values, dict):
        return {str(key): _known(item) for key, item in values.items() if item is not UNKNOWN}
    return values  # into lists nothing looks


@edge(WRONG_TYPE)
def choices_are_known(inventory: Inventory) -> Iterator[Judgement]:
    """Of the device plugin, which stops at another word, and of the operator's object."""
    for release in inventory.of(Release):
        for place in _CHOSEN.get(chart_of(release.chart) or "", ()):
            given = at(release.values if release.own is None else release.own, *place)
            known = CHOICES.get(place[-1], CHOICES[_OF_OPERATOR])
            # A list of ways stands in one text, with commas; what is no text is told elsewhere.
            several = place[-1] == "deviceListStrategy"
            if not isinstance(given, str) or not given:
                continue
            words = [word.strip() for word in given.split(",")] if several else [given]
            if all(word in known for word in words):
                continue
            path = value_place(release, place)
            message = f"{'.'.join(place)} is {shown(given)}, not one of {', '.join(known)}."
            close = close_to(given, known) if len(words) == 1 else None
            fix = f"Write {close}." if close else "Write one of these."
            edits = (Edit("set", path, close),) if close else ()
            yield Problem(WRONG_TYPE, release.source, path, message, fix, None, edits)


@edge(WRONG_TYPE)
def blocks_are_there(inventory: Inventory) -> Iterator[Judgement]:
    """Blocks that are null, by which Helm takes the chart's defaults away, and rendering ends.

    Source: `coalesceValues` of pkg/chartutil/coalesce.go in helm/helm.
    """
    for release in inventory.of(Release):
        given = release.values if release.own is None else release.own
        for name in _READ_INTO.get(release.chart, ()):
            path = value_place(release, (name,))
            # A chart around it hands down its own values, which Helm's versions treat otherwise.
            around = release.chart in (*release.source.path, *path)
            if around or at(given, name) is not None:
                continue
            if isinstance(given, dict) and name in given:
                yield Problem(
                    WRONG_TYPE,
                    release.source,
                    path,
                    f"{name} is a block of values and here null: Helm takes the chart's defaults "
                    "below it away, and its templates end with a nil pointer.",
                    "Remove it, or write {}.",
                )


def values_of_files(values: Sequence[Release]) -> Iterator[Judgement]:
    """What is wrong with values alone, which are a part of those of a release.

    Args:
        values: Those of each file.
    """
    for check in (values_are_read, choices_are_known, blocks_are_there):
        yield from check.look(Inventory(tuple(values)))
