"""Fakes for the security group of nodes. Source: ``nodejs/eks/nodes/securitygroup.ts``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program.fakes.eks.children import Children, id_of, output, reference, unwrap
from eks_gpushare.program.fakes.eks.core import cluster_of
from eks_gpushare.program.values import UNKNOWN, OutputValue, Properties, ResourceRef

if TYPE_CHECKING:
    from eks_gpushare.program.fakes.types import Plan
    from eks_gpushare.program.recording import Resource


def _rule(
    children: Children, name: str, description: str, ports: tuple[int, int], **more: Any
) -> Resource:
    every = ports == (0, 0)
    return children.add(
        "aws:ec2/securityGroupRule:SecurityGroupRule",
        f"{children.name}-{name}",
        {
            "description": description,
            "fromPort": ports[0],
            "toPort": ports[1],
            "protocol": "-1" if every else "tcp",
            **more,
        },
    )


def to_the_internet(children: Children, name: str, group: Resource) -> None:
    """The rule that lets everything out of a security group."""
    _rule(
        children,
        name,
        "Allow internet access.",
        (0, 0),
        type="egress",
        cidrBlocks=["0.0.0.0/0"],
        securityGroupId=output(group, "id"),
    )


def group_of_eks(cluster: Resource) -> Any:
    """The ID of the security group that EKS itself makes for a cluster."""
    vpc_config = cluster.outputs.get("vpcConfig")
    made = vpc_config if isinstance(vpc_config, dict) else {}
    return made.get("clusterSecurityGroupId", UNKNOWN)


def node_security_group(
    plan: Plan, children: Children, core: Properties
) -> tuple[Resource, Resource]:
    """The security group of nodes, and the rule that lets them reach the API server."""
    cluster = cluster_of(plan, core)
    own = core.get("clusterSecurityGroup")
    if isinstance(own, ResourceRef):
        control_plane = id_of(own)
    else:
        control_plane = OutputValue(group_of_eks(cluster), dependencies=(cluster.urn,))
    cluster_name = cluster.outputs.get("name", UNKNOWN)
    tags: Any = UNKNOWN
    if isinstance(cluster_name, str):
        tags = {
            "Name": f"{children.name}-nodeSecurityGroup",
            f"kubernetes.io/cluster/{cluster_name}": "owned",
            **(core.get("nodeSecurityGroupTags") or {}),
            **(core.get("tags") or {}),
        }
    group = children.add(
        "aws:ec2/securityGroup:SecurityGroup",
        f"{children.name}-nodeSecurityGroup",
        {
            "description": "Managed by Pulumi",
            "vpcId": core["vpcId"],
            "revokeRulesOnDelete": True,
            "tags": OutputValue(tags, dependencies=(cluster.urn,)),
        },
    )
    nodes = output(group, "id")
    _rule(
        children,
        "eksNodeIngressRule",
        "Allow nodes to communicate with each other",
        (0, 0),
        type="ingress",
        securityGroupId=nodes,
        self=True,
    )
    _rule(
        children,
        "eksNodeClusterIngressRule",
        "Allow worker Kubelets and pods to receive communication from the cluster control plane",
        (1025, 65535),
        type="ingress",
        securityGroupId=nodes,
        sourceSecurityGroupId=control_plane,
    )
    _rule(
        children,
        "eksExtApiServerClusterIngressRule",
        "Allow pods running extension API servers on port 443 to receive communication from "
        "cluster control plane",
        (443, 443),
        type="ingress",
        securityGroupId=nodes,
        sourceSecurityGroupId=control_plane,
    )
    to_the_internet(children, "eksNodeInternetEgressRule", group)
    ingress = _rule(
        children,
        "eksClusterIngressRule",
        "Allow pods to communicate with the cluster API Server",
        (443, 443),
        type="ingress",
        securityGroupId=control_plane,
        sourceSecurityGroupId=nodes,
    )
    return group, ingress


def security_group_component(plan: Plan, component: Resource) -> Properties:
    """``eks.NodeGroupSecurityGroup``."""
    args = component.inputs
    core = {
        "cluster": unwrap(args.get("eksCluster")),
        "clusterSecurityGroup": unwrap(args.get("clusterSecurityGroup")),
        "vpcId": args.get("vpcId"),
        "tags": unwrap(args.get("tags")),
    }
    group, rule = node_security_group(plan, Children(plan, component), core)
    return {"securityGroup": reference(group), "securityGroupRule": reference(rule)}
