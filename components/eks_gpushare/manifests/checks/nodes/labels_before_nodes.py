"""Pods that select nodes by what only a running node tells, where nodes are launched for pods.

Source: `pkg/scheduling/requirements.go` (`Compatible`) of https://github.com/kubernetes-sigs/karpenter
at v1.8: a label that is neither well-known nor of the pool has no values that a pod may want.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.edges.landing import ELSEWHERE
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.matching import required_terms
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_FOUND: Final = ("feature.node.kubernetes.io/", "nvidia.com/")
"""What labels of feature discovery begin with."""
_WANTING: Final = ("In", "Exists", "Gt", "Lt", "Gte", "Lte")
_LAUNCHING: Final = ("karpenter", "autoMode")
_REQUIREMENTS: Final = (("spec", "template", "spec", "requirements"), ("spec", "requirements"))
_TERMS: Final = (
    *("affinity", "nodeAffinity"),
    *("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"),
)


@edge(ELSEWHERE)
def labels_of_pools(inventory: Inventory) -> Iterator[Judgement]:
    """Where every node with GPUs is one that Karpenter launches for pods."""
    for cluster in inventory.clusters():
        every = inventory.of(NodeSet, cluster)
        pools = [nodes for nodes in every if nodes.provisioner in _LAUNCHING and has_gpus(nodes)]
        if not pools or not all(_is_launched(nodes) for nodes in every):
            continue
        told = frozenset(key for nodes in every for key in _told(nodes))
        for workload, _ in gpu_workloads(inventory, cluster):
            if workload.kind == "DaemonSet" or at(workload.spec, "nodeName"):
                continue
            path, key = _before(workload.spec, told)
            if key:
                yield Problem(
                    ELSEWHERE,
                    workload.source,
                    (*workload.spec_path, *path),
                    f"{at_start(workload.source.name)} wants the label {key}, which a node gets "
                    f"once it runs, and {_named(pools)}: Karpenter launches no node for it.",
                    "Select by the pool's own labels, or by karpenter.k8s.aws/instance-gpu-name "
                    "and its kin; or write the label into the pool's template.",
                    "warning",
                )


def _named(pools: Sequence[NodeSet]) -> str:
    more = {1: "", 2: ", nor has the other pool"}
    others = more.get(len(pools), f", nor have {len(pools) - 1} other pools")
    return f"{pools[0].source.name} says nothing of it{others}"


def _is_launched(nodes: NodeSet) -> bool:
    """Whether nodes have no GPUs, or are there for pods alone, with labels that are known."""
    if nodes.provisioner in _LAUNCHING:
        return nodes.least == 0 and not has_unknown(nodes.labels) and not _hides(nodes)
    types = nodes.instance_types
    return types is not UNKNOWN and bool(types) and not has_gpus(nodes)


def _listed(nodes: NodeSet) -> Any:
    value = getattr(nodes.source.document, "value", None)
    return next((found for path in _REQUIREMENTS if (found := at(value, *path)) is not None), None)


def _hides(nodes: NodeSet) -> bool:
    return any(at(each, "key") is UNKNOWN for each in items(_listed(nodes))) or (
        _listed(nodes) is UNKNOWN
    )


def _told(nodes: NodeSet) -> Iterator[str]:
    """Labels of which a pool says something."""
    yield from (key for key, _ in pairs(nodes.labels))
    yield from (str(at(each, "key")) for each in items(_listed(nodes)))


def _before(spec: Any, told: frozenset[str]) -> tuple[FieldPath, str]:
    """The first label that pods want and no pool tells of, with its place; none where all do."""
    for key, _ in pairs(at(spec, "nodeSelector")):
        if _is_found(key, told):
            return ("nodeSelector", key), key
    terms = items(required_terms(spec))
    found = [_in_term((*_TERMS, number), term, told) for number, term in enumerate(terms)]
    lacking = [each for each in found if each is not None]
    return lacking[0] if lacking and len(lacking) == len(found) else ((), "")


def _in_term(place: FieldPath, term: Any, told: frozenset[str]) -> tuple[FieldPath, str] | None:
    for number, each in enumerate(items(at(term, "matchExpressions"))):
        key = text(at(each, "key"))
        if at(each, "operator") in _WANTING and key is not UNKNOWN and _is_found(key, told):
            return (*place, "matchExpressions", number, "key"), key
    return None


def _is_found(key: str, told: frozenset[str]) -> bool:
    return key.startswith(_FOUND) and key not in told
