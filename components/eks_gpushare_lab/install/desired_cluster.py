"""The cluster that a stack declares: what its program registers that Kubernetes would have.

It is read from the recorded registrations, not from the plan: node groups as they would reach AWS,
Kubernetes objects as they would reach the API server. Only what was declared of the pools, to
compare with, comes from the environment's outputs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.values import COMPUTED_TEXT, plain
from eks_gpushare.sharing.tenants import TENANT_LABEL
from eks_gpushare_lab.install import node_monitoring
from eks_gpushare_lab.install.release import DeclaredRelease, chart_at
from eks_gpushare_lab.install.unknown_values import known_of, unknown_in
from eks_gpushare_lab.observing.declared_pools import DeclaredPool, declared_pools
from eks_gpushare_lab.simulated_node import efa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.program.recording import Recording, Resource
    from eks_gpushare_lab.client import Object

PRICE = "lab.eks-gpushare/usd-per-hour"
"""Annotation of a tenant's namespace: what the tenant is sure of costs on demand."""

_ENVIRONMENT = "eks-gpushare:index:GpuSharingEnvironment"
_POOL = "eks-gpushare:index:GpuPool"
_SYSTEM = "eks-gpushare:index:SystemNodes"
_NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
_ADDON = "aws:eks/addon:Addon"
_RELEASES = ("kubernetes:helm.sh/v3:Release", "kubernetes:helm.sh/v4:Chart")
_NOT_OBJECTS = ("kubernetes:helm.sh/", "kubernetes:yaml", "kubernetes:kustomize")
_EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}
_CAPACITY = {"SPOT": "SPOT", "CAPACITY_BLOCK": "CAPACITY_BLOCK"}
_NO_NAMES = ("", "None", COMPUTED_TEXT)
_READ = ("kubernetes:", _NODE_GROUP, "aws:ec2/launchTemplate:LaunchTemplate")
_DISK_GIB = 200
_NO_REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class NodePool:
    """Nodes of one kind, as they would join the cluster."""

    name: str
    """Name of the pool, or of a node group that is none."""
    instance_types: tuple[str, ...]
    """Instance types, which the nodes take in turn."""
    nodes: int
    """How many."""
    labels: Mapping[str, str]
    """Labels, without those that EKS sets."""
    taints: tuple[Mapping[str, str], ...]
    """Taints as Kubernetes has them."""
    group: str = ""
    """Name of the managed node group; `""` for nodes that somebody else made."""
    cluster: str = ""
    """Name of the cluster of a managed node group."""
    scaling_group: str = ""
    """Name of its Auto Scaling group; `""` if the stack was not told."""
    minimum: int = 0
    """Fewest nodes that an autoscaler leaves."""
    maximum: int = 0
    """Most nodes that an autoscaler makes of them."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tags of the managed node group."""
    capacity_type: str = "ON_DEMAND"
    """ON_DEMAND, SPOT or CAPACITY_BLOCK."""
    zones: tuple[str, ...] = ()
    """Zones, which the nodes take in turn."""
    region: str = _NO_REGION
    """AWS region."""
    version: str = ""
    """Kubernetes version, such as 1.35.8 or 1.35."""
    disk_gib: int = _DISK_GIB
    """Root volume."""
    ami_type: str = ""
    """AMI type of the node group, such as AL2023_x86_64_NVIDIA; `""` if somebody else chose it."""
    release: str = ""
    """Release of the AMI; `""` for the newest."""
    user_data: str = ""
    """User data of the launch template, base64."""
    efa_interfaces: int = 0
    """EFA interfaces of the launch template; of nodes that somebody else made, as declared."""
    declared: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By instance type, what a node of a GPU pool is to advertise."""

    @property
    def is_gpu_pool(self) -> bool:
        """Whether it is a pool that the stack declares to have GPUs."""
        return bool(self.declared)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> NodePool:
        """The reverse of `dataclasses.asdict`, after a way through JSON."""
        lists = {name: tuple(given[name]) for name in ("instance_types", "taints", "zones")}
        return cls(**{**given, **lists})


@dataclass(frozen=True, slots=True)
class DesiredCluster:
    """What of a stack a cluster would have."""

    objects: tuple[Object, ...]
    """Objects in the order of registration."""
    releases: tuple[DeclaredRelease, ...]
    """Helm releases."""
    pools: tuple[NodePool, ...]
    """Nodes."""
    unknown: tuple[str, ...] = ()
    """Values of them that only an update would tell, each with what it stands for."""
    gpu_pools: Mapping[str, DeclaredPool] = field(default_factory=dict)
    """GPU pools by name, those among them of which no node is there yet."""


def desired_cluster(recording: Recording, program: Path | None = None) -> DesiredCluster:
    """The cluster that a recorded program declares.

    Args:
        recording: of a run without unknown values.
        program: directory of the program, which paths of charts start from. Default: where this
            runs.
    """
    objects: list[Object] = []
    releases: list[DeclaredRelease] = []
    unknown: list[str] = []
    for resource in recording.resources:
        if not resource.existing and resource.type.startswith(_READ):
            unknown += unknown_in(resource)
    for addon in recording.of_type(_ADDON):
        given = plain(addon.inputs)
        if given.get("addonName") == node_monitoring.ADDON:
            objects += node_monitoring.daemon_sets(given)
    for resource in recording.resources:
        if resource.existing or not resource.type.startswith("kubernetes:"):
            continue
        if resource.type in _RELEASES:
            releases.append(_release(resource, program or Path()))
        elif resource.custom and not resource.type.startswith(_NOT_OBJECTS):
            objects.append(_object(resource))
    _price(objects, recording)
    pools = tuple(_pools(recording))
    declared = declared_pools(recording)
    return DesiredCluster(tuple(objects), tuple(releases), pools, tuple(unknown), declared)


def _price(objects: Iterable[Object], recording: Recording) -> None:
    """Note at the namespaces of tenants what they are sure of costs, where that is known."""
    outputs = [plain(each.outputs) for each in recording.of_type(_ENVIRONMENT)]
    tenants = {name: of for each in outputs for name, of in (each.get("tenants") or {}).items()}
    for obj in objects:
        metadata = obj["metadata"]
        tenant = tenants.get((metadata.get("labels") or {}).get(TENANT_LABEL), {})
        if obj["kind"] == "Namespace" and tenant.get("usdPerHour") is not None:
            note = {PRICE: str(tenant["usdPerHour"])}
            metadata["annotations"] = {**(metadata.get("annotations") or {}), **note}


def _object(resource: Resource) -> Object:
    given: Object = known_of(resource)
    metadata = {**given.get("metadata", {})}
    if not metadata.get("name") and not metadata.get("generateName"):
        # What the provider would call it, as the fake of the provider did.
        made_up = str(resource.id).rpartition("/")[2]
        metadata["name"] = resource.name.lower() if made_up in _NO_NAMES else made_up
    return {**given, "metadata": metadata}


def _release(resource: Resource, program: Path) -> DeclaredRelease:
    given = known_of(resource)
    address = str(given.get("chart", ""))
    chart, version = _packed(address) or (address.rstrip("/").rpartition("/")[2], "")
    on_disk = chart_at(program / Path(address).expanduser()) if address else None
    chart, version = on_disk or (chart, version or str(given.get("version") or ""))
    return DeclaredRelease(
        name=str(given.get("name") or resource.name),
        namespace=str(given.get("namespace") or "default"),
        chart=chart,
        version=version,
        values=given.get("values") or {},
    )


def _packed(address: str) -> tuple[str, str] | None:
    """Name and version of a packed chart, which has both in the file's name."""
    found = re.fullmatch(r"(?:.*/)?(.+?)-(v?[0-9]+\.[0-9]+\..*)\.tgz", address)
    return (found[1], found[2]) if found else None


