"""How KEDA sets the number of pods of a workload by the use of their shares.

KEDA evaluates a formula over what its triggers measure, and hands the result to a
HorizontalPodAutoscaler as a factor of the pods that are ready: 2 for one more, 0.5 for one less, 1
for as many, since the behaviour beside it lets one pod come or go at a time. A number of pods would
not do in place of a factor: a HorizontalPodAutoscaler leaves differences of a tenth alone, which
from ten pods on is the one pod more or less, and pods that are ending would count.

0 is none: KEDA stops the workload once it has been 0 for the cooldown period.

What nothing measures, KEDA asks in vain. It then falls back: the condition Fallback of the
ScaledObject is true, and the trigger is nil in the formula, which keeps the pods that there are.

Sources, read 2026-11-22 at v2.20.2 of https://github.com/kedacore/keda: pkg/scaling/modifiers,
pkg/scaling/scale_handler.go, pkg/scaling/executor/scale_scaledobjects.go and
pkg/scalers/prometheus_scaler.go; of Kubernetes pkg/controller/podautoscaler/replica_calculator.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.config.sharing import Exclusive, Mig
from eks_gpushare.config.workloads import Idle, OverUse
from eks_gpushare.sharing.queue_trigger import queue_trigger
from eks_gpushare.sharing.resources import is_left_whole
from eks_gpushare.sharing.schedules import cron_trigger, keda_object, scheduled_spec
from eks_gpushare.sharing.workloads import (
    NAME_LABEL,
    is_scaled,
    is_stopped_by_queue,
    labels_of,
    most_replicas,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.config.workloads import Workload
    from eks_gpushare.sharing.keda import PrometheusServer
    from eks_gpushare.sharing.workloads import PodPlacement

STEP_SECONDS = 30
"""Resolution of the windows: how often the DCGM exporter measures by default."""
_MOST_PERIOD_SECONDS = 1800
"""Longest period of a HorizontalPodAutoscaler's policy (autoscaling/v2, HPAScalingPolicy)."""
_MORE = 1.11
"""A factor for one pod more of up to nine: a HorizontalPodAutoscaler takes no step of a tenth."""
_NOTHING_BY_ITSELF = 1_000_000_000
"""So much for each pod that whatever is measured asks for one."""
_UTILISATION = "DCGM_FI_DEV_GPU_UTIL"
"""Use of a GPU in percent, of a process's SMs where the exporter maps processes to pods. It does
not exist on MIG."""
_GRAPHICS_ENGINE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
"""Part of the time in which a GPU or MIG instance computes, from 0 to 1."""


def tells_pods_apart(pool: Pool, asked: str | None = None, *, process_metrics: bool) -> bool:
    """Whether DCGM can tell the use of one pod from that of another on the same GPU.

    Of a GPU or MIG device that a pod has for itself it can. Of a GPU that pods take turns on it
    can by their processes, if the exporter maps those to pods. Of a MIG device that pods take turns
    on nobody can: NVML has no samples of processes there.

    Args:
        pool: The pool.
        asked: What the pods ask for: GPUs that a mixed layout leaves whole nobody takes turns on.
            Default: whatever the pool shares.
        process_metrics: Whether the exporter maps processes to pods.
    """
    match pool.sharing:
        case Exclusive():
            return True
        case Mig():
            return pool.sharing.time_slicing is None or is_left_whole(pool, asked)
        case _:
            return process_metrics


def use_query(name: str, workload: Workload, where: PodPlacement) -> str:
    """PromQL for what the pods of a workload use themselves, in percent, on average over them.

    Args:
        name: Name of the workload.
        workload: The workload.
        where: Where its pods run.
    """
    return _average(_own_use, name, workload, where)


def pressure_query(name: str, workload: Workload, where: PodPlacement) -> str:
    """PromQL for how full the GPUs of a workload are to its pods, in percent, on average over them.

    Pods that share a GPU have its time among them: two that are busy use half of it each, and no
    pod alone comes near a threshold. So the use of the whole GPU counts. Where a workload's pods
    there use less than the pods of others do, it counts by so much less: whoever wants more than
    an equal part gets that part at least, since pods take turns. Of GPUs and MIG devices that
    nobody shares this is the pods' own use.

    Args:
        name: Name of the workload.
        workload: The workload.
        where: Where its pods run.
    """
    return _average(_pressure, name, workload, where)


