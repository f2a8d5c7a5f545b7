"""Whether what labels nodes by their GPUs is still there: NFD, and GPU feature discovery.

Their labels stay when they go. A cluster whose labels are written by hand or by a node group has
never had them, so they are missed only where labels tell of them, or a stack declares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.daemons import TITLES, daemons
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.values import at
from eks_gpushare.live import rules
from eks_gpushare.live.checks.programs import is_changed_just_now, keeps_off, not_made
from eks_gpushare.live.faults import Link, NodeFault
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.live.refusals import refusals_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from eks_gpushare.catalog.chart_daemonsets import Role
    from eks_gpushare.inventory.nodes import NodeKind
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.live.checks.programs import NodePrograms
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import PodOwner

_ROLES: Final[tuple[Role, ...]] = ("nfd", "discovery")
_OF_DISCOVERY: Final = ("nvidia.com/gfd.timestamp", "nvidia.com/gpu.machine")
"""Labels that only GPU feature discovery writes; others are also written for autoscalers:
https://github.com/NVIDIA/k8s-device-plugin/blob/main/docs/gpu-feature-discovery/README.md."""
_OF_NFD: Final = (
    "nfd.node.kubernetes.io/feature-labels",
    "nfd.node.kubernetes.io/worker.version",
)
"""Annotations by which NFD remembers what it has written:
https://kubernetes-sigs.github.io/node-feature-discovery/stable/get-started/introduction.html."""


def declared_labellers(stack: Stack | None) -> frozenset[Role]:
    """Which of the two a stack installs; none without a stack."""
    if stack is None:
        return frozenset()
    found = daemons(Inventory(stack.items), "")
    return frozenset(each.role for each in found if each.role in _ROLES and each.is_on)


def is_labelled_by(node: LiveNode, role: Role) -> bool:
    """Whether something on a node tells that NFD or GPU feature discovery has been there."""
    if role == "discovery":
        return any(label in node.labels for label in _OF_DISCOVERY)
    found = at(node.object, "metadata", "annotations") or {}
    return any(key in found for key in _OF_NFD)


def labelling_faults(
    objects: ClusterObjects,
    nodes: Iterable[LiveNode],
    programs: NodePrograms,
    kinds: Mapping[str, NodeKind],
    declared: Mapping[str, Collection[Role]],
) -> Iterator[NodeFault]:
    """Nodes whose labels nobody renews any more.

    Args:
        objects: The cluster.
        nodes: Its nodes with GPUs.
        programs: What runs there.
        kinds: How the inventory has the nodes, by their names.
        declared: What its stack installs for a node, by its name.
    """
    if {"DaemonSet", "Pod"} & set(objects.unread):
        return
    refusals = refusals_of(objects)
    for node in nodes:
        kind = kinds.get(node.name)
        if node.is_leaving or node.is_joining or not node.is_ready:
            continue
        if kind is not None and kind.serves_itself:
            continue
        for role in _ROLES:
            is_declared = role in declared.get(node.name, ())
            if is_declared or is_labelled_by(node, role):
                yield from _gone(node, role, programs, refusals, is_declared=is_declared)


def _gone(
    node: LiveNode,
    role: Role,
    programs: NodePrograms,
    refusals: Mapping[PodOwner, str],
    *,
    is_declared: bool,
) -> Iterator[NodeFault]:
    place, sets = (node.name, role), programs.sets.get(role, ())
    if programs.on.get(place) or place in programs.ending:
        return
    if not sets:
        what = f"no DaemonSet runs {TITLES[role]}"
        fix = "Install it again with the chart that it came with, or remove its labels."
    else:
        nearest = min(sets, key=lambda one: len(keeps_off(one, node)))
        if keeps_off(nearest, node) or is_changed_just_now(nearest):
            return  # by a label of the operator's, or told of the DaemonSet
        why, fix = not_made(nearest, node, programs.unplaced.get(place, ()), refusals)
        called = f"{namespace_of(nearest)}/{name_of(nearest)}"
        what = f"no pod of {TITLES[role]} ({called}) is on it: {'; '.join(why)}"
    harm = "its labels stay as they are, whatever changes, and the next node gets none"
    if not is_labelled_by(node, role):
        harm = "nothing labels it by what it has"
    yield NodeFault(
        rules.LABELS_NOT_RENEWED,
        Link.PROGRAMS,
        node,
        f"{what}, so {harm}.",
        fix,
        severity="error" if is_declared else None,
        in_short=f"{what}.",
        explains_nothing=True,  # what has been labelled once stays so
    )
