"""Rules about workloads beside the nodes that come for them without another update."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.planned import planned
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.capacity import most_pods
from eks_gpushare.sharing.workloads import asked_share, most_replicas, place_of_most, pools_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.workloads import Workload
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

NODES_STAY_FEW = Rule(
    "GPU850",
    "warning",
    "Nodes come for all pods of a workload.",
    "A node group whose size the stack decides has the nodes that it is given, whatever its most "
    "is: the other pods wait until somebody gives it more.",
    "https://docs.aws.amazon.com/eks/latest/userguide/autoscaling.html",
    not_alone="How many nodes a pool has, it is not told.",
)


@check(Scope.WORKLOADS, NODES_STAY_FEW)
def nodes_for_pods(ctx: Context) -> Iterator[Finding]:
    """Of more pods than all nodes hold another finding says so."""
    for name, workload in (ctx.environment.workloads or {}).items():
        wanted = most_replicas(workload)
        now, most = (_held(ctx, workload, by_itself=alone) for alone in (True, False))
        if now is None or most is None or not now < wanted <= most:
            continue
        where = " and ".join(pools_of(workload))
        yield NODES_STAY_FEW.finding(
            ("workloads", name, *place_of_most(workload)),
            f"The nodes of {where} hold {now} of {wanted} pods, and nothing adds nodes.",
            "Raise nodes.desired of the pool; or set scaledBy: autoscaler there, with "
            "clusterAutoscaler: {} or one of your own.",
        )


def _held(ctx: Context, workload: Workload, *, by_itself: bool) -> int | None:
    """Most pods that its pools hold together; None if that is not known."""
    total = 0
    for name in pools_of(workload):
        pool = ctx.environment.pools.get(name)
        plan = planned(ctx, name, pool) if pool is not None and not ctx.nodes_elsewhere else None
        if plan is None:
            return None
        asked = asked_share(workload, plan)
        held = most_pods(plan, asked, workload.shares, by_itself=by_itself)
        if held is None:
            return None
        total += held
    return total
