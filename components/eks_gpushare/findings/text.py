"""Findings as text in a terminal."""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eks_gpushare.findings.finding import Finding

_COLOURS = {"error": "31;1", "warning": "33;1", "info": "36"}
_RANKS = {"error": 0, "warning": 1, "info": 2}
_NARROW, _USUAL, _WIDE = 60, 100, 110


def print_findings(
    found: Iterable[tuple[int | tuple[int, int] | None, Finding]],
    out: TextIO,
    *,
    width: int | None = None,
) -> None:
    """Each finding with its line, what is wrong, and how to fix it; errors first, notes last.

    Args:
        found: Findings with the line of the file, or line and column, where it is known.
        width: Columns of a line. Default: those of the terminal, within reason.
        out: Where to print; colours only on a terminal, and not where `NO_COLOR` is set.
    """
    if width is None:
        width = line_width(out)
    message = textwrap.TextWrapper(
        width, "    ", "    ", break_long_words=False, break_on_hyphens=False
    )
    fix = textwrap.TextWrapper(
        width, "    -> ", "       ", break_long_words=False, break_on_hyphens=False
    )
    for line, each in sorted(found, key=lambda pair: _RANKS[pair[1].severity]):
        severity = severity_of(each, out)
        where = _place(line) if line and not each.path.startswith("line ") else ""
        place = ", ".join(part for part in (where, printable(each.path)) if part)
        out.write(f"  {severity} {each.code}{f' at {place}' if place else ''}\n")
        out.write(f"{message.fill(printable(each.message))}\n{fix.fill(printable(each.fix))}\n")


def severity_of(finding: Finding, out: TextIO) -> str:
    """The severity of a finding, in its colour where there are any."""
    name = finding.severity
    return f"\x1b[{_COLOURS[name]}m{name}\x1b[0m" if has_colours(out) else name


def has_colours(out: TextIO) -> bool:
    """Whether to print in colours: on a terminal only, and not where `NO_COLOR` is set."""
    return out.isatty() and not os.environ.get("NO_COLOR")


def _place(line: int | tuple[int, int]) -> str:
    return f"line {line}" if isinstance(line, int) else f"line {line[0]}, column {line[1]}"


def line_width(out: TextIO) -> int:
    """Columns to write: those of the terminal, within reason."""
    return max(_NARROW, min(_WIDE, _columns(out))) - 1


def _columns(out: TextIO) -> int:
    """Width of the terminal. `shutil` would know it too, and load three decompressors for it."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdecimal() and int(given):
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


def wrapped(text: str, width: int, indent: str = "  ", first: str = "") -> list[str]:
    """A text in lines of at most this width, with no word broken.

    Args:
        text: One paragraph.
        width: Columns of a line, unless a word alone is longer.
        indent: What all lines but the first begin with.
        first: What the first line begins with.
    """
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
