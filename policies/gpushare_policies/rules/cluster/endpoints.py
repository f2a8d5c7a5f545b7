"""The rules on whom the API endpoints answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.inventory.control_plane import open_to
from gpushare_policies.props import each, format_value, is_true, read
from gpushare_policies.rule import ResourcePolicy, cis
from gpushare_policies.shapes import on_clusters, switch
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOT_OPEN = Fix(
    "Set `cluster.endpoint.publicCidrs` in the stack file to them, or `cluster.endpoint.public: "
    "false`.",
    "Set `publicAccessCidrs` to them, or `endpointPublicAccess: false`.",
    "Set `vpcConfig.publicAccessCidrs` to them, or `vpcConfig.endpointPublicAccess: false`.",
)


def _endpoint_not_open(args: ResourceValidationArgs) -> Iterator[str]:
    if not is_true(switch(args, "vpcConfig", "endpointPublicAccess", default=True)):
        return
    cidrs = [str(cidr) for cidr in each(read(args.props, "vpcConfig", "publicAccessCidrs"))]
    found = open_to(cidrs)
    if found is None:
        return
    yield (
        f"The public API endpoint of {name_of(args.urn)} is open to the world: {found}. It must "
        f"name the networks that may use it. {_NOT_OPEN.of(args.urn)}"
    )


PUBLIC_ENDPOINT_NOT_OPEN = ResourcePolicy(
    "public-endpoint-not-open",
    "The public API endpoint must never be open to the world.",
    checks=on_clusters(_endpoint_not_open),
    severity=Severity.CRITICAL,
    framework=cis("5.4.1", "Access to the control plane endpoint is restricted."),
    also=("aws-security-hub/EKS.1", "prowler/eks_cluster_not_publicly_accessible"),
    fix=_NOT_OPEN,
)


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
