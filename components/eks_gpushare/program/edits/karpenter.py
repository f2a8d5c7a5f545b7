"""What an edit does to the nodes of Karpenter's pools, and to Karpenter.

Karpenter replaces nodes that are no longer as their NodePool or EC2NodeClass says: they drift. What
counts for that is in `NodePool.Hash` of sigs.k8s.io/karpenter (pkg/apis/v1/nodepool.go: the whole
template but its requirements) and its drift by requirements, and in `EC2NodeClassSpec` and
pkg/cloudprovider/drift.go of aws/karpenter-provider-aws, 1.14.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.duration import seconds
from eks_gpushare.documents.quantity import quantity
from eks_gpushare.program.edits.compared import ROLE, bare, by_urn, inputs, lost_labels
from eks_gpushare.program.edits.held_up import held_up
from eks_gpushare.program.edits.kinds import Consequence, edit
from eks_gpushare.program.edits.versions import clusters_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.program.recording import Recording, Resource

NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
_CAPACITY_TYPE = "karpenter.sh/capacity-type"
NODE_OVERLAY = "kubernetes:karpenter.sh/v1alpha1:NodeOverlay"
CONTROLLER = "eks-gpushare:index:Karpenter"

_DRIFT = "its nodes drift: Karpenter starts new ones and drains the old ones, {budget}"
_GONE = (
    "nodes that are no longer among {gone} drift: Karpenter starts others and drains them, {budget}"
)
_BELIEVED = (
    "Karpenter counts {now} on a new node in place of {was}; no node that runs is touched by that"
)
_MOVED_TO_SAVE = (
    "its nodes stay as they are, but Karpenter may end some that it let be before, and evicts the "
    "pods on them, {budget}"
)
_FEWER = "Karpenter keeps {now} in place of {was} nodes: {gone} drained, and ended with their pods"
_MORE = "Karpenter keeps {now} in place of {was} nodes; none that runs is touched"
_TIGHTER = "Karpenter starts no node above the new limits; those that run stay"
_REMOVED = (
    "its nodes are drained and end, and the update waits for them; pods hold that up as long as "
    "they may"
)
_NEW = "its nodes come when pods wait for them"
_NEW_STATIC = "Karpenter starts its nodes and keeps them"
_INSTALLED = "Karpenter is installed; no node is touched"
_UNINSTALLED = (
    "Karpenter is removed, after the pools that it has made nodes for; its custom resource "
    "definitions go too, and with them whatever others have made of them"
)
RESTARTS = "Karpenter's controller restarts; no node is touched"
DEFINITIONS = "Karpenter's custom resource definitions change in place; no node is touched"
REINSTALLED = (
    "Karpenter is removed and installed anew; nodes stay, and none is started or ended meanwhile"
)


def of_karpenter(
    before: Recording, after: Recording, replaced: Mapping[str, tuple[str, ...]]
) -> Iterator[Consequence]:
    """What happens to Karpenter and to the nodes of each of its pools.

    Args:
        before: What is up.
        after: What it is to become.
        replaced: Properties that replace a resource, by its URN.
    """
    old, new = (by_urn(recording, CONTROLLER) for recording in (before, after))
    yield from (edit(k.name, "create", (), _INSTALLED) for urn, k in new.items() if urn not in old)
    yield from (
        edit(k.name, "delete", (), _UNINSTALLED) for urn, k in old.items() if urn not in new
    )
    pools_before, pools_after = (by_urn(recording, NODE_POOL) for recording in (before, after))
    for urn, pool in pools_after.items():
        if urn not in pools_before:
            static = "replicas" in _spec(pool)
            yield edit(pool.name, "create", (), _NEW_STATIC if static else _NEW)
        else:
            yield from _of_pool(pools_before[urn], pool, before, after, replaced)
    for urn, pool in pools_before.items():
        if urn not in pools_after:
            yield edit(pool.name, "delete", (), _REMOVED)


def _of_pool(
    old: Resource,
    new: Resource,
    before: Recording,
    after: Recording,
    replaced: Mapping[str, tuple[str, ...]],
) -> Iterator[Consequence]:
    name, budget = new.name, _budget(_spec(new))
    was, now = _spec(old), _spec(new)
    old_class, new_class = _beside(old, before, NODE_CLASS), _beside(new, after, NODE_CLASS)
    elsewhere = _changes_elsewhere(new_class, before, after, replaced)
    drifting = [
        *_template_changes(was, now),
        *dict.fromkeys((*_class_changes(old_class, new_class), *elsewhere)),
    ]
    gone = _gone(was, now)
    overlays = _overlays(old, before), _overlays(new, after)
    if drifting or gone:
        says = _DRIFT.format(budget=budget)
        if not drifting:
            says = _GONE.format(gone=_requirements(now, gone), budget=budget)
        lost = lost_labels(_labels(was), _labels(now))
        says += held_up(new, _values(now).get(_CAPACITY_TYPE), overlays, lost, after)
        yield edit(name, "roll", tuple(drifting or gone), says)
    yield from _of_replicas(name, was, now)
    yield from _of_overlays(name, *overlays)
    if (evicts := list(_evicting(was, now))) and not drifting:
        says = _MOVED_TO_SAVE.format(budget=budget)
        yield edit(name, "evict", tuple(evicts), says)
    place = [key for key in ("disruption", "limits", "weight") if was.get(key) != now.get(key)]
    place = [key for key in place if key != "disruption" or not evicts]
    place += [key for key in _requirement_changes(was, now) if key not in gone]
    if place and not drifting:
        lower = _is_lower(was.get("limits") or {}, now.get("limits") or {})
        yield edit(name, "update", tuple(sorted(place)), _TIGHTER if lower else "")


def _changes_elsewhere(
    node_class: Resource | None,
    before: Recording,
    after: Recording,
    replaced: Mapping[str, tuple[str, ...]],
) -> Iterator[str]:
    """What makes nodes drift though their class says the same: what it names is another."""
    if node_class is None:
        return
    pointers = {urn for urns in node_class.property_dependencies.values() for urn in urns}
    if any(urn in replaced and f"{ROLE}::" in urn for urn in pointers):
        yield "role"
    # An alias stands for the image of the version that the control plane has
    # (pkg/providers/amifamily of aws/karpenter-provider-aws, 1.14.1).
    aliased = any("alias" in term for term in _spec(node_class).get("amiSelectorTerms") or ())
    was, now = (
        [inputs(cluster).get("version") for cluster in clusters_of(run)] for run in (before, after)
    )
    if aliased and was and now and was != now:
        yield "cluster.version"


_SAVING = {"WhenEmptyOrUnderutilized", "Balanced"}
"""Policies by which pods are moved to save a node."""
_DEFAULT_BUDGET: Mapping[str, Any] = {"nodes": "10%"}
"""What a NodePool has without any: pkg/apis/v1/nodepool.go."""


def _evicting(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """What of the disruption settings lets Karpenter evict pods that it has let be."""
    old, new = (spec.get("disruption") or {} for spec in (was, now))
    if _holds(old, "Drifted") and not _holds(new, "Drifted"):
        yield "disruption.budgets"  # nodes that have drifted are drained now
        return
    saves = new.get("consolidationPolicy") in _SAVING and "replicas" not in now
    if not saves or _holds(new, "Underutilized"):
        return
    if old.get("consolidationPolicy") not in _SAVING:
        yield "disruption.consolidationPolicy"
        return
    if _sooner(old.get("consolidateAfter"), new.get("consolidateAfter")):
        yield "disruption.consolidateAfter"
    budgets = [_budgets(spec, "Underutilized") for spec in (old, new)]
    if any(not any(_as_strict(budget, held) for budget in budgets[1]) for held in budgets[0]):
        yield "disruption.budgets"


def _sooner(old: object, new: object) -> bool:
    was, now = (seconds(str(duration)) for duration in (old, new))
    return now is not None and (was is None or now < was)


def _holds(disruption: Mapping[str, Any], reason: str) -> bool:
    """Whether a budget lets no node go for a reason, at any time."""
    return any(_always(b) and _nodes(b) == (0, "") for b in _budgets(disruption, reason))


def _budgets(disruption: Mapping[str, Any], reason: str) -> list[Mapping[str, Any]]:
    """Budgets of nodes that go for a reason, such as to save money while pods are on them."""
    found: list[Mapping[str, Any]] = disruption.get("budgets") or [_DEFAULT_BUDGET]
    return [budget for budget in found if reason in budget.get("reasons", [reason])]


def _always(budget: Mapping[str, Any]) -> bool:
    return "schedule" not in budget


def _as_strict(budget: Mapping[str, Any], held: Mapping[str, Any]) -> bool:
    """Whether a budget lets no more go than another one did, whenever that one held."""
    when = "schedule", "duration"
    often = _always(budget) or [budget.get(key) for key in when] == [held.get(key) for key in when]
    (most, unit), (before, of) = _nodes(budget), _nodes(held)
    return often and (most == 0 or (unit == of and most <= before))


def _nodes(budget: Mapping[str, Any]) -> tuple[int, str]:
    """A number of nodes, or of hundredths of them; none is none of either."""
    text = str(budget.get("nodes"))
    number = int(text.rstrip("%"))
    return number, text[-1:] if number and text.endswith("%") else ""


def _spec(resource: Resource) -> dict[str, Any]:
    found: dict[str, Any] = inputs(resource).get("spec") or {}
    return found


def _node(spec: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = spec["template"]["spec"]
    return found


def _template_changes(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What of the template makes every node drift: all of it but the requirements."""
    found = ["labels"] if _labels(was) != _labels(now) else []
    old, new = _node(was), _node(now)
    names = sorted({*old, *new} - {"requirements"})
    return found + [name for name in names if _bag(old.get(name)) != _bag(new.get(name))]


