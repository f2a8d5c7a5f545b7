"""Which image the nodes of a pool start from, as Karpenter selects it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import ami_release
from eks_gpushare.catalog.amis import release_date
from eks_gpushare.catalog.bottlerocket import bottlerocket_release, format_version

if TYPE_CHECKING:
    from eks_gpushare.config.pools import Pool

_FAMILIES = {"al2023": "AL2023", "bottlerocket": "Bottlerocket"}
_DATE = re.compile(r"[0-9]{8}")


class UnknownReleaseError(ValueError):
    """No release of the image is given or known; the rules ask for one beforehand."""


def family_of(pool: Pool) -> str:
    """Family of the image as a stack file calls it, that of an image of the user's own too."""
    return pool.custom_ami.family if pool.custom_ami else pool.ami_family


def ami_family(pool: Pool) -> str:
    """The family as Karpenter calls it: by it the user data is made."""
    return _FAMILIES[family_of(pool)]


def ami_terms(pool: Pool, version: str | None) -> list[dict[str, Any]]:
    """What goes below `spec.amiSelectorTerms` of an EC2NodeClass.

    An alias stands for the images of a release for every architecture, with the NVIDIA driver
    where a type has a GPU; its release is always named, since `latest` would exchange all nodes
    whenever AWS publishes one.

    Args:
        pool: The pool.
        version: Kubernetes version of the cluster, None if it is not known.

    Raises:
        UnknownReleaseError: The pool names no release and the catalog has none for the version.
    """
    if pool.custom_ami is not None:
        return [{"id": pool.custom_ami.id}]
    return [{"alias": f"{pool.ami_family}@{_release(pool, version)}"}]


def release_of(pool: Pool, version: str | None) -> str | None:
    """The release that the nodes start from: the pool's, or the newest known for the version."""
    return pool.ami_version or ami_release(pool.ami_family, version or "")


def _release(pool: Pool, version: str | None) -> str:
    release = release_of(pool, version)
    if release is None:
        raise UnknownReleaseError(f"No {pool.ami_family} release for Kubernetes {version} is known")
    if pool.ami_family == "bottlerocket":
        known = bottlerocket_release(release)
        if known is None:
            raise UnknownReleaseError(f"{release} is not a Bottlerocket release")
        return f"v{format_version(known)}"
    date = release_date(release)
    if date is None or _DATE.fullmatch(date) is None:
        raise UnknownReleaseError(f"{release} is not an AL2023 release")
    return f"v{date}"
