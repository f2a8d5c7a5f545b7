"""What EC2 and EKS refuse of node groups: beyond a quota, of a market, by a role without rights.

Sources, November 2026: https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html;
https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks.html, by which a launch template
has `MarketType: capacity-block` beside the reservation that it targets;
https://docs.aws.amazon.com/eks/latest/eksctl/iam-policies.html, by which `attachPolicyARNs` stand
in place of the policies that eksctl attaches; `aws_servicequotas_service_quota` of Terraform.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.vcpus import Group, demands
from eks_gpushare.inventory.edges.quotas import vcpus
from eks_gpushare.inventory.items import NODE_ROLE, SERVICE_QUOTA, NodeLaunch, NodeSet, Pointer
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, is_same, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.two_numbers import BEYOND_QUOTA, MARKET_REFUSED, ROLE_LACKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

ELSEWHERE: Final = rule_of("GPU1112")
_GROUP_LABEL: Final = "eks.amazonaws.com/nodegroup"
_GROUPS: Final = ("managed", "selfManaged")
_MARKETS: Final = (
    ("instance_market_options", 0, "market_type"),
    ("InstanceMarketOptions", "MarketType"),
)
"""Of Terraform's launch templates and of CloudFormation's."""
_POLICIES: Final = ("iam", "attachPolicyARNs")
_OF_AWS: Final = ":iam::aws:policy/"
_POLICY: Final = "AmazonEKSWorkerNodePolicy"
_JOINS: Final = (_POLICY, "AmazonEKSWorkerNodeMinimalPolicy")
_AS_MADE: Final = ("create_node_iam_role", "node_iam_role_use_name_prefix")
"""Inputs of the EKS module's part for Karpenter, both true unless told."""
_MIGHTY: Final = ("AdministratorAccess", "PowerUserAccess")


@edge(BEYOND_QUOTA)
def beyond_quota(inventory: Inventory) -> Iterator[Judgement]:
    """Node groups at their largest, against a quota that stands beside them."""
    groups = [
        each
        for each in vcpus(inventory)
        if isinstance(each, Group) and each.of.provisioner in _GROUPS
    ]
    for asked in inventory.of(Pointer):
        if asked.kind != SERVICE_QUOTA:
            continue
        value = quantity(str(text(at(asked.spec, "value"))))
        found = demands(each for each in groups if each.of.cluster == asked.cluster)
        demand = found.get(str(asked.name))
        if demand is not None and value is not None and demand.vcpus > value:
            names = " and ".join(of.source.name for of, _ in demand.parts)
            yield Problem(
                BEYOND_QUOTA,
                asked.source,
                ("value",),
                f"The quota of {demand.name} is to be {int(value)} vCPUs, and {names} may take "
                f"{demand.vcpus}.",
                f"Ask for {demand.vcpus} or more, or let there be fewer nodes.",
            )


@edge(MARKET_REFUSED)
def markets(inventory: Inventory) -> Iterator[Judgement]:
    """Of launch templates of managed groups."""
    for nodes in inventory.of(NodeSet):
        launch: Any = nodes.launch
        if nodes.provisioner != "managed" or not isinstance(launch, NodeLaunch):
            continue
        data = at(value_of(launch), *launch.source.path)
        for place in _MARKETS:
            if at(data, *place) == "spot" and has_gpus(nodes):
                yield Problem(
                    MARKET_REFUSED,
                    launch.source,
                    place,
                    f"The launch template of {nodes.source.name} asks for spot instances, and EKS "
                    "takes no market from that of a managed node group.",
                    "Remove the market options, and let the group have the capacity type SPOT.",
                )


@edge(MARKET_REFUSED)
def capacity_blocks(inventory: Inventory) -> Iterator[Judgement]:
    """Of launch templates that target one."""
    for nodes in inventory.of(NodeSet):
        launch: Any = nodes.launch
        if isinstance(launch, NodeLaunch) and launch.bare_block and has_gpus(nodes):
            yield Problem(
                MARKET_REFUSED,
                launch.source,
                ("capacity_reservation_specification",),
                f"The launch template of {nodes.source.name} targets {launch.bare_block} without "
                "the market type of a capacity block: EC2 starts no instance in it.",
                'Write instance_market_options with market_type = "capacity-block".',
            )


