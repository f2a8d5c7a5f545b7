"""`eks-gpushare policy STACK...`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE
from eks_gpushare.cli.outputs import (
    Output,
    OutputUsageError,
    add_output_argument,
    outputs_of,
    write_outputs,
)
from eks_gpushare.cli.streams import print_json
from eks_gpushare.documents.reading import read_bytes, reason
from eks_gpushare.findings.text import print_findings
from eks_gpushare.program.policies.pack_files import (
    PackFolder,
    preset_file,
)
from eks_gpushare.program_verbs.aside import aside
from eks_gpushare.program_verbs.policy_judge import PackJudge, PolicyUsageError, Verdict
from eks_gpushare.program_verbs.policy_list import list_rules
from eks_gpushare.program_verbs.policy_report import (
    PolicySubject,
    with_failure,
)
from eks_gpushare.program_verbs.preview import add_answers_argument, add_stacks_argument
from eks_gpushare.stack_file.project import ProjectError, find_project

_MOST_BYTES = 1024 * 1024

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.program.preview import Preview
    from eks_gpushare.program.recording import ProgramError, Recording
    from eks_gpushare.reports.report import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `policy`."""
    add_stacks_argument(parser, at_least="none")
    add_answers_argument(parser)
    parser.add_argument(
        "--pack",
        metavar="DIR",
        help="directory of another policy pack in Python (default: the pack of this package)",
    )
    parser.add_argument(
        "--write-pack",
        metavar="DIR",
        help="write the pack of this package into DIR, for pulumi --policy-pack DIR, and stop",
    )
    parser.add_argument(
        "--list",
        nargs="*",
        metavar="RULE",
        help="list the rules of the pack with their levels, or tell all of those named, and stop",
    )
    parser.add_argument(
        "--force", action="store_true", help="with --write-pack: write over files that are there"
    )
    parser.add_argument(
        "--config", metavar="FILE", help="levels, settings and exemptions of policies, as JSON"
    )
    parser.add_argument(
        "--preset",
        choices=("baseline", "recommended", "strict"),
        help="levels of all policies; what --config says of one wins (default: recommended)",
    )
    parser.add_argument(
        "--state",
        metavar="FILE",
        help="judge a state that pulumi stack export wrote, in place of a STACK",
    )
    add_output_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Run the pack over what the stack's program registers, or over a state."""
    if options.write_pack:
        given = ("stacks", "STACK"), *((name, f"--{name}") for name in ("state", "config", "pack"))
        idle = [shown for name, shown in given if getattr(options, name)]
        if idle:
            said = f"--write-pack judges nothing: leave {', '.join(idle)} away"
            print(f"eks-gpushare: {said}", file=sys.stderr)
            return WRONG_USAGE
        return _write_pack(Path(options.write_pack), force=options.force, as_json=options.json)
    try:
        outputs = outputs_of(options)
        _require(options)
        config = _preset(options) | _config(options.config)
        if options.list is not None:
            judge = PackJudge(options.pack, config)
            list_rules(judge.pack, options.list, config, as_json=options.json)
            return FINE
        found = [_of_state(options, config)] if options.state else _of_stacks(options, config)
    except (PolicyUsageError, OutputUsageError) as error:
        print(f"eks-gpushare: {error}", file=sys.stderr)
        return WRONG_USAGE
    return _tell([verdict for verdict in found if verdict is not None], outputs, len(found))


def _tell(found: Sequence[Verdict], outputs: tuple[Output, ...], asked: int) -> int:
    if asked == 1 and not found:
        return WRONG_USAGE

    def write(some: Sequence[Verdict], outputs: Sequence[Output]) -> bool:
        def text() -> None:
            for number, verdict in enumerate(some):
                print(end="\n" if number else "")
                verdict.text()

        several = {"stacks": [{"stack": verdict.name, **verdict.document} for verdict in some]}
        return write_outputs(
            outputs,
            text=text,
            document=lambda: some[0].document if asked == 1 else several,
            reports=lambda: [verdict.report() for verdict in some],
        )

    shown = Output("text")
    written = write(found, [output for output in outputs if output != shown])
    if shown in outputs:
        written &= write([verdict for verdict in found if not verdict.told], [shown])
    codes = (
        [WRONG_USAGE] if len(found) < asked or not written else [verdict.code for verdict in found]
    )
    return max(codes)


