"""Launch templates of EC2, merged with the node groups that use them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.source import UNKNOWN, Unknown
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.plain import items, text

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import NodeLaunch, NodeSet
    from eks_gpushare.inventory.source import Maybe


class LaunchTemplate(NamedTuple):
    """What of a launch template has to do with what a node is."""

    image: Maybe[str] = ""
    instance_type: Maybe[str] = ""
    user_data: Maybe[str] = ""
    """Decoded."""
    launch: Maybe[NodeLaunch | None] = None
    """What else it tells EC2."""
    looked_up: bool = False
    """Whether its image is one that is asked for, and not known."""
    ami_type: str = ""
    """Of which AMI type such an image is, where that is told."""


OF_OTHERS: Final = LaunchTemplate(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
"""One that is named and is not there."""


def overridden(listed: Any, key: str, requirements: str) -> Maybe[tuple[str, ...]]:
    """Types that the overrides of a mixed instances policy name; empty where they name none.

    Args:
        listed: The overrides.
        key: What an override has its type at.
        requirements: What it has instead where EC2 chooses among all types that fit.
    """
    if listed is UNKNOWN:
        return Unknown.UNKNOWN
    types = [UNKNOWN if at(item, requirements) else at(item, key) for item in items(listed)]
    return (
        UNKNOWN
        if UNKNOWN in types
        else tuple(str(text(instance_type)) for instance_type in types if instance_type)
    )


def with_template(nodes: NodeSet, template: LaunchTemplate) -> NodeSet:
    """Nodes as they are with a launch template: the node group's own values go first.

    Args:
        nodes: What the node group itself says.
        template: Its launch template.
    """
    types = nodes.instance_types
    if not types:
        of_template = template.instance_type
        types = UNKNOWN if of_template is UNKNOWN else (of_template,) if of_template else ()
    ami = nodes.ami
    if ami in ("", "CUSTOM"):
        image = template.image
        ami = (template.ami_type or UNKNOWN) if image is UNKNOWN else image or ami
    return replace(
        nodes, instance_types=types, ami=ami, user_data=template.user_data, launch=template.launch
    )
