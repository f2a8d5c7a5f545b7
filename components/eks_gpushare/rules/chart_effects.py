"""Rules about chart values that take away, by another key, what the plan of the pools needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.catalog import versions
from eks_gpushare.config.sharing import Mps
from eks_gpushare.documents.helm import value_at
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.chart_values import installed
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.bottlerocket import is_bottlerocket, pools_of_chart
from eks_gpushare.sharing.closed_runtime import chart_plugin_flags, closed_pools
from eks_gpushare.sharing.gpu_operator import brings_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

HARMFUL_VALUE = Rule(
    "GPU731",
    "error",
    "Chart values leave in place what shares the GPUs.",
    "The chart is installed without a word, and nodes advertise nothing or something else.",
    versions.device_plugin_source("deployments/helm"),
)
DOUBTFUL_VALUE = Rule(
    "GPU732",
    "warning",
    "Chart values need nothing that the cluster does not have.",
    "Pods of the chart are refused, or keep what they started with.",
    versions.gpu_operator_source("deployments/gpu-operator"),
)
IDLE_DRIVER = Rule(
    "GPU733",
    "warning",
    "Settings of driver and container toolkit are for those that the operator installs.",
    "The image of the nodes has both, so the operator installs neither, and the block is ignored.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/amazon-eks.html",
)

_ABSENT = object()
_PRIORITIES = ("", "system-node-critical", "system-cluster-critical")
_STRATEGIES = ("envvar", "volume-mounts", "cdi-annotations", "cdi-cri")
_NAME = re.compile(r"([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?")
"""A DNS label, or nothing, which stands for the chart's own name."""
_ARGUMENTS = ("--mig-strategy", "--config-file", "--mps-root")
_VARIABLES = ("CONFIG_FILE", "MPS_ROOT")


class _Effect(NamedTuple):
    """What a value does."""

    place: str
    """Where it stands."""
    harmful: Callable[[Any], bool]
    """Whether a value there does it."""
    message: str
    """What comes of it."""
    fix: str
    """What to write instead."""
    rule: Rule = HARMFUL_VALUE


def _is(*values: object) -> Callable[[Any], bool]:
    return lambda given: any(given is value or (value == given) for value in values)


def _is_not(*values: object) -> Callable[[Any], bool]:
    # What is no text has a finding of its own.
    return lambda given: isinstance(given, str) and given not in values


def _is_no_name(given: Any) -> bool:
    return not _NAME.fullmatch(str(given))


def _false(given: Any) -> bool:
    return given is False


def _true(given: Any) -> bool:
    return given is True


@check(Scope.CHARTS, HARMFUL_VALUE, DOUBTFUL_VALUE)
def effects(ctx: Context) -> Iterator[Finding]:
    """For the chart that is installed."""
    key, chart, _ = installed(ctx)
    if not chart.values:
        return
    at: FieldPath = ("charts", key, "values")
    of_operator = key == "gpuOperator"
    for effect in _of_all(of_operator=of_operator):
        yield from _found(at, effect, chart.values)
    for effect in _OPERATOR if of_operator else _plugin(ctx):
        yield from _found(at, effect, chart.values)
    if of_operator:
        yield from _arguments(at, chart.values)
    if ctx.new_cluster is not None:
        for effect in _of_new_cluster(of_operator=of_operator):
            yield from _found(at, effect, chart.values)


def _found(at: FieldPath, effect: _Effect, values: Mapping[str, Any]) -> Iterator[Finding]:
    given = value_at(values, effect.place, _ABSENT)
    # null stands for the chart's default.
    if given is not _ABSENT and given is not None and effect.harmful(given):
        place = (*at, *effect.place.split("."))
        yield effect.rule.finding(place, effect.message, effect.fix)


def _of_all(*, of_operator: bool) -> Iterator[_Effect]:
    """What holds for NFD whoever made the cluster."""
    nfd = "node-feature-discovery" if of_operator else "nfd"
    remove = "Remove it."
    yield _Effect(
        f"{nfd}.worker.nodeSelector",
        bool,
        "NFD's worker would keep off nodes of the pools, which then have no labels.",
        "Remove it; the pools decide where the worker runs.",
    )
    yield _Effect(
        f"{nfd}.featureGates.NodeFeatureAPI",
        _false,
        "GPU feature discovery hands its labels over by this interface.",
        remove,
    )
    for place in ("master.denyLabelNs", "master.config.denyLabelNs"):
        yield _Effect(
            f"{nfd}.{place}",
            lambda given: isinstance(given, list) and any("nvidia.com" in str(n) for n in given),
            "NFD would keep the labels of GPU feature discovery from the nodes.",
            "Take nvidia.com out of the list.",
        )
    yield _Effect(
        f"{nfd}.fullnameOverride",
        _is_no_name,
        "Kubernetes takes no such name.",
        "Use up to 63 lower-case letters, digits and -.",
    )


