"""Where the policy pack is that comes with the package, and which others there are.

The pack's files are `policies/` of this repository; a wheel carries them as data in `policy_pack`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import yaml

from eks_gpushare.documents.reading import read_bytes
from eks_gpushare.stack_file.project import PYTHON, ProjectError, find_project
from eks_gpushare.stack_file.yaml import MAX_BYTES, read

_PACKAGE = Path(__file__).parents[2]
_IN_WHEEL = _PACKAGE / "policy_pack"
_IN_SOURCES = _PACKAGE.parents[1] / "policies"

PACK_FILE = "PulumiPolicy.yaml"


@dataclass(frozen=True, slots=True)
class PackFolder:
    """A folder that holds a policy pack."""

    directory: Path
    """The folder."""
    bundled: bool
    """Whether it is the one that comes with the package."""

    @classmethod
    def named(cls, directory: Path) -> PackFolder:
        """A folder that somebody names; whether it is there shows when its pack is read."""
        try:
            bundled = directory.resolve() == bundled_pack().resolve()
        except (OSError, ValueError):  # no file can have such a name
            bundled = False
        return cls(directory, bundled)


class PackBeside(NamedTuple):
    """A pack in a folder of a program: whoever writes the program may have written it too."""

    directory: Path
    language: str
    """Name of its runtime, `python` or another; empty where it names none."""

    @property
    def how_to_run(self) -> str:
        """The option, or the command, that has it judge."""
        folder = os.path.relpath(self.directory)
        if self.language in ("", PYTHON):
            return f"--pack {folder}"
        return f"pulumi preview --policy-pack {folder}"


def bundled_pack() -> Path:
    """The folder of the pack that comes with this package."""
    return _IN_WHEEL if _IN_WHEEL.is_dir() else _IN_SOURCES


def preset_file(name: str) -> Path:
    """The levels of all policies of this package's pack, as a configuration in JSON."""
    return bundled_pack() / "presets" / f"{name}.json"


def packs_beside(program: Path) -> list[PackBeside]:
    """The packs of others in folders of a program, which nobody has named."""
    ours = bundled_pack().resolve()
    found = [each.parent for each in sorted(program.glob(f"*/{PACK_FILE}"))]
    return [PackBeside(each, language_of(each)) for each in found if each.resolve() != ours]


def language_of(pack: Path) -> str:
    """The language of a pack as its file names it; empty where it names none."""
    try:
        content = read(read_bytes(pack / PACK_FILE, MAX_BYTES), PACK_FILE).value
    except OSError:
        return ""
    runtime = content.get("runtime") if isinstance(content, dict) else None
    name = runtime.get("name") if isinstance(runtime, dict) else runtime
    return name if isinstance(name, str) else ""


def files_for(directory: Path) -> dict[Path, str]:
    """The files of this package's pack as they belong into a folder, by their paths there.

    The engine runs a pack in the virtual environment that its `PulumiPolicy.yaml` names, from the
    pack's folder on. Without one it takes the Python on PATH.

    Args:
        directory: Where they are to be; the project it is in says which environment is used.
    """
    source = bundled_pack()
    return {
        directory / found.relative_to(source): (
            _pack_file(found, directory)
            if found.name == PACK_FILE
            else found.read_text(encoding="utf-8")
        )
        for found in sorted(source.rglob("*"))
        if found.is_file() and "__pycache__" not in found.parts
    }


def _pack_file(source: Path, directory: Path) -> str:
    content = yaml.safe_load(source.read_text(encoding="utf-8"))
    options = {"toolchain": "pip"}
    if environment := _virtualenv(directory):
        options["virtualenv"] = environment
    content["runtime"] = {"name": "python", "options": options}
    return yaml.safe_dump(content, sort_keys=False, width=100)


def _virtualenv(directory: Path) -> str | None:
    """The virtual environment of the project that a folder is in, from the folder on."""
    directory = Path(os.path.abspath(directory))  # noqa: PTH100  (it need not be there yet)
    there = next(path for path in (directory, *directory.parents) if path.is_dir())
    try:
        project = find_project(there)
    except ProjectError:
        return None
    file = project.directory / "Pulumi.yaml"
    content = read(file.read_bytes(), str(file)).value
    runtime = content.get("runtime") if isinstance(content, dict) else None
    options = runtime.get("options") if isinstance(runtime, dict) else None
    name = options.get("virtualenv") if isinstance(options, dict) else None
    if not isinstance(name, str):
        return None
    return Path(os.path.relpath(project.directory / name, directory)).as_posix()
