"""What eksctl's ClusterConfig says beside its GPU node groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.catalog.autoscaler_tags import AUTOSCALER_TAGS
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.migration.pools import sizes
from eks_gpushare.manifests.plain import items, mapping, text
from eks_gpushare.manifests.rules.eksctl import MANAGED, SELF_MANAGED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import NodeSet
    from eks_gpushare.inventory.source import Source
    from eks_gpushare.lint.migration.moved import Moved

_ADMIN: Final = "AmazonEKSClusterAdminPolicy"
_READ: Final = frozenset(
    (
        *("apiVersion", "kind", "metadata", "availabilityZones", "vpc", "accessConfig"),
        *(MANAGED, SELF_MANAGED),
    )
)
_SO_ANYWAY: Final[Mapping[str, Any]] = {
    "privateNetworking": True,
    "disableIMDSv1": True,
    "volumeEncrypted": True,
    "volumeType": "gp3",
    "propagateASGTags": True,
}
"""What the stack does of itself."""
_OF_GROUP: Final = frozenset(
    (
        *("name", "instanceType", "instanceTypes", "instancesDistribution", "minSize", "maxSize"),
        *("desiredCapacity", "labels", "taints", "tags", "volumeSize", "spot", "efaEnabled"),
        *("amiFamily", "ami"),
    )
)
_OF_SYSTEM: Final = frozenset(
    ("name", "instanceType", "instanceTypes", "minSize", "maxSize", "desiredCapacity")
)
"""What is taken over of a group without GPUs."""
_WHY: Final[Mapping[str, str]] = {
    "addons": "The stack installs the add-ons that it needs; see cluster.addons.",
    "iam": "The stack makes roles and Pod Identity associations of its own.",
    "karpenter": "The stack installs Karpenter itself where a pool has provisioner: karpenter.",
    "autoModeConfig": "The stack makes a cluster without EKS Auto Mode, which shares no GPUs.",
    "iamIdentityMappings": "Access is by access entries: list the roles in cluster.admins.",
    "cloudWatch": "See cluster.logRetentionDays.",
    "secretsEncryption": "Name the key in cluster.secretsKeyArn.",
    "privateCluster": "Nodes reach AWS through NAT gateways; network: {existing: ...} takes a VPC.",
    "ssh": "Nodes are reached by Session Manager.",
    "preBootstrapCommands": "Put it into the pool's userData if nodes still need it.",
    "overrideBootstrapCommand": "AL2023 nodes join by nodeadm; see userData and kubelet.",
    "kubeletExtraConfig": "Put it into the pool's kubelet.",
    "maxPodsPerNode": "Put it into the pool's kubelet, as maxPods.",
    "capacityReservation": "Name it in the pool: reservation: {id: ...}.",
    "availabilityZones": "Name them in the pool's zones.",
    "subnets": "Name them in the pool's subnetIds.",
    "labels": "The stack's group of nodes without GPUs has none of its own.",
    "taints": "The stack's group of nodes without GPUs has none of its own.",
    "spot": "The stack's group of nodes without GPUs is bought on demand.",
    "launchTemplate": "The stack makes launch templates of its own.",
}


def cluster_of(value: Mapping[str, Any], source: Source, moved: Moved) -> None:
    """Take over a ClusterConfig's cluster and network."""
    moved.cluster = source
    moved.take(source, ("metadata", "name"), ("metadata", "region"))
    moved.bring(("cluster", "version"), source, ("metadata", "version"))
    name, version = at(value, "metadata", "name"), text(at(value, "metadata", "version"))
    region = at(value, "metadata", "region")
    cluster = moved.environment.setdefault("cluster", {})
    if isinstance(name, str):
        cluster["name"] = name
        moved.comment(("cluster",), source)
    if version and version is not UNKNOWN and version != "latest":
        cluster["version"] = version
    if isinstance(region, str):
        moved.region = region
    for key, tag in mapping(at(value, "metadata", "tags")).items():
        if isinstance(tag, str):
            moved.environment.setdefault("tags", {})[key] = tag
            moved.take(source, ("metadata", "tags", key))
    zones = [zone for zone in items(at(value, "availabilityZones")) if isinstance(zone, str)]
    network = moved.environment.setdefault("network", {})
    if zones:
        network["zones"] = zones
        moved.bring(("network",), source, ("availabilityZones",))
    _vpc(at(value, "vpc"), source, cluster, network, moved)
    _admins(value, cluster, source, moved)
    for key in value:
        if key not in _READ:
            why = _WHY.get(key, "A stack file has no counterpart for it.")
            moved.leave(source, (key,), key, why)


