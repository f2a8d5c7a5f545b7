"""The list of metrics that the DCGM exporter is given: lines of CSV, each of three fields.

Sources: `ExtractCounters` and `readConfigMap` in internal/pkg/counters/counter_config.go of
NVIDIA/dcgm-exporter 4.5 and Go's encoding/csv, which it reads by: a line is a comment if `#` is its
first character, and a quote is one of the text unless the field begins with it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import EXPORTER_CHART, OPERATOR_CHART, chart_of
from eks_gpushare.inventory.items import ConfigMap, Release, Workload
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, may_be_same, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.metrics.queries import queries, rules_of
from eks_gpushare.manifests.rules.exporters import NOT_COUNTERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement

_VALUES: Final = {
    EXPORTER_CHART: ("customMetrics",),
    OPERATOR_CHART: ("dcgmExporter", "config", "data"),
}
"""Where charts take the list from."""
_FIELD: Final = re.compile(r"DCGM_(?:FI|EXP)_[A-Z0-9_]+ *(?:,|$)")
_NAMED: Final = re.compile(r"(?<![:A-Za-z0-9_])DCGM_FI_[A-Z0-9_]+(?![:A-Za-z0-9_])")
"""A metric of the exporter; with a colon it is what a rule makes of one."""
_TYPES: Final = ("gauge", "counter", "histogram", "summary", "label")
_OWN: Final = "DCGM_EXP_"
"""The exporter's own metrics, whose type it does not look at."""
_FIELDS: Final = 3
_VARIABLE: Final = "DCGM_EXPORTER_CONFIGMAP_DATA"
_OPTIONS: Final = ("-m", "--configmap-data")
_KEY: Final = "metrics"
"""Of the ConfigMap, under which the exporter reads the list."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*:[a-z0-9][a-z0-9.-]*")
_UNKNOWN: Final = re.compile(r"\{\{|\$\{|<[A-Za-z]|\ue000")
"""Signs of what is yet to be filled in."""


@edge(NOT_COUNTERS)
def counters(inventory: Inventory) -> Iterator[Judgement]:
    """Of ConfigMaps whose texts are such lists, and of values."""
    for config_map in inventory.of(ConfigMap):
        for key, given in pairs(config_map.data):
            yield from _judged(config_map, ("data", key), key, given)
    for release in inventory.of(Release):
        path = _VALUES.get(chart_of(release.chart) or "")
        if path is not None:
            place = value_place(release, path)
            yield from _judged(release, place, ".".join(path), at(release.values, *path))


@edge(NOT_COUNTERS)
def asked_for(inventory: Inventory) -> Iterator[Judgement]:
    """Metrics that autoscalers and alerts go by, against the one list that an exporter is given."""
    for cluster in inventory.clusters():
        lists = [
            (release.source.name, at(release.values, *path))
            for release in inventory.of(Release, cluster)
            if (path := _VALUES.get(chart_of(release.chart) or "")) is not None
        ]
        lists += [
            (config_map.source.name, given)
            for config_map in inventory.of(ConfigMap, cluster)
            for _, given in pairs(config_map.data)
        ]
        known = [
            (name, given)
            for name, given in lists
            if isinstance(given, str) and not _UNKNOWN.search(given) and _is_list(given)
        ]
        if len(known) != 1:
            continue
        name, given = known[0]
        ruled = (each[:3] for each in rules_of(inventory, cluster))
        for item, place, query in (*queries(inventory, cluster), *ruled):
            asked = [each for each in _NAMED.findall(query) if not _is_in(each, given)]
            if asked:
                yield Problem(
                    NOT_COUNTERS,
                    item.source,
                    place,
                    f"{at_start(item.source.name)} asks for {asked[0]}, which is not in the list "
                    f"of metrics of {name}: the exporter has those of the list alone.",
                    f"Add a line for {asked[0]} to the list.",
                    "warning",
                )


@edge(NOT_COUNTERS)
def named_lists(inventory: Inventory) -> Iterator[Judgement]:
    """ConfigMaps that exporters are told of by NAMESPACE:NAME, where they stand here.

    An exporter that finds none, or none with the key, has its own list: `readConfigMap`.
    """
    for cluster in inventory.clusters():
        maps = inventory.of(ConfigMap, cluster)
        for item, place, given in _told(inventory, cluster):
            namespace, _, name = given.partition(":")
            alike = [each for each in maps if each.name == name]
            there = [each for each in alike if may_be_same(each.namespace, namespace)]
            what, fix = "", f"Write {name} into the namespace {namespace}."
            if alike and not there:
                what = f"is in the namespace {alike[0].namespace}"
            elif there and not any(each.data is UNKNOWN or _KEY in each.data for each in there):
                what, fix = f"has no key {_KEY}", f"Write the list under the key {_KEY}."
            if what:
                yield Problem(
                    NOT_COUNTERS,
                    item.source,
                    place,
                    f"{at_start(item.source.name)} is to take its metrics of {given}, and "
                    f"{alike[0].source.name} {what}: it goes on with its own list.",
                    fix,
                )


def _told(inventory: Inventory, cluster: str) -> Iterator[tuple[Item, FieldPath, str]]:
    """What exporters are told by a variable or an option."""
    for workload in inventory.of(Workload, cluster):
        for where, container in containers(workload.spec):
            if EXPORTER_CHART in str(text(at(container, "image"))):
                for place, given in _of_container(container):
                    yield workload, (*workload.spec_path, *where, *place), given
    for release in inventory.of(Release, cluster):
        if chart_of(release.chart) == EXPORTER_CHART:
            for given in _options(at(release.values, "arguments")):
                yield release, value_place(release, ("arguments",)), given


def _of_container(container: Any) -> Iterator[tuple[FieldPath, str]]:
    for index, each in enumerate(items(at(container, "env"))):
        if at(each, "name") == _VARIABLE and _is_name(at(each, "value")):
            yield ("env", index, "value"), str(at(each, "value"))
    for key in ("command", "args"):
        for given in _options(at(container, key)):
            yield (key,), given


def _options(words: Any) -> Iterator[str]:
    listed = [str(text(word)) for word in items(words)]
    for option, following in zip(listed, [*listed[1:], ""], strict=False):
        key, equals, value = option.partition("=")
        given = value if equals else following
        if key in _OPTIONS and _is_name(given):
            yield given


def _is_name(given: Any) -> bool:
    return isinstance(given, str) and _NAME.fullmatch(given) is not None


def _is_in(metric: str, given: str) -> bool:
    return re.search(rf"^\"?{metric}\"? *,", given, re.MULTILINE) is not None


def _judged(item: Item, place: FieldPath, key: str, given: Any) -> Iterator[Problem]:
    if not isinstance(given, str) or _UNKNOWN.search(given) or not _is_list(given):
        return
    is_template = bool(getattr(item.source.document, "alone", ""))
    for number, line in enumerate(given.splitlines(), 1):
        if line.count('"') % 2:
            return  # a text may go on in the next line
        if is_template and not line.strip():
            continue  # it may be a line of the template
        wrong = _wrong(line)
        if wrong is not None:
            what, fix = wrong
            yield Problem(
                NOT_COUNTERS,
                item.source,
                place,
                f"Line {number} of {key} of {item.source.name} {what}: {line.strip()}",
                fix,
            )
            return  # it reads no further


def _is_list(given: str) -> bool:
    """Whether a text is a list of metrics: half of its lines begin with a field of DCGM."""
    lines = [line for line in given.splitlines() if line.strip() and not line.startswith("#")]
    return sum(1 for line in lines if _FIELD.match(line)) * 2 >= len(lines) > 0


def _wrong(line: str) -> tuple[str, str] | None:
    """What is wrong with a line, as what it has or is, and how to write it."""
    if not line or line.startswith("#"):
        return None
    if not line.strip():
        return "has blanks alone, which is a line of one field", "Remove the blanks."
    if line.lstrip().startswith("#"):
        return "is no comment, since it begins with a blank", "Begin it with #."
    fields = _split(line)
    if fields is None:
        fix = "Put the whole text between quotes, without a blank before them, or write none."
        return "has a quote within a field", fix
    kind = fields[1].strip(" ") if len(fields) == _FIELDS else None
    if kind is None:
        fix = "Put a text with commas between quotes, without a blank before them."
        return f"has {len(fields)} fields, not a field of DCGM, a type and a text", fix
    is_known = kind in _TYPES or line.startswith(_OWN)
    wrong = f"has the type {kind}" if kind else "has no type"
    return None if is_known else (wrong, f"Write one of {', '.join(_TYPES)}.")


def _split(line: str) -> list[str] | None:
    """The fields of a line as Go's reader of CSV takes them; None where it takes none."""
    fields: list[str] = []
    rest: str | None = line
    while rest is not None:
        if rest.startswith('"'):
            found = re.match(r'"((?:[^"]|"")*)"(?:,|$)', rest)
            if found is None:
                return None
            fields.append(found[1].replace('""', '"'))
            rest = rest[found.end() :] if found[0].endswith(",") else None
        else:
            field, comma, after = rest.partition(",")
            if '"' in field:
                return None
            fields.append(field)
            rest = after if comma else None
    return fields
