"""Fakes for the components of ``pulumi_eks``, which a Node.js plugin builds.

They register the children that matter to a plan and to policies, with the names and parents that
the plugin gives them. Every child is marked as assumed. Source: pulumi/pulumi-eks 4.4, in
``nodejs/eks``: ``addons/addon.ts`` and ``nodes/nodegroup.ts``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.program.fakes.eks import addons as eks_addons
from eks_gpushare.program.fakes.eks import cluster as eks_cluster
from eks_gpushare.program.fakes.eks import node_groups as eks_node_groups
from eks_gpushare.program.fakes.eks.children import Children, json_text, output, reference, unwrap
from eks_gpushare.program.fakes.eks.core import cluster_of, core_of
from eks_gpushare.program.fakes.eks.kubeconfig import get_kubeconfig
from eks_gpushare.program.fakes.eks.managed_nodes import managed_node_group
from eks_gpushare.program.fakes.eks.security_groups import security_group_component
from eks_gpushare.program.fakes.types import ACCOUNT, Component
from eks_gpushare.program.values import UNKNOWN, Properties, ResourceRef

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.program.fakes.types import Method, Plan
    from eks_gpushare.program.recording import Resource


def _stand_alone_addon(plan: Plan, component: Resource) -> Properties:
    cluster = cluster_of(plan, core_of(plan, component))
    inputs = {key: value for key, value in component.inputs.items() if key != "cluster"}
    inputs["configurationValues"] = json_text(inputs.get("configurationValues"))
    inputs["clusterName"] = output(cluster, "name")
    made = Children(plan, component).add("aws:eks/addon:Addon", component.name, inputs)
    return {"addon": reference(made)}


def _parent_is_cluster(component: Resource) -> str:
    reference = unwrap(component.inputs.get("cluster"))
    return reference.urn if isinstance(reference, ResourceRef) else component.parent


def _creation_role_provider(plan: Plan, component: Resource) -> Properties:
    children, region = Children(plan, component), component.inputs.get("region")
    partition = partition_of(plan.region()).id
    principal = {"AWS": f"arn:{partition}:iam::{ACCOUNT}:root"}
    trust = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}
    role = children.add(
        "aws:iam/role:Role",
        f"{component.name}-eksClusterCreatorRole",
        {
            "assumeRolePolicy": json_text({"Version": "2012-10-17", "Statement": [trust]}),
            "description": f"Admin access to eks-{component.name}",
        },
    )
    provider = children.add(
        "pulumi:providers:aws",
        f"{component.name}-eksClusterCreatorEntity",
        {
            "region": region if region is not None else plan.region() or None,
            "profile": component.inputs.get("profile"),
            "assumeRoles": json_text([{"roleArn": role.outputs.get("arn", UNKNOWN)}])
            if not plan.preview
            else UNKNOWN,
        },
        parent=role.urn,
    )
    return {"role": reference(role), "provider": reference(provider)}


COMPONENTS: Mapping[str, Component] = {
    "eks:index:Addon": Component(_stand_alone_addon, parent=_parent_is_cluster),
    "eks:index:Cluster": Component(eks_cluster.construct),
    "eks:index:ClusterCreationRoleProvider": Component(_creation_role_provider),
    "eks:index:ManagedNodeGroup": Component(managed_node_group),
    "eks:index:NodeGroup": Component(eks_node_groups.node_group),
    "eks:index:NodeGroupSecurityGroup": Component(security_group_component),
    "eks:index:NodeGroupV2": Component(eks_node_groups.node_group_v2),
    "eks:index:VpcCniAddon": Component(eks_addons.vpc_cni_component),
}
"""Type token to fake."""

METHODS: Mapping[str, Method] = {"eks:index:Cluster/getKubeconfig": get_kubeconfig}
"""Method token to fake."""
