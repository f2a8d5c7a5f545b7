"""What the processes of a lab take, as the kernel counts it."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

CLIENT = "simulated nodes and client"
"""Name of this process: the simulated nodes, the watches and what makes the pods are in it."""

_TICK = os.sysconf("SC_CLK_TCK")
_SECONDS = 0.25
_IDLE = (3, 4)  # of the fields of a cpu line: idle and waiting for a disk


class EndedError(Exception):
    """A process has ended while it was measured; the text names it."""


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far.

    Raises:
        OSError: There is no such process.
    """
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / _TICK


def machine_seconds() -> float:
    """Time that the machine's processors were busy so far, whatever with."""
    with Path("/proc/stat").open(encoding="ascii") as file:
        fields = [int(each) for each in file.readline().split()[1:9]]
    return sum(each for number, each in enumerate(fields) if number not in _IDLE) / _TICK


class Usage:
    """Watches memory in a thread of its own, and reads CPU times when asked."""

    def __init__(self, processes: Mapping[str, int]) -> None:
        """Take note of the processes by name, and of this one."""
        self._control_plane = dict(processes)
        self._pids = {**processes, CLIENT: os.getpid()}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="usage", daemon=True)
        self.peaks: dict[str, float] = dict.fromkeys(self._pids, 0.0)
        """The largest resident set of each, in MB (10^6 bytes)."""
        self.peak = 0.0
        """The largest sum of the control plane's at one time, in MB."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stopped.set()
        self._thread.join()

    def cpu(self) -> dict[str, float]:
        """CPU seconds by process so far.

        Raises:
            EndedError: One of them is no more.
        """
        found = {}
        for name, pid in self._pids.items():
            try:
                found[name] = cpu_seconds(pid)
            except OSError as error:
                raise EndedError(f"{name} has ended") from error
        return found

    def _watch(self) -> None:
        while not self._stopped.wait(_SECONDS):
            now = {name: _resident_mb(pid) for name, pid in self._pids.items()}
            self.peaks = {name: max(self.peaks[name], size) for name, size in now.items()}
            self.peak = max(self.peak, sum(now[name] for name in self._control_plane))


def _resident_mb(pid: int) -> float:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0.0
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6
