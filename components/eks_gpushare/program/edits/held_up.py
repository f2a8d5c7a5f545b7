"""Why nodes of Karpenter's that drift may stay as they are, and the way out.

Karpenter starts a node before it drains one: it drains none whose pods fit on no node that there is
or could be, and waits as long as none can be launched (pkg/controllers/disruption/drift.go of
sigs.k8s.io/karpenter). From 1.15 on it can end the old node first where a reservation is full
(designs/terminate-first-disruption.md there), by a gate that is off by default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.helm import value_at
from eks_gpushare.program.edits.compared import RELEASE, inputs
from eks_gpushare.sharing.karpenter.controller import TERMINATE_FIRST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.program.recording import Recording, Resource

_NO_ROOM = (
    "; where its reservation has no instance free, none starts and none is drained, until you take "
    "nodes away: {remove}"
)
_ENDED_FIRST = (
    "; where its reservation has no instance free, each is drained and ends before another one "
    "starts, and its pods wait meanwhile"
)
_NO_SHARES = (
    "; no new node has {gone}, so a node with a pod that asks for it stays, until you change what "
    "the pod asks for or take the node away: {remove}"
)
_NO_LABEL = (
    "; no new node has the label {labels}, so a node with a pod that selects it stays, until you "
    "change what the pod selects or take the node away: {remove}"
)
_REMOVE = "kubectl delete nodeclaims -l karpenter.sh/nodepool={name}"


def held_up(
    pool: Resource,
    ways: list[str] | None,
    told: tuple[Mapping[str, dict[str, Any]], Mapping[str, dict[str, Any]]],
    lost: str,
    after: Recording,
) -> str:
    """What is said of it behind what drifts; empty where nothing holds it up.

    Args:
        pool: The NodePool as it is to become.
        ways: How its nodes may be bought.
        told: What Karpenter is told of nodes of each type, before and after.
        lost: Labels that new nodes do not have; `""` if none is missing.
        after: What the stack is to become.
    """
    remove = _REMOVE.format(name=inputs(pool)["metadata"]["name"])
    says = ""
    if ways == ["reserved"]:
        says = _ENDED_FIRST if _ends_first(after) else _NO_ROOM.format(remove=remove)
    offered = [
        {name for of in side.values() for name, count in of.items() if str(count) != "0"}
        for side in told
    ]
    if gone := sorted(offered[0] - offered[1]):
        says += _NO_SHARES.format(gone=" or ".join(gone), remove=remove)
    if lost:
        says += _NO_LABEL.format(labels=lost, remove=remove)
    return says


def _ends_first(after: Recording) -> bool:
    """Whether the stack's own Karpenter has the gate; of another one nobody here knows."""
    gate = f"settings.featureGates.{TERMINATE_FIRST}"
    values = (inputs(release).get("values") for release in after.of_type(RELEASE))
    return any(value_at(given, gate) is True for given in values if isinstance(given, dict))
