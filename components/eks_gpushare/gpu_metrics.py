"""Metrics of GPUs and shares: an exporter, a Prometheus, rules on what they say, and boards."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NotRequired

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace
from pulumi_kubernetes.helm.v3 import Release

from eks_gpushare import args as plain
from eks_gpushare.args.account import Tagged
from eks_gpushare.aws.refs import CollectedRefs, WorkspaceRefs
from eks_gpushare.catalog import versions
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.base import converted, partial_model
from eks_gpushare.config.cluster import ExistingCluster
from eks_gpushare.config.component_specs import GpuMetricsSpec
from eks_gpushare.config.environment import Environment
from eks_gpushare.config.observability import PROMETHEUS_NAMESPACE, Observability
from eks_gpushare.findings.finding import Finding
from eks_gpushare.in_cluster.chart_parts import (
    chart_release,
    manifest_fields,
    privileged_namespace,
)
from eks_gpushare.inputs.component import FromSpec, props, validate_args, warn
from eks_gpushare.kubernetes_provider import missing_provider
from eks_gpushare.rules.metrics_alone import COLLECTED_INPUTS, check_gpu_metrics
from eks_gpushare.sharing.bottlerocket import pools_of_chart
from eks_gpushare.sharing.charts import release_source
from eks_gpushare.sharing.exporter import collects, exporter_chart_values, makes_collector
from eks_gpushare.sharing.metrics import measured_pool
from eks_gpushare.sharing.monitoring import installed
from eks_gpushare.sharing.monitoring.groups import has_metrics, rule_groups
from eks_gpushare.sharing.monitoring.managed import (
    amp_document,
    scrape_configuration,
    state_values,
    yaml_text,
)
from eks_gpushare.sharing.plan import PoolPlan, plan_environment

RELEASE_NAME = "dcgm-exporter"
PROMETHEUS_RELEASE = "prometheus"
_TIMEOUT_SECONDS = 900
_OPERATOR_NAMESPACE = "gpu-operator"


class GpuMetricsArgs(Tagged, plain.ObservabilityBlock):
    """What is measured and who is told, and the pools and tenants that it is about."""

    pools: dict[str, plain.Pool]
    """GPU pools of the cluster by name."""
    tenants: NotRequired[dict[str, plain.Tenant]]
    """Tenants by name. Default: none."""
    gpu_stack: NotRequired[plain.GpuStack]
    """Who runs the device plugin: beside it an exporter is installed, and the GPU Operator brings
    one, which its own values configure."""
    verifier: NotRequired[plain.VerifierBlock]
    """What looks at the cluster, whose silence is an alert. Default: nothing does."""
    catalog: NotRequired[plain.CatalogAdditions]
    """Instance types, MIG profiles and layouts that this release does not know. Default: none."""
    region: NotRequired[str]
    """AWS region, for prices. Default: they stay unknown."""
    node_monitoring_agent: NotRequired[bool]
    """Whether EKS's node monitoring agent runs on the nodes, whose host engine of DCGM the exporter
    then uses. Default: false."""
    exporter_chart: NotRequired[plain.Chart]
    """Version, mirror and values of the exporter's chart."""
    prometheus_chart: NotRequired[plain.Chart]
    """Version, mirror and values of Prometheus' chart."""
    cluster_arn: NotRequired[pulumi.Input[str]]
    """EKS cluster; required, as the two below, where AWS's collector is made for it."""
    subnet_ids: NotRequired[pulumi.Input[Sequence[pulumi.Input[str]]]]
    """Subnets that the collector has interfaces in, of the cluster's VPC and up to five."""
    security_group_ids: NotRequired[pulumi.Input[Sequence[pulumi.Input[str]]]]
    """Security groups of these interfaces, such as the cluster's, whose members answer each
    other."""


