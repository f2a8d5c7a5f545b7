"""Whether nodes advertise what is configured, what is declared, and what their machines have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.live import rules
from eks_gpushare.live.faults import Link, NodeFault
from eks_gpushare.sharing.resources import MIG_PREFIX

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.live.nodes import LiveNode

_COUNT: Final = "nvidia.com/gpu.count"
_RESTART: Final = (
    "Restart the device plugin's pod on {node}: it reads its configuration when it starts."
)
_CUT: Final = (
    "See nvidia-smi mig -lgi on {node}: where its GPUs are not cut as declared, drain and replace "
    "it, since its boot cuts them; else see the log of its device plugin, which may be told "
    "another migStrategy."
)


def share_faults(
    nodes: Iterable[LiveNode],
    declared: Mapping[str, Mapping[str, int]],
    offered: Mapping[str, Offer],
    served: Collection[str],
    settling: Collection[str] = (),
) -> Iterator[NodeFault]:
    """Nodes that advertise something else than they should.

    Args:
        nodes: The nodes with GPUs.
        declared: What the stack says that they advertise, by their names; none of other nodes.
        offered: What follows from what is configured, by their names.
        served: Names of those on which a device plugin is ready.
        settling: Names of those on which one is about to be, so that nothing is known of shares.
    """
    for node in nodes:
        if node.is_leaving or not node.is_ready or node.is_joining:
            continue
        yield from _gpus_missing(node)
        if node.name in settling:
            continue
        # Without a plugin kubelet keeps the capacity for a while, and nothing is known of devices.
        lost = _unhealthy(node) if node.name in served else None
        if lost is not None:
            yield lost
            continue
        wanted = declared.get(node.name)
        configured = _configured(node, offered.get(node.name))
        if wanted is not None:
            yield from _differs(node, wanted, configured, is_declared=True)
        elif configured is not None:
            yield from _differs(node, configured, configured, is_declared=False)


def _gpus_missing(node: LiveNode) -> Iterator[NodeFault]:
    counted = node.labels.get(_COUNT, "")
    if (
        node.type is None
        or not (counted.isascii() and counted.isdecimal())
        or int(counted) >= node.type.gpu_count
    ):
        return
    yield NodeFault(
        rules.GPUS_MISSING,
        Link.NODE,
        node,
        f"it has {counted} of the {node.type.gpu_count} GPUs of {node.type.name}.",
        "Drain {node} and replace its instance: a GPU that fell off the bus does not come back.",
        f"label {_COUNT}={counted}",
    )


def _unhealthy(node: LiveNode) -> NodeFault | None:
    lost = {
        name: count - node.advertised.get(name, 0)
        for name, count in node.capacity.items()
        if count > node.advertised.get(name, 0)
    }
    if not lost:
        return None
    told = ", ".join(f"{count} of {node.capacity[name]} {name}" for name, count in lost.items())
    return NodeFault(
        rules.UNHEALTHY_DEVICES,
        Link.SHARES,
        node,
        f"its device plugin says that {told} are unhealthy.",
        "See the log of its device plugin for the XID, and replace the node if it does not pass.",
        f"status.capacity is {counts_text(node.capacity)}, status.allocatable "
        f"{counts_text(node.advertised)}",
    )


def _configured(node: LiveNode, offer: Offer | None) -> Mapping[str, int] | None:
    """What follows for a node from the plugin's configuration; None where it is not known."""
    if offer is None or offer.resources is None or None in offer.resources.values():
        return None
    if offer.mig.by == "nobody" and node.may_be_cut:
        return None  # by something that its objects do not show, such as its boot
    return {name: count for name, count in offer.resources.items() if count}


def _differs(
    node: LiveNode,
    wanted: Mapping[str, int],
    configured: Mapping[str, int] | None,
    *,
    is_declared: bool,
) -> Iterator[NodeFault]:
    if wanted == node.advertised:
        return
    what = f"it advertises {counts_text(node.advertised)}"
    evidence = f"status.allocatable is {counts_text(node.advertised)}"
    is_as_configured = configured == node.advertised
    if is_declared:
        what += f", and its pool declares {counts_text(wanted)}."
        if configured is not None and not is_as_configured:
            evidence += f"; its plugin's configuration gives {counts_text(configured)}"
    else:
        what += f", and its device plugin's configuration gives {counts_text(wanted)}."
    fix = _RESTART
    if is_as_configured:
        fix = "Correct the device plugin's configuration, and restart the plugin."
    elif any(name.startswith(MIG_PREFIX) for name in wanted) and configured is None:
        fix = _CUT
    rule = rules.DIFFERS_FROM_DECLARED if is_declared else rules.DIFFERS_FROM_CONFIGURED
    short = f"it advertises {counts_text(node.advertised)} instead of {counts_text(wanted)}."
    yield NodeFault(rule, Link.SHARES, node, what, fix, evidence, in_short=short)


def counts_text(counts: Mapping[str, int]) -> str:
    """Counts of resources as text."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "nothing"
