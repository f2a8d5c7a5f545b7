"""Node groups of EKS and of Auto Scaling as items of an inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.capacity import bought_as
from eks_gpushare.inventory.items import NodeSet, NodeTaint
from eks_gpushare.inventory.scaling_groups import makes_nodes, promised
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.user_data import decoded
from eks_gpushare.inventory.values import at
from gpushare_policies.reading.held_resources import nodes_elsewhere
from gpushare_policies.reading.node_groups import (
    LAUNCH_KEYS,
    key_of,
    start_of,
    starts_of,
    tags_of_groups,
)
from gpushare_policies.reading.plain import at_top, count, items, mappings, text
from gpushare_policies.tokens import (
    LAUNCH_TEMPLATE,
    MANAGED_NODE_GROUP,
    NODE_GROUP,
    SCALING_GROUP,
    SCALING_GROUPS,
)
from gpushare_policies.words import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pulumi_policy import PolicyResource

NODE_TOKENS = (NODE_GROUP, MANAGED_NODE_GROUP, *SCALING_GROUPS, SCALING_GROUP)
"""Resources that are node groups."""

_EFFECTS = {
    "noschedule": "NoSchedule",
    "noexecute": "NoExecute",
    "prefernoschedule": "PreferNoSchedule",
}


def nodes_of(resources: Sequence[PolicyResource], clusters: Mapping[str, str]) -> Iterator[NodeSet]:
    """The node groups of a program; a component of `pulumi_eks` only if its own is not there."""
    above = {
        resource.parent.urn
        for resource in resources
        if resource.resource_type == NODE_GROUP and resource.parent is not None
    }
    elsewhere = [made for resource in resources for made in nodes_elsewhere(resource)]
    starts, tags = starts_of(resources), tags_of_groups(resources)
    for resource in (*resources, *elsewhere):
        if resource.resource_type not in NODE_TOKENS or not list(resource.props):
            continue
        if resource.resource_type == MANAGED_NODE_GROUP and resource.urn in above:
            continue
        cluster = clusters.get(resource.urn, clusters.get("", ""))
        if resource.resource_type == SCALING_GROUP:
            found = _group(resource, cluster, starts, tags.get(resource.urn, ()))
            yield from () if found is None else (found,)
        elif resource.resource_type in SCALING_GROUPS:
            yield _scaling(resource, cluster)
        else:
            yield _managed(resource, cluster, starts, tags.get(resource.urn, ()))


def _source(resource: PolicyResource) -> Source:
    return Source(f"the node group {name_of(resource.urn)}", resource)


def _managed(
    resource: PolicyResource,
    cluster: str,
    starts: Sequence[PolicyResource],
    tags: Sequence[tuple[Any, Any]],
) -> NodeSet:
    props, template = resource.props, _template(resource, starts)
    told = _promised(at_top(props, "tags"))
    scaling = at_top(props, "scalingConfig")
    ami = text(at_top(props, "amiType"))
    if ami in ("", "CUSTOM"):
        image = UNKNOWN if template is UNKNOWN else text(at(template, "imageId"))
        ami = image if image is UNKNOWN else image or ami
    return NodeSet(
        source=_source(resource),
        name=text(at_top(props, "nodeGroupName"), name_of(resource.urn)),
        provisioner="managed",
        instance_types=_types(at_top(props, "instanceTypes"), template),
        labels=_mapping(at_top(props, "labels")),
        taints=_taints(at_top(props, "taints")),
        promised=told if told is UNKNOWN else {**told, **promised(tags)},
        ami=ami,
        kubernetes=text(at_top(props, "version")),
        user_data=_user_data(template),
        bought_as=bought_as(at_top(props, "capacityType")),
        least=count(at(scaling, "minSize")),
        most=count(at(scaling, "maxSize")),
        cluster=cluster,
    )


def _scaling(resource: PolicyResource, cluster: str) -> NodeSet:
    """Of `pulumi_eks`, which makes user data of labels and taints; taints are by their key."""
    props = resource.props
    given = at_top(props, "instanceType")
    taints = at_top(props, "taints")
    if isinstance(taints, dict):
        taints = [
            UNKNOWN if item is UNKNOWN else {**(item if isinstance(item, dict) else {}), "key": key}
            for key, item in taints.items()
        ]
    tags = at_top(props, "autoScalingGroupTags")
    return NodeSet(
        source=_source(resource),
        name=name_of(resource.urn),
        provisioner="selfManaged",
        instance_types=UNKNOWN if given is UNKNOWN else ((str(given),) if given else ()),
        labels=_mapping(at_top(props, "labels")),
        taints=_taints(taints),
        promised=_promised(tags),
        ami=text(at_top(props, "amiType"), _ami_of(props)),
        user_data=text(at_top(props, "nodeUserDataOverride")),
        least=count(at_top(props, "minSize")),
        most=count(at_top(props, "maxSize")),
        cluster=cluster,
    )


def _group(
    resource: PolicyResource,
    cluster: str,
    starts: Sequence[PolicyResource],
    more: Sequence[tuple[Any, Any]],
) -> NodeSet | None:
    """An Auto Scaling group whose tags are those of a cluster, but such as `pulumi_eks` makes."""
    if resource.parent is not None and resource.parent.resource_type in SCALING_GROUPS:
        return None
    props = resource.props
    listed = at_top(props, "tags")
    tags = [(key_of(tag), text(tag.get("value"))) for _, tag in mappings(listed)]
    tags += more
    if not makes_nodes(tags):
        return None
    mixed = at(at_top(props, "mixedInstancesPolicy"), "launchTemplate", "overrides")
    template = _template(resource, starts)
    types = [at(item, "instanceType") for item in items(mixed)]
    return NodeSet(
        source=_source(resource),
        name=text(at_top(props, "name"), name_of(resource.urn)),
        provisioner="selfManaged",
        instance_types=UNKNOWN if mixed is UNKNOWN else _types(types, template),
        promised=promised(tags),
        ami=UNKNOWN if template is UNKNOWN else text(at(template, "imageId")),
        user_data=_user_data(template),
        least=count(at_top(props, "minSize")),
        most=count(at_top(props, "maxSize")),
        cluster=cluster,
    )


def _ami_of(props: Any) -> str:
    operating_system = text(at_top(props, "operatingSystem"), "AL2023")
    if at_top(props, "gpu") is True and operating_system is not UNKNOWN:
        return f"{operating_system}_NVIDIA"
    return "" if operating_system is UNKNOWN else str(operating_system)


def _template(resource: PolicyResource, starts: Sequence[PolicyResource]) -> Any:
    """The launch template of a node group, `UNKNOWN` where it is none of this program."""
    start = start_of(resource, starts)
    if start is not None and start.resource_type == LAUNCH_TEMPLATE:
        return {key: at_top(start.props, key) for key in ("imageId", "instanceType", "userData")}
    given = [at_top(resource.props, name) for name in LAUNCH_KEYS]
    return None if given == [None] * len(given) else UNKNOWN


def _types(given: Any, template: Any) -> Any:
    if given is UNKNOWN or UNKNOWN in items(given):
        return UNKNOWN
    found = tuple(str(item) for item in items(given))
    if found:
        return found
    of_template = at(template, "instanceType")
    if of_template is UNKNOWN:
        return UNKNOWN
    return (str(of_template),) if of_template else ()


def _mapping(value: Any) -> Any:
    return value if value is UNKNOWN or isinstance(value, dict) else {}


def _taints(value: Any) -> Any:
    """Taints as Kubernetes spells them; one that is not known leaves all unknown."""
    if value is UNKNOWN or UNKNOWN in items(value):
        return UNKNOWN
    found = [
        (text(entry.get("key")), text(entry.get("value")), text(entry.get("effect")))
        for _, entry in mappings(value)
    ]
    if any(UNKNOWN in entry for entry in found):
        return UNKNOWN
    return tuple(
        NodeTaint(key, of, _EFFECTS.get(effect.replace("_", "").lower(), effect))
        for key, of, effect in found
    )


def _promised(tags: Any) -> Any:
    return UNKNOWN if tags is UNKNOWN else promised(_mapping(tags).items())


def _user_data(template: Any) -> Any:
    given = UNKNOWN if template is UNKNOWN else at(template, "userData")
    return decoded(given)
