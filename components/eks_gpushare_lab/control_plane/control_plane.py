"""A Kubernetes control plane on this machine for as long as it is needed.

    with ControlPlane() as control_plane:
        subprocess.run(["kubectl", "--kubeconfig", control_plane.kubeconfig, "get", "nodes"])

A supervisor process of its own starts etcd, the API server, the scheduler, the controller manager
and kwok, and stops them when the block ends, when this process ends, however it does, or when one
of them fails. Everything listens on 127.0.0.1 or on sockets in a private folder.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from eks_gpushare_lab.binaries import build, cleaning
from eks_gpushare_lab.control_plane import state
from eks_gpushare_lab.control_plane.names import SIMULATED_NODE
from eks_gpushare_lab.errors import NO_CRYPTOGRAPHY, AlreadyUpError, LabError
from eks_gpushare_lab.host.folders import make_state_folder, state_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eks_gpushare_lab.binaries.build import Programs
    from eks_gpushare_lab.binaries.progress import BuildProgress
    from eks_gpushare_lab.control_plane.state import Lab

__all__ = ["SIMULATED_NODE", "ControlPlane", "launch", "prepare"]

STOP_SECONDS = 5.0
"""Longer than the supervisor gives its processes; then the supervisor itself is killed."""


class ControlPlane:
    """A control plane that lives as long as the `with` block, or as this process."""

    def __init__(
        self,
        *,
        name: str | None = None,
        flags: Mapping[str, Sequence[str]] | None = None,
        environment: Mapping[str, Mapping[str, str]] | None = None,
        scheduler: Mapping[str, Any] | None = None,
        progress: BuildProgress | None = None,
    ) -> None:
        """Describe it; `start` or `with` starts it.

        Args:
            name: of its folder. Default: one that nothing else has.
            flags: further flags by process name, such as {"kwok": ["--v=4"]}.
            environment: environment variables by process name, such as {"etcd": {"GOGC": "400"}}.
                Nothing is inherited from this process.
            scheduler: keys of the KubeSchedulerConfiguration to set or replace.
            progress: told what is built. Default: lines or a bar on standard error, if something
                has to be built.

        """
        self._name = name or f"run-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._settings = {
            "flags": {key: list(value) for key, value in (flags or {}).items()},
            "environment": {key: dict(value) for key, value in (environment or {}).items()},
            "scheduler": dict(scheduler or {}),
        }
        self._progress = progress
        self._supervisor: subprocess.Popen[str] | None = None
        self._lab: Lab | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def lab(self) -> Lab:
        """Everything known of it.

        Raises:
            LabError: It has not been started.

        """
        if self._lab is None:
            raise LabError("the control plane is not up: use it in a `with` block, or start it")
        return self._lab

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig of a cluster administrator, complete in itself."""
        return self.lab.kubeconfig

    @property
    def url(self) -> str:
        """Address of the API server, such as "https://127.0.0.1:41703"."""
        return self.lab.url

    @property
    def ca(self) -> Path:
        """Certificate of the authority that signed the API server's."""
        return self.lab.ca

    @property
    def client_cert(self) -> Path:
        """Certificate of a cluster administrator."""
        return self.lab.client_cert

    @property
    def client_key(self) -> Path:
        """Key of that certificate."""
        return self.lab.client_key

    @property
    def logs(self) -> Path:
        """Folder with one log per process. It goes with the control plane, unless that failed."""
        return self.lab.logs

    def start(self) -> None:
        """Build what is missing, start, and return when the control plane is ready.

        Raises:
            LabError: It could not be built or started.

        """
        with cleaning.in_use():
            programs = prepare(self._progress)
            started = launch(self._name, programs, self._settings, detach=False)
        self._supervisor, self._lab = started

    def stop(self) -> None:
        """Stop it and remove its folder. To stop twice, or before a start, does no harm."""
        supervisor, self._supervisor, self._lab = self._supervisor, None, None
        if supervisor is not None:
            _end(supervisor)


def prepare(progress: BuildProgress | None = None) -> Programs:
    """Have everything that a control plane needs, building what is missing.

    Args:
        progress: told what is built. Default: a bar or lines on standard error.

    Raises:
        LabError: Something is missing that cannot be built.

    """
    if not sys.platform.startswith("linux"):
        message = f"the lab runs on Linux, this is {sys.platform}: its processes are tied to their"
        raise LabError(f"{message} parent by a Linux call; use a Linux machine or container")
    # Refused before minutes of building, and without the time that its import takes.
    if importlib.util.find_spec("cryptography") is None:
        raise LabError(NO_CRYPTOGRAPHY)
    return build.programs(progress=progress)


def launch(
    name: str,
    programs: Programs,
    settings: Mapping[str, Any],
    *,
    detach: bool,
    report: Callable[[str], object] = lambda _: None,
) -> tuple[subprocess.Popen[str], Lab]:
    """Start a supervisor and return when its control plane is ready.

    Args:
        name: of the lab.
        programs: what to run.
        settings: "flags", "environment" and "scheduler" as in `ControlPlane`.
        detach: let it live on after this process; until it is ready it is bound to this process.
        report: called with what is being waited for.

    Raises:
        LabError: It did not become ready, or a lab of that name is alive already.

    """
    directory = make_state_folder() / name
    order = {
        **settings,
        "directory": str(directory),
        "detach": detach,
        "programs": {key: str(path) for key, path in programs.paths.items()},
        "stages": [str(path) for path in programs.stages],
        "versions": dict(programs.versions),
    }
    source = str(Path(__file__).parents[2])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    supervisor = subprocess.Popen(
        [sys.executable, "-P", "-m", "eks_gpushare_lab.control_plane.supervisor"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=state_folder(),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        text=True,
        # Out of reach of a Ctrl-C in the terminal, which this process turns into an orderly stop.
        start_new_session=True,
    )
    try:
        lab = _await_ready(supervisor, json.dumps(order), report)
    except AlreadyUpError:
        _end(supervisor)
        raise
    except BaseException:
        _end(supervisor)
        if detach:  # the one that was started has already handed over to another
            state.stop(directory, STOP_SECONDS)
        raise
    if detach:
        _end(supervisor)
    return supervisor, lab


def _await_ready(
    supervisor: subprocess.Popen[str], order: str, report: Callable[[str], object]
) -> Lab:
    orders, answers = _pipes(supervisor)
    try:
        orders.write(order + "\n")
        orders.flush()
    except BrokenPipeError:
        pass  # it could not start; what it says about that comes below
    stray = []
    for line in answers:
        try:
            said = json.loads(line)
        except ValueError:
            stray.append(line.rstrip())
            continue
        if "ready" in said:
            lab = state.read(Path(said["ready"]))
            if lab is not None:
                return lab
        if "running" in said:
            raise AlreadyUpError(said["running"])
        if "error" in said:
            raise LabError(said["error"])
        report(said.get("waiting", ""))
    detail = "\n".join(stray[-15:]) or "it said nothing"
    raise LabError(f"the lab's supervisor ended before the control plane was ready:\n{detail}")


def _end(supervisor: subprocess.Popen[str]) -> None:
    """Stop a supervisor: it ends in order when the pipe to it is closed."""
    for pipe in _pipes(supervisor):
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
    try:
        supervisor.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        supervisor.wait()


def _pipes(supervisor: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    if supervisor.stdin is None or supervisor.stdout is None:
        raise LabError("the lab's supervisor has no pipes")
    return supervisor.stdin, supervisor.stdout
