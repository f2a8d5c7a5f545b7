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

Effect: TypeAlias = Literal["replace", "roll", "restart", "update", "create", "delete"]
"""replace: new nodes, the old ones go. roll: every node is exchanged in place, its pods evicted.
restart: pods of the device plugin restart, nodes and other pods stay. update: no node is touched.
create, delete: the nodes are new, or go for good."""

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
_SAYS: dict[Effect, str] = {
    "replace": "its nodes are replaced: new ones start, then the old ones are drained and go, so "
    "for a while there are twice as many",
    "roll": "each of its nodes is exchanged for a new one, and the pods on it are evicted",
    "restart": "the device plugin restarts on the nodes of every pool; nodes and running pods stay",
    "update": "it changes in place; no node is touched",
    "create": "its nodes are new",
    "delete": "its nodes go, with the pods on them",
}
_DELETED_FIRST = (
    "its nodes are replaced: the old ones are drained and go, and only then new ones start"
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
            "effect": self.effect,
            "because": list(self.because),
            "message": self.message,
        }


def edits(before: Recording, after: Recording) -> list[Edit]:
    """What changes for nodes from one recording to the next; nothing where nothing does.

    Both must have been recorded with known values: what is unknown cannot be compared.
    """
    old, new = (_by_urn(recording, NODE_GROUP) for recording in (before, after))
    found = [_edit(g.name, "create", ()) for urn, g in new.items() if urn not in old]
    found += [_edit(g.name, "delete", ()) for urn, g in old.items() if urn not in new]
    for urn, group in new.items():
        if urn in old:
            found += _of_group(old[urn], group, before, after)
    releases = _by_urn(before, _RELEASE)
    for urn, release in _by_urn(after, _RELEASE).items():
        if urn in releases and (changed := _changed(releases[urn], release)):
            found.append(_edit(release.name, "restart", changed))
    return found


def _of_group(old: Resource, new: Resource, before: Recording, after: Recording) -> Iterator[Edit]:
    changed = set(_changed(old, new)) - {"launchTemplate"}
    template = _template_changes(old, before, new, after)
    replacing = changed & _REPLACING
    first = bool(new.options.get("deleteBeforeReplace"))
    if replacing:
        yield _edit(new.name, "replace", tuple(sorted(replacing)), delete_first=first)
    elif rolling := [*sorted(changed & _ROLLING), *template]:
        yield _edit(new.name, "roll", tuple(rolling))
    elif changed:
        yield _edit(new.name, "update", tuple(sorted(changed)))


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


def _edit(
    name: str, effect: Effect, because: tuple[str, ...], *, delete_first: bool = False
) -> Edit:
    says = _DELETED_FIRST if effect == "replace" and delete_first else _SAYS[effect]
    why = f" ({', '.join(because)})" if because else ""
    return Edit(name, effect, because, f"{name}: {says}{why}.")
