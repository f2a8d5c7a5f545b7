"""From nodes to pools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.migration.declared_groups import of_declared_group
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.plain import items, mapping, whole
from eks_gpushare.sharing.labels import DERIVED_LABELS, OWNED_PREFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import NodeSet, NodeTaint
    from eks_gpushare.lint.migration.moved import Moved
    from eks_gpushare.lint.migration.shares import Shares

_DEFAULT_TAINT: Final = ("nvidia.com/gpu", "true", "NoSchedule")
_FAMILIES: Final = {"bottlerocket": "bottlerocket", "al2023": "al2023", "amazonlinux2023": "al2023"}
_GPU: Final = "nvidia.com/gpu"
_LIMITS: Final = {"cpu": "vcpus", _GPU: "gpu_count"}
"""Resources whose limits tell how many nodes there may be, and what a type has of each."""
_ZONE: Final = "topology.kubernetes.io/zone"
_CHOICES: Final = ("node.kubernetes.io/instance-type", "karpenter.sh/capacity-type")
"""Requirements that become the types and the way to buy."""
_OF_NODE_POOL: Final = {
    ("spec", "weight"): "weight",
    ("spec", "disruption", "consolidationPolicy"): "consolidationPolicy",
    ("spec", "disruption", "consolidateAfter"): "consolidateAfter",
    ("spec", "disruption", "budgets"): "budgets",
    ("spec", "template", "spec", "expireAfter"): "expireAfter",
    ("spec", "template", "spec", "terminationGracePeriod"): "terminationGracePeriod",
    ("spec", "template", "spec", "startupTaints"): "startupTaints",
}
"""Fields of a NodePool that a pool has too, as they are."""


def pool_of(nodes: NodeSet, shares: Shares, moved: Moved) -> None:
    """Add the pool that nodes are, if they have GPUs."""
    types = nodes.instance_types
    if types is UNKNOWN:
        why = "Its instance types are not known from the files. Name them in a pool."
        moved.leave(nodes.source, (), nodes.source.name, why)
        return
    known = gpu_instance_types()
    gpus = [name for name in types if name in known]
    if not gpus:
        return
    document = nodes.source.document
    given = at(document.value, *nodes.source.path) if isinstance(document, Document) else None
    for name in types:
        if name not in known:
            why = "It has no NVIDIA GPU, and a pool is of types that have."
            moved.leave(nodes.source, _place_of_type(given, name), f"the type {name}", why)
    made: dict[str, Any] = {}
    if nodes.provisioner in {"karpenter", "autoMode"}:
        made["provisioner"] = "karpenter"
    made["instanceTypes"] = gpus
    made["nodes"] = _karpenter_nodes(nodes, gpus) if "provisioner" in made else sizes(nodes)
    _from_document(nodes, made, moved)
    of_declared_group(nodes, made, moved)
    _image(nodes, made, moved)
    if labels := _labels(nodes, moved):
        made["labels"] = labels
    _taints(nodes, made, moved)
    made["sharing"] = shares.of(nodes)
    if nodes.provisioner == "autoMode":
        why = (
            "EKS Auto Mode shares no GPUs; the pool is one of a Karpenter that the stack installs."
        )
        moved.leave(nodes.source, (), nodes.source.name, why)
    if nodes.promised:
        why = "The stack tells autoscalers what the pool's sharing makes."
        moved.leave(nodes.source, ("tags",), "tags that promise resources", why)
    name = free_name(nodes.name, moved)
    moved.pools[name] = made
    moved.sources[name] = nodes.source
    if "zones" in made:
        moved.bring(("pools", name, "zones"), nodes.source, *_places_of_zones(given))
    moved.comment(("pools", name), nodes.source)


def _places_of_zones(given: Any) -> list[FieldPath]:
    template = ("spec", "template", "spec", "requirements")
    found: list[FieldPath] = [
        (*template, index, part)
        for index, each in enumerate(items(at(given, *template)))
        if at(each, "key") == _ZONE and at(each, "operator") == "In"
        for part in ("operator", "values")
    ]
    return [*found, *([("availabilityZones",)] if at(given, "availabilityZones") else [])]


def _place_of_type(given: Any, name: str) -> FieldPath:
    """Where a type is named; () where that is not seen."""
    template = ("spec", "template", "spec", "requirements")
    lists: list[FieldPath] = [("instanceTypes",), ("instancesDistribution", "instanceTypes")]
    lists += [(*template, index, "values") for index, _ in enumerate(items(at(given, *template)))]
    for place in lists:
        listed = items(at(given, *place))
        if name in listed:
            return (*place, listed.index(name))
    return ("instanceType",) if at(given, "instanceType") == name else ()


def free_name(given: Any, moved: Moved) -> str:
    """A name for a pool, as stack files have them, that no other has."""
    plain = re.sub(r"[^a-z0-9]+", "-", str(given).lower()).strip("-") if given != UNKNOWN else ""
    name = base = (
        plain[:40].strip("-") if "a" <= plain[:1] <= "z" else f"gpu-{plain[:36]}".strip("-")
    )
    number = 2
    while name in moved.pools:
        name = f"{base}-{number}"
        number += 1
    return name


def sizes(nodes: NodeSet) -> dict[str, int]:
    """Least, desired and most nodes of a group."""
    least = nodes.least if isinstance(nodes.least, int) else 0
    most = nodes.most if isinstance(nodes.most, int) else max(least, 1)
    document = nodes.source.document
    given = at(document.value, *nodes.source.path) if isinstance(document, Document) else None
    wanted = whole(at(given, "desiredCapacity"))
    desired = wanted if isinstance(wanted, int) else least
    return {"min": least, "desired": min(max(desired, least), most), "max": max(most, 1)}


def _karpenter_nodes(nodes: NodeSet, gpus: Iterable[str]) -> dict[str, int]:
    """As many nodes as the limits allow of the largest type; of no limit, one to begin with."""
    if isinstance(nodes.most, int):
        return {"max": max(nodes.most, 1)}
    known = gpu_instance_types()
    limits = mapping(nodes.limits)
    allowed = []
    for resource, fact in _LIMITS.items():
        limit = whole(limits.get(resource))
        largest = max(getattr(known[name], fact) for name in gpus)
        if isinstance(limit, int) and largest:
            allowed.append(limit // largest)
    return {"max": max(1, min(allowed, default=1))}


def _from_document(nodes: NodeSet, made: dict[str, Any], moved: Moved) -> None:
    """What only the nodes' own document says: the disk, and how instances are bought."""
    document = nodes.source.document
    if not isinstance(document, Document):
        return
    given = at(document.value, *nodes.source.path)
    disk = whole(at(given, "volumeSize"))
    if isinstance(disk, int):
        made["rootVolumeGiB"] = disk
    if nodes.bought_as == ("spot",) or at(given, "spot") is True:
        made["capacityType"] = "spot"
    if at(given, "efaEnabled") is True:
        made["efa"] = True
    _of_eksctl(nodes, given, made, moved)
    _of_karpenter(nodes, given, made, moved)
    requirements = at(given, "spec", "template", "spec", "requirements")
    for index, item in enumerate(items(requirements or at(given, "spec", "requirements"))):
        if at(item, "key") == "karpenter.sh/capacity-type" and at(item, "operator") == "In":
            ways = [str(way) for way in items(at(item, "values"))]
            names = {"on-demand": "onDemand", "spot": "spot", "reserved": "reserved"}
            kept = [names[way] for way in ways if way in names and way != "reserved"]
            if kept == ["spot"]:
                made["capacityType"] = "spot"
            elif len(kept) > 1:
                made["karpenter"] = {**made.get("karpenter", {}), "capacityTypes": kept}
            if "reserved" in ways:
                why = "Name the reservation: reservation: {id: ...}."
                place = ("spec", "template", "spec", "requirements", index, "values")
                at_index = (*place, ways.index("reserved"))
                moved.leave(nodes.source, at_index, "capacity type reserved", why)


