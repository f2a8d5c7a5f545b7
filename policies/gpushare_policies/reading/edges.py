"""Rules on stacks that checks of inventories judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.inventory.problem import NotSeen
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.inventory import program_of, urn_of
from gpushare_policies.rule import Unjudged
from gpushare_policies.words import is_ours

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pulumi_policy import StackValidationArgs

    from eks_gpushare.findings.rule import Rule as Edge
    from eks_gpushare.inventory.problem import Problem
    from eks_gpushare.inventory.registry import Edge as Look
    from gpushare_policies.rule import StackCheck

FINDINGS = ("error", "warning")
"""What is worth a violation of a rule that only advises."""


_JUDGED: set[str] = set()


def judging_edges() -> frozenset[str]:
    """The numbers of all checks that some rule goes by."""
    return frozenset(_JUDGED)


def edge_check(
    *rules: Edge,
    stack_file: str = "",
    severities: Collection[str] = ("error",),
    whatever: Collection[Edge] = (),
    only_of: Look | None = None,
) -> StackCheck:
    """A check that says what is found by some checks of inventories.

    Args:
        rules: Whose problems are violations.
        stack_file: How to comply in a stack file, for what this project's components make.
        severities: Of which worth problems are violations; what is worth less is left out.
        whatever: Further ones, whose problems are violations whatever they are worth.
        only_of: The one check that is asked, where others have problems of the same rules.
    """
    always = {rule.id for rule in whatever}
    wanted = {rule.id for rule in rules} | always
    _JUDGED.update(wanted)

    def look(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
        refuse_blanks(args)
        program = program_of(args.resources)
        every = only_of.look(program.inventory) if only_of else program.judgements()
        for each in every:
            if each.rule.id not in wanted:
                continue
            if isinstance(each, NotSeen):
                yield Unjudged(each.what.rstrip("."))
            elif each.rule.id in always or (each.severity or each.rule.severity) in severities:
                yield _said(each, stack_file)

    return look


def _said(problem: Problem, stack_file: str) -> tuple[str, str]:
    urn = urn_of(problem.source)
    fix = stack_file if stack_file and is_ours(urn) else problem.fix
    return f"{problem.message} {fix}".rstrip(), urn
