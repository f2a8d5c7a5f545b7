"""A whole GPU-sharing environment, from one declaration."""

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import pulumi
from pulumi_kubernetes import Provider

from eks_gpushare import args as plain
from eks_gpushare.aws.refs import ClusterRefs
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.base import known_fields
from eks_gpushare.config.cluster import ClusterByKubeconfig, NewCluster
from eks_gpushare.config.component_specs import (
    EnvironmentSpec,
)
from eks_gpushare.deletion_protection import DeletionProtection
from eks_gpushare.environment_parts import EnvironmentParts, has_karpenter
from eks_gpushare.findings.finding import Finding, has_errors
from eks_gpushare.gpu_manager import register_efa_plugin, register_exporter, register_manager
from eks_gpushare.inputs.checked import CheckedArgs
from eks_gpushare.inputs.component import props, refuse, validate_args, warn
from eks_gpushare.kubernetes_provider import declare, other_environment
from eks_gpushare.rules import check_environment, lookups
from eks_gpushare.sharing.closed_runtime import closed_pools
from eks_gpushare.sharing.plan import PoolPlan, plan_environment

if TYPE_CHECKING:
    from eks_gpushare.gpu_metrics import GpuMetrics


class GpuSharingEnvironmentArgs(TypedDict):
    """The environment, as the stack file has it, and what its author looked up."""

    cluster: plain.Cluster
    """The cluster, new or existing."""
    network: NotRequired[plain.NetworkBlock]
    """The network of a new cluster. Default: a VPC of its own in two zones."""
    system: NotRequired[plain.SystemBlock]
    """Nodes without GPUs. Default: two t3.large with a new cluster, none with an existing one."""
    gpu_stack: NotRequired[plain.GpuStack]
    """Who runs the device plugin."""
    pools: dict[str, plain.Pool]
    """GPU pools by name."""
    karpenter: NotRequired[plain.KarpenterBlock]
    """Karpenter. Default: installed if a pool has `provisioner` karpenter."""
    cluster_autoscaler: NotRequired[plain.ClusterAutoscaler]
    """Cluster Autoscaler. Default: not installed; pools with `scaled_by` autoscaler need one."""
    tenants: NotRequired[dict[str, plain.Tenant]]
    """Teams by name, with what each has of the pools. Default: whoever may make pods may take any
    share."""
    workloads: NotRequired[dict[str, plain.Workload]]
    """Programs on shares of the pools' GPUs, by name. Default: none."""
    verifier: NotRequired[plain.VerifierBlock]
    """What looks at the running cluster every few minutes, and says whether it is as declared
    here. Default: nothing does."""
    keda: NotRequired[plain.KedaBlock]
    """KEDA, for workloads whose pods follow their use. Default: not installed."""
    observability: NotRequired[plain.ObservabilityBlock]
    """Metrics of GPUs and shares, rules, alerts and boards. Default: nothing of it is installed."""
    charts: NotRequired[plain.Charts]
    """Chart versions, mirrors and values."""
    catalog: NotRequired[plain.CatalogAdditions]
    """Instance types this release does not know or has wrong."""
    iam: NotRequired[plain.Iam]
    """Permissions boundary and path of every IAM role. Default: neither."""
    tags: NotRequired[dict[str, pulumi.Input[str]]]
    """AWS tags of everything but instances and volumes."""
    region: NotRequired[str]
    """AWS region, for prices and checks. Default: prices stay unknown."""
    availability_zones: NotRequired[list[str]]
    """Zones to choose from; required where `network.zones` is a number."""
    cluster_facts: NotRequired[plain.ClusterFacts]
    """What AWS says of an existing EKS cluster; required with `cluster.existing.name`."""
    zone_ids: NotRequired[dict[str, str]]
    """ID of each availability zone by its name, from `aws.get_availability_zones`. Default: what
    is known of zones by their IDs is not checked."""
    caller: NotRequired[str]
    """ARN of who runs the program, from `aws.get_caller_identity`. Default: EKS makes whoever
    creates the cluster an admin, who then cannot be one of `cluster.admins`."""
    profile: NotRequired[str]
    """AWS profile for the kubeconfig of an EKS cluster. Default: none."""
    kubeconfig: NotRequired[pulumi.Input[str]]
    """Content of a kubeconfig. Default: the file at `cluster.existing.kubeconfig` is read."""


