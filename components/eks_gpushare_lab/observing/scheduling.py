"""What the scheduler has said of pods that have no node, and whether that still holds.

It tries a pod again some time after what it waited for came, and the longer the more often it has
tried: until then its words are about nodes as they were.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eks_gpushare.live.placement import mismatches, shortages, untolerated
from eks_gpushare.live.pods import PENDING, condition, owner_of, requested_by_node, state_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from eks_gpushare_lab.client import Object

_COUNT = re.compile(r"[0-9]+ (?=\S)")
_LOOKED_AT = ("Insufficient", "node(s) had untolerated", "node(s) didn't match Pod's node")
"""How the scheduler begins what is judged here node by node."""


def other_words(pod: Object) -> list[str]:
    """What the scheduler says that is not judged here: ports, volumes, affinity of pods."""
    said = str((condition(pod, "PodScheduled") or {}).get("message", ""))
    counted = said.partition("available: ")[2].partition(". ")[0].rstrip(".")
    words = [_COUNT.sub("", word, count=1) for word in counted.split(", ") if word]
    return [word for word in words if not word.startswith(_LOOKED_AT)]


def obstacles_to(
    spec: Object, node: Object, used: Mapping[str, Mapping[str, Decimal]]
) -> list[str]:
    """What keeps a pod off a node: taints, labels and what is left of its resources."""
    why = [f"the pod does not tolerate {taint}" for taint in untolerated(spec, node)]
    why += mismatches(spec, node)
    left = used.get(node["metadata"]["name"], {})
    return why + [text for _, text in shortages(spec, node, left)]


def is_behind(pods: Sequence[Object], nodes: Sequence[Object]) -> bool:
    """Whether the scheduler has called a pod unschedulable that would fit a node by now.

    Args:
        pods: all pods.
        nodes: all nodes.
    """
    waiting = {
        (owner_of(pod), *other_words(pod)): pod
        for pod in pods
        if state_of(pod) == PENDING
        and (condition(pod, "PodScheduled") or {}).get("reason") == "Unschedulable"
    }
    looked_at = [pod["spec"] for (_, *more), pod in waiting.items() if not more]
    if not looked_at:
        return False
    used = requested_by_node(pods)
    return any(not obstacles_to(spec, node, used) for spec in looked_at for node in nodes)
