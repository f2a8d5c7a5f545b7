"""Elastic Fabric Adapter: network interfaces of the launch template and their security group.

Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html. The first
interface carries IP traffic as well, which takes no address from pods as one beside it would;
further ones are `efa-only`, on cards and device indexes as Karpenter's node classes have them.
"""

from typing import Any

import pulumi
from pulumi_aws.ec2 import SecurityGroup
from pulumi_aws.vpc import SecurityGroupEgressRule, SecurityGroupIngressRule

from eks_gpushare.catalog import InstanceType
from eks_gpushare.sharing.efa import efa_cards


def efa_interfaces(
    instance_type: InstanceType, groups: list[pulumi.Input[str]]
) -> list[dict[str, Any]]:
    """Network interfaces of one node: one per network card with EFA, and one for IP traffic.

    Args:
        instance_type: The one type of the pool.
        groups: Security groups of every interface.
    """
    cards = dict(efa_cards(instance_type))
    first = "efa" if cards.pop(0, None) is not None else "interface"
    rest = [_interface(card, device, "efa-only", groups) for card, device in cards.items()]
    return [_interface(0, 0, first, groups), *rest]


def _interface(
    card: int, device: int, kind: str, groups: list[pulumi.Input[str]]
) -> dict[str, Any]:
    return {
        "device_index": device,
        "network_card_index": card,
        "interface_type": kind,
        "associate_public_ip_address": "false" if card == 0 else None,
        "delete_on_termination": "true",
        "security_groups": groups,
    }


def efa_security_group(
    name: str, vpc_id: pulumi.Input[str], tags: dict[str, str], child: pulumi.ResourceOptions
) -> pulumi.Output[str]:
    """A security group whose members may say anything to each other, which EFA requires."""
    named = {**tags, "Name": f"{name}-efa"}
    group = SecurityGroup(
        f"{name}-efa",
        description="EFA traffic among the nodes of a pool",
        vpc_id=vpc_id,
        revoke_rules_on_delete=True,
        tags=named,
        opts=child,
    )
    SecurityGroupIngressRule(
        f"{name}-efa-in",
        security_group_id=group.id,
        referenced_security_group_id=group.id,
        ip_protocol="-1",
        tags=named,
        opts=child,
    )
    SecurityGroupEgressRule(
        f"{name}-efa-out",
        security_group_id=group.id,
        referenced_security_group_id=group.id,
        ip_protocol="-1",
        tags=named,
        opts=child,
    )
    return group.id