def _vpc(
    vpc: Any, source: Source, cluster: dict[str, Any], network: dict[str, Any], moved: Moved
) -> None:
    cidrs = items(at(vpc, "publicAccessCIDRs"))
    for key, given in mapping(vpc).items():
        path: FieldPath = ("vpc", key)
        if key == "cidr" and isinstance(given, str):
            network["cidr"] = given
            moved.bring(("network",), source, path)
        elif key == "publicAccessCIDRs":
            named = {index: item for index, item in enumerate(cidrs) if isinstance(item, str)}
            endpoint = cluster.setdefault("endpoint", {})
            if at(vpc, "clusterEndpoints", "publicAccess") is not False:
                endpoint |= {"public": True, "publicCidrs": list(named.values())}
                moved.bring(("cluster", "endpoint"), source, *((*path, each) for each in named))
        elif key == "nat" and at(given, "gateway") in {"Single", "HighlyAvailable"}:
            network["natGateways"] = "single" if at(given, "gateway") == "Single" else "perZone"
            moved.bring(("network",), source, (*path, "gateway"))
        elif key == "clusterEndpoints":
            is_narrowed = "publicAccessCIDRs" in vpc
            _endpoints(mapping(given), is_narrowed, source, cluster, moved)
        else:
            why = "The stack makes a network of its own; network: {existing: ...} takes one."
            moved.leave(source, path, f"vpc.{key}", why)


def _endpoints(
    given: Mapping[str, Any],
    named: bool,  # noqa: FBT001  (private)
    source: Source,
    cluster: dict[str, Any],
    moved: Moved,
) -> None:
    """Who reaches the API server; `named` is whether networks are."""
    for key, own in (("publicAccess", "public"), ("privateAccess", "private")):
        path = ("vpc", "clusterEndpoints", key)
        if given.get(key) is True and own == "public" and not named:
            why = "It is open to the world there. Name networks: cluster.endpoint.publicCidrs."
            moved.leave(source, path, f"vpc.clusterEndpoints.{key}", why)
        elif isinstance(given.get(key), bool):
            cluster.setdefault("endpoint", {})[own] = given[key]
            moved.bring(("cluster", "endpoint"), source, path)


def _admins(
    value: Mapping[str, Any], cluster: dict[str, Any], source: Source, moved: Moved
) -> None:
    for index, entry in enumerate(items(at(value, "accessConfig", "accessEntries"))):
        principal = at(entry, "principalARN")
        policies = items(at(entry, "accessPolicies"))
        admin = any(map(_is_cluster_admin, policies))
        place: FieldPath = ("accessConfig", "accessEntries", index)
        if isinstance(principal, str) and admin and len(policies) == 1:
            cluster.setdefault("admins", []).append(principal)
            taken = ((*place, "principalARN"), (*place, "accessPolicies"))
            moved.bring(("cluster", "admins"), source, *taken)
        else:
            why = "Only cluster-admin is taken over; give other access beside the stack."
            moved.leave(source, place, f"the access entry of {principal}", why)


def _is_cluster_admin(policy: Any) -> bool:
    scope = at(policy, "accessScope", "type")
    return str(at(policy, "policyARN")).endswith(_ADMIN) and scope in {None, "cluster"}


def groups_of(groups: Iterable[NodeSet], moved: Moved) -> None:
    """Say what of node groups was not taken over, and make one without GPUs the system's."""
    known = gpu_instance_types()
    for nodes in groups:
        given = mapping(at(nodes.source.document.value, *nodes.source.path))
        types = nodes.instance_types if isinstance(nodes.instance_types, tuple) else ()
        plain = bool(types) and not any(name in known for name in types)
        taken = _OF_GROUP
        if plain and "system" not in moved.environment:
            moved.environment["system"] = {"instanceTypes": list(types), "nodes": sizes(nodes)}
            moved.comment(("system",), nodes.source)
            paths = ((key,) for key in given if key in _OF_SYSTEM and key != "name")
            moved.bring(("system",), nodes.source, *paths)
            taken = _OF_SYSTEM
        elif plain:
            why = "The stack has one group of nodes without GPUs; make others beside it."
            moved.leave(nodes.source, (), nodes.source.name, why)
            continue
        for key, value in given.items():
            if key == "tags":
                _tags(nodes, mapping(value), moved)
            elif key in taken or _SO_ANYWAY.get(key) == value:
                moved.take(nodes.source, (key,))
            elif not moved.knows(nodes.source, key):
                why = _WHY.get(key, "A stack file has no counterpart for it.")
                moved.leave(nodes.source, (key,), f"{key} of {nodes.source.name}", why)


def _tags(nodes: NodeSet, tags: Mapping[str, Any], moved: Moved) -> None:
    for tag in tags:
        if not tag.startswith(AUTOSCALER_TAGS):
            why = "Pools have the tags of the environment: set them in tags."
            moved.leave(nodes.source, ("tags", tag), f"the tag {tag} of {nodes.source.name}", why)
    moved.take(nodes.source, ("tags",))
