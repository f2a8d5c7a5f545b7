"""Images of another architecture, or of a release which does not know yet what their nodes are.

Sources, November 2026: `catalog.bottlerocket`, and for types that nodeadm did not count among
those with GPUs https://github.com/awslabs/amazon-eks-ami/issues/2236.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog import bottlerocket as facts
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.nodes import CATALOG
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.rules.room_of_pools import OTHER_ARCHITECTURE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

TOO_OLD: Final = Rule(
    "GPU1280",
    "error",
    "An image that is pinned knows the types of its nodes and what they are told.",
    "Of a type that it does not know nodeadm starts no container by NVIDIA's runtime, and pods see "
    "no GPU; of a setting that it does not know Bottlerocket takes none, and no node joins.",
    "https://github.com/awslabs/amazon-eks-ami/issues/2236",
)
_ALIAS: Final = re.compile(
    r"bottlerocket@v?([0-9]+)\.([0-9]+)\.([0-9]+)|al2023@v([0-9]{8})", re.IGNORECASE
)
_NAMED_ARCH: Final = re.compile(r"(?:^|[-_/])(x86_64|arm64|ARM_64|aarch64)(?:[-_/]|$)")
_ARCHES: Final = {
    "x86_64": "amd64",
    **dict.fromkeys(("arm64", "ARM_64", "aarch64"), "arm64"),
}
_TYPES_SINCE: Final = {"gr6": 20250501}
"""Families with the first release of the AL2023 image whose nodeadm has NVIDIA's runtime there."""


@edge(TOO_OLD)
def old_images(inventory: Inventory) -> Iterator[Judgement]:
    """By the alias of a node class."""
    for nodes in inventory.of(NodeSet):
        found = None if nodes.ami is UNKNOWN else _ALIAS.fullmatch(nodes.ami)
        if found is None:
            continue
        if found[4]:
            lacking = _types(nodes, int(found[4]))
        else:
            lacking = _settings(nodes, (int(found[1]), int(found[2]), int(found[3])))
        for what, since in lacking:
            yield Problem(
                TOO_OLD,
                nodes.source,
                (),
                f"{at_start(nodes.source.name)} has the image {nodes.ami}, and before {since} "
                f"there was none that knows {what}.",
                "Pin a newer image.",
            )


def _types(nodes: NodeSet, release: int) -> Iterator[tuple[str, str]]:
    families = dict.fromkeys(str(each).partition(".")[0] for each in items(nodes.instance_types))
    for family in families:
        since = _TYPES_SINCE.get(family)
        if since is not None and release < since:
            yield f"the GPUs of {family}", f"v{since}"


def _settings(nodes: NodeSet, release: facts.Release) -> Iterator[tuple[str, str]]:
    if nodes.user_data is UNKNOWN:
        return
    try:
        given = tomllib.loads(nodes.user_data)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    for setting in _used(given):
        if release < setting.since:
            yield setting.name, "v" + ".".join(map(str, setting.since))


def _used(given: Any) -> Iterator[facts.BottlerocketSetting]:
    nvidia = at(given, "settings", "kubelet-device-plugins", "nvidia")
    strategy = at(nvidia, "device-sharing-strategy")
    if strategy == "time-slicing":
        yield facts.TIME_SLICING
    if strategy == "mps":
        yield facts.MPS
    if at(nvidia, "device-partitioning-strategy") == "mig":
        yield facts.MIG
    if at(nvidia, "enabled") is not None:
        yield facts.SWITCH
    for _, container in pairs(at(given, "settings", "bootstrap-containers")):
        if at(container, "source") is None and at(container, "mode") in ("once", "always"):
            yield facts.BOOTSTRAP_WITHOUT_SOURCE
            return


@edge(OTHER_ARCHITECTURE)
def architectures(inventory: Inventory) -> Iterator[Judgement]:
    """By what the name of an image says."""
    for nodes in inventory.of(NodeSet):
        if isinstance(nodes.source.document, Document):
            yield from _architecture(nodes)


def _architecture(nodes: NodeSet) -> Iterator[Problem]:
    named = None if nodes.ami is UNKNOWN else _NAMED_ARCH.search(nodes.ami)
    types = () if nodes.instance_types is UNKNOWN else nodes.instance_types
    arches = {each.arch for name in types if (each := CATALOG.find(name)) is not None}
    if named and len(arches) == 1 and _ARCHES[named[1]] not in arches:
        yield Problem(
            OTHER_ARCHITECTURE,
            nodes.source,
            (),
            f"{at_start(nodes.source.name)} has types of {arches.pop()}, and starts them from "
            f"{nodes.ami}.",
            "Choose the image of that architecture.",
        )
