"""The names that findings are known by: codes, and policies that say what a code does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.cli.verbs import added_verbs

if TYPE_CHECKING:
    from eks_gpushare.findings.rule import Rule

POLICY: Final = "policy"
"""What reports a policy of the pack."""


class Known(NamedTuple):
    """What is known of a name."""

    reported_by: str
    rules: tuple[Rule, ...]
    """Of a code its one kind of finding, of a policy a kind for each fact that it says."""


def known_names() -> dict[str, Known]:
    """All codes, and the policies that say what a code does."""
    from eks_gpushare.facts.fact import Front
    from eks_gpushare.facts.index import every_fact
    from eks_gpushare.findings.rule import rules_in
    from eks_gpushare.lint.all_rules import lint_rules
    from eks_gpushare.live import rules as live
    from eks_gpushare.rules import all_rules, defect_rules, edit_rules

    found = [("check, preview", rule) for rule in (*all_rules(), *defect_rules())]
    found += [("preview --before", rule) for rule in edit_rules()]
    found += [("lint", rule) for rule in lint_rules()]
    found += [("verify", rule) for rule in rules_in(live)]
    found += [(verb.REPORTED_BY, rule) for verb in added_verbs() for rule in verb.RULES]
    known = {rule.id: Known(reported_by, (rule,)) for reported_by, rule in found}
    for fact in every_fact():
        for name in fact.names_of(Front.POLICY):
            before = known[name].rules if name in known else ()
            known[name] = Known(POLICY, (*before, fact.rule(name)))
    return known
