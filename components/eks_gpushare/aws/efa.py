"""Elastic Fabric Adapter: network interfaces of the launch template and their security group.

Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html; the first
interface carries IP traffic as well, further ones are `efa-only` and take no addresses.
"""

from typing import Any

import pulumi
from pulumi_aws.ec2 import SecurityGroup
from pulumi_aws.vpc import SecurityGroupEgressRule, SecurityGroupIngressRule

from eks_gpushare.catalog import InstanceType
from eks_gpushare.sharing.efa import FIRST_CARD_WITHOUT_EFA


def efa_interfaces(
    instance_type: InstanceType, groups: list[pulumi.Input[str]]
) -> list[dict[str, Any]]:
    """Network interfaces of one node: one per network card with EFA, and one for IP traffic.

    Args:
        instance_type: The one type of the pool.
        groups: Security groups of every interface.
    """
    count = instance_type.efa_interfaces
    if instance_type.family in FIRST_CARD_WITHOUT_EFA:
        rest = [_interface(card, 0, "efa-only", groups) for card in range(1, count + 1)]
        return [_interface(0, 0, "interface", groups), *rest]
    rest = [_interface(card, 1, "efa-only", groups) for card in range(1, count)]
    return [_interface(0, 0, "efa", groups), *rest]


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
    group = SecurityGroup(
        f"{name}-efa",
        description="EFA traffic among the nodes of a pool",
        vpc_id=vpc_id,
        revoke_rules_on_delete=True,
        tags=tags or None,
        opts=child,
    )
    SecurityGroupIngressRule(
        f"{name}-efa-in",
        security_group_id=group.id,
        referenced_security_group_id=group.id,
        ip_protocol="-1",
        tags=tags or None,
        opts=child,
    )
    SecurityGroupEgressRule(
        f"{name}-efa-out",
        security_group_id=group.id,
        referenced_security_group_id=group.id,
        ip_protocol="-1",
        tags=tags or None,
        opts=child,
    )
    return group.id