@edge(ROLE_LACKS)
def roles_by_prefix(inventory: Inventory) -> Iterator[Judgement]:
    """Of node classes that name a role as a module begins its name, to which it adds a suffix."""
    for role in inventory.of(Pointer):
        told = [at(role.spec, key) for key in _AS_MADE]
        if role.kind != NODE_ROLE or any(each not in (None, True) for each in told):
            continue
        for launch in inventory.of(NodeLaunch, role.cluster):
            value = value_of(launch)
            named = at(value, "spec", "role")
            if at(value, "kind") == "EC2NodeClass" and is_same(named, role.name):
                yield Problem(
                    ROLE_LACKS,
                    launch.source,
                    ("role",),
                    f"{at_start(launch.source.name)} has the role {named}, and that of "
                    f"{role.source.name} begins with it: a suffix follows, which is random.",
                    "Write node_iam_role_use_name_prefix = false, or take the module's output "
                    "node_iam_role_name.",
                )


@edge(ELSEWHERE)
def groups_by_prefix(inventory: Inventory) -> Iterator[Judgement]:
    """Pods that select a managed group by a name to which a suffix is added.

    `use_name_prefix` of terraform-aws-modules/eks/aws//modules/eks-managed-node-group, true unless
    told, and `node_group_name_prefix` of `aws_eks_node_group`.
    """
    for cluster in inventory.clusters():
        groups = [each for each in inventory.of(NodeSet, cluster) if each.provisioner == "managed"]
        begun = {_prefix(each): each for each in groups if _prefix(each)}
        whole = {each.name for each in groups if not _prefix(each)}
        for workload, _ in gpu_workloads(inventory, cluster):
            named = at(workload.spec, "nodeSelector", _GROUP_LABEL)
            if named not in begun or named in whole or UNKNOWN in whole:
                continue
            yield Problem(
                ELSEWHERE,
                workload.source,
                (*workload.spec_path, "nodeSelector", _GROUP_LABEL),
                f"{at_start(workload.source.name)} selects the node group {named}, and the name of "
                f"{begun[named].source.name} begins with it: a suffix follows, which is random.",
                "Write use_name_prefix = false, which makes the group anew, or select a label of "
                "the group's own.",
            )


def _prefix(nodes: NodeSet) -> str:
    """What the name of a group begins with, if a suffix follows; empty of any other."""
    given = at(value_of(nodes), *nodes.source.path)
    key = "node_group_name" if at(given, "use_name_prefix") is True else "node_group_name_prefix"
    prefix = at(given, key)
    return prefix.rstrip("-") if isinstance(prefix, str) else ""


@edge(ROLE_LACKS)
def roles(inventory: Inventory) -> Iterator[Judgement]:
    """Of groups of eksctl whose policies are all of AWS, none of which lets a node join."""
    for nodes in inventory.of(NodeSet):
        value = value_of(nodes)
        listed = at(value, *nodes.source.path, *_POLICIES)
        if at(value, "kind") != "ClusterConfig" or not items(listed) or has_unknown(listed):
            continue
        names = [str(each).rpartition("/")[2] for each in items(listed) if _OF_AWS in str(each)]
        if len(names) < len(items(listed)) or {*_JOINS, *_MIGHTY} & set(names):
            continue
        if has_gpus(nodes):
            yield Problem(
                ROLE_LACKS,
                nodes.source,
                _POLICIES,
                f"{at_start(nodes.source.name)} has {', '.join(names)} and no {_POLICY}: eksctl "
                "attaches these in place of its own, and no node joins.",
                f"Add {_POLICY}, AmazonEKS_CNI_Policy and AmazonEC2ContainerRegistryPullOnly.",
            )
