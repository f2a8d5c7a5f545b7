"""The rule on the private API endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import format_value, is_true, read
from gpushare_policies.rule import ResourcePolicy, cis
from gpushare_policies.shapes import on_clusters
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_PRIVATE = Fix(
    "Set `cluster.endpoint.private: true` in the stack file, or leave the key out.",
    "Set `endpointPrivateAccess: true`.",
    "Set `vpcConfig.endpointPrivateAccess: true`.",
)


def _endpoint_private(args: ResourceValidationArgs) -> Iterator[str]:
    private = read(args.props, "vpcConfig", "endpointPrivateAccess")
    if not is_true(private):
        yield (
            f"The private API endpoint of {name_of(args.urn)} is {format_value(private)}. It must "
            f"be on, so that nodes reach the API server within the VPC. {_PRIVATE.of(args.urn)}"
        )


PRIVATE_ENDPOINT_ON = ResourcePolicy(
    "private-endpoint-on",
    "The private API endpoint must be on.",
    checks=on_clusters(_endpoint_private),
    severity=Severity.HIGH,
    framework=cis("5.4.2", "The private endpoint is enabled."),
    also=("aws-security-hub/EKS.1",),
    fix=_PRIVATE,
)
