"""The readers, a module for each format. The first that knows a document reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.lint.readers.device_plugin import DevicePluginConfigReader
from eks_gpushare.lint.readers.kubernetes import KubernetesReader
from eks_gpushare.lint.readers.lists import ListReader

if TYPE_CHECKING:
    from eks_gpushare.lint.document import DocumentReader, TextReader

DOCUMENT_READERS: tuple[DocumentReader, ...] = (
    ListReader(),
    KubernetesReader(),
    DevicePluginConfigReader(),
)
"""Of YAML and JSON, the particular before the general."""

TEXT_READERS: tuple[TextReader, ...] = ()
"""Of other texts."""
