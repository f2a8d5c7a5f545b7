"""Rules about what a stack changes about Cluster Autoscaler's chart, and about its release."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import versions
from eks_gpushare.catalog.chart_releases import parse_version
from eks_gpushare.catalog.cluster_autoscaler_flags import flags_since
from eks_gpushare.config.base import known_fields
from eks_gpushare.documents.helm import value_at
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.charts import undone
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing import cluster_autoscaler as planned
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from eks_gpushare.config.autoscaling import ClusterAutoscaler
    from eks_gpushare.config.environment import Chart
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_TREE = "https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.36.1/cluster-autoscaler"
_CHART = (
    "https://github.com/kubernetes/autoscaler/tree/cluster-autoscaler-chart-"
    f"{versions.CLUSTER_AUTOSCALER.version}/cluster-autoscaler/charts/cluster-autoscaler"
)

UNKNOWN_RELEASE = Rule(
    "GPU785",
    "error",
    "There is a Cluster Autoscaler for the cluster's version of Kubernetes.",
    "It simulates the scheduler of one minor version, and is tested with that one only.",
    f"{_TREE}/README.md#releases",
)
OTHER_RELEASE = rule_of("GPU786")
UNDONE_VALUE = Rule(
    "GPU793",
    "error",
    "Values of Cluster Autoscaler's chart do not undo what is derived from the stack.",
    "It would scale other groups, or take nodes for what they are not.",
    _CHART,
)
UNKNOWN_FLAG = Rule(
    "GPU795",
    "error",
    "A flag is one that this Cluster Autoscaler has.",
    "With any other it ends as it starts, and no pool is scaled.",
    f"{_TREE}/FAQ.md",
)
OLD_CHART = Rule(
    "GPU796",
    "error",
    "The chart gives Cluster Autoscaler what its release needs.",
    "An older one lacks permissions in the cluster, or values that are derived.",
    f"{_TREE}/README.md#releases",
)

_BLOCK = "clusterAutoscaler"
_MINOR = re.compile(r"1\.[0-9]{2,}")
_RELEASE_TAG = re.compile(r"v?(1\.[0-9]+)\.[0-9]+(?:[-_+@].*)?")
_FIRST_CHART = {"1.33": "9.47.0", "1.34": "9.51.0", "1.35": "9.54.0", "1.36": "9.54.0"}
"""Chart that a minor version needs: README.md of cluster-autoscaler up to 1.34; 9.54.0 is the first
whose own version is 1.35."""


@check(Scope.CHARTS, UNKNOWN_RELEASE, OTHER_RELEASE, OLD_CHART)
def release(ctx: Context) -> Iterator[Finding]:
    environment = ctx.environment
    if environment.cluster_autoscaler is None:
        return
    version = _version(ctx)
    if version is None or not _MINOR.fullmatch(version):  # which has a finding of its own
        return
    chart = known_fields(environment.charts).get("cluster_autoscaler")
    tag = value_at(chart.values, "image.tag") if chart is not None else None
    if versions.cluster_autoscaler_tag(version) is None and tag is None:
        yield UNKNOWN_RELEASE.finding(
            (_BLOCK,),
            f"This release of eks-gpushare knows no Cluster Autoscaler for Kubernetes {version}.",
            f"Give its image: charts: {{clusterAutoscaler: {{values: {{image: {{tag: v{version}.0}}"
            "}}}, if there is one.",
        )
    of_tag = _RELEASE_TAG.fullmatch(tag) if isinstance(tag, str) else None
    if of_tag is not None and of_tag[1] != version:
        yield OTHER_RELEASE.finding(
            ("charts", _BLOCK, "values", "image", "tag"),
            f"{tag} is for Kubernetes {of_tag[1]}, and the cluster has {version}.",
            "Remove it, or take one for this version.",
        )
    if chart is not None:
        yield from _old(chart, version)


def _old(chart: Chart, version: str) -> Iterator[Finding]:
    given, first = parse_version(chart.version or ""), _FIRST_CHART.get(version)
    if chart.path is None and given is not None and first is not None:
        needed = parse_version(first)
        if needed is not None and given < needed:
            yield OLD_CHART.finding(
                ("charts", _BLOCK, "version"),
                f"Chart {chart.version} is too old for the Cluster Autoscaler of Kubernetes "
                f"{version}, which needs {first} at least.",
                f"Take {first} or a later one, or remove the key.",
            )


@check(Scope.CHARTS, UNDONE_VALUE, UNKNOWN_FLAG)
def chart_values(ctx: Context) -> Iterator[Finding]:
    block = ctx.environment.cluster_autoscaler
    chart = known_fields(ctx.environment.charts).get("cluster_autoscaler")
    if block is None or chart is None:
        return
    derived = _derived(block)
    own = [flag for flag in derived["extraArgs"] if flag not in _FREE]
    roles = {**_ROLES, **{f"extraArgs.{flag}": "follows from the stack" for flag in own}}
    yield from undone(UNDONE_VALUE, _BLOCK, chart.values, derived, roles)
    yield from _flags(chart.values, _version(ctx), own)


_ROLES = {
    "autoDiscovery": "would find further groups",
    "autoscalingGroups": "names the groups of the pools that it scales",
    "autoscalingGroupsnamePrefix": "would be further groups",
    "cloudProvider": "is AWS's",
    "expanderPriorities": "comes from clusterAutoscaler.priorities",
    "fullnameOverride": "is the name of what the role is for",
    "rbac.create": "is what it may do in the cluster",
    "rbac.clusterScoped": "is what it may do in the cluster",
    "rbac.serviceAccount.create": "makes the account that has the role",
    "rbac.serviceAccount.name": "is the account that has the role",
    "replicaCount": "is clusterAutoscaler.replicas",
}
"""Values that come from the stack, and what they do."""
_FREE = frozenset(
    {
        "balance-similar-node-groups",
        "ignore-daemonsets-utilization",
        "skip-nodes-with-local-storage",
        "skip-nodes-with-system-pods",
    }
)
"""Flags that are a choice of this package, and may be another one's."""


