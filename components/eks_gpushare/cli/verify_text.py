"""What `verify` found, for people: a line where all is well, else a table and a block per cause."""

from __future__ import annotations

import re
import sys
import textwrap
from collections import Counter
from typing import TYPE_CHECKING

from eks_gpushare.findings.text import counted, line_width, printable, severity_of
from eks_gpushare.live.objects import moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime, timedelta

    from eks_gpushare.live.faults import Cause
    from eks_gpushare.live.verdict import ClusterVerdict, PoolRow

_MOST_FOLLOWING = 8
_MOST_CAUSES = 20
"""Of several hundred nobody reads more, and the first are the worst."""
_TIME = re.compile(r"[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}(\.[0-9]+)?Z")
_FIRST_SENTENCE = re.compile(r"^(.+?[^.]\.) [A-Z].*$", re.DOTALL)
_HEAD = ("pool", "nodes", "resource", "declared", "advertised", "used", "waiting")


def print_verdict(verdict: ClusterVerdict, *, quiet: bool = False) -> None:
    """Print it.

    Args:
        verdict: What was found.
        quiet: Whether to leave out what is only worth knowing.
    """
    out = sys.stdout
    shown = [c for c in verdict.causes if not quiet or c.fault.finding.severity != "info"]
    subject = printable(verdict.stack or verdict.whence)
    findings = [cause.fault.finding for cause in shown]
    if verdict.said:
        out.write(f"{printable(verdict.said)}\n")
    elif not shown or all(finding.severity == "info" for finding in findings):
        said = "as declared" if verdict.stack else "nothing is wrong"
        said += " as far as is known" if verdict.unknown else ""
        out.write(f"{subject}: {said}, {_in_short(verdict.pools)}\n")
    else:
        wrong = "not as declared" if verdict.stack else "something is wrong"
        out.write(f"{subject}: {'ok' if verdict.ok() else wrong}{counted(findings)}\n")
        out.writelines(f"{line}\n" for line in _table(verdict.pools))
    for cause in shown[:_MOST_CAUSES]:
        _print_cause(cause, verdict.at)
    if len(shown) > _MOST_CAUSES:
        out.write(f"  and {len(shown) - _MOST_CAUSES} more, which --json has: {_codes(shown)}\n")
    for kind, why in verdict.unknown.items():
        out.write(f"  unknown {kind}: {printable(why)}\n")
    if verdict.silenced:
        out.write(_silenced(verdict))
    if verdict.joining:
        count = len(verdict.joining)
        out.write(f"  starting: {count} node{'' if count == 1 else 's'}, not judged yet\n")


def _silenced(verdict: ClusterVerdict) -> str:
    """What comments let be, by code."""
    counts = Counter(silenced.cause.fault.finding.code for silenced in verdict.silenced)
    count = len(verdict.silenced)
    listed = ", ".join(f"{number} {code}" for code, number in sorted(counts.items()))
    return (
        f"  silenced: {count} cause{'' if count == 1 else 's'}, which the file lets be: {listed}\n"
    )


def _in_short(rows: Sequence[PoolRow]) -> str:
    if not rows:
        return "no node has a GPU"
    nodes = sum({row.pool: row.nodes for row in rows}.values())
    pools = len({row.pool for row in rows})
    advertised: dict[str, int] = {}
    used: dict[str, int] = {}
    for row in rows:
        if row.resource:
            advertised[row.resource] = advertised.get(row.resource, 0) + row.advertised
            used[row.resource] = used.get(row.resource, 0) + row.used
    shares = ", ".join(
        f"{used[name]} of {count} {name} used" for name, count in advertised.items() if count
    )
    text = f"{pools} pool{'' if pools == 1 else 's'}, {nodes} node{'' if nodes == 1 else 's'}"
    return f"{text}, {shares}" if shares else text


def _table(rows: Sequence[PoolRow]) -> Iterator[str]:
    cells = [_HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEAD))]
    for row in cells:
        yield (
            "  "
            + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        )


def _cells(row: PoolRow) -> tuple[str, ...]:
    nodes = f"{row.ready} of {row.nodes} ready"
    if row.nodes_declared is not None and row.nodes < row.nodes_declared:
        nodes = f"{row.nodes} of {row.nodes_declared}, {row.ready} ready"
    declared = "-" if row.declared is None else str(row.declared)
    return (
        printable(row.pool),
        nodes,
        row.resource or "-",
        declared,
        str(row.advertised),
        str(row.used),
        str(row.waiting),
    )


def _codes(shown: Sequence[Cause]) -> str:
    """How often each kind is among those that are not printed."""
    counts = Counter(cause.fault.finding.code for cause in shown[_MOST_CAUSES:])
    return ", ".join(f"{count} {code}" for code, count in counts.most_common())


def _print_cause(cause: Cause, now: datetime) -> None:
    out, finding = sys.stdout, cause.fault.finding
    width = line_width(out)
    out.write(f"{severity_of(finding, out)} {finding.code} {printable(finding.path)}\n")
    out.write(_filled("", finding.message, width))
    for evidence in cause.fault.evidence:
        out.write(_filled("evidence", _with_age(evidence, now), width))
    for number, line in enumerate(_following(cause)):
        out.write(_filled("" if number else "follows", line, width, indent=14))
    out.write(_filled("fix", finding.fix, width))


def _with_age(evidence: str, now: datetime) -> str:
    """What shows a fault, with how long ago each of its times was."""

    def told(found: re.Match[str]) -> str:
        then = moment(found.group())
        return found.group() if then is None else f"{found.group()}, {_age(now - then)} ago"

    return _TIME.sub(told, evidence)


def _age(passed: timedelta) -> str:
    seconds = max(passed.total_seconds(), 0.0)
    for unit, of in (("day", 86_400), ("hour", 3600), ("min", 60)):
        count = int(seconds // of)
        if count:
            return f"{count} {unit}{'s' if count > 1 and unit != 'min' else ''}"
    return f"{seconds:.0f} s"


def _following(cause: Cause) -> Iterator[str]:
    follows, first = cause.follows, cause.fault.finding
    for fault in follows[:_MOST_FOLLOWING]:
        found = fault.finding
        is_same = (found.code, found.message) == (first.code, first.message)
        # Of a consequence the first sentence is enough: the cause is what is to be mended.
        said = fault.in_short or _FIRST_SENTENCE.sub(r"\1", found.message)
        yield f"the same of {found.path}" if is_same else f"{found.code} {said}"
    if len(follows) > _MOST_FOLLOWING:
        yield f"and {len(follows) - _MOST_FOLLOWING} more"


def _filled(title: str, text: str, width: int, *, indent: int = 0) -> str:
    first = f"    {title:<10}" if title or indent else "    "
    rest = " " * (len(first) if title or indent else 4)
    return (
        textwrap.fill(
            printable(text),
            width,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
        + "\n"
    )
