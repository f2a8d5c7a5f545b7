"""Rules about what a stack changes about the charts, and who installs the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.chart_daemonsets import LOST_WITHOUT_NFD, OPERATOR_CHART, PLUGIN_CHART
from eks_gpushare.catalog.versions import device_plugin_source, gpu_operator_source
from eks_gpushare.documents.helm import merge_values, value_at
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.bottlerocket import is_bottlerocket, pools_of_chart
from eks_gpushare.sharing.charts import device_plugin_values
from eks_gpushare.sharing.gpu_operator import brings_driver, derived_values
from eks_gpushare.sharing.mig_manager import mig_manager_env

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_PLUGIN = device_plugin_source("deployments/helm")
_OPERATOR = gpu_operator_source("deployments/gpu-operator")
_ON_EKS = "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/amazon-eks.html"

UNDONE_VALUE = Rule(
    "GPU703",
    "error",
    "Chart values do not undo what is derived from the pools.",
    "Shares, labels and tolerations would no longer be those of the plan.",
    _PLUGIN,
)
UNDONE_OPERATOR_VALUE = Rule(
    "GPU710",
    "error",
    "Values of the GPU Operator do not undo what is derived from the pools.",
    "Nodes would not share what the plan says, or lose the driver that is in their image.",
    _OPERATOR,
)
IDLE_CHART = Rule(
    "GPU714",
    "warning",
    "What is changed about a chart is of one that the stack installs.",
    "The block has no effect; its author meant the other manager.",
    _OPERATOR,
)
TWO_KINDS_OF_DRIVER = Rule(
    "GPU716",
    "error",
    "All images have the driver, or none has.",
    "The operator has one switch for all nodes. On, it takes the operating system of one GPU node "
    "for that of all, and rewrites containerd's configuration where the image has its own.",
    _ON_EKS,
)
DRIVER_IMAGE = Rule(
    "GPU717",
    "warning",
    "NVIDIA has a driver image for the operating system.",
    "The driver's pods cannot pull their image, and nodes advertise nothing.",
    "https://github.com/NVIDIA/gpu-operator/issues/686",
)


_OF_PLUGIN: dict[str, str] = {
    "affinity": "sends the plugin to the nodes of the pools",
    "config": "names the ConfigMap of the pools",
    "gfd.enabled": "labels the nodes with what they share",
    "migStrategy": "comes with each pool's configuration",
    "nodeSelector": "would narrow the nodes that the plugin reaches",
    "tolerations": "holds the taints of the pools",
    "devicePlugin.enabled": "is what advertises the shares",
    "namespaceOverride": "is the namespace of the ConfigMap too",
    "nfd.worker.affinity": "sends NFD's worker to the nodes of the pools",
    "nfd.worker.tolerations": "holds the taints of the pools",
}
"""Values that come from the plan, and what they do. A path covers what is below it."""
_DRIVER = {
    "driver.enabled": "is on only where no image has a driver",
    "toolkit.enabled": "is on only where no image has the container toolkit",
}
_OF_OPERATOR: dict[str, str] = {
    **_DRIVER,
    "clusterPolicy.deployCR": "is what the operator works from",
    "daemonsets.tolerations": "holds the taints of the pools",
    "devicePlugin.config": "names the ConfigMap of the pools",
    "devicePlugin.enabled": "is what advertises the shares",
    "gfd.enabled": "labels the nodes with what they share",
    "gpuCluster.deployCR": "would hand out GPUs by claims, not as the resources of the plan",
    "mig.strategy": "stays empty, or it would win over the strategy of every pool",
    "migManager.config": "holds the layouts of the pools and no default, which would take away "
    "the MIG devices of other nodes",
    "migManager.enabled": "is on only where a pool has apply: migManager",
    "node-feature-discovery.worker.affinity": "sends NFD's worker to the nodes of the pools",
    "node-feature-discovery.worker.tolerations": "holds the taints of the pools",
}
_LOST = {
    "devicePlugin": LOST_WITHOUT_NFD[PLUGIN_CHART],
    "gpuOperator": LOST_WITHOUT_NFD[OPERATOR_CHART],
}
_STRATEGIES = (
    ("devicePlugin", "MIG_STRATEGY"),
    ("gfd", "MIG_STRATEGY"),
    ("gfd", "GFD_MIG_STRATEGY"),
)
"""Variables of parts by which the chart would set one MIG strategy for all nodes: `--mig-strategy`
in `cmd/nvidia-device-plugin` and `cmd/gpu-feature-discovery` of NVIDIA/k8s-device-plugin; read
2026-11-22."""
_NOTHING = object()


@check(Scope.CHARTS, UNDONE_VALUE, UNDONE_OPERATOR_VALUE)
def undone_values(ctx: Context) -> Iterator[Finding]:
    pools, charts = pools_of_chart(ctx.environment.pools), ctx.environment.charts
    if ctx.environment.gpu_stack.manager == "devicePlugin":
        given, derived = charts.device_plugin.values, device_plugin_values(pools, {})
        yield from undone(UNDONE_VALUE, "devicePlugin", given, derived, _OF_PLUGIN)
        yield from _no_discovery(ctx, UNDONE_VALUE, "devicePlugin", given)
        return
    given = charts.gpu_operator.values
    derived = derived_values(pools)
    # What is in the image of nodes that others make, only they know.
    unknown = any(pool.provisioner == "existing" for pool in pools.values())
    roles = {at: role for at, role in _OF_OPERATOR.items() if not (unknown and at in _DRIVER)}
    yield from undone(UNDONE_OPERATOR_VALUE, "gpuOperator", given, derived, roles)
    yield from _undone_env(ctx, given)
    yield from _no_discovery(ctx, UNDONE_OPERATOR_VALUE, "gpuOperator", given)


def _no_discovery(
    ctx: Context, code: Rule, chart: str, given: Mapping[str, Any]
) -> Iterator[Finding]:
    """A cluster that others made may have node feature discovery; a new one has it from here."""
    if ctx.new_cluster is not None and value_at(given, "nfd.enabled", _NOTHING) is False:
        yield code.finding(
            ("charts", chart, "values", "nfd", "enabled"),
            f"A new cluster has no node feature discovery but that of this chart: {_LOST[chart]}.",
            "Remove it.",
        )


def _undone_env(ctx: Context, given: Mapping[str, Any]) -> Iterator[Finding]:
    """Lists of environment variables, which replace those that are derived as a whole."""
    for part, name in _STRATEGIES:
        if name in _env(given, part):
            yield UNDONE_OPERATOR_VALUE.finding(
                ("charts", "gpuOperator", "values", part, "env"),
                f"{name} would win over the strategy of every pool.",
                f"Remove {name}; set strategy in the pool's sharing instead.",
            )
    wanted = mig_manager_env(ctx.environment.pools, ctx.catalog)
    given_env = _env(given, "migManager")
    missing = [
        variable for variable in wanted if given_env.get(variable["name"]) != variable["value"]
    ]
    if missing and value_at(given, "migManager.env", _NOTHING) is not _NOTHING:
        listed = ", ".join(
            f'{{name: {variable["name"]}, value: "{variable["value"]}"}}' for variable in missing
        )
        yield UNDONE_OPERATOR_VALUE.finding(
            ("charts", "gpuOperator", "values", "migManager", "env"),
            "This list replaces the derived one, without which A100 GPUs do not switch MIG on.",
            f"Add {listed} to it.",
        )


def _env(values: Mapping[str, Any], part: str) -> dict[str, str]:
    """The environment variables that values give a part of the chart."""
    given = value_at(values, f"{part}.env", _NOTHING)
    items = given if isinstance(given, list) else []
    return {
        str(item.get("name")): str(item.get("value", ""))
        for item in items
        if isinstance(item, dict)
    }


def undone(
    code: Rule,
    chart: str,
    given: Mapping[str, Any],
    derived: Mapping[str, Any],
    roles: Mapping[str, str],
    source: str = "the pools",
) -> Iterator[Finding]:
    """Findings on given values that change what is derived.

    Args:
        code: The rule.
        chart: Key of the chart below `charts`.
        given: Values that the stack gives.
        derived: Values that come from the plan.
        roles: What each of the latter that must stay does, by its path.
        source: What it is derived from.
    """
    result = merge_values(derived, given)
    for path in _paths(given):
        dotted = ".".join(path)
        for place, role in roles.items():
            # `gfd: null` undoes gfd.enabled as well.
            touched = f"{dotted}.".startswith(f"{place}.") or f"{place}.".startswith(f"{dotted}.")
            own = value_at(derived, place, _NOTHING)
            if touched and (own is _NOTHING or value_at(result, place, _NOTHING) != own):
                yield code.finding(
                    ("charts", chart, "values", *path),
                    f"{place} is derived from {source}: it {role}.",
                    f"Remove it, and change {source} instead.",
                )


def _paths(values: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in values.items():
        if isinstance(value, dict):  # an empty one changes nothing
            yield from _paths(value, (*above, str(key)))
        else:
            yield (*above, str(key))


@check(Scope.ENVIRONMENT, IDLE_CHART)
def idle_chart(ctx: Context) -> Iterator[Finding]:
    manager = ctx.environment.gpu_stack.manager
    charts = ctx.environment.charts
    key, idle = (
        ("gpuOperator", charts.gpu_operator)
        if manager == "devicePlugin"
        else ("devicePlugin", charts.device_plugin)
    )
    if idle.model_dump(exclude_defaults=True):
        yield IDLE_CHART.finding(
            ("charts", key),
            f"gpuStack.manager is {manager}, so this chart is not installed.",
            f"Remove the block, or set gpuStack: {{manager: {key}}}.",
        )


@check(Scope.CHARTS, TWO_KINDS_OF_DRIVER, DRIVER_IMAGE)
def drivers(ctx: Context) -> Iterator[Finding]:
    if ctx.environment.gpu_stack.manager != "gpuOperator":
        return
    pools = pools_of_chart(ctx.environment.pools)
    equipped = [name for name, pool in pools.items() if brings_driver(pool)]
    for name, pool in pools.items():
        if brings_driver(pool) or is_bottlerocket(pool):  # which has a rule of its own
            continue
        at: FieldPath = ("pools", name, "customAmi", "driverIncluded")
        if equipped:
            yield TWO_KINDS_OF_DRIVER.finding(
                at,
                f"This image has no NVIDIA driver, but nodes of {', '.join(equipped)} have one.",
                "Put driver and container toolkit into the AMI, or keep these nodes in a stack "
                "and a cluster of their own.",
            )
        else:
            yield DRIVER_IMAGE.finding(
                at,
                "The operator installs the driver from an image, which NVIDIA has for Ubuntu and "
                "Red Hat, not for Amazon Linux.",
                "Put driver and container toolkit into an AMI of Amazon Linux, and set "
                "driverIncluded: true.",
            )