def _average(
    measured: Callable[[Pool, str, str, str], str],
    name: str,
    workload: Workload,
    where: PodPlacement,
) -> str:
    if workload.use_query is not None:
        return f"avg({workload.use_query})"
    # A metric tells of the pods of several pools: one that is shared decides how it is read.
    pools = sorted((plan.pool for plan in where.plans), key=_is_shared, reverse=True)
    by_metric = {_metric(pool): pool for pool in reversed(pools)}
    in_order = dict.fromkeys(_metric(plan.pool) for plan in where.plans)
    # The exporter's labels of pods go by either of two names. With `honorLabels: false`, which is
    # its chart's default, Prometheus has them as `exported_pod` and `exported_namespace`, and
    # `pod` is the exporter's own.
    each = (
        measured(by_metric[metric], name, workload.namespace, prefix)
        for metric in in_order
        for prefix in ("", "exported_")
    )
    return f"avg({' or '.join(each)})"


def _own_use(pool: Pool, name: str, namespace: str, prefix: str) -> str:
    """One value for each pod."""
    # Pods with several whole GPUs or devices use them on average; copies of a value are equal.
    metric = _metric(pool)
    scale = "100 * " if metric == _GRAPHICS_ENGINE else ""
    return f"{scale}avg by ({prefix}pod) ({_of_pods(metric, name, namespace, prefix)})"


def _pressure(pool: Pool, name: str, namespace: str, prefix: str) -> str:
    """One value for each pod.

    A GPU is known by its label UUID. It has a series of its own, and one for each pod and
    container, which alone have a `pod_uid`. Prometheus may have been told to drop the former, so
    what the pods use together stands in for it.
    """
    if not _is_shared(pool):
        return _own_use(pool, name, namespace, prefix)
    own = _of_pods(_UTILISATION, name, namespace, prefix)
    every = f'max by (UUID, pod_uid) ({_UTILISATION}{{pod_uid!=""}})'
    whole = f"max by (UUID) ({_UTILISATION} or sum by (UUID) ({every}))"
    busy = f"avg by (UUID) ({every} > 0)"
    part = f"clamp_max(avg by (UUID) ({own}) / {busy}, 1)"
    # Where no pod does anything, nothing is divided by.
    of_gpu = f"({whole} * {part} or avg by (UUID) ({own}))"
    return f"avg by ({prefix}pod) (0 * {own} + on (UUID) group_left () {of_gpu})"


def _is_shared(pool: Pool) -> bool:
    """Whether pods take turns on its GPUs."""
    return not isinstance(pool.sharing, (Exclusive, Mig))


def _metric(pool: Pool) -> str:
    return _GRAPHICS_ENGINE if isinstance(pool.sharing, Mig) else _UTILISATION


def _of_pods(metric: str, name: str, namespace: str, prefix: str) -> str:
    return f'{metric}{{{prefix}namespace="{namespace}",{prefix}pod=~"{_pods(name)}"}}'


def _pods(name: str) -> str:
    """Names of the pods of a Deployment: its name, a hash and five characters."""
    return f"{name}-[a-z0-9]+-[a-z0-9]{{5}}"


def scaled_object(
    name: str, workload: Workload, where: PodPlacement, prometheus: PrometheusServer | None
) -> dict[str, Any] | None:
    """The ScaledObject of a workload, None of one whose pods are a fixed number.

    Args:
        name: Name of the workload.
        workload: The workload.
        where: Where its pods run.
        prometheus: Where their use is asked for; not where the time or a queue decides.
    """
    if is_scaled(workload) and prometheus is not None:
        follows = _with_floor if workload.schedule else _by_use
        spec = follows(name, workload, where, prometheus)
    elif is_stopped_by_queue(workload) and (trigger := queue_trigger(workload)) is not None:
        spec = _by_queue(workload, trigger)
    elif workload.schedule:
        windows = [(window, window.replicas) for window in workload.schedule]
        spec = scheduled_spec(windows, workload.replicas.min)
    else:
        return None
    return keda_object(name, workload.namespace, labels_of(name), spec)


