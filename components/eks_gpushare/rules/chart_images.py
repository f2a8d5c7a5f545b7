"""Rules about images in chart values, and the secrets by which they are pulled."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.catalog import versions
from eks_gpushare.catalog.kubernetes import eks_versions
from eks_gpushare.config.base import TakesOutput, known_fields
from eks_gpushare.documents.helm import value_at
from eks_gpushare.documents.image import (
    digest_fault,
    reference_fault,
    repository_fault,
    tag_fault,
)
from eks_gpushare.facts.images import MOVING_TAGS, moving_tag
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.chart_values import installed
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

BAD_IMAGE = Rule(
    "GPU728",
    "error",
    "An image in chart values is one that a container runtime can name.",
    "Its pods stay in InvalidImageName, and nodes share nothing.",
    "https://github.com/distribution/reference/blob/main/regexp.go",
)
MOVING_IMAGE = Rule(
    "GPU729",
    "warning",
    "The tag of an image stays with one image.",
    "Nodes that pull it at different times run different programs.",
    "https://kubernetes.io/docs/concepts/containers/images/",
)
FLOATING_IMAGE = Rule(
    "GPU275",
    "error",
    "An image names a version.",
    "What the pod runs would change whenever it is started anew.",
    "https://kubernetes.io/docs/concepts/containers/images/",
)
BAD_PULL_SECRET = Rule(
    "GPU730",
    "error",
    "Pull secrets are named as the chart has them, by names that a Secret can have.",
    "Kubernetes refuses the chart, or pulls without the secret.",
    "https://kubernetes.io/docs/tasks/configure-pod-container/pull-image-private-registry/",
)

_SECRET = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_SECRET = 253
_LATER = TakesOutput().checked_as
_ABSENT = object()
_MIRROR = "registry.example.com"


class _Example(NamedTuple):
    """What an image of a mirror may be called, for whoever has to write one."""

    repository: str
    tag: str


_PLUGIN = _Example(f"{_MIRROR}/nvidia/k8s-device-plugin", f"v{versions.DEVICE_PLUGIN.version}")
_DISCOVERY = _Example(
    f"{_MIRROR}/nfd/node-feature-discovery", f"v{versions.NODE_FEATURE_DISCOVERY.version}"
)
# The tag that the chart's values.yaml has, read 2026-11-22.
_BESIDE = (
    (
        "efa_device_plugin",
        "efaDevicePlugin",
        _Example(f"{_MIRROR}/eks/aws-efa-k8s-device-plugin", "v0.5.20"),
    ),
    (
        "dcgm_exporter",
        "dcgmExporter",
        _Example(f"{_MIRROR}/k8s/dcgm-exporter", "4.5.3-4.8.2-distroless"),
    ),
)
"""Charts beside the device plugin's: field, key, and an image."""
_KARPENTER = _Example(f"{_MIRROR}/karpenter/controller", versions.KARPENTER.version)
_KEDA_REGISTRY = "ghcr.io"
_OF_KEDA = {
    "keda": "keda",
    "metricsApiServer": "keda-metrics-apiserver",
    "webhooks": "keda-admission-webhooks",
}
"""Blocks under image in the chart's values.yaml, with the names of their images."""
_OF_PLUGIN = ((("image",), _PLUGIN), (("nfd", "image"), _DISCOVERY))
_OF_OPERATOR = ((("node-feature-discovery", "image"), _DISCOVERY),)
"""Images with a repository and a tag; the other parts of the operator have another form."""


def image_findings(at: FieldPath, image: str, example: str) -> Iterator[Finding]:
    """What is wrong with an image that a stack names for a program of this project.

    Args:
        at: Where it is named.
        image: By tag, digest or both.
        example: What it may be called in its registry.
    """
    fix = f"Write it like {_MIRROR}/{example}."
    if fault := reference_fault(image.partition("@")[0]):
        yield BAD_IMAGE.finding(at, f'"{image}" is not an image: {fault}.', fix)
    elif moving_tag(image) is not None:
        message = f'"{image}" has neither a digest nor the tag of a release.'
        yield FLOATING_IMAGE.finding(at, message, fix)


@check(Scope.CHARTS, BAD_IMAGE, MOVING_IMAGE, BAD_PULL_SECRET)
def chart_images(ctx: Context) -> Iterator[Finding]:
    """For the chart that is installed."""
    key, chart, _ = installed(ctx)
    at: FieldPath = ("charts", key, "values")
    values = chart.values
    for place, example in _OF_OPERATOR if key == "gpuOperator" else _OF_PLUGIN:
        yield from _tagged((*at, *place), value_at(values, ".".join(place)), example)
        above = place[:-1]
        secrets = (*above, "imagePullSecrets")
        yield from _secrets((*at, *secrets), value_at(values, ".".join(secrets)), named=True)
    if key == "gpuOperator":
        for inner, part in _parts(values):
            yield from _versioned((*at, *inner), part)
            listed = part.get("imagePullSecrets")
            yield from _secrets((*at, *inner, "imagePullSecrets"), listed, named=False)


