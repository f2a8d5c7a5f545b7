"""What an edit does to the nodes of a node group.

What AWS does with a changed property is a fact of the EKS API:
https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateNodegroupConfig.html and
API_UpdateNodegroupVersion.html, and what pulumi-aws replaces for and sends is in
hashicorp/terraform-provider-aws, internal/service/eks/node_group.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.program.edits.compared import changed, dropped, inputs, lost_labels
from eks_gpushare.program.edits.kinds import Consequence, edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.program.recording import Recording, Resource

REPLACING = frozenset(
    {
        "amiType",
        "capacityType",
        "clusterName",
        "diskSize",
        "instanceTypes",
        "nodeGroupName",
        "nodeGroupNamePrefix",
        "nodeRoleArn",
        "remoteAccess",
        "subnetIds",
    }
)
"""Properties for which the provider makes another node group: ForceNew."""
_ROLLING = frozenset({"releaseVersion", "version"})
_SIZES, _TAINTS = "scalingConfig", "taints"
_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_NO_NEW_VERSION = frozenset({"tags", "tagsAll", "updateDefaultVersion", "description", "name"})
"""Properties of a launch template that are no part of its versions."""
_MIG_CONFIG = "nvidia.com/mig.config"
_MINIMAL = "MINIMAL"
_IGNORED = "scalingConfig.desiredSize"

_DELETED_FIRST = (
    "its nodes are replaced: the old ones are drained and go, and only then new ones start"
)
_ENDED_FIRST = (
    "each of its nodes is drained and ends before another one starts, since their capacity is "
    "there once"
)
_NO_ROOM = (
    "each of its nodes is exchanged for a new one, for which a reservation that is full has no "
    "room: the update then fails, and nodes stay. First have EKS end the old ones first, by an "
    "update of its own with the earlier file and this version of the package"
)
_STILL_CUT = (
    "no layout is named to MIG manager any more, which then leaves the GPUs of running nodes cut, "
    "so they advertise something else than new nodes: replace them"
)
_UNPINNED = (
    "its nodes, and new ones, stay at the release they have: EKS takes the newest at creation only"
)
_TAINTED = (
    "the taints of its running nodes change at once; running pods stay, and new ones need other "
    "tolerations"
)
_UNLABELLED = (
    "its nodes lose {labels} at once; running pods stay, and new ones that select that find no "
    "node here"
)
_SENT_AGAIN = (
    "EKS is sent the new limits with the desired size in the state, {kept} by the earlier file: "
    "nodes above that, which the autoscaler has added since, are terminated, unless "
    "`pulumi up --refresh` reads first how many there are"
)
_EXCLUDED = (
    "EKS refuses it: updates leave the desired size as it is in the state, {kept} by the earlier "
    "file, and the new limits are {low} to {high}"
)
_TAKEN_BACK = (
    "the stack decides its size again: {desired}, whatever the autoscaler has made of it, as soon "
    "as an update finds it different, so run `pulumi up --refresh`; nodes above that are terminated"
)
_FEWER = "EKS scales in from {was} to {now}: {gone}"
_MORE = "EKS starts new nodes, {now} in place of {was}; none that runs is touched"
_LIMITS = (
    "its limits change in place; no node is touched, unless something but the stack has made them "
    "more than {high}"
)


class _Sizes(NamedTuple):
    low: int
    desired: int
    high: int
    kept: bool
    """Whether updates leave the desired size alone."""


def of_group(
    old: Resource,
    new: Resource,
    before: Recording,
    after: Recording,
    replacing: tuple[str, ...],
) -> Iterator[Consequence]:
    """What happens to the nodes of a group that is there before and after.

    Args:
        old: The group as it is.
        new: The group as it is to become.
        before: What is up.
        after: What it is to become.
        replacing: Properties that replace it.
    """
    sizes = list(_of_sizes(new.name, _sizes(old), _sizes(new)))
    if any(size.effect == "refused" for size in sizes):
        yield from sizes
        return
    names = set(changed(old, new)) - {"launchTemplate"}
    if replacing:
        says = _DELETED_FIRST if new.options.get("deleteBeforeReplace") else ""
        yield edit(new.name, "replace", replacing, says)
        return
    rolling = [*sorted(names & _ROLLING), *_template_changes(old, before, new, after)]
    if rolling:
        yield edit(new.name, "roll", tuple(rolling), _rolled(old, new))
    yield from sizes
    if _TAINTS in names:
        yield _of_taints(old, new)
    if lost := lost_labels(inputs(old).get("labels"), inputs(new).get("labels")):
        yield edit(new.name, "update", ("labels",), _UNLABELLED.format(labels=lost))
        names -= {"labels"} if _mig_config(old) == _mig_config(new) else set()
    rest = tuple(sorted(names - _ROLLING - {_SIZES, _TAINTS}))
    if rest and not rolling:
        yield _in_place(old, new, rest)
    if not rolling and (gone := tuple(sorted(dropped(old, new)))):
        yield edit(new.name, "update", gone, _UNPINNED)


def _rolled(old: Resource, new: Resource) -> str:
    """How the nodes of capacity that is fixed are exchanged; `""` where there may be more.

    The provider has EKS exchange the nodes before it tells it another way to do that
    (internal/service/eks/node_group.go), so it is the earlier way that counts.
    """
    was, now = (
        (inputs(resource).get("updateConfig") or {}).get("updateStrategy")
        for resource in (old, new)
    )
    return _ENDED_FIRST if was == _MINIMAL else _NO_ROOM if now == _MINIMAL else ""


def _sizes(group: Resource) -> _Sizes:
    given: dict[str, Any] = inputs(group).get(_SIZES) or {}
    low, desired, high = (int(given.get(f"{name}Size", 0)) for name in ("min", "desired", "max"))
    return _Sizes(low, desired, high, _IGNORED in group.options.get("ignoreChanges", ()))


def _of_sizes(name: str, old: _Sizes, new: _Sizes) -> Iterator[Consequence]:
    because = (_SIZES,)
    if new.kept:
        if not new.low <= old.desired <= new.high:
            says = _EXCLUDED.format(kept=old.desired, low=new.low, high=new.high)
            yield edit(name, "refused", because, says)
        elif (old.low, old.high) != (new.low, new.high):
            yield edit(name, "terminate", because, _SENT_AGAIN.format(kept=old.desired))
    elif old.kept:
        says = _TAKEN_BACK.format(desired=new.desired)
        yield edit(name, "terminate", ("ignoreChanges",), says)
    elif new.desired < old.desired:
        fewer = old.desired - new.desired
        gone = f"{fewer} nodes are" if new.desired else "all its nodes are"
        gone += " terminated, with the pods on them"
        if new.desired and fewer == 1:
            gone = "one node is terminated, with the pods on it"
        says = _FEWER.format(was=old.desired, now=new.desired, gone=gone)
        yield edit(name, "terminate", because, says)
    elif new.desired > old.desired:
        yield edit(name, "update", because, _MORE.format(was=old.desired, now=new.desired))
    elif old != new:
        yield edit(name, "update", because, _LIMITS.format(high=new.high))


def _of_taints(old: Resource, new: Resource) -> Consequence:
    was, now = (inputs(group).get(_TAINTS) or [] for group in (old, new))
    evicting = any(taint["effect"] == "NO_EXECUTE" for taint in now if taint not in was)
    if evicting:
        return edit(new.name, "evict", (_TAINTS,))
    return edit(new.name, "update", (_TAINTS,), _TAINTED)


def _in_place(old: Resource, new: Resource, names: tuple[str, ...]) -> Consequence:
    was, now = _mig_config(old), _mig_config(new)
    if was is not None and now is None:
        return edit(new.name, "update", names, _STILL_CUT)
    return edit(new.name, "update" if was == now else "repartition", names)


def _mig_config(group: Resource) -> object:
    """The layout that the node label names to MIG manager; labels reach running nodes."""
    labels = inputs(group).get("labels")
    return labels.get(_MIG_CONFIG) if isinstance(labels, dict) else None


def _template_changes(
    old: Resource, before: Recording, new: Resource, after: Recording
) -> list[str]:
    """Changed properties of the group's launch template that make a new version of it."""
    was = before.needed_by(old, "launchTemplate", _TEMPLATE)
    now = after.needed_by(new, "launchTemplate", _TEMPLATE)
    if was is None or now is None:
        return []
    names = set(changed(was, now)) - _NO_NEW_VERSION
    return [f"launchTemplate.{name}" for name in sorted(names)]
