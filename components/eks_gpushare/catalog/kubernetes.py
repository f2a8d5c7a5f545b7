"""Kubernetes versions on EKS and how long AWS supports them.

A table for checks without an account; `aws eks describe-cluster-versions` is the authority. A
minor version has 14 months of standard support and 12 of extended support after that, which
costs more for each cluster hour. Source:
https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html, read 2026-11-21.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

ZONES_WITHOUT_CONTROL_PLANE = frozenset({"use1-az3", "usw1-az2", "cac1-az3"})
"""IDs of zones in which EKS takes no subnet of a cluster:
https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html, read 2026-11-21."""

Support = Literal["standard", "extended", "ended", "unknown"]


class EksVersion(NamedTuple):
    """One Kubernetes minor version on EKS.

    Attributes:
        version: such as "1.35".
        released: the day EKS offered it; None if not known to the day.
        standard_until: the day at whose start (UTC) standard support ends and extended support
            begins to be charged; None if unknown.
        extended_until: the day at whose start extended support ends; None if not announced.

    """

    version: str
    released: date | None
    standard_until: date | None
    extended_until: date | None


def minor_version(version: str) -> tuple[int, int]:
    """The two numbers of a Kubernetes version, by which versions are compared.

    Args:
        version: Such as "1.35".

    Raises:
        ValueError: If it is none.
    """
    major, _, minor = version.partition(".")
    return int(major), int(minor)


@cache
def eks_versions() -> Mapping[str, EksVersion]:
    """The versions that the table knows, oldest first."""
    return MappingProxyType({known.version: known for known in _VERSIONS})


def support(version: str, today: date) -> Support:
    """What support `version` has on the day `today`.

    "unknown" is every version that is not in the table, newer or older. Where the end of
    extended support is not announced, it counts as not reached.
    """
    known = eks_versions().get(version)
    if known is None or known.standard_until is None:
        return "unknown"
    if today < known.standard_until:
        return "standard"
    if known.extended_until is None or today < known.extended_until:
        return "extended"
    return "ended"


_VERSIONS = (
    EksVersion("1.30", date(2024, 5, 23), date(2025, 7, 23), date(2026, 7, 23)),
    EksVersion("1.31", date(2024, 9, 26), date(2025, 11, 26), date(2026, 11, 26)),
    EksVersion("1.32", date(2025, 1, 23), date(2026, 3, 23), date(2027, 3, 23)),
    EksVersion("1.33", date(2025, 5, 29), date(2026, 7, 29), date(2027, 7, 29)),
    EksVersion("1.34", date(2025, 10, 2), date(2026, 12, 2), date(2027, 12, 2)),
    EksVersion("1.35", date(2026, 1, 28), date(2027, 3, 27), date(2028, 3, 27)),
    # The end of 1.36's extended support follows from the rule of 12 months.
    EksVersion("1.36", date(2026, 6, 2), date(2027, 8, 2), date(2028, 8, 2)),
)
