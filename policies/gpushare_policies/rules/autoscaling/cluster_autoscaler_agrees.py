"""The Cluster Autoscaler knows the sizes of its groups, and the scheduler of its cluster."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity, StackValidationArgs

from eks_gpushare.catalog.chart_daemonsets import chart_of
from eks_gpushare.inventory.items import NodeSet, Release, Workload
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import peek
from gpushare_policies.reading import kinds
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.inventory import program_of, urn_of
from gpushare_policies.reading.objects import words_of
from gpushare_policies.reading.plain import count, mappings, text
from gpushare_policies.rule import StackPolicy
from gpushare_policies.tokens import AWS_CLUSTER, NODE_GROUP
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory

_STACK_FILE = (
    "The autoscaler of a stack file has them from the pools: remove what overrides them under "
    "`charts.cluster-autoscaler.values`."
)
_SIZES = "Set `values.autoscalingGroups[].minSize` and `maxSize` to those of the node group."
_IMAGE = "Set `values.image.tag` to a version of the cluster's minor version."
_IMAGE_OF_POD = "Set the container's image to a version of the cluster's minor version."
_OF_IMAGE = re.compile(r"(?:.*/)?cluster-autoscaler(?:-amd64|-arm64)?:(v?1\.[0-9.]+)(?:@.*)?")
_NODES = re.compile(r"--nodes=(?P<least>[0-9]+):(?P<most>[0-9]+):(?P<name>.+)")
_ARGUMENT = "Set `--nodes` to the sizes of the node group, or let the autoscaler find it by tags."
_MINOR = re.compile(r"v?(1\.[0-9]+)(\..*)?")
_SUFFIX = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|-[0-9a-f]{8}")
"""What EKS adds to the name of a node group for its Auto Scaling group."""


def _agreeing(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    refuse_blanks(args)
    inventory = program_of(args.resources).inventory
    clusters = [resource for resource in args.resources if resource.resource_type == AWS_CLUSTER]
    versions = {peek(cluster.props, "version") for cluster in clusters}
    for release in inventory.of(Release):
        if (chart_of(release.chart) or release.chart) != "cluster-autoscaler":
            continue
        urn = urn_of(release.source)
        groups = [
            nodes
            for nodes in inventory.of(NodeSet, release.cluster)
            if nodes.provisioner in {"managed", "selfManaged"}
        ]
        for said in (*_sizes(release, groups), *_image(release, versions)):
            if isinstance(said, Unjudged):
                yield said
            else:
                message, fix = said
                yield f"{message} {Fix(_STACK_FILE, fix, fix).of(urn)}", urn
    for message, fix, urn in (*_of_images(inventory, versions), *_of_arguments(inventory)):
        yield f"{message} {Fix(_STACK_FILE, fix, fix).of(urn)}", urn


def _of_images(inventory: Inventory, versions: set[Any]) -> Iterator[tuple[str, str, str]]:
    """Autoscalers that no chart installs, by their container's image."""
    for workload in inventory.of(Workload):
        for _, container in mappings(at(workload.spec, "containers")):
            found = _OF_IMAGE.fullmatch(str(container.get("image") or ""))
            version = _other_version(found[1] if found else "", versions)
            if found and version:
                message = _differs(workload.source.name, found[1], version)
                yield message, _IMAGE_OF_POD, urn_of(workload.source)


def _of_arguments(inventory: Inventory) -> Iterator[tuple[str, str, str]]:
    """Sizes of groups in the words of an autoscaler that no chart installs."""
    for workload in inventory.of(Workload):
        groups = [
            nodes
            for nodes in inventory.of(NodeSet, workload.cluster)
            if nodes.provisioner in {"managed", "selfManaged"}
        ]
        for _, container in mappings(at(workload.spec, "containers")):
            if not _OF_IMAGE.fullmatch(str(container.get("image") or "")):
                continue
            for found in map(_NODES.fullmatch, words_of(container)):
                group = _group(found["name"], groups) if found else None
                if not found or group is None or UNKNOWN in (group.least, group.most):
                    continue
                told, own = (int(found["least"]), int(found["most"])), (group.least, group.most)
                if None not in own and told != own:
                    message = (
                        f"The autoscaler of {workload.source.name} takes the group "
                        f"{found['name']} for one of {told[0]} to {told[1]} nodes, and "
                        f"{group.source.name} has {own[0]} to {own[1]}. They must be the same, or "
                        f"the one ends where the other goes on."
                    )
                    yield message, _ARGUMENT, urn_of(workload.source)


def _sizes(release: Release, groups: Sequence[NodeSet]) -> Iterator[tuple[str, str] | Unjudged]:
    listed = at(release.values, "autoscalingGroups")
    if listed is UNKNOWN:
        yield Unjudged(f"the groups of {release.source.name}")
    for _, given in mappings(listed):
        name = text(given.get("name"))
        found = _group(name, groups)
        if found is None:
            # EKS makes up the name; of groups that are there already nothing is known here.
            if name is UNKNOWN and groups:
                yield Unjudged(f"the name of a group of {release.source.name}")
            continue
        for key, own in (("minSize", found.least), ("maxSize", found.most)):
            said: Any = count(given.get(key))
            if UNKNOWN in (said, own):
                yield Unjudged(f"{key} of {name} in {release.source.name}")
            elif None not in (said, own) and said != own:
                yield (
                    (
                        f"The autoscaler of {release.source.name} takes {key} of the group {name} "
                        f"for {said}, and {found.source.name} has {own}. They must be the same, or "
                        f"the one ends where the other goes on: pods wait though nodes are "
                        f"allowed, or the autoscaler tries in vain."
                    ),
                    _SIZES,
                )


def _group(name: Any, groups: Sequence[NodeSet]) -> NodeSet | None:
    """The nodes of an Auto Scaling group, which EKS names `eks-<node group>-<id>`."""
    if name is UNKNOWN:
        return None
    bare = _SUFFIX.sub("", name.removeprefix("eks-")) if name.startswith("eks-") else name
    whole = [group for group in groups if group.name in {name, bare}]
    return whole[0] if len(whole) == 1 else None


def _image(release: Release, versions: set[Any]) -> Iterator[tuple[str, str] | Unjudged]:
    tag = text(at(release.values, "image", "tag"))
    if tag is UNKNOWN:
        yield Unjudged(f"the image of {release.source.name}")
    elif version := _other_version(tag or "", versions):
        yield _differs(release.source.name, tag, version), _IMAGE


def _other_version(tag: str, versions: set[Any]) -> str:
    """The one version of the clusters, where an image of a version is of another minor version."""
    known = {str(version) for version in versions if version}
    minor = _MINOR.fullmatch(tag)
    if minor is None or len(known) != 1:
        return ""
    (version,) = known
    return version if minor[1] != version else ""


def _differs(name: str, tag: str, version: str) -> str:
    return (
        f"The autoscaler of {name} is {tag}, and its cluster of Kubernetes {version}. It must be "
        f"of that minor version, for it simulates the scheduler of one."
    )


CLUSTER_AUTOSCALER_AGREES = StackPolicy(
    "cluster-autoscaler-agrees",
    "The Cluster Autoscaler must be of its cluster's version, and know its groups' sizes.",
    check=_agreeing,
    applies_to=(*kinds.CHARTS, *kinds.WORKLOADS, NODE_GROUP, AWS_CLUSTER),
    severity=Severity.MEDIUM,
    fix=Fix(_STACK_FILE, f"{_SIZES} {_IMAGE}", f"{_SIZES} {_IMAGE}"),
)