def _of_eksctl(nodes: NodeSet, given: Any, made: dict[str, Any], moved: Moved) -> None:
    """What only a node group of eksctl says."""
    distribution = mapping(at(given, "instancesDistribution"))
    if distribution:
        moved.take(nodes.source, ("instancesDistribution", "instanceTypes"))
        above = distribution.get("onDemandPercentageAboveBaseCapacity")
        if above == 0 and not distribution.get("onDemandBaseCapacity"):
            made["capacityType"] = "spot"
            keys = ("onDemandPercentageAboveBaseCapacity", "onDemandBaseCapacity")
            moved.take(nodes.source, *(("instancesDistribution", key) for key in keys))
        for key in distribution.keys() - {"instanceTypes"}:
            path = ("instancesDistribution", key)
            if above != 0 or not key.startswith("onDemand"):
                why = "A pool is bought in one way: capacityType."
                moved.leave(nodes.source, path, f"{key} of {nodes.source.name}", why)
    if isinstance(pods := whole(at(given, "maxPodsPerNode")), int):
        made["kubelet"] = {"maxPods": pods}
        moved.take(nodes.source, ("maxPodsPerNode",))
    zones = [item for item in items(at(given, "availabilityZones")) if isinstance(item, str)]
    if zones:
        made["zones"] = zones
    target = ("capacityReservation", "capacityReservationTarget", "capacityReservationID")
    if isinstance(reservation := at(given, *target), str):
        block = at(given, "instanceMarketOptions", "marketType") == "capacity-block"
        made["capacityType"] = "capacityBlock" if block else "reserved"
        made["reservation"] = {"id": reservation}
        moved.take(nodes.source, target, *([("instanceMarketOptions", "marketType")] * block))


