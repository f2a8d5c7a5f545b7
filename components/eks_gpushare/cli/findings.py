"""`eks-gpushare findings [CODE...]`: explains findings by their codes, or lists all there are."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE, WRONG_USAGE
from eks_gpushare.cli.verbs import added_verbs
from eks_gpushare.findings.text import line_width

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from eks_gpushare.findings.finding import Code


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `findings`."""
    parser.add_argument(
        "codes", nargs="*", metavar="CODE", help="such as GPU201 (default: all that there are)"
    )


def run(options: argparse.Namespace) -> int:
    """Explain kinds of findings, or list all."""
    from eks_gpushare.rules import all_codes

    known = {code.code: ("check, preview", code) for code in all_codes()}
    for verb in added_verbs():
        known |= {code.code: (verb.REPORTED_BY, code) for code in verb.RULES}
    wanted = [each.upper() for each in options.codes] or sorted(known)
    unknown = [each for each in wanted if each not in known]
    if unknown:
        listed = "`eks-gpushare findings` lists all"
        print(f"eks-gpushare: there is no finding {', '.join(unknown)}; {listed}", file=sys.stderr)
        return WRONG_USAGE
    chosen = {name: known[name] for name in wanted}
    if options.json:
        import json

        found = [_as_json(reported_by, code) for reported_by, code in chosen.values()]
        json.dump({"findings": found}, sys.stdout, indent=2)
        print()
    elif options.codes:
        print("\n\n".join(_explained(reported_by, code) for reported_by, code in chosen.values()))
    else:
        _print_all(chosen)
    return FINE


def _as_json(reported_by: str, code: Code) -> dict[str, str]:
    return {
        "code": code.code,
        "severity": code.severity,
        "rule": code.title,
        "why": code.why,
        "reportedBy": reported_by,
        "saidBy": reported_by,  # deprecated, see CHANGELOG
        "source": code.source,
    }


def _explained(reported_by: str, code: Code) -> str:
    width = line_width(sys.stdout)
    head = f"{code.code}, {code.severity}, reported by {reported_by}"
    indented = (
        textwrap.fill(text, width, initial_indent="  ", subsequent_indent="  ")
        for text in (code.title, code.why)
    )
    return "\n".join([head, *indented, f"  {code.source}"])


def _print_all(codes: Mapping[str, tuple[str, Code]]) -> None:
    last = ""
    for reported_by, code in codes.values():
        if reported_by != last:
            print(f"{chr(10) if last else ''}Reported by {reported_by}")
            last = reported_by
        print(f"  {code.code}  {code.severity:7}  {code.title}")
