"""What an edit can do, and how that is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Effect: TypeAlias = Literal[
    "replace",
    "roll",
    "repartition",
    "terminate",
    "evict",
    "restart",
    "request",
    "update",
    "create",
    "delete",
    "refused",
]
"""replace: new nodes, the old ones go. roll: every node is exchanged in place, its pods evicted.
repartition: MIG manager makes other MIG devices on running nodes, and may reboot them. terminate:
EKS scales in, nodes go with the pods on them. evict: nodes stay, pods that do not tolerate a new
taint go, or such as Karpenter may move from now on. restart: pods of a chart restart, mostly the
device plugin's; nodes and other pods stay. request: pods have to ask for something else, or to
select or tolerate something else. update: no node is touched. create, delete: the nodes are new, or
go for good. refused: AWS or Pulumi does not do it, and the update stops there."""

SAYS: dict[Effect, str] = {
    "replace": "its nodes are replaced: new ones start, then the old ones are drained and go, so "
    "for a while there are twice as many",
    "roll": "each of its nodes is exchanged for a new one, and the pods on it are evicted",
    "repartition": "MIG manager cuts the GPUs of its running nodes anew, and reboots a node where "
    "that takes it; it drains no pods, and one that holds a GPU makes it fail: drain the nodes "
    "first",
    "evict": "its nodes stay and are tainted at once, which evicts every pod on them that does not "
    "tolerate it",
    "restart": "the device plugin restarts on the nodes of every pool; nodes and running pods stay",
    "update": "it changes in place; no node is touched",
    "create": "its nodes are new",
    "delete": "its nodes go, with the pods on them",
}
"""What is said of each, where nothing else is."""
_JSON_NAMES: dict[Effect, str] = {"repartition": "recut"}
"""Names of 0.1.0, which scripts may compare with."""


@dataclass(frozen=True, slots=True)
class Consequence:
    """What happens to one node group, to the device plugin, or to what they stand on."""

    name: str
    """Logical name of the node group, release, cluster or network."""
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


def edit(name: str, effect: Effect, because: tuple[str, ...], says: str = "") -> Consequence:
    """An edit, in words of its own or in those that its kind has."""
    why = f" ({', '.join(because)})" if because else ""
    return Consequence(name, effect, because, f"{name}: {says or SAYS[effect]}{why}.")
