"""Rules about names and versions of EKS add-ons."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eks_gpushare.catalog.addon_names import (
    ADDON_NAMES,
    OLDEST_KUBE_PROXY,
    default_minor,
    of_marketplace,
)
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.addons import KUBE_PROXY
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_ADDONS = "https://docs.aws.amazon.com/eks/latest/userguide/workloads-add-ons-available-eks.html"

UNKNOWN_ADDON = Rule(
    "GPU460",
    "error",
    "An add-on has the name of one that EKS offers.",
    "EKS refuses it when the cluster is there.",
    _ADDONS,
)
ADDON_VERSION = Rule(
    "GPU461",
    "error",
    "The version of an add-on is a whole one of EKS.",
    "EKS refuses it when the cluster is there.",
    "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAddon.html",
)
ADDON_MINOR = Rule(
    "GPU462",
    "error",
    "The version of an add-on goes with the cluster's Kubernetes version.",
    "EKS refuses it, or the network of new nodes does not come up.",
    "https://kubernetes.io/releases/version-skew-policy/#kube-proxy",
)

_NAME = re.compile(r"[a-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"v([0-9]+)\.([0-9]+)\.[0-9]+-eksbuild\.[0-9]+")
_MINOR = re.compile(r"([0-9]+)\.([0-9]+)")
_OF_SELLER = re.compile(r"v?[0-9][0-9A-Za-z.+-]*")
_LIST = "aws eks describe-addon-versions --kubernetes-version {} --addon-name {}"


def is_name(name: str) -> bool:
    """Whether a text can be the name of an EKS add-on at all."""
    return bool(_NAME.fullmatch(name))


@check(Scope.CLUSTER, UNKNOWN_ADDON)
def addon_names(ctx: Context) -> Iterator[Finding]:
    cluster = ctx.new_cluster
    for name in cluster.addons.by_name if cluster else ():
        if name in ADDON_NAMES or of_marketplace(name) or not is_name(name):
            continue
        near = similar(name, ADDON_NAMES)
        yield UNKNOWN_ADDON.finding(
            ("cluster", "addons", "byName", name),
            f"{name} is not among the add-ons that this release knows.",
            f"Did you mean {near}?"
            if near
            else "See whether `aws eks describe-addon-versions` has it.",
            None if near else "warning",  # AWS may offer it by now
        )


@check(Scope.CLUSTER, ADDON_VERSION, ADDON_MINOR)
def addon_versions(ctx: Context) -> Iterator[Finding]:
    cluster = ctx.new_cluster
    if cluster is None:
        return
    at: FieldPath = ("cluster", "addons")
    given = [((*at, "versions", name), name, v) for name, v in cluster.addons.versions.items()]
    given += [
        ((*at, "byName", name, "version"), name, addon.version)
        for name, addon in cluster.addons.by_name.items()
        if addon.version is not None
    ]
    for place, name, version in given:
        known = name in ADDON_NAMES
        matched = _VERSION.fullmatch(version)
        if matched is None and (known or not _OF_SELLER.fullmatch(version)):
            message = f'"{version}" is not a version such as v1.22.4-eksbuild.3.'
            fix = f"Take one from `{_LIST.format(cluster.version, name)}`."
            yield ADDON_VERSION.finding(place, message, fix)
        elif matched is not None:
            minor = int(matched[1]), int(matched[2])
            yield from _goes_with(place, name, version, minor, cluster.version)


def _goes_with(
    at: FieldPath, name: str, version: str, minor: tuple[int, int], kubernetes: str
) -> Iterator[Finding]:
    """What of a version does not go with the cluster."""
    matched = _MINOR.fullmatch(kubernetes)
    if matched is None:  # has a finding of its own
        return
    cluster = int(matched[1]), int(matched[2])
    fix = f"Take one of `{_LIST.format(kubernetes, name)}`, or remove the key."
    if name == KUBE_PROXY:
        if minor > cluster:
            message = f"{version} is newer than the cluster, which has Kubernetes {kubernetes}."
            yield ADDON_MINOR.finding(at, message, fix)
        elif minor[0] != cluster[0] or cluster[1] - minor[1] > OLDEST_KUBE_PROXY:
            message = (
                f"{version} is more than {OLDEST_KUBE_PROXY} minor versions behind the cluster, "
                f"which has Kubernetes {kubernetes}."
            )
            yield ADDON_MINOR.finding(at, message, fix)
        return
    default = default_minor(name, kubernetes)
    if name == "coredns" and default is not None and minor > default:
        message = (
            f"{version} is newer than what EKS has for Kubernetes {kubernetes}, "
            f"{default[0]}.{default[1]}."
        )
        yield ADDON_MINOR.finding(at, message, fix, "warning")
