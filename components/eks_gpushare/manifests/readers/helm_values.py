"""Values of NVIDIA's charts: files for `helm install -f`, and those of charts around them."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import HAMI_CHART
from eks_gpushare.catalog.chart_keys import top_keys
from eks_gpushare.documents.image import image_name
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.values import at, pairs
from eks_gpushare.manifests.charts import (
    CLUSTER_AUTOSCALER,
    DEVICE_PLUGIN,
    DRA_DRIVER,
    EXPORTER,
    KUEUE,
    OPEN_WEBUI,
    OPERATOR,
    PROMETHEUS,
    PROMETHEUS_ADAPTER,
    VOLCANO,
    is_of_schema,
    release,
    within_values,
)
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.readers.words import close_to, plain
from eks_gpushare.sharing.kueue import CONFIGURATION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eks_gpushare.inventory.items import Release
    from eks_gpushare.manifests.document import Document

_SIGNS: Final[Mapping[str, tuple[frozenset[str], frozenset[str]]]] = {
    OPERATOR: (
        frozenset(
            (
                *("migmanager", "sandboxworkloads", "sandboxdeviceplugin", "vgpumanager"),
                *("vgpudevicemanager", "nodestatusexporter", "ccmanager", "katamanager"),
                *("vfiomanager", "dcgmexporter", "clusterpolicy"),
            )
        ),
        frozenset(
            (
                *("driver", "toolkit", "mig", "operator", "deviceplugin", "gfd", "dcgm", "nfd"),
                *("validator", "daemonsets", "cdi", "gds", "gdrcopy", "psa"),
            )
        ),
    ),
    DEVICE_PLUGIN: (
        frozenset(
            (
                *("migstrategy", "failoniniterror", "deviceliststrategy", "deviceidstrategy"),
                *("compatwithcpumanager", "nvidiadriverroot", "allowdefaultnamespace"),
                *("devicediscoverystrategy", "gdrcopyenabled", "gdsenabled", "mofedenabled"),
            )
        ),
        frozenset(
            (
                *("config", "gfd", "nfd", "mps", "deviceplugin", "tolerations", "affinity"),
                *("nodeselector", "runtimeclassname", "image", "resources", "cdi"),
            )
        ),
    ),
    EXPORTER: (
        frozenset(("kubeletpath", "dcgmexporter", "custommetrics")),
        frozenset(("arguments", "servicemonitor", "extraenv", "tolerations", "nodeselector")),
    ),
}
"""Keys, as `plain` has them, that are one chart's own, and keys that it has too."""
_OF_HAMI: Final = frozenset(("devicesplitcount", "devicememoryscaling", "nvidianodeselector"))
"""Keys of `devicePlugin` that are HAMi's own."""
_OF_OTHERS: Final[Mapping[str, Callable[[Any], bool]]] = {
    PROMETHEUS: lambda value: isinstance(at(value, "prometheus", "prometheusSpec"), dict),
    PROMETHEUS_ADAPTER: lambda value: isinstance(at(value, "rules", "custom", 0), dict),
    HAMI_CHART: lambda value: any(
        plain(key) in _OF_HAMI for key, _ in pairs(value.get("devicePlugin"))
    ),
    CLUSTER_AUTOSCALER: lambda value: isinstance(at(value, "autoDiscovery", "clusterName"), str),
    # Every chart that helmify makes has that key, such as the one of AMD's operator.
    KUEUE: lambda value: "kueue.x-k8s.io/" in str(at(value, "managerConfig", CONFIGURATION)),
    VOLCANO: lambda value: isinstance(at(value, "custom", "scheduler_config_override"), str),
}
"""Charts beside those of GPUs, and what only their values have."""
_OPEN_WEBUI: Final = "openwebui"
_FILES: Final = {
    OPERATOR: ("gpuoperator",),
    DEVICE_PLUGIN: ("deviceplugin", "nvdp", "timeslicing"),
    EXPORTER: ("dcgm",),
}
"""Parts of names that people give files of values."""
_FOLDERS: Final = {**_FILES, DEVICE_PLUGIN: ("deviceplugin", "nvdp")}
"""And the folders that these lie in."""
_OF_PODS: Final = frozenset(("tolerations", "affinity", "nodeselector"))
"""Beside `gfd` these are of the plugin: the operator's chart has them below `daemonsets`."""
_OPERATORS_CONFIG: Final = frozenset(("create", "name", "default", "data"))
_CONFIG: Final = frozenset(("map", "name", "default", "fallbackStrategies"))
_PLUGIN: Final = "k8s-device-plugin"
_OTHER_DEVICES: Final = re.compile(
    r"(?:^|[-_.])(?:efa|neuron|amd|rocm|intel|xpu|habana|gaudi|rdma|sriov)"
    r"[-_.](?:.*[-_.])?device[-_.]?plugin",
    re.IGNORECASE,
)
"""In the name of a file with values of a plugin that gives out other devices."""
_DOMAINS: Final = "computeDomains"
"""What of resources the DRA driver's chart alone has."""
_ENOUGH: Final = 10
_NAMED: Final = 9
_PROSE: Final = 4
"""Spaces of a text that is a sentence and no value."""


