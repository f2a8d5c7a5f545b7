"""`eks-gpushare preview STACK`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE
from eks_gpushare.findings.text import counted, print_findings

if TYPE_CHECKING:
    import argparse

    from eks_gpushare.program.preview import Preview


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `preview`."""
    add_stack_arguments(parser)
    add_answers_argument(parser)
    parser.add_argument(
        "--before",
        metavar="FILE",
        help="an earlier version of the stack file: say which nodes the edit replaces or rolls",
    )
    parser.add_argument(
        "--manifests", metavar="DIR", help="write the Kubernetes objects as YAML files into DIR"
    )


def add_stack_arguments(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """What names a stack: this verb and others that run its program have it.

    Args:
        parser: Of the verb.
        optional: Whether the verb does something without a stack too.
    """
    parser.add_argument(
        "stack",
        metavar="STACK",
        nargs="?" if optional else None,
        help="name of a stack, or its file",
    )
    parser.add_argument(
        "--program", metavar="DIR", help="directory of the Pulumi program (default: found upwards)"
    )


def add_answers_argument(parser: argparse.ArgumentParser) -> None:
    """What verbs take that are for programs of any kind."""
    parser.add_argument(
        "--answers",
        metavar="FILE",
        help="YAML with what look-ups and components of other packages answer",
    )


def run(options: argparse.Namespace) -> int:
    """Run the stack's program in this process and show what it registers."""
    previewed = load(options)
    if previewed is None:
        return WRONG_USAGE
    if options.json:
        json.dump(previewed.as_json(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print(previewed)
    if not previewed.report.readable:
        return WRONG_USAGE
    if not previewed.ok:
        return FOUND
    return _write_manifests(previewed, options) if options.manifests else FINE


def load(options: argparse.Namespace) -> Preview | None:
    """The preview of the stack that is named; None, and a message, if there is no such stack."""
    from eks_gpushare.program.preview import compared, locate, preview
    from eks_gpushare.program.project import ProjectError

    before = getattr(options, "before", None)
    try:
        previewed = preview(*locate(options.stack, options.program), answers=options.answers)
        return compared(previewed, Path(before), options.answers) if before else previewed
    except (ProjectError, FileNotFoundError) as error:
        print(f"eks-gpushare: {error}", file=sys.stderr)
        return None


def _print(previewed: Preview) -> None:
    findings = list(previewed.findings)
    recording = previewed.recording
    if recording is not None and recording.error is None:
        from eks_gpushare.cli.tables import print_preview

        print_preview(previewed)
    report = previewed.report
    if findings:
        print(f"\nFindings in {report.file}{counted(findings)}")
        print_findings([(report.line_of(f), f) for f in findings], sys.stdout)
    if recording is not None and recording.error is not None:
        print(f"\nThe program stopped.\n{recording.error}", file=sys.stderr)
        return
    _print_edits(previewed)
    if previewed.ok:
        _print_next(previewed)


def _print_edits(previewed: Preview) -> None:
    if previewed.edits is None:
        return
    print("\nWhat the edit does to nodes")
    width = max((len(edit.effect) for edit in previewed.edits), default=0)
    for edit in previewed.edits:
        print(f"  {edit.effect:{max(8, width)}} {edit.message}")
    if not previewed.edits:
        print("  nothing")


def _print_next(previewed: Preview) -> None:
    recording = previewed.recording
    for assumption in recording.assumptions if recording else []:
        print(f"assumed: {assumption}")
    print(
        "\nThis is a plan of registrations: no provider has checked it, and nothing was compared "
        "with what is there.\nGo on with\n"
        f"  eks-gpushare policy {previewed.stack}\n"
        f"  pulumi up --stack {previewed.stack}"
    )


def _write_manifests(previewed: Preview, options: argparse.Namespace) -> int:
    from eks_gpushare.program.manifests import write_manifests

    if previewed.recording is None:
        return FOUND
    try:
        written = write_manifests(previewed.recording, Path(options.manifests))
    except OSError as error:
        message = f"{options.manifests} cannot be written to: {error.strerror}"
        print(f"eks-gpushare: {message}", file=sys.stderr)
        return WRONG_USAGE
    if not options.json:
        print(f"{len(written)} files written to {options.manifests}")
    return FINE
