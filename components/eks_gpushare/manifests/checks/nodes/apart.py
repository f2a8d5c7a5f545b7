"""Pods that must not be together, against the zones and nodes that there can be for them.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/, where
fewer domains than `minDomains` count as one with no pod, and inter-pod anti-affinity beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.two_numbers import NO_PLACE_TO_SPREAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import NodeSet, Workload
    from eks_gpushare.inventory.problem import Judgement

_ZONE: Final = "topology.kubernetes.io/zone"
_KEYS: Final = (_ZONE, "kubernetes.io/hostname")
_REQUIREMENTS: Final = ("spec", "template", "spec", "requirements")
_APART: Final = ("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_SPREAD: Final = "topologySpreadConstraints"


@edge(NO_PLACE_TO_SPREAD)
def places_to_spread(inventory: Inventory) -> Iterator[Judgement]:
    """Of pods with GPUs whose nodes are all seen."""
    for cluster in inventory.clusters():
        ground = grounds(inventory, cluster)
        for workload, requests in gpu_workloads(inventory, cluster):
            replicas = workload.replicas
            if not isinstance(replicas, int) or is_guide(workload.source.file):
                continue
            wanted = list(_wanted(workload, replicas))
            places = ground.places(workload, requests)
            if not places.seen or len(places.seen) != len(places.possible):
                continue
            nodes = list({id(each.kind.nodes): each.kind.nodes for each in places.seen}.values())
            for apart in wanted:
                there = _zones(nodes) if apart.key == _ZONE else _most(nodes)
                if there is None or there >= apart.least or replicas <= apart.each * there:
                    continue
                what = "zone" if apart.key == _ZONE else "node"
                yield Problem(
                    NO_PLACE_TO_SPREAD,
                    workload.source,
                    apart.place,
                    f"{at_start(workload.source.name)} needs {apart.least} {what}s to keep its "
                    f"{replicas} pods apart, and {nodes[0].source.name} can have {there}.",
                    f"Let there be more {what}s, or ask for fewer.",
                )


class _Apart(NamedTuple):
    """What a pod asks for."""

    key: str
    place: FieldPath
    least: int
    """Domains that there have to be."""
    each: int
    """Pods that may be in each while there are fewer."""


def _wanted(workload: Workload, replicas: int) -> Iterator[_Apart]:
    spec = workload.spec
    for index, each in enumerate(items(at(spec, _SPREAD))):
        key, least, skew = (at(each, name) for name in ("topologyKey", "minDomains", "maxSkew"))
        known = key in _KEYS and isinstance(least, int) and isinstance(skew, int)
        if known and at(each, "whenUnsatisfiable") == "DoNotSchedule" and _is_own(each, workload):
            place = (*workload.spec_path, _SPREAD, index, "minDomains")
            yield _Apart(key, place, least, skew)
    for index, each in enumerate(items(at(spec, *_APART))):
        key = at(each, "topologyKey")
        if key in _KEYS and _is_own(each, workload):
            place = (*workload.spec_path, *_APART, index, "topologyKey")
            yield _Apart(key, place, replicas, 1)


def _is_own(term: Any, workload: Workload) -> bool:
    """Whether a term is about the pods of the workload itself, and about them alone."""
    wanted, labels = at(term, "labelSelector", "matchLabels"), dict(pairs(workload.labels))
    if not wanted or at(term, "labelSelector", "matchExpressions") or at(term, "namespaces"):
        return False
    return not has_unknown(term) and all(labels.get(key) == each for key, each in pairs(wanted))


def _zones(nodes: Sequence[NodeSet]) -> int | None:
    """In how many zones nodes can be that say so; None where one does not."""
    found: set[str] = set()
    for each in nodes:
        value = value_of(each)
        listed = _of_pool(value) if each.provisioner == "karpenter" else _of_group(value, each)
        if not listed or has_unknown(listed):
            return None
        found.update(map(str, listed))
    return len(found)


def _of_pool(value: Any) -> list[Any]:
    for each in items(at(value, *_REQUIREMENTS)):
        if at(each, "key") == _ZONE and at(each, "operator") == "In":
            return items(at(each, "values"))
    return []


def _of_group(value: Any, nodes: NodeSet) -> list[Any]:
    """Of a group of eksctl."""
    return items(at(value, *nodes.source.path, "availabilityZones"))


def _most(nodes: Sequence[NodeSet]) -> int | None:
    """How many nodes there can be; None where that is not limited by a number of nodes."""
    counts = [None if each.most is UNKNOWN else each.most for each in nodes]
    known = [each for each in counts if each is not None]
    return sum(known) if len(known) == len(counts) else None
