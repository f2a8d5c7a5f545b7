"""Nodes as AWS gets them: a group merged with the launch template it is started from.

In a preview, what AWS chooses by itself is unknown like a value that comes from another resource.
The two are told apart by what the property depends on: AWS's choice depends on nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulumi_policy.proxy import UnknownValueError

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.gpus import has_gpu_image, is_gpu_type, wants_gpu, wants_gpu_attributes
from gpushare_policies.props import each, peek, read, whole
from gpushare_policies.reading.launches import Launch, are_of_cluster, launch_of, may_join
from gpushare_policies.reading.plain import at_top, mappings, text
from gpushare_policies.tokens import (
    LAUNCH_CONFIGURATION,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    SCALING_GROUP,
    SCALING_TAG,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pulumi_policy import PolicyResource

GROUPS = (NODE_GROUP, SCALING_GROUP)
"""Groups of nodes: of EKS, and of EC2 Auto Scaling."""

CLUSTER_TAG = "kubernetes.io/cluster/"
"""What the key of the tag begins with that nodes of a cluster have."""
LAUNCH_KEYS = ("launchTemplate", "mixedInstancesPolicy", "launchConfiguration")
"""What names what nodes start from; a launch configuration stands in a template's place."""


def settled(resource: PolicyResource, *path: str) -> Any:
    """The value at `path`, None where it is missing or AWS's to choose.

    Raises `UnknownValueError` for a value that comes from another resource.
    """
    try:
        return read(resource.props, *path)
    except UnknownValueError:
        if resource.property_dependencies.get(path[0]):
            raise
        return None


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """The nodes of one group."""

    group: PolicyResource
    """A node group of EKS, or a group of EC2 Auto Scaling."""
    start: PolicyResource | None
    """Its launch template or launch configuration, None if it has none in this stack."""
    tags: Sequence[str]
    """Keys of the tags of the Auto Scaling group, those that other resources put on it too."""

    @property
    def is_managed(self) -> bool:
        """Whether EKS runs the group."""
        return self.group.resource_type == NODE_GROUP

    @property
    def called(self) -> str:
        """How a message names the group."""
        kind = "node group" if self.is_managed else "Auto Scaling group"
        return f"The {kind} {self.group.name}"

    def may_join(self) -> bool:
        """Whether these are nodes of Kubernetes: not where an Auto Scaling group shows no sign.

        EC2 starts servers of the web in such groups too. Nodes of EKS carry the tag of their
        cluster: https://docs.aws.amazon.com/eks/latest/userguide/launch-workers.html
        """
        if self.is_managed or self.start is None:
            return True
        try:
            specifications = each(read(self.start.props, "tagSpecifications"))
            tags = [key for said in specifications for key in read(said, "tags") or ()]
            told = are_of_cluster((*self.tags, *tags))
            return told or may_join(self.start.props) or self.has_gpu()
        except UnknownValueError:
            return True

    def has_template(self) -> bool:
        """Whether the group names something to start from, of this stack or not."""
        return any(_is_there(self.group.props, key) for key in LAUNCH_KEYS)

    def launch(self) -> Launch | None:
        """What its launch template or launch configuration tells EC2."""
        return next(launch_of(self.start), None) if self.start is not None else None

    def types(self) -> list[str]:
        """Instance types that it names, in the group or in the launch template."""
        named = [str(name) for name in each(settled(self.group, "instanceTypes"))]
        named += [
            str(name) for override in self.overrides() if (name := read(override, "instanceType"))
        ]
        if not named and self.start is not None and (name := settled(self.start, "instanceType")):
            named.append(str(name))
        return named

    def overrides(self) -> Sequence[Any]:
        """What an Auto Scaling group says of some instance types alone."""
        path = ("mixedInstancesPolicy", "launchTemplate", "overrides")
        return each(settled(self.group, *path))

    def _requirements(self) -> Iterator[Any]:
        for override in self.overrides():
            yield read(override, "instanceRequirements")
        if self.start is not None:
            yield settled(self.start, "instanceRequirements")

    def has_gpu_by_itself(self) -> bool:
        """Whether the group says by itself that its nodes have NVIDIA GPUs."""
        return _any(
            lambda: has_gpu_image({"amiType": settled(self.group, "amiType")}),
            lambda: any(is_gpu_type(n) for n in each(settled(self.group, "instanceTypes"))),
            lambda: wants_gpu({"gpu": settled(self.group, "gpu")}),
        )

    def has_gpu(self) -> bool:
        """Whether the nodes have NVIDIA GPUs, by the group or by what it is started from."""
        return _any(
            self.has_gpu_by_itself,
            lambda: any(map(is_gpu_type, self.types())),
            lambda: any(map(wants_gpu_attributes, self._requirements())),
        )

    def is_spot(self) -> bool:
        """Whether EC2 may take the nodes away."""
        return str(settled(self.group, "capacityType") or "").upper() == "SPOT"

    def sizes(self) -> tuple[int | None, int | None, int | None]:
        """The smallest, the wanted and the largest number of nodes."""
        if self.is_managed:
            keys = ("minSize", "desiredSize", "maxSize")
            paths: list[tuple[str, ...]] = [("scalingConfig", key) for key in keys]
        else:
            paths = [("minSize",), ("desiredCapacity",), ("maxSize",)]
        least, wanted, most = (whole(settled(self.group, *path)) for path in paths)
        return least, wanted, most


