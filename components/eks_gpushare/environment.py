"""A whole GPU-sharing environment, from one declaration."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_kubernetes import Provider

from eks_gpushare import args as plain
from eks_gpushare.aws.refs import ClusterRefs, NetworkRefs, NodeRefs
from eks_gpushare.catalog.partitions import COMMERCIAL, partition_of
from eks_gpushare.checked_args import CheckedArgs
from eks_gpushare.cluster import EksCluster
from eks_gpushare.component_args import props, refuse, validate_args, warn
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.base import converted, known_fields
from eks_gpushare.config.cluster import ClusterByKubeconfig, ClusterByName, NewCluster
from eks_gpushare.config.component_specs import (
    EksClusterSpec,
    EnvironmentSpec,
    GpuPoolSpec,
    NetworkSpec,
    SystemNodesSpec,
)
from eks_gpushare.config.environment import SystemNodes as SystemBlock
from eks_gpushare.config.network import ExistingNetwork
from eks_gpushare.config.pools import Pool
from eks_gpushare.config.taints import Taint
from eks_gpushare.deletion_protection import DeletionProtection
from eks_gpushare.documents.kubeconfig import KubeconfigError, eks_kubeconfig, read_kubeconfig
from eks_gpushare.findings.finding import Finding, has_errors
from eks_gpushare.gpu_manager import register_efa_plugin, register_manager
from eks_gpushare.gpu_pool import GpuPool
from eks_gpushare.kubernetes_provider import declare, other_environment
from eks_gpushare.late_values import given_ids, when_known
from eks_gpushare.network import Network
from eks_gpushare.rules import check_environment, lookups
from eks_gpushare.sharing.driver_gate import waits_for_driver
from eks_gpushare.sharing.plan import PoolPlan, plan_environment, startup_taints
from eks_gpushare.system_nodes import SystemNodes
from eks_gpushare.validation import shape_rules


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
        catalog, _ = catalog_of(spec.catalog, region)
        self.plans: dict[str, PoolPlan] = plan_environment(spec, catalog, region)
        """What each pool will be, known before anything is made."""
        given, child = args.get("kubeconfig"), pulumi.ResourceOptions(parent=self)
        parts = _Children(name, spec, given, child)
        refs = parts.cluster()
        nodes = [*parts.system_nodes(refs), *parts.gpu_pools(refs)]
        charts = [
            *register_manager(name, spec, refs, nodes, child),
            *register_efa_plugin(name, spec, refs, nodes, child),
        ]
        if isinstance(spec.cluster, NewCluster):
            everything = [*parts.foundation, *nodes, *charts]
            protected = spec.cluster.deletion_protection
            DeletionProtection(name, everything, enabled=protected, parent=self)
        self.provider = refs.provider
        self.cluster_name = pulumi.Output.from_input(refs.label)
        self.kubeconfig = pulumi.Output.secret(refs.kubeconfig)
        self.pools = pulumi.Output.from_input(
            {pool: _output(plan) for pool, plan in self.plans.items()}
        )
        self.register_outputs(
            {
                "clusterName": self.cluster_name,
                "kubeconfig": self.kubeconfig,
                "pools": self.pools,
            }
        )

    def exports(self) -> dict[str, pulumi.Output[Any]]:
        """The outputs, by the names that a stack exports them under."""
        return {
            "cluster": self.cluster_name,
            "kubeconfig": self.kubeconfig,
            "pools": self.pools,
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
    account = next((id(each) for each in own or () if each.package == "aws"), None)
    if account is None and given.parent is not None:
        account = id(given.parent.get_provider("aws:eks/cluster:Cluster"))
    return known.name, spec.region, spec.profile, account


def _output(plan: PoolPlan) -> dict[str, Any]:
    labels = {"nodeLabels": dict(plan.labels)} if plan.pool.provisioner == "existing" else {}
    return {**plan.as_json(), **labels}


class _Children:
    """The parts of an environment, in the order in which they need each other."""

    def __init__(
        self,
        name: str,
        spec: EnvironmentSpec,
        kubeconfig: pulumi.Input[str] | None,
        child: pulumi.ResourceOptions,
    ) -> None:
        self._name, self._spec, self._kubeconfig, self._child = name, spec, kubeconfig, child
        self._tags = dict(spec.tags)
        self.foundation: list[pulumi.Resource] = []
        """Network and cluster, as far as they are made here."""
        partition = partition_of(spec.region or pulumi.Config("aws").get("region"))
        # Left out where nothing is special, so that no component shows it as a change.
        self._roles: dict[str, Any] = {"iam": spec.iam} if spec.iam is not None else {}
        if partition is not COMMERCIAL:
            self._roles["partition"] = partition.id

    def cluster(self) -> ClusterRefs:
        """The cluster, made or found."""
        given = self._spec.cluster
        if isinstance(given, NewCluster):
            return self._new_cluster(given)
        if isinstance(given.existing, ClusterByName):
            return self._cluster_by_name(given.existing)
        return self._cluster_by_kubeconfig(given.existing)

    def _new_cluster(self, spec: NewCluster) -> ClusterRefs:
        network, by_zone = self._network()
        taints, startup = _gpu_taints(self._spec.pools), _startup_taints(self._spec.pools)
        waited_for = {"startup_taints": startup} if startup else {}
        cluster = EksCluster._from_spec(
            f"{self._name}-cluster",
            converted(
                EksClusterSpec,
                spec,
                gpu_taints=taints,
                creator=self._spec.caller,
                profile=self._spec.profile,
                tags=self._tags,
                **self._roles,
                **waited_for,
            ),
            network,
            self._child,
        )
        self.foundation += cluster._parts
        return ClusterRefs(
            provider=cluster.provider,
            kubeconfig=cluster.kubeconfig,
            label=cluster.cluster_name,
            cluster_name=cluster.cluster_name,
            subnet_ids=network.private_subnet_ids,
            subnet_by_zone=by_zone,
            vpc_id=network.vpc_id,
            security_group_id=cluster.security_group_id,
            endpoint=cluster.endpoint,
            certificate_authority=cluster.certificate_authority,
            service_cidr=cluster.service_cidr,
            version=spec.version,
        )

    def _network(self) -> tuple[NetworkRefs, dict[str, pulumi.Output[str]] | None]:
        spec = self._spec.network
        if isinstance(spec, ExistingNetwork):
            public = "public_subnet_ids" in spec.model_fields_set
            subnets = given_ids(spec.private_subnet_ids)
            given = given_ids(spec.public_subnet_ids) if public else None
            return NetworkRefs(spec.vpc_id, subnets, given), None
        zones = tuple(lookups.zone_names(self._spec, spec))
        network = Network._from_spec(
            f"{self._name}-network",
            converted(NetworkSpec, spec, zones=zones, tags=self._tags, **self._roles),
            self._child,
        )
        self.foundation.append(network)
        refs = NetworkRefs(network.vpc_id, network.private_subnet_ids, network.public_subnet_ids)
        return refs, network.subnet_by_zone

    def _cluster_by_name(self, spec: ClusterByName) -> ClusterRefs:
        facts = self._spec.cluster_facts
        if facts is None:  # which the rules refuse
            raise KeyError(spec.name)
        region, profile = self._spec.region, self._spec.profile
        kubeconfig = when_known(
            lambda endpoint, authority: eks_kubeconfig(
                spec.name, endpoint, authority, region, profile
            ),
            facts.endpoint,
            facts.certificate_authority,
        )
        network = self._spec.network
        existing = network if isinstance(network, ExistingNetwork) else None
        subnets = given_ids(existing.private_subnet_ids if existing else facts.subnet_ids)
        return ClusterRefs(
            provider=self._provider(kubeconfig, facts.arn),
            kubeconfig=pulumi.Output.from_input(kubeconfig),
            label=spec.name,
            cluster_name=spec.name,
            subnet_ids=subnets,
            vpc_id=facts.vpc_id,
            security_group_id=facts.security_group_id,
            endpoint=facts.endpoint,
            certificate_authority=facts.certificate_authority,
            service_cidr=facts.service_cidr,
            version=facts.version,
        )

    def _cluster_by_kubeconfig(self, spec: ClusterByKubeconfig) -> ClusterRefs:
        content = self._kubeconfig or _read(spec)
        identifier = f"{spec.kubeconfig}#{spec.context or ''}"
        return ClusterRefs(
            provider=self._provider(content, identifier, spec.context),
            kubeconfig=pulumi.Output.from_input(content),
            label=spec.context or spec.kubeconfig,
        )

    def _provider(
        self,
        kubeconfig: pulumi.Input[str],
        identifier: pulumi.Input[str],
        context: str | None = None,
    ) -> Provider:
        # The identifier is what the provider compares: a new kubeconfig then replaces nothing.
        return Provider(
            f"{self._name}-kubernetes",
            kubeconfig=pulumi.Output.secret(kubeconfig),
            context=context,
            cluster_identifier=identifier,
            opts=self._child,
        )

    def system_nodes(self, refs: ClusterRefs) -> list[pulumi.Resource]:
        """Nodes without GPUs: always with a new cluster, which would else have none."""
        spec = self._spec.system
        if spec is None and isinstance(self._spec.cluster, NewCluster):
            spec = SystemBlock()
        if spec is None or refs.cluster_name is None:
            return []
        nodes = SystemNodes._from_spec(
            f"{self._name}-system",
            # The zones have become subnets.
            converted(
                SystemNodesSpec,
                spec,
                zones=None,
                version=refs.version,
                tags=self._tags,
                **self._roles,
            ),
            NodeRefs(refs.cluster_name, _subnets(spec.zones, refs)),
            self._child,
        )
        return [nodes]

    def gpu_pools(self, refs: ClusterRefs) -> list[pulumi.Resource]:
        """The pools whose nodes this stack makes: none where only a kubeconfig is known."""
        if refs.cluster_name is None:
            return []
        return [
            self._gpu_pool(name, pool, refs, refs.cluster_name)
            for name, pool in self._spec.pools.items()
            if pool.provisioner == "managedNodeGroup"
        ]

    def _gpu_pool(
        self, name: str, pool: Pool, refs: ClusterRefs, cluster_name: pulumi.Input[str]
    ) -> GpuPool:
        own = pool.subnet_ids
        # Not written where it is off, which is what the pools of earlier releases say.
        waits = waits_for_driver(pool, self._spec.gpu_stack.manager)
        gate = {"wait_for_driver": True} if waits else {}
        spec = converted(
            GpuPoolSpec,
            pool,
            # These two have become subnets.
            zones=None,
            subnet_ids=None,
            pool=name,
            version=refs.version,
            catalog=self._spec.catalog,
            tags=self._tags,
            **self._roles,
            **gate,
        )
        node_refs = NodeRefs(
            cluster_name=cluster_name,
            subnet_ids=_subnets(pool.zones, refs) if own is None else given_ids(own),
            endpoint=refs.endpoint,
            certificate_authority=refs.certificate_authority,
            service_cidr=refs.service_cidr,
            security_group_id=refs.security_group_id,
            vpc_id=refs.vpc_id,
        )
        return GpuPool._from_spec(f"{self._name}-{name}", spec, node_refs, self._child)


def _read(spec: ClusterByKubeconfig) -> str:
    try:
        return read_kubeconfig(spec.kubeconfig)
    except KubeconfigError as error:
        at = ("cluster", "existing", "kubeconfig")
        unread = shape_rules.WRONG_TYPE.finding(
            at, str(error), "Give the path of a kubeconfig file."
        )
        refuse("GpuSharingEnvironment", [unread])


def _subnets(
    zones: Sequence[str] | None, refs: ClusterRefs
) -> pulumi.Input[Sequence[pulumi.Input[str]]]:
    """Subnets of the given zones, or all."""
    known = refs.subnet_by_zone
    if zones is None or known is None:
        return refs.subnet_ids
    return [known[zone] for zone in sorted(zones)]


def _gpu_taints(pools: dict[str, Pool]) -> tuple[Taint, ...]:
    """Every taint that nodes of pools keep once, whatever its value, in one order."""
    return _once(t for pool in pools.values() for t in pool.taints)


def _startup_taints(pools: dict[str, Pool]) -> tuple[Taint, ...]:
    """The taints that nodes lose again, once they are ready."""
    return _once(t for pool in pools.values() for t in startup_taints(pool))


def _once(taints: Iterable[Taint]) -> tuple[Taint, ...]:
    wanted = sorted({(t.key, t.effect) for t in taints})
    return tuple(Taint.model_construct(key=key, effect=effect) for key, effect in wanted)
