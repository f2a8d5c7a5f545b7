"""`eks-gpushare policy STACK`."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE
from eks_gpushare.cli.preview import add_answers_argument, add_stack_arguments, load
from eks_gpushare.findings.text import print_findings

if TYPE_CHECKING:
    import argparse

    from eks_gpushare.program.analyzer import Violation
    from eks_gpushare.program.preview import Preview


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `policy`."""
    add_stack_arguments(parser)
    add_answers_argument(parser)
    parser.add_argument(
        "--pack", metavar="DIR", help="directory of the policy pack (default: policies)"
    )
    parser.add_argument("--config", metavar="FILE", help="levels and settings of policies, as JSON")


def run(options: argparse.Namespace) -> int:
    """Run the pack over what the stack's program registers."""
    try:
        config = _config(options.config)
    except (OSError, ValueError) as error:
        print(f"eks-gpushare: {options.config} cannot be used: {error}", file=sys.stderr)
        return WRONG_USAGE
    previewed = load(options)
    if previewed is None:
        return WRONG_USAGE
    if not previewed.ok or previewed.recording is None:
        _refuse(previewed, as_json=options.json)
        return FOUND if previewed.report.readable else WRONG_USAGE
    violations = _violations(previewed, options.pack, config)
    if violations is None:
        return WRONG_USAGE
    if options.json:
        json.dump({"violations": [v.as_json() for v in violations]}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print(previewed.stack, violations)
    return FOUND if any(v.level == "mandatory" for v in violations) else FINE


def _config(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    config = json.loads(Path(path).read_text(encoding="utf-8"))
    if not isinstance(config, dict):
        raise ValueError("it is not a JSON object of policy names")  # noqa: TRY004  (bad input)
    return config


def _violations(
    previewed: Preview, pack: str | None, config: dict[str, Any]
) -> list[Violation] | None:
    try:
        from eks_gpushare.program.analyzer import run_pack
        from eks_gpushare.program.packs import PackError, load_pack
    except ModuleNotFoundError as error:
        message = f"{error}. Install the policy SDK: pip install 'eks-gpushare[policy]'"
        print(f"eks-gpushare: {message}", file=sys.stderr)
        return None
    directory = Path(pack) if pack else previewed.project.directory / "policies"
    try:
        loaded = load_pack(directory)
        return run_pack(
            loaded.policies,
            previewed.recording,  # type: ignore[arg-type]  # the caller has seen that it is there
            config=config,
            initial_config=loaded.initial_config,
            pack=loaded.name,
            level=loaded.level,
        )
    except (PackError, ValueError) as error:
        print(f"eks-gpushare: {error}", file=sys.stderr)
        return None


def _refuse(previewed: Preview, *, as_json: bool) -> None:
    """The pack looks at what a program registers, so the program has to get that far."""
    errors = [f for f in previewed.findings if f.severity == "error"]
    if as_json:
        json.dump({"violations": [], "findings": [f.as_json() for f in errors]}, sys.stdout)
        sys.stdout.write("\n")
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
        if violation.remediation_steps:
            steps = textwrap.fill(violation.remediation_steps, 93)
            print(textwrap.indent(steps, "       ").replace("       ", "    -> ", 1))
