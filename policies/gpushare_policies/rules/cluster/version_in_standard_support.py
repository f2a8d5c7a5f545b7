"""The rule on the age of the cluster's Kubernetes version."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.catalog.kubernetes import eks_versions, support
from gpushare_policies.props import format_value, read
from gpushare_policies.rule import ResourcePolicy, security_hub
from gpushare_policies.shapes import on_clusters
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def today() -> date:
    """Today's date in UTC, which support dates are compared with."""
    return datetime.now(tz=UTC).date()


_MINOR = re.compile(r"([0-9]+)\.([0-9]+)")


def _minor(version: str) -> tuple[int, ...]:
    """Both numbers of a version, none of what is no version."""
    found = _MINOR.fullmatch(version)
    return tuple(map(int, found.groups())) if found else ()


def _out_of_support(version: str) -> str | None:
    state = support(version, today())
    known = eks_versions()
    if state == "unknown":  # a version newer than the table is fine
        oldest = min(map(_minor, known))
        if not _minor(version):
            return "is no minor version of Kubernetes"
        return "is older than every version EKS runs" if _minor(version) < oldest else None
    if state == "standard":
        return None
    if state == "ended":
        return "is out of all support"
    ended = known[version].standard_until
    return f"left standard support on {ended} and costs more for each hour"


_SET_VERSION = "Set `version` to one of them, as text. EKS upgrades one minor version at a time."
_SUPPORTED = Fix(
    "Set `cluster.version` in the stack file to one of them, quoted. EKS upgrades one minor "
    "version at a time.",
    _SET_VERSION,
    _SET_VERSION,
)


def _version(args: ResourceValidationArgs) -> Iterator[str]:
    version = read(args.props, "version")
    if version is None or version == "":
        found = f"The Kubernetes version of {name_of(args.urn)} is unset, so EKS chooses it"
    elif (reason := _out_of_support(format_value(version))) is not None:
        found = f"Kubernetes {format_value(version)} of {name_of(args.urn)} {reason}"
    else:
        return
    good = [name for name in eks_versions() if support(name, today()) == "standard"]
    yield (
        f"{found}. It must be a version in standard support: {', '.join(good)}. "
        f"{_SUPPORTED.of(args.urn)}"
    )


VERSION_SUPPORTED = ResourcePolicy(
    "version-in-standard-support",
    "The cluster's Kubernetes version must be pinned and in standard support.",
    checks=on_clusters(_version),
    severity=Severity.MEDIUM,
    framework=security_hub("EKS.2", "Clusters run on a supported Kubernetes version."),
    also=("prowler/eks_cluster_uses_a_supported_version",),
    fix=_SUPPORTED,
)
