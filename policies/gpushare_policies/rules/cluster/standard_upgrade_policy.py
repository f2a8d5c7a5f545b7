"""The rule on what EKS does at the end of standard support."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import read
from gpushare_policies.rule import ResourcePolicy, security_hub
from gpushare_policies.shapes import on_clusters
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_SET_STANDARD = "Set `upgradePolicy: {supportType: STANDARD}`."
_STANDARD = Fix(
    "Set `cluster.supportType: standard` in the stack file, or leave the key out.",
    _SET_STANDARD,
    _SET_STANDARD,
)


def _support_type(args: ResourceValidationArgs) -> Iterator[str]:
    kind = read(args.props, "upgradePolicy", "supportType")
    if str(kind).upper() != "STANDARD":
        found = "unset, which EKS takes for EXTENDED" if kind is None else str(kind)
        yield (
            f"The upgrade policy of {name_of(args.urn)} is {found}. It must be STANDARD: EKS then "
            f"upgrades the cluster at the end of standard support and charges no more for "
            f"it. {_STANDARD.of(args.urn)}"
        )


STANDARD_UPGRADE_POLICY = ResourcePolicy(
    "standard-upgrade-policy",
    "The cluster's upgrade policy must be STANDARD.",
    checks=on_clusters(_support_type),
    severity=Severity.LOW,
    framework=security_hub("EKS.2", "Clusters run on a supported Kubernetes version."),
    fix=_STANDARD,
)
