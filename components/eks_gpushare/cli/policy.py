"""`eks-gpushare policy STACK`."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE
from eks_gpushare.cli.preview import add_answers_argument, add_stack_arguments, load
from eks_gpushare.cli.streams import aside, print_json
from eks_gpushare.documents.reading import read_bytes, reason
from eks_gpushare.findings.text import print_findings

_MOST_BYTES = 1024 * 1024

if TYPE_CHECKING:
    import argparse

    from eks_gpushare.program.pack_files import PackFolder
    from eks_gpushare.program.preview import Preview
    from eks_gpushare.program.violations import Violation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `policy`."""
    add_stack_arguments(parser, optional=True)
    add_answers_argument(parser)
    parser.add_argument(
        "--pack",
        metavar="DIR",
        help="directory of the policy pack (default: policies beside the program, if there is "
        "one, else the pack of this package)",
    )
    parser.add_argument(
        "--write-pack",
        metavar="DIR",
        help="write the pack of this package into DIR, for pulumi --policy-pack DIR, and stop",
    )
    parser.add_argument(
        "--force", action="store_true", help="with --write-pack: write over files that are there"
    )
    parser.add_argument("--config", metavar="FILE", help="levels and settings of policies, as JSON")


def run(options: argparse.Namespace) -> int:
    """Run the pack over what the stack's program registers."""
    if options.write_pack:
        return _write_pack(Path(options.write_pack), force=options.force, as_json=options.json)
    try:
        _require(options)
        config = _config(options.config)
    except _UsageError as error:
        print(f"eks-gpushare: {error}", file=sys.stderr)
        return WRONG_USAGE
    return _judge(options, config)


def _judge(options: argparse.Namespace, config: dict[str, Any]) -> int:
    previewed = load(options)
    if previewed is None:
        return WRONG_USAGE
    if not previewed.ok or previewed.recording is None:
        _refuse(previewed, as_json=options.json)
        return FOUND if previewed.report.readable else WRONG_USAGE
    pack = _pack(previewed, options.pack)
    violations = _violations(previewed, pack.directory, config)
    if violations is None:
        return WRONG_USAGE
    if options.json:
        where = {"path": str(pack.directory), "bundled": pack.bundled}
        print_json(
            {
                "violations": [v.as_json() for v in violations],
                "assumptions": previewed.recording.assumptions,
                "pack": where,
            }
        )
    else:
        _print(previewed.stack, violations)
        for assumption in previewed.recording.assumptions:
            print(f"assumed: {assumption}")
        print(f"\nThe pack is {_named(pack)}.")
    return FOUND if any(v.level == "mandatory" for v in violations) else FINE


_INSTALL = "pip install 'eks-gpushare[policy]'"


class _UsageError(Exception):
    """The command cannot start; the text says why."""


def _require(options: argparse.Namespace) -> None:
    if options.stack is None:
        raise _UsageError("name a STACK, or give --write-pack")
    if find_spec("pulumi_policy") is None:
        raise _UsageError(f"The policy SDK is not installed: {_INSTALL}")


def _config(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        config = json.loads(read_bytes(path, _MOST_BYTES).decode("utf-8-sig"))
    except RecursionError:
        raise _UsageError(f"{path} cannot be used: it is nested too deeply") from None
    except (OSError, ValueError) as error:
        raise _UsageError(f"{path} cannot be used: {reason(error)}") from error
    if not isinstance(config, dict):
        raise _UsageError(f"{path} cannot be used: it is not a JSON object of policy names")
    for name, each in config.items():
        if not isinstance(each, str | dict):
            wrong = f"{name} has to be a level or an object, and is {json.dumps(each)[:40]}"
            raise _UsageError(f"{path} cannot be used: {wrong}")
    return config


def _pack(previewed: Preview, given: str | None) -> PackFolder:
    from eks_gpushare.program.pack_files import PackFolder, pack_of

    if given:
        return PackFolder(Path(given), bundled=False)
    return pack_of(previewed.project.directory)


def _named(pack: PackFolder) -> str:
    if pack.bundled:
        return "the one of this package"
    return f"the one in {os.path.relpath(pack.directory)}"


def _write_pack(directory: Path, *, force: bool, as_json: bool) -> int:
    from eks_gpushare.cli.writing import ThereAlreadyError, write_files
    from eks_gpushare.program.pack_files import files_for

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


def _violations(
    previewed: Preview, directory: Path, config: dict[str, Any]
) -> list[Violation] | None:
    from eks_gpushare.findings.defects import in_one_line
    from eks_gpushare.program.analyzer import run_pack
    from eks_gpushare.program.endings import ProcessEndedError, kept_alive
    from eks_gpushare.program.packs import PackError, load_pack
    from eks_gpushare.program.policy_config import PolicyConfigError

    try:
        with aside(), kept_alive():
            loaded = load_pack(directory)
            return run_pack(
                loaded.policies,
                previewed.recording,  # type: ignore[arg-type]  # the caller has seen that it is there
                config=config,
                initial_config=loaded.initial_config,
                pack=loaded.name,
                level=loaded.level,
            )
    except (PackError, PolicyConfigError) as error:
        print(f"eks-gpushare: {error}", file=sys.stderr)
    except (Exception, SystemExit, ProcessEndedError) as error:  # noqa: BLE001  (the pack's, of any kind)
        told = in_one_line(error, placed=False)
        print(f"eks-gpushare: a policy of {directory} stopped: {told}", file=sys.stderr)
    return None


def _refuse(previewed: Preview, *, as_json: bool) -> None:
    """The pack looks at what a program registers, so the program has to get that far."""
    errors = [f for f in previewed.findings if f.severity == "error"]
    if as_json:
        print_json({"violations": [], "findings": [f.as_json() for f in errors]})
    print(f"{previewed.stack}: the stack cannot be planned, so no policy was run", file=sys.stderr)
    print_findings([(previewed.report.line_of(f), f) for f in errors], sys.stderr)
    if previewed.recording is not None and previewed.recording.error is not None:
        print(previewed.recording.error, file=sys.stderr)


def _print(stack: str, violations: list[Violation]) -> None:
    mandatory = sum(v.level == "mandatory" for v in violations)
    verdict = "refused" if mandatory else "ok"
    rest = len(violations) - mandatory
    print(f"{stack}: {verdict}, {mandatory} mandatory and {rest} advisory violations")
    for violation in violations:
        name = violation.urn.rpartition("::")[2] or "the stack"
        reference = f" ({violation.framework} {violation.reference})" if violation.framework else ""
        print(f"  {violation.level} {violation.policy}{reference} at {name}")
        print(textwrap.indent(textwrap.fill(violation.message, 96), "    "))
        if violation.remediation_steps and not violation.message_says_fix:
            steps = textwrap.fill(violation.remediation_steps, 93)
            print(textwrap.indent(steps, "       ").replace("       ", "    -> ", 1))
