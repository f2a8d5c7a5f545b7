"""Where a Pulumi program is, and which file is the configuration of one of its stacks."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare.config.project import PROJECT
from eks_gpushare.documents.reading import read_bytes, reason
from eks_gpushare.stack_file.yaml import MAX_BYTES, read

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_PROJECT_FILE = "Pulumi.yaml"
PYTHON = "python"
"""The runtime of programs that run in this process."""

_RUNTIME = re.compile(r"[a-z][a-z0-9-]*")


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
    """Directory of the program: of a Python program that of `__main__.py`."""
    stacks: Path
    """Directory of the stack files."""
    language: str = PYTHON
    """Name of the runtime: `python`, `nodejs`, `go`, `yaml`, ..."""
    entry_point: str = "."
    """What of the directory is run: `.`, or the file that `main` names."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the runtime."""
    config: Mapping[str, str] = field(default_factory=dict)
    """Configuration of all stacks, by full key, as the engine hands it to programs."""
    required: tuple[str, ...] = ()
    """Full keys that every stack has to have."""

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
        ProjectError: If there is none, or its `Pulumi.yaml` cannot be read.
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
    options = runtime.get("options") if isinstance(runtime, dict) else None
    language = runtime.get("name") if isinstance(runtime, dict) else runtime
    if not isinstance(language, str) or not _RUNTIME.fullmatch(language):
        said = "has no runtime" if language is None else f"has the runtime {language!r}"
        raise ProjectError(f"{path} {said}; name one, such as python, nodejs, go or yaml.")
    name, main, stacks = (content.get(key) for key in ("name", "main", "stackConfigDir"))
    name = name if isinstance(name, str) else PROJECT
    program = directory / str(main) if isinstance(main, str) else directory
    is_file = program.is_file()
    config, required = _of_all_stacks(content.get("config"), name)
    return Project(
        directory,
        name,
        program.parent if is_file else program,
        directory / stacks if isinstance(stacks, str) else directory,
        language,
        program.name if is_file else ".",
        options if isinstance(options, dict) else {},
        config,
        required,
    )


def _of_all_stacks(declared: object, name: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """What a project gives to all its stacks, and what it wants of each.

    pulumi/pulumi, pkg/workspace/config.go (mergeConfig) and sdk/go/common/workspace/project.go, at
    v3.260.0, read 2026-11-22: a value that is no mapping stands for itself; a mapping declares the
    key, with `value` or `default`. A key of the project's own that has neither is required.
    """
    config: dict[str, str] = {}
    required: list[str] = []
    for key, declaration in declared.items() if isinstance(declared, dict) else ():
        full = str(key) if ":" in str(key) else f"{name}:{key}"
        given = declaration if isinstance(declaration, dict) else {"value": declaration}
        stated = (given.get(key) for key in ("default", "value"))
        value = next((value for value in stated if value is not None), None)
        if value is not None:
            config[full] = _as_text(value)
        elif full.startswith(f"{name}:"):
            required.append(full)
    return config, tuple(required)


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def stack_name(path: Path) -> str:
    """Name of the stack that a file configures: `dev` of `Pulumi.dev.yaml`, else the bare name."""
    return path.name.removeprefix("Pulumi.").removesuffix(".yaml").removesuffix(".yml")
