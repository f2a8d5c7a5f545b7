"""The process that owns a control plane: `python -m eks_gpushare_lab.control_plane.supervisor`.

It reads one line of JSON from standard input and answers in lines of JSON on standard output:
{"waiting": what for}, and at last {"ready": directory} or {"error": text}. Until then, and to the
end if it is not to be detached, the end of its standard input means that its parent has gone.

It has one thread: its processes die with the thread that started them.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab.control_plane import certificates, command_lines, state
from eks_gpushare_lab.control_plane.api import Api
from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.host import processes

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

READY_SECONDS = 300
"""How long the control plane may take, on a machine that has much else to do. On two idle cores it
takes four."""

STOP_SECONDS = 2.0
"""From TERM to KILL. The API server takes 1.4 seconds, or 20 when its store goes first."""

_COLLECTS_RARELY = {"GOGC": "400", "GOMEMLIMIT": "1GiB"}
"""Garbage, an eighth of the API server's work with Go's default; at a GiB it collects as needed
(https://go.dev/doc/gc-guide)."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_API = "kube-apiserver"


class _StopError(Exception):
    """Somebody wants the control plane to stop."""


class Supervisor:
    """Starts, watches and stops the processes of one control plane."""

    def __init__(self, order: dict[str, Any]) -> None:
        """Prepare.

        Args:
            order: as `control_plane.launch` makes it.

        """
        self._order = order
        self._directory = Path(order["directory"])
        self._lab = state.Lab(
            self._directory,
            "starting",
            os.getpid(),
            started=time.time(),
            versions=order["versions"],
        )
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._bound = True
        self._stopping = False
        self._wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker)
        for number in _SIGNALS:
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # so that it wakes us

    def run(self) -> int:
        """Run the control plane until it is to stop, or one of its processes has ended.

        Returns:
            Exit code: 0 if it was stopped, 1 if it failed.

        """
        with state.registry():
            killed = state.clean()
            claimed = state.claim(self._directory)
        if not claimed:
            say(running=f"a lab is up already in {self._directory}")
            return 1
        for directory in killed:
            say(removed=str(directory))
        try:
            self._start()
            self._tell_ready()
            while True:
                self._pause()
        except _StopError:
            return self._stop("stopped")
        except (LabError, OSError) as error:
            code = self._stop("failed", str(error))
            if self._bound:
                say(error=str(error))
            return code

    def _start(self) -> None:
        state.save(self._lab)
        # Keeps the port from being given to somebody else until the API server has it: Linux lets
        # a socket listen where another with SO_REUSEADDR, as Go sets it too, is bound only.
        with socket.socket() as reserved:
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            reserved.bind(("127.0.0.1", 0))
            self._lab = replace(self._lab, port=reserved.getsockname()[1])
            certificates.write_all(self._directory, self._lab.url)
            self._spawn("etcd", command_lines.etcd())
            self._spawn(_API, command_lines.api_server(self._lab.port))
            api = Api(self._lab)
            self._wait("the API server", partial(api.has, "/readyz"))
        settings = self._order["scheduler"]
        self._spawn("kube-controller-manager", command_lines.controller_manager())
        self._spawn("kube-scheduler", command_lines.scheduler(self._directory, settings))
        self._spawn("kwok", command_lines.kwok(self._directory, self._order["stages"]))
        # Pods are refused before they exist, whatever /readyz says.
        for name in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            self._wait(name, partial(api.has, f"/api/v1/namespaces/default/{name}"))

    def _tell_ready(self) -> None:
        seconds = time.time() - self._lab.started
        pids = {name: process.pid for name, process in self._processes.items()}
        self._lab = replace(self._lab, phase="ready", ready_seconds=seconds, processes=pids)
        state.save(self._lab)
        self._bound = not self._order["detach"]
        say(ready=str(self._directory))
        log = os.open(self._lab.logs / "supervisor.log", os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)

    def _spawn(self, name: str, flags: list[str]) -> None:
        log = os.open(self._lab.logs / f"{name}.log", os.O_WRONLY | os.O_CREAT, 0o600)
        # Nothing of ours: etcd reads ETCD_*, all of them take proxies from the environment.
        directory = str(self._directory)
        environment = {**_COLLECTS_RARELY, "HOME": directory, "TMPDIR": directory}
        try:
            self._processes[name] = processes.spawn(
                [self._order["programs"][name], *flags, *self._order["flags"].get(name, ())],
                cwd=self._directory,
                environment={**environment, **self._order["environment"].get(name, {})},
                output=log,
            )
        finally:
            os.close(log)

    def _wait(self, what: str, is_there: Callable[[], bool]) -> None:
        say(waiting=what)
        deadline = time.monotonic() + READY_SECONDS
        while not is_there():
            self._pause(0.05)
            if time.monotonic() > deadline:
                message = f"{what} did not come within {READY_SECONDS} s"
                raise LabError(f"{message}; the logs are in {self._lab.logs}")

    def _pause(self, seconds: float = 5) -> None:
        """Wait for something to happen, for some seconds at most, and see what it was."""
        watched = [self._wake, *([0] if self._bound else [])]
        readable, _, _ = select.select(watched, [], [], seconds)
        if self._wake in readable:
            os.read(self._wake, 1024)
        if self._stopping or (0 in readable and not os.read(0, 1024)):
            raise _StopError
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise LabError(self._ended(name, process.returncode))

    def _ended(self, name: str, code: int) -> str:
        how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        file = self._lab.logs / f"{name}.log"
        last = file.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
        return "\n".join([f"{name} ended with {how}; its log is {file} and ends so:", *last])

    def _stop(self, phase: str, error: str = "") -> int:
        store = self._processes.pop("etcd", None)
        processes.stop(self._processes.values(), STOP_SECONDS)
        processes.stop([store] if store else [], STOP_SECONDS / 4)
        with state.registry():
            if phase == "stopped" and self._directory.name != state.NAME:
                state.remove(self._directory)
            else:
                lab = replace(self._lab, phase=phase, error=error, processes={})
                state.save(lab)
                state.strip(self._directory)
        return 0 if phase == "stopped" else 1

    def _on_stop(self, *_: object) -> None:
        self._stopping = True


def say(**words: object) -> None:
    """Tell the parent something, if it still listens."""
    try:
        sys.stdout.write(json.dumps(words) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _first_line(descriptor: int) -> bytes:
    """A line, and not a byte more: the end of the input is to be seen by `select`."""
    line = b""
    while (byte := os.read(descriptor, 1)) not in {b"", b"\n"}:
        line += byte
    return line


def main() -> int:
    """Read the order and carry it out."""
    os.umask(0o077)
    order = json.loads(_first_line(0))
    if order["detach"] and os.fork():
        os._exit(0)  # the other goes on as nobody's child
    return Supervisor(order).run()


if __name__ == "__main__":
    sys.exit(main())
