"""A Helm release, and the values that its chart renders with."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.helm import merge_values

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
    """The values of a release with the chart's defaults below.

    What a null has removed is empty, which is the same to a template.
    """
    defaults = charts()[release.chart]["defaults"]
    merged = copy.deepcopy(merge_values(defaults, release.values))
    return _with_empty(defaults, merged)


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
