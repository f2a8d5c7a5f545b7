"""Rules on stacks that checks of inventories judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.facts.fact import Front
from eks_gpushare.facts.index import facts_of, is_worth_refusing
from eks_gpushare.inventory.problem import NotSeen
from gpushare_policies.checks import StackViolation, Unjudged
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.inventory import program_of, urn_of
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix, is_ours

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pulumi_policy import Severity, StackValidationArgs

    from eks_gpushare.inventory.problem import Problem
    from gpushare_policies.checks import StackCheck

ELSEWHERE = "the cluster is made elsewhere"
"""Why something of a stack may be mended by what others put into its cluster."""
_JUDGED: set[str] = set()


def judging_edges() -> frozenset[str]:
    """The numbers of all checks that some rule goes by."""
    return frozenset(_JUDGED)


def edge_check(policy: str, *, stack_file: str = "", likely: Collection[str] = ()) -> StackCheck:
    """A check that says what checks of inventories find of the facts of a policy.

    What is worth less than the policy is left out: of one that only advises, notes; of another one,
    warnings too, unless the index says that the fact is worth more here.

    Args:
        policy: The name by which the index knows the facts.
        stack_file: How to comply in a stack file, for what this project's components make.
        likely: Codes that are said even where something outside the program may mend it.
    """
    facts = facts_of(policy)
    wanted = {code for fact in facts for code in fact.names_of(Front.FILES)}
    severities = ("error",) if is_worth_refusing(policy) else ("error", "warning")
    always = {
        code
        for fact in facts
        for code in fact.names_of(Front.FILES)
        if fact.severity_of(code) not in severities and fact.severity_of(policy) in severities
    }.union(likely)
    _JUDGED.update(wanted)

    def look(args: StackValidationArgs) -> Iterator[StackViolation | Unjudged]:
        refuse_blanks(args)
        program = program_of(args.resources)
        for problem in program.judgements():
            if problem.rule.id not in wanted:
                continue
            if isinstance(problem, NotSeen):
                yield Unjudged(problem.what.rstrip("."))
            elif (
                problem.rule.id in always
                or (problem.severity or problem.rule.severity) in severities
            ):
                yield _said(problem, stack_file)
            elif not program.inventory.complete and problem.rule.severity in severities:
                yield Unjudged(f"{problem.message.rstrip('.')} ({ELSEWHERE})")

    return look


def edge_policy(
    name: str,
    description: str,
    *,
    applies_to: Sequence[str],
    severity: Severity,
    fix: str,
    stack_file: str = "",
    likely: Collection[str] = (),
    unseen: str = "",
) -> StackPolicy:
    """A policy that says what checks of inventories find of the facts that have its name.

    Args:
        name: Its name, by which the index knows the facts.
        description: What must be.
        applies_to: Type tokens of the resources that it looks at, for the documentation.
        severity: How much it weighs.
        fix: How to comply, for resources of anybody.
        stack_file: How to comply in a stack file, if not so.
        likely: Codes that are said even where something outside the program may mend it.
        unseen: What it does not see, for the documentation.
    """
    return StackPolicy(
        name,
        description,
        check=edge_check(name, stack_file=stack_file, likely=likely),
        applies_to=applies_to,
        unseen=unseen,
        severity=severity,
        fix=Fix(stack_file or fix, fix, fix),
    )


def _said(problem: Problem, stack_file: str) -> StackViolation:
    urn = urn_of(problem.source)
    fix = stack_file if stack_file and is_ours(urn) else problem.fix
    return StackViolation(f"{problem.message} {fix}".rstrip(), urn, problem.rule.id)
