"""Rules about versions of charts: that one is published, and can do what the pools ask for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.catalog import versions
from eks_gpushare.catalog.chart_releases import PLUGIN_SINCE, chart_history, parse_version
from eks_gpushare.config.base import known_fields
from eks_gpushare.config.sharing import Mig, Mps
from eks_gpushare.documents.helm import value_at
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.chart_values import installed
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.bottlerocket import pools_of_chart
from eks_gpushare.sharing.resources import mig_strategy
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.catalog.chart_releases import Ability, ChartHistory, Version
    from eks_gpushare.config.environment import Chart
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

OLD_CHART = rule_of("GPU718")
UNPUBLISHED_CHART = Rule(
    "GPU719",
    "error",
    "A chart's version is one that its publisher has.",
    "Helm finds no chart when the cluster is there already.",
    "https://nvidia.github.io/k8s-device-plugin/index.yaml",
)
NEWER_CHART = Rule(
    "GPU720",
    "warning",
    "A chart's version is one that this release was written for, or older.",
    "What a newer one does with the derived values is not known.",
    "https://nvidia.github.io/k8s-device-plugin/index.yaml",
)

_WORDS: Mapping[Ability, str] = {
    "config": "reads no configuration for each node",
    "mig": "sets one MIG strategy for all nodes",
    "mps": "does not share by MPS",
    "several": "lets no pod have several MPS shares",
    "attributes": "takes MIG profiles such as 1g.24gb+gfx for those without the attribute",
}
_IMAGE_TAG = re.compile(r"(v?[0-9]+\.[0-9]+\.[0-9]+(?:-rc\.[0-9]+)?)(?:-[a-z0-9.]+)?")
"""Tags of the device plugin's image: `v0.20.0`, in former days `v0.14.5-ubi8`."""


class _Need(NamedTuple):
    ability: Ability
    pool: str


@check(Scope.CHARTS, OLD_CHART, UNPUBLISHED_CHART, NEWER_CHART)
def chart_version(ctx: Context) -> Iterator[Finding]:
    """For the chart that is installed."""
    key, chart, default = installed(ctx)
    at = ("charts", key)
    history = chart_history(default.name)
    # One that is no version has a finding of its own.
    said = chart.version or ""
    given = parse_version(said)
    if chart.path is None and given is not None and history is not None:
        yield from _published((*at, "version"), chart, default, history)
        yield from _old(ctx, (*at, "version"), said, given, history.since)
    place = "devicePlugin.version" if key == "gpuOperator" else "image.tag"
    tag = _image_version(chart.values, place)
    if tag is not None and (version := parse_version(tag)) is not None:
        yield from _old(
            ctx, (*at, "values", *place.split(".")), f"Image {tag}", version, PLUGIN_SINCE
        )


@check(Scope.CHARTS, UNPUBLISHED_CHART, NEWER_CHART)
def autoscaler_version(ctx: Context) -> Iterator[Finding]:
    """For the chart of Cluster Autoscaler; what an old one lacks has a rule of its own."""
    chart = known_fields(ctx.environment.charts).get("cluster_autoscaler")
    default = versions.CLUSTER_AUTOSCALER
    history = chart_history(default.name)
    if chart is not None and history is not None and chart.path is None and chart.version:
        given, oldest = parse_version(chart.version), parse_version(history.releases[0])
        if given is not None and oldest is not None and given >= oldest:
            at = ("charts", "clusterAutoscaler", "version")
            yield from _published(at, chart, default, history)


def _image_version(values: Mapping[str, Any], place: str) -> str | None:
    tag = value_at(values, place)
    matched = _IMAGE_TAG.fullmatch(tag) if isinstance(tag, str) else None
    return matched[1] if matched else None


def _published(
    at: FieldPath, chart: Chart, default: versions.HelmChart, history: ChartHistory
) -> Iterator[Finding]:
    """A mirror may have versions of its own, so only the publisher's are looked up."""
    given = (chart.version or "").removeprefix("v")
    known, asked = parse_version(history.newest), parse_version(given)
    elsewhere = chart.repository is not None and chart.repository != default.repository
    if given in history.releases or known is None or asked is None:
        return
    if asked > known:
        yield NEWER_CHART.finding(
            at,
            f"This release knows {history.chart} up to {history.newest}, not {given}.",
            "Compare what it renders with `helm template` before it reaches a cluster, or remove "
            "the key.",
        )
    elif not elsewhere:
        near = similar(given, history.releases)
        yield UNPUBLISHED_CHART.finding(
            at,
            f"There is no {history.chart} {given}.",
            f"Did you mean {near}?" if near else f"Take one of {history.source}.",
        )


def _old(
    ctx: Context, at: FieldPath, said: str, version: Version, since: Mapping[Ability, str]
) -> Iterator[Finding]:
    """One finding, about what needs the newest version."""
    pools = pools_of_chart(ctx.environment.pools)
    needs = [need for name, pool in pools.items() for need in _needs(ctx, name, pool)]
    firsts = {need.ability: parse_version(since[need.ability]) for need in needs}
    later = {item: first for item, first in firsts.items() if first is not None and first > version}
    if not later:
        return
    worst = max(later, key=lambda ability: later[ability])
    needed = since[worst].partition("-")[0]  # what came in a candidate is in the release
    names = [need.pool for need in needs if need.ability == worst]
    who = f"pool {names[0]} needs" if len(names) == 1 else f"pools {', '.join(names)} need"
    yield OLD_CHART.finding(
        at,
        f"{said} {_WORDS[worst]}: {who} {needed} at least.",
        f"Take {needed} or a later one, or remove the key.",
    )


def _needs(ctx: Context, name: str, pool: Pool) -> Iterator[_Need]:
    yield _Need("config", name)
    sharing = pool.sharing
    if isinstance(sharing, Mps):
        yield _Need("mps", name)
        if not sharing.fail_requests_greater_than_one:
            yield _Need("several", name)
    elif isinstance(sharing, Mig):
        yield _Need("mig", name)
        if mig_strategy(sharing, pool) != "single" and _has_attributes(ctx, pool, sharing):
            yield _Need("attributes", name)


def _has_attributes(ctx: Context, pool: Pool, sharing: Mig) -> bool:
    """Whether a profile has an attribute by which alone it differs from another."""
    from eks_gpushare.sharing.mig.layout import LayoutError, node_layout

    for found, _ in ctx.gpu_types(pool):
        try:
            layout = node_layout(sharing.layout, found, ctx.catalog)
        except LayoutError:  # has findings of its own
            continue
        if any(
            mark in instance for instance in layout.instances for mark in ("+gfx", "-me", "+me.all")
        ):
            return True
    return False
