"""What node groups of Terraform and CloudFormation say beside types, labels and taints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.plain import items, mapping, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import NodeSet
    from eks_gpushare.lint.migration.moved import Moved

_TAKEN: Final = frozenset(
    (
        *("instancetypes", "labels", "taint", "taints", "capacitytype", "amitype"),
        *("nodegroupname", "nodegroupnameprefix"),
    )
)
"""Read of every node group, in lower case and without underscores."""
_TEXTS: Final = ("capacitytype", "amitype")
"""Of these, which are a word where they are known."""
_WHY: Final[Mapping[str, str]] = {
    "noderole": "The stack makes roles of its own.",
    "noderolearn": "The stack makes roles of its own.",
    "launchtemplate": "The stack makes launch templates of its own.",
    "version": "Nodes have the version of their amiVersion.",
    "remoteaccess": "Nodes are reached by Session Manager.",
    "tags": "Pools have the tags of the environment: set them in tags.",
}
_UNKNOWN: Final = "Its value is not known from the files."
_FORMS: Final = ("apiVersion", "managedNodeGroups", "nodeGroups")
"""Keys of documents that others account for."""


def of_declared_group(nodes: NodeSet, made: dict[str, Any], moved: Moved) -> None:
    """Take over what a pool has too, and list the rest, of the group that became a pool.

    Args:
        nodes: The group.
        made: Its pool so far.
        moved: What was taken over and listed.
    """
    document = nodes.source.document
    if not isinstance(document, Document) or any(key in document.value for key in _FORMS):
        return
    given = mapping(at(document.value, *nodes.source.path))
    if not _is_group(given):
        return
    if nodes.source.name.startswith("module."):
        what = f"other inputs of {nodes.source.name.rpartition('.')[0].rpartition('.')[0]}"
        why = "The module makes more of them: terraform show -json of a plan has all of it."
        moved.leave(nodes.source, (), what, why)
    for key, value in given.items():
        plain = key.replace("_", "").lower()
        if value is UNKNOWN or (plain in _TEXTS and not isinstance(value, str)):
            what = f"{key} of {nodes.source.name}"
            moved.leave(nodes.source, (key,), what, _WHY.get(plain, _UNKNOWN))
        elif plain in _TAKEN or value is None or value == []:
            moved.take(nodes.source, (key,))
        elif plain == "scalingconfig":
            _sizes(nodes, key, value, made, moved)
        elif not _takes(nodes, key, plain, value, made, moved):
            why = _WHY.get(plain, "A stack file has no counterpart for it.")
            moved.leave(nodes.source, (key,), f"{key} of {nodes.source.name}", why)


def _is_group(given: Mapping[str, Any]) -> bool:
    return "scaling_config" in given or "ScalingConfig" in given


def _sizes(nodes: NodeSet, key: str, value: Any, made: dict[str, Any], moved: Moved) -> None:
    """The least and most are read already; the desired number stands here."""
    path: FieldPath = (key,) if isinstance(value, dict) else (key, 0)
    scaling = mapping(value if isinstance(value, dict) else at(value, 0))
    for inner, amount in scaling.items():
        wanted = whole(amount)
        if wanted is UNKNOWN:
            moved.leave(nodes.source, (*path, inner), f"{inner} of {nodes.source.name}", _UNKNOWN)
        if inner.replace("_", "").lower() == "desiredsize" and isinstance(wanted, int):
            sizes = made["nodes"]
            sizes["desired"] = min(max(wanted, sizes["min"]), sizes["max"])
        moved.take(nodes.source, (*path, inner))


def _takes(
    nodes: NodeSet, key: str, plain: str, value: Any, made: dict[str, Any], moved: Moved
) -> bool:
    """Whether a pool, or the stack, has the same under another name."""
    if plain == "disksize" and isinstance(disk := whole(value), int):
        made["rootVolumeGiB"] = disk
    elif plain == "releaseversion" and isinstance(value, str):
        made["amiVersion"] = value
    elif plain in {"subnetids", "subnets"} and _are_names(value):
        made["subnetIds"] = list(value)
        moved.bring(("pools", "subnetIds"), nodes.source, (key,))
    elif plain == "clustername" and isinstance(value, str):
        moved.environment.setdefault("cluster", {}).setdefault("name", value)
    else:
        return False
    moved.take(nodes.source, (key,))
    return True


def _are_names(value: Any) -> bool:
    listed = items(value)
    return bool(listed) and UNKNOWN not in listed and all(isinstance(each, str) for each in listed)
