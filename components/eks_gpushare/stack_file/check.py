"""Check stack files: everything that is wrong with each, without Pulumi, AWS or a network."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.documents.reading import reason
from eks_gpushare.findings.defects import defect
from eks_gpushare.findings.finding import FieldPath, Finding, has_errors
from eks_gpushare.rules import check_environment
from eks_gpushare.rules.stack import NO_REGION
from eks_gpushare.stack_file.file import StackFile, read_stack_file, unreadable
from eks_gpushare.stack_file.local_files import check_local_files, names_files, program_folder
from eks_gpushare.validation.credentials import credentials
from eks_gpushare.validation.parse import Parsed, parse
from eks_gpushare.validation.shape_rules import SECRET_INSIDE, STRAY_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import date

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.validation.shape import Spelling

_REGION: FieldPath = ("config", "aws:region")


class StackReport(NamedTuple):
    """What was found in one stack file."""

    file: str
    """The file as it was given."""
    findings: tuple[Finding, ...]
    """All findings, in the order of the file's lines."""
    readable: bool
    """Whether the file could be read as YAML."""
    stack_file: StackFile | None = None
    """The file; None if it could not be opened."""
    environment: Environment | None = None
    """The environment, where nothing is wrong with its shape."""

    @property
    def ok(self) -> bool:
        """Whether no finding is an error."""
        return not has_errors(self.findings)

    def line_of(self, found: Finding) -> int | None:
        """The line a finding is about."""
        return self.stack_file.line_of(found) if self.stack_file else None

    def as_json(self) -> dict[str, Any]:
        """The report as `check --json` prints it."""
        found = [finding.as_json() for finding in self.findings]
        return {"file": self.file, "ok": self.ok, "findings": found}


def check_file(
    path: str | Path, *, today: date | None = None, local_files: bool = True
) -> StackReport:
    """Check one stack file.

    Args:
        path: Where it is.
        today: For versions that end. Default: today.
        local_files: Whether to look at the files that it names, such as a kubeconfig.
    """
    try:
        stack_file = read_stack_file(path)
    except OSError as error:
        return StackReport(str(path), (unreadable(str(path), reason(error)),), readable=False)
    except Exception as error:  # noqa: BLE001  (reading never raises; if it does, it is said)
        return StackReport(str(path), (defect(error),), readable=True)
    # Few files name others, so the program is looked for only then.
    program = partial(program_folder, Path(path)) if local_files else None
    return check_stack_file(stack_file, today=today, program=program)


def check_stack_file(
    stack_file: StackFile,
    *,
    today: date | None = None,
    program: Callable[[], Path] | None = None,
) -> StackReport:
    """Check a stack file that was read already.

    Args:
        stack_file: The file.
        today: For versions that end. Default: today.
        program: Gives the folder of its program, from which paths in it start. Default: the files
            that it names are not looked at.
    """
    try:
        return _checked(stack_file, today, program)
    except Exception as error:  # noqa: BLE001  (other files of the call are checked all the same)
        found = (*stack_file.findings, defect(error))
        return StackReport(stack_file.name, found, stack_file.readable, stack_file)


def _checked(
    stack_file: StackFile, today: date | None, program: Callable[[], Path] | None
) -> StackReport:
    found = list(stack_file.findings)
    environment = None
    if stack_file.environment is not None:
        parsed, of_environment = check_given(
            stack_file.environment,
            found,
            region=stack_file.region,
            spelled=stack_file.spelled,
            today=today,
        )
        environment = None if parsed.findings else parsed.environment
        if environment is not None:
            found += credentials(stack_file.environment, environment=True)
        found += of_environment
        if program is not None and parsed.environment and names_files(parsed.environment):
            refused = {finding.at for finding in found if finding.severity == "error"}
            missing = check_local_files(parsed.environment, program())
            found += [finding for finding in missing if finding.at not in refused]
    found.sort(key=lambda finding: stack_file.line_of(finding) or 0)
    return StackReport(stack_file.name, tuple(found), stack_file.readable, stack_file, environment)


def check_given(
    given: object,
    beside: Iterable[Finding],
    *,
    region: str | None,
    spelled: Spelling | None = None,
    today: date | None = None,
) -> tuple[Parsed, list[Finding]]:
    """Check an environment whose surroundings are checked already.

    Args:
        given: Its plain data, secrets as they stand in the file.
        beside: What is wrong with the rest of the configuration.
        region: AWS region of the stack, None if it does not say.
        spelled: How the scalar at a place is written in the file. Default: unknown.
        today: For versions that end. Default: today.

    Returns:
        The environment, and all that is found in it. Of what is secret nothing more is said.
    """
    beside = tuple(beside)
    try:
        parsed = parse(given, spelled)
    except Exception as error:  # noqa: BLE001  (what is wrong beside the environment stands)
        parsed = Parsed(None, (defect(error),))
    secret = [finding.at[2:] for finding in beside if finding.code == SECRET_INSIDE.id]
    found = [f for f in parsed.findings if not any(_within(f, at) for at in secret)]
    if parsed.environment is not None:
        ruled = check_environment(
            parsed.environment, region=region, today=today, partly_read=bool(parsed.findings)
        )
        if any(_is_about_region(f) for f in beside):  # there is one, and it is wrong
            ruled = [f for f in ruled if f.code != NO_REGION.id]
        found += ruled
    return parsed, found


def _is_about_region(found: Finding) -> bool:
    meant = found.code == STRAY_KEY.id and found.fix == "Did you mean aws:region?"
    return meant or found.at == _REGION


def _within(found: Finding, at: FieldPath) -> bool:
    return found.at[: len(at)] == at