def _any(*signs: Callable[[], bool]) -> bool:
    """Whether one of the signs is there; the first that is not known if none is."""
    unknown: UnknownValueError | None = None
    for sign in signs:
        try:
            if sign():
                return True
        except UnknownValueError as error:
            unknown = unknown or error
    if unknown is not None:
        raise unknown
    return False


def _is_there(props: Mapping[str, Any], key: str) -> bool:
    try:
        return bool(read(props, key))
    except UnknownValueError:
        return True


def nodes_of(resources: Sequence[PolicyResource]) -> Iterator[NodeGroup]:
    """The groups of nodes of a stack, each with what it is started from."""
    starts, beside = starts_of(resources), tags_of_groups(resources)
    for group in resources:
        if group.resource_type in GROUPS:
            tags = own_tags(group.props) if group.resource_type == SCALING_GROUP else []
            tags += [str(key) for key, _ in beside.get(group.urn, ())]
            nodes = NodeGroup(group, start_of(group, starts), tags)
            if nodes.may_join():
                yield nodes


def own_tags(props: Any) -> list[str]:
    """Keys of the tags that an Auto Scaling group has by itself."""
    return [str(key_of(tag)) for _, tag in mappings(at_top(props, "tags"))]


def key_of(tag: Any) -> Any:
    """The key of a tag; one that is not known yet is made of a cluster's name, as no other is."""
    key = at(tag, "key")
    return CLUSTER_TAG if key is UNKNOWN else text(key)


def tags_of_groups(resources: Sequence[PolicyResource]) -> dict[str, list[tuple[Any, Any]]]:
    """Tags that are put on Auto Scaling groups, or those that EKS makes of a node group, by URN."""
    found: dict[str, list[tuple[Any, Any]]] = {}
    for resource in resources:
        if resource.resource_type == SCALING_TAG:
            named = at_top(resource.props, "autoscalingGroupName")
            groups = resource.property_dependencies.get("autoscalingGroupName") or [
                group
                for group in resources
                if group.resource_type == SCALING_GROUP and at_top(group.props, "name") == named
            ]
            for group in groups:
                tag = at_top(resource.props, "tag")
                pair = key_of(tag), text(at(tag, "value"))
                found.setdefault(group.urn, []).append(pair)
    return found


def starts_of(resources: Sequence[PolicyResource]) -> tuple[PolicyResource, ...]:
    """The launch templates and launch configurations of a stack."""
    kinds = (LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION)
    return tuple(resource for resource in resources if resource.resource_type in kinds)


def start_of(group: PolicyResource, starts: Sequence[PolicyResource]) -> PolicyResource | None:
    """What a group starts from, if it is in the stack.

    It is found by what the property depends on, or by its ID or name where these are known.

    Args:
        group: The group.
        starts: The templates and configurations of its stack.
    """
    for key in LAUNCH_KEYS:
        if not _is_there(group.props, key):
            continue
        used = starts_of(group.property_dependencies.get(key, []))
        if len(used) == 1:
            return used[0]
        names = {name for name in _names(group, key) if name}
        for resource in used or starts:
            if {peek(resource.props, "id"), peek(resource.props, "name")} & names:
                return resource
    return None


def _names(group: PolicyResource, key: str) -> Iterator[Any]:
    if key == "launchConfiguration":
        yield peek(group.props, key)
        return
    path: tuple[str, ...] = (key,)
    if key == "mixedInstancesPolicy":
        path = (key, "launchTemplate", "launchTemplateSpecification")
    for part in ("id", "name", "launchTemplateId", "launchTemplateName"):
        yield peek(group.props, *path, part)
