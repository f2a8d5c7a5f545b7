"""What an environment's author has to look up for it, because no component asks the cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.base import known_fields
from eks_gpushare.config.cluster import ClusterByName, NewCluster
from eks_gpushare.config.network import NewNetwork
from eks_gpushare.rules import offerings
from eks_gpushare.rules.placement import ZONE_OUTSIDE
from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.config.component_specs import EnvironmentSpec
    from eks_gpushare.findings.finding import FieldPath, Finding


def missing_lookups(spec: EnvironmentSpec) -> Iterator[Finding]:
    """What should have been looked up for this environment and was not."""
    cluster, network = spec.cluster, spec.network
    if isinstance(cluster, NewCluster):
        if isinstance(network, NewNetwork) and isinstance(network.zones, int):
            yield from _counted(spec, network, network.zones)
        if isinstance(network, NewNetwork):
            yield from _by_zone_ids(spec, network)
    elif isinstance(cluster.existing, ClusterByName) and spec.cluster_facts is None:
        message = f"What AWS says of {cluster.existing.name} is not given."
        fix = "Give cluster_facts, from aws.eks.get_cluster()."
        yield shape_rules.MISSING_KEY.finding(("cluster_facts",), message, fix)


def zone_names(spec: EnvironmentSpec, network: NewNetwork) -> list[str]:
    """The zones of a new network by name: those given, or the first ones that were looked up."""
    if isinstance(network.zones, int):
        return sorted(spec.availability_zones)[: network.zones]
    return list(network.zones)


def _counted(spec: EnvironmentSpec, network: NewNetwork, wanted: int) -> Iterator[Finding]:
    known = zone_names(spec, network)
    if len(known) < wanted:
        message = f"{wanted} zones are asked for and {len(known)} are known."
        fix = "Name them, or give availability_zones from aws.get_availability_zones()."
        yield shape_rules.MISSING_KEY.finding(("network", "zones"), message, fix)
        return
    pinned: dict[FieldPath, Sequence[str] | None] = {
        ("pools", name, "zones"): pool.zones for name, pool in spec.pools.items()
    }
    pinned["system", "zones"] = spec.system.zones if spec.system else None
    for at, zones in pinned.items():
        if outside := [zone for zone in zones or () if zone not in known]:
            message = f"{', '.join(outside)} is not among the network's zones: {', '.join(known)}."
            fix = "Name the network's zones, so that these are among them."
            yield ZONE_OUTSIDE.finding(at, message, fix)


def _by_zone_ids(spec: EnvironmentSpec, network: NewNetwork) -> Iterator[Finding]:
    """What is wrong about zones, where their IDs are known."""
    known = known_fields(spec)
    ids, region = known.get("zone_ids"), known.get("region")
    if not ids:
        return
    zones = zone_names(spec, network)
    if not isinstance(network.zones, int):
        yield from offerings.zones_without_eks(zones, ids)
    if region is not None:
        catalog, _ = catalog_of(spec.catalog, region)
        pools = {
            name: (pool, zones if pool.zones is None else pool.zones)
            for name, pool in spec.pools.items()
            if pool.provisioner != "existing"
        }
        yield from offerings.types_not_in_zones(catalog, region, pools, ids)
