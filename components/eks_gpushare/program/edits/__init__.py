"""What an edit of a stack file does to the nodes: replaces them, rolls them, or leaves them alone.

Two recordings are compared, one before and one after the edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.program.edits.access import ENTRY, of_access
from eks_gpushare.program.edits.cluster import (
    in_other_hands,
    of_clusters,
    of_clusters_gone,
    of_other_clusters,
    of_ways_out,
)
from eks_gpushare.program.edits.compared import (
    CLUSTER,
    NODE_GROUP,
    RAW_CLUSTER,
    RELEASE,
    ROLE,
    bare,
    by_urn,
    changed,
)
from eks_gpushare.program.edits.karpenter import of_karpenter
from eks_gpushare.program.edits.kinds import Consequence, Effect, edit
from eks_gpushare.program.edits.leavers import (
    WORKSPACE,
    of_leavers,
    of_namespaces,
    of_warm_room,
    of_workspaces,
)
from eks_gpushare.program.edits.nodes import REPLACING, of_group
from eks_gpushare.program.edits.releases import of_releases
from eks_gpushare.program.edits.running import of_addons, of_pods
from eks_gpushare.program.edits.sharing import of_managers, of_requests
from eks_gpushare.program.edits.stored import of_logs, of_reservations, of_series
from eks_gpushare.program.edits.tenants import of_queues, of_quotas
from eks_gpushare.program.edits.versions import clusters_of, of_versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.program.recording import Recording

__all__ = ["Consequence", "Effect", "edits", "moved"]

_FORCED_BY: dict[str, frozenset[str]] = {
    ROLE: frozenset({"name", "namePrefix", "path"}),
    RAW_CLUSTER: frozenset({"roleArn"}),
    "aws:ec2/vpc:Vpc": frozenset({"cidrBlock"}),
    "aws:ec2/subnet:Subnet": frozenset({"availabilityZone", "cidrBlock", "vpcId"}),
    CLUSTER: frozenset({"encryptionConfigKeyArn", "name", "vpcId"}),
    RELEASE: frozenset({"name", "namespace"}),
    NODE_GROUP: REPLACING,
    WORKSPACE: frozenset({"kmsKeyArn"}),
    ENTRY: frozenset({"clusterName", "principalArn"}),
}
"""Properties whose change, or the replacement of what they point to, replaces a resource."""


def edits(before: Recording, after: Recording) -> list[Consequence]:
    """What changes for nodes from one recording to the next; nothing where nothing does.

    Both must have been recorded with known values: what is unknown cannot be compared. Where a
    control plane cannot be changed as it is asked, only that is told: the rest does not happen.
    """
    replaced = _replaced(before, after)
    clusters = [
        *of_clusters(before, after, replaced),
        *of_clusters_gone(before, after),
        *of_versions(before, after),
    ]
    if refused := [consequence for consequence in clusters if consequence.effect == "refused"]:
        return refused
    nodes = [
        *_of_groups(before, after, replaced),
        *of_karpenter(before, after, replaced),
    ]
    drained = {each.name for each in nodes if each.effect in {"replace", "roll"}}
    anew = {new.name for _, new in in_other_hands(before, after)}
    found = [
        *nodes,
        *clusters,
        *of_access(before, after, replaced),
        *of_other_clusters(before, after),
        *of_ways_out(before, after),
        *of_managers(before, after, drained),
        *of_releases(before, after, replaced, drained),
        *of_workspaces(after, replaced),
        *of_addons(before, after),
        *of_pods(before, after),
        *of_requests(before, after, drained),
        *of_warm_room(before, after),
        *of_quotas(before, after),
        *of_queues(before, after),
        *of_namespaces(before, after),
        *of_leavers(before, after),
        *of_logs(before, after),
        *of_series(before, after),
        *of_reservations(before, after),
    ]
    return [each for each in found if each.name not in anew]


_ELSEWHERE = "everything is made anew in {now}, and what is in {was} goes, with all that runs on it"
_HELD = (
    "it is protected from deletion, so Pulumi refuses to replace it with one in {now}; the update "
    "stops there"
)


def moved(
    before: Recording, after: Recording, was: str | None, now: str | None
) -> list[Consequence]:
    """What changes where the stack's region does: no resource of one region is in another."""
    places = {"was": was or "the region of before", "now": now or "another region"}
    held = [
        edit(cluster.name, "refused", ("aws:region",), _HELD.format(**places))
        for cluster in clusters_of(before)
        if cluster.protect
    ]
    return held or [edit(after.stack, "replace", ("aws:region",), _ELSEWHERE.format(**places))]


def _of_groups(
    before: Recording, after: Recording, replaced: dict[str, tuple[str, ...]]
) -> Iterator[Consequence]:
    old, new = (by_urn(recording, NODE_GROUP) for recording in (before, after))
    yield from (edit(g.name, "create", ()) for urn, g in new.items() if urn not in old)
    yield from (edit(g.name, "delete", ()) for urn, g in old.items() if urn not in new)
    for urn, group in new.items():
        if urn in old:
            yield from of_group(old[urn], group, before, after, replaced.get(group.urn, ()))


def _replaced(before: Recording, after: Recording) -> dict[str, tuple[str, ...]]:
    """What is replaced, and by the change of which properties, also of what they point to."""
    earlier = {bare(resource.urn): resource for resource in before.resources}
    gone: dict[str, tuple[str, ...]] = {}
    for resource in after.resources:  # in the order of registration: dependencies come first
        old, forcing = earlier.get(bare(resource.urn)), _FORCED_BY.get(resource.type)
        if old is None or forcing is None:
            continue
        pointers = resource.property_dependencies
        moved = {name for name in forcing if any(urn in gone for urn in pointers.get(name, ()))}
        if because := sorted(moved | (forcing & set(changed(old, resource)))):
            gone[resource.urn] = tuple(because)
            if resource.type == RAW_CLUSTER:  # of pulumi-eks, whose component stands for it here
                gone.setdefault(resource.parent, tuple(because))
    return gone
