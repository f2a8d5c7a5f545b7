"""Charts that files of Fleet, Skaffold and Zarf install, with the files of values that they name.

Sources: https://fleet.rancher.io/ref-fleet-yaml, https://skaffold.dev/docs/references/yaml/ and
https://docs.zarf.dev/ref/components/#helm-charts; December 2026.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.values import at, items
from eks_gpushare.manifests.charts import chart_named, version_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_FLEET: Final = "fleet.yaml"
_MARKS: Final = ("skaffold/", "ZarfPackageConfig")
_FURTHER: Final = (
    *("values", "valuesFrom", "templateValues", "setValues", "setValueTemplates", "overrides"),
    *("setFiles", "variables"),
)
"""Keys by which a chart has values beside those of its files."""


class ToolRelease(NamedTuple):
    """A chart that such a file installs."""

    chart: str
    name: str
    version: str
    files: tuple[str, ...]
    is_all: bool
    """Whether these files are all that it takes values from."""


def may_install(name: str, text: str) -> bool:
    """Whether a file may be one of these tools', by its name and its text."""
    return posixpath.basename(name) == _FLEET or any(mark in text for mark in _MARKS)


def releases_of_tools(value: Any) -> Iterator[ToolRelease]:
    """The charts of a document that say something of GPUs, each with its files.

    Args:
        value: The document.
    """
    of_fleet = at(value, "helm")
    changed = bool(at(value, "targetCustomizations"))
    listed = [(of_fleet, "chart", "releaseName")] if at(value, "apiVersion") is None else []
    for place in (("deploy", "helm"), ("manifests", "helm")):
        listed += [(each, "remoteChart", "name") for each in items(at(value, *place, "releases"))]
    if at(value, "kind") == _MARKS[1]:
        parts = items(at(value, "components"))
        listed += [
            (each, "name", "releaseName") for one in parts for each in items(at(one, "charts"))
        ]
    for given, named, called in listed:
        reference, version = at(given, named), at(given, "version")
        chart = chart_named(reference)
        files = tuple(each for each in items(at(given, "valuesFiles")) if isinstance(each, str))
        if chart and files:
            told = version_of(reference, version if isinstance(version, str) else "")
            is_all = not changed and not any(at(given, key) for key in _FURTHER)
            name = str(at(given, called) or "")
            yield ToolRelease(chart, name, told if isinstance(told, str) else "", files, is_all)
