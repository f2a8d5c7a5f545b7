"""Rules about the host engines of DCGM on a node: EKS's node monitoring agent brings one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.edges.engines import engine_of_operator
from eks_gpushare.rules.charts import IDLE_CHART
from eks_gpushare.rules.registry import Runs, Scope, check
from eks_gpushare.sharing.bottlerocket import pools_of_chart
from eks_gpushare.sharing.exporter import (
    collects,
    exporter_chart_values,
    has_own_exporter,
    with_process_metrics,
)
from eks_gpushare.sharing.mig_manager import uses_mig_manager
from eks_gpushare.sharing.node_monitoring import (
    AGENT,
    ENGINE_ADDRESS,
    REMOTE_ENGINE,
    exporter_values,
    has_agent_engine,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

_NO_CLUSTER = "An operator that stands alone is not told whether the cluster has the agent."

TWO_ENGINES = rule_of("GPU644", not_alone=_NO_CLUSTER)
NO_ENGINE = Rule(
    "GPU645",
    "warning",
    "The DCGM exporter has a host engine on every node.",
    "The exporter has one setting for all nodes. Where the engine of the node monitoring agent "
    "does not run, it starts again and again and has no metrics.",
    "https://github.com/aws/eks-node-monitoring-agent/tree/v1.7.0/charts",
    not_alone=_NO_CLUSTER,
)
OLD_AGENT = Rule(
    "GPU277",
    "error",
    "The node monitoring agent stays away from nodes whose layout MIG manager is making.",
    "Its host engine keeps the GPUs busy; without its engine it reports every GPU as broken, and "
    "node repair replaces the node.",
    "https://github.com/aws/eks-node-monitoring-agent/blob/v1.6.0/charts/configuration.schema.json",
)

TWO_EXPORTERS = Rule(
    "GPU852",
    "error",
    "A stack installs a DCGM exporter where there is none.",
    "Two exporters on a node each run a host engine of DCGM: they may lock up the driver, and one "
    "of them has no profiling metrics.",
    "https://github.com/NVIDIA/DCGM/issues/108",
)

_AT = ("charts", "gpuOperator", "values")
_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)\..*")
_CONFIGURABLE = (1, 6)
"""Before, nobody here knows whether the add-on takes `nodeAgent.tolerations`."""


@check(Scope.CHARTS, TWO_ENGINES, NO_ENGINE, runs=Runs.IN_STACKS)
def engines(ctx: Context) -> Iterator[Finding]:
    """In a stack; elsewhere nobody here knows whether there is an agent."""
    environment = ctx.environment
    if environment.gpu_stack.manager != "gpuOperator" or ctx.new_cluster is None:
        return
    pools = pools_of_chart(environment.pools)
    derived = exporter_values(pools, ctx.catalog)
    if not derived:
        return
    given = with_process_metrics(environment, pools, ctx.catalog, node_monitoring_agent=True)
    values = merge_values(derived, given)
    exporter = values.get("dcgmExporter")
    if not isinstance(exporter, dict):
        return
    own = engine_of_operator(values)
    if own == "DCGM":
        yield TWO_ENGINES.finding(
            (*_AT, "dcgm", "enabled"),
            "The operator would run a host engine beside that of the node monitoring agent.",
            "Remove it: the exporter uses the agent's engine.",
        )
    if exporter.get("enabled") is False:
        return
    address = _variables(exporter).get(REMOTE_ENGINE)
    if own == "the DCGM exporter":
        yield TWO_ENGINES.finding(
            (*_AT, "dcgmExporter", "env"),
            f"Without {REMOTE_ENGINE} the exporter starts a host engine of its own beside that of "
            "the node monitoring agent.",
            f"Add {{name: {REMOTE_ENGINE}, value: {ENGINE_ADDRESS}}}: a list in values takes the "
            "place of the derived one.",
        )
    elif address == ENGINE_ADDRESS and exporter.get("hostNetwork") is not True:
        yield NO_ENGINE.finding(
            (*_AT, "dcgmExporter", "hostNetwork"),
            f"{ENGINE_ADDRESS} is the agent's host engine in the network of the node only.",
            "Remove it.",
        )


@check(Scope.CHARTS, TWO_ENGINES, runs=Runs.IN_STACKS)
def engine_beside_plugin(ctx: Context) -> Iterator[Finding]:
    """Of the exporter's own chart, which has to be in the network of the node for the agent's."""
    environment, chart = ctx.environment, ctx.environment.charts.dcgm_exporter
    if chart is None or not has_own_exporter(environment) or ctx.new_cluster is None:
        return
    if environment.gpu_stack.manager != "devicePlugin":
        return
    pools = pools_of_chart(environment.pools)
    values = exporter_chart_values(pools, ctx.catalog, chart.values, node_monitoring_agent=True)
    address = _variables({"env": values.get("extraEnv")}).get(REMOTE_ENGINE)
    if address == ENGINE_ADDRESS and values.get("hostNetwork") is not True:
        yield TWO_ENGINES.finding(
            ("charts", "dcgmExporter", "values", "hostNetwork"),
            f"{ENGINE_ADDRESS} is the agent's host engine in the network of the node only.",
            "Remove it.",
        )
    elif address is None and exporter_values(pools, ctx.catalog):
        yield TWO_ENGINES.finding(
            ("charts", "dcgmExporter", "values", "extraEnv"),
            f"Without {REMOTE_ENGINE} the exporter starts a host engine of its own beside that of "
            "the node monitoring agent.",
            "Make it a list of variables.",
        )


@check(Scope.CHARTS, NO_ENGINE, runs=Runs.IN_STACKS)
def exporter_without_engine(ctx: Context) -> Iterator[Finding]:
    environment = ctx.environment
    pools = pools_of_chart(environment.pools)
    if ctx.new_cluster is None or not exporter_values(pools, ctx.catalog):
        return
    given = _block(environment.charts.gpu_operator.values, "dcgmExporter")
    brings_one = environment.gpu_stack.manager == "gpuOperator"
    if not (given.get("enabled") is not False if brings_one else has_own_exporter(environment)):
        return
    for name, pool in pools.items():
        known = any(ctx.catalog.find(instance_type) for instance_type in pool.instance_types)
        if known and not has_agent_engine(pool, ctx.catalog):
            yield NO_ENGINE.finding(
                ("pools", name, "instanceTypes"),
                "The node monitoring agent has no host engine for arm64, and the exporter of other "
                "pools uses it.",
                "Give these nodes a cluster of their own, or do without their GPU metrics.",
            )


@check(Scope.ENVIRONMENT, TWO_EXPORTERS, IDLE_CHART)
def exporter_beside(ctx: Context) -> Iterator[Finding]:
    environment, keda = ctx.environment, ctx.environment.keda
    stack, at = environment.gpu_stack, ("gpuStack", "dcgmExporter")
    message = None
    if stack.manager == "gpuOperator":
        message = "The GPU Operator brings the exporter and configures it."
    elif collects(environment.observability):
        message = "observability installs the exporter, in a namespace of its own."
    elif keda is not None and keda.prometheus and keda.prometheus.exporter == "existing":
        message = "keda.prometheus.exporter says that somebody else runs the exporter."
    elif not pools_of_chart(environment.pools):
        message = "It runs on nodes with the device plugin's chart, and Bottlerocket's have none."
    if stack.dcgm_exporter and message is not None:
        yield TWO_EXPORTERS.finding(at, message, "Remove the key.")
    beside = stack.manager == "devicePlugin" and collects(environment.observability)
    if environment.charts.dcgm_exporter is not None and not (stack.dcgm_exporter or beside):
        yield IDLE_CHART.finding(
            ("charts", "dcgmExporter"),
            "This stack installs no DCGM exporter of its own.",
            "Remove the block, or set gpuStack: {dcgmExporter: true}.",
        )


@check(Scope.ENVIRONMENT, TWO_EXPORTERS)
def exporter_of_metrics(ctx: Context) -> Iterator[Finding]:
    """Of the stack's metrics, or of CloudWatch's add-on, beside another's."""
    environment, keda = ctx.environment, ctx.environment.keda
    block, stack = environment.observability, environment.gpu_stack
    if block is None:
        return
    existing = keda is not None and keda.prometheus and keda.prometheus.exporter == "existing"
    if existing and collects(block):
        yield TWO_EXPORTERS.finding(
            ("keda", "prometheus", "exporter"),
            "It says that somebody else runs the exporter, and observability installs one.",
            "Remove the key, or set observability: {metrics: none}.",
        )
    given = _block(environment.charts.gpu_operator.values, "dcgmExporter")
    brought = stack.manager == "gpuOperator" and given.get("enabled") is not False
    if block.metrics == "cloudwatch" and (brought or stack.dcgm_exporter):
        whose = "the GPU Operator" if brought else "gpuStack.dcgmExporter"
        own = "charts: {gpuOperator: {values: {dcgmExporter: {enabled: false}}}}"
        yield TWO_EXPORTERS.finding(
            ("observability", "metrics"),
            f"CloudWatch's add-on brings an exporter, and {whose} has another.",
            f"Set {own}." if brought else "Remove gpuStack.dcgmExporter.",
        )


@check(Scope.ENVIRONMENT, OLD_AGENT)
def agent_version(ctx: Context) -> Iterator[Finding]:
    cluster = ctx.new_cluster
    if cluster is None or not uses_mig_manager(ctx.environment.pools):
        return
    version = cluster.addons.versions.get(AGENT, "")
    found = _VERSION.fullmatch(version)
    if found is not None and (int(found[1]), int(found[2])) < _CONFIGURABLE:
        yield OLD_AGENT.finding(
            ("cluster", "addons", "versions", AGENT),
            f"{version} is not known to take nodeAgent.tolerations, by which it stays away.",
            "Remove the version, or take v1.6.0 or later.",
        )


def _block(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = values.get(name)
    return found if isinstance(found, dict) else {}


def _variables(exporter: Mapping[str, Any]) -> dict[str, object]:
    env = exporter.get("env")
    items = env if isinstance(env, list) else []
    return {str(item.get("name")): item.get("value") for item in items if isinstance(item, dict)}
