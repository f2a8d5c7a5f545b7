"""A process that serves gRPC, as language hosts and plugins do: it prints its port, and serves."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_GUARD = Path(__file__).with_name("guard.py")
_START_SECONDS = 60
_END_SECONDS = 10
_LINES_KEPT = 400
_LONGEST_PORT = 5


Heard: TypeAlias = "Callable[[str, bool], None]"
"""Takes a line that a process printed, and whether that was on standard error."""


class ProcessError(Exception):
    """A process that does not serve; the text says what it did instead."""


class ServingProcess:
    """A process under guard: it and all that it starts end with this one, however this one ends."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        directory: Path,
        environment: Mapping[str, str],
        heard: Heard | None = None,
    ) -> None:
        """Start it.

        Args:
            name: What messages call it.
            command: The program and its arguments.
            directory: Where it stands.
            environment: Its variables.
            heard: Told each line that it prints, but for its port, and whether that was on standard
                error; from other threads.
        """
        self.name = name
        self.said: deque[str] = deque(maxlen=_LINES_KEPT)
        """The last lines that it printed."""
        self._heard = heard
        self._first: SimpleQueue[str | None] = SimpleQueue()
        self._process = subprocess.Popen(  # noqa: S603  (the command is ours, or a host's)
            [sys.executable, "-I", "-S", str(_GUARD), *command],
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # what a terminal sends at Ctrl-C is for us alone
        )
        self._readers = [
            self._reader(self._process.stdout, first=True),
            self._reader(self._process.stderr, first=False),
        ]

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def port(self, seconds: float = _START_SECONDS) -> int:
        """The port on which it serves, once it has printed it.

        Args:
            seconds: How long to wait for it.

        Raises:
            ProcessError: If it ends before, prints something else, or nothing.
        """
        try:
            line = self._first.get(timeout=seconds)
        except Empty:
            why = f"has not said on which port it serves in {seconds:g} s"
            raise ProcessError(f"{self.name} {why}") from None
        if line is None:
            self.settle()
            code = f"ended with exit code {self._process.returncode} before it served"
            raise ProcessError("\n".join((f"{self.name} {code}", *self.said)))
        given = line.strip()
        if not (given.isascii() and given.isdecimal() and len(given) <= _LONGEST_PORT):
            raise ProcessError(f"{self.name} gave no port, but {given[:80]!r}")
        return int(given)

    def settle(self) -> None:
        """Wait for its end, which is near, and for what it has printed before."""
        # Its connections close before the guard has seen that it is gone.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        if self.ended:
            for reader in self._readers:
                reader.join(1)

    def end(self) -> None:
        """End it, and all that it started."""
        for stream in (self._process.stdin,):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.settle()

    def _reader(self, stream: IO[bytes] | None, *, first: bool) -> threading.Thread:
        if stream is None:
            raise AssertionError

        def read() -> None:
            waiting = first
            with stream, suppress(ValueError, OSError):
                for raw in stream:
                    line = raw.decode("utf-8", "backslashreplace").rstrip("\r\n")
                    if waiting:
                        waiting = False
                        self._first.put(line)
                        continue
                    self.said.append(line)
                    if self._heard is not None:
                        self._heard(line, not first)
            if waiting:
                self._first.put(None)

        thread = threading.Thread(target=read, name=f"{self.name}-output", daemon=True)
        thread.start()
        return thread
