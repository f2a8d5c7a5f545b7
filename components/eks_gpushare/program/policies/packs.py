"""Load a policy pack without starting it.

`PolicyPack(...)` serves the pack's rules and never returns, so for the time of loading it is a
recorder of what it is given.
"""

from __future__ import annotations

import runpy
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pulumi_policy

from eks_gpushare.documents.reading import read_bytes, reason
from eks_gpushare.findings.defects import in_one_line
from eks_gpushare.program.policies.pack_files import PACK_FILE, language_of
from eks_gpushare.program.running.endings import kept_alive
from eks_gpushare.stack_file.project import PYTHON
from eks_gpushare.stack_file.yaml import MAX_BYTES, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pulumi_policy import EnforcementLevel, Policy


class PackError(Exception):
    """A directory holds no policy pack that can be loaded; the text says why."""


@dataclass(frozen=True, slots=True)
class Pack:
    """A policy pack as its `__main__.py` assembles it."""

    name: str
    """Name of the pack."""
    policies: Sequence[Policy]
    """Its policies."""
    level: EnforcementLevel
    """Level of policies that have none of their own."""
    initial_config: Mapping[str, Any] = field(default_factory=dict)
    """Settings that the pack gives its policies."""


class _Assembled(BaseException):
    """Carries the pack out of its program; no `except Exception` there may stop it."""

    def __init__(self, pack: Pack) -> None:
        super().__init__()
        self.pack = pack


def load_pack(directory: Path) -> Pack:
    """The pack in a directory.

    Raises:
        PackError: If there is none, or its program fails.
    """
    try:
        is_folder, is_there = directory.is_dir(), directory.exists()
    except OSError as error:  # such as a name that is too long
        what = f"cannot be read: {reason(error)}"
        raise PackError(f"The policy pack {str(directory)[:40]}... {what}.") from error
    if not is_folder:
        what = "is no directory" if is_there else "is not there"
        raise PackError(
            f"The policy pack {directory} {what}. Name the directory of a pack with --pack."
        )
    language = language_of(directory)
    if language not in ("", PYTHON):
        raise PackError(
            f"{directory} is a policy pack in {language}, which the engine runs: "
            f"pulumi preview --policy-pack {directory}."
        )
    main = _main_of(directory)
    if not main.is_file():
        told = "__main__.py" if main.parent == directory else main.relative_to(directory)
        raise PackError(f"{directory} holds no policy pack: there is no {told} in it.")
    try:
        with kept_alive(), _recording_packs(main.parent):
            runpy.run_path(str(main), run_name="__main__")
    except _Assembled as assembled:
        return assembled.pack
    except (Exception, SystemExit) as error:
        why = in_one_line(error, placed=False)
        raise PackError(f"The policy pack in {directory} cannot be loaded. {why}") from error
    raise PackError(f"{main} makes no PolicyPack.")


def _main_of(directory: Path) -> Path:
    """The program of a pack: `__main__.py`, in the folder or as the file that `main` names."""
    try:
        content = read(read_bytes(directory / PACK_FILE, MAX_BYTES), PACK_FILE).value
    except OSError:
        content = None
    given = content.get("main") if isinstance(content, dict) else None
    main = directory / given if isinstance(given, str) else directory
    # It may not lead out of the pack, which is what was named to be run.
    if not main.resolve().is_relative_to(directory.resolve()):
        raise PackError(f"main of {directory / PACK_FILE} leads out of the pack: {given}.")
    return main if main.suffix == ".py" else main / "__main__.py"


@contextmanager
def _recording_packs(directory: Path) -> Iterator[None]:
    original, path = pulumi_policy.PolicyPack, list(sys.path)

    def record(
        name: str,
        policies: Sequence[Policy],
        enforcement_level: EnforcementLevel = pulumi_policy.EnforcementLevel.ADVISORY,
        initial_config: Mapping[str, Any] | None = None,
        **_: object,
    ) -> None:
        raise _Assembled(Pack(name, policies, enforcement_level, initial_config or {}))

    sys.path.insert(0, str(directory))
    pulumi_policy.PolicyPack = record  # type: ignore[assignment,misc]  # for the time of loading
    try:
        yield
    finally:
        pulumi_policy.PolicyPack = original  # type: ignore[misc]  # as it was
        sys.path[:] = path
