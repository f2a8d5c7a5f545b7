"""From a NodePool to its EC2NodeClass, which says what image its nodes start from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.items import NodeLaunch, NodeSet
from eks_gpushare.inventory.launches import pods_of_class
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, text
from eks_gpushare.manifests.document import Document, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.source import Maybe


_OF_EKS = ("amazon-eks-", "bottlerocket-aws-k8s-")
"""How the names of images begin that AWS publishes for EKS."""


def class_of(document: Document) -> tuple[str, Any] | None:
    """The name and the spec of an EC2NodeClass; None of anything else."""
    value = document.value
    group = str(text(at(value, "apiVersion"))).partition("/")[0]
    if at(value, "kind") != "EC2NodeClass" or group != "karpenter.k8s.aws":
        return None
    name = at(value, "metadata", "name")
    return (name, at(value, "spec")) if isinstance(name, str) else None


def with_classes(found: Iterable[Item], classes: Mapping[Any, Any]) -> Iterator[Item]:
    """The items, with the images and user data of node classes that are there.

    Args:
        found: The items.
        classes: Specs of node classes, by name.
    """
    found = list(found)
    launches = {launch.name: launch for launch in found if isinstance(launch, NodeLaunch)}
    for item in found:
        if isinstance(item, NodeSet) and item.provisioner == "karpenter" and item.ami is UNKNOWN:
            name = class_named(item)
            spec = classes.get(name)
            if name is not None and spec is not None:
                launch = launches.get(name)
                yield replace(
                    item,
                    ami=_ami(spec),
                    user_data=_user_data(spec),
                    launch=launch,
                    max_pods=pods_of_class(spec),
                )
                continue
        yield item


def class_named(nodes: NodeSet) -> str | None:
    """The name of the node class of a NodePool; None where it is not known."""
    name = at(
        value_of(nodes), *nodes.source.path, "spec", "template", "spec", "nodeClassRef", "name"
    )
    return name if isinstance(name, str) else None


def _ami(spec: Any) -> Maybe[str]:
    """The alias or the ID of the image, or the family whose images the terms choose among."""
    terms = at(spec, "amiSelectorTerms")
    for term in items(terms):
        for key in ("alias", "id"):
            named = text(at(term, key))
            if named:
                return UNKNOWN if named is UNKNOWN else str(named)
    names = [text(at(term, "name")) for term in items(terms)]
    if len(names) == 1 and str(names[0]).startswith(_OF_EKS):
        return str(names[0])
    if terms is UNKNOWN or items(terms):
        return UNKNOWN  # by tags or names, so it is an image of one's own
    family = text(at(spec, "amiFamily"))
    return UNKNOWN if family is UNKNOWN or family == "Custom" or not family else str(family)


def _user_data(spec: Any) -> Maybe[str]:
    found = text(at(spec, "userData"))
    return UNKNOWN if found is UNKNOWN else str(found)
