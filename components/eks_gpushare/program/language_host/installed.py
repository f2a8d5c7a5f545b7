"""Where Pulumi's own programs are: language hosts, and plugins of packages."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def newest(kind: str, name: str, environment: Mapping[str, str]) -> Path | None:
    """A program of Pulumi's: on PATH, beside `pulumi`, or the newest among its plugins.

    Args:
        kind: `language` or `resource`.
        name: Of the language or package.
        environment: Variables, of which PATH and PULUMI_HOME count.
    """
    program = f"pulumi-{kind}-{name}"
    path = environment.get("PATH", "")
    if found := shutil.which(program, path=path):
        return Path(found).absolute()
    home = Path(environment.get("PULUMI_HOME") or Path.home() / ".pulumi")
    pulumi = shutil.which("pulumi", path=path)
    folders = [home / "bin", *([Path(pulumi).resolve().parent] if pulumi else [])]
    folders += sorted((home / "plugins").glob(f"{kind}-{name}-v*"), key=_version, reverse=True)
    for folder in folders:
        if found := shutil.which(program, path=str(folder)):
            return Path(found).absolute()
    return None


def _version(folder: Path) -> list[int]:
    parts = folder.name.rpartition("-v")[2].split(".")
    return [int(part) if part.isascii() and part.isdecimal() else 0 for part in parts]
