"""The lab of `lab up`: one per user, alive until `lab down`, a failure, or the machine's end."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab.binaries import cleaning, versions
from eks_gpushare_lab.control_plane import control_plane, state
from eks_gpushare_lab.control_plane.api import Api
from eks_gpushare_lab.errors import AlreadyUpError, LabError
from eks_gpushare_lab.host import processes

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare_lab.binaries.progress import BuildProgress
    from eks_gpushare_lab.control_plane.state import Lab

ANSWER_SECONDS = 10
"""How long an API server that is up may be too busy to say so."""

START_SECONDS = 150
"""How long another process may take to start the lab that this one waits for."""

_DOWN = "`eks-gpushare lab down` stops it"


@dataclass(frozen=True, slots=True)
class Status:
    """How the lab is.

    Attributes:
        lab: what is known of it; None if there never was one.
        alive: whether its supervisor runs.
        healthy: whether its API server says that it is ready.
        memory: bytes of main memory by process name.

    """

    lab: Lab | None
    alive: bool
    healthy: bool
    memory: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """For `lab status --json`."""
        document: dict[str, Any] = {"running": self.alive, "healthy": self.healthy}
        if self.lab is None:
            return document
        document |= {"logs": str(self.lab.logs), "phase": self.lab.phase}
        if self.lab.error:
            document["error"] = self.lab.error
        if not self.alive:
            return document
        return document | {
            "versions": dict(self.lab.versions),
            "url": self.lab.url,
            "port": self.lab.port,
            "pid": self.lab.pid,
            "processes": dict(self.lab.processes),
            "kubeconfig": str(self.lab.kubeconfig),
            "memoryBytes": {**self.memory, "total": sum(self.memory.values())},
            "started": self.lab.started,
            "readySeconds": self.lab.ready_seconds,
        }


def up(
    progress: BuildProgress | None = None, report: Callable[[str], object] = lambda _: None
) -> tuple[Lab, bool]:
    """Have a lab that is up.

    Args:
        progress: told what is built. Default: a bar or lines on standard error.
        report: called with what is being waited for.

    Returns:
        The lab, and whether it had to be started.

    Raises:
        LabError: It cannot be built or started, or the one that is up is of no use.

    """
    while True:
        if not state.find()[1]:
            settings: dict[str, Any] = {"flags": {}, "environment": {}, "scheduler": {}}
            try:
                with cleaning.in_use():
                    programs = control_plane.prepare(progress)
                    _, lab = control_plane.launch(
                        state.NAME, programs, settings, detach=True, report=report
                    )
            except AlreadyUpError:
                pass  # somebody else was faster
            else:
                return lab, True
        found = _awaited()
        if found is not None and _is_usable(found):
            return found, False


def status() -> Status:
    """How the lab is."""
    lab, alive = state.find()
    if lab is None or not alive:
        return Status(lab, alive=False, healthy=False, memory={})
    memory = {name: processes.resident_bytes(pid) for name, pid in lab.processes.items()}
    memory["supervisor"] = processes.resident_bytes(lab.pid)
    healthy = lab.phase == "ready" and _answers(lab)
    return Status(lab, alive=True, healthy=healthy, memory=memory)


def down() -> Lab | None:
    """Stop the lab.

    Returns:
        What was stopped; None if no lab was up.

    """
    lab, _ = state.find()
    was_up = state.stop(state.directory_of(state.NAME), control_plane.STOP_SECONDS)
    return lab if was_up else None


def _is_usable(lab: Lab) -> bool:
    """Whether a lab that is up is still there to use; one that is of no use is refused."""
    wanted = {tool.name: tool.version for tool in versions.tools() if tool.commands}
    if lab.versions != wanted:
        theirs, ours = (_spoken(version) for version in (dict(lab.versions), wanted))
        raise LabError(f"a lab is up with {theirs}; this version runs {ours}. {_DOWN}")
    deadline = time.monotonic() + ANSWER_SECONDS
    while not _answers(lab):
        if not state.find()[1]:
            return False
        if time.monotonic() > deadline:
            text = f"a lab is up (pid {lab.pid}), but its API server is not ready"
            raise LabError(f"{text}; the logs are in {lab.logs}. {_DOWN}")
        time.sleep(0.2)
    return True


def _answers(lab: Lab) -> bool:
    """Whether the API server says that it is ready."""
    try:
        return Api(lab).has("/readyz")
    except OSError:  # its certificates have gone, or somebody else has its port: it is down
        return False


def _awaited() -> Lab | None:
    """The lab that is up, once it is no longer starting; None if it has gone meanwhile."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        lab, alive = state.find()
        if not alive:
            if lab is not None and lab.phase == "failed":
                message = "the lab that another process was starting did not come up"
                raise LabError(f"{message}: {lab.error}")
            return None
        if lab is not None and lab.phase == "ready":
            return lab
        time.sleep(0.1)
    raise LabError(f"another process is starting a lab and does not get on. {_DOWN}")


def _spoken(numbers: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in numbers.items())
