"""A Helm release, and the values that its chart renders with."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.documents.helm import merge_values, value_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare_lab.client import Object

_DATA = Path(__file__).parent / "data" / "daemonsets.json"
_SCHEDULING = ("nodeSelector", "affinity", "tolerations", "priorityClassName")


@dataclass(frozen=True, slots=True)
class DeclaredRelease:
    """A Helm release as a stack declares it."""

    name: str
    """Name of the release."""
    namespace: str
    """Where it is installed."""
    chart: str
    """Name of the chart."""
    version: str
    """Version of the chart."""
    values: Mapping[str, Any]
    """The values given."""


class ChartError(Exception):
    """The chart refuses its values, in its own words."""


class UnknownChartError(Exception):
    """The lab does not know the chart of a release, or other versions of it only."""


def chart_at(folder: Path) -> tuple[str, str] | None:
    """Name and version of a chart on the disk; None if there is none."""
    try:
        content = yaml.safe_load((folder / "Chart.yaml").read_text(encoding="utf-8"))
    except (OSError, UnicodeError, yaml.YAMLError):
        return None
    if not isinstance(content, dict) or not {"name", "version"} <= content.keys():
        return None
    return str(content["name"]), str(content["version"])


def known_versions(chart: str) -> tuple[str, ...]:
    """The versions of a chart whose DaemonSets the lab knows; none for a chart that it does not."""
    return tuple(_charts().get(chart, ()))


def facts_of(release: DeclaredRelease) -> dict[str, Any]:
    """What the lab knows of the chart of a release, in exactly the version that it installs.

    Raises:
        UnknownChartError: If that is not known.
    """
    for version, facts in _charts().get(release.chart, {}).items():
        # Helm takes v26.7.0 for 26.7.0 too.
        if release.version.removeprefix("v") == version.removeprefix("v"):
            found: dict[str, Any] = facts
            return found
    raise UnknownChartError(release.chart)


@cache
def _charts() -> dict[str, Any]:
    """By chart and version, what tools/catalog/daemonsets.py has made of it."""
    found: dict[str, Any] = json.loads(_DATA.read_text(encoding="utf-8"))
    found.pop("_about")
    return found


def values_of(release: DeclaredRelease) -> dict[str, Any]:
    """The values of a release with the chart's defaults below.

    What a null has removed is empty, which is the same to a template.
    """
    defaults = facts_of(release)["defaults"]
    merged = copy.deepcopy(merge_values(defaults, release.values))
    return _with_empty(defaults, merged)


def scheduling(daemon_set: Mapping[str, Any], release: DeclaredRelease) -> dict[str, Any]:
    """Where the pods of a chart's DaemonSet go: as rendered, with the release's values in it."""
    defaults, values = facts_of(release)["defaults"], values_of(release)
    found = {field: daemon_set.get(field) for field in _SCHEDULING}
    for field, paths in daemon_set["valuesOf"].items():
        given = next(filter(None, (value_at(values, path) for path in paths)), None)
        if field == "nodeSelector":  # the only one of which a template writes a part itself
            before = {key for path in paths for key in value_at(defaults, path) or ()}
            fixed = {k: v for k, v in (found[field] or {}).items() if k not in before}
            given = {**fixed, **(given or {})}
        found[field] = given
    return found


def _with_empty(defaults: Mapping[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    for key, default in defaults.items():
        if key not in values:
            values[key] = type(default)() if isinstance(default, dict | list | str) else None
        elif isinstance(default, dict) and isinstance(values[key], dict):
            _with_empty(default, values[key])
    return values


def config_map(name: str, namespace: str, data: Mapping[str, str]) -> Object:
    """A ConfigMap that a chart makes of its values."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": dict(data),
    }