class GpuMetrics(pulumi.ComponentResource):
    """An exporter for exactly the GPU pools, rules and alerts on what it says, and four boards.

    With `prometheus.install` a Prometheus too, with kube-state-metrics and Grafana. What is there
    already is used: `metrics` and `prometheus` say what that is. A cluster has room for one.
    Needs a Kubernetes provider: `opts=ResourceOptions(providers=[cluster.provider])`.
    """

    namespace: pulumi.Output[str]
    """Namespace of it."""
    measured: pulumi.Output[dict[str, Any]]
    """Per pool, of whom the numbers of each kind of share are: a pod, a MIG instance, a GPU."""

    def __init__(
        self, name: str, args: GpuMetricsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install it.

        Args:
            name: Name of the component, which its children's names start with.
            args: What is measured, and of what.
            opts: Pulumi's resource options, with a Kubernetes provider among `providers`.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        wired = [key for key in COLLECTED_INPUTS if args.get(key) is not None]

        def ruled(spec: GpuMetricsSpec) -> Iterator[Finding]:
            yield from missing_provider("GpuMetrics", opts)
            yield from check_gpu_metrics(spec, wired)

        spec, found = validate_args(GpuMetricsSpec, GpuMetricsArgs, args, ruled)
        collected = None
        if len(wired) == len(COLLECTED_INPUTS):
            collected = CollectedRefs(
                args["cluster_arn"], args["subnet_ids"], args["security_group_ids"]
            )
        self._register(name, spec, collected, opts)
        warn(found, self)

    def _register(
        self,
        name: str,
        spec: GpuMetricsSpec,
        collected: CollectedRefs | None,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        super().__init__("eks-gpushare:index:GpuMetrics", name, props(spec), opts)
        child = pulumi.ResourceOptions(parent=self)
        block = converted(Observability, spec)
        environment = Environment.model_construct(
            cluster=partial_model(ExistingCluster),
            pools=dict(spec.pools),
            tenants=dict(spec.tenants),
            gpu_stack=spec.gpu_stack,
            verifier=spec.verifier,
            observability=block,
        )
        catalog, _ = catalog_of(spec.catalog, spec.region)
        plans = plan_environment(environment, catalog, spec.region)
        namespace = privileged_namespace(f"{name}-namespace", spec.namespace, child)
        self.namespace = namespace.metadata.name
        store = _prometheus(name, spec, block, child)
        # What they are objects of comes with the store's release, and goes with it.
        after = pulumi.ResourceOptions(
            parent=self, depends_on=[namespace, *store], replace_with=[*store] or None
        )
        values = exporter_chart_values(
            pools_of_chart(spec.pools),
            catalog,
            spec.exporter_chart.values,
            node_monitoring_agent=bool(spec.node_monitoring_agent),
            block=block,
        )
        own = spec.gpu_stack.manager == "devicePlugin" and collects(block)
        if own and pools_of_chart(spec.pools):
            chart_release(
                f"{name}-exporter",
                RELEASE_NAME,
                self.namespace,
                release_source(spec.exporter_chart, versions.DCGM_EXPORTER),
                values,
                spec.exporter_chart.timeout_seconds or _TIMEOUT_SECONDS,
                child,
            )
        self.workspace: WorkspaceRefs | None = None
        if makes_collector(block) and collected is not None:
            self.workspace = _managed(name, spec, environment, plans, collected, child)
        if block.metrics == "prometheusOperator":
            _objects(name, spec, environment, plans, after)
        for board, document in installed.board_maps(block, plans).items():
            ConfigMap(
                f"{name}-board-{board}",
                **document,
                opts=pulumi.ResourceOptions(parent=self, depends_on=[namespace]),
            )
        self.measured = pulumi.Output.from_input(
            {
                pool: [share.as_json() for share in measured_pool(plan)]
                for pool, plan in plans.items()
            }
        )
        self.register_outputs({"namespace": self.namespace, "measured": self.measured})

    _from_spec = FromSpec(_register)


def _prometheus(
    name: str, spec: GpuMetricsSpec, block: Observability, child: pulumi.ResourceOptions
) -> list[Release]:
    """The store, where one is installed; of one in AWS what tells the state of the cluster."""
    if block.prometheus is None or not block.prometheus.install:
        return []
    namespace = Namespace(
        f"{name}-prometheus-namespace", metadata={"name": PROMETHEUS_NAMESPACE}, opts=child
    )
    chart = spec.prometheus_chart
    values = (
        state_values(chart.values)
        if makes_collector(block)
        else installed.prometheus_values(block, chart.values)
    )
    release = chart_release(
        f"{name}-prometheus",
        PROMETHEUS_RELEASE,
        namespace.metadata.name,
        release_source(chart, versions.PROMETHEUS),
        values,
        chart.timeout_seconds or _TIMEOUT_SECONDS,
        child,
    )
    return [release]


def _managed(
    name: str,
    spec: GpuMetricsSpec,
    environment: Environment,
    plans: Mapping[str, PoolPlan],
    collected: CollectedRefs,
    opts: pulumi.ResourceOptions,
) -> WorkspaceRefs | None:
    """Workspace, collector and rules of Amazon Managed Service for Prometheus."""
    from eks_gpushare.aws.managed_prometheus import register_managed

    block = converted(Observability, spec)
    if block.prometheus is None:
        return None
    groups = rule_groups(environment, plans)
    scraped = scrape_configuration(
        block, groups, spec.gpu_stack.manager, _exporter_namespace(spec), spec.verifier
    )
    return register_managed(
        name,
        block.prometheus,
        collected,
        yaml_text(scraped),
        yaml_text(amp_document(groups)),
        spec.tags,
        opts,
    )


def _exporter_namespace(spec: GpuMetricsSpec) -> str:
    if spec.gpu_stack.manager == "gpuOperator":
        return spec.gpu_stack.namespace or _OPERATOR_NAMESPACE
    return spec.namespace


def _objects(
    name: str,
    spec: GpuMetricsSpec,
    environment: Environment,
    plans: Mapping[str, PoolPlan],
    opts: pulumi.ResourceOptions,
) -> None:
    """Monitors and rules, as objects of Prometheus' operator."""
    block = converted(Observability, spec)
    manager = spec.gpu_stack.manager
    monitor = installed.service_monitor(block, manager, _exporter_namespace(spec))
    documents: dict[str, dict[str, Any]] = {
        # The plugin of Bottlerocket is its own, and no exporter starts beside it.
        **({"monitor": monitor} if pools_of_chart(spec.pools) else {}),
        "rules": installed.rules_in_cluster(environment, block, plans),
    }
    if spec.verifier is not None and has_metrics(spec.verifier):
        documents["verifier-monitor"] = installed.verifier_monitor(block, spec.verifier.namespace)
    for role, document in documents.items():
        CustomResource(
            f"{name}-{role}",
            api_version=document["apiVersion"],
            kind=document["kind"],
            **manifest_fields(document),
            opts=opts,
        )
