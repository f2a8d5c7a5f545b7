"""`eks-gpushare findings [CODE...]`: explains findings by their codes, or lists all there are."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE, WRONG_USAGE
from eks_gpushare.cli.streams import print_json
from eks_gpushare.cli.verbs import added_verbs
from eks_gpushare.findings.text import line_width

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from eks_gpushare.findings.rule import Rule


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `findings`."""
    parser.add_argument(
        "codes", nargs="*", metavar="CODE", help="such as GPU201 (default: all that there are)"
    )


def run(options: argparse.Namespace) -> int:
    """Explain kinds of findings, or list all."""
    from eks_gpushare.lint.all_rules import lint_rules
    from eks_gpushare.rules import all_rules, defect_rules, edit_rules

    known = {rule.id: ("check, preview", rule) for rule in (*all_rules(), *defect_rules())}
    known |= {rule.id: ("preview --before", rule) for rule in edit_rules()}
    known |= {rule.id: ("lint", rule) for rule in lint_rules()}
    for verb in added_verbs():
        known |= {rule.id: (verb.REPORTED_BY, rule) for rule in verb.RULES}
    wanted = [each.upper() for each in options.codes] or sorted(known)
    unknown = [each for each in wanted if each not in known]
    if unknown:
        listed = "`eks-gpushare findings` lists all"
        print(f"eks-gpushare: there is no finding {', '.join(unknown)}; {listed}", file=sys.stderr)
        return WRONG_USAGE
    chosen = {name: known[name] for name in wanted}
    if options.json:
        found = [_as_json(reported_by, rule) for reported_by, rule in chosen.values()]
        print_json({"findings": found})
    elif options.codes:
        print("\n\n".join(_explained(reported_by, rule) for reported_by, rule in chosen.values()))
    else:
        _print_all(chosen)
    return FINE


def _as_json(reported_by: str, rule: Rule) -> dict[str, str]:
    return {
        "code": rule.id,
        "severity": rule.severity,
        "rule": rule.title,
        "why": rule.why,
        "reportedBy": reported_by,
        "saidBy": reported_by,  # deprecated, see CHANGELOG
        "source": rule.source,
    }


def _explained(reported_by: str, rule: Rule) -> str:
    width = line_width(sys.stdout)
    head = f"{rule.id}, {rule.severity}, reported by {reported_by}"
    indented = (
        textwrap.fill(text, width, initial_indent="  ", subsequent_indent="  ")
        for text in (rule.title, rule.why)
    )
    return "\n".join([head, *indented, f"  {rule.source}"])


def _print_all(codes: Mapping[str, tuple[str, Rule]]) -> None:
    last = ""
    for reported_by, rule in codes.values():
        if reported_by != last:
            print(f"{chr(10) if last else ''}Reported by {reported_by}")
            last = reported_by
        print(f"  {rule.id}  {rule.severity:7}  {rule.title}")
