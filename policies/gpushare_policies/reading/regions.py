"""The region of a resource, as far as a program says it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpushare_policies.props import each, peek
from gpushare_policies.tokens import SUBNET

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pulumi_policy import PolicyResource

_ZONE = re.compile(r"([a-z]{2}(?:-[a-z]+)+-[0-9]+)[a-z]")


def region_of(resource: PolicyResource, resources: Sequence[PolicyResource]) -> str | None:
    """The region of a resource: its own, its provider's, or that of the subnets of the stack."""
    provider = resource.provider
    for found in (
        peek(resource.props, "region"),
        peek(provider.props, "region") if provider is not None else None,
        next(_zones(resource, resources), None),
    ):
        if isinstance(found, str) and found:
            return found
    return None


def _zones(resource: PolicyResource, resources: Sequence[PolicyResource]) -> Iterator[str]:
    named = [str(zone) for zone in each(peek(resource.props, "availabilityZones"))]
    named += [
        str(peek(other.props, "availabilityZone") or "")
        for other in resources
        if other.resource_type == SUBNET
    ]
    for zone in named:
        if (match := _ZONE.fullmatch(zone)) is not None:
            yield match[1]
