"""Nodes of Karpenter have the image and the user data of their class, which is another document."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.items import Nodes
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, text
from eks_gpushare.lint.document import Document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.inventory.items import Item

KIND = "EC2NodeClass"


def with_classes(found: Sequence[Item], classes: Mapping[str, Mapping[str, Any]]) -> list[Item]:
    """The items, with what their classes say of nodes.

    Args:
        found: The items of files.
        classes: EC2NodeClasses by name. Of nodes whose class is none of them, what they run is not
            known.
    """
    return [_with_class(each, classes) for each in found]


def _with_class(item: Item, classes: Mapping[str, Mapping[str, Any]]) -> Item:
    document = item.source.document
    if not isinstance(item, Nodes) or not isinstance(document, Document):
        return item
    if item.provisioner != "karpenter":
        return item
    name = at(document.value, "spec", "template", "spec", "nodeClassRef", "name")
    body = classes.get(name) if isinstance(name, str) else None
    if body is None:
        return item if item.user_data else replace(item, user_data=UNKNOWN)
    return replace(item, ami=image_of(body), user_data=text(at(body, "spec", "userData")))


def image_of(node_class: Mapping[str, Any]) -> Any:
    """AMI alias or family of a node class, or the ID of an image."""
    terms = at(node_class, "spec", "amiSelectorTerms")
    if terms is UNKNOWN or UNKNOWN in items(terms):
        return UNKNOWN
    family = text(at(node_class, "spec", "amiFamily"))
    for term in items(terms):
        for key in ("alias", "id"):
            given = at(term, key)
            if given is not None and not (key == "id" and family):
                return text(given)
    return family