class HelmValuesReader:
    """Knows values by their keys, with some help of the file's name."""

    name = "Helm values"

    def matches(self, document: Document) -> bool:
        """Whether they are for one of the charts."""
        return bool(dict(_charts(document)))

    def is_of_subcharts(self, document: Document) -> bool:
        """Whether all of them stand below the name of the chart that they are for."""
        return all(path for _, path in _charts(document))

    def read(self, document: Document) -> Read:
        """A release of each chart that they are for, and the configurations within."""
        items: list[Release] = []
        inner: list[Document] = []
        for chart, path in _charts(document):
            values = at(document.value, *path)
            if path and isinstance(values, dict):
                # A chart that brings it along, and is not beside the file, goes by this.
                if values.get("enabled") is False:
                    continue
                values = {key: value for key, value in values.items() if key != "enabled"}
            items.append(release(document, chart, values, path=path))
            inner += within_values(document, path)
        return Read(items=items, inner=inner)


class ValuesOf:
    """Reads values of which something else says what chart they are for.

    Args:
        chart: The chart's name.
    """

    name = "Helm values"

    def __init__(self, chart: str) -> None:
        self._chart = chart

    def matches(self, document: Document) -> bool:
        """Whether they may be values at all."""
        return isinstance(document.value, dict)

    def read(self, document: Document) -> Read:
        """The release, and the configurations within."""
        made = release(document, self._chart, document.value)
        return Read(items=[made], inner=list(within_values(document, ())))


def _charts(document: Document) -> Iterator[tuple[str, tuple[str, ...]]]:
    value = document.value
    if not isinstance(value, dict) or "apiVersion" in value or not value:
        return
    if _describes(value) or is_of_schema(document.file):
        return  # a list of what the keys mean, or what a schema is made of
    resources = value.get("resources")
    if "gpuResourcesEnabledOverride" in value or isinstance(at(resources, _DOMAINS), dict):
        yield DRA_DRIVER, ()
        return
    yield from ((chart, ()) for chart in _others(value))
    if isinstance(at(value, "ollama", "enabled"), bool) and _OPEN_WEBUI in plain(document.file):
        yield OPEN_WEBUI, ()
    image = image_name(str(at(value, "image", "repository") or ""))
    if image.endswith("device-plugin") and image != _PLUGIN:
        return  # of a plugin that somebody made of NVIDIA's, with a chart of its own
    subcharts = [
        sign
        for sign in _SIGNS
        if isinstance(value.get(sign), dict) and not _is_of_another(sign, value[sign])
    ]
    if subcharts:
        for subchart in subcharts:
            # A chart of one's own around the published one is often called as that one is.
            inner = isinstance(value[subchart].get(subchart), dict)
            yield subchart, (subchart, subchart) if inner else (subchart,)
        return
    # A text within an object is not what the file is called after.
    named = document.file if document.editable and not document.at else ""
    marks = {chart: _marks(chart, value, named) for chart in _SIGNS}
    in_guide = is_guide(document.file)
    marks = {chart: number for chart, number in marks.items() if _plausible(chart, value, in_guide)}
    if not marks:
        return
    best = max(marks, key=lambda chart: marks[chart])
    if marks[best] >= _ENOUGH:
        yield best, ()