def _pools(recording: Recording) -> Iterator[NodePool]:
    environments = recording.of_type(_ENVIRONMENT)
    several = len(environments) > 1
    subnets = {
        str(subnet.id): str(plain(subnet.inputs).get("availabilityZone", ""))
        for subnet in recording.of_type("aws:ec2/subnet:Subnet")
    }
    templates = {
        str(template.id): known_of(template)
        for template in recording.of_type("aws:ec2/launchTemplate:LaunchTemplate")
    }
    for group in recording.of_type(_NODE_GROUP):
        given = known_of(group)
        environment = _above(recording, group, _ENVIRONMENT)
        pool = _above(recording, group, _POOL)
        name = _name(recording, group, pool)
        declared = _declared(environment, name) if pool else {}
        template = templates.get(str((given.get("launchTemplate") or {}).get("id")), {})
        region = _region(environment)
        yield NodePool(
            name=f"{environment.name}/{name}" if several and environment else name,
            instance_types=tuple(given.get("instanceTypes") or declared.get("instanceTypes", ())),
            nodes=_size(given, "desiredSize"),
            labels=given.get("labels") or {},
            taints=tuple(_taint(taint) for taint in given.get("taints") or ()),
            group=str(group.id).rpartition(":")[2],
            cluster=str(group.id).rpartition(":")[0],
            scaling_group=_scaling_group(group),
            minimum=_size(given, "minSize"),
            maximum=_size(given, "maxSize"),
            tags=given.get("tags") or {},
            capacity_type=_CAPACITY.get(given.get("capacityType", ""), "ON_DEMAND"),
            zones=tuple(sorted(filter(None, {subnets.get(s) for s in given.get("subnetIds", ())}))),
            region=region,
            version=_version(given),
            disk_gib=_disk(template),
            ami_type=_ami_type(given, template),
            release=str(given.get("releaseVersion") or ""),
            user_data=str(template.get("userData") or ""),
            efa_interfaces=_efa_interfaces(template),
            declared=declared.get("perNode", {}),
        )
    for environment in environments:
        yield from _existing(environment, several=several)