def _by_use(
    name: str, workload: Workload, where: PodPlacement, prometheus: PrometheusServer
) -> dict[str, Any]:
    busy, idle = _busy_and_idle(name, workload, where)
    triggers = [_asked(prometheus, "busy", busy), _asked(prometheus, "idle", idle)]
    if workload.auto_stop:
        triggers += [_counted(name), _woken(workload, prometheus)]
    low = workload.replicas.min
    return {
        **_limits(workload),
        "fallback": {"failureThreshold": 0, "replicas": low, "behavior": "scalingModifiers"},
        "advanced": {
            "scalingModifiers": {
                "formula": formula(workload),
                "target": "1",
                "metricType": "Value",
            },
            "horizontalPodAutoscalerConfig": {"behavior": _steps(workload)},
        },
        "triggers": triggers,
    }


def _by_queue(workload: Workload, queue: dict[str, Any]) -> dict[str, Any]:
    """All of its pods as long as something is in the queue, and what windows have at least."""
    windows = workload.schedule or ()
    told = {"queueLength": str(_NOTHING_BY_ITSELF)}
    return {
        **_limits(workload),
        "triggers": [
            _with_metadata(queue, told),
            *(cron_trigger(window, window.replicas) for window in windows),
        ],
    }


def _with_floor(
    name: str, workload: Workload, where: PodPlacement, prometheus: PrometheusServer
) -> dict[str, Any]:
    """By use, and never below what the time asks for.

    A formula would make one number of all triggers, and a factor of pods that are ready is 0 of
    those that wait for a node: so each trigger is a metric of its own here, of which the greatest
    counts. As many pods may come at once as a window adds; by use it is still one, or a ninth from
    ten pods on, and the next not before that one is ready.
    """
    busy, idle = _busy_and_idle(name, workload, where)
    factor = f"{_MORE:g} * (({busy}) == 1) or 1 - 0.5 * ({idle})"
    use = {**_asked(prometheus, "use", factor), "metricType": "Value"}
    windows = workload.schedule or ()
    triggers = [use, *(cron_trigger(window, window.replicas) for window in windows)]
    if workload.auto_stop:
        low = str(workload.replicas.min)
        # Idle is 0.5. More pods than the fewest keep it from being stopped, and so does what waits;
        # neither says how many pods there shall be.
        use["metadata"] = {**use["metadata"], "activationThreshold": "0.75"}
        counted = {"value": str(_NOTHING_BY_ITSELF), "activationValue": low}
        waiting = _woken(workload, prometheus)
        key = "threshold" if waiting["type"] == "prometheus" else "queueLength"
        triggers += [
            _with_metadata(_counted(name), counted),
            _with_metadata(waiting, {key: str(_NOTHING_BY_ITSELF)}),
        ]
    jump = max(window.replicas for window in windows) - workload.replicas.min
    return {
        **_limits(workload),
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _steps(workload, jump)}},
        "triggers": triggers,
    }


def _with_metadata(trigger: dict[str, Any], more: dict[str, str]) -> dict[str, Any]:
    return {**trigger, "metadata": {**trigger["metadata"], **more}}


def _busy_and_idle(name: str, workload: Workload, where: PodPlacement) -> tuple[str, str]:
    """PromQL for whether the workload has too few pods, and whether it has too many."""
    idle, over = workload.idle or Idle(), workload.over_use or OverUse()
    use, pressure = (query(name, workload, where) for query in (use_query, pressure_query))
    return (
        _whole_window(pressure, "min", over.minutes, ">", over.threshold),
        _whole_window(use, "max", idle.minutes, "<", idle.threshold),
    )


