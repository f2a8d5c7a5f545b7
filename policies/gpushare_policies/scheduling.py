"""The rule on where the GPU stack runs: what a taint keeps away must include none of its pods.

The admission plugin ExtendedResourceToleration does not help here: it adds tolerations to pods that
request a GPU, and the DaemonSets that make GPUs known request none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pulumi_policy import PolicyResource, Severity, StackValidationArgs
from pulumi_policy.proxy import UnknownValueError

from gpushare_policies.chart_defaults import CHARTS, ChartDefaults, chart_of
from gpushare_policies.gpus import is_gpu_node_group, is_gpu_scaling_group, node_groups
from gpushare_policies.props import each, given, is_true, read
from gpushare_policies.rule import StackRule
from gpushare_policies.tokens import (
    AWS_CLUSTER,
    CHART_V4,
    MANAGED_NODE_GROUP,
    NODE_GROUP,
    RELEASE,
    SCALING_GROUPS,
)
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Taken away by Kubernetes, the cloud provider or an agent that starts by itself, or tolerated by
# every DaemonSet: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
_PASSING = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
_PASSING_END = "agent-not-ready"
_FEATURES = ("feature.node.kubernetes.io/", "nvidia.com/")
"""Labels that NFD and GPU feature discovery set."""


class Taint(NamedTuple):
    """A taint that keeps pods out."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"

    def is_tolerated(self, tolerations: Sequence[Any]) -> bool:
        """As Kubernetes decides it, in k8s.io/component-helpers, ToleratesTaint."""
        return any(self._is_met(toleration) for toleration in tolerations)

    def _is_met(self, toleration: Any) -> bool:
        key, effect = (str(read(toleration, part) or "") for part in ("key", "effect"))
        operator = str(read(toleration, "operator") or "Equal")
        if effect not in ("", self.effect) or key not in ("", self.key):
            return False
        if operator == "Equal":
            return bool(key) and str(read(toleration, "value") or "") == self.value
        return True  # Exists; an operator that is not known gets the benefit of the doubt


@dataclass(frozen=True, slots=True)
class _Nodes:
    """GPU nodes of one node group."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]


@dataclass(frozen=True, slots=True)
class _Plugin:
    """A Release or Chart that runs the device plugin."""

    resource: PolicyResource
    chart: str
    values: Any

    @property
    def defaults(self) -> ChartDefaults:
        return CHARTS[self.chart]

    @property
    def kind(self) -> str:
        return self.resource.resource_type.rpartition(":")[2]

    def tolerations(self, path: Sequence[str], default: Sequence[Any]) -> Sequence[Any]:
        """A list of the values, which takes the place of the chart's; null takes that away."""
        *above, last = path
        holder = read(self.values, *above) if above else self.values
        return each(read(holder, last)) if _holds(holder, last) else default

    def runs_nfd(self) -> bool:
        """Whether NFD comes with it."""
        for path in self.defaults.nfd_switches:
            if (switch := read(self.values, *path)) is not None:
                return is_true(switch)
        return self.defaults.nfd_enabled


def _holds(mapping: Any, key: str) -> bool:
    return mapping is not None and any(key == known for known in mapping)


def _taints(resource: PolicyResource) -> Iterator[Taint]:
    given_taints = read(resource.props, "taints")
    if resource.resource_type in SCALING_GROUPS:  # a mapping of keys
        pairs = [(key, read(given_taints, key)) for key in given_taints or ()]
    else:
        pairs = [(read(taint, "key"), taint) for taint in each(given_taints)]
    for key, taint in pairs:
        effect = str(read(taint, "effect") or "").replace("_", "").lower()
        spelled = {"noschedule": "NoSchedule", "noexecute": "NoExecute"}.get(effect)
        passing = str(key).startswith(_PASSING) or str(key).endswith(_PASSING_END)
        if spelled and not passing:
            yield Taint(str(key), str(read(taint, "value") or ""), spelled)


