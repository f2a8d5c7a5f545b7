"""What a stack asks AWS before it registers anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi
from pydantic import ValidationError

from eks_gpushare.config.component_specs import ClusterFacts
from eks_gpushare.sharing.subnets import RoutesOf, private_subnets
from eks_gpushare.validation.shape import shape_findings

if TYPE_CHECKING:
    from collections.abc import Sequence


def zones(*, required: bool) -> tuple[list[str], dict[str, str]]:
    """Names of the region's zones, and the ID of each in this account as far as it is known.

    Local and Wavelength Zones, which EKS takes no cluster in, are not among them.

    Args:
        required: Whether the stack cannot do without. Otherwise nothing is known of the zones
            where AWS does not say, and what depends on their IDs is not checked.
    """
    from pulumi_aws import get_availability_zones

    try:
        found = get_availability_zones(
            state="available",
            filters=[{"name": "opt-in-status", "values": ["opt-in-not-required"]}],
        )
    except Exception as error:
        if required:
            raise
        reason = _first_line(error)
        pulumi.log.info(f"What depends on the IDs of zones is not checked: {reason}")
        return [], {}
    return list(found.names), dict(zip(found.names, found.zone_ids, strict=False))


def caller() -> str:
    """ARN of who runs the program."""
    from pulumi_aws import get_caller_identity

    return get_caller_identity().arn


def cluster_facts(name: str, *, choose_subnets: bool, karpenter: bool = False) -> ClusterFacts:
    """What AWS says of an EKS cluster.

    Args:
        name: Its name.
        choose_subnets: Whether its subnets for nodes are to be found among all that it has.
        karpenter: Whether Karpenter is to make nodes in it, which EKS Auto Mode excludes.

    Raises:
        pulumi.RunError: If AWS does not know it or does not say enough of it.
    """
    from pulumi_aws.eks import get_cluster

    try:
        found = get_cluster(name=name)
    except Exception as error:
        message = (
            f"cluster.existing.name: AWS does not give the EKS cluster {name}: "
            f"{_first_line(error)}. Check the "
            "name, aws:region, and that your credentials may describe it."
        )
        raise pulumi.RunError(message) from error
    if karpenter and any(config.enabled for config in found.compute_configs or ()):
        message = (
            f"cluster.existing.name: the EKS cluster {name} is in EKS Auto Mode, which has a "
            "Karpenter of its own with the same kinds; two would fight over every NodePool, and "
            "nodes of Auto Mode cannot share GPUs: their device plugin has no settings. Set "
            "provisioner: managedNodeGroup, which Auto Mode leaves alone, or turn Auto Mode off."
        )
        raise pulumi.RunError(message)
    network = found.vpc_config
    subnets = list(network.subnet_ids)
    facts = {
        "arn": found.arn,
        "endpoint": found.endpoint,
        "certificate_authority": found.certificate_authorities[0].data,
        "version": found.version,
        "vpc_id": network.vpc_id,
        "subnet_ids": _for_nodes(name, network.vpc_id, subnets) if choose_subnets else subnets,
        "security_group_id": network.cluster_security_group_id,
        "service_cidr": found.kubernetes_network_configs[0].service_ipv4_cidr,
    }
    try:
        return ClusterFacts.model_validate(facts, by_alias=False, by_name=True)
    except ValidationError as error:
        faults = shape_findings(error.errors(include_url=False), set())
        wrong = "; ".join(f"{finding.path}: {finding.message}" for finding in faults)
        message = (
            f"cluster.existing.name: what AWS says of the EKS cluster {name} is not enough. "
            f"{wrong} Name a cluster that has it, or give the kubeconfig of this one and make "
            "its nodes elsewhere."
        )
        raise pulumi.RunError(message) from error


_NAME_THEM = "Name those for nodes: network: {vpcId, privateSubnetIds}."


def _for_nodes(cluster: str, vpc_id: str, subnets: Sequence[str]) -> list[str]:
    try:
        tables = _route_tables(vpc_id)
    except Exception as error:
        message = (
            f"cluster.existing.name: which subnets of the EKS cluster {cluster} are private, AWS "
            f"does not say: {_first_line(error)}. {_NAME_THEM}"
        )
        raise pulumi.RunError(message) from error
    private = private_subnets(subnets, tables)
    if not private:
        message = (
            f"cluster.existing.name: every subnet of the EKS cluster {cluster} has a route to an "
            f"internet gateway, and nodes get no public address. {_NAME_THEM}"
        )
        raise pulumi.RunError(message)
    if public := [subnet for subnet in subnets if subnet not in private]:
        pulumi.log.warn(
            f"Nodes go into {', '.join(private)} and not into {', '.join(public)}, from where a "
            f"route leads to an internet gateway. {_NAME_THEM}"
        )
    return private


def _route_tables(vpc_id: str) -> list[RoutesOf]:
    from pulumi_aws.ec2 import get_route_table, get_route_tables

    found = [
        get_route_table(route_table_id=table_id) for table_id in get_route_tables(vpc_id=vpc_id).ids
    ]
    return [
        RoutesOf(
            main=any(association.main for association in table.associations),
            subnets=tuple(
                association.subnet_id for association in table.associations if association.subnet_id
            ),
            internet=any((route.gateway_id or "").startswith("igw-") for route in table.routes),
        )
        for table in found
    ]


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
