"""Configurations that stand in a kustomization itself, as literals of its generators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.inventory.values import at, items
from eks_gpushare.manifests.readers.device_plugin import DevicePluginConfigReader
from eks_gpushare.manifests.readers.mig_parted import MigPartedReader
from eks_gpushare.manifests.readers.values import mappings
from eks_gpushare.manifests.texts import read_texts, texts_within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.manifests.document import Document

_CONFIGURATIONS = (DevicePluginConfigReader(), MigPartedReader())


def literal_documents(document: Document) -> Iterator[Document]:
    """What the device plugin or MIG manager reads of the ConfigMaps that are generated.

    All of a literal stands at its place. What files hold is read where they are given.
    """
    for index, generator in mappings(at(document.value, "configMapGenerator")):
        for number, literal in enumerate(items(generator.get("literals"))):
            place = ("configMapGenerator", index, "literals", number)
            if not isinstance(literal, str) or texts_within(document, place) is None:
                continue
            _, _, content = literal.partition("=")
            texts = read_texts(unquoted(content), document.file, place=document.always(place))
            for found in texts.documents:
                if any(reader.matches(found) for reader in _CONFIGURATIONS):
                    yield found


def unquoted(content: str) -> str:
    """A literal's value, of which Kustomize takes a pair of quotes away."""
    for quote in "\"'":
        if len(content) > 1 and content[0] == content[-1] == quote:
            return content[1:-1]
    return content
