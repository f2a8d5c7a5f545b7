"""Pods that ask for no GPU and select nodes of pools: placeholders, caches, sidecars apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.items import PART_OF_POD, NodeSet, Workload
from eks_gpushare.inventory.label_index import LabelIndex
from eks_gpushare.inventory.nodes import NodeKind
from eks_gpushare.inventory.problem import Edit, NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import requests_of
from eks_gpushare.inventory.scheduling import landing, lasting, with_extended_tolerations
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.sharing.labels import OWN_PREFIX, POOL_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import NodeTaint
    from eks_gpushare.inventory.problem import Judgement

PINNED = rule_of("GPU1118")
_NODE_POOL = "karpenter.sh/nodepool"


@edge(PINNED)
def pinned(inventory: Inventory) -> Iterator[Judgement]:
    """Those that ask for GPUs are held against what nodes advertise."""
    for cluster in inventory.clusters():
        kinds = [NodeKind(nodes, None) for nodes in inventory.of(NodeSet, cluster)]
        every = [kind for kind in kinds if kind.nodes.provisioner not in ("byHand", "autoMode")]
        by_hand = [kind for kind in kinds if kind.nodes.provisioner == "byHand"]
        there = _There(every, LabelIndex(every), _keys_of(every))
        for workload in inventory.of(Workload, cluster):
            if workload.kind in (PART_OF_POD, "DaemonSet") or not every:
                continue
            selector = at(workload.spec, "nodeSelector")
            if not selector or at(workload.spec, "nodeName") or any(requests_of(workload)):
                continue
            # Such as the nodes of a running cluster, whatever made them.
            if not any(_may_land(workload, kind) for kind in by_hand):
                yield from _of(inventory, workload, selector, there)


def _may_land(workload: Workload, kind: NodeKind) -> bool:
    spec = with_extended_tolerations(workload.spec)
    return landing(spec, lasting(kind.nodes.taints), kind.label).lands is not False


class _There(NamedTuple):
    """All nodes of a cluster."""

    every: Sequence[NodeKind]
    by_label: LabelIndex
    keys: frozenset[str]
    """Labels that some of them set themselves, so that they are labels of these."""


def _keys_of(every: Sequence[NodeKind]) -> frozenset[str]:
    labels = (kind.nodes.labels for kind in every)
    own = {key for given in labels if given is not UNKNOWN for key in given}
    by_name = {_NODE_POOL for kind in every if kind.nodes.provisioner == "karpenter"}
    return frozenset(own | by_name)


def _of(
    inventory: Inventory, workload: Workload, selector: Any, there: _There
) -> Iterator[Judgement]:
    if has_unknown(selector) or has_unknown(at(workload.spec, "tolerations")):
        yield NotSeen(PINNED, workload.source, f"the nodes that {workload.source.name} selects")
        return
    wanted = {str(key): str(text(value)) for key, value in pairs(selector)}
    own = {key: value for key, value in wanted.items() if key in there.keys}
    if there.by_label.having(own):
        yield from _kept_off(inventory, workload, wanted, there)
        return
    ours = {key: value for key, value in wanted.items() if key.startswith(OWN_PREFIX)}
    nowhere = {
        key: value for key, value in ours.items() if not there.by_label.may_have(key, [value])
    }
    if nowhere and inventory.complete and POOL_LABEL in there.keys:
        yield _nowhere(workload, nowhere, there.every)


def _kept_off(
    inventory: Inventory, workload: Workload, wanted: dict[str, str], there: _There
) -> Iterator[Judgement]:
    """By all nodes here that have the labels; of files, others may have them too."""
    spec = with_extended_tolerations(workload.spec)
    own = {key: value for key, value in wanted.items() if key in there.keys}
    known = there.by_label.having(own)
    meant = [there.every[position] for position in known]
    found = [landing(spec, lasting(kind.nodes.taints), kind.label) for kind in meant]
    if not all(pod.taints for pod in found):
        return
    maybe = frozenset.intersection(*(there.by_label.may_have(key, [own[key]]) for key in own))
    others = [there.every[position] for position in maybe.difference(known)]
    if any(
        landing(spec, lasting(kind.nodes.taints), kind.label).lands is not False for kind in others
    ):
        yield NotSeen(PINNED, workload.source, f"the nodes that {workload.source.name} selects")
        return
    nodes, taints = meant[0].nodes, tuple(dict.fromkeys(found[0].taints))
    where = (*workload.spec_path, "tolerations")
    missing = [_toleration(taint) for taint in taints]
    edits = (
        tuple(Edit("append", where, toleration) for toleration in missing)
        if items(at(workload.spec, "tolerations"))
        else (Edit("set", where, missing),)
    )
    listed = ", ".join(f"{key}={value}" for key, value in wanted.items())
    added = ", ".join(
        "{" + ", ".join(f"{key}: {value}" for key, value in toleration.items()) + "}"
        for toleration in missing
    )
    yield Problem(
        PINNED,
        workload.source,
        where,
        f"{at_start(workload.source.name)} selects nodes with {listed} and does not tolerate the "
        f"taint {taints[0]} of {nodes.source.name}, which are such.",
        f"Add {added} to its tolerations.",
        None if inventory.complete else "warning",
        edits,
    )


def _toleration(taint: NodeTaint) -> dict[str, Any]:
    return {"key": taint.key, "operator": "Exists", "effect": taint.effect}


def _nowhere(workload: Workload, nowhere: dict[str, str], every: Sequence[NodeKind]) -> Problem:
    pools = [kind.label(POOL_LABEL) for kind in every]
    listed = ", ".join(dict.fromkeys(str(pool) for pool in pools if pool not in (None, UNKNOWN)))
    key, value = next(iter(nowhere.items()))
    return Problem(
        PINNED,
        workload.source,
        (*workload.spec_path, "nodeSelector", key),
        f"{at_start(workload.source.name)} selects nodes with {key}={value}, and none has that "
        f"label; {POOL_LABEL} is one of {listed}.",
        "Select a pool that is there.",
    )