def _derived(block: ClusterAutoscaler) -> dict[str, Any]:
    """What would be derived, but for what only a program knows."""
    return planned.controller_values(
        block,
        image=versions.CLUSTER_AUTOSCALER_IMAGE,
        tag=None,
        region="",
        groups=({},),
        patterns={},
        startup_taints=(),
        status_taints=(),
        given={},
    )


def _flags(
    values: Mapping[str, Any], version: str | None, derived: Collection[str]
) -> Iterator[Finding]:
    """Flags that it does not have, or that would undo those of the stack."""
    place: FieldPath = ("charts", _BLOCK, "values")
    given, listed = values.get("extraArgs"), values.get("customArgs")
    for key in given if isinstance(given, dict) else ():
        at = (*place, "extraArgs", str(key))
        flag = str(key).partition("_")[0]
        plain = flag.lstrip("-")
        if flag != plain and plain in flags_since():
            message = f"The chart writes the dashes itself, so {key} becomes --{key}."
            yield UNKNOWN_FLAG.finding(at, message, f"Write {plain}.")
        else:
            yield from _flag(at, flag, version)
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(item, str) or not item.startswith("-"):
            continue  # the value of the one before
        at, flag = (*place, "customArgs", index), item.lstrip("-").partition("=")[0]
        if flag in derived:
            message = f"{flag} follows from the stack, and the last one of two counts."
            yield UNDONE_VALUE.finding(at, message, "Remove it, and change clusterAutoscaler.")
        else:
            yield from _flag(at, flag, version)


def _flag(at: FieldPath, flag: str, version: str | None) -> Iterator[Finding]:
    known = flags_since()
    since = known.get(flag)
    if flag in _OF_THE_GROUPS:
        message = f"{flag} would be further groups, beside those of the pools."
        yield UNDONE_VALUE.finding(at, message, "Remove it, and change the pools instead.")
    elif since is None:
        near = similar(flag.lstrip("-"), known)
        message = f"Cluster Autoscaler has no flag {flag}."
        yield UNKNOWN_FLAG.finding(at, message, f"Did you mean {near}?" if near else "Remove it.")
    elif version is not None and _MINOR.fullmatch(version) and _number(since) > _number(version):
        message = f"{flag} came with {since}, and the cluster has {version}."
        yield UNKNOWN_FLAG.finding(at, message, "Remove it.")


_OF_THE_GROUPS = frozenset({"node-group-auto-discovery", "nodes", "cloud-provider", "namespace"})


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _version(ctx: Context) -> str | None:
    """The cluster's, where it is known: of a cluster that was there before, programs know it."""
    if ctx.new_cluster is not None:
        return ctx.new_cluster.version
    facts = known_fields(ctx.environment).get("cluster_facts")
    return facts.version if facts is not None else None