def _is_of_another(chart: str, value: Mapping[str, Any]) -> bool:
    """Whether several keys below a chart's name are none of its own, as those of an application."""
    own = top_keys(chart) or ()
    return (
        bool(own) and len(value) > 1 and chart not in value and not any(key in own for key in value)
    )


def _others(value: Mapping[str, Any]) -> Iterator[str]:
    """The charts beside those of GPUs that have at least half of the keys, and one of their own."""
    for chart in (each for each, is_of in _OF_OTHERS.items() if is_of(value)):
        own = top_keys(chart)
        if own is None or len(value.keys() & set(own)) * 2 >= len(value):
            yield chart


def _chooses(config: Any) -> bool:
    """Whether a block gives the plugin its configurations, or names one."""
    if not isinstance(config, dict) or not config or not set(config) <= _CONFIG:
        return False
    texts = config.get("map")
    return not isinstance(texts, dict) or not any(
        isinstance(text, bool | int | float) for text in texts.values()
    )


def _describes(value: Mapping[str, Any]) -> bool:
    """Whether it tells what keys mean, as documentation does, instead of giving values."""
    texts = [text.strip() for text in value.values() if isinstance(text, str)]
    told = [text for text in texts if text.count(" ") >= _PROSE and "\n" not in text]
    return len(told) * 2 >= len(value)


def _plausible(chart: str, value: Mapping[str, Any], in_guide: bool) -> bool:  # noqa: FBT001  (a property)
    """Whether its blocks are blocks, and at least half of all keys are of the chart.

    In a guide, which may be to any chart, more than half are its own or nearly spelt as they are.

    One of several has to be spelt as the chart has it: `mig-strategy` is a flag of programs too.
    Blocks that are like none of the chart's have to be fewer than its own keys, or they are of a
    chart that has NVIDIA's beside others.
    """
    blocks = {OPERATOR: ("driver", "toolkit", "devicePlugin", "operator")}.get(chart, ())
    given = [value[block] for block in blocks if block in value and value[block] is not None]
    if not all(isinstance(block, dict) for block in given):
        return False
    own = top_keys(chart)
    if own is None:
        return True
    if (len(value) > 1 or chart == EXPORTER) and not any(key in own for key in value):
        return False
    names = {plain(path) for path in own} | set().union(*_SIGNS[chart])
    strange = [key for key in value if plain(key) not in names]
    odd = [key for key in strange if not close_to(key, tuple(own))]
    others = [key for key in odd if isinstance(value[key], dict) and value[key]]
    return (
        len(strange) * 2 <= len(value)
        and len(odd) * 2 < len(value) + (not in_guide)
        and (not others or len(others) < len(value) - len(strange))
    )


def _marks(chart: str, value: Mapping[str, Any], file: str) -> int:
    """How much speaks for a chart: its own keys by tens, and keys of many by one."""
    own, common = _SIGNS[chart]
    keys = {plain(key) for key in value}
    marks = 10 * len(keys & own) + len(keys & common)
    config = value.get("config")
    if chart == DEVICE_PLUGIN and _chooses(config):
        marks += _ENOUGH
    if chart == DEVICE_PLUGIN and "config" in keys and keys & {"gfd", "nfd"}:
        marks += _ENOUGH
    if (
        chart == DEVICE_PLUGIN
        and isinstance(value.get("gfd"), dict)
        and keys & _OF_PODS
        and not keys >= {"version", "flags"}  # as a configuration has them
    ):
        marks += _ENOUGH
    if chart == OPERATOR and all(isinstance(value.get(k), dict) for k in ("driver", "toolkit")):
        marks += _ENOUGH
    plugins = at(value, "devicePlugin", "config")
    if chart == OPERATOR and isinstance(plugins, dict) and {"name", "data"} & plugins.keys():
        marks += _ENOUGH if plugins.keys() <= _OPERATORS_CONFIG else 0
    image = image_name(str(at(value, "image", "repository") or ""))
    if chart == image == EXPORTER and "servicemonitor" in keys:
        marks += _ENOUGH
    path = PurePath(file)
    name = plain(path.name)
    named = any(word in name for word in _FILES[chart]) and not _OTHER_DEVICES.search(path.name)
    if (named or plain(path.parent.name) in _FOLDERS[chart]) and keys & common:
        marks += _NAMED
    return marks
