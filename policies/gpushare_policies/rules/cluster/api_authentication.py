"""The rule on how the cluster knows who somebody is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import read
from gpushare_policies.rule import ResourcePolicy, cis
from gpushare_policies.shapes import on_clusters
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_API_MODE = Fix(
    "A cluster made from a stack file always has it, and people are listed under "
    "`cluster.admins`: remove what changes the mode, such as a transform.",
    "Set `authenticationMode: API` and list people and roles of nodes under `accessEntries`. From "
    "CONFIG_MAP, EKS goes by way of API_AND_CONFIG_MAP.",
    "Set `accessConfig.authenticationMode: API` and make an access entry for each principal of "
    "aws-auth. From CONFIG_MAP, EKS goes by way of API_AND_CONFIG_MAP.",
)


def _authentication(args: ResourceValidationArgs) -> Iterator[str]:
    mode = read(args.props, "accessConfig", "authenticationMode")
    if mode == "API":
        return
    found = "unset, which EKS takes for CONFIG_MAP" if mode is None else str(mode)
    yield (
        f"The authentication mode of {name_of(args.urn)} is {found}. It must be API: access "
        f"entries are seen and checked in AWS, the aws-auth ConfigMap is not. "
        f"{_API_MODE.of(args.urn)}"
    )


API_AUTHENTICATION = ResourcePolicy(
    "api-authentication",
    "The cluster must know roles and users of IAM by access entries only.",
    checks=on_clusters(_authentication),
    severity=Severity.HIGH,
    framework=cis("4.1.7", "Access is managed with the Cluster Access Manager API."),
    fix=_API_MODE,
)