def _labels(spec: Mapping[str, Any]) -> object:
    return spec["template"].get("metadata", {}).get("labels")


def _bag(value: object) -> object:
    """A value as Karpenter compares it: lists are sets there, and what is empty is not there."""
    return sorted(map(str, value)) or None if isinstance(value, list) else value or None


_BY_WHAT_THEY_FIND = (
    "amiFamily",
    "amiSelectorTerms",
    "capacityReservationSelectorTerms",
    "ipPrefixCount",
    "securityGroupSelectorTerms",
    "subnetSelectorTerms",
)
"""Fields of a node class that are not compared themselves, but by what they select."""


def _class_changes(old: Resource | None, new: Resource | None) -> list[str]:
    """What of the node class makes nodes drift; of a selector, what it selects."""
    if old is None or new is None:
        return []
    was, now = _spec(old), _spec(new)
    names = sorted({*was, *now})
    found = [name for name in names if _bag(was.get(name)) != _bag(now.get(name))]
    if found == ["subnetSelectorTerms"] and _kept(was, now, found[0]):
        return []  # nodes stay where they are: their subnet is among them still
    return [name for name in found if name != "ipPrefixCount"]


def _kept(was: Mapping[str, Any], now: Mapping[str, Any], name: str) -> bool:
    return all(entry in now.get(name, []) for entry in was.get(name, []))


