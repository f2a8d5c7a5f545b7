"""Claims of a version of their API that the cluster beside them does not serve yet.

Source: resource.k8s.io in https://kubernetes.io/docs/reference/using-api/deprecation-guide/ and the
CHANGELOG of Kubernetes 1.32, 1.33 and 1.34; November 2026.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.edges.claims import CLAIM_SHAPE
from eks_gpushare.inventory.items import DeviceClaim, NodeSet
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import at
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_SINCE: Final = {
    "resource.k8s.io/v1": 34,
    "resource.k8s.io/v1beta2": 33,
    "resource.k8s.io/v1beta1": 32,
}
"""The minor version of Kubernetes that first had each."""


@edge(CLAIM_SHAPE)
def served_claims(inventory: Inventory) -> Iterator[Judgement]:
    """Where all nodes whose version is told are of an older one."""
    for cluster in inventory.clusters():
        told = [str(nodes.kubernetes) for nodes in inventory.of(NodeSet, cluster)]
        minors = [int(found[1]) for each in told if (found := re.fullmatch("1[.]([0-9]+)", each))]
        for claim in inventory.of(DeviceClaim, cluster) if minors else ():
            version = str(at(value_of(claim), "apiVersion"))
            since = _SINCE.get(version)
            if since is not None and max(minors) < since:
                yield Problem(
                    CLAIM_SHAPE,
                    claim.source,
                    ("apiVersion",),
                    f"{at_start(claim.source.name)} is of {version}, which came with Kubernetes "
                    f"1.{since}, and the cluster has 1.{max(minors)}.",
                    f"Upgrade it to 1.{since}, or write the version that it serves.",
                )
