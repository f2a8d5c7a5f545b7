"""Charts have one exact version."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import format_value, given, read
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import mappings
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.tokens import CHART_V4, RELEASE
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

# Semantic Versioning 2.0.0, the leading v that Helm puts up with, and its operator for just that.
_EXACT = re.compile(r"(?:= ?)?v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_VERSION = re.compile(r"[0-9]+\.[0-9]+|(?<![0-9a-z])[0-9a-f]{7,40}(?![0-9a-z])|[0-9]{6,}")
"""A version, a commit or a day in the address of an archive."""
_OCI_TAG = re.compile(r"oci://.*/[^/:]+:(?P<tag>[^/:]+)")


def _is_pinned_by_itself(chart: str) -> bool:
    """Whether a chart is a directory, an archive or a digest: what is there is the version."""
    path = chart.partition("?")[0]
    is_archive = path.endswith((".tgz", ".tar.gz")) and (
        "://" not in path or _VERSION.search(path) is not None
    )
    tag = _OCI_TAG.fullmatch(chart)
    return (
        chart.startswith((".", "/"))
        or is_archive
        or "@sha256:" in chart
        or (tag is not None and _EXACT.fullmatch(tag["tag"]) is not None)
    )


_SET_VERSION = "Set `version` to one exact version."
_PINNED = Fix(
    "Set `charts.<chart>.version` in the stack file, or leave the key out for the version this "
    "release was tested with.",
    _SET_VERSION,
    _SET_VERSION,
)


def _version(args: ResourceValidationArgs) -> Iterator[str]:
    # helm.v4.Chart is registered without its arguments under the engine.
    if not given(args.props, "chart") or _is_pinned_by_itself(str(read(args.props, "chart"))):
        return
    version = read(args.props, "version")
    if version is None or not _EXACT.fullmatch(str(version)):
        yield _unpinned(str(read(args.props, "chart")), args.name, version, args.urn)


def _application(subject: Subject) -> Iterator[str | Unjudged]:
    """Of Argo CD, which takes a chart of a repository of charts, or a folder of Git."""
    spec = at(subject.object.body, "spec")
    for _, source in ((0, at(spec, "source")), *mappings(at(spec, "sources"))):
        if at(source, "chart") is not None:
            yield from _asked(subject, at(source, "chart"), at(source, "targetRevision"))
        elif str(url := at(source, "repoURL")).startswith("oci://") and "chart" in str(url):
            yield from _asked(subject, url, at(source, "targetRevision"))


def _application_set(subject: Subject) -> Iterator[str | Unjudged]:
    template = at(subject.object.body, "spec", "template")
    if isinstance(template, dict):
        yield from _application(replace(subject, object=replace(subject.object, body=template)))


def _helm_release(subject: Subject) -> Iterator[str | Unjudged]:
    """Of Flux; a chart out of Git or of a bucket has the version that stands there."""
    spec = at(subject.object.body, "spec", "chart", "spec")
    if at(spec, "sourceRef", "kind") in (None, "HelmRepository") and at(spec, "chart") is not None:
        yield from _asked(subject, at(spec, "chart"), at(spec, "version"))


def _source_chart(subject: Subject) -> Iterator[str | Unjudged]:
    """Of Flux, of a repository of charts, that a HelmRelease names by `chartRef`."""
    spec = at(subject.object.body, "spec")
    if at(spec, "sourceRef", "kind") in (None, "HelmRepository"):
        yield from _asked(subject, at(spec, "chart"), at(spec, "version"))


def _oci_repository(subject: Subject) -> Iterator[str | Unjudged]:
    """Of Flux; what its address or the layer that is taken shows to be no chart is let be."""
    spec = at(subject.object.body, "spec")
    url, ref = at(spec, "url"), at(spec, "ref")
    media = at(spec, "layerSelector", "mediaType")
    if ("helm" in str(media) or "chart" in str(url)) and at(ref, "digest") is None:
        version = at(ref, "semver")
        yield from _asked(subject, url, at(ref, "tag") if version is None else version)


def _fleet(subject: Subject) -> Iterator[str | Unjudged]:
    """Of Rancher's Fleet, as in https://fleet.rancher.io/ref-bundle."""
    spec = at(subject.object.body, "spec")
    targets = [target for _, target in mappings(at(spec, "targets"))]
    for helm in (at(spec, "helm"), *(at(target, "helm") for target in targets)):
        chart = at(helm, "chart")
        if isinstance(chart, str) and not _is_pinned_by_itself(chart) and at(helm, "repo"):
            yield from _asked(subject, chart, at(helm, "version"))


def _proxy(subject: Subject) -> Iterator[str | Unjudged]:
    """Of Cluster API: https://github.com/kubernetes-sigs/cluster-api-addon-provider-helm."""
    spec = at(subject.object.body, "spec")
    if not _is_pinned_by_itself(str(at(spec, "chartName"))):
        yield from _asked(subject, at(spec, "chartName"), at(spec, "version"))


def _sveltos(subject: Subject) -> Iterator[str | Unjudged]:
    """Of https://projectsveltos.github.io/sveltos/main/addons/helm_charts/."""
    for _, chart in mappings(at(subject.object.body, "spec", "helmCharts")):
        yield from _asked(subject, chart.get("chartName"), chart.get("chartVersion"))


def _asked(subject: Subject, chart: Any, version: Any) -> Iterator[str | Unjudged]:
    if UNKNOWN in (chart, version):
        yield Unjudged("the version of a chart")
    elif subject.object.patch or "{{" in str(version):
        return  # the rest is in the cluster, or of a template's parameters
    elif version is None or not _EXACT.fullmatch(str(version)):
        yield _unpinned(str(chart), subject.title, version, subject.args.urn)


def _unpinned(chart: str, where: str, version: object, urn: str) -> str:
    return (
        f"The chart {chart} of {where} has the version {format_value(version)}. It must be one "
        f"exact version such as 0.20.0, no range, or the next run installs another chart. "
        f"{_PINNED.of(urn)}"
    )


_ARGO = "argoproj.io"

CHART_VERSIONS_PINNED = ResourcePolicy(
    "chart-versions-pinned",
    "Helm charts must be pinned to one exact version.",
    checks=ObjectChecks(
        {
            Kind(_ARGO, "Application"): _application,
            Kind(_ARGO, "ApplicationSet"): _application_set,
            Kind("helm.toolkit.fluxcd.io", "HelmRelease"): _helm_release,
            Kind("source.toolkit.fluxcd.io", "HelmChart"): _source_chart,
            Kind("fleet.cattle.io", "Bundle"): _fleet,
            Kind("source.toolkit.fluxcd.io", "OCIRepository"): _oci_repository,
            Kind("addons.cluster.x-k8s.io", "HelmChartProxy"): _proxy,
            Kind("config.projectsveltos.io", "ClusterProfile"): _sveltos,
            Kind("config.projectsveltos.io", "Profile"): _sveltos,
        },
        {RELEASE: _version, CHART_V4: _version},
    ),
    unseen=(
        "an OCIRepository of Flux of which neither address nor layer says that it has a chart, and "
        "what version a chart has that Flux takes out of Git or a bucket."
    ),
    severity=Severity.MEDIUM,
    fix=_PINNED,
)
