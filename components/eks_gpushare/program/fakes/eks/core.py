"""The core data of a cluster of ``pulumi_eks``, which node groups and add-ons are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.fakes.eks.children import unwrap
from eks_gpushare.program.values import UNKNOWN, Properties, ResourceRef

if TYPE_CHECKING:
    from eks_gpushare.program.fakes.types import Plan
    from eks_gpushare.program.recording import Resource


_CLUSTER = "eks:index:Cluster"


def core_of(plan: Plan, component: Resource) -> Properties:
    """The core data of the cluster that the argument ``cluster`` is or refers to."""
    given = unwrap(component.inputs.get("cluster"))
    if isinstance(given, ResourceRef):
        given = plan.resource(given.urn).outputs.get("core", UNKNOWN)
    if given is UNKNOWN:
        given = _depended_on(plan, component)
    if not isinstance(given, dict) or "cluster" not in given:
        raise PlanError(f"{component.urn}: what its `cluster` is cannot be known here")
    return {key: unwrap(value) for key, value in given.items()}


def _depended_on(plan: Plan, component: Resource) -> Any:
    """Core data that is unknown as a whole, as a preview has it, of the cluster it comes from."""
    for urn in component.property_dependencies.get("cluster", ()):
        found = plan.resource(urn)
        while found.type != _CLUSTER and found.parent:
            found = plan.resource(found.parent)
        if found.type == _CLUSTER:
            return found.outputs.get("core")
    return None


def cluster_of(plan: Plan, core: Properties) -> Resource:
    """The aws.eks.Cluster within core data.

    Raises:
        PlanError: If that is written by hand, and has something else in its place.
    """
    cluster = unwrap(core["cluster"])
    if isinstance(cluster, ResourceRef):
        return plan.resource(cluster.urn)
    raise PlanError(
        "what the `cluster` of core data is cannot be known here: give an eks.Cluster or its `core`"
    )


def names_cluster(core: Properties) -> bool:
    """Whether core data has the aws.eks.Cluster, as that of a component does."""
    return isinstance(unwrap(core["cluster"]), ResourceRef)


def waits_for(core: Properties) -> list[str]:
    """What node groups wait for: aws-auth, without which their nodes may not join."""
    config_map = core.get("eksNodeAccess")
    return [config_map.urn] if isinstance(config_map, ResourceRef) else []
