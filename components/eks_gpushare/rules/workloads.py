"""Rules about workloads: what they run on, and how the number of their pods follows their use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.config.sharing import Exclusive, Mig
from eks_gpushare.config.workloads import Idle, OverUse
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.planned import planned
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.capacity import most_pods
from eks_gpushare.sharing.exporter import measures_processes, prometheus_of
from eks_gpushare.sharing.resources import is_left_whole
from eks_gpushare.sharing.scaled_object import tells_pods_apart
from eks_gpushare.sharing.workloads import (
    asked_share,
    is_scaled,
    most_replicas,
    place_of_most,
    pools_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.config.workloads import Workload
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context
    from eks_gpushare.sharing.plan import PoolPlan

_SCHEDULING = "https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/"
_EXTENDED = "https://kubernetes.io/docs/tasks/configure-pod-container/extended-resource/"
_SCALED_OBJECT = "https://keda.sh/docs/2.20/reference/scaledobject-spec/"
_EXPORTER = "https://github.com/NVIDIA/dcgm-exporter/pull/594"

POOL_NAMED = Rule(
    "GPU820",
    "error",
    "A workload names pools of the stack, each once, by pool or by pools.",
    "Its pods select the nodes of a pool that is not there, and wait for ever.",
    _SCHEDULING,
)
SHARE_ADVERTISED = Rule(
    "GPU821",
    "error",
    "A workload asks for a share that every one of its pools advertises.",
    "No node of the pool has what the pods ask for, so they wait for ever, and no autoscaler adds "
    "one.",
    _EXTENDED,
)
ONE_SHARE = Rule(
    "GPU822",
    "error",
    "A pod asks for several shares only where each is a GPU or MIG device of its own, and one node "
    "has them all.",
    "Of a GPU that pods take turns on, two shares give no more time than one, and the device "
    "plugin refuses the pod.",
    "https://github.com/NVIDIA/k8s-device-plugin#with-cuda-time-slicing",
)
MIN_ABOVE_MAX = Rule(
    "GPU823",
    "error",
    "A workload's fewest pods are no more than its most.",
    "KEDA refuses the ScaledObject.",
    _SCALED_OBJECT,
)
TOO_MANY_PODS = Rule(
    "GPU824",
    "error",
    "The pools of a workload hold all its pods when they have all their nodes.",
    "The last pods wait for ever, and the workload stays over-used with no way to grow.",
    _SCHEDULING,
    not_alone="How many nodes a pool may have, it is not told.",
)
NO_WAKE = Rule(
    "GPU825",
    "error",
    "What is stopped when idle is started again by something.",
    "At no pods there is no use to measure: the workload would never come back.",
    "https://keda.sh/docs/2.20/concepts/scaling-deployments/",
)
THRESHOLDS_CROSS = Rule(
    "GPU826",
    "error",
    "A workload is idle at less use than it is over-used at.",
    "Between the two it would be both, and gain and lose a pod in turn.",
    _SCALED_OBJECT,
)
NO_KEDA = Rule(
    "GPU831",
    "error",
    "Where the number of pods follows their use, KEDA is told where to ask for it.",
    "The API server refuses the ScaledObject, or KEDA has nothing to measure with.",
    "https://keda.sh/docs/2.20/scalers/prometheus/",
)
INDISTINCT_USE = Rule(
    "GPU832",
    "error",
    "The use that a workload follows is its own.",
    "Where DCGM cannot tell the pods of a GPU apart, each gets the numbers of all of them, or 0: a "
    "busy neighbour adds pods to an idle workload, or an idle one's zeros take them from a busy "
    "one.",
    _EXPORTER,
)
SETTING_UNUSED = Rule(
    "GPU839",
    "warning",
    "What is said of following the use has an effect.",
    "With as many pods at least as at most, nothing follows anything.",
    _SCALED_OBJECT,
)
EVERYONES_MINIMUM = Rule(
    "GPU848",
    "error",
    "The pool holds the fewest pods of all its workloads together.",
    "They take room from each other, and some wait for ever though each by itself would fit.",
    _SCHEDULING,
    not_alone="It knows no workload but itself.",
)


def _workloads(ctx: Context) -> Mapping[str, Workload]:
    return ctx.environment.workloads or {}


def _pools(ctx: Context, workload: Workload) -> dict[str, Pool]:
    """The pools of a workload that there are."""
    known = ctx.environment.pools
    return {name: known[name] for name in pools_of(workload) if name in known}


@check(Scope.WORKLOADS, POOL_NAMED)
def pools_named(ctx: Context) -> Iterator[Finding]:
    for name, workload in _workloads(ctx).items():
        at: FieldPath = ("workloads", name)
        known = sorted(ctx.environment.pools)
        listed = ", ".join(known) or "none"
        if workload.pool is not None and workload.pools is not None:
            yield POOL_NAMED.finding(
                (*at, "pools"), "Both pool and pools are given.", "Remove one of the two."
            )
        elif workload.pool is None and not workload.pools:
            yield POOL_NAMED.finding(
                (*at, "pool"), "No pool is named.", f"Name one of the stack's: {listed}."
            )
        seen: set[str] = set()
        for index, pool in enumerate(pools_of(workload)):
            where: FieldPath = (*at, "pool") if workload.pools is None else (*at, "pools", index)
            if pool not in known:
                message = f'"{pool}" is no pool of this stack.'
                yield POOL_NAMED.finding(where, message, f"Name one of them: {listed}.")
            elif pool in seen:
                yield POOL_NAMED.finding(where, f"{pool} stands twice.", "Remove one of the two.")
            seen.add(pool)


@check(Scope.WORKLOADS, SHARE_ADVERTISED, ONE_SHARE)
def shares_advertised(ctx: Context) -> Iterator[Finding]:
    for name, workload in _workloads(ctx).items():
        plans = [
            plan
            for pool, given in _pools(ctx, workload).items()
            if (plan := planned(ctx, pool, given)) is not None
        ]
        if not plans:
            continue
        asked = asked_share(workload, plans[0])
        at: FieldPath = ("workloads", name)
        for plan in plans:
            lacking = [t for t, node in plan.per_node.items() if not node.get(asked)]
            if lacking:
                yield _not_advertised(at, workload, plan, asked, lacking)
            else:
                yield from _several(at, workload, plan, asked)


def _not_advertised(
    at: FieldPath, workload: Workload, plan: PoolPlan, asked: str, lacking: list[str]
) -> Finding:
    every = [{item for item, count in node.items() if count} for node in plan.per_node.values()]
    shared = [resource.resource for resource in next(iter(plan.shares.values()), ())]
    kinds = [kind for kind in shared if all(kind in node for node in every)]
    of = f" on {', '.join(lacking)}" if len(lacking) < len(plan.per_node) else ""
    if workload.share is not None:
        message = f"Pool {plan.name} advertises no {asked}{of}."
        return SHARE_ADVERTISED.finding(
            (*at, "share"), message, f"It has {', '.join(kinds) or 'nothing on all its types'}."
        )
    fix = "Name pools that advertise the same, or a share that all of them have."
    message = f"Pods would ask for {asked}, which pool {plan.name} does not advertise{of}."
    return SHARE_ADVERTISED.finding((*at, "pools"), message, fix)


def _several(at: FieldPath, workload: Workload, plan: PoolPlan, asked: str) -> Iterator[Finding]:
    count = workload.shares
    if count == 1:
        return
    fewest = min(node[asked] for node in plan.per_node.values())
    if _takes_turns(plan.pool, asked):
        message = f"A pod asks for {count} of {asked}, and pods take turns on each."
        fix = "Set shares: 1; for more time, have fewer replicas in the pool's sharing."
        yield ONE_SHARE.finding((*at, "shares"), message, fix)
    elif count > fewest:
        message = f"A pod asks for {count} of {asked}, and a node of pool {plan.name} has {fewest}."
        yield ONE_SHARE.finding((*at, "shares"), message, f"Ask for {fewest} at most.")


def _takes_turns(pool: Pool, asked: str) -> bool:
    """Whether pods share what one of a resource stands for."""
    if isinstance(pool.sharing, Exclusive):
        return False
    if isinstance(pool.sharing, Mig):
        return pool.sharing.time_slicing is not None and not is_left_whole(pool, asked)
    return True


@check(Scope.WORKLOADS, MIN_ABOVE_MAX)
def sizes_of_workloads(ctx: Context) -> Iterator[Finding]:
    for name, workload in _workloads(ctx).items():
        low, high = workload.replicas.min, workload.replicas.max
        if high is not None and low > high:
            at = ("workloads", name, "replicas", "max")
            message = f"max is {high} and min is {low}."
            yield MIN_ABOVE_MAX.finding(at, message, f"Set max to {low} or more, or min to less.")


@check(Scope.WORKLOADS, TOO_MANY_PODS)
def room_of_workloads(ctx: Context) -> Iterator[Finding]:
    for name, workload in _workloads(ctx).items():
        held = _held(ctx, workload)
        most = most_replicas(workload)
        if held is None or most <= held:
            continue
        at = place_of_most(workload)
        asked = f"{most} pods"
        if workload.shares > 1:
            asked += f" of {workload.shares} shares"
        where = " and ".join(pools_of(workload))
        message = f"{asked[0].upper()}{asked[1:]} are more than {where} can hold, which is {held}."
        fix = f"Set {at[-1]} to {held} at most, or give the pool more nodes."
        if at == ("schedule",):
            fix = f"Let no window have more than {held}, or give the pool more nodes."
        yield TOO_MANY_PODS.finding(("workloads", name, *at), message, fix)


@check(Scope.WORKLOADS, EVERYONES_MINIMUM)
def room_of_all(ctx: Context) -> Iterator[Finding]:
    """Of workloads with one pool each, which alone say what they take from whom."""
    wanted: dict[tuple[str, str], dict[str, int]] = {}
    for name, workload in _workloads(ctx).items():
        for pool, given in _pools(ctx, workload).items():
            plan = planned(ctx, pool, given) if len(pools_of(workload)) == 1 else None
            if plan is not None and not workload.auto_stop:
                asked = asked_share(workload, plan)
                of = wanted.setdefault((pool, asked), {})
                of[name] = workload.replicas.min * workload.shares
    for (pool, asked), by_name in wanted.items():
        plan = planned(ctx, pool, ctx.environment.pools[pool])
        held = None if plan is None else most_pods(plan, asked)
        alone = held is None or any(count > held for count in by_name.values())
        if held is not None and not alone and sum(by_name.values()) > held:
            message = (
                f"{', '.join(by_name)} want {sum(by_name.values())} of {asked} at least, and the "
                f"pool has {held} at most."
            )
            fix = "Give it more nodes, or the workloads fewer pods."
            yield EVERYONES_MINIMUM.finding(("pools", pool, "nodes"), message, fix)


def _held(ctx: Context, workload: Workload) -> int | None:
    """Most pods that the pools of a workload hold together; None if that is not known."""
    named, pools = pools_of(workload), _pools(ctx, workload)
    plans = [planned(ctx, name, pool) for name, pool in pools.items()]
    known = [plan for plan in plans if plan is not None]
    if ctx.nodes_elsewhere or not named or len(known) < len(named):
        return None
    asked = asked_share(workload, known[0])
    total = 0
    for plan in known:
        held = most_pods(plan, asked, workload.shares)
        if not held:  # none of it is the finding of a share that no node has
            return None
        total += held
    return total


@check(Scope.WORKLOADS, NO_WAKE)
def wakes(ctx: Context) -> Iterator[Finding]:
    for name, workload in _workloads(ctx).items():
        at: FieldPath = ("workloads", name)
        if workload.auto_stop and workload.wake is None:
            yield NO_WAKE.finding(
                (*at, "autoStop"),
                "The workload is stopped when idle, and nothing is said of what starts it.",
                "Add wake: {query: ...}, PromQL for the requests that wait, such as those of its "
                "ingress, or wake: {queue: ...}, a queue of SQS; or remove autoStop.",
            )
        elif workload.wake is not None and not workload.auto_stop:
            yield NO_WAKE.finding(
                (*at, "wake"),
                "The workload is never stopped, so nothing has to start it.",
                "Set autoStop: true, or remove wake.",
            )


@check(Scope.WORKLOADS, THRESHOLDS_CROSS, SETTING_UNUSED)
def thresholds(ctx: Context) -> Iterator[Finding]:
    for name, workload in _workloads(ctx).items():
        at: FieldPath = ("workloads", name)
        low = (workload.idle or Idle()).threshold
        high = (workload.over_use or OverUse()).threshold
        if low >= high:
            key = "overUse" if workload.idle is None else "idle"
            message = f"Idle is below {low:g} %, and over-used above {high:g} %."
            fix = "Set the threshold of idle well below that of overUse."
            yield THRESHOLDS_CROSS.finding((*at, key, "threshold"), message, fix)
        if is_scaled(workload):
            continue
        given = {
            "idle": workload.idle,
            "overUse": workload.over_use,
            "useQuery": workload.use_query,
        }
        for key in (key for key, value in given.items() if value is not None):
            yield SETTING_UNUSED.finding(
                (*at, key),
                f"The workload always has {workload.replicas.min} of its pods.",
                "Set replicas.max above replicas.min, or remove the key.",
            )


_BY_SCHEDULE = "remove replicas.max, after which its schedule alone decides"


@check(Scope.WORKLOADS, NO_KEDA, INDISTINCT_USE)
def use_is_measured(ctx: Context) -> Iterator[Finding]:
    for name, workload in _workloads(ctx).items():
        if not is_scaled(workload):
            continue
        at: FieldPath = ("workloads", name)
        if prometheus_of(ctx.environment) is None:
            key = "autoStop" if workload.auto_stop else "replicas"
            alone = _BY_SCHEDULE if _is_scheduled(workload) else "a fixed number of pods"
            fix = "Give prometheus, in a stack file as keda: {prometheus: {url: ...}}; or "
            fix += f"{alone}."
            yield NO_KEDA.finding(
                (*at, key),
                f"The number of pods of {name} follows their use, and nothing says where that is "
                "asked for.",
                fix,
            )
        if workload.use_query is None:
            known = measures_processes(ctx.environment)
            yield from _indistinct(ctx, at, workload, process_metrics=known)


def _indistinct(
    ctx: Context, at: FieldPath, workload: Workload, *, process_metrics: bool
) -> Iterator[Finding]:
    for name, pool in _pools(ctx, workload).items():
        if tells_pods_apart(pool, workload.share, process_metrics=process_metrics):
            continue
        if isinstance(pool.sharing, Mig):
            message = (
                f"Pods take turns on the MIG devices of {name}, where nobody measures processes."
            )
            fix = (
                "Add useQuery with PromQL for another measure of 0 to 100, such as requests under "
                "way in percent of what a pod takes; or remove timeSlicing from the pool."
            )
        else:
            message = f"Pods share each GPU of {name}, and DCGM measures GPUs."
            fix = (
                "Set processMetrics: true in keda.prometheus, which gives the GPU Operator's "
                "exporter hostPID and KUBERNETES_VIRTUAL_GPUS=true, and says that another has "
                "them; beside the device plugin, gpuStack: {dcgmExporter: true}; or add useQuery "
                "with PromQL for another measure of 0 to 100."
            )
        if _is_scheduled(workload):
            fix = f"{fix.removesuffix('.')}; or {_BY_SCHEDULE}."
        yield INDISTINCT_USE.finding((*at, "useQuery"), message, fix)


def _is_scheduled(workload: Workload) -> bool:
    """Whether windows say how many pods it has, and its use besides."""
    return bool(workload.schedule) and not workload.auto_stop
