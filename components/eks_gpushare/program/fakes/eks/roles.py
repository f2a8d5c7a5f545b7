"""Fakes for the roles of ``pulumi_eks``: of the control plane, of nodes, of Fargate's pods.

Source: pulumi/pulumi-eks 4.4, in ``nodejs/eks``: ``servicerole.ts`` and ``cluster/cluster.ts``.
"""

from __future__ import annotations

import json
from hashlib import sha1
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.partitions import COMMERCIAL, Partition
from eks_gpushare.program.fakes.eks.children import Children, is_on, output, reference, unwrap
from eks_gpushare.program.values import ResourceRef

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.program.fakes.types import Plan
    from eks_gpushare.program.recording import Resource
    from eks_gpushare.program.values import Properties

_CLUSTER_POLICIES = ("AmazonEKSClusterPolicy",)
_AUTO_MODE_POLICIES = (
    "AmazonEKSComputePolicy",
    "AmazonEKSBlockStoragePolicy",
    "AmazonEKSLoadBalancingPolicy",
    "AmazonEKSNetworkingPolicy",
)
_AUTO_MODE_NODE_POLICIES = (
    "AmazonEKSWorkerNodeMinimalPolicy",
    "AmazonEC2ContainerRegistryPullOnly",
)
_NODE_POLICIES = (
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryReadOnly",
)


def cluster_role(
    children: Children, args: Properties, partition: Partition, *, auto_mode: bool
) -> Resource:
    """The role of the control plane."""
    return service_role(
        children,
        f"{children.name}-eksRole",
        "eks.amazonaws.com",
        (*_CLUSTER_POLICIES, *(_AUTO_MODE_POLICIES if auto_mode else ())),
        args,
        partition,
        description="Allows EKS to manage clusters on your behalf.",
        actions=("sts:AssumeRole", "sts:TagSession"),
    )


def auto_mode_role(children: Children, args: Properties, partition: Partition) -> Resource:
    """The role of the nodes that EKS Auto Mode makes."""
    name = f"{children.name}-nodeRole"
    service = "ec2.amazonaws.com"
    return service_role(children, name, service, _AUTO_MODE_NODE_POLICIES, args, partition)


def instance_role(children: Children, args: Properties, partition: Partition) -> Resource:
    """The role of nodes that the cluster component makes where it is given none."""
    name = f"{children.name}-instanceRole"
    return service_role(children, name, "ec2.amazonaws.com", _NODE_POLICIES, args, partition)


def pod_execution_role(children: Children, args: Properties, partition: Partition) -> Resource:
    """The role with which Fargate starts pods."""
    return service_role(
        children,
        f"{children.name}-podExecutionRole",
        "eks-fargate-pods.amazonaws.com",
        ("AmazonEKSFargatePodExecutionRolePolicy",),
        args,
        partition,
    )


def service_role(
    children: Children,
    name: str,
    service: str,
    policies: Sequence[str],
    args: Properties,
    partition: Partition,
    *,
    description: str | None = None,
    actions: Sequence[str] = ("sts:AssumeRole",),
) -> Resource:
    """A role for a service with policies of AWS attached."""
    role = children.add_component("eks:index:ServiceRole", name, {})
    statement = {"Action": list(actions), "Effect": "Allow", "Principal": {"Service": [service]}}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]}, separators=(",", ":"))
    given = {"description": description, "assumeRolePolicy": policy, "tags": args.get("tags")}
    iam_role = role.add("aws:iam/role:Role", f"{name}-role", given)
    for each in policies:
        # The name comes from the ARN in the public partition, wherever the policy is.
        known = COMMERCIAL.policy(each)
        key = sha1(known.encode(), usedforsecurity=False).hexdigest()[:8]
        role.add(
            "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            f"{name}-{key}",
            {"policyArn": partition.policy(each), "role": output(iam_role, "id")},
        )
    return iam_role


def instance_roles(
    plan: Plan, children: Children, args: Properties, partition: Partition
) -> tuple[list[ResourceRef], Any, Resource | None]:
    """Roles whose nodes may join, ARN of the nodes' role if it is one, and their profile."""
    given = unwrap(args.get("instanceRoles"))
    if isinstance(given, list):
        return [ref for ref in map(unwrap, given) if isinstance(ref, ResourceRef)], None, None
    made_by_default = not is_on(args.get("skipDefaultNodeGroup"))
    nodes_by_default = made_by_default and not has_no_nodes(args)
    one = unwrap(args.get("instanceRole"))
    if isinstance(one, ResourceRef):
        role = plan.resource(one.urn)
        profile = _profile(children, args, role) if nodes_by_default else None
        return [one], output(role, "arn"), profile
    if is_on(args.get("createInstanceRole"), default=made_by_default):
        role = instance_role(children, args, partition)
        if args.get("customInstanceRolePolicy") is not None:
            children.add(
                "aws:iam/rolePolicy:RolePolicy",
                f"{children.name}-EKSWorkerCustomPolicy",
                {"role": output(role, "id"), "policy": args["customInstanceRolePolicy"]},
            )
        return [reference(role)], output(role, "arn"), _profile(children, args, role)
    return [], None, None


def has_no_nodes(args: Properties) -> bool:
    """Whether the cluster gets no node group of its own whatever else is asked for."""
    return is_on(args.get("fargate")) or in_auto_mode(args)


def in_auto_mode(args: Properties) -> bool:
    """Whether EKS Auto Mode makes the nodes."""
    return is_on(auto_mode(args).get("enabled"))


def auto_mode(args: Properties) -> Properties:
    """The options of EKS Auto Mode."""
    given = unwrap(args.get("autoMode"))
    return given if isinstance(given, dict) else {}


def _profile(children: Children, args: Properties, role: Resource) -> Resource | None:
    options = unwrap(args.get("nodeGroupOptions")) or {}
    if args.get("instanceProfileName") or options.get("instanceProfileName"):
        return None  # one that exists already, which the component only reads
    return children.add(
        "aws:iam/instanceProfile:InstanceProfile",
        f"{children.name}-instanceProfile",
        {"role": output(role, "id")},
    )
