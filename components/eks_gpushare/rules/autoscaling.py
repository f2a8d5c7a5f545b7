"""Rules about pools whose size somebody else's autoscaler decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.labels import MIG_LABEL
from eks_gpushare.sharing.mig_boot import boots
from eks_gpushare.sharing.mig_manager import startup_taints

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

# Read in August 2026; what AWS's part does with taints is getManagedNodegroupTaints in
# cluster-autoscaler/cloudprovider/aws/aws_manager.go.
_FAQ = "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md"

STARTUP_TAINT_UNKNOWN = Rule(
    "GPU281",
    "warning",
    "Cluster Autoscaler is told of the taint that nodes join with and lose again.",
    "At 0 nodes it reads the taints of the node group, sees that no pod tolerates this one, and "
    "adds no node; above 0 it takes a node that still has it for one where no pod fits, and adds "
    "more.",
    f"{_FAQ}#startup-taints",
)
FAILURE_TAINT_UNKNOWN = Rule(
    "GPU282",
    "info",
    "Cluster Autoscaler is told of the taint of nodes that could not make their MIG layout.",
    "It takes a living node for the model of new ones. Where that is a node with this taint, no "
    "pod fits the model, and it adds no node.",
    f"{_FAQ}#status-taints",
)


@check(Scope.POOL, STARTUP_TAINT_UNKNOWN, FAILURE_TAINT_UNKNOWN)
def taints_that_go(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.scaled_by != "autoscaler" or pool.provisioner != "managedNodeGroup":
        return
    at = ("pools", name, "scaledBy")
    for taint in startup_taints(pool):
        yield STARTUP_TAINT_UNKNOWN.finding(
            at,
            "An autoscaler decides the size, and nodes of this pool join with the taint "
            f"{taint.key} until MIG manager is done; no pod tolerates it.",
            f"Start Cluster Autoscaler with --startup-taint={taint.key}.",
        )
    if boots(pool):
        yield FAILURE_TAINT_UNKNOWN.finding(
            at,
            "An autoscaler decides the size, and a node of this pool that cannot make its MIG "
            f"layout joins with the taint {MIG_LABEL}; no pod tolerates it.",
            f"Start Cluster Autoscaler with --status-taint={MIG_LABEL}, so that it adds others.",
        )
