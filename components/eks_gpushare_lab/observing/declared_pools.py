"""What a stack declares of its GPU pools, for nodes that come and go to be held against."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.values import plain
from eks_gpushare.sharing.labels import POOL_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.program.recording import Recording
    from eks_gpushare_lab.client import Object

MADE_FOR = "lab.eks-gpushare/pool"
"""Annotation of a node: the pool it was made for."""
NODE_POOL = "karpenter.sh/nodepool"
"""Label of Karpenter's on its nodes and NodeClaims: the NodePool, which is called like the pool."""
KARPENTER, CLUSTER_AUTOSCALER = "karpenter", "clusterAutoscaler"
"""Who scales a pool, as the outputs of a stack say it."""

_ENVIRONMENT = "eks-gpushare:index:GpuSharingEnvironment"
_GROUP = "aws:eks/nodeGroup:NodeGroup"
_TEMPLATE = "k8s.io/cluster-autoscaler/node-template/resources/"


@dataclass(frozen=True, slots=True)
class DeclaredPool:
    """A GPU pool as its stack declares it."""

    name: str
    """Its name, with that of its environment before it where a program has several."""
    called: str
    """Its name within the environment, which its nodes have as a label."""
    per_node: Mapping[str, Mapping[str, int]]
    """By instance type, what a node is to advertise."""
    scaled_by: str = ""
    """`karpenter`, `clusterAutoscaler`, or `""` where no autoscaler scales it."""
    static: bool = False
    """Whether Karpenter keeps its number of nodes, whatever pods need."""
    least: int = 0
    """Nodes that stay when no pod wants any."""
    most: int | None = None
    """Nodes at most; None where nothing limits them."""
    promised: Mapping[str, int] = field(default_factory=dict)
    """What tags of its node group tell Cluster Autoscaler of a node, by resource."""

    @property
    def resources(self) -> set[str]:
        """What its nodes are to advertise, by name."""
        return {name for node in self.per_node.values() for name, count in node.items() if count}


def declared_pools(recording: Recording) -> dict[str, DeclaredPool]:
    """The GPU pools of every environment of a program, by name."""
    environments = recording.of_type(_ENVIRONMENT)
    promised = _promised(recording)
    found = {}
    for environment in environments:
        for called, declared in plain(environment.outputs).get("pools", {}).items():
            name = f"{environment.name}/{called}" if len(environments) > 1 else called
            found[name] = _pool(name, called, declared, promised.get(called, {}))
    return found


def pool_of(node: Object, pools: Iterable[DeclaredPool]) -> str:
    """The pool of a Node or NodeClaim, by what whoever made it wrote there; `""` if none has it."""
    metadata = node["metadata"]
    made_for = (metadata.get("annotations") or {}).get(MADE_FOR)
    if made_for:
        return str(made_for)
    labels = metadata.get("labels") or {}
    called = labels.get(POOL_LABEL) or labels.get(NODE_POOL) or ""
    return next((pool.name for pool in pools if pool.called == called), called)


def _pool(
    name: str, called: str, declared: Mapping[str, Any], promised: Mapping[str, int]
) -> DeclaredPool:
    scaling = declared.get("scaling")
    if scaling is None:
        least = int(declared["nodes"]["desired"])
        return DeclaredPool(name, called, declared["perNode"], least=least, most=least)
    most = scaling["max"]
    return DeclaredPool(
        name,
        called,
        declared["perNode"],
        scaling["by"],
        bool(scaling["static"]),
        int(scaling["min"]["nodes"]),
        None if most is None else int(most["nodes"]),
        promised if scaling["by"] == CLUSTER_AUTOSCALER else {},
    )


def _promised(recording: Recording) -> dict[str, dict[str, int]]:
    """By pool, the resources that tags of its node group name for Cluster Autoscaler."""
    found: dict[str, dict[str, int]] = {}
    for group in recording.of_type(_GROUP):
        given = plain(group.inputs)
        labels, tags = given.get("labels") or {}, given.get("tags") or {}
        found[str(labels.get(POOL_LABEL, ""))] = {
            key.removeprefix(_TEMPLATE): int(value)
            for key, value in tags.items()
            if key.startswith(_TEMPLATE) and re.fullmatch("[0-9]+", str(value))
        }
    return found
