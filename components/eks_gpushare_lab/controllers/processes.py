"""Programs that a run starts beside the control plane; they end with it, however it ends."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.host import processes

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from eks_gpushare_lab.cloud.emulation import Cloud
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.install.release import DeclaredRelease

READY_SECONDS = 180.0
"""How long a program may take until it answers. On two idle cores it takes three."""

_STOP_SECONDS = 2.0
_LAST_LINES = 5


class Processes:
    """Started from the thread that made it: they die with that thread."""

    def __init__(self, folder: Path, logs: Path) -> None:
        """Start nothing yet.

        Args:
            folder: their working directory.
            logs: where each has a log by its name.
        """
        self.folder = folder
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def spawn(
        self,
        name: str,
        program: Path,
        flags: Sequence[str],
        environment: Mapping[str, str],
        *,
        append: bool = False,
    ) -> None:
        """Start a program.

        Args:
            name: of the process and its log.
            program: what to run.
            flags: its arguments.
            environment: what it has besides a home: nothing is inherited, proxies least of all.
            append: a log that is there goes on.
        """
        own = {"HOME": str(self.folder), "TMPDIR": str(self.folder)}
        mode = os.O_APPEND if append else os.O_TRUNC
        log = os.open(self._logs / f"{name}.log", os.O_WRONLY | os.O_CREAT | mode, 0o600)
        try:
            self._running[name] = processes.spawn(
                [program, *flags],
                cwd=self.folder,
                environment={**environment, **own},
                output=log,
            )
        finally:
            os.close(log)

    def wait(self, what: str, is_there: Callable[[], bool]) -> None:
        """Wait for something that the programs bring about.

        Raises:
            LabError: If it does not come, or one of them has ended.
        """
        deadline = time.monotonic() + READY_SECONDS
        while not is_there():
            self.check()
            if time.monotonic() > deadline:
                message = f"{what} did not come within {READY_SECONDS:.0f} s"
                raise LabError(f"{message}; the logs are in {self._logs}")
            time.sleep(0.05)

    def check(self) -> None:
        """See that all of them run.

        Raises:
            LabError: If one has ended; with what it said last.
        """
        for name, process in self._running.items():
            if process.poll() is not None:
                file = self._logs / f"{name}.log"
                text = file.read_text(encoding="utf-8", errors="replace")
                said = f"{name} ended with exit code {process.returncode}; its log ends so:"
                raise LabError("\n".join([said, *text.splitlines()[-_LAST_LINES:]]))

    def stop(self) -> None:
        """End them."""
        running, self._running = self._running, {}
        processes.stop(running.values(), _STOP_SECONDS)

    def pid(self, name: str) -> int | None:
        """The process of that name; None before it starts and after it has been stopped."""
        found = self._running.get(name)
        return None if found is None else found.pid


class ControllerProcess(ABC):
    """A controller that talks to AWS, for as long as the `with` block, or as this process."""

    def __init__(self, chart: str, lab: Lab, cloud: Cloud, release: DeclaredRelease) -> None:
        """Describe it.

        Args:
            chart: the name of its chart and program.
            lab: the control plane that it works for.
            cloud: what it takes for AWS.
            release: what installs it.
        """
        self._chart, self._lab, self._cloud, self._release = chart, lab, cloud, release
        self._processes = Processes(lab.directory, lab.logs)
        self.log = lab.logs / f"{chart}.log"
        """What it says."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.stop()

    @abstractmethod
    def start(self) -> None:
        """Start it, from the thread that it is to die with."""

    @property
    def pid(self) -> int | None:
        """Its process; None before it starts and after it has been stopped."""
        return self._processes.pid(self._chart)

    def check(self) -> None:
        """See that it still runs.

        Raises:
            LabError: If it has ended; the text has the last of what it said.
        """
        self._processes.check()
