"""Configuration documents of the device plugin, wherever a program writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.device_plugin import DocumentError, PluginConfig, plugin_config_of
from eks_gpushare.inventory.items import ConfigMap
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.texts import read_texts
from gpushare_policies.reading.charts import EMBEDDED, chart_values, charts_of
from gpushare_policies.reading.inventory import config_map_of
from gpushare_policies.reading.objects import Kind, KubernetesObject

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG_MAPS = Kind("", "ConfigMap")
_MARKS = ("timeslicing", "mps", "migstrategy", "sharing")


@dataclass(frozen=True, slots=True)
class PluginDocument:
    """A text that the device plugin reads, or may read."""

    key: str
    config: PluginConfig | None
    """None where the plugin would stop at it, or its text is not known."""
    error: str = ""
    unknown: bool = False

    @property
    def called(self) -> str:
        """How messages call it: `the key gpu`."""
        return f"the key {self.key}" if self.key else "the documents"


def of_config_map(each: KubernetesObject) -> Iterator[PluginDocument]:
    """The documents of a ConfigMap, `binaryData` among them; other texts are left out."""
    found = config_map_of(each)
    if isinstance(found, ConfigMap):
        yield from _documents(found.data)


def of_charts(props: Any) -> Iterator[PluginDocument]:
    """The documents in the values of a chart, whatever it is called."""
    charts = tuple(charts_of(props))
    for of_gpus, values in [(chart.of_gpus, chart.values) for chart in charts] or [
        (False, chart_values(props))
    ]:
        if values is UNKNOWN and not of_gpus:
            continue
        for path in EMBEDDED:
            yield from _documents(at(values, *path))
            if values is UNKNOWN:
                break


def _documents(texts: Any) -> Iterator[PluginDocument]:
    if texts is UNKNOWN:
        yield PluginDocument("", None, unknown=True)
    if not isinstance(texts, Mapping):
        return
    for key, value in texts.items():
        if value is UNKNOWN:
            yield PluginDocument(str(key), None, unknown=True)
        elif isinstance(value, str) and any(mark in value.lower() for mark in _MARKS):
            yield _document(str(key), value)


def _document(key: str, text: str) -> PluginDocument:
    """Read a text as the plugin's own reader of YAML does, of several documents the first."""
    read = read_texts(text, key)
    if not read.documents:
        return PluginDocument(key, None, "it is no YAML that can be read")
    try:
        return PluginDocument(key, plugin_config_of(read.documents[0].value))
    except DocumentError as error:
        return PluginDocument(key, None, str(error))
