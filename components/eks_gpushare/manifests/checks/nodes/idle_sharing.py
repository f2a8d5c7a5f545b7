"""Sharing that is configured, and comes to nothing on the nodes that it is for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.advertised import offers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.rules.idle_sharing import NOTHING_OF_THAT_NAME, ONE_PROCESS
from eks_gpushare.sharing.resources import GPU, mig_resource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_COMPUTE_MODE: Final = re.compile(
    r"^[^#\n]*\bnvidia-smi\b[^#\n|;&]*\s(?:-c|--compute-mode)[= ]*"
    r"(?P<mode>1|2|3|EXCLUSIVE_THREAD|EXCLUSIVE_PROCESS|PROHIBITED)\b",
    re.MULTILINE,
)
"""`nvidia-smi -c 3`; the numbers are those of `nvidia-smi --help-query-gpu`, compute_mode."""


@edge(NOTHING_OF_THAT_NAME)
def names(inventory: Inventory) -> Iterator[Judgement]:
    """Configurations of MIG nodes that share what none of their nodes has."""
    for cluster in inventory.clusters():
        every = offers(inventory, cluster).every
        if any(_devices(offer) is None for offer in every):
            continue  # it may be for those
        said: set[int] = set()
        for offer in every:
            shared = tuple(offer.config.replicas) if offer.config is not None else ()
            alike = [_devices(other) for other in every if other.config == offer.config]
            has = {name for names in alike for name in names or ()}
            missing = [name for name in shared if name not in has]
            if not offer.mig.instances or not shared or len(missing) < len(shared):
                continue
            if id(offer.kind.nodes) in said:
                continue
            said.add(id(offer.kind.nodes))
            names = ", ".join(sorted(has))
            yield Problem(
                NOTHING_OF_THAT_NAME,
                offer.kind.nodes.source,
                (),
                f"{at_start(offer.kind.nodes.source.name)} is to share {', '.join(missing)}, and "
                f"its GPUs are given to pods as {names}.",
                f"Name {names} under the resources of the sharing.",
            )


def _devices(offer: Offer) -> frozenset[str] | None:
    """What the plugin finds before anything is shared; None where that is not known."""
    mig, config = offer.mig, offer.config
    if config is None or mig.instances is None or mig.problems:
        return None
    if config.mig_strategy != "mixed" or not mig.instances:
        return frozenset((GPU,))
    whole = (GPU,) if mig.whole != 0 else ()
    return frozenset((*whole, *map(mig_resource, mig.instances)))


@edge(ONE_PROCESS)
def compute_modes(inventory: Inventory) -> Iterator[Judgement]:
    """Of nodes whose GPUs pods share by time slices, what their boot does to them."""
    for cluster in inventory.clusters():
        said: set[int] = set()
        for offer in offers(inventory, cluster).every:
            nodes, config = offer.kind.nodes, offer.config
            told = "" if nodes.user_data is UNKNOWN else nodes.user_data
            found = _COMPUTE_MODE.search(told)
            if found is None or config is None or config.sharing != "timeSlicing":
                continue
            if id(nodes) in said:
                continue
            said.add(id(nodes))
            yield Problem(
                ONE_PROCESS,
                nodes.source,
                (),
                f"{at_start(nodes.source.name)} sets its GPUs to the compute mode {found['mode']} "
                "at boot, and pods share them by time slices.",
                "Leave the mode alone: DEFAULT lets several processes have a GPU.",
            )
