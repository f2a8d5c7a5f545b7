"""What of an edit of Kubernetes versions EKS refuses, whatever program asks for it.

A control plane goes up by one minor version at a time, and its nodes are at most three behind it
and never ahead: https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html and
https://kubernetes.io/releases/version-skew-policy, read 2026-11-22.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eks_gpushare.catalog.kubelet import OLDEST_KUBELET
from eks_gpushare.program.edits.compared import CLUSTER, NODE_GROUP, RAW_CLUSTER, bare, inputs
from eks_gpushare.program.edits.kinds import Consequence, edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.program.recording import Recording, Resource

_VERSION = re.compile(r"([0-9]+)\.([0-9]+)")

_DOWN = "EKS refuses it: the control plane is at {was}, and {now} is earlier"
_TWO = "EKS refuses it: from {was} to {now} the control plane would skip {between}"
_TOO_OLD = (
    "EKS refuses to upgrade the control plane to {now} with nodes at {nodes}: nodes may be three "
    "minor versions behind it; upgrade {group} first"
)
_TOO_NEW = "EKS refuses it: nodes at {nodes} are ahead of their control plane, which is at {now}"


def of_versions(before: Recording, after: Recording) -> Iterator[Consequence]:
    """Upgrades of control planes and nodes that EKS does not make."""
    olds = {bare(resource.urn): resource for resource in clusters_of(before)}
    old_groups = {bare(resource.urn): resource for resource in before.of_type(NODE_GROUP)}
    for new in clusters_of(after):
        old, now = olds.get(bare(new.urn)), _minor(new, "version")
        was = _minor(old, "version") if old else None
        if was and now:
            yield from _of_control_plane(new, was, now)
        for group in _groups_of(new, after) if now else ():
            had = old_groups.get(bare(group.urn))
            yield from _of_group(group, had, now or (0, 0), upgraded=bool(was and was != now))


def clusters_of(run: Recording) -> list[Resource]:
    """Every control plane of a program once: those of pulumi-eks, and those made without it."""
    outer = run.of_type(CLUSTER)
    within = {resource.urn for resource in outer}
    return [
        *outer,
        *(resource for resource in run.of_type(RAW_CLUSTER) if resource.parent not in within),
    ]


def _of_control_plane(
    cluster: Resource, was: tuple[int, int], now: tuple[int, int]
) -> Iterator[Consequence]:
    because = ("version",)
    if now < was:
        yield edit(cluster.name, "refused", because, _DOWN.format(was=_text(was), now=_text(now)))
    elif now[0] == was[0] and now[1] > was[1] + 1:
        between = ", ".join(_text((was[0], minor)) for minor in range(was[1] + 1, now[1]))
        says = _TWO.format(was=_text(was), now=_text(now), between=between)
        yield edit(cluster.name, "refused", because, says)


def _of_group(
    group: Resource, old: Resource | None, now: tuple[int, int], *, upgraded: bool
) -> Iterator[Consequence]:
    nodes = _minor(group, "version") or _minor(group, "releaseVersion")
    if nodes is None or nodes[0] != now[0]:
        return
    if nodes > now:
        yield edit(
            group.name, "refused", ("version",), _TOO_NEW.format(nodes=_text(nodes), now=_text(now))
        )
        return
    stay = old is not None and nodes == (_minor(old, "version") or _minor(old, "releaseVersion"))
    if upgraded and stay and now[1] - nodes[1] > OLDEST_KUBELET:
        says = _TOO_OLD.format(now=_text(now), nodes=_text(nodes), group=group.name)
        yield edit(group.name, "refused", ("version",), says)


def _groups_of(cluster: Resource, run: Recording) -> list[Resource]:
    """Node groups that join a cluster of this program."""
    own = {
        resource.urn for resource in run.resources if cluster.urn in {resource.urn, resource.parent}
    }
    name = inputs(cluster).get("name")
    return [
        group
        for group in run.of_type(NODE_GROUP)
        if own & set(group.property_dependencies.get("clusterName", ()))
        or (isinstance(name, str) and inputs(group).get("clusterName") == name)
    ]


def _minor(resource: Resource | None, key: str) -> tuple[int, int] | None:
    given = inputs(resource).get(key) if resource else None
    found = _VERSION.match(given) if isinstance(given, str) else None
    return (int(found[1]), int(found[2])) if found else None


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
