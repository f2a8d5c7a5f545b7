"""What a DCGM exporter is told, the GPU Operator's or its own chart's, so that it measures pods.

It finds the processes of pods by hostPID and a variable, and knows pods of renamed shares by
another: NVIDIA/dcgm-exporter, internal/pkg/transformation/kubernetes.go, read 2026-11-22.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.config.base import known_fields
from eks_gpushare.config.observability import PROMETHEUS_NAMESPACE
from eks_gpushare.config.workloads import Prometheus
from eks_gpushare.documents.duration import seconds
from eks_gpushare.documents.helm import merge_values, value_at
from eks_gpushare.sharing.charts import pool_node_affinity, tolerations
from eks_gpushare.sharing.metrics import needs_processes, needs_profiling
from eks_gpushare.sharing.node_monitoring import (
    ENGINE_ADDRESS,
    REMOTE_ENGINE,
    exporter_values,
    has_agent_engine,
)
from eks_gpushare.sharing.resources import GPU, MIG_PREFIX, shares
from eks_gpushare.sharing.workloads import is_scaled, pools_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.observability import Observability
    from eks_gpushare.config.pools import Pool

BY_PROCESS = "KUBERNETES_VIRTUAL_GPUS"
"""Variable that makes it look for the processes of pods."""
RESOURCES = "NVIDIA_RESOURCE_NAMES"
"""Variable with the resources whose pods it sees, in addition to GPUs and MIG devices."""
PROMETHEUS_ADDRESS = f"http://prometheus-operated.{PROMETHEUS_NAMESPACE}.svc:9090"
"""Where pods reach it: the operator of Prometheus makes this Service, whatever the release is
called."""
PORT = "9400"
"""Where it answers, as its chart has it."""


COUNTERS_MAP = "eks-gpushare-counters"
"""ConfigMap with what the GPU Operator's exporter measures."""
_EVERY = "DCGM_EXPORTER_INTERVAL"
_COUNTERS = (
    ("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz)."),
    ("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C)."),
    ("DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Memory temperature (in C)."),
    ("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W)."),
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Energy since boot (in mJ)."),
    ("DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %)."),
    ("DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory utilization (in %)."),
    ("DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB)."),
    ("DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB)."),
    ("DCGM_EXP_XID_ERRORS_COUNT", "gauge", "XID errors of the last five minutes."),
    ("DCGM_EXP_CLOCK_EVENTS_COUNT", "gauge", "Clock events of the last five minutes."),
    ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "Double-bit ECC errors since boot."),
    ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", "Rows remapped for such errors."),
    ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Whether remapping of rows has failed."),
    ("DCGM_FI_DRIVER_VERSION", "label", "Driver version."),
)
"""What rules and boards ask, and what people do: etc/default-counters.csv of the exporter has the
form and the words."""
_ASKED_BY_PEOPLE = frozenset(
    f"DCGM_FI_{name}"
    for name in (
        *("DEV_MEMORY_TEMP", "DEV_MEM_COPY_UTIL", "DEV_TOTAL_ENERGY_CONSUMPTION"),
        *("DRIVER_VERSION", "PROF_DRAM_ACTIVE", "PROF_PIPE_TENSOR_ACTIVE"),
    )
)
"""What no rule and no board asks."""
_PROFILED = (
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active."),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Ratio of cycles the tensor pipe is active."),
    ("DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "Ratio of cycles memory sends or receives."),
)


def has_own_exporter(environment: Environment) -> bool:
    """Whether a stack runs the exporter whose metrics its workloads follow."""
    asked, operator = prometheus_of(environment), environment.charts.gpu_operator
    if asked is not None and asked.exporter is not None:
        return False
    if environment.gpu_stack.manager == "devicePlugin":
        return bool(environment.gpu_stack.dcgm_exporter) or collects(environment.observability)
    return value_at(operator.values, "dcgmExporter.enabled") is not False


def measures_processes(environment: Environment) -> bool:
    """Whether the exporter is said to tell pods apart that take turns on a GPU."""
    asked, stack = prometheus_of(environment), known_fields(environment).get("gpu_stack")
    if asked is not None and (asked.process_metrics or asked.exporter):
        return asked.process_metrics
    if collects(environment.observability):
        return True
    return stack is not None and stack.manager == "devicePlugin" and bool(stack.dcgm_exporter)


def collects(block: Observability | None) -> bool:
    """Whether a stack runs an exporter for its metrics: CloudWatch's add-on brings its own."""
    return block is not None and block.metrics in {"prometheusOperator", "managedPrometheus"}


