"""A workload on shares of GPUs: its pods, and how their number follows the use of their shares."""

from collections.abc import Iterator, Mapping
from typing import Any, NotRequired, Self, TypedDict, cast

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import Service
from pulumi_kubernetes.policy.v1 import PodDisruptionBudget

from eks_gpushare.args import (
    Idle,
    OverUse,
    PodBudget,
    PodResources,
    Prometheus,
    Replicas,
    SecretKey,
    ServedPool,
    Wake,
)
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.base import converted
from eks_gpushare.config.component_specs import ServedPool as ServedSpec
from eks_gpushare.config.component_specs import SharedWorkloadSpec
from eks_gpushare.config.pools import Pool
from eks_gpushare.findings.finding import Finding
from eks_gpushare.inputs.checked import known_spec
from eks_gpushare.inputs.component import given_args, props, validate_args, warn
from eks_gpushare.kubernetes_provider import missing_provider
from eks_gpushare.rules.component_rules import check_shared_workload
from eks_gpushare.sharing import scaled_object, workloads
from eks_gpushare.sharing.keda import prometheus_server
from eks_gpushare.sharing.plan import PoolPlan, plan_pool

_TIMEOUT = "15m"
"""How long an update waits for the pods: a node for them may have to be made first."""


class SharedWorkloadArgs(TypedDict):
    """The workload, the pools that it runs on, and where its use is asked for."""

    name: str
    """Name of its objects in the cluster."""
    image: pulumi.Input[str]
    """Container image, best by digest."""
    served: list[ServedPool]
    """Its pools, the preferred one first: `pool.served` of each `GpuPool`."""
    prometheus: NotRequired[Prometheus]
    """Where KEDA asks for the use of GPUs; required where the number of pods is not fixed."""
    share: NotRequired[str]
    """Resource that a pod asks for. Default: the pool's most numerous kind of share."""
    shares: NotRequired[int]
    """How many of them. Default: 1."""
    namespace: NotRequired[str]
    """Namespace that is there. Default: default."""
    command: NotRequired[list[pulumi.Input[str]]]
    """What is run, in place of the image's entry point."""
    args: NotRequired[list[pulumi.Input[str]]]
    """Its arguments, in place of the image's."""
    env: NotRequired[dict[str, pulumi.Input[str]]]
    """Environment variables."""
    secret_env: NotRequired[dict[str, SecretKey]]
    """Environment variables whose values are in Secrets."""
    port: NotRequired[int]
    """Port that it listens on; with it comes a Service. Default: none."""
    readiness_path: NotRequired[str]
    """Path on `port` that answers once the program is ready. Default: none."""
    resources: NotRequired[PodResources]
    """CPU and memory."""
    shared_memory: NotRequired[str]
    """Size of /dev/shm, such as `2Gi`. Default: 64 MiB."""
    replicas: NotRequired[Replicas]
    """How many pods. Default: one."""
    idle: NotRequired[Idle]
    """When a pod less is enough. Default: below 20 % for 5 minutes."""
    over_use: NotRequired[OverUse]
    """When a pod more is needed. Default: above 80 % for 3 minutes."""
    use_query: NotRequired[str]
    """PromQL for the use in percent. Default: what DCGM measures of the pods' shares."""
    auto_stop: NotRequired[bool]
    """Stop the last pods too, once they are idle and nothing waits. Default: false."""
    wake: NotRequired[Wake]
    """What starts it again; required with `auto_stop`."""
    do_not_disrupt: NotRequired[bool]
    """Let no autoscaler move its pods to save money. Default: false."""
    spread_zones: NotRequired[bool]
    """Spread the pods over zones as far as that goes. Default: false."""
    disruption_budget: NotRequired[PodBudget]
    """Pods that may be away while nodes are drained. Default: one, if there can be more."""
    priority: NotRequired[str]
    """Name of a PriorityClass that is there. Default: none."""
    run_as_non_root: NotRequired[bool]
    """Refuse to run the image as root. Default: false."""
    capabilities: NotRequired[list[str]]
    """Linux capabilities that the program needs. Default: none."""
    service_account: NotRequired[str]
    """Service account that is there, whose token the pods get. Default: none."""
    stop_seconds: NotRequired[int]
    """Seconds that a pod has to end by itself. Default: 30."""


class SharedWorkload(pulumi.ComponentResource):
    """A Deployment on shares of GPUs, with what belongs to it.

    Its pods ask for what the nodes of its pools advertise, land on those nodes, and tolerate their
    taints. With a port it has a Service; where their number is not fixed, a ScaledObject, for which
    KEDA has to be in the cluster.
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
            served = [known_spec(each, ServedSpec) or each for each in given["served"]]
            given = {**given, "served": served}

        def ruled(spec: SharedWorkloadSpec) -> Iterator[Finding]:
            yield from missing_provider("SharedWorkload", opts)
            yield from check_shared_workload(spec)

        spec, found = validate_args(SharedWorkloadSpec, SharedWorkloadArgs, given, ruled)
        self._register(name, spec, opts)
        warn(found, self)

    @classmethod
    def _from_spec(cls, name: str, spec: SharedWorkloadSpec, opts: pulumi.ResourceOptions) -> Self:
        """Make a workload that is checked already."""
        made = cls.__new__(cls)
        made._register(name, spec, opts)
        return made

    def _register(
        self, name: str, spec: SharedWorkloadSpec, opts: pulumi.ResourceOptions | None
    ) -> None:
        super().__init__(
            "eks-gpushare:index:SharedWorkload",
            name,
            props(spec, "served", "pool", "pools", pools=[each.name for each in spec.served]),
            opts,
        )
        child = pulumi.ResourceOptions(parent=self)
        where = workloads.placement(spec, _plans(spec))
        document = workloads.deployment(spec.name, spec, where)
        timeouts = pulumi.CustomTimeouts(create=_TIMEOUT, update=_TIMEOUT)
        waited = pulumi.ResourceOptions(parent=self, custom_timeouts=timeouts)
        made = Deployment(f"{name}-deployment", **_fields(document), opts=waited)
        after = pulumi.ResourceOptions(parent=self, depends_on=[made])
        self.address = pulumi.Output.from_input("")
        if (service := workloads.service(spec.name, spec)) is not None:
            Service(f"{name}-service", **_fields(service), opts=child)
            address = f"{spec.name}.{spec.namespace}.svc:{spec.port}"
            self.address = pulumi.Output.from_input(address)
        if (budget := workloads.disruption_budget(spec.name, spec)) is not None:
            PodDisruptionBudget(f"{name}-disruption-budget", **_fields(budget), opts=child)
        server = None if spec.prometheus is None else prometheus_server(spec.prometheus)
        if server is not None:
            scaled = scaled_object.scaled_object(spec.name, spec, where, server)
            if scaled is not None:
                kind = {"api_version": scaled["apiVersion"], "kind": scaled["kind"]}
                CustomResource(f"{name}-scaled-object", **kind, **_fields(scaled), opts=after)
        self.register_outputs({"address": self.address})


def _fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """What of a manifest its class takes, which knows what it is."""
    return {key: each for key, each in document.items() if key not in {"apiVersion", "kind"}}


def _plans(spec: SharedWorkloadSpec) -> list[PoolPlan]:
    plans = []
    for each in spec.served:
        catalog, _ = catalog_of(each.catalog, None)
        plans.append(plan_pool(each.name, converted(Pool, each), catalog))
    return plans
