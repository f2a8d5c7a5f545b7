"""`eks-gpushare iam STACK`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE
from eks_gpushare.cli.streams import print_json
from eks_gpushare.findings.text import print_findings
from eks_gpushare.program_verbs.preview import add_answers_argument, add_stack_arguments, load

if TYPE_CHECKING:
    import argparse

    from eks_gpushare.program.permissions.policy import DeployPolicy
    from eks_gpushare.program.preview import Preview


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `iam`."""
    add_stack_arguments(parser)
    add_answers_argument(parser)
    parser.add_argument(
        "--account", metavar="ID", default="*", help="AWS account of the stack (default: any)"
    )
    parser.add_argument(
        "--split",
        metavar="DIR",
        help="also write the policy into DIR, as files that each fit a managed policy",
    )


def run(options: argparse.Namespace) -> int:
    """Print the policy on standard output, and a word about it on standard error."""
    if not re.fullmatch(r"[0-9]{12}|\*", options.account):
        message = f"{options.account} is not an AWS account: give its number of 12 digits"
        print(f"eks-gpushare: {message}", file=sys.stderr)
        return WRONG_USAGE
    previewed = load(options.stack, options)
    if previewed is None:
        return WRONG_USAGE
    if not previewed.ok or previewed.recording is None:
        _refuse(previewed, as_json=options.json)
        return FOUND if previewed.report.readable else WRONG_USAGE
    from eks_gpushare.program.permissions.policy import deploy_policy

    file = previewed.report.stack_file
    region = file.region if file else None
    policy = deploy_policy(previewed.recording, region=region or "", account=options.account)
    print_json(policy.document)
    if not options.json:
        _explain(previewed.stack, policy)
    if policy.unbounded:
        roles = ", ".join(arn.rpartition(":")[2] for arn in policy.unbounded)
        message = (
            f"who has this policy may write any permission into {roles}, as these roles have no "
            "permissions boundary: set iam.permissionsBoundary"
        )
        print(f"eks-gpushare: {message}", file=sys.stderr)
    for token in policy.unknown:
        message = f"what {token} needs is not known: add its actions to the policy yourself"
        print(f"eks-gpushare: {message}", file=sys.stderr)
    if options.split and not _write(policy, previewed.stack, Path(options.split)):
        return WRONG_USAGE
    return FOUND if policy.unknown else FINE


def _explain(stack: str, policy: DeployPolicy) -> None:
    actions = {action for statement in policy.statements for action in statement["Action"]}
    parts = len(policy.split())
    print(
        f"{stack}: {len(actions)} actions in {len(policy.statements)} statements, "
        f"{policy.characters} characters",
        file=sys.stderr,
    )
    if not policy.statements:
        print("  the stack has nothing in AWS", file=sys.stderr)
    if parts > 1:
        print(
            f"  A managed policy holds 6144 of them: --split DIR writes {parts} that a role can "
            "have at once.",
            file=sys.stderr,
        )


def _write(policy: DeployPolicy, stack: str, directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for number, document in enumerate(policy.split(), 1):
            file = directory / f"{stack}-{number}.json"
            file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        message = f"{directory} cannot be written to: {error.strerror}"
        print(f"eks-gpushare: {message}", file=sys.stderr)
        return False
    return True


def _refuse(previewed: Preview, *, as_json: bool) -> None:
    """What a stack needs is told by what its program registers, so it has to get that far."""
    errors = [f for f in previewed.findings if f.severity == "error"]
    if as_json:
        print_json({"findings": [f.as_json() for f in errors]})
    print(f"{previewed.stack}: the stack cannot be planned, so it has no policy", file=sys.stderr)
    print_findings([(previewed.report.line_of(f), f) for f in errors], sys.stderr)
    if previewed.recording is not None and previewed.recording.error is not None:
        print(previewed.recording.error, file=sys.stderr)
