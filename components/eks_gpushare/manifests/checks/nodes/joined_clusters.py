"""Which cluster nodes join by what they boot with, beside the one that they are declared with."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import parts
from eks_gpushare.inventory.values import at
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

OTHER_CLUSTER: Final = Rule(
    "GPU1283",
    "error",
    "Nodes boot into the cluster that they are declared with.",
    "They ask the API server of the one that they are told of, or of none: the group's nodes never "
    "join, and it fails with NodeCreationFailure.",
    "https://github.com/eksctl-io/eksctl/issues/3563",
)
_NAME: Final = r"[\"']?([A-Za-z0-9][A-Za-z0-9_-]*)[\"']?(?=[\s;]|$)"
_SCRIPT: Final = re.compile(
    rf"^[ \t]*(?:exec |sudo )?/etc/eks/bootstrap\.sh[ \t]+{_NAME}", re.MULTILINE
)
_CONFIG: Final = re.compile(
    rf"^([ ]*)cluster:[ ]*\n(?:\1[ ]+(?!name:)\S.*\n)*\1[ ]+name:[ ]*{_NAME}", re.MULTILINE
)


@edge(OTHER_CLUSTER)
def joined_clusters(inventory: Inventory) -> Iterator[Judgement]:
    """Of nodes with GPUs, where both names are written."""
    for nodes in inventory.of(NodeSet):
        if nodes.user_data is UNKNOWN or not has_gpus(nodes):
            continue
        declared, joined = declared_cluster(nodes), set(_joined(nodes.user_data))
        if isinstance(declared, str) and declared and joined and declared not in joined:
            yield Problem(
                OTHER_CLUSTER,
                nodes.source,
                (),
                f"{at_start(nodes.source.name)} is of the cluster {declared}, and its nodes boot "
                f"into {', '.join(sorted(joined))}.",
                f"Write {declared} into what they boot with.",
            )


def declared_cluster(nodes: NodeSet) -> Any:
    """The name of the cluster that nodes are declared with; None where they are with none."""
    value = value_of(nodes)
    if at(value, "kind") == "ClusterConfig":
        return at(value, "metadata", "name")
    return at(value, *nodes.source.path, "cluster_name")


def _joined(user_data: str) -> Iterator[str]:
    for part in parts(user_data):
        if part.kind == "bottlerocket":
            try:
                name = at(tomllib.loads(part.text), "settings", "kubernetes", "cluster-name")
            except (tomllib.TOMLDecodeError, RecursionError):
                continue
            if isinstance(name, str) and re.fullmatch(_NAME, name):
                yield name
        elif part.kind == "nodeConfig":
            yield from (found[2] for found in _CONFIG.finditer(part.text))
        elif part.kind in ("shell", "other"):
            yield from (found[1] for found in _SCRIPT.finditer(part.text))