def _gpu_nodes(resources: Sequence[PolicyResource]) -> Iterator[_Nodes]:
    found = [resource for resource in resources if resource.resource_type in SCALING_GROUPS]
    for resource in (*node_groups(resources), *found):
        of_scaling = resource.resource_type in SCALING_GROUPS
        try:
            has_gpu = (is_gpu_scaling_group if of_scaling else is_gpu_node_group)(resource.props)
        except UnknownValueError:  # AWS chooses the AMI type or instance types: none with a GPU
            continue
        if has_gpu:
            labels = read(resource.props, "labels") or {}
            known = {str(key): str(labels[key]) for key in labels}
            yield _Nodes(name_of(resource.urn), known, tuple(_taints(resource)))


def _plugins(resources: Sequence[PolicyResource]) -> Iterator[_Plugin]:
    for resource in resources:
        if resource.resource_type in (RELEASE, CHART_V4) and given(resource.props, "chart"):
            chart = chart_of(str(read(resource.props, "chart")))
            if chart is not None:
                yield _Plugin(resource, chart, read(resource.props, "values") or {})


def _is_for(plugin: _Plugin, nodes: _Nodes) -> bool:
    """Whether its node selector, if it has one, is for these nodes."""
    selector = read(plugin.values, "nodeSelector") or {}
    return all(nodes.labels.get(str(key)) == str(selector[key]) for key in selector)


_MEANT, _AFTER_NFD, _ELSEWHERE = "meant", "after NFD", "elsewhere"


def _by_affinity(plugin: _Plugin, nodes: _Nodes) -> str:
    """Whether the plugin goes to nodes by what they are, by what NFD finds of them, or not."""
    if plugin.defaults.affinity is None:
        return _AFTER_NFD
    holder = read(plugin.values, "affinity")
    if _holds(plugin.values, "affinity") and holder is None:
        return _MEANT
    path = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    terms = read(holder, *path)
    verdicts = [_by_term(term, nodes) for term in terms or plugin.defaults.affinity]
    return next((each for each in (_MEANT, _AFTER_NFD) if each in verdicts), _ELSEWHERE)


def _by_term(term: Any, nodes: _Nodes) -> str:
    verdict = _MEANT
    for expression in each(read(term, "matchExpressions")):
        key = str(read(expression, "key"))
        values = [str(value) for value in each(read(expression, "values"))]
        operator = str(read(expression, "operator"))
        if key in nodes.labels:
            fits = {
                "In": nodes.labels[key] in values,
                "NotIn": nodes.labels[key] not in values,
                "DoesNotExist": False,
            }
            if not fits.get(operator, True):
                return _ELSEWHERE
        elif operator in ("In", "Exists", "Gt", "Lt") and key.startswith(_FEATURES):
            verdict = _AFTER_NFD
    return verdict


_STACK_FILE = (
    "A stack file tolerates its pools' taints: remove what overrides that under "
    "`charts.<chart>.values`, or manage these nodes as a pool."
)
_LABEL = "nvidia.com/gpu.present=true"


def _setting(plugin: _Plugin, path: Sequence[str], nodes: _Nodes) -> str:
    keys = sorted({taint.key for taint in nodes.taints})
    wanted = ", ".join(f"{{key: {key}, operator: Exists}}" for key in keys)
    return f"Set `values.{'.'.join(path)}: [{wanted}]` of the {plugin.kind}"


def _untolerated(plugin: _Plugin, nodes: _Nodes) -> str | None:
    """What keeps the plugin from these nodes, and what to do about it, or None."""
    where = _by_affinity(plugin, nodes)
    if where == _ELSEWHERE:
        return None
    urn, kind, defaults = plugin.resource.urn, plugin.kind, plugin.defaults
    owner = f"of the {kind} {name_of(urn)}"
    taint = _kept_out(nodes, plugin.tolerations(defaults.plugin, defaults.plugin_tolerations))
    if taint is not None:
        raw = f"{_setting(plugin, defaults.plugin, nodes)}."
        return (
            f"The device plugin {owner} does not tolerate the taint {taint} of the GPU nodes of "
            f"{nodes.name}. It must, or these nodes advertise no GPU. "
            f"{Fix(_STACK_FILE, raw, raw).of(urn)}"
        )
    if where == _MEANT:
        return None
    by_hand = "" if defaults.affinity is None else f", or give the nodes the label {_LABEL}"
    if not plugin.runs_nfd():
        return None
    taint = _kept_out(nodes, plugin.tolerations(defaults.worker, defaults.worker_tolerations))
    if taint is None:
        return None
    raw = f"{_setting(plugin, defaults.worker, nodes)}{by_hand}."
    return (
        f"The NFD worker {owner} does not tolerate the taint {taint} of the GPU nodes of "
        f"{nodes.name}. It must: nodes without NFD's labels get no pod of the device plugin, and "
        f"advertise no GPU. {Fix(_STACK_FILE, raw, raw).of(urn)}"
    )


