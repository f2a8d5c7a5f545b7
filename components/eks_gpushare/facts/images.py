"""Which images change by themselves: of containers, and of nodes."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MOVING_TAGS: Final = frozenset(
    ("latest", "main", "master", "nightly", "edge", "dev", "devel", "stable")
)
"""Tags that projects move to their newest image."""

_ONE_VERSION = re.compile(r"v?[0-9]+(?:\.[0-9]+)+.*|[0-9]{5,}|(?=[a-f]*[0-9])[0-9a-f]{7,40}")
"""A version, a day or a number of a build, or a commit."""
_OFFICIAL = re.compile(r"(?:(?:docker\.io|public\.ecr\.aws/docker)/library/)?[a-z0-9._-]+")
"""Images of Docker Hub's own, https://docs.docker.com/docker-hub/image-library/trusted-content/."""
_MAJOR = re.compile(r"[0-9]{1,2}(?:-[a-z]+)*")
"""A major version of theirs, also of a variant: `16-alpine` is the newest of them."""
_VARIANT = re.compile(r"[a-z]+(?:-[a-z]+)*")
"""A variant of theirs without a version: `alpine` is that of the newest."""
_DIGEST = re.compile("sha256:[0-9a-f]{64}")


def moving_tag(image: str) -> str | None:
    """The tag of an image by which it changes, `""` where it has none; None if it is one version.

    Args:
        image: As a container names it. A container runtime takes `latest` where no tag is given:
            https://kubernetes.io/docs/concepts/containers/images/#image-names.
    """
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    names_none = _MAJOR.fullmatch(tag) or _VARIANT.fullmatch(tag)
    moves = names_none and _OFFICIAL.fullmatch(name.removesuffix(f":{tag}"))
    if _DIGEST.fullmatch(digest) or (tag and not moves and not _moves(tag.lower())):
        return None
    return tag


def _moves(tag: str) -> bool:
    """Whether a tag is one that projects move, by itself or for a variant (`latest-gpu`)."""
    parts = re.split("[-_]", tag)
    return not MOVING_TAGS.isdisjoint(parts) and not any(map(_ONE_VERSION.fullmatch, parts))


_PARAMETER = "resolve:ssm:"


def moving_parameter(image: str) -> bool:
    """Whether an image that EC2 is told of is whatever a parameter says when a node starts.

    `resolve:ssm:<parameter>:<version>` is one value for ever, without a version it is not:
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-systems-manager-parameter-to-find-AMI.html.
    """
    version = image.rpartition(":")[2]
    return image.startswith(_PARAMETER) and not (version.isascii() and version.isdecimal())


class Moving(StrEnum):
    """By what a term of an EC2NodeClass takes other images in time."""

    ALIAS = "alias"
    PARAMETER = "ssmParameter"
    NAME = "name"
    TAGS = "tags"


def moving_term(term: Mapping[str, object]) -> Moving | None:
    """What of a term of `amiSelectorTerms` leaves the image open; None where it is one image.

    Karpenter takes the newest of all images that a term matches, and refuses an alias without a
    release: https://karpenter.sh/docs/concepts/nodeclasses/#specamiselectorterms. AWS moves the
    parameters that end in recommended or latest.
    """
    if term.get("id"):
        return None
    alias, parameter, name = (str(term.get(key) or "") for key in ("alias", "ssmParameter", "name"))
    if alias:
        # Of Windows, for which EKS has no GPUs, Karpenter takes no other release than latest.
        moves = alias.endswith("@latest") and not alias.lower().startswith("windows")
        return Moving.ALIAS if moves else None
    if parameter:
        moves = "recommended" in parameter or "latest" in parameter
        return Moving.PARAMETER if moves else None
    if name:
        return Moving.NAME if set(name) & {"*", "?"} else None
    return Moving.TAGS
