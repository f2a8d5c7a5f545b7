"""What a stack would create, advertise and cost: the checked file and the recorded program."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.config.project import PROJECT
from eks_gpushare.documents.reading import reason
from eks_gpushare.findings.finding import Finding, has_errors
from eks_gpushare.program.costs.change import CostChange
from eks_gpushare.program.costs.stack import StackCost, cost_of
from eks_gpushare.program.pools import measured_of, pools_of, tenants_of
from eks_gpushare.program.running.lean_packages import lean_packages
from eks_gpushare.program.values import to_json
from eks_gpushare.stack_file.check import StackReport, check_file, check_stack_file
from eks_gpushare.stack_file.file import stack_file_of
from eks_gpushare.stack_file.project import (
    PYTHON,
    Project,
    ProjectError,
    find_project,
    stack_name,
)
from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from eks_gpushare.program.edits import Consequence
    from eks_gpushare.program.edits.pools import PoolChange
    from eks_gpushare.program.fakes.fakes import Fakes
    from eks_gpushare.program.recording import Recording
    from eks_gpushare.program.stack_config import StackConfig

_LONGEST_NAME = 100
"""Characters that the name of a stack has at most."""
_ONLY_STACK = "dev"
"""How the stack is called of a program that has no stack files."""
_OF_OUR_PROJECT = {shape_rules.NO_ENVIRONMENT.id, shape_rules.STRAY_KEY.id}


@dataclass(frozen=True, slots=True)
class Preview:
    """A stack as it would be."""

    stack: str
    """Name of the stack."""
    project: Project
    """The program."""
    report: StackReport
    """What checking its file found."""
    findings: tuple[Finding, ...]
    """The same, with what cannot be built as errors, and what would be refused of an edit."""
    recording: Recording | None
    """What the program registered; None if the file has errors, for then it is not run."""
    pools: dict[str, Any] = field(default_factory=dict)
    """The pools that the program makes, in environments or by themselves, by name."""
    tenants: dict[str, Any] = field(default_factory=dict)
    """The tenants that it makes, by name."""
    measured: dict[str, Any] = field(default_factory=dict)
    """Of whom the numbers of shares are, by pool, where something measures them."""
    cost: StackCost | None = None
    """What everything that the program registers costs; None if it was not run."""
    edits: tuple[Consequence, ...] | None = None
    """What changes for nodes against another file; None if none was given."""
    pool_changes: tuple[PoolChange, ...] = ()
    """What changes for those who use the pools."""
    cost_change: CostChange | None = None
    """What the other file's stack costs, and this one."""

    @property
    def may_run(self) -> bool:
        """Whether the file can be read and has no errors, so that its program is run."""
        return self.report.readable and not has_errors(self.findings)

    @property
    def ok(self) -> bool:
        """Whether the file and the edit have no errors and the program ran to its end."""
        ran = self.recording is not None and self.recording.error is None
        refused = any(edit.effect == "refused" for edit in self.edits or ())
        return ran and not refused and not has_errors(self.findings)

    def as_json(self) -> dict[str, Any]:
        """The preview as `preview --json` prints it."""
        recording = self.recording
        error = recording.error if recording else None
        return {
            "stack": self.stack,
            "pools": self.pools,
            "cost": self.cost.as_json() if self.cost else None,
            "resources": [r.as_json() for r in recording.resources] if recording else [],
            "outputs": to_json(recording.outputs) if recording else {},
            "findings": [finding.as_json() for finding in self.findings],
            "assumptions": list(recording.assumptions) if recording else [],
            "error": error.as_json() if error else None,
            **({"tenants": self.tenants} if self.tenants else {}),
            **({"measured": self.measured} if self.measured else {}),
            **self._edits_as_json(),
        }

    def _edits_as_json(self) -> dict[str, Any]:
        if self.edits is None:
            return {}
        return {
            "edits": [edit.as_json() for edit in self.edits],
            "poolChanges": [change.as_json() for change in self.pool_changes],
            "costBefore": self.cost_change.before.as_json() if self.cost_change else None,
            "costChange": self.cost_change.as_json() if self.cost_change else None,
        }


