"""The lab's programs: from PATH where they fit, else built once and kept.

A cache entry is a folder `<tool>-<version>-<platform>-<key>`, the key made of everything that
decides what comes out: go.mod, go.sum, packages and linker flags. It appears complete or not at
all. The Go version is written down in it but is no part of the key, so that what is built runs on
without a Go toolchain, and through its updates.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare_lab.binaries import cleaning, versions
from eks_gpushare_lab.binaries.cleaning import CONTENTS
from eks_gpushare_lab.binaries.go_build import BUILD_FLAGS, GoBuild
from eks_gpushare_lab.binaries.progress import BuildProgress, Estimate, default_progress
from eks_gpushare_lab.binaries.toolchain import find_go
from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.host import folders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from eks_gpushare_lab.binaries.cleaning import Cleaned
    from eks_gpushare_lab.binaries.versions import GoCommand, Tool

LINK_SECONDS = 5.0
"""To link one program, on the machine where `Tool.seconds` was measured."""

_QUESTION_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Programs:
    """What was asked for.

    Attributes:
        paths: executable by command name.
        files: what is no program, by tool name.
        versions: by tool name.

    """

    paths: Mapping[str, Path]
    files: Mapping[str, tuple[Path, ...]]
    versions: Mapping[str, str]

    @property
    def stages(self) -> tuple[Path, ...]:
        """The stage files of kwok."""
        return self.files.get(versions.kwok_stages().name, ())


def programs(
    tools: Sequence[Tool] | None = None, *, progress: BuildProgress | None = None
) -> Programs:
    """Have the programs, building those that are neither on PATH nor in the cache.

    Args:
        tools: what is wanted. Default: all of a control plane.
        progress: told what is built. Default: a bar or lines on standard error.

    Raises:
        LabError: Something could not be built; the text says what to do.

    """
    wanted = versions.tools() if tools is None else tuple(tools)
    found = {tool.name: _on_path(tool) or _in_cache(tool) for tool in wanted}
    missing = [tool for tool in wanted if found[tool.name] is None]
    if missing:
        shown = progress or default_progress()
        try:
            _build(missing, shown)
        finally:
            shown.close()
        found |= {tool.name: _in_cache(tool) for tool in missing}
    for tool in wanted:
        cleaning.note_use(entry(tool))
    paths: dict[str, Path] = {}
    files: dict[str, tuple[Path, ...]] = {}
    for tool in wanted:
        there = found[tool.name] or {}
        commands = {command.name for command in tool.commands}
        paths |= {name: path for name, path in there.items() if name in commands}
        if tool.files:
            files[tool.name] = tuple(path for name, path in there.items() if name not in commands)
    numbers = {tool.name: tool.version for tool in wanted if tool.commands}
    return Programs(paths, files, numbers)


def missing(tools: Sequence[Tool] | None = None) -> list[str]:
    """Names of the tools that would have to be built.

    Args:
        tools: what is wanted. Default: all of a control plane.

    """
    wanted = versions.tools() if tools is None else tuple(tools)
    return [tool.name for tool in wanted if not (_on_path(tool) or _in_cache(tool))]


def clean(*, everything: bool = False, waiting: Callable[[str], object] | None = None) -> Cleaned:
    """Remove from the cache what this version does not run.

    Args:
        everything: what it runs too; nothing that a process runs at the moment.
        waiting: called once if a lab is being started or built: until that is done.

    """
    name, version = versions.GO_PACKAGE
    ours = [*map(entry, versions.every_tool()), folders.cache_folder() / f"{name}-{version}"]
    return cleaning.clean(() if everything else ours, waiting)


def key(tool: Tool) -> str:
    """What decides the content of a cache entry, in twelve digits."""
    pins = [(tool.folder / name).read_text(encoding="utf-8") for name in ("go.mod", "go.sum")]
    packages = [f"{command.name}={command.package}" for command in tool.commands]
    decisive = json.dumps([*pins, packages, tool.stamps, tool.files, BUILD_FLAGS, *tool.tags])
    return hashlib.sha256(decisive.encode()).hexdigest()[:12]


def entry(tool: Tool) -> Path:
    """Where a tool is kept once it is built."""
    kind = f"{sys.platform}-{platform.machine().lower()}"
    name = f"{tool.name}-{tool.version}-{kind}-{key(tool)}"
    return folders.cache_folder() / name


def _in_cache(tool: Tool) -> dict[str, Path] | None:
    """The files of a tool by name, if all are there and whole."""
    folder = entry(tool)
    try:
        contents = json.loads((folder / CONTENTS).read_text(encoding="utf-8"))
        if any((folder / name).stat().st_size != size for name, size in contents["files"].items()):
            return None
    except (OSError, ValueError, KeyError):
        return None
    return {name: folder / name for name in contents["files"]}


def _on_path(tool: Tool) -> dict[str, Path] | None:
    """The programs of a tool, if PATH has all of them in the wanted version."""
    paths: dict[str, Path] = {}
    for command in tool.commands:
        path = shutil.which(command.name)
        if path is None or not command.says or not fits(Path(path), command):
            return None
        paths[command.name] = Path(path).absolute()
    return paths or None


def fits(path: Path, command: GoCommand) -> bool:
    """Whether a program says that it is the wanted version, in its first line."""
    try:
        done = subprocess.run(  # noqa: S603  (programs that we would run anyway)
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_QUESTION_SECONDS,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return False
    said, wanted = done.stdout.partition("\n")[0].split(), command.says.split()
    return said[: len(wanted)] == wanted


def _build(tools: Iterable[Tool], progress: BuildProgress) -> None:
    tools = list(tools)
    cache = folders.make_private(folders.cache_folder())

    def waiting(pid: str) -> None:
        progress.note(f"another process (pid {pid or 'unknown'}) is building: waiting for it")

    # One lock for all: two builds at once would share the cores and do the same work twice.
    with folders.locked(cache / "locks" / "build", waiting):
        cleaning.remove_leftovers(cache)
        missing = [tool for tool in tools if _in_cache(tool) is None]
        if not missing:
            return
        go = find_go(max(versions.required_go(tool.folder) for tool in missing), progress.note)
        progress.note(f"building with {go} into {cache}, once")
        with tempfile.TemporaryDirectory(prefix=".building-", dir=cache) as folder:
            builds = [GoBuild(go, tool, Path(folder), cache / "logs") for tool in missing]
            _build_all(builds, progress)
        # The disk grows when versions change, and here: what nobody has run for long goes.
        for each in cleaning.remove_unused(cache):
            progress.note(f"{each.name} has not been used for {cleaning.KEPT_DAYS} days: removed")


def _build_all(builds: Sequence[GoBuild], progress: BuildProgress) -> None:
    guess = Estimate(sum(build.tool.seconds for build in builds), started=time.monotonic())
    for build in builds:
        with _step(f"{build.name}: modules", guess, progress):
            build.prepare(lambda detail: progress.advance(detail, 0.0, guess.left(guess.started)))
    # Only now is it known how much Go's own cache spares us.
    estimate = Estimate(sum(map(_work, builds)), started=time.monotonic())
    finished = 0.0
    for build in builds:
        for command in build.tool.commands:
            with _step(f"{command.name} {build.tool.version}", estimate, progress):
                _compile(build, command, estimate, progress)
            if not fits(build.folder / command.name, command):
                what = f"{command.name} was built, but does not say that it is {command.says!r}"
                raise LabError(f"{what}; the log is {build.log}")
        _keep(build)
        finished += _work(build)
        estimate.done = finished  # packages that tools share were compiled for an earlier one


@contextmanager
def _step(what: str, estimate: Estimate, progress: BuildProgress) -> Iterator[None]:
    started = time.monotonic()
    progress.begin(what, estimate.left(None if estimate.done else estimate.started))
    yield
    progress.end(what, time.monotonic() - started)


def _compile(
    build: GoBuild, command: GoCommand, estimate: Estimate, progress: BuildProgress
) -> None:
    compiled = 0

    def seen(packages: int) -> None:
        nonlocal compiled
        compiled += packages
        estimate.done += packages * _seconds_each(build.tool)
        noun = "package" if compiled == 1 else "packages"
        detail = f"{compiled} {noun} compiled" if compiled else ""
        progress.advance(detail, estimate.share(), estimate.left())

    build.compile(command, seen)
    estimate.done += LINK_SECONDS


def _seconds_each(tool: Tool) -> float:
    return (tool.seconds - LINK_SECONDS * len(tool.commands)) / tool.packages


def _work(build: GoBuild) -> float:
    """Seconds that a build takes on the machine where `Tool.seconds` was measured."""
    return build.stale * _seconds_each(build.tool) + LINK_SECONDS * len(build.tool.commands)


def _keep(build: GoBuild) -> None:
    """Make the cache entry: written to the disk first, then there in one step."""
    contents = {
        "files": {file.name: file.stat().st_size for file in sorted(build.folder.iterdir())},
        "go": ".".join(map(str, build.go.version)),
    }
    (build.folder / CONTENTS).write_text(json.dumps(contents, indent=2), encoding="utf-8")
    for file in build.folder.iterdir():
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
    kept = entry(build.tool)
    shutil.rmtree(kept, ignore_errors=True)  # damaged, or it would not have been built
    build.folder.replace(kept)
