"""Karpenter and its pools in an environment.

Apart from the other parts, so that a stack without Karpenter imports nothing of it.
"""

from collections.abc import Sequence
from typing import Any

import pulumi

from eks_gpushare.aws.karpenter_discovery import tag_security_group
from eks_gpushare.aws.refs import ClusterRefs, KarpenterNodeRefs
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.autoscaling import Karpenter as KarpenterBlock
from eks_gpushare.config.base import converted
from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.config.component_specs import EnvironmentSpec, KarpenterPoolSpec, KarpenterSpec
from eks_gpushare.config.environment import Chart
from eks_gpushare.config.pools import Pool
from eks_gpushare.environment_parts import subnets_of
from eks_gpushare.karpenter import Karpenter, role_name
from eks_gpushare.karpenter_pool import KarpenterPool, instance_type_of, register_object
from eks_gpushare.sharing.driver_gate import waits_for_driver
from eks_gpushare.sharing.karpenter import (
    controller_resources,
    feature_gates,
    price_overlays,
)
from eks_gpushare.sharing.plan import PoolPlan


class KarpenterParts:
    """Karpenter, where the stack installs it, and the pools that it makes nodes for."""

    def __init__(
        self,
        name: str,
        spec: EnvironmentSpec,
        refs: ClusterRefs,
        roles: dict[str, Any],
        child: pulumi.ResourceOptions,
    ) -> None:
        """Take what both need.

        Args:
            name: Name of the environment.
            spec: The environment.
            refs: Its cluster.
            roles: What roles have in common, as far as anything is special.
            child: Options that name the parent.
        """
        self._name, self._spec, self._refs, self._roles = name, spec, refs, roles
        self._child = pulumi.ResourceOptions.merge(
            child, pulumi.ResourceOptions(providers=[refs.provider])
        )
        self._block = spec.karpenter or KarpenterBlock.model_construct()
        self._role: pulumi.Input[str] = ""

    def controller(self, needs: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
        """Karpenter; nothing where the cluster has one.

        Args:
            needs: What has to be there as long as it runs: network, add-ons, nodes of its own.
        """
        refs, spec, block = self._refs, self._spec, self._block
        if refs.cluster_name is None or refs.cluster_arn is None:  # which the rules refuse
            return []
        if not block.install:
            self._role = pulumi.Output.from_input(block.node_role or "").apply(role_name)
            return []
        catalog, _ = catalog_of(spec.catalog, spec.region)
        made = Karpenter._from_spec(
            f"{self._name}-karpenter",
            converted(
                KarpenterSpec,
                block,
                feature_gates=feature_gates(spec, catalog, spec.region),
                access_entry=self._access_entry(),
                chart=spec.charts.karpenter,
                crd_chart=spec.charts.karpenter_crd or Chart.model_construct(),
                tags=dict(spec.tags),
                **self._roles,
            ),
            refs.cluster_name,
            refs.cluster_arn,
            self._after(needs),
            controller_resources(spec),
        )
        self._role = made.node_role_name
        if not isinstance(spec.cluster, NewCluster) or refs.security_group_id is None:
            return [made]
        name = f"{self._name}-karpenter-discovery"
        group = refs.security_group_id
        return [made, tag_security_group(name, group, refs.cluster_name, self._child)]

    def _access_entry(self) -> bool | None:
        """Whether the stack makes the entry: of a node group's role EKS has made it already."""
        own, said = self._block.node_role, self._block.access_entry
        if said is not None or own is None:
            return said
        system = self._spec.system
        groups = [p for p in self._spec.pools.values() if p.provisioner == "managedNodeGroup"]
        taken = [group.node_role for group in groups] + ([system.node_role] if system else [])
        return False if own in taken else None

    def pools(
        self, plans: dict[str, PoolPlan], needs: Sequence[pulumi.Resource]
    ) -> list[pulumi.Resource]:
        """The pools of Karpenter's.

        Args:
            plans: Plans of all pools.
            needs: What goes after them: Karpenter, which ends their nodes, and what serves their
                GPUs. It is there before the first node, so that Karpenter knows what each of its
                DaemonSets takes.
        """
        pools = {n: p for n, p in self._spec.pools.items() if p.provisioner == "karpenter"}
        after = self._after(needs)
        catalog, _ = catalog_of(self._spec.catalog, self._spec.region)
        own = [plans[name] for name in pools]
        prices = [
            register_object(f"{self._name}-price-{instance_type_of(overlay)}", overlay, after)
            for overlay in price_overlays(own, catalog, self._spec.region)
        ]
        after = self._after([*needs, *prices])
        return [*prices, *(self._pool(name, pool, after) for name, pool in pools.items())]

    def _pool(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> KarpenterPool:
        refs, spec = self._refs, self._spec
        waits = waits_for_driver(pool, spec.gpu_stack.manager)
        gate = {"wait_for_driver": True} if waits else {}
        group = refs.security_group_id
        return KarpenterPool._from_spec(
            f"{self._name}-{name}",
            converted(
                KarpenterPoolSpec,
                pool,
                subnet_ids=None,  # given below
                pool=name,
                version=refs.version,
                catalog=spec.catalog,
                tags=dict(spec.tags),
                **gate,
            ),
            KarpenterNodeRefs(
                node_role_name=self._role,
                subnet_ids=subnets_of(pool, refs),
                security_group_ids=[] if group is None else [group],
                vpc_id=refs.vpc_id,
            ),
            opts,
        )

    def _after(self, needs: Sequence[pulumi.Resource]) -> pulumi.ResourceOptions:
        wanted = pulumi.ResourceOptions(depends_on=list(needs))
        return pulumi.ResourceOptions.merge(self._child, wanted)
