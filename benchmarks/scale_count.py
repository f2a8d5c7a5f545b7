"""Counting nodes and pods as the API server tells of them."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from eks_gpushare.live.pods import RUNNING, state_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare_lab.client import Object


class Reached:
    """The set of names that have come so far, and when the last one came."""

    def __init__(self) -> None:
        """Begin with none."""
        self._names: set[str] = set()
        self.at = 0.0
        """When the last one came, by `time.monotonic`."""

    def put(self, name: str, *, there: bool) -> None:
        """Add a name, or take it away."""
        if not there:
            self._names.discard(name)
        elif name not in self._names:
            self._names.add(name)
            self.at = time.monotonic()

    def __len__(self) -> int:
        return len(self._names)


class NodeCount:
    """Nodes that are ready and advertise what was declared of them."""

    def __init__(self, declared: Mapping[str, Mapping[str, int]]) -> None:
        """Take note of what nodes are to advertise, by their names."""
        self._declared = declared
        self.usable = Reached()
        """Those that do."""

    def on_node(self, kind: str, node: Object) -> None:
        """Take in a change of a node."""
        name = node["metadata"]["name"]
        wanted = self._declared.get(name)
        if wanted is not None:
            self.usable.put(name, there=kind != "DELETED" and _is_usable(node, wanted))


class PodCount:
    """Pods of some namespaces by how far they are."""

    def __init__(self, namespaces: Iterable[str]) -> None:
        """Take note of the namespaces."""
        self._namespaces = frozenset(namespaces)
        self._lock = threading.Lock()
        self.created, self.scheduled, self.running = Reached(), Reached(), Reached()
        self.node_of: dict[str, str] = {}
        """Node of each pod that has one."""

    def on_pod(self, kind: str, pod: Object) -> None:
        """Take in a change of a pod."""
        metadata = pod["metadata"]
        if metadata["namespace"] not in self._namespaces:
            return
        name, there = metadata["uid"], kind != "DELETED"
        node = pod["spec"].get("nodeName")
        with self._lock:
            if there and node:
                self.node_of[name] = node
            else:
                self.node_of.pop(name, None)
        self.created.put(name, there=there)
        self.scheduled.put(name, there=there and bool(node))
        self.running.put(name, there=there and state_of(pod) == RUNNING)

    def by_node(self) -> dict[str, int]:
        """How many pods each node has."""
        found: dict[str, int] = {}
        with self._lock:
            for node in self.node_of.values():
                found[node] = found.get(node, 0) + 1
        return found


def _is_usable(node: Object, wanted: Mapping[str, int]) -> bool:
    status = node["status"]
    given = status.get("allocatable", {})
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status["conditions"])
    tainted = any(
        t["key"].startswith("node.kubernetes.io/") for t in node["spec"].get("taints", ())
    )
    return ready and not tainted and all(given.get(key) == str(n) for key, n in wanted.items())
