"""EC2's vCPU quotas: which one a node counts on.

The unit is vCPUs, not instances: one p5.48xlarge takes 192. Most accounts start with 0 for GPU
families. Source: AWS, "Amazon EC2 instance type quotas", read 2026-11-21:
https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from eks_gpushare.catalog.instances import InstanceType

Capacity = Literal["onDemand", "spot", "reserved", "capacityBlock"]


class ServiceQuota(NamedTuple):
    """One vCPU quota of the service code `ec2`.

    Attributes:
        code: such as "L-DB2E81BA".
        name: its name in Service Quotas.

    """

    code: str
    name: str


def bucket(instance: InstanceType, capacity: Capacity) -> ServiceQuota | None:
    """The vCPU quota that a node of `instance` counts on, None where none is known.

    Reservations are On-Demand capacity and count on that quota. Capacity Blocks have quotas of
    their own that are not in vCPUs, and AWS names no Spot quota for P6: both give None.
    """
    if capacity == "capacityBlock":
        return None
    market = "spot" if capacity == "spot" else "onDemand"
    code = instance.quota.get(market)
    if code is None and not instance.quota and _STANDARD_FAMILY.fullmatch(instance.family):
        code = _STANDARD[market]
    if code is None:
        return None
    return ServiceQuota(
        code=code, name=_NAMES.get(code, "a quota of this stack's own catalog entry")
    )


# The A, C, D, H, I, M, R, T and Z families. "dl", "hpc", "inf", "mac" and "trn" begin alike but
# have quotas of their own, so a digit must follow; "im" and "is" are storage families of I.
_STANDARD_FAMILY = re.compile(r"(?:a|c|d|h|i|im|is|m|r|t|z)[0-9].*")

_STANDARD = {"onDemand": "L-1216C47A", "spot": "L-34B43A08"}

_NAMES = {
    "L-DB2E81BA": "Running On-Demand G and VT instances",
    "L-3819A6DF": "All G and VT Spot Instance Requests",
    "L-417A185B": "Running On-Demand P instances",
    "L-7212CCBC": "All P4, P3 and P2 Spot Instance Requests",
    "L-C4BD4855": "All P5 Spot Instance Requests",
    "L-1216C47A": "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
    "L-34B43A08": "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests",
}
