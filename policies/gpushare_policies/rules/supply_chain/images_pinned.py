"""Images have a tag that stays, or a digest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pulumi_policy import PolicyComplianceFramework, ResourceValidationArgs, Severity

from eks_gpushare.facts.images import moving_tag
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.charts import charts_of
from gpushare_policies.reading.containers import on_pods, pods_of, unknown_of
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import mappings
from gpushare_policies.rule import ResourcePolicy, Setting, is_among
from gpushare_policies.tokens import CHART_V4, RELEASE
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath

DIGEST_STACKS: Setting[tuple[str, ...]] = Setting(
    "digestStacks",
    (),
    "Patterns of the names of stacks whose images need a digest, such as `*prod*`.",
    {"type": "array", "items": {"type": "string"}, "default": []},
    lambda value: tuple(map(str, value)),
)

_PARAMETER = re.compile(r"\$\(params\.([A-Za-z0-9_.-]+)\)")
"""Of a Task or Pipeline of Tekton: https://tekton.dev/docs/pipelines/variables/."""

_SET_TAG = "Give `image` a tag of one version, or a digest (`name:1.2.3@sha256:...`)."
_PINNED = Fix(
    "Give `workloads.<workload>.image` a tag of one version, or a digest, in the stack file.",
    _SET_TAG,
    _SET_TAG,
)


def _images(subject: Subject) -> Iterator[str | Unjudged]:
    for pod in pods_of(subject.object):
        yield from unknown_of(pod)
        for container in pod.containers:
            yield from _image(subject, f"The container {container.name}", container.get("image"))
        for _, volume in mappings(at(pod.spec, "volumes")):
            name, image = volume.get("name"), at(volume, "image", "reference")
            yield from _image(subject, f"The volume {name}", image)


_OF_PODS = frozenset(
    (
        *("driver", "executor", "replicas", "resources", "env", "envFrom", "command", "args"),
        *("serviceAccount", "serviceAccountName", "ports", "imagePullPolicy", "imagePullSecrets"),
        *("nodeSelector", "tolerations", "securityContext", "podSpec", "podTemplate"),
    )
)
"""Keys beside an image of which somebody makes pods; others may be pictures."""


def _of_theirs(subject: Subject) -> Iterator[str | Unjudged]:
    """Also images in parts, as NVIDIA's operators have them: `image: {repository, tag}`."""
    yield from _images(subject)
    for path, image in _images_in(at(subject.object.body, "spec"), ("spec",)):
        if path[-1] == "image" and at(subject.object.body, *path, "repository"):
            yield from _moving(path, image, subject.title, subject.args)
    spec = at(subject.object.body, "spec")
    own = at(spec, "image")
    in_parts = any(at(spec, key) is not None for key in ("repository", "version", "tag"))
    is_pod = any(pod.spec is spec for pod in pods_of(subject.object))
    runs = isinstance(spec, dict) and not _OF_PODS.isdisjoint(spec)
    if isinstance(own, str) and runs and not in_parts and not is_pod:  # of a Spark application
        yield from _image(subject, "A pod", own)
    for _, renamed in mappings(at(spec, "images")):  # of a Kustomization of Flux
        if isinstance(tag := renamed.get("newTag"), str) and not renamed.get("digest"):
            yield from _image(subject, "A pod", f"{renamed.get('name')}:{tag}")


def _image(subject: Subject, what: str, image: Any) -> Iterator[str | Unjudged]:
    if image is UNKNOWN:
        yield Unjudged(f"the image of {what[:1].lower()}{what[1:]}")
        return
    image = _settled(subject, str(image or ""))
    if not image:  # of a patch, which leaves the image that is there
        return
    args, tag = subject.args, moving_tag(image)
    if tag is not None:
        which = f"the tag {tag}" if tag else "no tag"
        yield (
            f"{what} of {subject.title} runs the image {image}, with {which}. It must be one "
            f"version, or the next pod runs another program. "
            f"{_PINNED.of(args.urn)}"
        )
    elif "@sha256:" not in image and is_among(DIGEST_STACKS.of(args), args.urn):
        yield (
            f"{what} of {subject.title} runs the image {image}, without a "
            f"digest. It must have one in this stack: a tag can be moved. {_PINNED.of(args.urn)}"
        )


def _settled(subject: Subject, image: str) -> str:
    """An image with the defaults of parameters that it is made of; "" where only a run tells it."""
    body = subject.object.body
    given = {
        str(param.get("name")): param.get("default")
        for _, param in mappings(at(body, "spec", "params"))
    }
    for name in _PARAMETER.findall(image):
        if isinstance(default := given.get(name), str):
            image = image.replace(f"$(params.{name})", default)
    return "" if "$(" in image or "{{" in image else image


def _chart(args: ResourceValidationArgs) -> Iterator[str]:
    """Tags that values give; a chart has its own where they give none."""
    for chart in charts_of(args.props):
        for path, image in _images_in(chart.values, chart.path):
            yield from _moving(path, image, args.name, args)
        for name, part in pairs(chart.values) if chart.of_gpus else ():  # as gpu-operator has them
            if isinstance(version := at(part, "version"), str):
                yield from _moving((*chart.path, name), f"{name}:{version}", args.name, args)


def _moving(path: FieldPath, image: str, where: str, args: ResourceValidationArgs) -> Iterator[str]:
    if tag := moving_tag(image):
        yield (
            f"`{'.'.join(map(str, path))}` of {where} names the image {image}, with the tag {tag}. "
            f"It must be one version, or the next pod runs another program. {_PINNED.of(args.urn)}"
        )


def _images_in(values: Any, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    """Images that stand in the values of a chart, as charts have them: whole, or in parts."""
    if isinstance(values, list):
        for index, inner in enumerate(values):
            yield from _images_in(inner, (*path, index))
    if not isinstance(values, dict):
        return
    tag = values.get("tag")
    name = next((values[key] for key in ("repository", "name") if key in values), "")
    in_parts = "repository" in values or (path and str(path[-1]).lower().endswith("image"))
    by_digest = "@sha256:" in str(tag) or values.get("digest") or values.get("sha")
    if isinstance(tag, str) and tag and in_parts and not by_digest:
        yield path, f"{name or 'image'}:{tag}"
    for key, inner in values.items():
        if key == "image" and isinstance(inner, str):
            yield (*path, key), inner
        else:
            yield from _images_in(inner, (*path, key))


IMAGES_PINNED = ResourcePolicy(
    "images-pinned",
    "Containers of pods must run images of one version.",
    checks=ObjectChecks(on_pods(_images), {RELEASE: _chart, CHART_V4: _chart}, theirs=_of_theirs),
    severity=Severity.MEDIUM,
    framework=PolicyComplianceFramework(
        "NSA/CISA Kubernetes Hardening Guidance", "1.2", "Pod security", "Images are known."
    ),
    fix=_PINNED,
    settings=(DIGEST_STACKS,),
)
