"""`eks-gpushare findings [CODE|POLICY...]`: explains findings by any name, or lists all codes."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.cli import FINE, WRONG_USAGE
from eks_gpushare.cli.known_names import POLICY, Known, known_names
from eks_gpushare.cli.streams import print_json
from eks_gpushare.findings.text import line_width

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.findings.rule import Rule


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `findings`."""
    parser.add_argument(
        "codes",
        nargs="*",
        metavar="CODE|POLICY",
        help="such as GPU201, or the name of a policy that says what a code does "
        "(default: all codes that there are)",
    )

    parser.add_argument(
        "--ages",
        action="store_true",
        help="when each version and table that findings go by was read, and where",
    )


def run(options: argparse.Namespace) -> int:
    """Explain kinds of findings, or list all."""
    if options.ages and options.codes:
        print("eks-gpushare: --ages lists all that was read, and takes no CODE", file=sys.stderr)
        return WRONG_USAGE
    if options.ages:
        return _print_ages(as_json=options.json)
    known = known_names()
    by_fold = {name.casefold(): name for name in known}
    wanted = [by_fold.get(code.casefold(), code) for code in options.codes]
    unknown = [code for code in wanted if code not in known]
    if unknown:
        print(f"eks-gpushare: there is no finding {_misspelt(unknown, known)}", file=sys.stderr)
        return WRONG_USAGE
    chosen = {name: known[name] for name in wanted or sorted(known)}
    if not options.codes:
        chosen = {name: item for name, item in chosen.items() if item.reported_by != POLICY}
    every = [(about.reported_by, rule) for about in chosen.values() for rule in about.rules]
    if options.json:
        print_json({"findings": [_as_json(by, rule, known) for by, rule in every]})
    elif options.codes:
        print("\n\n".join(_explained(by, rule, known) for by, rule in every))
    else:
        _print_all(every)
    return FINE


def _print_ages(*, as_json: bool) -> int:
    from datetime import UTC, datetime

    from eks_gpushare.catalog.ages import ages

    found = ages()
    if as_json:
        print_json({"ages": [{**aged._asdict(), "read": str(aged.read)} for aged in found]})
        return FINE
    today = datetime.now(tz=UTC).date()
    kinds, names, values = (max(len(str(aged[i])) for aged in found) for i in range(3))
    for aged in found:
        age = f"{(today - aged.read).days} days"
        print(
            f"{aged.read}  {age:>9}  {aged.kind:{kinds}}  {aged.name:{names}}  "
            f"{aged.value:{values}}  {aged.source}"
        )
    return FINE


def _misspelt(unknown: list[str], known: Mapping[str, Known]) -> str:
    from eks_gpushare.validation.shape import similar

    # Of a number there is none that is nearer than others.
    words = [code for code in unknown if not code.upper().startswith("GPU")]
    meant = dict.fromkeys(near for word in words if (near := similar(word, known)))
    near = f"; did you mean {' or '.join(meant)}?" if meant else ";"
    return f"{', '.join(unknown)}{near} `eks-gpushare findings` lists all"


class _Name(NamedTuple):
    """A name of a fact."""

    name: str
    severity: Severity
    reported_by: str
    """Empty where the package that does is not installed."""
    because: str
    """Why the severity is not that of the fact."""


def _names(rule: Rule, known: Mapping[str, Known]) -> Iterator[_Name]:
    """All names of what a rule says, its own among them; none where no other check says it."""
    from eks_gpushare.facts.index import facts_of

    for fact in facts_of(rule.id):
        if fact.title == rule.title:
            for name in fact.names:
                differs = fact.differs.get(name)
                by = known[name].reported_by if name in known else ""
                yield _Name(name, fact.severity_of(name), by, differs.because if differs else "")


def _as_json(reported_by: str, rule: Rule, known: Mapping[str, Known]) -> dict[str, object]:
    return {
        "code": rule.id,
        "severity": rule.severity,
        "rule": rule.title,
        "why": rule.why,
        "reportedBy": reported_by,
        "saidBy": reported_by,  # deprecated, see CHANGELOG
        "source": rule.source,
        "also": [
            {
                "name": name.name,
                "severity": name.severity,
                "reportedBy": name.reported_by,
                "because": name.because,
            }
            for name in _names(rule, known)
            if name.name != rule.id
        ],
    }


def _explained(reported_by: str, rule: Rule, known: Mapping[str, Known]) -> str:
    width = line_width(sys.stdout)
    head = f"{rule.id}, {rule.severity}, reported by {reported_by}"
    also = [_also(name, rule) for name in _names(rule, known)]
    indented = [
        textwrap.fill(text, width, initial_indent="  ", subsequent_indent="  ")
        for text in (rule.title, rule.why)
    ]
    indented.append(f"  {rule.source}")
    indented += [
        textwrap.fill(text, width, initial_indent="  ", subsequent_indent="    ")
        for text in also
        if text
    ]
    return "\n".join([head, *indented])


def _also(name: _Name, rule: Rule) -> str:
    because = f": {name.because}" if name.because else ""
    if name.name == rule.id:
        return f"{name.severity} here{because}" if because else ""
    by = f"reported by {name.reported_by}" if name.reported_by else "of a package that is not here"
    return f"also {name.name}, {name.severity}, {by}{because}"


def _print_all(codes: list[tuple[str, Rule]]) -> None:
    last = ""
    for reported_by, rule in codes:
        if reported_by != last:
            print(f"{chr(10) if last else ''}Reported by {reported_by}")
            last = reported_by
        print(f"  {rule.id}  {rule.severity:7}  {rule.title}")
