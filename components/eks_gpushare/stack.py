"""The configuration of the running Pulumi stack, and what has to be looked up for it.

Two things are asked of AWS, both here and before anything is registered: the zones of the region
where a stack names only their number, and an existing cluster that it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pulumi
from pydantic import ValidationError

from eks_gpushare.checked_args import CheckedArgs
from eks_gpushare.config.base import converted
from eks_gpushare.config.cluster import (
    ClusterByKubeconfig,
    ClusterByName,
    ExistingCluster,
    NewCluster,
)
from eks_gpushare.config.component_specs import ClusterFacts, EnvironmentSpec
from eks_gpushare.config.network import NewNetwork
from eks_gpushare.documents.kubeconfig import KubeconfigError, read_kubeconfig
from eks_gpushare.engine_config import EngineConfig, engine_config
from eks_gpushare.findings.finding import Finding, has_errors
from eks_gpushare.rules.deploying import as_deploy_errors
from eks_gpushare.stack_file.check import check_given
from eks_gpushare.validation.parse import Parsed
from eks_gpushare.validation.shape import shape_findings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.environment import GpuSharingEnvironmentArgs


def load_stack() -> GpuSharingEnvironmentArgs:
    """The environment of the running stack, checked, with everything looked up.

    A program may change it before it gives it to the component, which then checks it again.

    Raises:
        pulumi.RunError: With all error findings. The engine prints its text without a traceback.
    """
    region = pulumi.Config("aws").get("region")
    profile = pulumi.Config("aws").get("profile")
    environment, found = _checked(engine_config())
    given = {key: value for key, value in (("region", region), ("profile", profile)) if value}
    spec = converted(EnvironmentSpec, environment, **given, **_looked_up(environment))
    args = CheckedArgs(spec, found, **_kubeconfig(environment))
    return cast("GpuSharingEnvironmentArgs", args)


def _checked(given: EngineConfig) -> tuple[Environment, list[Finding]]:
    parsed = Parsed(None, ())
    of_environment: list[Finding] = []
    if given.environment is not None:
        parsed, of_environment = check_given(given.environment, given.findings, region=given.region)
    found = as_deploy_errors([*given.findings, *of_environment])
    if parsed.environment is None or has_errors(found):
        raise pulumi.RunError(_text(f for f in found if f.severity == "error"))
    return parsed.environment, found


def _text(errors: Iterable[Finding]) -> str:
    lines = [str(error).removeprefix("error ") for error in errors]
    count = "1 error" if len(lines) == 1 else f"{len(lines)} errors"
    listed = "\n".join(f"  {line}" for line in lines)
    return f"the stack file has {count}:\n{listed}"


def _looked_up(environment: Environment) -> dict[str, Any]:
    cluster, network = environment.cluster, environment.network
    if isinstance(cluster, NewCluster):
        counted = isinstance(network, NewNetwork) and isinstance(network.zones, int)
        return {"availability_zones": tuple(_zones())} if counted else {}
    existing = cluster.existing
    if isinstance(existing, ClusterByName):
        return {"cluster_facts": _cluster_facts(existing.name)}
    return {}


def _kubeconfig(environment: Environment) -> dict[str, str]:
    """Content of the kubeconfig of an existing cluster that is known by it."""
    cluster = environment.cluster
    existing = cluster.existing if isinstance(cluster, ExistingCluster) else None
    if not isinstance(existing, ClusterByKubeconfig):
        return {}
    try:
        return {"kubeconfig": read_kubeconfig(existing.kubeconfig)}
    except KubeconfigError as error:
        message = f"cluster.existing.kubeconfig: {error} Give the path of a kubeconfig file."
        raise pulumi.RunError(message) from error


_ZONES_WITHOUT_EKS = ["use1-az3", "usw1-az2", "cac1-az3"]
"""Zones in which EKS takes no subnet:
https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html."""


def _zones() -> list[str]:
    """Zones of the region, without those, Local and Wavelength Zones, which EKS does not take."""
    from pulumi_aws import get_availability_zones

    found = get_availability_zones(
        state="available",
        exclude_zone_ids=_ZONES_WITHOUT_EKS,
        filters=[{"name": "opt-in-status", "values": ["opt-in-not-required"]}],
    )
    return list(found.names)


def _cluster_facts(name: str) -> ClusterFacts:
    from pulumi_aws.eks import get_cluster

    try:
        found = get_cluster(name=name)
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        message = (
            f"cluster.existing.name: AWS does not give the EKS cluster {name}: {first}. Check the "
            "name, aws:region, and that your credentials may describe it."
        )
        raise pulumi.RunError(message) from error
    network = found.vpc_config
    facts = {
        "arn": found.arn,
        "endpoint": found.endpoint,
        "certificate_authority": found.certificate_authorities[0].data,
        "version": found.version,
        "vpc_id": network.vpc_id,
        "subnet_ids": list(network.subnet_ids),
        "security_group_id": network.cluster_security_group_id,
        "service_cidr": found.kubernetes_network_configs[0].service_ipv4_cidr,
    }
    try:
        return ClusterFacts.model_validate(facts, by_alias=False, by_name=True)
    except ValidationError as error:
        faults = shape_findings(error.errors(include_url=False), set())
        wrong = "; ".join(f"{each.path}: {each.message}" for each in faults)
        message = (
            f"cluster.existing.name: what AWS says of the EKS cluster {name} is not enough. "
            f"{wrong} Name a cluster that has it, or give the kubeconfig of this one and make "
            "its nodes elsewhere."
        )
        raise pulumi.RunError(message) from error