def _limits(workload: Workload) -> dict[str, Any]:
    low = workload.replicas.min
    limits: dict[str, Any] = {"minReplicaCount": low}
    if workload.auto_stop:
        # Of several at least, KEDA knows none at all by another name.
        limits = (
            {"minReplicaCount": 0} if low == 1 else {"minReplicaCount": low, "idleReplicaCount": 0}
        )
    cooldown = 60 * (workload.idle or Idle()).minutes
    return {"cooldownPeriod": cooldown, **limits, "maxReplicaCount": most_replicas(workload)}


def formula(workload: Workload) -> str:
    """The factor of the pods that a workload shall have, as KEDA evaluates it.

    At no pods it is whether something waits. Pods that nothing is measured of are neither busy nor
    idle, so that those that wait for a node, or load a model, stay; and while nobody can say
    whether something waits, the last ones stay, and none comes.
    """
    if not workload.auto_stop:
        return "(busy ?? 0) > 0 ? 2 : ((idle ?? 0) > 0 ? 0.5 : 1)"
    low = workload.replicas.min
    fewer = f"pods > {low} ? 0.5 : ((wake ?? 1) > 0 ? 1 : 0)"
    running = f"(busy ?? 0) > 0 ? 2 : ((idle ?? 0) > 0 ? ({fewer}) : 1)"
    return f"pods > 0 ? ({running}) : ((wake ?? 0) > 0 ? 1 : 0)"


def _steps(workload: Workload, jump: int = 1) -> dict[str, Any]:
    """One pod in a period, or more up. The windows of queries have waited: nothing is stabilised.

    Args:
        workload: The workload.
        jump: How many may come.
    """
    idle, over = workload.idle or Idle(), workload.over_use or OverUse()
    each = (("scaleUp", over.minutes, max(1, jump)), ("scaleDown", idle.minutes, 1))
    return {
        direction: {
            "stabilizationWindowSeconds": 0,
            "policies": [
                {
                    "type": "Pods",
                    "value": pods,
                    "periodSeconds": min(60 * minutes, _MOST_PERIOD_SECONDS),
                }
            ],
        }
        for direction, minutes, pods in each
    }


def _whole_window(use: str, extreme: str, minutes: int, compared: str, threshold: float) -> str:
    """1 if the use was beyond a threshold all the time, else 0; nothing where nothing measured it.

    Not before it has been measured for the whole time but one step: a pod that has just come would
    be idle at its first value.
    """
    seconds = 60 * minutes
    window = f"{use}[{seconds}s:{STEP_SECONDS}s]"
    enough = max(1, seconds // STEP_SECONDS - 1)
    return (
        f"({extreme}_over_time({window}) {compared} bool {threshold:g}) * "
        f"(count_over_time({window}) >= bool {enough})"
    )


def _woken(workload: Workload, prometheus: PrometheusServer) -> dict[str, Any]:
    """How much waits, in the queue that is named or by the query."""
    wake = workload.wake
    if (trigger := queue_trigger(workload)) is not None:
        return trigger
    asked = wake.query if wake is not None and wake.query is not None else "vector(0)"
    return _asked(prometheus, "wake", f"sum({asked}) or vector(0)")


def _asked(prometheus: PrometheusServer, name: str, query: str) -> dict[str, Any]:
    return {
        "type": "prometheus",
        "name": name,
        "metadata": {
            "serverAddress": prometheus.address,
            **({"awsRegion": prometheus.region} if prometheus.region is not None else {}),
            "query": query,
            "threshold": "1",
            # Else what nobody measures would be 0 to KEDA.
            "ignoreNullValues": "false",
        },
        **(
            {
                "authenticationRef": {
                    "name": prometheus.authentication,
                    "kind": "ClusterTriggerAuthentication",
                }
            }
            if prometheus.authentication is not None
            else {}
        ),
    }


def _counted(name: str) -> dict[str, Any]:
    """Its pods, those that are ending among them."""
    return {
        "type": "kubernetes-workload",
        "name": "pods",
        "metadata": {"podSelector": f"{NAME_LABEL}={name}", "value": "1"},
    }