_LOOKED_UP = ("availability_zones", "cluster_facts", "zone_ids", "caller", "profile")
"""What differs from run to run and machine to machine, and shows in the parts where it matters."""


class GpuSharingEnvironment(pulumi.ComponentResource):
    """Cluster, network, nodes, GPU pools and device plugin that agree with each other."""

    cluster_name: pulumi.Output[str]
    """Name of the cluster, or the context of its kubeconfig."""
    kubeconfig: pulumi.Output[str]
    """Kubeconfig of the cluster; a secret."""
    pools: pulumi.Output[dict[str, Any]]
    """Per pool what to request, select and tolerate, capacity, and price per share."""
    tenants: pulumi.Output[dict[str, Any]]
    """Per tenant its namespaces, quota, and what its shares cost; empty without tenants."""
    provider: Provider
    """Kubernetes provider for the cluster."""

    def __init__(
        self,
        name: str,
        args: GpuSharingEnvironmentArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Make the environment.

        Args:
            name: Name of the component, which its children's names start with.
            args: The environment.
            opts: Pulumi's resource options.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        spec, found = _checked(args, opts)
        region = spec.region
        super().__init__(
            "eks-gpushare:index:GpuSharingEnvironment", name, props(spec, *_LOOKED_UP), opts
        )
        declare(self, _identity(spec, opts))
        warn(found, self)
        # After the inputs, which say what was declared and not what it comes to.
        spec = spec.model_copy(update={"pools": closed_pools(spec)})
        catalog, _ = catalog_of(spec.catalog, region)
        self.plans: dict[str, PoolPlan] = plan_environment(spec, catalog, region)
        """What each pool will be, known before anything is made."""
        given, child = args.get("kubeconfig"), pulumi.ResourceOptions(parent=self)
        parts = EnvironmentParts(name, spec, given, child)
        refs = parts.cluster()
        system = parts.system_nodes(refs)
        nodes = [*system, *parts.gpu_pools(refs)]
        managers = register_manager(name, spec, refs, nodes, child)
        charts = [
            *managers,
            *register_exporter(name, spec, refs, managers, child),
            *register_efa_plugin(name, spec, refs, nodes, child),
            *parts.cluster_autoscaler(refs, nodes),
        ]
        scaled: list[pulumi.Resource] = []
        if has_karpenter(spec):
            from eks_gpushare.karpenter_parts import KarpenterParts

            karpenter = KarpenterParts(name, spec, refs, parts.roles, child)
            scaled = karpenter.controller([*parts.foundation, *system])
            scaled += karpenter.pools(self.plans, [*scaled, *charts])
        everything = [*parts.foundation, *nodes, *charts, *scaled]
        after = [*parts.foundation, *system]
        self.tenants = pulumi.Output.from_input({})
        if spec.tenants:
            from eks_gpushare.environment_tenants import register_tenants

            tenants, made = register_tenants(
                name, spec, spec.tenants, self.plans, refs, after, child
            )
            self.tenants = tenants.tenants
            everything += made
        metrics = _metrics(name, spec, refs, [*after, *managers], child)
        everything += metrics
        if _has_workloads(spec):
            from eks_gpushare.workload_parts import WorkloadParts

            workspace = next((each.workspace for each in metrics), None)
            more = WorkloadParts(name, spec, refs, parts.roles, child, workspace)
            everything += more.register(self.plans, after, [*everything])
        if spec.verifier is not None:
            from eks_gpushare.environment_verifier import register_verifier

            everything.append(
                register_verifier(
                    *(name, spec, spec.verifier, self.plans.values(), refs, after, child)
                )
            )
        if isinstance(spec.cluster, NewCluster):
            protected = spec.cluster.deletion_protection
            DeletionProtection(name, everything, enabled=protected, parent=self)
        self.provider = refs.provider
        self.cluster_name = pulumi.Output.from_input(refs.label)
        self.kubeconfig = pulumi.Output.secret(refs.kubeconfig)
        self.pools = pulumi.Output.from_input(
            {pool: _output(plan) for pool, plan in self.plans.items()}
        )
        # Left out where there are none: states of before have no such output.
        self._of_tenants = {"tenants": self.tenants} if spec.tenants else {}
        self.register_outputs(
            {
                "clusterName": self.cluster_name,
                "kubeconfig": self.kubeconfig,
                "pools": self.pools,
                **self._of_tenants,
            }
        )

    def exports(self) -> dict[str, pulumi.Output[Any]]:
        """The outputs, by the names that a stack exports them under."""
        return {
            "cluster": self.cluster_name,
            "kubeconfig": self.kubeconfig,
            "pools": self.pools,
            **self._of_tenants,
        }


def _checked(
    args: GpuSharingEnvironmentArgs, opts: pulumi.ResourceOptions | None
) -> tuple[EnvironmentSpec, list[Finding]]:
    """What is declared, and what is worth knowing about it; what is checked stays so."""
    known = args.known(EnvironmentSpec) if isinstance(args, CheckedArgs) else None
    if known is None:
        return validate_args(
            EnvironmentSpec,
            GpuSharingEnvironmentArgs,
            args,
            _rules,
            lambda spec: _of_program(spec, opts),
        )
    spec, before = known
    found = [*before, *lookups.missing_lookups(spec), *_of_program(spec, opts)]
    if has_errors(found):
        refuse("GpuSharingEnvironment", found)
    return spec, found


def _metrics(
    name: str,
    spec: EnvironmentSpec,
    refs: ClusterRefs,
    before: list[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> "list[GpuMetrics]":
    """What measures GPUs and shares, where the stack says so."""
    block = spec.observability
    if block is None or block.metrics == "none":
        return []
    from eks_gpushare.environment_metrics import register_metrics

    return [register_metrics(name, spec, block, refs, before, opts)]


def _has_workloads(spec: EnvironmentSpec) -> bool:
    warm = any(pool.warm is not None for pool in spec.pools.values())
    return warm or bool(spec.workloads) or spec.keda is not None


def _rules(spec: EnvironmentSpec) -> Iterator[Finding]:
    yield from check_environment(spec, region=known_fields(spec).get("region"))
    yield from lookups.missing_lookups(spec)


def _of_program(spec: EnvironmentSpec, opts: pulumi.ResourceOptions | None) -> Iterator[Finding]:
    """What is wrong with the program and not with the declaration."""
    place = ("cluster", "name") if isinstance(spec.cluster, NewCluster) else ("cluster", "existing")
    yield from other_environment(_identity(spec, opts), place)


def _identity(spec: EnvironmentSpec, opts: pulumi.ResourceOptions | None) -> Hashable:
    """What tells the cluster from others, as far as the declaration does."""
    cluster = spec.cluster
    known = cluster if isinstance(cluster, NewCluster) else cluster.existing
    if isinstance(known, ClusterByKubeconfig):
        return known.kubeconfig, known.context
    given = pulumi.ResourceOptions.merge(pulumi.ResourceOptions(), opts)
    own = given.providers.values() if isinstance(given.providers, Mapping) else given.providers
    account = next((id(provider) for provider in own or () if provider.package == "aws"), None)
    if account is None and given.parent is not None:
        account = id(given.parent.get_provider("aws:eks/cluster:Cluster"))
    return known.name, spec.region, spec.profile, account


def _output(plan: PoolPlan) -> dict[str, Any]:
    labels = {"nodeLabels": dict(plan.labels)} if plan.pool.provisioner == "existing" else {}
    return {**plan.as_json(), **labels}