def _of_new_cluster(*, of_operator: bool) -> Iterator[_Effect]:
    """A cluster that others made may have NFD, runtime classes and the like already."""
    nfd = "node-feature-discovery" if of_operator else "nfd"
    lost = (
        "A new cluster has no NFD but that of this chart, and nodes would get no labels: no "
        + ("operand of the operator" if of_operator else "MPS daemon")
        + " would start."
    )
    for place in ("worker.enable", "master.enable", "worker.rbac.create", "master.rbac.create"):
        yield _Effect(f"{nfd}.{place}", _false, lost, "Remove it.")
    yield _Effect(f"{nfd}.master.replicaCount", _is(0, "0"), lost, "Set 1.")
    yield _Effect(
        f"{nfd}.namespaceOverride",
        _is_not("", "kube-system", "default"),
        "A new cluster has no such namespace, and the chart does not make it.",
        "Remove it.",
        DOUBTFUL_VALUE,
    )
    yield _Effect(
        f"{nfd}.prometheus.enable",
        _true,
        "A new cluster does not know PodMonitors, and refuses the chart.",
        "Remove it until the Prometheus operator is there.",
        DOUBTFUL_VALUE,
    )
    classes = (
        ("daemonsets.priorityClassName", "operator.priorityClassName")
        if of_operator
        else ("priorityClassName",)
    )
    for place in (*classes, f"{nfd}.priorityClassName", f"{nfd}.worker.priorityClassName"):
        yield _Effect(
            place,
            _is_not(*_PRIORITIES),
            "A new cluster has no such PriorityClass, and refuses the chart's pods.",
            "Use system-node-critical, or make the class before.",
            DOUBTFUL_VALUE,
        )
    if not of_operator:
        yield _Effect(
            "runtimeClassName",
            _is_not(""),
            "A new cluster has no RuntimeClass, and refuses the plugin's pods; on EKS's images "
            "nvidia is the default runtime.",
            "Remove it.",
        )


_OPERATOR = (
    _Effect(
        "sandboxWorkloads.enabled",
        _true,
        "It is for GPUs that virtual machines get whole, which the pools share among containers.",
        "Remove it.",
    ),
    _Effect(
        "operator.runtimeClass",
        _is_not("", "nvidia"),
        "containerd on EKS's images has the runtime nvidia, and none by this name.",
        "Remove it.",
    ),
    _Effect(
        "platform.openshift",
        _true,
        "The operator would ask for interfaces that only OpenShift has.",
        "Remove it.",
    ),
    _Effect(
        "hostPaths.rootFS",
        _is_not("", "/"),
        "The driver of the nodes is at /, and the operator would not find it.",
        "Remove it.",
    ),
    _Effect(
        "hostPaths.kubeletRootDir",
        _is_not("", "/var/lib/kubelet"),
        "The kubelet of the nodes is at /var/lib/kubelet, and knows of no plugin elsewhere.",
        "Remove it.",
    ),
    _Effect(
        "cdi.nriPluginEnabled",
        _true,
        "It needs the operator's container toolkit, which stays off: the image has its own.",
        "Remove it.",
    ),
    _Effect(
        "daemonsets.updateStrategy",
        _is("OnDelete"),
        "Nodes would share what they did until somebody deletes each pod.",
        "Remove it.",
        DOUBTFUL_VALUE,
    ),
)