def locate(stack: str, program: str | None = None) -> tuple[Project, Path]:
    """The program and the file of a stack that is given by name or by path.

    Raises:
        ProjectError: If there is no such program or stack.
    """
    try:
        return _located(stack, program)
    except (OSError, ValueError) as error:  # a name that no file can have
        shown = stack if len(stack) <= _LONGEST_NAME else f"{stack[:_LONGEST_NAME]}..."
        raise ProjectError(f"{shown} is no stack: {reason(error)}.") from None


def _located(stack: str, program: str | None) -> tuple[Project, Path]:
    given = Path(stack)
    if program is None and given.is_dir() and not _is_a_stack(stack):
        project = find_project(given)
        return project, _only_stack_file(project)
    is_path = given.is_file() or given.suffix in {".yaml", ".yml"} or len(given.parts) > 1
    start = Path(program) if program else given if is_path and given.exists() else Path.cwd()
    project = find_project(start)
    return project, given if is_path else project.stack_file(stack)


def _is_a_stack(name: str) -> bool:
    """Whether a name is a stack's here, for then it is no folder's."""
    try:
        find_project(Path.cwd()).stack_file(name)
    except ProjectError:
        return False
    return True


def _only_stack_file(project: Project) -> Path:
    """The stack file of a program that is named alone: its only one, or one yet to be made."""
    files = sorted(project.stacks.glob("Pulumi.*.yaml"))
    if len(files) > 1:
        names = ", ".join(stack_name(file) for file in files)
        raise ProjectError(f"{project.stacks} has the stacks {names}: name one of them.")
    return files[0] if files else project.stacks / f"Pulumi.{_ONLY_STACK}.yaml"


def preview(
    project: Project, file: Path, *, known: bool = False, answers: str | None = None
) -> Preview:
    """Check a stack file and, if it has no errors, run its program.

    A Python program runs in this process, any other by its language host.

    Args:
        project: The program.
        file: The stack file.
        known: Make up what only an update tells, instead of keeping it unknown.
        answers: File with answers to what there are no fakes for. Default: none.
    """
    checked = checked_stack(project, file)
    if not checked.may_run:
        return checked
    report = checked.report
    recording = record(project, report, checked.stack, known=known, answers=answers)
    region = _region(report, project)
    return replace(
        checked,
        recording=recording,
        pools=pools_of(recording, region),
        tenants=tenants_of(recording),
        measured=measured_of(recording),
        cost=None if recording.error else cost_of(recording, region),
    )


def checked_stack(project: Project, file: Path) -> Preview:
    """What checking a stack file found, its program not run."""
    report = _checked(project, file)
    return Preview(stack_name(file), project, report, tuple(_relevant(report, project)), None)


def _checked(project: Project, file: Path) -> StackReport:
    """The check of a stack file; another project's may do without any."""
    without = file == project.stacks / f"Pulumi.{_ONLY_STACK}.yaml" and not file.exists()
    if project.name == PROJECT or not without or any(project.stacks.glob("Pulumi.*.yaml")):
        return check_file(file)
    return check_stack_file(stack_file_of("config: {}\n", str(file)))


def _region(report: StackReport, project: Project) -> str | None:
    of_stack = report.stack_file.region if report.stack_file else None
    return of_stack or project.config.get("aws:region")


def _relevant(report: StackReport, project: Project) -> tuple[Finding, ...]:
    """Another project's program may do without our environment, and has keys of its own."""
    if project.name == PROJECT:
        return report.findings
    return tuple(f for f in report.findings if f.code not in _OF_OUR_PROJECT)


