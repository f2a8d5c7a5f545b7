"""Node classes that select subnets by a tag which the subnets that are made here have otherwise.

Source: "spec.subnetSelectorTerms" of https://karpenter.sh/docs/concepts/nodeclasses/, November
2026. It is told where the tag is by the name of the cluster that is made here, so that the class is
surely for it, and its subnets are those that are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import DEFAULT_TAGS, SUBNET, NodeLaunch, NodeSet, Pointer
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, may_be_same, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.nodes.joined_clusters import declared_cluster
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.room_of_pools import NO_SUBNET

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_SELECTOR: Final = "subnetSelectorTerms"


@edge(NO_SUBNET)
def selected_subnets(inventory: Inventory) -> Iterator[Judgement]:
    """Of classes of pools with GPUs, where the tags of all subnets are known."""
    for cluster in inventory.clusters():
        pointers = inventory.of(Pointer, cluster)
        tags = [at(each.spec, "tags") for each in pointers if each.kind == SUBNET]
        of_all = [each.spec for each in inventory.of(Pointer) if each.kind == DEFAULT_TAGS]
        if UNKNOWN in of_all or not all(isinstance(each, dict) for each in tags):
            continue
        written = "".join(str(at(each, "text")) for each in of_all)
        sets = inventory.of(NodeSet, cluster)
        if any(at(value_of(nodes), "kind") == "ClusterConfig" for nodes in sets):
            continue  # eksctl makes subnets too
        names = {name for nodes in sets if isinstance(name := declared_cluster(nodes), str)}
        for launch in _classes(sets):
            yield from _missed(launch, tags, names, written)


def _classes(sets: Sequence[NodeSet]) -> Iterator[NodeLaunch]:
    """The node classes of Karpenter's pools with GPUs, each once."""
    found = {
        id(nodes.launch): nodes.launch
        for nodes in sets
        if isinstance(nodes.launch, NodeLaunch) and has_gpus(nodes)
    }
    yield from (launch for launch in found.values() if not is_guide(launch.source.file))


def _missed(
    launch: NodeLaunch, tags: Sequence[Mapping[str, Any]], names: set[str], written: str
) -> Iterator[Problem]:
    """Of tags that no provider gives to all that it makes, in what is `written` of it."""
    terms = items(at(value_of(launch), "spec", _SELECTOR))
    found = (_deciding(at(term, "tags"), tags, names) for term in terms)
    keys = [key for key in found if key is not None]
    if not keys or len(keys) != len(terms) or has_unknown(terms) or keys[0] in written:
        return
    key, wanted = keys[0], text(at(terms[0], "tags", keys[0]))
    there = sorted({str(text(each[key])) for each in tags if key in each})
    yield Problem(
        NO_SUBNET,
        launch.source,
        (_SELECTOR, 0, "tags", key),
        f"{at_start(launch.source.name)} selects subnets with {key}={wanted}, and those that are "
        f"made here have {', '.join(there)} there: it finds none, and Karpenter launches no node.",
        f"Let both have one value: tag the subnets with {wanted}, or select by theirs.",
    )


def _deciding(wanted: Any, tags: Sequence[Mapping[str, Any]], names: set[str]) -> str | None:
    """The tag that is by the cluster's name, and that no subnet has, though some have another."""
    for key, value in pairs(wanted):
        own = [text(each[key]) for each in tags if key in each]
        if (
            isinstance(value, str)
            and value in names
            and own
            and not any(may_be_same(value, each) for each in own)
        ):
            return str(key)
    return None
