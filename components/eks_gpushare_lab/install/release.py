"""A Helm release, and how Helm makes one set of values of two."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare_lab.client import Object

_DATA = Path(__file__).parent / "data" / "daemonsets.json"


@dataclass(frozen=True, slots=True)
class Release:
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


@cache
def charts() -> dict[str, Any]:
    """What the lab knows of each chart: its defaults, as far as they matter here."""
    found: dict[str, Any] = json.loads(_DATA.read_text(encoding="utf-8"))
    return found


def values_of(release: Release) -> dict[str, Any]:
    """The values of a release with the chart's defaults below."""
    return merged(charts()[release.chart]["defaults"], release.values)


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two sets of values as Helm merges them: maps by key, null removes, anything else whole."""
    result = copy.deepcopy(dict(below))
    for key, value in above.items():
        base = result.get(key)
        if value is None:
            result[key] = type(base)() if isinstance(base, dict | list | str) else None
        elif isinstance(base, dict) and isinstance(value, dict):
            result[key] = merged(base, value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def config_map(name: str, namespace: str, data: Mapping[str, str]) -> Object:
    """A ConfigMap that a chart makes of its values."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": dict(data),
    }
