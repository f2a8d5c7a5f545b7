"""`--output FORMAT[=FILE]`: what a verb found, in one format or several at once."""

from __future__ import annotations

import argparse
import io
import sys
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.cli.streams import print_json
from eks_gpushare.cli.writing import write_files
from eks_gpushare.reports.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eks_gpushare.reports.report import Report

_FORMATS = ("text", "json", *FORMATS)


HTML = "html"
"""The format of pages, which go into files alone."""


class Output(NamedTuple):
    """One of the formats that were asked for."""

    format: str
    file: str = ""
    """Where to; empty for standard output."""


class OutputUsageError(Exception):
    """The outputs that were asked for exclude each other; the text says why."""


def add_output_argument(parser: argparse.ArgumentParser, *own: str) -> None:
    """The option of verbs that report findings.

    Args:
        parser: Of the verb.
        own: Formats that it has beside those of all.
    """
    said = f"text, JSON, SARIF, JUnit, GitHub (annotations){',' if own else ' or'} GitLab (code "
    said += f"quality){''.join(f' or {name.capitalize()}' for name in own)}"
    _add_output(parser, (*_FORMATS, *own), said)


def add_table_output_argument(parser: argparse.ArgumentParser, **own: str) -> None:
    """The option of verbs that report no findings.

    Args:
        parser: Of the verb.
        own: Formats that it has beside text and JSON, with what each is called.
    """
    *others, last = own.values()
    _add_output(parser, ("text", "json", *own), f"{', '.join(['text', 'JSON', *others])} or {last}")


def _add_output(parser: argparse.ArgumentParser, formats: Sequence[str], said: str) -> None:
    parser.add_argument(
        "--output",
        metavar="FORMAT[=FILE]",
        action="append",
        type=partial(_output, formats),
        help=f"{said}, in small or capital letters; may be given several times, all but one with "
        "a FILE (default: text)",
    )


def _output(known: Sequence[str], given: str) -> Output:
    written, equals, file = given.partition("=")
    name = written.lower()
    if name not in known:
        raise argparse.ArgumentTypeError(f"{written!r} is none of {', '.join(known)}")
    if equals and not file:
        raise argparse.ArgumentTypeError(f"{given!r} names no file")
    return Output(name, file)


def outputs_of(options: argparse.Namespace) -> tuple[Output, ...]:
    """What was asked for, `--json` among it.

    Raises:
        OutputUsageError: If two of them would be mixed in one place.
    """
    asked = list(options.output or ())
    if options.json and Output("json") not in asked:
        asked.append(Output("json"))
    chosen = tuple(dict.fromkeys(asked)) or (Output("text"),)
    for place in dict.fromkeys(output.file for output in chosen):
        formats = [output.format for output in chosen if output.file == place]
        if len(formats) > 1:
            where = place or "standard output"
            raise OutputUsageError(
                f"{' and '.join(formats)} cannot both go to {where}: give one a file of its own, "
                f"as in --output {formats[-1]}=FILE"
            )
    return chosen


def html_output(file: str | None) -> tuple[Output, ...]:
    """The page of an option `--html FILE`, if it is given.

    Raises:
        OutputUsageError: If it names no file.
    """
    if file == "":
        raise OutputUsageError("--html names no file")
    return () if file is None else (Output(HTML, file),)


def wants_text(options: argparse.Namespace) -> bool:
    """Whether standard output is for people, so that what is said beside may go there."""
    return any(output == Output("text") for output in outputs_of(options))


def write_outputs(
    outputs: Sequence[Output],
    *,
    text: Callable[[], None],
    document: Callable[[], object],
    reports: Callable[[], Sequence[Report]] = tuple,
    own: Mapping[str, Callable[[], str]] = MappingProxyType({}),
) -> bool:
    """Write what was found in each format that was asked for, what goes into files first.

    Args:
        outputs: The formats.
        text: Prints it for people.
        document: The verb's own JSON document.
        reports: The same for other formats, one or several beside each other.
        own: Texts in formats that only this verb has.

    Returns:
        Whether everything was written; what was not is said on standard error.
    """
    written = True
    for output in sorted(outputs, key=lambda one: not one.file):
        if output.file:
            captured = io.StringIO()
            with redirect_stdout(captured):
                _print(output.format, text, document, reports, own)
            written &= write_output(output.file, captured.getvalue())
        else:
            _print(output.format, text, document, reports, own)
    return written


def _print(
    name: str,
    text: Callable[[], None],
    document: Callable[[], object],
    reports: Callable[[], Sequence[Report]],
    own: Mapping[str, Callable[[], str]],
) -> None:
    if name == "text":
        text()
    elif name in own:
        sys.stdout.write(own[name]())
    elif name == "json":
        print_json(document())
    else:
        from eks_gpushare.cli.version import installed_version
        from eks_gpushare.reports.formats import formatted

        sys.stdout.write(formatted(reports(), name, installed_version() or ""))


def write_output(name: str, text: str) -> bool:
    """Write a file that was asked for.

    Args:
        name: Its path.
        text: What it holds.

    Returns:
        Whether it was written; if not, it is said on standard error why.
    """
    file = Path(name)
    try:
        if file.exists() and not file.is_file():
            file.write_text(text, encoding="utf-8", errors="backslashreplace")  # /dev/stderr
        else:
            write_files({file: text}, force=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        print(f"eks-gpushare: {file} cannot be written to: {reason}", file=sys.stderr)
        return False
    return True
