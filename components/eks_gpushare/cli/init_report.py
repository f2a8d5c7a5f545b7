"""What `init` says once it has written its files."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from eks_gpushare.findings.text import counted, print_findings
from eks_gpushare.scaffold.texts import RELEASED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from eks_gpushare.scaffold.choices import Choices
    from eks_gpushare.scaffold.project import FirstProject

_COMMAND = 52
"""Columns that leave room for a comment behind a command."""
_PURPOSES = {
    "Pulumi.yaml": "the project",
    "__main__.py": "the program, the same for every stack",
    "requirements.txt": "what it runs with",
    "stack-file.schema.json": "lets editors complete the stack file",
    ".gitignore": "what no repository wants",
}


def print_written(
    project: FirstProject, choices: Choices, folder: Path, written: Sequence[Path]
) -> None:
    """The files, what the stack gives, what to know about it, and what to do next."""
    count = "1 file" if len(written) == 1 else f"{len(written)} files"
    where = f" to {folder}" if str(folder) != "." else ""
    print(f"{count} written{where}")
    names = [os.path.relpath(file, folder) for file in written]
    width = max(map(len, names), default=0)
    stack = f"stacks/Pulumi.{choices.stack}.yaml"
    purposes = {**_PURPOSES, stack: "the stack: change it here", project.workload: "pods to try"}
    for name in names:
        print(f"  {name:{width}}  {purposes.get(name, '')}".rstrip())
    _print_stack(project, choices)
    report = project.report
    known = [finding for finding in report.findings if finding.severity == "warning"]
    if known:
        print(f"\nTo know about {choices.stack}{counted(known)}")
        print_findings([(report.line_of(finding), finding) for finding in known], sys.stdout)
    _print_next(project, choices, folder)


def _print_stack(project: FirstProject, choices: Choices) -> None:
    plan = project.plan
    if plan is None:
        return
    node = next(iter(plan.per_node.values()))
    advertised = ", ".join(f"{name}: {count}" for name, count in node.items() if count)
    place = f" in {choices.region}" if choices.region else ""
    cost = f", ${plan.cost.at_desired:.2f} an hour" if plan.cost else ""
    print(f"\nStack {choices.stack}: {plan.sizes.desired} x {choices.instance_type}{place}{cost}")
    print(f"  each node advertises {advertised}")
    if choices.new and not choices.public_cidrs:
        print("  the Kubernetes API is private: pulumi up has to run where it reaches the VPC,")
        print("  or name your network: endpoint in the stack file, --public-cidr here")


def _print_next(project: FirstProject, choices: Choices, folder: Path) -> None:
    stack = choices.stack
    print("\nGo on with")
    if str(folder) != ".":
        print(f"  cd {folder}")
    steps = (
        (f"eks-gpushare check stacks/Pulumi.{stack}.yaml", "is the file right"),
        (f"eks-gpushare preview {stack}", "what there would be"),
        (f"eks-gpushare lab run {stack} --apply {project.workload}", "whether pods run"),
        (f"eks-gpushare policy {stack}", "is it as it should be"),
    )
    width = max(len(command) for command, _ in steps)
    for command, purpose in steps:
        print(f"  {command:{width}}  # {purpose}" if width < _COMMAND else f"  {command}")
    print("and, with the Pulumi CLI and AWS credentials,")
    if not RELEASED and not choices.wheels:
        print("  # requirements.txt needs --find-links DIR: no release is on PyPI yet")
    print("  pulumi install")
    print(f"  pulumi stack init {stack}")
    print(f"  pulumi up --stack {stack}")
