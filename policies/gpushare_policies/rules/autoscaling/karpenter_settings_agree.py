"""Karpenter is told of the cluster it is in, and to read what is made for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity, StackValidationArgs
from pulumi_policy.proxy import UnknownValueError

from eks_gpushare.catalog.chart_releases import parse_version
from eks_gpushare.catalog.karpenter_releases import SINCE_KUBERNETES, SINCE_OVERLAYS, SINCE_V1
from eks_gpushare.inventory.items import Overlay, Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import format_value, is_true, peek
from gpushare_policies.reading import kinds
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.clusters import ELSEWHERE, makes_cluster
from gpushare_policies.reading.inventory import program_of, urn_of
from gpushare_policies.reading.node_groups import settled
from gpushare_policies.reading.objects import objects_of_stack
from gpushare_policies.rule import StackPolicy
from gpushare_policies.tokens import AWS_CLUSTER
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pulumi_policy import PolicyResource

_STACK_FILE = (
    "Karpenter of a stack file has them: remove what overrides them under "
    "`charts.karpenter.values`."
)
_DEFINITIONS = "karpenter-crd"
"""The chart of the definitions of Karpenter's objects."""
_NAME = "Set `values.settings.clusterName` to the name of the cluster."
_GATE = "Set `values.settings.featureGates.nodeOverlay: true`."


def _settings(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    refuse_blanks(args)
    inventory = program_of(args.resources).inventory
    every = [resource for resource in args.resources if makes_cluster(resource)]
    for release in inventory.of(Release):
        if release.chart != "karpenter":
            continue
        urn = urn_of(release.source)
        overlays = inventory.of(Overlay, release.cluster)
        clusters = [each for each in every if each.urn == release.cluster]
        if not clusters and not release.cluster.startswith(ELSEWHERE):
            clusters = every
        wrong = [
            *_wrong(release, len(overlays), clusters),
            *_too_old(release, args.resources),
            *_older_objects(release, inventory.of(Release, release.cluster)),
        ]
        for said, fix in wrong:
            if fix:
                yield f"{said} {Fix(_STACK_FILE, fix, fix).of(urn)}", urn
            else:
                yield Unjudged(f"{said} of {release.source.name}")


def _wrong(
    release: Release, overlays: int, clusters: Sequence[PolicyResource]
) -> Iterator[tuple[str, str]]:
    """What is wrong with how to mend it, or what is not known with nothing."""
    settings = at(release.values, "settings")
    name = at(settings, "clusterName")
    shown = f"Karpenter of {release.source.name}"
    if name is UNKNOWN:
        yield "the settings", ""
    elif name in (None, ""):
        yield (
            f"{shown} is not told the name of its cluster. It must be, or it does not start.",
            _NAME,
        )
    elif clusters and not any(_is_named(cluster, name) for cluster in clusters):
        names = " or ".join(
            str(peek(each.props, "name") or f"{each.name} with a suffix") for each in clusters
        )
        yield (
            (
                f"{shown} is told that its cluster is {name}, and the cluster of this stack is "
                f"{names}. It must be that one, or no node joins."
            ),
            _NAME,
        )
    gate = at(settings, "featureGates", "nodeOverlay")
    if overlays and gate is UNKNOWN:
        yield "the feature gates", ""
    elif overlays and not is_true(gate):
        yield (
            (
                f"{shown} has the feature gate nodeOverlay {format_value(gate)}, so it does not "
                f"read the {overlays} NodeOverlays of this stack. It must be true, or pods "
                f"that ask for shares get no node, or one each."
            ),
            _GATE,
        )


def _too_old(release: Release, resources: Sequence[PolicyResource]) -> Iterator[tuple[str, str]]:
    """What is in this stack that a version of Karpenter does not know."""
    if release.version is UNKNOWN or (version := parse_version(str(release.version))) is None:
        return
    for since, what in _needed(resources):
        if version < (parse_version(since) or version):
            yield (
                (
                    f"Karpenter of {release.source.name} is of version {release.version}, and "
                    f"{what} need {since} or later. It must be, or it starts no node for them."
                ),
                f"Set the chart's version to {since} or later.",
            )
            return


def _older_objects(release: Release, every: Sequence[Release]) -> Iterator[tuple[str, str]]:
    """Definitions of Karpenter's objects that are older than what reads these.

    They are to be of its own version: https://karpenter.sh/docs/upgrading/, read 2026-11-22. Of
    patches of one minor version they are the same.
    """
    version = _minor(release)
    for each in every:
        own = _minor(each) if each.chart == _DEFINITIONS else None
        if version is not None and own is not None and own < version:
            yield (
                (
                    f"Karpenter of {release.source.name} is of version {release.version}, and the "
                    f"definitions of its objects of {each.source.name} are of {each.version}. They "
                    f"must be of the same, or the API server drops or refuses what it does not "
                    f"know."
                ),
                f"Set the version of the chart {_DEFINITIONS} to {release.version}.",
            )


def _minor(release: Release) -> tuple[int, ...] | None:
    found = None if release.version is UNKNOWN else parse_version(str(release.version))
    return None if found is None else tuple(found[:2])


def _needed(resources: Sequence[PolicyResource]) -> Iterator[tuple[str, str]]:
    """First version and what needs it, what needs the latest first."""
    kinds_here = {
        (found.kind.kind, found.version)
        for _, objects in objects_of_stack(resources)
        for found in objects
        if found.kind.group in {"karpenter.sh", "karpenter.k8s.aws"}
    }
    versions = [peek(resource.props, "version") for resource in resources if _is_cluster(resource)]
    for version in versions:
        if version in SINCE_KUBERNETES:
            yield SINCE_KUBERNETES[version], f"clusters of Kubernetes {version}"
    if any(kind == "NodeOverlay" for kind, _ in kinds_here):
        yield SINCE_OVERLAYS, "the NodeOverlays of this stack"
    if any(version == "v1" for _, version in kinds_here):
        yield SINCE_V1, "the objects of version v1 of this stack"


def _is_cluster(resource: PolicyResource) -> bool:
    """Whether a resource is a cluster of EKS."""
    return resource.resource_type == AWS_CLUSTER


def _is_named(cluster: PolicyResource, name: Any) -> bool:
    """Whether a cluster has a name, or may have: what Pulumi chooses has the resource's in it."""
    try:
        own = settled(cluster, "name")
    except UnknownValueError:
        return True
    word = rf"(?<![A-Za-z0-9]){re.escape(cluster.name)}(?![A-Za-z0-9])"
    return name == own if own else re.search(word, str(name)) is not None


KARPENTER_SETTINGS_AGREE = StackPolicy(
    "karpenter-settings-agree",
    "Karpenter must know its cluster, and be of a version that reads what is made for it.",
    check=_settings,
    applies_to=(*kinds.CHARTS, kinds.KARPENTER[1], AWS_CLUSTER),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, f"{_NAME} {_GATE}", f"{_NAME} {_GATE}"),
)