def _unlabelled(plugin: _Plugin, nodes: _Nodes) -> str | None:
    """That nothing labels the nodes for the plugin, or None."""
    if _by_affinity(plugin, nodes) != _AFTER_NFD or plugin.runs_nfd():
        return None
    if plugin.defaults.affinity is None:  # without its NFD the operator counts on somebody else's
        return None
    urn, kind = plugin.resource.urn, plugin.kind
    raw = f"Set `values.gfd.enabled: true` of the {kind}, or give the nodes the label {_LABEL}."
    return (
        f"Nothing labels the GPU nodes of {nodes.name} for the device plugin of the {kind} "
        f"{name_of(urn)}: the chart's NFD is off and the nodes have no label that its affinity "
        f"asks for. There must be one, or the plugin runs on none of them and they advertise no "
        f"GPU. "
        f"{Fix(_STACK_FILE, raw, raw).of(urn)}"
    )


def _kept_out(nodes: _Nodes, tolerations: Sequence[Any]) -> Taint | None:
    return next((taint for taint in nodes.taints if not taint.is_tolerated(tolerations)), None)


def _labels_come_from_elsewhere(resources: Sequence[PolicyResource]) -> bool:
    """Whether something else may label nodes: NFD of its own, or what was in the cluster before."""
    made_here = any(resource.resource_type == AWS_CLUSTER for resource in resources)
    charts = (
        str(read(resource.props, "chart"))
        for resource in resources
        if resource.resource_type in (RELEASE, CHART_V4) and given(resource.props, "chart")
    )
    return not made_here or any("node-feature-discovery" in chart for chart in charts)


def _tolerated(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    resources = args.resources
    for resource in resources:
        if resource.resource_type == RELEASE and not list(resource.props):
            args.not_applicable(f"a preview without the cluster does not show {resource.name}")
    plugins = list(_plugins(resources))
    readable = [plugin for plugin in plugins if not given(plugin.resource.props, "valueYamlFiles")]
    for nodes in _gpu_nodes(resources):
        candidates = [plugin for plugin in readable if _is_for(plugin, nodes)]
        checks = [_untolerated]
        if not _labels_come_from_elsewhere(resources):
            checks.append(_unlabelled)
        verdicts = [
            (next(filter(None, (check(plugin, nodes) for check in checks)), None), plugin)
            for plugin in candidates
        ]
        # One plugin that serves the nodes is enough.
        if len(readable) == len(plugins) and all(message for message, _ in verdicts):
            for message, plugin in verdicts[:1]:
                yield str(message), plugin.resource.urn
    if len(readable) < len(plugins):
        args.not_applicable("values of a chart stand in files, which no policy is shown")


_BOTH = (
    "Set the tolerations of both: `tolerations` and `nfd.worker.tolerations` of "
    "nvidia-device-plugin, `daemonsets.tolerations` and "
    "`node-feature-discovery.worker.tolerations` of gpu-operator. With nvidia-device-plugin, nodes "
    f"with the label {_LABEL} do without NFD."
)

GPU_STACK_TOLERATES_TAINTS = StackRule(
    "gpu-stack-tolerates-taints",
    "The device plugin and what it needs must run on every GPU node, whatever its taints.",
    check=_tolerated,
    applies_to=(RELEASE, CHART_V4, NODE_GROUP, MANAGED_NODE_GROUP, *SCALING_GROUPS),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _BOTH, _BOTH),
)

SCHEDULING_RULES = (GPU_STACK_TOLERATES_TAINTS,)
"""The rules on where pods of the GPU stack go."""
