"""Images have a tag that stays, or a digest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import PolicyComplianceFramework, Severity

from eks_gpushare.facts.images import moving_tag
from eks_gpushare.inventory.source import UNKNOWN
from gpushare_policies.reading.containers import Container, on_pods, pods_of, unknown_of
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.rule import ResourcePolicy, Setting, Unjudged, is_among
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

DIGEST_STACKS: Setting[tuple[str, ...]] = Setting(
    "digestStacks",
    (),
    "Patterns of the names of stacks whose images need a digest, such as `*prod*`.",
    {"type": "array", "items": {"type": "string"}, "default": []},
    lambda value: tuple(map(str, value)),
)

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
            yield from _image(subject, container)


def _image(subject: Subject, container: Container) -> Iterator[str | Unjudged]:
    image = container.get("image")
    if image is UNKNOWN:
        yield Unjudged(f"the image of the container {container.name}")
        return
    if not image:  # of a patch, which leaves the image that is there
        return
    args, tag = subject.args, moving_tag(str(image))
    if tag is not None:
        which = f"the tag {tag}" if tag else "no tag"
        yield (
            f"The container {container.name} of {subject.title} runs the image {image}, with "
            f"{which}. It must be one version, or the next pod runs another program. "
            f"{_PINNED.of(args.urn)}"
        )
    elif "@sha256:" not in str(image) and is_among(DIGEST_STACKS.of(args), args.urn):
        yield (
            f"The container {container.name} of {subject.title} runs the image {image}, without a "
            f"digest. It must have one in this stack: a tag can be moved. {_PINNED.of(args.urn)}"
        )


IMAGES_PINNED = ResourcePolicy(
    "images-pinned",
    "Containers must run images of one version.",
    checks=ObjectChecks(on_pods(_images), theirs=_images),
    severity=Severity.MEDIUM,
    framework=PolicyComplianceFramework(
        "NSA/CISA Kubernetes Hardening Guidance", "1.2", "Pod security", "Images are known."
    ),
    fix=_PINNED,
    settings=(DIGEST_STACKS,),
)
