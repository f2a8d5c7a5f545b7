"""A first project as a whole: its files, and what the check says of its stack file."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.schema import stack_file_schema
from eks_gpushare.rules.instances import NOT_IN_REGION, RETIRED_TYPE
from eks_gpushare.scaffold import texts
from eks_gpushare.scaffold.workload import workload
from eks_gpushare.sharing.plan import plan_pool
from eks_gpushare.stack_file.check import check_stack_file
from eks_gpushare.stack_file.file import stack_file_of

if TYPE_CHECKING:
    from datetime import date

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.scaffold.choices import Choices
    from eks_gpushare.sharing.plan import PoolPlan
    from eks_gpushare.stack_file.check import StackReport

# Of a file that is there they are warnings: the catalog may be behind. A first stack that cannot
# be launched as far as anybody knows is none.
_REFUSED = {NOT_IN_REGION.id, RETIRED_TYPE.id}


@dataclass(frozen=True, slots=True)
class FirstProject:
    """What a first project would be."""

    report: StackReport
    """The check of its stack file, with errors for what no first stack should have."""
    files: dict[str, str]
    """Texts by paths from the project's folder on; empty if there are errors."""
    plan: PoolPlan | None
    """Of its pool; None if there are errors."""
    workload: str
    """Path of the example workload."""


def first_project(
    choices: Choices,
    *,
    folder: Path | None = None,
    version: str | None = None,
    today: date | None = None,
    workload_file: str = "workload.yaml",
) -> FirstProject:
    """Make the texts of a first project, and check its stack file.

    Args:
        choices: Complete choices.
        folder: Where it is to be, for paths in the stack file. Default: the working directory.
        version: Version of this package, for the requirements. Default: any.
        today: For versions that end. Default: today.
        workload_file: Path of the example workload.
    """
    today = today or datetime.now(UTC).date()
    stack = f"{texts.STACKS}/Pulumi.{choices.stack}.yaml"
    text = texts.stack_file(choices, today)
    name = str(folder / stack) if folder else stack
    program = folder or Path()
    report = check_stack_file(stack_file_of(text, name), today=today, program=lambda: program)
    report = report._replace(findings=tuple(map(_refused, report.findings)))
    if not report.ok or report.environment is None:
        return FirstProject(report, {}, None, workload_file)
    catalog, _ = catalog_of(report.environment.catalog, choices.region)
    plan = plan_pool("gpu", report.environment.pools["gpu"], catalog, choices.region)
    files = {
        "Pulumi.yaml": texts.project_file(choices.name),
        "__main__.py": texts.MAIN,
        "requirements.txt": texts.requirements(version, choices.wheels),
        stack: text,
        workload_file: workload(plan, choices.stack, workload_file),
        texts.SCHEMA_FILE: json.dumps(stack_file_schema(), indent=2) + "\n",
        ".gitignore": texts.GITIGNORE,
    }
    return FirstProject(report, files, plan, workload_file)


def _refused(found: Finding) -> Finding:
    return replace(found, severity="error") if found.code in _REFUSED else found
