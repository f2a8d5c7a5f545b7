"""What an edit of a stack file does to the nodes: replaces them, rolls them, or leaves them alone.

Two recordings are compared, one before and one after the edit. What AWS does with a changed
property is a fact of the EKS API: https://docs.aws.amazon.com/eks/latest/APIReference/
API_UpdateNodegroupConfig.html and API_UpdateNodegroupVersion.html, and what pulumi-aws replaces
for (`terraform-provider-aws`, resource aws_eks_node_group, ForceNew).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from eks_gpushare.program.values import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.program.recording import Recording, Resource

Effect: TypeAlias = Literal[
    "replace", "roll", "repartition", "restart", "update", "create", "delete"
]
"""replace: new nodes, the old ones go. roll: every node is exchanged in place, its pods evicted.
repartition: MIG manager makes other MIG devices on running nodes, and may reboot them. restart: the
device plugin's pods restart, nodes and other pods stay. update: no node is touched. create, delete:
the nodes are new, or go for good."""

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_RELEASE = "kubernetes:helm.sh/v3:Release"
_REPLACING = frozenset(
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
_ROLLING = frozenset({"releaseVersion", "version"})
_NO_NEW_VERSION = frozenset({"tags", "tagsAll", "updateDefaultVersion", "description", "name"})
"""Properties of a launch template that are no part of its versions."""
_MIG_CONFIG = "nvidia.com/mig.config"
_CLUSTER = "eks:index:Cluster"
_FORCED_BY: dict[str, frozenset[str]] = {
    "aws:ec2/vpc:Vpc": frozenset({"cidrBlock"}),
    "aws:ec2/subnet:Subnet": frozenset({"availabilityZone", "cidrBlock", "vpcId"}),
    _CLUSTER: frozenset({"encryptionConfigKeyArn", "name", "vpcId"}),
    _RELEASE: frozenset({"name", "namespace"}),
    NODE_GROUP: _REPLACING,
}
"""Properties whose change, or the replacement of what they point to, replaces a resource."""
_SAYS: dict[Effect, str] = {
    "replace": "its nodes are replaced: new ones start, then the old ones are drained and go, so "
    "for a while there are twice as many",
    "roll": "each of its nodes is exchanged for a new one, and the pods on it are evicted",
    "repartition": "MIG manager cuts the GPUs of its running nodes anew, and reboots a node where "
    "that takes it; it drains no pods, and one that holds a GPU makes it fail: drain the nodes "
    "first",
    "restart": "the device plugin restarts on the nodes of every pool; nodes and running pods stay",
    "update": "it changes in place; no node is touched",
    "create": "its nodes are new",
    "delete": "its nodes go, with the pods on them",
}
_JSON_NAMES: dict[Effect, str] = {"repartition": "recut"}
"""Names of 0.1.0, which scripts may compare with."""
_DELETED_FIRST = (
    "its nodes are replaced: the old ones are drained and go, and only then new ones start"
)
_STILL_CUT = (
    "no layout is named to MIG manager any more, which then leaves the GPUs of running nodes cut, "
    "so they advertise something else than new nodes: replace them"
)
_ANOTHER_CLUSTER = "the cluster is replaced, and with it everything that runs on it"
_ANOTHER_RELEASE = (
    "the device plugin is removed and installed anew; nodes and running pods stay, but no new pod "
    "gets a GPU meanwhile"
)
_MANAGERS = {
    "eks-gpushare:index:DevicePlugin": "the device plugin's chart",
    "eks-gpushare:index:GpuOperator": "the GPU Operator",
}
_ANOTHER_MANAGER = (
    "{new} takes over from {old}: device plugin and feature discovery are removed from the nodes "
    "of every pool and come back; nodes and running pods stay and keep their GPUs, but no new pod "
    "gets one until the new device plugin has registered"
)


@dataclass(frozen=True, slots=True)
class Edit:
    """What happens to one node group, or to the device plugin."""

    name: str
    """Logical name of the node group or release."""
    effect: Effect
    """What happens to its nodes."""
    because: tuple[str, ...]
    """Properties that changed, as AWS or Helm names them."""
    message: str
    """The same as a sentence."""

    def as_json(self) -> dict[str, Any]:
        """The edit as `preview --before --json` prints it."""
        return {
            "name": self.name,
            "effect": _JSON_NAMES.get(self.effect, self.effect),
            "because": list(self.because),
            "message": self.message,
        }


def edits(before: Recording, after: Recording) -> list[Edit]:
    """What changes for nodes from one recording to the next; nothing where nothing does.

    Both must have been recorded with known values: what is unknown cannot be compared.
    """
    gone = _replaced(before, after)
    old, new = (_by_urn(recording, NODE_GROUP) for recording in (before, after))
    found = [_edit(g.name, "create", ()) for urn, g in new.items() if urn not in old]
    found += [_edit(g.name, "delete", ()) for urn, g in old.items() if urn not in new]
    for urn, group in new.items():
        if urn in old:
            found += _of_group(old[urn], group, before, after, gone.get(group.urn, ()))
    clusters = (c for c in after.of_type(_CLUSTER) if c.urn in gone)
    found += [_edit(c.name, "replace", gone[c.urn], _ANOTHER_CLUSTER) for c in clusters]
    found += _of_managers(before, after)
    releases = _by_urn(before, _RELEASE)
    for urn, release in _by_urn(after, _RELEASE).items():
        if release.urn in gone:
            found.append(_edit(release.name, "replace", gone[release.urn], _ANOTHER_RELEASE))
        elif urn in releases and (changed := _changed(releases[urn], release)):
            found.append(_edit(release.name, "restart", changed))
    return found


def _of_managers(before: Recording, after: Recording) -> Iterator[Edit]:
    """One who runs the device plugin gone, and the other one there."""
    old, new = (
        {token: parts for token in _MANAGERS if (parts := run.of_type(token))}
        for run in (before, after)
    )
    for token, parts in new.items():
        gone = [other for other in old if other not in new]
        if token in old or not gone:
            continue
        says = _ANOTHER_MANAGER.format(new=_MANAGERS[token], old=_MANAGERS[gone[0]])
        yield from (_edit(part.name, "replace", ("gpuStack.manager",), says) for part in parts)


def _replaced(before: Recording, after: Recording) -> dict[str, tuple[str, ...]]:
    """What is replaced, and by the change of which properties, also of what they point to."""
    earlier = {_bare(resource.urn): resource for resource in before.resources}
    gone: dict[str, tuple[str, ...]] = {}
    for resource in after.resources:  # in the order of registration: dependencies come first
        old, forcing = earlier.get(_bare(resource.urn)), _FORCED_BY.get(resource.type)
        if old is None or forcing is None:
            continue
        pointers = resource.property_dependencies
        moved = {name for name in forcing if any(urn in gone for urn in pointers.get(name, ()))}
        if because := sorted(moved | (forcing & set(_changed(old, resource)))):
            gone[resource.urn] = tuple(because)
    return gone


def _of_group(
    old: Resource,
    new: Resource,
    before: Recording,
    after: Recording,
    replacing: tuple[str, ...],
) -> Iterator[Edit]:
    changed = set(_changed(old, new)) - {"launchTemplate"}
    template = _template_changes(old, before, new, after)
    if replacing:
        says = _DELETED_FIRST if new.options.get("deleteBeforeReplace") else _SAYS["replace"]
        yield _edit(new.name, "replace", replacing, says)
    elif rolling := [*sorted(changed & _ROLLING), *template]:
        yield _edit(new.name, "roll", tuple(rolling))
    elif changed:
        was, now = _mig_config(old), _mig_config(new)
        if was is not None and now is None:
            yield _edit(new.name, "update", tuple(sorted(changed)), _STILL_CUT)
        else:
            yield _edit(new.name, "update" if was == now else "repartition", tuple(sorted(changed)))


def _mig_config(group: Resource) -> object:
    """The layout that the node label names to MIG manager; labels reach running nodes."""
    labels = to_json(group.inputs).get("labels")
    return labels.get(_MIG_CONFIG) if isinstance(labels, dict) else None


def _template_changes(
    old: Resource, before: Recording, new: Resource, after: Recording
) -> list[str]:
    """Changed properties of the group's launch template that make a new version of it."""
    templates = [_template_of(group, run) for group, run in ((old, before), (new, after))]
    if templates[0] is None or templates[1] is None:
        return []
    changed = set(_changed(templates[0], templates[1])) - _NO_NEW_VERSION
    return [f"launchTemplate.{name}" for name in sorted(changed)]


def _template_of(group: Resource, recording: Recording) -> Resource | None:
    urns = group.property_dependencies.get("launchTemplate", ())
    return next((t for t in recording.of_type(_TEMPLATE) if t.urn in urns), None)


def _by_urn(recording: Recording, token: str) -> dict[str, Resource]:
    return {_bare(resource.urn): resource for resource in recording.of_type(token)}


def _bare(urn: str) -> str:
    """A URN without its stack's name: two files of different names may be compared."""
    return urn.split("::", 1)[1]


def _changed(old: Resource, new: Resource) -> tuple[str, ...]:
    left, right = to_json(old.inputs), to_json(new.inputs)
    names = sorted({*left, *right})
    return tuple(name for name in names if left.get(name) != right.get(name))


def _edit(name: str, effect: Effect, because: tuple[str, ...], says: str = "") -> Edit:
    why = f" ({', '.join(because)})" if because else ""
    return Edit(name, effect, because, f"{name}: {says or _SAYS[effect]}{why}.")
