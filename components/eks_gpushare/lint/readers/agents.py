"""Nodes that configure themselves: what an agent of RKE2 or k3s, or Talos, registers its node with.

As files of these, and as values of Ansible that are written into such. Nothing else is known of
the nodes.

Sources, November 2026: https://docs.rke2.io/reference/linux_agent_config,
https://docs.k3s.io/cli/agent, https://www.talos.dev/latest/reference/configuration/v1alpha1/config/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import NodeSet, NodeTaint
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.manifests.document import Read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document

_LABELS: Final = ("node-label", "node-label+")
_TAINTS: Final = ("node-taint", "node-taint+")
"""With a plus they come to those of other files: https://docs.k3s.io/installation/configuration."""
_OF_TALOS: Final = ("nodeLabels", "nodeTaints")


class AgentReader:
    """Reads the labels and taints of such nodes."""

    name = "Configuration of a node"

    def matches(self, document: Document) -> bool:
        """Whether it is such a configuration, or has one below a key."""
        return next(_places(document.value), None) is not None

    def read(self, document: Document) -> Read:
        """One declaration of nodes for each configuration."""
        return Read(items=[_nodes(document, place) for place in _places(document.value)])


def _places(value: Any) -> Iterator[FieldPath]:
    if not isinstance(value, dict) or "apiVersion" in value or "kind" in value:
        return
    if _is_one(value):
        yield ()
    yield from ((key,) for key, inner in pairs(value) if _is_one(inner))


def _is_one(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(key), list) for key in (*_LABELS, *_TAINTS)):
        return True
    # Beside what tells a machine of Talos from a part of something else.
    of_talos = any(isinstance(value.get(key), dict) for key in ("install", "kubelet", "kernel"))
    return of_talos and any(isinstance(value.get(key), dict) for key in _OF_TALOS)


def _nodes(document: Document, place: FieldPath) -> NodeSet:
    value: Mapping[str, Any] = at(document.value, *place)
    labels = [str(text(each)) for key in _LABELS for each in items(value.get(key))]
    taints = [str(text(each)) for key in _TAINTS for each in items(value.get(key))]
    labels += [f"{key}={text(each)}" for key, each in pairs(value.get("nodeLabels"))]
    for key, each in pairs(value.get("nodeTaints")):
        taints.append(f"{key}={text(each)}" if ":" in str(text(each)) else f"{key}:{text(each)}")
    made = [NodeTaint.parse(each) for each in taints]
    named = [each.partition("=") for each in labels]
    told = [value.get(key) for key in (*_LABELS, "nodeLabels")]
    return NodeSet(
        source=Source(f"the node of {_called(document.file)}", document, place),
        name=UNKNOWN,
        provisioner="byHand",
        labels=UNKNOWN if has_unknown(told) else {key: value for key, _, value in named},
        taints=UNKNOWN
        if has_unknown([value.get(key) for key in (*_TAINTS, "nodeTaints")])
        else tuple(each for each in made if each.key),
    )


def _called(file: str) -> str:
    """The name of a file with that of its folder, which is often called after the cluster."""
    return "/".join(file.split("/")[-2:])
