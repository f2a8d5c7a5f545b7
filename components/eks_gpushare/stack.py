"""The configuration of the running Pulumi stack, and what has to be looked up for it.

What is asked of AWS is asked here, before anything is registered: for a new network the zones of
the region, for a cluster with admins who runs the program, and an existing cluster that is named,
with its route tables where nobody says which of its subnets are for nodes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pulumi

from eks_gpushare import aws_lookups
from eks_gpushare.catalog.kubernetes import ZONES_WITHOUT_CONTROL_PLANE
from eks_gpushare.config.base import converted
from eks_gpushare.config.cluster import (
    ClusterByKubeconfig,
    ClusterByName,
    ExistingCluster,
    NewCluster,
)
from eks_gpushare.config.component_specs import EnvironmentSpec
from eks_gpushare.config.network import ExistingNetwork, NewNetwork
from eks_gpushare.documents.kubeconfig import KubeconfigError, read_kubeconfig
from eks_gpushare.engine_config import EngineConfig, engine_config
from eks_gpushare.findings.finding import Finding, has_errors
from eks_gpushare.inputs.checked import CheckedArgs
from eks_gpushare.rules import lookups
from eks_gpushare.stack_file.check import check_given
from eks_gpushare.stack_file.local_files import check_local_files
from eks_gpushare.validation.parse import Parsed

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
    late = [finding for finding in lookups.missing_lookups(spec) if finding.severity == "error"]
    if late:
        raise pulumi.RunError(_text(late))
    args = CheckedArgs(spec, found, **_kubeconfig(environment))
    return cast("GpuSharingEnvironmentArgs", args)


def _checked(given: EngineConfig) -> tuple[Environment, list[Finding]]:
    parsed = Parsed(None, ())
    of_environment: list[Finding] = []
    if given.environment is not None:
        parsed, of_environment = check_given(given.environment, given.findings, region=given.region)
    if parsed.environment is not None:
        # The engine runs a program in its own folder.
        of_environment += check_local_files(parsed.environment, Path.cwd())
    found = [*given.findings, *of_environment]
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
        found: dict[str, Any] = {"caller": aws_lookups.caller()} if cluster.admins else {}
        return found | (_zones(network) if isinstance(network, NewNetwork) else {})
    existing = cluster.existing
    if isinstance(existing, ClusterByName):
        choose = not isinstance(network, ExistingNetwork) and _needs_subnets(environment)
        facts = aws_lookups.cluster_facts(
            existing.name, choose_subnets=choose, karpenter=_has_karpenter(environment)
        )
        return {"cluster_facts": facts}
    return {}


def _needs_subnets(environment: Environment) -> bool:
    """Whether nodes go into subnets that nobody has named."""
    pools = environment.pools.values()
    return environment.system is not None or any(
        pool.provisioner != "existing" and pool.subnet_ids is None for pool in pools
    )


def _has_karpenter(environment: Environment) -> bool:
    """Whether a Karpenter of the stack's own would be in the cluster."""
    pools = environment.pools.values()
    return environment.karpenter is not None or any(
        pool.provisioner == "karpenter" for pool in pools
    )


def _zones(network: NewNetwork) -> dict[str, Any]:
    """The zones by name and ID, and of a network that counts them those that EKS takes."""
    counted = isinstance(network.zones, int)
    names, ids = aws_lookups.zones(required=counted)
    if not counted:
        return {"zone_ids": ids}
    taken = [name for name in names if ids.get(name) not in ZONES_WITHOUT_CONTROL_PLANE]
    return {"availability_zones": tuple(taken), "zone_ids": ids}


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
