"""The GPU pools of a program: what they advertise, what pods ask for, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from eks_gpushare.catalog import Catalog
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.base import normalised
from eks_gpushare.config.component_specs import GpuPoolSpec
from eks_gpushare.config.environment import CatalogAdditions
from eks_gpushare.program.values import to_json
from eks_gpushare.sharing.mig.layout import LayoutError
from eks_gpushare.sharing.plan import plan_pool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.program.recording import Recording, Resource
    from eks_gpushare.sharing.plan import PoolPlan

ENVIRONMENT_TYPE = "eks-gpushare:index:GpuSharingEnvironment"
POOL_TYPE = "eks-gpushare:index:GpuPool"
KARPENTER_POOL_TYPE = "eks-gpushare:index:KarpenterPool"
TENANTS_TYPE = "eks-gpushare:index:Tenants"
POOL_TYPES = (POOL_TYPE, KARPENTER_POOL_TYPE)

_PLANNED = frozenset(
    {
        "amiFamily",
        "bottlerocket",
        "capacityType",
        "catalog",
        "customAmi",
        "efa",
        "instanceTypes",
        "karpenter",
        "labels",
        "nodes",
        "pool",
        "provisioner",
        "reservation",
        "scaledBy",
        "sharing",
        "taints",
        "warm",
    }
)
"""Inputs of a pool that decide what it advertises and costs."""


def pools_of(recording: Recording, region: str | None) -> dict[str, Any]:
    """Every pool of a program as `preview --json` shows it, by name.

    Those of environments say it themselves. Of pools that a program makes by itself it is planned
    again from what they were given: their outputs hold what pods ask for, and no more.

    Args:
        recording: What the program registered.
        region: Region of the stack, for pools whose provider names none.
    """
    environments = recording.of_type(ENVIRONMENT_TYPE)
    found: dict[str, Any] = {}
    for environment in environments:
        pools = to_json(environment.outputs.get("pools", {}))
        several = len(environments) > 1
        found |= {f"{environment.name}/{k}" if several else k: v for k, v in pools.items()}
    for pool in _alone(recording):
        planned = planned_pool(pool, region_of_resource(recording, pool, region))
        if planned is not None:
            name = pool.name if planned.name in found else planned.name
            found[name] = planned.as_json()
    return found


def measured_of(recording: Recording) -> dict[str, Any]:
    """Of whom the numbers of shares are, by pool, as `preview --json` shows it."""
    found: dict[str, Any] = {}
    for component in recording.of_type("eks-gpushare:index:GpuMetrics"):
        found |= to_json(component.outputs.get("measured", {}))
    return found


def tenants_of(recording: Recording) -> dict[str, Any]:
    """Every tenant of a program as `preview --json` shows it, by name."""
    found: dict[str, Any] = {}
    for component in recording.of_type(TENANTS_TYPE):
        found |= to_json(component.outputs.get("tenants", {}))
    return found


def region_of_resource(recording: Recording, resource: Resource, region: str | None) -> str | None:
    """The region that the provider of a resource names, or that of the stack."""
    provider = recording.by_urn.get(resource.provider.rpartition("::")[0])
    named = to_json(provider.inputs).get("region") if provider else None
    return named if isinstance(named, str) and named else region


def catalog_of_pool(pool: Resource, region: str | None) -> Catalog:
    """The catalog with the entries that a pool was given on top."""
    given = normalised(to_json(pool.inputs)).get("catalog") or {}
    try:
        return catalog_of(CatalogAdditions.model_validate(given), region)[0]
    except ValidationError:  # an entry of it is not known yet
        return Catalog()


def _alone(recording: Recording) -> Iterator[Resource]:
    for pool in (resource for kind in POOL_TYPES for resource in recording.of_type(kind)):
        above = recording.by_urn.get(pool.parent)
        if above is None or above.type != ENVIRONMENT_TYPE:
            yield pool


def planned_pool(pool: Resource, region: str | None) -> PoolPlan | None:
    """The plan of a pool from what it was given; None where something is not known yet."""
    given = {k: v for k, v in normalised(to_json(pool.inputs)).items() if k in _PLANNED}
    try:
        spec = GpuPoolSpec.model_validate(given)
        return plan_pool(spec.pool, spec, catalog_of_pool(pool, region), region)
    except (ValidationError, LayoutError, KeyError):  # what is not known yet plans nothing
        return None