def _of_stacks(options: argparse.Namespace, config: dict[str, Any]) -> list[Verdict | None]:
    """The stacks in turn. Their programs run in another process, which changes nothing in this."""
    from eks_gpushare.program.apart import running_apart

    asked = [_checked(stack, options) for stack in options.stacks]
    stacks = [each for each in asked if each is not None and each.may_run]
    with running_apart(stacks, aside, options.answers) as runs:
        judge = PackJudge(options.pack, config) if stacks else None
        found: list[Verdict | None] = []
        for checked in asked:
            if checked is None or judge is None or not checked.may_run:
                found.append(None if checked is None else _refused(checked))
                continue
            try:
                found.append(_of_stack(runs.next(checked), judge))
            except (ProjectError, FileNotFoundError) as error:
                print(f"eks-gpushare: {error}", file=sys.stderr)
                found.append(None)
        return found


def _checked(stack: str, options: argparse.Namespace) -> Preview | None:
    from eks_gpushare.program.preview import checked_stack, locate

    try:
        return checked_stack(*locate(stack, options.program))
    except (ProjectError, FileNotFoundError) as error:
        print(f"eks-gpushare: {error}", file=sys.stderr)
        return None


def _of_stack(previewed: Preview, judge: PackJudge) -> Verdict | None:
    from eks_gpushare.program.policies.stack_lines import stack_lines
    from eks_gpushare.program.policies.stack_silences import stack_silences
    from eks_gpushare.program.recording import ProgramError

    recording = previewed.recording
    if recording is None or recording.error is not None:
        return _refused(previewed)
    if not _has_resources(recording):
        # As one that cannot be planned: a gate must not open for a program that ended too early.
        text = f"The program of {previewed.stack} registers no resource: there is nothing to judge."
        recording.error = ProgramError("RunError", text)
        return _refused(previewed)
    notes = tuple(recording.assumptions)
    lines = stack_lines(recording, previewed.report)
    program = previewed.project.directory
    subject = PolicySubject(previewed.stack, previewed.report.file, lines, notes)
    silences = stack_silences(recording, previewed.report)
    return judge.of(recording, subject, program, silences)


def _has_resources(recording: Recording) -> bool:
    from eks_gpushare.program.recording import PROVIDER_TYPE_PREFIX, STACK_TYPE

    return any(
        resource.type != STACK_TYPE and not resource.type.startswith(PROVIDER_TYPE_PREFIX)
        for resource in recording.resources
    )


def _of_state(options: argparse.Namespace, config: dict[str, Any]) -> Verdict | None:
    from eks_gpushare.program.policies.state import StateError, read_state

    try:
        state = read_state(options.state)
    except StateError as error:
        raise PolicyUsageError(str(error)) from None
    try:
        program = find_project(Path(options.program or ".")).directory
    except ProjectError as error:
        if options.program:
            raise PolicyUsageError(str(error)) from None
        program = Path.cwd()
    if not _has_resources(state.recording):
        # Most likely another file than was meant, so it counts as input that cannot be used.
        raise PolicyUsageError(f"{options.state} holds no resources: there is nothing to judge")
    notes = tuple(state.recording.assumptions)
    subject = PolicySubject(state.recording.stack, options.state, state.lines, notes)
    return PackJudge(options.pack, config).of(state.recording, subject, program)


_INSTALL = "pip install 'eks-gpushare[policy]'"


