"""Start the policy pack; `PolicyPack` serves the rules until the engine ends the process."""

from __future__ import annotations

from pulumi_policy import PolicyPack

from gpushare_policies import DESCRIPTION, DISPLAY_NAME, NAME, POLICIES

PolicyPack(
    name=NAME,
    policies=list(POLICIES),
    display_name=DISPLAY_NAME,
    description=DESCRIPTION,
    provider="AWS",
    tags=["aws", "eks", "gpu", "nvidia"],
)