def compared(previewed: Preview, before: Path, answers: str | None = None) -> Preview:
    """A preview with what its stack changes for nodes against an earlier file of it.

    Raises:
        ProjectError: If the earlier file has errors, for then nothing stands to compare with.
    """
    from eks_gpushare.program.edits import edits, moved
    from eks_gpushare.program.edits.pools import pool_changes
    from eks_gpushare.program.edits.refused import check_edit

    earlier = check_file(before)
    errors = (f for f in _relevant(earlier, previewed.project) if f.severity == "error")
    if first := next(errors, None):
        raise ProjectError(f"{before} has errors, so nothing can be compared with it. {first}")
    if previewed.recording is None:
        return previewed
    project = previewed.project
    regions = _region(earlier, project), _region(previewed.report, project)
    old, new = earlier.environment, previewed.report.environment
    refused = check_edit(old, new, regions) if old and new else []
    # One stack name for both: what the fakes make up is made from it.
    was, now = (
        record(previewed.project, report, previewed.stack, known=True, answers=answers)
        for report in (earlier, previewed.report)
    )
    found = edits(was, now) if regions[0] == regions[1] else moved(was, now, *regions)
    pools, cost = (pools_of(was, regions[0]), pools_of(now, regions[1])), previewed.cost
    return replace(
        previewed,
        edits=tuple(found),
        findings=(*previewed.findings, *refused),
        pool_changes=tuple(pool_changes(*pools)),
        cost_change=CostChange(cost_of(was, regions[0]), cost) if cost else None,
    )


def record(
    project: Project,
    report: StackReport,
    stack: str,
    *,
    known: bool = False,
    answers: str | None = None,
) -> Recording:
    """Run a program as one of its stacks and record what it registers.

    Args:
        project: The program.
        report: The stack file as it was checked: a stream can be read once only.
        stack: Name of the stack.
        known: Make up what only an update tells, instead of keeping it unknown.
        answers: File with answers to what there are no fakes for. Default: none.

    Raises:
        ProjectError: If the answers cannot be used.
    """
    with lean_packages():  # here Pulumi is imported for the first time
        from eks_gpushare.program.fakes.answers import fakes_with

    config, region = _with_region(_config(project, report, stack), project)
    fakes = fakes_with(answers) if answers else None
    recording = _run(project, stack, config, region, preview=not known, fakes=fakes)
    if region:
        recording.assumptions.insert(0, _REGION.format(region=region))
    return recording


_REGION = "The region is {region}, as the environment says, since the stack names none."


def _with_region(config: StackConfig, project: Project) -> tuple[StackConfig, str]:
    """A configuration with the region of the environment, where another project names none.

    Ours names it in every stack file: what a stack is depends on that, and not on who looks.
    """
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
    if project.name == PROJECT or not region or config.values.get("aws:region"):
        return config, ""
    return replace(config, values={**config.values, "aws:region": region}), region


def _run(
    project: Project,
    stack: str,
    config: StackConfig,
    region: str,
    *,
    preview: bool,
    fakes: Fakes | None,
) -> Recording:
    if project.language != PYTHON:
        from eks_gpushare.program.language_host.run import run_hosted

        return run_hosted(
            project,
            stack=stack,
            config=config.values,
            secret_keys=config.secret_keys,
            preview=preview,
            fakes=fakes,
        )
    from eks_gpushare.program.run import run_program

    return run_program(
        project.program,
        project=project.name,
        stack=stack,
        config=config.values,
        secret_keys=config.secret_keys,
        preview=preview,
        fakes=fakes,
        environment={"AWS_REGION": region} if region else {},
    )


def _config(project: Project, report: StackReport, stack: str) -> StackConfig:
    """The configuration of a stack, over that of all stacks of its project."""
    from eks_gpushare.program.stack_config import StackConfig, stack_config_of

    file = report.stack_file
    own = stack_config_of(file.document, project=project.name) if file else StackConfig()
    if missing := [key for key in project.required if key not in own.values]:
        names = ", ".join(key.removeprefix(f"{project.name}:") for key in missing)
        raise ProjectError(
            f"The stack {stack} does not set {names}, which {project.directory / 'Pulumi.yaml'} "
            f"requires. pulumi config set writes into {report.file}."
        )
    return StackConfig({**project.config, **own.values}, own.secret_keys)
