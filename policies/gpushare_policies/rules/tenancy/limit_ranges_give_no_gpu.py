"""A LimitRange gives GPUs to nobody who has not asked."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_RAW = (
    "Leave the resource out of `default` and `defaultRequest`; a container that needs a GPU asks "
    "for it."
)

LIMIT_RANGES_GIVE_NO_GPU = StackPolicy(
    "limit-ranges-give-no-gpu",
    "A LimitRange must not give GPUs to containers that ask for none.",
    check=edge_check("limit-ranges-give-no-gpu"),
    applies_to=("kubernetes:core/v1:LimitRange",),
    severity=Severity.MEDIUM,
    fix=Fix(_RAW, _RAW, _RAW),
)
