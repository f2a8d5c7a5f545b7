"""How safe nodes start: metadata service, volumes, addresses, taints and images.

What is not said is not judged: images, node classes and accounts have defaults of their own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.facts.images import moving_parameter
from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.launches import (
    NODE_ALONE,
    ROOMY_GIB,
    reaches_pods,
    takes_no_token,
    uses_own_disks,
)
from eks_gpushare.inventory.bottlerocket import runs_bottlerocket
from eks_gpushare.inventory.items import NodeLaunch, NodeSet
from eks_gpushare.inventory.matching import KEEPS_OFF
from eks_gpushare.inventory.nodes import gpu_nodes
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

TOKENS = rule_of("GPU1210")
HOPS = rule_of("GPU1211")
ENCRYPTED = rule_of("GPU1212")
PRIVATE = rule_of("GPU1213")
ROOM = rule_of("GPU1214")
_SYSTEM = "/dev/xvda"
_SYSTEM_GIB = 4
TAINTED = rule_of("GPU1215")
PINNED = rule_of("GPU1216")


def _launches(inventory: Inventory) -> tuple[NodeLaunch, ...]:
    """Each once, whoever is started from it."""
    found = [*inventory.of(NodeLaunch), *(nodes.launch for nodes in inventory.of(NodeSet))]
    return tuple(
        {launch.source: launch for launch in found if isinstance(launch, NodeLaunch)}.values()
    )


@edge(TOKENS, HOPS)
def metadata(inventory: Inventory) -> Iterator[Judgement]:
    """The metadata service, which has the credentials of a node."""
    for launch in _launches(inventory):
        called, path = at_start(launch.source.name), launch.metadata_path
        if launch.endpoint == "disabled":
            continue
        if UNKNOWN in (launch.endpoint, launch.tokens, launch.hops):
            yield NotSeen(TOKENS, launch.source, f"the metadata options of {launch.source.name}")
        if launch.endpoint is UNKNOWN:
            continue
        if launch.tokens not in ("", UNKNOWN) and takes_no_token(launch.tokens):
            yield Problem(
                TOKENS,
                launch.source,
                path,
                f"{called} lets nodes answer for credentials without a token.",
                "Require tokens of the metadata service (IMDSv2).",
            )
        if launch.hops not in (None, UNKNOWN) and reaches_pods(launch.hops):
            yield Problem(
                HOPS,
                launch.source,
                path,
                f"{called} has a hop limit of {launch.hops} for the metadata service, so pods read "
                f"the credentials of the node.",
                f"Set the hop limit to {NODE_ALONE}, and give pods that need AWS a role by EKS Pod "
                f"Identity.",
            )


@edge(ENCRYPTED)
def encryption(inventory: Inventory) -> Iterator[Judgement]:
    """Volumes that are said not to be encrypted."""
    for launch in _launches(inventory):
        if launch.volumes is UNKNOWN:
            yield NotSeen(ENCRYPTED, launch.source, f"the volumes of {launch.source.name}")
            continue
        for volume in launch.volumes:
            if volume.encrypted is False:
                device = "" if volume.device in ("", UNKNOWN) else f" {volume.device}"
                yield Problem(
                    ENCRYPTED,
                    launch.source,
                    volume.path,
                    f"{at_start(launch.source.name)} has the volume{device} not encrypted.",
                    "Encrypt it: nodes made from then on have it so.",
                )


_NO_NODE: Final = re.compile(r"bastion|jump[-_]?(?:host|box)")
"""What instances are called whose public address is what they are for."""


@edge(PRIVATE)
def addresses(inventory: Inventory) -> Iterator[Judgement]:
    """Public addresses that nodes get whatever their subnet says."""
    for launch in _launches(inventory):
        if _NO_NODE.search(launch.source.name.lower()):
            continue
        if launch.public_address is UNKNOWN:
            yield NotSeen(PRIVATE, launch.source, f"the addresses of {launch.source.name}")
        elif launch.public_address is True:
            yield Problem(
                PRIVATE,
                launch.source,
                launch.address_path,
                f"{at_start(launch.source.name)} gives nodes public addresses.",
                "Give them none, and put the nodes into private subnets.",
            )


@edge(ROOM)
def room(inventory: Inventory) -> Iterator[Judgement]:
    """The largest volume of GPU nodes, if the size of each is known."""
    seen = set()
    for cluster in inventory.clusters():
        for kind in gpu_nodes(inventory, cluster):
            launch, told = kind.nodes.launch, kind.nodes.user_data
            if not isinstance(launch, NodeLaunch) or launch.source in seen:
                continue
            if told is UNKNOWN or launch.volumes is UNKNOWN:
                yield NotSeen(ROOM, launch.source, f"the volumes of {launch.source.name}")
                continue
            if uses_own_disks(told):
                continue
            seen.add(launch.source)
            sizes = [(volume.gib, volume) for volume in launch.volumes]
            known = [(gib, size) for gib, size in sizes if gib is not None and gib is not UNKNOWN]
            yield from _system_volume(kind.nodes, launch)
            # Bottlerocket has a small volume for itself and a large one for images.
            if not known or len(known) < len(sizes):
                continue
            gib, largest = max(known, key=lambda pair: pair[0])
            if gib < ROOMY_GIB:
                yield Problem(
                    ROOM,
                    launch.source,
                    largest.path,
                    f"{at_start(launch.source.name)} gives GPU nodes a volume of {float(gib):g} "
                    f"GiB.",
                    f"Give them {ROOMY_GIB} GiB or more, for images with CUDA.",
                )


def _system_volume(nodes: NodeSet, launch: NodeLaunch) -> Iterator[Problem]:
    """Bottlerocket's own, which EC2 refuses to make smaller than the image's snapshot.

    https://github.com/aws/karpenter-provider-aws/issues/7928
    """
    if not runs_bottlerocket(nodes):
        return
    for volume in launch.volumes if launch.volumes is not UNKNOWN else ():
        gib = volume.gib
        if volume.device != _SYSTEM or gib in (None, UNKNOWN) or gib >= _SYSTEM_GIB:
            continue
        yield Problem(
            ROOM,
            launch.source,
            volume.path,
            f"{at_start(launch.source.name)} gives Bottlerocket {float(gib):g} GiB for itself, and "
            f"its image with a driver has {_SYSTEM_GIB}: EC2 starts no node.",
            f"Give {_SYSTEM} {_SYSTEM_GIB} GiB, or leave it out.",
        )


def _gpu_nodes(inventory: Inventory, *provisioners: str) -> tuple[NodeSet, ...]:
    """Each once, whatever types it has."""
    found = [
        kind.nodes
        for cluster in inventory.clusters()
        for kind in gpu_nodes(inventory, cluster)
        if kind.nodes.provisioner in provisioners
    ]
    return tuple({nodes.source: nodes for nodes in found}.values())


@edge(TAINTED)
def tainted(inventory: Inventory) -> Iterator[Judgement]:
    """Taints of GPU nodes none of which keeps a pod out.

    What is not known of these, and of images, is not told: they are notes, and templates leave much
    of it open.
    """
    for nodes in _gpu_nodes(inventory, "managed", "selfManaged", "karpenter"):
        if nodes.taints is UNKNOWN or nodes.user_data is UNKNOWN or not nodes.taints:
            continue
        if not any(taint.effect in KEEPS_OFF for taint in nodes.taints):
            yield Problem(
                TAINTED,
                nodes.source,
                (),
                f"{at_start(nodes.source.name)} has taints, and none keeps pods that need no GPU "
                f"from its nodes.",
                "Give one the effect NoSchedule, and let the pods of GPUs and the device plugin "
                "tolerate it.",
            )


@edge(PINNED)
def images(inventory: Inventory) -> Iterator[Judgement]:
    """Images that are what a parameter says on the day."""
    for nodes in _gpu_nodes(inventory, "managed", "selfManaged"):
        if nodes.ami is not UNKNOWN and moving_parameter(nodes.ami):
            yield Problem(
                PINNED,
                nodes.source,
                (),
                f"{at_start(nodes.source.name)} starts nodes from what {nodes.ami} says that day.",
                "Name a version of the parameter, or the ID of an image.",
            )
