"""Auto Scaling groups that may be empty: whether Cluster Autoscaler is told what their nodes are.

Source: `cloudprovider/aws` of kubernetes/autoscaler, which knows labels and taints of a node that
is not there yet by tags of the group alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.autoscaler_tags import ENABLED_TAG, LABEL_TAGS, TEMPLATE_TAGS
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.scaling_groups import tells_of_nodes
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import registered
from eks_gpushare.inventory.values import pairs, text
from eks_gpushare.manifests.rules.eksctl import FROM_ZERO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.inventory.items import NodeSet
    from eks_gpushare.inventory.problem import Judgement


def from_zero(
    nodes: NodeSet, tags: Iterable[tuple[Any, Any]], least: str = "min_size"
) -> Iterator[Judgement]:
    """Whether Cluster Autoscaler is told what nodes of an empty group will register with.

    Args:
        nodes: The group.
        tags: Its tags, each with its value.
        least: How its format calls the fewest nodes.
    """
    if nodes.least != 0 or not nodes.user_data:
        return
    made, told = registered(nodes.user_data), list(tags)
    if tells_of_nodes(told):
        yield from _untagged(nodes, made.labels, dict(told), least)
        return
    parts = {"label": made.labels, "taint": made.taints}
    needs = [name for name, item in parts.items() if item and item is not UNKNOWN]
    if needs:
        yield Problem(
            FROM_ZERO,
            nodes.source,
            (least,),
            f"{nodes.source.name} may be empty, and nothing tells an autoscaler of the "
            f"{' and '.join(f'{name}s' for name in needs)} that its user data gives the nodes.",
            "Add "
            + " and ".join(f"tags `{TEMPLATE_TAGS}{n}/...`" for n in needs)
            + ", one for each.",
        )


def _untagged(nodes: NodeSet, labels: Any, tags: dict[Any, Any], least: str) -> Iterator[Problem]:
    """Labels of which tags tell nothing, or another value, though they tell of others."""
    for key, value in pairs(labels) if ENABLED_TAG in tags and UNKNOWN not in tags else ():
        tag = f"{LABEL_TAGS}{key}"
        told = text(tags.get(tag, UNKNOWN))
        message = fix = ""
        if tag not in tags:
            message = (
                "of the labels that its user data gives the nodes nothing tells an autoscaler of "
                f"{key}."
            )
            fix = f"Add the tag {tag}."
        elif UNKNOWN not in (told, value) and told != text(value):
            message = (
                f"the tag {tag} tells an autoscaler of {told}, where its user data gives the nodes "
                f"{text(value)}."
            )
            fix = f"Let the tag be {text(value)}."
        if message:
            message = f"{nodes.source.name} may be empty, and {message}"
            yield Problem(FROM_ZERO, nodes.source, (least,), message, fix)
