"""The region of a resource, as far as a program says it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gpushare_policies.props import each, peek
from gpushare_policies.tokens import AWS_CLUSTER, SUBNET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pulumi_policy import PolicyResource

_ZONE = re.compile(r"([a-z]{2}(?:-[a-z]+)+-[0-9]+)[a-z]")


def region_of(resource: PolicyResource, of_subnets: str | None) -> str | None:
    """The region of a resource: its own, its provider's, or that of the subnets of the stack."""
    provider = resource.provider
    for found in (
        peek(resource.props, "region"),
        peek(provider.props, "region") if provider is not None else None,
        next(_regions(each(peek(resource.props, "availabilityZones"))), of_subnets),
    ):
        if isinstance(found, str) and found:
            return found
    return None


def region_of_subnets(resources: Sequence[PolicyResource]) -> str | None:
    """The region of the first subnet of a stack that says its zone."""
    subnets = (found for found in resources if found.resource_type == SUBNET)
    return next(_regions(peek(subnet.props, "availabilityZone") for subnet in subnets), None)


def only_region_of(resources: Sequence[PolicyResource]) -> str | None:
    """The one region in which a program makes clusters, None where it is not known."""
    clusters = [found for found in resources if found.resource_type == AWS_CLUSTER]
    of_subnets = region_of_subnets(resources)
    regions = {region_of(cluster, of_subnets) for cluster in clusters}
    return regions.pop() if len(regions) == 1 else None


def _regions(zones: Iterable[Any]) -> Iterator[str]:
    for zone in zones:
        if (match := _ZONE.fullmatch(str(zone or ""))) is not None:
            yield match[1]