def _require(options: argparse.Namespace) -> None:
    if find_spec("pulumi_policy") is None:
        raise PolicyUsageError(f"The policy SDK is not installed: {_INSTALL}")
    if options.list is not None:
        if options.state or options.stacks:
            raise PolicyUsageError("--list judges nothing: leave STACK and --state away")
        return
    if options.state and options.stacks:
        raise PolicyUsageError("--state is judged as it is: name no STACK beside it")
    if options.state and options.answers:
        raise PolicyUsageError("--answers is for programs: a state asks nothing")
    if not options.stacks and options.program and not options.state:
        options.stacks, options.program = [options.program], None  # the program's only stack
    if not options.stacks and not options.state:
        raise PolicyUsageError("name a STACK, or give --program, --state or --write-pack")


def _config(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        config = json.loads(read_bytes(path, _MOST_BYTES).decode("utf-8-sig"))
    except RecursionError:
        raise PolicyUsageError(f"{path} cannot be used: it is nested too deeply") from None
    except (OSError, ValueError) as error:
        raise PolicyUsageError(f"{path} cannot be used: {reason(error)}") from error
    if not isinstance(config, dict):
        raise PolicyUsageError(f"{path} cannot be used: it is not a JSON object of policy names")
    for name, item in config.items():
        if not isinstance(item, str | dict):
            wrong = f"{name} has to be a level or an object, and is {json.dumps(item)[:40]}"
            raise PolicyUsageError(f"{path} cannot be used: {wrong}")
    return config


def _preset(options: argparse.Namespace) -> dict[str, Any]:
    """The levels of a preset, which is a file of our pack."""
    if not options.preset:
        return {}
    if options.pack and not PackFolder.named(Path(options.pack)).bundled:
        raise PolicyUsageError("--preset is of the pack of this package: with --pack give --config")
    return _config(str(preset_file(options.preset)))


def _write_pack(directory: Path, *, force: bool, as_json: bool) -> int:
    from eks_gpushare.cli.writing import ThereAlreadyError, write_files
    from eks_gpushare.program.policies.pack_files import files_for

    try:
        written = write_files(files_for(directory), force=force)
    except ThereAlreadyError as error:
        message = f"{directory} holds {len(error.files)} of the pack's files: --force replaces them"
        print(f"eks-gpushare: {message}", file=sys.stderr)
        return WRONG_USAGE
    except OSError as error:
        message = f"{directory} cannot be written to: {error.strerror}"
        print(f"eks-gpushare: {message}", file=sys.stderr)
        return WRONG_USAGE
    if as_json:
        print_json({"files": [str(file) for file in written]})
    else:
        print(f"{len(written)} files written to {directory}. Go on with")
        print(f"  eks-gpushare policy STACK --pack {directory}")
        print(f"  pulumi preview --policy-pack {directory}")
    return FINE


def _refused(previewed: Preview) -> Verdict:
    """The pack looks at what a program registers, so the program has to get that far."""
    errors = [f for f in previewed.findings if f.severity == "error"]
    failed = previewed.recording.error if previewed.recording is not None else None

    def tell(out: TextIO) -> None:
        out.write(f"{previewed.stack}: the stack cannot be planned, so no policy was run\n")
        print_findings([(previewed.report.line_of(f), f) for f in errors], out)
        if failed is not None:
            out.write(f"{failed}\n")

    tell(sys.stderr)
    return Verdict(
        FOUND if previewed.report.readable else WRONG_USAGE,
        previewed.stack,
        lambda: tell(sys.stdout),
        {"violations": [], "findings": [f.as_json() for f in errors]},
        lambda: _refusal(previewed, errors, failed),
        told=True,
    )


def _refusal(previewed: Preview, errors: Sequence[Finding], failed: ProgramError | None) -> Report:
    from eks_gpushare.reports.findings import Located, report_of
    from eks_gpushare.rules import all_rules, defect_rules

    file = previewed.report.file
    found = [Located(error, file, previewed.report.line_of(error)) for error in errors]
    rules = {rule.id: rule for rule in (*all_rules(), *defect_rules())}
    report = report_of("policy", [file], found, rules, ended=False)
    report = report if failed is None else with_failure(report, failed)
    results = tuple(replace(result, subject="") for result in report.results)
    name = previewed.stack
    return replace(report, subjects=(name,), category=name, results=results)
