"""A workload on shares of GPUs: its pods, and how their number follows the use of their shares."""

from collections.abc import Iterator
from typing import Any, NotRequired, cast

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import Service
from pulumi_kubernetes.policy.v1 import PodDisruptionBudget

from eks_gpushare.args import Prometheus, ServedPool
from eks_gpushare.args.workloads import WorkloadPods
from eks_gpushare.aws.refs import WorkspaceRefs
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.base import converted
from eks_gpushare.config.component_specs import ServedPool as ServedSpec
from eks_gpushare.config.component_specs import SharedWorkloadSpec
from eks_gpushare.config.pools import Pool
from eks_gpushare.findings.finding import Finding
from eks_gpushare.in_cluster.chart_parts import manifest_fields
from eks_gpushare.inputs.checked import known_spec
from eks_gpushare.inputs.component import FromSpec, given_args, props, validate_args, warn
from eks_gpushare.kubernetes_provider import missing_provider
from eks_gpushare.rules.component_rules import check_shared_workload
from eks_gpushare.sharing import scaled_object, workloads
from eks_gpushare.sharing.keda import AUTHENTICATION, PrometheusServer, prometheus_server
from eks_gpushare.sharing.plan import PoolPlan, plan_pool

_TIMEOUT = "15m"
"""How long an update waits for the pods: a node for them may have to be made first."""


class SharedWorkloadArgs(WorkloadPods):
    """The workload, the pools that it runs on, and where its use is asked for."""

    name: str
    """Name of its objects in the cluster."""
    served: list[ServedPool]
    """Its pools, the preferred one first: `pool.served` of each `GpuPool`."""
    prometheus: NotRequired[Prometheus]
    """Where KEDA asks for the use of GPUs; required where the number of pods follows it."""
    namespace: NotRequired[str]
    """Namespace that is there. Default: default."""
    priority: NotRequired[str]
    """Name of a PriorityClass that is there. Default: none."""


class SharedWorkload(pulumi.ComponentResource):
    """A Deployment on shares of GPUs, with what belongs to it.

    Its pods ask for what the nodes of its pools advertise, land on those nodes, and tolerate their
    taints. With a port it has a Service; where their number is not fixed, a ScaledObject, for which
    KEDA has to be in the cluster. Of what wakes it by a queue, `Keda` has that among `queues`.
    Needs a Kubernetes provider: `opts=ResourceOptions(providers=[cluster.provider])`.
    """

    address: pulumi.Output[str]
    """Name and port of its Service within the cluster; empty without a port."""

    def __init__(
        self, name: str, args: SharedWorkloadArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Make the workload.

        Args:
            name: Name of the component, which its children's names start with.
            args: The workload and its pools.
            opts: Pulumi's resource options, with a Kubernetes provider among `providers`.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        given = cast("dict[str, Any]", given_args(SharedWorkloadArgs, args))
        if isinstance(given.get("served"), list | tuple):
            served = [known_spec(pool, ServedSpec) or pool for pool in given["served"]]
            given = {**given, "served": served}

        def ruled(spec: SharedWorkloadSpec) -> Iterator[Finding]:
            yield from missing_provider("SharedWorkload", opts)
            yield from check_shared_workload(spec)

        spec, found = validate_args(SharedWorkloadSpec, SharedWorkloadArgs, given, ruled)
        self._register(name, spec, opts)
        warn(found, self)

    def _register(
        self,
        name: str,
        spec: SharedWorkloadSpec,
        opts: pulumi.ResourceOptions | None,
        scaler: list[pulumi.Resource] | None = None,
        made: WorkspaceRefs | None = None,
    ) -> None:
        super().__init__(
            "eks-gpushare:index:SharedWorkload",
            name,
            props(spec, "served", "pool", "pools", pools=[pool.name for pool in spec.served]),
            opts,
        )
        child = pulumi.ResourceOptions(parent=self)
        where = workloads.placement(spec, _plans(spec))
        document = workloads.deployment(spec.name, spec, where)
        timeouts = pulumi.CustomTimeouts(create=_TIMEOUT, update=_TIMEOUT)
        waited = pulumi.ResourceOptions(parent=self, custom_timeouts=timeouts)
        deployed = Deployment(f"{name}-deployment", **manifest_fields(document), opts=waited)
        # The definition of its kind goes with KEDA's release, and it with the definition: it has to
        # go while KEDA can take away its finalizer, and to come again with the next release.
        after = pulumi.ResourceOptions(parent=self, depends_on=[deployed], replace_with=scaler)
        self.address = pulumi.Output.from_input("")
        if (service := workloads.service(spec.name, spec)) is not None:
            Service(f"{name}-service", **manifest_fields(service), opts=child)
            address = f"{spec.name}.{spec.namespace}.svc:{spec.port}"
            self.address = pulumi.Output.from_input(address)
        if (budget := workloads.disruption_budget(spec.name, spec)) is not None:
            PodDisruptionBudget(f"{name}-disruption-budget", **manifest_fields(budget), opts=child)
        server = None
        if spec.prometheus is not None and made is not None:
            server = PrometheusServer(made.address, made.region, AUTHENTICATION)
        elif spec.prometheus is not None:
            server = prometheus_server(spec.prometheus)
        scaled = scaled_object.scaled_object(spec.name, spec, where, server)
        if scaled is not None:
            kind = {"api_version": scaled["apiVersion"], "kind": scaled["kind"]}
            CustomResource(f"{name}-scaled-object", **kind, **manifest_fields(scaled), opts=after)
        self.register_outputs({"address": self.address})

    _from_spec = FromSpec(_register)


def _plans(spec: SharedWorkloadSpec) -> list[PoolPlan]:
    plans = []
    for pool in spec.served:
        catalog, _ = catalog_of(pool.catalog, None)
        plans.append(plan_pool(pool.name, converted(Pool, pool), catalog))
    return plans
