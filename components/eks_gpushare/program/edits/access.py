"""What an edit does to who may reach the cluster: nobody is told of it by the stack's resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program.edits.compared import bare, by_urn, inputs
from eks_gpushare.program.edits.kinds import Consequence, edit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.program.recording import Recording, Resource

ENTRY = "aws:eks/accessEntry:AccessEntry"
_OUT = (
    "{who} no longer reaches the cluster: if it is who updates the stack, this is the last update "
    "by it"
)
_OTHERS = "{who} is in {now} from then on, in place of {was}"


_NODES_OUT = (
    "nodes with the role of {who} no longer reach the cluster, unless another entry lets them: "
    "they are NotReady then, and their pods are evicted"
)
_NODES_REPLACED = (
    "nodes that run have the role of before, and lose the cluster with its entry: they are "
    "NotReady until they are replaced, and their pods are evicted"
)


def of_access(
    before: Recording, after: Recording, replaced: Mapping[str, tuple[str, ...]]
) -> Iterator[Consequence]:
    """People, and nodes of Karpenter's, that lose their way into a cluster that stays.

    Args:
        before: What is up.
        after: What it is to become.
        replaced: Properties that replace a resource, by its URN.
    """
    there = {bare(resource.urn) for resource in after.resources}
    news = by_urn(after, ENTRY)
    kept = {_who(entry) for entry in news.values()}
    for urn, old in by_urn(before, ENTRY).items():
        new = news.get(urn)
        if old.parent and bare(old.parent) not in there:
            continue  # with its component it goes for a reason that is told
        if not _is_people(old):
            if new is None:
                yield edit(old.name, "delete", (), _NODES_OUT.format(who=_who(old)))
            elif replaced.get(new.urn) == ("principalArn",):
                yield edit(new.name, "replace", ("principalArn",), _NODES_REPLACED)
        elif new is None and _who(old) not in kept:
            yield edit(old.name, "delete", (), _OUT.format(who=_who(old)))
        elif new is not None and _groups(old) != _groups(new):
            was, now = (", ".join(_groups(entry)) or "no group" for entry in (old, new))
            says = _OTHERS.format(who=_who(new), was=was, now=now)
            yield edit(new.name, "update", ("kubernetesGroups",), says)


def _who(entry: Resource) -> str:
    return str(inputs(entry).get("principalArn"))


def _is_people(entry: Resource) -> bool:
    """Whether it lets in somebody, and not nodes."""
    return inputs(entry).get("type") in {None, "STANDARD"}


def _groups(entry: Resource) -> list[Any]:
    return list(inputs(entry).get("kubernetesGroups") or ())