def _of_karpenter(nodes: NodeSet, given: Any, made: dict[str, Any], moved: Moved) -> None:
    """What only a NodePool says."""
    if not str(at(given, "apiVersion")).startswith("karpenter.sh/"):
        return
    own: dict[str, Any] = {}
    for place, key in _OF_NODE_POOL.items():
        if isinstance(value := at(given, *place), str | int | list) and value != []:
            own[key] = value
            moved.take(nodes.source, place)
    if own:
        made["karpenter"] = {**own, **made.get("karpenter", {})}
    template = ("spec", "template", "spec")
    taken: tuple[FieldPath, ...] = (
        (*template, "nodeClassRef"),  # a name, as are those of objects; a class is listed by itself
        (*template, "taints"),
        ("spec", "template", "metadata", "labels"),
    )
    moved.take(nodes.source, *taken)
    _limits(nodes, mapping(at(given, "spec", "limits")), moved)
    _requirements(nodes, items(at(given, *template, "requirements")), made, moved)


def _limits(nodes: NodeSet, limits: Mapping[str, Any], moved: Moved) -> None:
    """Which limits the number of nodes is of; a static pool has that number itself."""
    if isinstance(nodes.most, int):
        moved.take(nodes.source, ("spec", "replicas"))
    for resource in limits:
        if resource in _LIMITS and not isinstance(nodes.most, int):
            moved.take(nodes.source, ("spec", "limits", resource))
        else:
            why = "A pool is limited by its number of nodes."
            place = ("spec", "limits", resource)
            moved.leave(nodes.source, place, f"the limit of {resource}", why)


def _requirements(
    nodes: NodeSet, requirements: Sequence[Any], made: dict[str, Any], moved: Moved
) -> None:
    """The zones among them, and those that have no counterpart."""
    template = ("spec", "template", "spec")
    for index, requirement in enumerate(requirements):
        path: FieldPath = (*template, "requirements", index)
        key, values = at(requirement, "key"), items(at(requirement, "values"))
        if key not in (*_CHOICES, _ZONE) or at(requirement, "operator") != "In":
            what = f"the requirement {key}"
            moved.leave(
                nodes.source, path, what, "The pool's instance types are listed one by one."
            )
            continue
        if key == _ZONE:
            made["zones"] = values
        moved.take(nodes.source, *((*path, each) for each in ("key", "operator", "values")))


def _image(nodes: NodeSet, made: dict[str, Any], moved: Moved) -> None:
    ami = nodes.ami
    if ami is UNKNOWN or not ami:
        return
    word = str(ami).partition("@")[0].lower().replace("_", "").replace("-", "")
    family = next((name for key, name in _FAMILIES.items() if word.startswith(key)), None)
    if family == "bottlerocket":
        made["amiFamily"] = family
    elif family is None:
        why = "The pool starts from EKS's own AL2023 image, unless you name customAmi."
        document = nodes.source.document
        given = at(document.value, *nodes.source.path) if isinstance(document, Document) else None
        places: list[FieldPath] = [
            (key,) for key in ("ami", "amiFamily") if at(given, key) is not None
        ]
        for place in places or [()]:
            moved.leave(nodes.source, place, f"the image {ami}", why)


def _labels(nodes: NodeSet, moved: Moved) -> dict[str, str]:
    kept = {}
    own = nodes.provisioner in {"karpenter", "autoMode"}
    place = ("spec", "template", "metadata", "labels") if own else ("labels",)
    for key, value in mapping(nodes.labels).items():
        if key in DERIVED_LABELS or key.startswith((*OWNED_PREFIXES, "nvidia.com/")):
            why = "The stack sets such labels as the pool's sharing needs them."
            moved.leave(nodes.source, (*place, key), f"the label {key}", why)
        elif not isinstance(value, str):
            why = "Its value is not known."
            moved.leave(nodes.source, (*place, key), f"the label {key}", why)
        else:
            kept[key] = value
    return kept


def _taints(nodes: NodeSet, made: dict[str, Any], moved: Moved) -> None:
    taints: tuple[NodeTaint, ...] = nodes.taints if isinstance(nodes.taints, tuple) else ()
    if nodes.taints is UNKNOWN:
        why = "They are not known; the pool gets the default, nvidia.com/gpu=true:NoSchedule."
        moved.leave(nodes.source, (), "taints", why)
        return
    if [tuple(taint) for taint in taints] == [_DEFAULT_TAINT]:
        return
    made["taints"] = [
        {key: value for key, value in taint._asdict().items() if value} for taint in taints
    ]