@check(Scope.CHARTS, BAD_IMAGE, MOVING_IMAGE, BAD_PULL_SECRET)
def images_beside(ctx: Context) -> Iterator[Finding]:
    """For the charts of the EFA device plugin and of the DCGM exporter."""
    for field, key, example in _BESIDE:
        values = _given(ctx, field)
        at: FieldPath = ("charts", key, "values")
        yield from _tagged((*at, "image"), values.get("image"), example)
        listed = values.get("imagePullSecrets")
        yield from _secrets((*at, "imagePullSecrets"), listed, named=True)


@check(Scope.CHARTS, BAD_IMAGE, MOVING_IMAGE, BAD_PULL_SECRET)
def autoscaler_images(ctx: Context) -> Iterator[Finding]:
    """For the chart of Cluster Autoscaler."""
    values = _given(ctx, "cluster_autoscaler")
    at: FieldPath = ("charts", "clusterAutoscaler", "values", "image")
    image = values.get("image")
    yield from _tagged(at, image, _autoscaler(ctx))
    if isinstance(image, dict):
        yield from _secrets((*at, "pullSecrets"), image.get("pullSecrets"), named=False)


@check(Scope.CHARTS, BAD_IMAGE, MOVING_IMAGE, BAD_PULL_SECRET)
def karpenter_images(ctx: Context) -> Iterator[Finding]:
    """For the chart of Karpenter, which writes a digest behind the tag."""
    values = _given(ctx, "karpenter")
    at: FieldPath = ("charts", "karpenter", "values")
    image = value_at(values, "controller.image")
    inner: FieldPath = (*at, "controller", "image")
    yield from _tagged(inner, image, _KARPENTER)
    digest = _text(image.get("digest")) if isinstance(image, dict) else None
    if digest and (fault := digest_fault(digest)):  # an empty one leaves it out
        fix = "Write the digest of that image, or an empty text for none."
        yield BAD_IMAGE.finding((*inner, "digest"), _not("a digest", digest, fault), fix)
    listed = values.get("imagePullSecrets")
    yield from _secrets((*at, "imagePullSecrets"), listed, named=True)


@check(Scope.CHARTS, BAD_IMAGE, MOVING_IMAGE, BAD_PULL_SECRET)
def keda_images(ctx: Context) -> Iterator[Finding]:
    """For the chart of KEDA, which writes a registry before each repository."""
    values = _given(ctx, "keda")
    at: FieldPath = ("charts", "keda", "values")
    for_all = value_at(values, "global.image.registry")
    yield from _registry((*at, "global", "image", "registry"), for_all)
    for part, name in _OF_KEDA.items():
        image = value_at(values, f"image.{part}")
        if not isinstance(image, dict):
            continue
        inner: FieldPath = (*at, "image", part)
        yield from _registry((*inner, "registry"), image.get("registry"))
        yield from _tagged(inner, image, _Example(f"kedacore/{name}", versions.KEDA.version))
        if for_all is None and "registry" not in image:
            yield from _of_default_registry((*inner, "repository"), image.get("repository"))
    listed = values.get("imagePullSecrets")
    yield from _secrets((*at, "imagePullSecrets"), listed, named=True)


def _given(ctx: Context, name: str) -> Mapping[str, Any]:
    """The values of a chart, as far as they are known."""
    chart = known_fields(ctx.environment.charts).get(name)
    return chart.values if chart is not None else {}


def _registry(at: FieldPath, given: Any) -> Iterator[Finding]:
    registry = _text(given)
    if registry and (fault := repository_fault(f"{registry}/image")):
        fix = f"Write it like {_MIRROR}, and what follows as the repository."
        yield BAD_IMAGE.finding(at, _not("a registry", registry, fault), fix)


def _of_default_registry(at: FieldPath, given: Any) -> Iterator[Finding]:
    """A repository that names its registry, where the chart writes its own before it."""
    repository = _text(given) or ""
    domain, slash, rest = repository.partition("/")
    if slash and "." in domain and repository_fault(repository) is None:
        why = f"the chart writes {_KEDA_REGISTRY}/ before it"
        fix = f"Write registry: {domain} and repository: {rest}."
        yield BAD_IMAGE.finding(at, _not("a repository", repository, why), fix)


