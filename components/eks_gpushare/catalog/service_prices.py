"""What AWS charges by the hour or month for what an environment has besides instances.

List prices in USD without taxes, discounts and free tiers. A region that is not in a table is one
whose price nobody has told us: unknown, and never 0. The authority is AWS's price list
(`aws pricing get-products`).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.catalog.partitions import COMMERCIAL, partition_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog.kubernetes import Support

HOURS_PER_MONTH = 730
"""Hours of a month as AWS's own calculator counts them: https://calculator.aws."""


class ServicePrices(NamedTuple):
    """Prices in one region, in USD; None where unknown."""

    nat_gateway: float | None
    """A NAT gateway, per hour."""
    gp3: float | None
    """A gp3 volume, per GiB and month; 3000 IOPS and 125 MiB/s are in it."""
    public_ipv4: float | None
    """A public IPv4 address, in use or not, per hour."""
    kms_key: float | None
    """A KMS key of one's own, per month; rotations add to it."""


def service_prices(region: str | None) -> ServicePrices:
    """What services cost in a region; all unknown where the region is."""
    if region is None:
        return ServicePrices(None, None, None, None)
    everywhere = partition_of(region) is COMMERCIAL
    return ServicePrices(
        nat_gateway=_NAT_GATEWAY.get(region),
        gp3=_GP3.get(region),
        public_ipv4=0.005 if everywhere else None,
        kms_key=1.0 if everywhere else None,
    )


def control_plane_price(region: str | None, support: Support) -> float | None:
    """USD per hour of an EKS control plane, by the support that its version has.

    The same in all regions (https://aws.amazon.com/eks/pricing). Extended support costs six times
    as much, whatever the version.
    """
    if region is None or partition_of(region) is not COMMERCIAL:
        return None
    return {"standard": 0.10, "extended": 0.60}.get(support)


SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "controlPlane": "https://aws.amazon.com/eks/pricing as quoted in "
        "https://cloudburn.io/blog/amazon-eks-pricing of March 2026",
        "natGateway": "https://aws.amazon.com/vpc/pricing as copied in "
        "github.com/pipetail/cloudlint, pkg/worker/nat_gw_unused.go of 2022-08-20",
        "publicIpv4": "https://aws.amazon.com/blogs/aws/"
        "new-aws-public-ipv4-address-charge-public-ip-insights: since 2024-02-01",
        "rootVolume": "https://aws.amazon.com/ebs/pricing as copied in public code of 2021-07-14 "
        "(a table of SotoEC2's users); eu-central-1 and us-east-1 seen again in 2026",
        "kmsKey": "https://aws.amazon.com/kms/pricing as commonly quoted; not read there",
    }
)
"""Where the prices of services come from, and of when they are."""

_NAT_GATEWAY: Mapping[str, float] = MappingProxyType(
    {
        "ap-east-1": 0.065,
        "ap-northeast-1": 0.062,
        "ap-northeast-2": 0.059,
        "ap-northeast-3": 0.062,
        "ap-south-1": 0.056,
        "ap-southeast-1": 0.059,
        "ap-southeast-2": 0.059,
        "ca-central-1": 0.05,
        "eu-central-1": 0.052,
        "eu-north-1": 0.046,
        "eu-west-1": 0.048,
        "eu-west-2": 0.05,
        "eu-west-3": 0.05,
        "me-south-1": 0.0528,
        "sa-east-1": 0.093,
        "us-east-1": 0.045,
        "us-east-2": 0.045,
        "us-gov-east-1": 0.054,
        "us-gov-west-1": 0.054,
        "us-west-1": 0.048,
        "us-west-2": 0.045,
    }
)

_GP3: Mapping[str, float] = MappingProxyType(
    {
        "af-south-1": 0.1047,
        "ap-east-1": 0.1056,
        "ap-northeast-1": 0.096,
        "ap-northeast-2": 0.0912,
        "ap-northeast-3": 0.096,
        "ap-south-1": 0.0912,
        "ap-southeast-1": 0.096,
        "ap-southeast-2": 0.096,
        "ca-central-1": 0.088,
        "eu-central-1": 0.0952,
        "eu-north-1": 0.0836,
        "eu-south-1": 0.0924,
        "eu-west-1": 0.088,
        "eu-west-2": 0.0928,
        "eu-west-3": 0.0928,
        "me-south-1": 0.0968,
        "sa-east-1": 0.152,
        "us-east-1": 0.08,
        "us-east-2": 0.08,
        "us-west-1": 0.096,
        "us-west-2": 0.08,
    }
)
