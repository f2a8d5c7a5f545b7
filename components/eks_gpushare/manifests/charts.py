"""Charts of NVIDIA by name, and the documents within their values."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import HAMI_CHART, named_among
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at, text
from eks_gpushare.manifests.texts import read_texts, texts_within
from eks_gpushare.sharing.node_monitoring import AGENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.manifests.document import Document

DEVICE_PLUGIN: Final = "nvidia-device-plugin"
OPERATOR: Final = "gpu-operator"
EXPORTER: Final = "dcgm-exporter"
DRA_DRIVER: Final = "nvidia-dra-driver-gpu"
CLUSTER_AUTOSCALER: Final = "cluster-autoscaler"
PROMETHEUS: Final = "kube-prometheus-stack"
PROMETHEUS_ADAPTER: Final = "prometheus-adapter"
OF_METRICS: Final = (PROMETHEUS, PROMETHEUS_ADAPTER)
"""Charts whose values are read for what they have of metrics, and for nothing else."""
OLLAMA: Final = "ollama"
KUEUE: Final = "kueue"
VOLCANO: Final = "volcano"
OPEN_WEBUI: Final = "open-webui"
CHARTS: Final = (
    *(DEVICE_PLUGIN, OPERATOR, EXPORTER, "node-feature-discovery", "gpu-feature-discovery"),
    *(DRA_DRIVER, "dra-driver-nvidia-gpu", CLUSTER_AUTOSCALER, "karpenter", "keda"),
    *(HAMI_CHART, KUEUE, VOLCANO, "kai-scheduler"),
    *(AGENT, *OF_METRICS, OLLAMA, OPEN_WEBUI),
)
"""Charts that say something of GPUs."""

_CONFIGS: Final = (
    ("config", "map"),
    ("devicePlugin", "config", "data"),
    ("migManager", "config", "data"),
)
"""Where values hold configurations by name."""
_ARCHIVE: Final = re.compile(
    r"(?:.*/)?(?P<name>[^/]+?)(?:-(?P<version>v?[0-9]+(?:\.[0-9]+)+[^/?]*))?\.(?:tgz|tar\.gz)(?:\?.*)?"
)
_OF_SCHEMA: Final = re.compile(r"values[-._]schema")


def is_of_schema(file: str) -> bool:
    """Whether a file is what a schema of values is, or is made of, and no values."""
    return _OF_SCHEMA.fullmatch(PurePath(file).stem) is not None


def chart_named(given: Any) -> str | None:
    """The chart that a name, a path, an archive or an address is for, if it is one of them."""
    if not isinstance(given, str):
        return None
    return named_among(CHARTS, given)


def archived(reference: str) -> tuple[str, str] | None:
    """The name of a chart and its version, empty if untold, by its archive; None of another."""
    found = _ARCHIVE.fullmatch(reference)
    return None if found is None else (found["name"], found["version"] or "")


def version_of(reference: object, given: Any) -> Any:
    """The version of a chart that is installed.

    Args:
        reference: The chart as it is named. An archive is of its own version: Helm looks for the
            one that it is asked for in repositories alone (`LocateChart` of helm/helm).
        given: The version that is asked for.
    """
    found = archived(reference) if isinstance(reference, str) else None
    return given if found is None else (found[1] or given or UNKNOWN)


def release(
    document: Document,
    chart: str,
    values: Any,
    *,
    name: Maybe[str] = UNKNOWN,
    namespace: Maybe[str] = UNKNOWN,
    version: Any = "",
    path: FieldPath = (),
) -> Release:
    """A release whose values stand at a path of a document."""
    called = f"of {chart}" if name is UNKNOWN or not name else f"{name} of {chart}"
    return Release(
        source=Source(f"the release {called}", document, path),
        name=name,
        chart=chart,
        version=text(version),
        namespace=namespace,
        values=values if isinstance(values, dict) or values is UNKNOWN else {},
    )


def documents_at(document: Document, path: FieldPath, text: str) -> tuple[Document, ...]:
    """Those of a text at a place of a document, or of an object that a program made."""
    if document.text is None and document.origin is None:
        return read_texts(text, document.file).documents
    within = texts_within(document, path)
    return within.documents if within else ()


def within_values(document: Document, path: FieldPath = ()) -> Iterator[Document]:
    """The configurations that values hold: texts, or mappings in the operator's chart."""
    for place in _CONFIGS:
        found = at(document.value, *path, *place)
        for key, item in found.items() if isinstance(found, dict) else ():
            where = (*path, *place, key)
            if isinstance(item, dict):
                yield document.inside(where, item)
            elif isinstance(item, str):
                yield from documents_at(document, where, item)
