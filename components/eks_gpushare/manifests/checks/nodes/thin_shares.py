"""How much of a node comes with each share of its GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.documents.device_plugin import DocumentError, device_plugin_config
from eks_gpushare.facts.shares import thin
from eks_gpushare.inventory.advertised import offers
from eks_gpushare.inventory.items import ConfigMap
from eks_gpushare.inventory.kept import kept
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.rules.against import THIN_SHARES
from eks_gpushare.sharing.nodes import allocatable
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.sharing.nodes import Allocatable


_SHARES: Final = re.compile("replicas", re.IGNORECASE)
"""What a configuration that shares GPUs has in any case; its keys are read in either."""


@edge(THIN_SHARES)
def shares_have_a_cpu(inventory: Inventory) -> Iterator[Judgement]:
    """Of time slices and MPS, also where the one configuration is not known to be in force."""
    for cluster in inventory.clusters():
        written = replicas_written(inventory, cluster)
        for offer in offers(inventory, cluster).every:
            found = offer.kind.type
            if found is None or not found.gpu_count or offer.kind.nodes.advertised is not None:
                continue
            known = offer.config is not None and offer.resources is not None
            replicas = _replicas(offer) if known else written
            if replicas is None:
                continue
            shares, room = found.gpu_count * replicas, allocatable(found)
            if thin(room.cpu_millis, room.memory_mib, shares):
                yield _problem(offer, found, shares, room, known=known)


def _replicas(offer: Offer) -> int | None:
    cut = offer.mig.instances is None or bool(offer.mig.instances)
    return None if offer.config is None or cut else offer.config.replicas.get(GPU)


@kept
def replicas_written(inventory: Inventory, cluster: str) -> int | None:
    """What the only configuration says, be it taken or not; None where there are several."""
    found: set[int] = set()
    for config_map in inventory.of(ConfigMap, cluster):
        for text in () if config_map.data is UNKNOWN else config_map.data.values():
            # Most texts are dashboards, scripts and settings of others: reading each takes long.
            if not isinstance(text, str) or not _SHARES.search(text):
                continue
            try:
                config = device_plugin_config(text)
            except DocumentError:
                continue
            if GPU in config.replicas:
                found.add(config.replicas[GPU])
    return found.pop() if len(found) == 1 else None


def _problem(
    offer: Offer, found: InstanceType, shares: int, room: Allocatable, *, known: bool
) -> Problem:
    source = offer.kind.nodes.source
    what = "has" if known else "has, if the device plugin goes by the configuration here,"
    return Problem(
        THIN_SHARES,
        source,
        ("instanceTypes",),
        f"A {found.name} of {source.name} {what} {shares} shares: of its {room.cpu_millis}m CPU "
        f"and {room.memory_mib} MiB each gets {room.cpu_millis // shares}m and "
        f"{room.memory_mib // shares} MiB, and nothing limits how much of the GPU's memory a pod "
        "takes.",
        "Let pods request no more than that, set fewer replicas, or take a type with more CPU per "
        "GPU.",
    )
