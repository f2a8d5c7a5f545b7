"""The rule that says what the configuration of the others lets be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, Severity, StackValidationArgs

from gpushare_policies.exemptions import LEDGER
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = "Remove what has ended or is for nothing from `exemptions` of the rule it is for."


def _exemptions(_args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    # It comes last in the pack, so every other rule has run.
    for exempted in tuple(LEDGER.exempted):
        yield str(exempted), exempted.urn
    for said in tuple(LEDGER.over()):
        yield said, ""


EXEMPTIONS_IN_FORCE = StackPolicy(
    "exemptions-in-force",
    "What is exempted from a rule must be known: it is listed here until its last day.",
    check=_exemptions,
    applies_to=("pulumi:pulumi:Stack",),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    fix=Fix(_WORDS, _WORDS, _WORDS),
)

EXEMPTIONS_IN_FORCE.ledger = LEDGER
