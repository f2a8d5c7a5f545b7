"""Rules about releases of images: there is one already, and it is for the cluster's version."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from eks_gpushare.catalog import bottlerocket as facts
from eks_gpushare.catalog import eks_versions
from eks_gpushare.catalog.amis import BEFORE_EKS
from eks_gpushare.config.base import known_fields
from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.bottlerocket import is_bottlerocket, needed_setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

RELEASE_DATE = Rule(
    "GPU646",
    "error",
    "The date of an AMI release is a day on which there was one.",
    "EKS has no such release, and refuses the node group.",
    "https://github.com/awslabs/amazon-eks-ami/blob/main/CHANGELOG.md",
)
BOTTLEROCKET_VERSION = Rule(
    "GPU647",
    "error",
    "A Bottlerocket release has an image for the cluster's Kubernetes version.",
    "EKS has no such image, and refuses the node group.",
    facts.KUBERNETES_SOURCE,
)

_AHEAD = timedelta(days=2)
"""Room for clocks and time zones."""


@check(Scope.POOL, RELEASE_DATE)
def pool_release(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner != "existing" and pool.ami_family == "al2023":
        yield from _date_fits(("pools", name, "amiVersion"), pool.ami_version, ctx.today)


@check(Scope.SYSTEM_NODES, RELEASE_DATE)
def system_release(ctx: Context) -> Iterator[Finding]:
    """For the system nodes."""
    system = ctx.environment.system
    if system is not None:
        yield from _date_fits(("system", "amiVersion"), system.ami_version, ctx.today)


def _date_fits(at: FieldPath, release: str | None, today: date) -> Iterator[Finding]:
    """Findings on the date of an AL2023 release; of what is none there is a finding elsewhere."""
    version, _, digits = (release or "").rpartition("-")
    if len(digits) != len("YYYYMMDD") or not (digits.isascii() and digits.isdecimal()):
        return
    minor = ".".join(version.split(".")[:2])
    try:
        day = date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        message = f"{digits} in {release} is no date of the form year, month, day."
        yield RELEASE_DATE.finding(at, message, "Take one from the EKS AMI release list.")
        return
    known = eks_versions().get(minor)
    if day > today + _AHEAD:
        message = f"{release} is of {day}, and today is {today}."
    elif known is not None and known.released is not None and day < known.released - BEFORE_EKS:
        message = f"{release} is of {day}; EKS has Kubernetes {minor} since {known.released}."
    else:
        return
    yield RELEASE_DATE.finding(at, message, "Take one from the EKS AMI release list.")


@check(Scope.POOL, BOTTLEROCKET_VERSION)
def bottlerocket_version(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner == "existing" or pool.ami_family == "custom" or not is_bottlerocket(pool):
        return
    release, version = facts.bottlerocket_release(pool.ami_version or ""), _version(ctx)
    if release is None:
        return
    types = [found for found, _ in ctx.gpu_types(pool)]
    setting = needed_setting(pool, types, ctx.catalog)
    since, until = facts.KUBERNETES_SINCE.get(version), facts.KUBERNETES_UNTIL.get(version)
    # Those who ask for a later one in a finding of their own name one for this version too.
    if (setting is not None and release < setting.since) or (pool.efa and release < facts.EFA):
        return
    said = f"Bottlerocket {facts.format_version(release)} has no image for Kubernetes {version}"
    at: FieldPath = ("pools", name, "amiVersion")
    if since is not None and release < since:
        first = facts.format_version(since)
        message, fix = f"{said}; the first one is in {first}.", f"Take {first} or later."
        yield BOTTLEROCKET_VERSION.finding(at, message, fix)
    elif until is not None and release >= until:
        message = f"{said} any more, since {facts.format_version(until)}."
        fix = "Take an earlier release, and raise cluster.version soon."
        yield BOTTLEROCKET_VERSION.finding(at, message, fix)


def first_for_cluster(ctx: Context, since: facts.Release) -> facts.Release:
    """The first Bottlerocket release from one on that has an image for the cluster's version."""
    return max(since, facts.KUBERNETES_SINCE.get(_version(ctx), since))


def _version(ctx: Context) -> str:
    """Kubernetes version of the cluster, as far as it is known."""
    cluster = known_fields(ctx.environment).get("cluster")
    version = known_fields(cluster).get("version") if isinstance(cluster, NewCluster) else None
    return str(version or "")
