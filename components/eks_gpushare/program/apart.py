"""Run programs in a process of their own, and take what they register as data.

A program may replace whatever is loaded into its process, end it, or print what it likes. Whoever
judges it therefore does so in another one, which has run nothing of it. The process is forked when
the SDK is loaded, so that it is loaded once, and runs the programs of all stacks in turn.

A program of another language has a process of its own by its language host.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import BytesIO
from time import monotonic, sleep
from typing import IO, TYPE_CHECKING, Any

from eks_gpushare.cli.streams import STDERR, STDOUT, high_copy
from eks_gpushare.program.preview import record
from eks_gpushare.program.recording import ProgramError, Recording
from eks_gpushare.program.running.lean_packages import lean_packages
from eks_gpushare.stack_file.project import PYTHON, ProjectError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from eks_gpushare.program.preview import Preview

_SIZE = 8
"""Bytes of the length that stands before each recording."""
_MOST_BYTES = 1024**3

_PATIENCE = 1.0
"""Seconds for which a process may take to end that has closed what it tells by."""


@dataclass(slots=True)
class ProgramsApart:
    """Programs that are being run, one after the other."""

    _process: int
    _told: IO[bytes]
    _aside: Callable[[], AbstractContextManager[None]]
    _answers: str | None

    def next(self, checked: Preview) -> Preview:
        """The next of the stacks, with what its program registered.

        Raises:
            ProjectError: If its configuration or the answers cannot be used.
        """
        if checked.project.language != PYTHON:
            with self._aside():
                recording = record(
                    checked.project, checked.report, checked.stack, answers=self._answers
                )
            return replace(checked, recording=recording)
        return replace(checked, recording=self._received(checked))

    def _received(self, checked: Preview) -> Recording:
        from eks_gpushare.program.recording_data import recording_from

        size = int.from_bytes(self._told.read(_SIZE))
        content = self._told.read(size) if 0 < size <= _MOST_BYTES else b""
        if not size or len(content) < size:
            return _without(checked, f"its process {self._ended()}")
        try:
            data = json.loads(content)
            refused = data.get("refused")
            recording = None if refused else recording_from(data)
        except Exception:  # noqa: BLE001  (of any kind: a program may write there)
            return _without(checked, "its process told something else in place of that")
        if recording is None:
            raise ProjectError(str(refused))
        return recording

    def _ended(self) -> str:
        """How the process ended that told no more."""
        deadline = monotonic() + _PATIENCE
        while monotonic() < deadline:
            with suppress(ChildProcessError):
                ended, status = os.waitpid(self._process, os.WNOHANG)
                if not ended:
                    sleep(0.01)
                    continue
                self._process = 0
                if os.WIFSIGNALED(status):
                    return f"was ended by {signal.Signals(os.WTERMSIG(status)).name}"
                return f"ended by itself, with exit code {os.waitstatus_to_exitcode(status)}"
            break
        return "tells no more"

    def end(self) -> None:
        """End what is still running of the process."""
        if self._process:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._process, signal.SIGKILL)
                os.waitpid(self._process, 0)
            self._process = 0


def _without(checked: Preview, why: str) -> Recording:
    text = f"The program did not get as far as to tell what it registers: {why}."
    error = ProgramError("ProcessEndedError", text)
    return Recording(checked.project.name, checked.stack, error=error)


@contextmanager
def running_apart(
    stacks: Sequence[Preview],
    aside: Callable[[], AbstractContextManager[None]],
    answers: str | None = None,
) -> Iterator[ProgramsApart]:
    """Run the programs of checked stacks; `next` is to be asked for each in this order.

    Args:
        stacks: Stacks whose files have no errors.
        aside: Sees to it that what a program prints goes to standard error.
        answers: File with answers to what there are no fakes for. Default: none.
    """
    own = [each for each in stacks if each.project.language == PYTHON]
    if not own:
        yield ProgramsApart(0, BytesIO(), aside, answers)
        return
    with lean_packages():  # once for both processes
        import pulumi_policy  # noqa: F401

        from eks_gpushare.program import recording_data, run  # noqa: F401
        from eks_gpushare.program.fakes import answers as _  # noqa: F401
        from eks_gpushare.program.running.isolation import calm_collector
    reading, writing = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with warnings.catch_warnings():
        # Of threads that are there; none of them is ours.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if not process:
        os.close(reading)
        _run_all(own, high_copy(writing), aside, answers)
    os.close(writing)
    with open(reading, "rb") as told, calm_collector():  # noqa: PTH123  (a descriptor)
        runs = ProgramsApart(process, told, aside, answers)
        try:
            yield runs
        finally:
            runs.end()


def _run_all(
    stacks: Sequence[Preview],
    writing: int,
    aside: Callable[[], AbstractContextManager[None]],
    answers: str | None,
) -> None:
    """What the forked process does; it never returns."""
    leave, send = os._exit, os.write  # a program may put something else in their places
    code = 1
    try:
        _give_up_output()
        for stack in stacks:
            with aside():
                content = _content(stack, answers)
            message = memoryview(len(content).to_bytes(_SIZE) + content)
            while message:
                message = message[send(writing, message) :]
        code = 0
    except KeyboardInterrupt:
        pass
    finally:
        with suppress(BaseException):
            sys.stderr.flush()
        leave(code)


def _content(stack: Preview, answers: str | None) -> bytes:
    from eks_gpushare.program.recording_data import recording_to_bytes

    try:
        return recording_to_bytes(record(stack.project, stack.report, stack.stack, answers=answers))
    except (ProjectError, FileNotFoundError) as error:
        return json.dumps({"refused": str(error)}).encode()


def _give_up_output() -> None:
    """Leave no descriptor with which standard output could be written to."""
    places: set[Any] = {STDOUT}
    with suppress(Exception):  # a stream that stands for none
        places.add(sys.stdout.fileno())
    for place in places:
        with suppress(OSError):
            os.dup2(STDERR, place)
