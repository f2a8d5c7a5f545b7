"""What a rule is: everything there is to say about one kind of finding, in one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.findings.finding import Finding, dotted

if TYPE_CHECKING:
    from types import ModuleType

    from eks_gpushare.findings.finding import FieldPath, Severity


_LONGEST = 4000
"""Characters of a message; only a user's own words make it longer."""


class Rule(NamedTuple):
    """A kind of finding. Its id is stable: users silence and search for it."""

    id: str
    """`GPU` and three digits; four where it is about files and programs of others."""
    severity: Severity
    """What a finding of this kind means for the stack, unless the finding says otherwise."""
    title: str
    """The rule in one sentence, as it heads the page of the finding."""
    why: str
    """What would happen without the rule."""
    source: str
    """A link or issue that explains it."""
    not_alone: str = ""
    """Why a component that stands alone has no such finding. Default: it has."""

    def finding(
        self, at: FieldPath, message: str, fix: str, severity: Severity | None = None
    ) -> Finding:
        """A finding of this kind.

        Args:
            at: The place, in parts.
            message: What was given and what is allowed.
            fix: The change that removes the finding.
            severity: Only where it differs from that of the rule.
        """
        worth = severity or self.severity
        where = dotted(at)
        return Finding(self.id, worth, where, _cut(message), _cut(fix), self.source, tuple(at))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def rules_in(*modules: ModuleType) -> tuple[Rule, ...]:
    """The rules that modules define, by number."""
    found = {rule for module in modules for rule in vars(module).values() if isinstance(rule, Rule)}
    return tuple(sorted(found))