def _autoscaler(ctx: Context) -> _Example:
    """One for the minor version of the cluster, which it has to be made for."""
    given = known_fields(ctx.environment.cluster).get("version")
    version = given if isinstance(given, str) else max(eks_versions())
    tag = versions.cluster_autoscaler_tag(version) or f"v{version}.0"
    return _Example(f"{_MIRROR}/{versions.CLUSTER_AUTOSCALER_IMAGE.partition('/')[2]}", tag)


def _tagged(at: FieldPath, image: Any, example: _Example) -> Iterator[Finding]:
    """An image of `repository` and `tag`, which the chart puts a colon between."""
    if not isinstance(image, dict):
        return
    repository, tag = _text(image.get("repository")), _text(image.get("tag"))
    if repository is not None and (fault := repository_fault(repository)):
        fix = f"Write it like {example.repository}, and the tag as tag."
        yield BAD_IMAGE.finding((*at, "repository"), _not("a repository", repository, fault), fix)
    if tag:  # an empty one is the chart's own
        fault = tag_fault(tag)
        digest = digest_fault(tag) is None
        if fault:
            why = "the chart writes a colon before it, and not an @" if digest else fault
            fix = f"Write a tag, such as {example.tag}."
            yield BAD_IMAGE.finding((*at, "tag"), _not("a tag", tag, why), fix)
        else:
            yield from _moving((*at, "tag"), tag)


def _parts(values: Mapping[str, Any], above: FieldPath = ()) -> Iterator[tuple[FieldPath, Any]]:
    """Blocks of the operator's values that name an image in three parts."""
    for key, value in values.items():
        if isinstance(value, dict) and key not in {"node-feature-discovery", "nfd"}:
            if {"repository", "image", "version", "imagePullSecrets"} & value.keys():
                yield (*above, str(key)), value
            yield from _parts(value, (*above, str(key)))


def _versioned(at: FieldPath, part: Mapping[str, Any]) -> Iterator[Finding]:
    """An image of `repository`, `image` and `version`, as the operator puts it together.

    Without repository and version, `image` is the whole reference (imagePath in
    api/nvidia/v1/clusterpolicy_types.go); the chart has defaults for both, so each has to be taken
    away.
    """
    repository, image, version = (_text(part.get(k)) for k in ("repository", "image", "version"))
    if repository and (fault := repository_fault(repository)):
        fix = "Write it like registry.example.com/nvidia, with image and version beside it."
        yield BAD_IMAGE.finding((*at, "repository"), _not("a repository", repository, fault), fix)
    whole = all(part.get(key, _ABSENT) in (None, "") for key in ("repository", "version"))
    if image is not None and not whole and (fault := repository_fault(image)):
        yield BAD_IMAGE.finding(
            (*at, "image"),
            _not("the name of an image", image, fault),
            "Write the name alone, with repository and version beside it.",
        )
    if version:
        fault = digest_fault(version) if version.startswith("sha256:") else tag_fault(version)
        if fault:
            fix = "Write a tag such as v0.20.0, or sha256: and the digest."
            yield BAD_IMAGE.finding((*at, "version"), _not("a version", version, fault), fix)
        else:
            yield from _moving((*at, "version"), version)


def _moving(at: FieldPath, tag: str) -> Iterator[Finding]:
    if tag.lower() in MOVING_TAGS:
        message = f'"{tag}" is another image tomorrow.'
        yield MOVING_IMAGE.finding(at, message, "Write the tag of a release.")


def _text(value: Any) -> str | None:
    """A text that is known; what is none has a finding of its own."""
    return value if isinstance(value, str) and value != _LATER else None


def _not(what: str, given: str, fault: str) -> str:
    shown = given.rpartition("@")[2] if "@" in given and "://" in given else given
    return f'"{shown}" is not {what}: {fault}.'


def _secrets(at: FieldPath, listed: Any, *, named: bool) -> Iterator[Finding]:
    """Pull secrets, by a key `name` or as bare names."""
    if not isinstance(listed, list):
        return
    for index, entry in enumerate(listed):
        name = entry.get("name") if named and isinstance(entry, dict) else entry
        if name == _LATER:
            continue
        if not isinstance(name, str) or isinstance(entry, dict) != named:
            form = "{name: my-secret}" if named else "my-secret"
            message = "This chart takes " + ("items with a name." if named else "bare names.")
            yield BAD_PULL_SECRET.finding((*at, index), message, f"Write [{form}].")
        elif not _SECRET.fullmatch(name) or len(name) > _LONGEST_SECRET:
            message = f'"{name}" is not the name of a Secret.'
            fix = "Use lower-case letters, digits, - and . between them."
            yield BAD_PULL_SECRET.finding((*at, index), message, fix)