def _values(spec: Mapping[str, Any]) -> dict[str, list[str]]:
    """The requirements of nodes: the values of each key."""
    return {
        requirement["key"]: requirement.get("values", [])
        for requirement in _node(spec)["requirements"]
    }


def _requirement_changes(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    old, new = _values(was), _values(now)
    return [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]


def _gone(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Requirements that a node of before may not meet any more."""
    old, new = _values(was), _values(now)
    return [
        key
        for key in _requirement_changes(was, now)
        if key in new and (key not in old or set(old[key]) - set(new[key]))
    ]


def _requirements(spec: Mapping[str, Any], keys: list[str]) -> str:
    values = _values(spec)
    return " and ".join(", ".join(values[key]) for key in keys)


def _budget(spec: Mapping[str, Any]) -> str:
    """How many nodes may drift away at a time; of several budgets, the least counts."""
    if _holds(disruption := spec.get("disruption") or {}, "Drifted"):
        return "once its budgets let any go, which they do at no time"
    budgets = disruption.get("budgets") or []
    said = []
    for budget in budgets:
        reasons = budget.get("reasons")
        if reasons is not None and "Drifted" not in reasons:
            continue
        nodes = str(budget["nodes"])
        many = f"{nodes} of them" if nodes.endswith("%") else nodes
        when = (
            f" from {budget['schedule']} UTC for {budget['duration']}"
            if "schedule" in budget
            else ""
        )
        said.append(
            f"at most {many} at a time{when}" if nodes not in {"0", "0%"} else f"none{when}"
        )
    return " and ".join(said) or "as many at a time as there are"


def _of_replicas(
    name: str, was: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[Consequence]:
    old, new = was.get("replicas"), now.get("replicas")
    if old is None or new is None or old == new:
        return
    says = _MORE.format(was=old, now=new)
    if new < old:
        count = old - new
        gone = "1 is" if count == 1 else f"{count} are"
        says = _FEWER.format(was=old, now=new, gone=gone)
    yield edit(name, "terminate" if new < old else "update", ("replicas",), says)


def _beside(pool: Resource, recording: Recording, token: str) -> Resource | None:
    """The object of another kind that is in the same component."""
    found = (resource for resource in recording.of_type(token) if resource.parent == pool.parent)
    return next(found, None)


def _overlays(pool: Resource, recording: Recording) -> dict[str, dict[str, Any]]:
    """What Karpenter is told of each type, by the URN of the overlay."""
    return {
        bare(resource.urn): _spec(resource).get("capacity") or {}
        for resource in recording.of_type(NODE_OVERLAY)
        if resource.parent == pool.parent
    }


def _of_overlays(
    name: str, old: Mapping[str, dict[str, Any]], new: Mapping[str, dict[str, Any]]
) -> Iterator[Consequence]:
    for urn, told in new.items():
        if urn in old and old[urn] != told:
            kind = urn.rpartition("-overlay-")[2]
            says = _BELIEVED.format(was=_counted(old[urn]), now=_counted(told))
            yield edit(name, "update", (kind,), says)


def _counted(told: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in told.items() if str(count) != "0")


def _is_lower(was: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether a limit is new, or a smaller whole number than before."""
    for name, most in now.items():
        if name not in was:
            return True
        before, now_most = quantity(str(was[name])), quantity(str(most))
        if before is not None and now_most is not None and now_most < before:
            return True
    return False