def _size(group: Mapping[str, Any], of: str) -> int:
    """Nodes of a group: desiredSize, minSize or maxSize; one where their number is not known."""
    try:
        return int((group.get("scalingConfig") or {}).get(of, 1))
    except (TypeError, ValueError):
        return 1


def _scaling_group(group: Resource) -> str:
    """Name of its Auto Scaling group, as EKS answers with it."""
    made = plain(group.outputs).get("resources")
    for manifest in made if isinstance(made, list) else ():
        for scaling in manifest.get("autoscalingGroups") or ():
            return str(scaling["name"])
    return ""


def _name(recording: Recording, group: Resource, pool: Resource | None) -> str:
    if pool is not None:
        return str(plain(pool.inputs).get("pool", group.name))
    return "system" if _above(recording, group, _SYSTEM) else group.name


def _existing(environment: Resource, *, several: bool) -> Iterator[NodePool]:
    """Pools whose nodes somebody else makes, as they have to be."""
    given = plain(environment.inputs).get("pools", {})
    for name, declared in plain(environment.outputs).get("pools", {}).items():
        if declared["provisioner"] != "existing":
            continue
        pool = given.get(name, {})
        yield NodePool(
            name=f"{environment.name}/{name}" if several else name,
            instance_types=tuple(declared["instanceTypes"]),
            nodes=int(declared["nodes"]["desired"]),
            labels=declared.get("nodeLabels", {}),
            taints=tuple(pool.get("taints", ())),
            zones=tuple(pool.get("zones") or ()),
            region=_region(environment),
            disk_gib=int(pool.get("rootVolumeGiB", _DISK_GIB)),
            declared=declared["perNode"],
        )


def _declared(environment: Resource | None, pool: str) -> dict[str, Any]:
    if environment is None:
        return {}
    found: dict[str, Any] = plain(environment.outputs).get("pools", {}).get(pool, {})
    return found


def _region(environment: Resource | None) -> str:
    given = plain(environment.inputs).get("region") if environment else None
    return str(given or _NO_REGION)


def _taint(given: Mapping[str, str]) -> dict[str, str]:
    effect = given["effect"]
    taint = {"key": given["key"], "effect": _EFFECTS.get(effect, effect)}
    return {**taint, "value": given["value"]} if given.get("value") else taint


def _disk(template: Mapping[str, Any]) -> int:
    """Size of the largest volume of a launch template: that is where pods' files are."""
    mappings = template.get("blockDeviceMappings") or ()
    sizes = [int((mapping.get("ebs") or {}).get("volumeSize", 0)) for mapping in mappings]
    return max(sizes, default=_DISK_GIB)


def _efa_interfaces(template: Mapping[str, Any]) -> int:
    interfaces = template.get("networkInterfaces") or ()
    return sum(interface.get("interfaceType") in efa.KINDS for interface in interfaces)


def _version(group: Mapping[str, Any]) -> str:
    """Kubernetes version; releases of Bottlerocket are counted otherwise."""
    bottlerocket = str(group.get("amiType") or "").startswith("BOTTLEROCKET")
    release = "" if bottlerocket else group.get("releaseVersion")
    return str(release or group.get("version") or "")


def _ami_type(group: Mapping[str, Any], template: Mapping[str, Any]) -> str:
    """What EKS would say: an image in the launch template makes it CUSTOM."""
    return "CUSTOM" if template.get("imageId") else str(group.get("amiType") or "")


def _above(recording: Recording, resource: Resource, kind: str) -> Resource | None:
    """The nearest ancestor of a type."""
    above = recording.by_urn.get(resource.parent)
    while above is not None and above.type != kind:
        above = recording.by_urn.get(above.parent)
    return above
