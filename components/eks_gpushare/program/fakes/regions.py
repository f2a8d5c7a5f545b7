"""Which AWS region a look-up is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.program.errors import PlanError

if TYPE_CHECKING:
    from eks_gpushare.program.fakes.types import Plan
    from eks_gpushare.program.values import Properties


def region_of(plan: Plan, args: Properties, provider: str) -> str:
    """The region of a look-up, of its provider, or of the stack.

    Raises:
        PlanError: If none of them names one.
    """
    region = args.get("region") or plan.region(provider)
    if isinstance(region, str) and region:
        return region
    msg = (
        "the stack names no AWS region: set `aws:region` in its config, `region` on a provider, or "
        "AWS_REGION in the environment of this command"
    )
    raise PlanError(msg)