def _plugin(ctx: Context) -> Iterator[_Effect]:
    """The device plugin's own values."""
    pools = pools_of_chart(closed_pools(ctx.environment))
    root = "The driver of the nodes is at /, and the plugin would find no GPU."
    if all(p.provisioner != "existing" and p.ami_family != "custom" for p in pools.values()):
        for place in ("nvidiaDriverRoot", "nvidiaDevRoot"):
            yield _Effect(place, _is_not("", "/"), root, "Remove it.")
    yield _Effect(
        "deviceDiscoveryStrategy",
        _is_not("", "auto", "nvml"),
        "The plugin finds the GPUs of EC2 by NVML.",
        "Remove it, or write nvml.",
    )
    yield _Effect(
        "deviceIDStrategy",
        _is_not("", "uuid", "index"),
        "The plugin knows uuid and index.",
        "Write one of the two.",
    )
    mounted = [name for name, pool in pools.items() if chart_plugin_flags(pool)]
    rocket = any(is_bottlerocket(pool) for pool in pools.values())
    whose = "Bottlerocket's pools need" if rocket else f"{', '.join(mounted)} need"
    yield _Effect(
        "deviceListStrategy",
        lambda given: bool(mounted) or not _are_strategies(given),
        f"It would win over the volume mounts that {whose}."
        if mounted
        else f"The plugin knows {', '.join(_STRATEGIES)}, with commas between several.",
        "Remove it." if mounted else "Write some of these.",
    )
    yield _Effect(
        "mps.root",
        lambda given: not str(given).startswith("/"),
        "Kubernetes takes a host's folder by its whole path.",
        "Write it from / on, or remove it.",
    )
    if any(isinstance(pool.sharing, Mps) for pool in pools.values()):
        yield _Effect(
            "mps.enableHostPID",
            _false,
            "The MPS server finds its own process by the host's numbers.",
            "Remove it.",
            DOUBTFUL_VALUE,
        )
    for place, what in (("gdsEnabled", "GPUDirect Storage"), ("mofedEnabled", "MOFED")):
        yield _Effect(place, _true, f"EKS's images have no {what}.", "Remove it.", DOUBTFUL_VALUE)
    yield _Effect(
        "updateStrategy.type",
        _is("OnDelete"),
        "Nodes would share what they did until somebody deletes each pod.",
        "Remove it.",
        DOUBTFUL_VALUE,
    )
    for place in ("fullnameOverride", "nameOverride"):
        yield _Effect(
            place,
            _is_no_name,
            "Kubernetes takes no such name.",
            "Use up to 63 lower-case letters, digits and -.",
        )


def _are_strategies(given: Any) -> bool:
    return all(strategy in _STRATEGIES for strategy in str(given).split(",")) or given == ""


def _arguments(at: FieldPath, values: Mapping[str, Any]) -> Iterator[Finding]:
    """Arguments and variables of the operator's parts, which win over each pool's configuration."""
    for part in ("devicePlugin", "gfd"):
        listed = value_at(values, f"{part}.args")
        for index, entry in enumerate(listed if isinstance(listed, list) else ()):
            if str(entry).partition("=")[0] in _ARGUMENTS:
                yield HARMFUL_VALUE.finding(
                    (*at, part, "args", index),
                    "It would win over the configuration of every pool.",
                    "Remove it.",
                )
        listed = value_at(values, f"{part}.env")
        for index, entry in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(entry, dict) and entry.get("name") in _VARIABLES:
                yield HARMFUL_VALUE.finding(
                    (*at, part, "env", index),
                    f"{entry['name']} would win over what the operator gives to each node.",
                    "Remove it.",
                )


@check(Scope.CHARTS, IDLE_DRIVER)
def idle_driver(ctx: Context) -> Iterator[Finding]:
    """What is said of the driver, where every image has it."""
    key, chart, _ = installed(ctx)
    pools = pools_of_chart(ctx.environment.pools)
    if key != "gpuOperator" or any(
        pool.provisioner == "existing" or not brings_driver(pool) for pool in pools.values()
    ):
        return
    at: FieldPath = ("charts", key, "values")
    for part in ("driver", "toolkit"):
        given = chart.values.get(part)
        rest = [inner for inner in given if inner != "enabled"] if isinstance(given, dict) else []
        if rest and isinstance(given, dict) and given.get("enabled") is not True:
            yield IDLE_DRIVER.finding(
                (*at, part, str(rest[0])),
                f"The operator does not install the {part} here: the nodes' image has it.",
                "Remove it, or use customAmi with driverIncluded: false.",
            )
    for part in ("gds", "gdrcopy"):
        if value_at(chart.values, f"{part}.enabled") is True:
            yield IDLE_DRIVER.finding(
                (*at, part, "enabled"),
                f"{part} runs beside the operator's driver, which it does not install here.",
                "Remove it.",
            )