def makes_collector(block: Observability | None) -> bool:
    """Whether a stack makes a collector of AWS's, and a workspace unless one is given."""
    if block is None or block.metrics != "managedPrometheus" or block.prometheus is None:
        return False
    return block.prometheus.install


def prometheus_of(environment: Environment) -> Prometheus | None:
    """Where KEDA asks for the use of GPUs: what its block says, or where the stack keeps metrics.

    What the stack keeps is of an exporter of its own, which maps processes to pods.
    """
    keda = environment.keda
    if keda is None:
        return None
    if keda.prometheus is not None:
        return keda.prometheus
    block = environment.observability
    if block is None or block.prometheus is None:
        return None
    store = block.prometheus
    in_cluster = store.install and not makes_collector(block)
    url = PROMETHEUS_ADDRESS if in_cluster else store.url
    # Of a workspace that the stack makes neither is known before it is.
    if not collects(block) or not (url or store.workspace_arn or store.install):
        return None
    return Prometheus.model_construct(
        url=url,
        workspace_arn=store.workspace_arn,
        process_metrics=True,
    )


def exporter_chart_values(
    pools: Mapping[str, Pool],
    catalog: Catalog,
    given: Mapping[str, Any],
    *,
    node_monitoring_agent: bool = False,
    block: Observability | None = None,
) -> dict[str, Any]:
    """Values of the exporter's own chart, for the nodes of the pools.

    A variable that the user gives goes over the derived one of its name, and leaves the others.

    Args:
        pools: The pools that the device plugin serves.
        catalog: Where instance types are looked up.
        given: The user's values, which go over the derived ones.
        node_monitoring_agent: Whether EKS's node monitoring agent runs on the nodes.
        block: What is to be measured. Default: what its chart has it measure.
    """
    derived: dict[str, Any] = {
        "affinity": pool_node_affinity(pools),
        "tolerations": tolerations(pools),
        # Its kind comes with Prometheus' operator; others look for the annotations.
        "serviceMonitor": {"enabled": False},
        "podAnnotations": {"prometheus.io/scrape": "true", "prometheus.io/port": PORT},
    }
    env: list[dict[str, Any]] = []
    if node_monitoring_agent and any(has_agent_engine(pool, catalog) for pool in pools.values()):
        derived["hostNetwork"] = True
        env.append({"name": REMOTE_ENGINE, "value": ENGINE_ADDRESS})
    if block is not None:
        derived |= _of_block(block, pools)
        env.append(_interval(block))
    if needs_processes(pools.values()):
        derived["hostPID"] = True
        env.append({"name": BY_PROCESS, "value": "true"})
    names = _named(share for pool in pools.values() for share in _all_shares(pool, catalog))
    if names:
        env.append({"name": RESOURCES, "value": ",".join(names)})
    own = given.get("extraEnv")
    if isinstance(own, list):
        named = {variable.get("name") for variable in own if isinstance(variable, dict)}
        env = [*own, *(variable for variable in env if variable["name"] not in named)]
        given = {**given, "extraEnv": env}
    return merge_values({**derived, **({"extraEnv": env} if env else {})}, given, keep_null=True)


def _of_block(block: Observability, pools: Mapping[str, Pool]) -> dict[str, Any]:
    """What is to be measured, in the values of its own chart."""
    profiling = needs_profiling(pools.values())
    found: dict[str, Any] = {"customMetrics": counters(profiling=profiling)}
    if not profiling:
        # The chart's default adds SYS_ADMIN, which nothing but profiling takes.
        found["securityContext"] = {"capabilities": {"add": []}}
    if block.metrics == "prometheusOperator" or makes_collector(block):
        # A Prometheus that goes by annotations would have every series twice.
        found["podAnnotations"] = {}
    if block.pod_labels:
        found["kubernetes"] = _pod_labels(block)
    return found


def _pod_labels(block: Observability) -> dict[str, Any]:
    return {"enablePodLabels": True, "podLabelAllowlistRegex": list(block.pod_labels)}


def _interval(block: Observability) -> dict[str, str]:
    """How often it measures: twice for each scrape would be for nothing, and half as often old."""
    known = seconds(block.interval)
    return {"name": _EVERY, "value": str(int(1000 * known) if known else 30_000)}


def counters(*, profiling: bool) -> str:
    """What the exporter measures, as the lines of its file.

    Args:
        profiling: Whether to measure what takes profiling: without MIG nothing here needs it.
    """
    known = (*_COUNTERS, *(_PROFILED if profiling else ()))
    return "".join(f"{name}, {kind}, {about}\n" for name, kind, about in known)


