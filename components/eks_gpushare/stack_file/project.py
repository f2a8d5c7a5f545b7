"""Where a Pulumi program is, and which file is the configuration of one of its stacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eks_gpushare.config.project import PROJECT
from eks_gpushare.documents.reading import read_bytes, reason
from eks_gpushare.stack_file.yaml import MAX_BYTES, read

if TYPE_CHECKING:
    from pathlib import Path

_PROJECT_FILE = "Pulumi.yaml"


class ProjectError(Exception):
    """There is no such program or stack; the text says what was looked for and where."""


@dataclass(frozen=True, slots=True)
class Project:
    """A Pulumi program in a directory."""

    directory: Path
    """Where `Pulumi.yaml` is."""
    name: str
    """Name of the project, the namespace of its configuration."""
    program: Path
    """Directory of `__main__.py`."""
    stacks: Path
    """Directory of the stack files."""

    def stack_file(self, stack: str) -> Path:
        """The file of a stack given by its name.

        Raises:
            ProjectError: If there is none, with those there are.
        """
        path = self.stacks / f"Pulumi.{stack}.yaml"
        if path.is_file():
            return path
        names = sorted(stack_name(found) for found in self.stacks.glob("Pulumi.*.yaml"))
        there = f"There are {', '.join(names)}." if names else "There are no stack files."
        raise ProjectError(f"There is no stack {stack} in {self.stacks}. {there}")


def find_project(start: Path) -> Project:
    """The project that a directory or file belongs to: the nearest one upwards.

    Raises:
        ProjectError: If there is none, or its `Pulumi.yaml` is not that of a Python program.
    """
    at = start.resolve()
    for directory in (at, *at.parents) if at.is_dir() else at.parents:
        if (directory / _PROJECT_FILE).is_file():
            return _project(directory)
    raise ProjectError(
        f"There is no {_PROJECT_FILE} in {start} or above it. Run the command in the directory of "
        "a Pulumi program, or name one with --program."
    )


def _project(directory: Path) -> Project:
    path = directory / _PROJECT_FILE
    try:
        document = read(read_bytes(path, MAX_BYTES), str(path))
    except OSError as error:
        raise ProjectError(f"{path} cannot be read: {reason(error)}.") from None
    content = document.value
    if not isinstance(content, dict):
        why = document.problems[0].message if document.problems else "it is no mapping"
        raise ProjectError(f"{path} cannot be read: {why}.")
    runtime = content.get("runtime")
    language = runtime.get("name") if isinstance(runtime, dict) else runtime
    if language != "python":
        raise ProjectError(f"{path} is the project of a {language} program; Python is needed.")
    name, main, stacks = (content.get(key) for key in ("name", "main", "stackConfigDir"))
    program = directory / str(main) if isinstance(main, str) else directory
    return Project(
        directory,
        name if isinstance(name, str) else PROJECT,
        program.parent if program.is_file() else program,
        directory / stacks if isinstance(stacks, str) else directory,
    )


def stack_name(path: Path) -> str:
    """Name of the stack that a file configures: `dev` of `Pulumi.dev.yaml`, else the bare name."""
    return path.name.removeprefix("Pulumi.").removesuffix(".yaml").removesuffix(".yml")
