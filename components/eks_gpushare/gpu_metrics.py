"""Metrics of GPUs and shares: an exporter, a Prometheus, rules on what they say, and boards."""

from collections.abc import Iterator, Mapping
from typing import Any, NotRequired

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace
from pulumi_kubernetes.helm.v3 import Release

from eks_gpushare import args as plain
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
from eks_gpushare.rules.metrics_alone import check_gpu_metrics
from eks_gpushare.sharing.bottlerocket import pools_of_chart
from eks_gpushare.sharing.charts import release_source
from eks_gpushare.sharing.exporter import collects, exporter_chart_values
from eks_gpushare.sharing.metrics import measured_pool
from eks_gpushare.sharing.monitoring import installed
from eks_gpushare.sharing.monitoring.groups import has_metrics
from eks_gpushare.sharing.plan import PoolPlan, plan_environment

RELEASE_NAME = "dcgm-exporter"
PROMETHEUS_RELEASE = "prometheus"
_TIMEOUT_SECONDS = 900
_OPERATOR_NAMESPACE = "gpu-operator"


class GpuMetricsArgs(plain.ObservabilityBlock):
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

        def ruled(spec: GpuMetricsSpec) -> Iterator[Finding]:
            yield from missing_provider("GpuMetrics", opts)
            yield from check_gpu_metrics(spec)

        spec, found = validate_args(GpuMetricsSpec, GpuMetricsArgs, args, ruled)
        self._register(name, spec, opts)
        warn(found, self)

    def _register(
        self, name: str, spec: GpuMetricsSpec, opts: pulumi.ResourceOptions | None
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
    """The store, where one is installed."""
    if block.prometheus is None or not block.prometheus.install:
        return []
    namespace = Namespace(
        f"{name}-prometheus-namespace", metadata={"name": PROMETHEUS_NAMESPACE}, opts=child
    )
    chart = spec.prometheus_chart
    release = chart_release(
        f"{name}-prometheus",
        PROMETHEUS_RELEASE,
        namespace.metadata.name,
        release_source(chart, versions.PROMETHEUS),
        installed.prometheus_values(block, chart.values),
        chart.timeout_seconds or _TIMEOUT_SECONDS,
        child,
    )
    return [release]


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
    where = block.namespace
    if manager == "gpuOperator":
        where = spec.gpu_stack.namespace or _OPERATOR_NAMESPACE
    monitor = installed.service_monitor(block, manager, where)
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