def followed_shares(environment: Environment, catalog: Catalog) -> list[str]:
    """Shares whose use decides about pods, and that an exporter does not know by itself.

    Args:
        environment: The environment; of instance types that nobody knows nothing follows.
        catalog: Where instance types are looked up.
    """
    found: list[str] = []
    for workload in (environment.workloads or {}).values():
        if not is_scaled(workload) or workload.use_query is not None:
            continue
        pools = [
            environment.pools[name] for name in pools_of(workload) if name in environment.pools
        ]
        asked = [workload.share] if workload.share else [_share(pool, catalog) for pool in pools]
        found += filter(None, asked)
    return _named(found)


def told_shares(
    environment: Environment, served: Mapping[str, Pool], catalog: Catalog
) -> list[str]:
    """Shares that an exporter of a stack has to be told of, since it does not know them by itself.

    Args:
        environment: The environment.
        served: The pools that it is on.
        catalog: Where instance types are looked up.
    """
    found = followed_shares(environment, catalog)
    if collects(environment.observability):
        found += [name for pool in served.values() for name in _all_shares(pool, catalog)]
    return _named(found)


def uncounted(file: str, served: Mapping[str, Pool]) -> list[str]:
    """What rules and boards count on, and a file of counters does not have.

    Args:
        file: The file.
        served: The pools that the exporter is on.
    """
    lines = {*_ASKED_BY_PEOPLE, *(line.partition(",")[0].strip() for line in file.splitlines())}
    wanted = counters(profiling=needs_profiling(served.values())).splitlines()
    return [name for line in wanted if (name := line.partition(",")[0]) not in lines]


def _named(found: Iterable[str]) -> list[str]:
    """Those resources that an exporter has to be told of, each once."""
    own = {name: None for name in found if name != GPU and not name.startswith(MIG_PREFIX)}
    return list(own)


def _share(pool: Pool, catalog: Catalog) -> str | None:
    """What its pods ask for by default; None where rules refuse the pool."""
    return next(iter(_all_shares(pool, catalog)), None)


def _all_shares(pool: Pool, catalog: Catalog) -> list[str]:
    """What its nodes advertise; nothing where rules refuse the pool."""
    try:
        types = (catalog.find(name) for name in pool.instance_types)
        return [
            share.resource for known in types if known for share in shares(pool, known, catalog)
        ]
    except (KeyError, ValueError):  # a layout that does not go
        return []


def with_process_metrics(
    environment: Environment,
    served: Mapping[str, Pool],
    catalog: Catalog,
    *,
    node_monitoring_agent: bool = False,
) -> dict[str, Any]:
    """A stack's values of the operator's chart, and what the exporter needs for process metrics.

    A list in values takes the place of the derived one, so what is derived of its environment is
    repeated. What the stack gives itself stays.

    Args:
        environment: The environment.
        served: The pools that the operator serves.
        catalog: Where instance types are looked up.
        node_monitoring_agent: Whether EKS's node monitoring agent runs on the nodes.
    """
    given, asked = environment.charts.gpu_operator.values, prometheus_of(environment)
    block = environment.observability
    measured = block if block is not None and collects(block) else None
    wanted = measured is not None or (asked is not None and asked.process_metrics)
    env = value_at(given, "dcgmExporter.env", [])
    if not wanted or not has_own_exporter(environment) or not isinstance(env, list):
        return given
    derived = exporter_values(served, catalog) if node_monitoring_agent else {}
    names = ",".join(told_shares(environment, served, catalog))
    more = [
        *value_at(derived, "dcgmExporter.env", []),
        {"name": BY_PROCESS, "value": "true"},
        *([{"name": RESOURCES, "value": names}] if names else []),
        *([_interval(measured)] if measured is not None else []),
    ]
    named = {variable.get("name") for variable in env if isinstance(variable, dict)}
    told = {
        "hostPID": value_at(given, "dcgmExporter.hostPID", absent=True),
        "env": [*env, *(variable for variable in more if variable["name"] not in named)],
    }
    if measured is None:
        return merge_values(given, {"dcgmExporter": told}, keep_null=True)
    file = counters(profiling=needs_profiling(served.values()))
    own: dict[str, Any] = {
        # The operator makes this ConfigMap, and its exporter reads the key of this name.
        "config": {"name": COUNTERS_MAP, "create": True, "data": file},
        **(_pod_labels(measured) if measured.pod_labels else {}),
    }
    below = merge_values({"dcgmExporter": own}, given, keep_null=True)
    return merge_values(below, {"dcgmExporter": told}, keep_null=True)
