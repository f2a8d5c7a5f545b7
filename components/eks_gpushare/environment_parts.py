"""The parts of an environment: network, cluster and nodes, from their blocks and each other."""

from collections.abc import Iterable, Sequence
from typing import Any

import pulumi
from pulumi_kubernetes import Provider

from eks_gpushare.aws.refs import ClusterRefs, NetworkRefs, NodeRefs
from eks_gpushare.catalog.partitions import COMMERCIAL, partition_of
from eks_gpushare.cluster import EksCluster
from eks_gpushare.config.base import converted
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
from eks_gpushare.documents.kubeconfig import KubeconfigError, eks_kubeconfig, read_kubeconfig
from eks_gpushare.gpu_pool import GpuPool
from eks_gpushare.inputs.component import refuse
from eks_gpushare.inputs.late_values import given_ids, when_known
from eks_gpushare.network import Network
from eks_gpushare.rules import lookups
from eks_gpushare.sharing.cloudwatch import makes_addon, with_cloudwatch
from eks_gpushare.sharing.driver_gate import waits_for_driver
from eks_gpushare.sharing.monitoring.volumes import claims_default, with_default_class
from eks_gpushare.sharing.plan import startup_taints
from eks_gpushare.system_nodes import SystemNodes
from eks_gpushare.validation import shape_rules


class EnvironmentParts:
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
        self.roles: dict[str, Any] = {"iam": spec.iam} if spec.iam is not None else {}
        if partition is not COMMERCIAL:
            self.roles["partition"] = partition.id

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
        more: dict[str, Any] = {"startup_taints": startup} if startup else {}
        if self._spec.tenants:
            more["network_policies"] = True
        if makes_addon(self._spec.observability):
            partition = str(self.roles.get("partition", COMMERCIAL.id))
            more["addons"] = with_cloudwatch(spec.addons, self._spec.observability, partition)
        elif claims_default(self._spec.observability):
            more["addons"] = with_default_class(spec.addons, self._spec.observability)
        cluster = EksCluster._from_spec(
            f"{self._name}-cluster",
            converted(
                EksClusterSpec,
                spec,
                gpu_taints=taints,
                creator=self._spec.caller,
                profile=self._spec.profile,
                tags=self._tags,
                **self.roles,
                **more,
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
            cluster_arn=cluster.cluster_arn,
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
            converted(
                NetworkSpec, spec, zones=zones, tags=self._tags, **self.roles, **self._found()
            ),
            self._child,
        )
        self.foundation.append(network)
        refs = NetworkRefs(network.vpc_id, network.private_subnet_ids, network.public_subnet_ids)
        return refs, network.subnet_by_zone

    def _found(self) -> dict[str, str]:
        """By which cluster's Karpenter the subnets are found, where there is one."""
        cluster = self._spec.cluster
        if isinstance(cluster, NewCluster) and has_karpenter(self._spec):
            return {"discovered_by": cluster.name}
        return {}

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
            cluster_arn=facts.arn,
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
        added = self._spec.catalog.instance_types
        # Not handed on where it says nothing of them: their component would show a change.
        known = {"catalog": self._spec.catalog} if {*added} & {*spec.instance_types} else {}
        nodes = SystemNodes._from_spec(
            f"{self._name}-system",
            # The zones have become subnets.
            converted(
                SystemNodesSpec,
                spec,
                zones=None,
                version=refs.version,
                tags=self._tags,
                **self.roles,
                **known,
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
            **self.roles,
            **gate,
        )
        node_refs = NodeRefs(
            cluster_name=cluster_name,
            subnet_ids=subnets_of(pool, refs),
            endpoint=refs.endpoint,
            certificate_authority=refs.certificate_authority,
            service_cidr=refs.service_cidr,
            security_group_id=refs.security_group_id,
            vpc_id=refs.vpc_id,
        )
        return GpuPool._from_spec(f"{self._name}-{name}", spec, node_refs, self._child)

    def cluster_autoscaler(
        self, refs: ClusterRefs, nodes: Sequence[pulumi.Resource]
    ) -> list[pulumi.Resource]:
        """Cluster Autoscaler, where the stack asks for one and has pools for it."""
        block = self._spec.cluster_autoscaler
        if block is None:
            return []
        from eks_gpushare.environment_autoscaler import register_cluster_autoscaler

        return register_cluster_autoscaler(
            *(self._name, self._spec, block, refs, nodes, self.roles, self._child)
        )


def _read(spec: ClusterByKubeconfig) -> str:
    try:
        return read_kubeconfig(spec.kubeconfig)
    except KubeconfigError as error:
        at = ("cluster", "existing", "kubeconfig")
        unread = shape_rules.WRONG_TYPE.finding(
            at, str(error), "Give the path of a kubeconfig file."
        )
        refuse("GpuSharingEnvironment", [unread])


def has_karpenter(spec: EnvironmentSpec) -> bool:
    """Whether Karpenter is in the stack: for a pool, or since it says so."""
    pools = spec.pools.values()
    return spec.karpenter is not None or any(pool.provisioner == "karpenter" for pool in pools)


def subnets_of(pool: Pool, refs: ClusterRefs) -> pulumi.Input[Sequence[pulumi.Input[str]]]:
    """Subnets of a pool: its own, those of its zones, or all of the cluster's."""
    own = pool.subnet_ids
    return _subnets(pool.zones, refs) if own is None else given_ids(own)


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
