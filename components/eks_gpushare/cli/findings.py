"""Findings as text in a terminal, and `eks-gpushare findings [CODE...]`, which explains them."""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TYPE_CHECKING, TextIO

from eks_gpushare.cli import FINE, WRONG_USAGE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.config.findings import Code, Finding

_COLOURS = {"error": "31;1", "warning": "33;1", "info": "36"}
_NARROW, _USUAL, _WIDE = 60, 100, 110


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `findings`."""
    parser.add_argument(
        "codes", nargs="*", metavar="CODE", help="such as GPU201 (default: all that there are)"
    )


def run(options: argparse.Namespace) -> int:
    """Explain kinds of findings, or list all."""
    from eks_gpushare.lab import codes as lab
    from eks_gpushare.rules import all_codes

    known = {code.code: ("check, preview", code) for code in all_codes()}
    known |= {code.code: ("lab run", code) for code in lab.CODES}
    wanted = [each.upper() for each in options.codes] or sorted(known)
    unknown = [each for each in wanted if each not in known]
    if unknown:
        listed = "`eks-gpushare findings` lists all"
        print(f"eks-gpushare: there is no finding {', '.join(unknown)}; {listed}", file=sys.stderr)
        return WRONG_USAGE
    chosen = {name: known[name] for name in wanted}
    if options.json:
        import json

        shown = [_as_json(said_by, code) for said_by, code in chosen.values()]
        json.dump({"findings": shown}, sys.stdout, indent=2)
        print()
    elif options.codes:
        print("\n\n".join(_explained(said_by, code) for said_by, code in chosen.values()))
    else:
        _print_all(chosen)
    return FINE


def _as_json(said_by: str, code: Code) -> dict[str, str]:
    return {
        "code": code.code,
        "severity": code.severity,
        "rule": code.title,
        "why": code.why,
        "saidBy": said_by,
        "source": code.source,
    }


def _explained(said_by: str, code: Code) -> str:
    width = max(_NARROW, min(_WIDE, _columns(sys.stdout))) - 1
    head = f"{code.code}, {code.severity}, said by {said_by}"
    indented = (
        textwrap.fill(text, width, initial_indent="  ", subsequent_indent="  ")
        for text in (code.title, code.why)
    )
    return "\n".join([head, *indented, f"  {code.source}"])


def _print_all(codes: Mapping[str, tuple[str, Code]]) -> None:
    said = ""
    for said_by, code in codes.values():
        if said_by != said:
            print(f"{chr(10) if said else ''}Said by {said_by}")
            said = said_by
        print(f"  {code.code}  {code.severity:7}  {code.title}")


def print_findings(
    found: Iterable[tuple[int | None, Finding]], out: TextIO, *, width: int | None = None
) -> None:
    """Each finding with its line, what is wrong, and how to mend it.

    Args:
        found: Findings with the line of the file, where it is known.
        width: Columns of a line. Default: those of the terminal, within reason.
        out: Where to print; colours only on a terminal, and not where `NO_COLOR` is set.
    """
    if width is None:
        width = max(_NARROW, min(_WIDE, _columns(out))) - 1
    message = textwrap.TextWrapper(
        width, "    ", "    ", break_long_words=False, break_on_hyphens=False
    )
    fix = textwrap.TextWrapper(
        width, "    -> ", "       ", break_long_words=False, break_on_hyphens=False
    )
    colour = out.isatty() and not os.environ.get("NO_COLOR")
    for line, each in found:
        severity = (
            f"\x1b[{_COLOURS[each.severity]}m{each.severity}\x1b[0m" if colour else each.severity
        )
        where = f"line {line}" if line and not each.path.startswith("line ") else ""
        place = ", ".join(part for part in (where, printable(each.path)) if part)
        out.write(f"  {severity} {each.code}{f' at {place}' if place else ''}\n")
        out.write(f"{message.fill(printable(each.message))}\n{fix.fill(printable(each.fix))}\n")


def _columns(out: TextIO) -> int:
    """Width of the terminal. `shutil` would know it too, and load three decompressors for it."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(out.fileno()).columns or _USUAL
    except (OSError, ValueError, AttributeError):
        return _USUAL


def printable(text: str) -> str:
    """A text that may hold a user's own words, with what a terminal would act upon as escapes."""
    if text.isprintable() and text.isascii():
        return text
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def counted(found: Sequence[Finding]) -> str:
    """Numbers of findings by severity, for the end of a line: `, 2 errors, 1 warning`."""
    text = ""
    for severity, plural in (("error", "errors"), ("warning", "warnings"), ("info", "notes")):
        count = sum(f.severity == severity for f in found)
        if count:
            name = plural if count > 1 else plural[:-1]
            text += f", {count} {name}"
    return text
