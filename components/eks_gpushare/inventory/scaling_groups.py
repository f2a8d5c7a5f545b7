"""What the tags of an Auto Scaling group say: whose nodes it makes, and what they will have.

Source: `cloudprovider/aws` of kubernetes/autoscaler, which reads the tags of the group itself,
whether or not they are propagated to instances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.autoscaler_tags import AUTOSCALER_TAGS, RESOURCE_TAGS, TEMPLATE_TAGS
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import joins

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.inventory.source import Maybe

OF_CLUSTER = ("kubernetes.io/cluster/", "k8s.io/cluster/", AUTOSCALER_TAGS)


def makes_nodes(tags: Iterable[tuple[Any, Any]], user_data: Maybe[str] = "") -> bool:
    """Whether instances of a group with such tags and user data join a cluster."""
    tagged = any(isinstance(key, str) and key.startswith(OF_CLUSTER) for key, _ in tags)
    return tagged or joins(user_data)


def promised(tags: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """Resources by name that tags tell Cluster Autoscaler of, with how many there are."""
    return {
        key.removeprefix(RESOURCE_TAGS): value if value is UNKNOWN else str(value)
        for key, value in tags
        if isinstance(key, str) and key.startswith(RESOURCE_TAGS)
    }


def keys_of(tags: Iterable[tuple[Any, Any]]) -> Maybe[frozenset[str]]:
    """The keys of tags; not known where one is not."""
    keys = [key for key, _ in tags]
    return UNKNOWN if UNKNOWN in keys else frozenset(map(str, keys))


def tells_of_nodes(tags: Iterable[tuple[Any, Any]]) -> bool:
    """Whether tags tell Cluster Autoscaler anything of a node that is not there yet."""
    return any(key is UNKNOWN or str(key).startswith(TEMPLATE_TAGS) for key, _ in tags)
