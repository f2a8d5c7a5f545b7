"""One tool, built by `go` in a folder that becomes its cache entry."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare_lab.binaries.toolchain import go_environment
from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.host import processes

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare_lab.binaries.toolchain import Go
    from eks_gpushare_lab.binaries.versions import GoCommand, Tool

BUILD_FLAGS = ("-mod=readonly", "-buildvcs=false")
"""Nothing but the committed go.mod and go.sum decides what is built."""

_SHOWN_LINES = 12
_TICK_SECONDS = 0.5
_UNREACHABLE = re.compile(
    r"dial tcp|i/o timeout|no such host|connection refused|TLS handshake|network is unreachable"
    r"|proxyconnect|module lookup disabled|: (403|404|5[0-9][0-9]) "
)


class GoBuild:
    """Builds one tool; nothing of it counts before the builder has put the folder in place."""

    def __init__(self, go: Go, tool: Tool, parent: Path, logs: Path) -> None:
        """Prepare folders.

        Args:
            go: the toolchain.
            tool: what to build.
            parent: temporary folder for everything that is written.
            logs: folder for the log, which stays.

        """
        self.go = go
        self.tool = tool
        self.folder = parent / tool.name
        self.folder.mkdir()
        self._scratch = parent / "go"
        self._scratch.mkdir(exist_ok=True)
        logs.mkdir(exist_ok=True)
        self.log = logs / f"{tool.name}-{tool.version}.log"
        self.log.write_bytes(b"")
        self.stale = 0

    @property
    def name(self) -> str:
        """Tool and version, for messages."""
        return f"{self.tool.name} {self.tool.version}"

    def prepare(self, report: Callable[[str], object]) -> None:
        """Download the modules, copy files out of them, and count what is to be compiled.

        Args:
            report: told which module is coming, and twice a second nothing.

        Raises:
            LabError: Something could not be downloaded.

        """

        def tick() -> None:
            report("")

        if self.tool.files:
            answer = self._go(["mod", "download", "-json", self.tool.module], report, tick)
            source = Path(json.loads(answer)["Dir"])
            for file in self.tool.files:
                shutil.copy(source / file, self.folder)
        if self.tool.commands:
            packages = [command.package for command in self.tool.commands]
            stale = "{{if .Stale}}{{.ImportPath}}{{end}}"
            question = ["list", *self._flags(), "-deps", "-f", stale, *packages]
            self.stale = len(self._go(question, report, tick).split())

    def compile(self, command: GoCommand, seen: Callable[[int], object]) -> None:
        """Build one program into the folder.

        Args:
            command: which.
            seen: called with the number of packages compiled since the last call, and twice a
                second with 0.

        Raises:
            LabError: The compiler refused.

        """
        target = self.folder / command.name
        flags = [*self._flags(), "-v", "-o", str(target)]

        def line(text: str) -> None:
            # -v names each package on a line of its own; whatever else Go says has blanks.
            seen(int(bool(text) and " " not in text))

        self._go(["build", *flags, command.package], line, lambda: seen(0))

    def _flags(self) -> list[str]:
        stamps = " ".join(f"-X {stamp}" for stamp in self.tool.stamps)
        tags = [f"-tags={','.join(self.tool.tags)}"] if self.tool.tags else []
        return [*BUILD_FLAGS, *tags, f"-ldflags=-s -w {stamps}".rstrip()]

    def _go(
        self,
        arguments: list[str],
        line: Callable[[str], object],
        tick: Callable[[], object] = lambda: None,
    ) -> str:
        """Run go in the tool's folder.

        Args:
            arguments: of go.
            line: called with each line that it writes to standard error.
            tick: called twice a second.

        Returns:
            Its standard output.

        """
        answer = self._scratch / "answer"
        reading, writing = os.pipe()
        with answer.open("wb") as output, os.fdopen(writing, "wb") as errors:
            process = processes.spawn(
                [self.go.path, *arguments],
                cwd=self.tool.folder,
                # Below our own temporary folder, so that nothing of a killed build stays behind.
                environment={**go_environment(), "GOTMPDIR": str(self._scratch)},
                output=output.fileno(),
                errors=errors.fileno(),
            )
        try:
            with self.log.open("ab") as log, os.fdopen(reading, "rb", buffering=0) as stream:
                rest = b""
                while True:
                    if not select.select([stream], [], [], _TICK_SECONDS)[0]:
                        tick()
                        continue
                    chunk = stream.read(1 << 16)
                    if not chunk:
                        break
                    log.write(chunk)
                    *lines, rest = (rest + chunk).split(b"\n")
                    for text in lines:
                        line(text.decode("utf-8", "replace"))
            code = process.wait()
        except BaseException:
            processes.stop([process], 1)
            raise
        if code:
            raise LabError(self._refusal(arguments[0], code))
        return answer.read_text(encoding="utf-8")

    def _refusal(self, verb: str, code: int) -> str:
        """What went wrong, and what can be done about it."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        said = [entry for entry in text.splitlines() if " " in entry and "downloading" not in entry]
        where = f"{self.name}: the log is {self.log}"
        if "no space left on device" in text:
            free = shutil.disk_usage(self.folder).free >> 20
            message = f"the disk is full: {free} MB are free where {self.folder.parent.parent} is"
            advice = "make room (a build takes 5 GB with Go's caches), or set XDG_CACHE_HOME"
            return f"{message}; {advice}, GOCACHE and GOMODCACHE to another disk\n{where}"
        if code < 0:
            message = f"go {verb} was killed by signal {-code}"
            return f"{message}; the linker needs 2 GB of memory, is there so much?\n{where}"
        shown = "\n".join(f"  {entry}" for entry in said[-_SHOWN_LINES:]) or "  (nothing)"
        unreachable = next((entry for entry in said if _UNREACHABLE.search(entry)), None)
        if unreachable is not None:
            advice = "Go modules have to be downloaded once: see to the network, or set GOPROXY"
            return f"modules could not be downloaded:\n  {unreachable}\n{advice}\n{where}"
        return f"go {verb} failed with {self.go}:\n{shown}\n{where}"
