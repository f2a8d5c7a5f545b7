"""The tests in several processes, which are forked once all of them are collected.

Processes that start afresh collect 27,000 tests each, which takes twenty seconds of a processor,
and write every report as text, which takes longer than most tests do. Forked ones have in common
what is imported and collected. Each gets a group of tests, such as a file, when it begins the last
one of the group before.
"""

from __future__ import annotations

import gc
import multiprocessing
from collections import deque
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.process import BaseProcess
    from pathlib import Path

Groups: TypeAlias = "Sequence[Sequence[pytest.Item]]"

_MORE: Final = "more"
"""What a process says that wants a group."""
_ENDED: Final = None
"""What it says that has ended as it should, and is answered when no group is left."""


def run_forked(session: pytest.Session, groups: Groups, number: int) -> None:
    """Run all tests in this many processes, and report here what they report.

    Raises:
        pytest.Session.Failed: As many have failed as `-x` or `--maxfail` lets fail.
        pytest.Session.Interrupted: A plugin wants no more of them.
    """
    base = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # noqa: SLF001
    gc.freeze()  # it stays, and whoever looks through it has it copied
    forks = multiprocessing.get_context("fork")
    ahead = deque(range(len(groups)))
    running: dict[Connection, _Running] = {}
    try:
        for index in range(min(number, len(groups))):
            here, there = forks.Pipe()
            own = _Own(there, [here, *running], base / f"process-{index}")
            process = forks.Process(target=_run, args=(session, groups, own))
            process.start()
            there.close()
            running[here] = _Running(session, groups, process)
        while running:
            for link in wait([*running]):
                assert isinstance(link, Connection)
                if not running[link].goes_on(link, ahead):
                    link.close()
                    del running[link]
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
    finally:
        for link in running:  # each ends when it wants to report the test that it is at
            link.close()
        for left in running.values():
            left.process.join()


class _Running:
    """A process, as the one that collected sees it."""

    def __init__(self, session: pytest.Session, groups: Groups, process: BaseProcess) -> None:
        self.process = process
        self._hook = session.config.hook
        self._config, self._groups = session.config, groups
        self._given: deque[pytest.Item] = deque()

    def goes_on(self, link: Connection, ahead: deque[int]) -> bool:
        """Deal with one thing that it says; whether there will be more."""
        try:
            said = link.recv()
        except (EOFError, OSError):
            said = _ENDED
        if said == _MORE:
            group = ahead.popleft() if ahead else _ENDED
            self._given.extend(() if group is None else self._groups[group])
            link.send(group)
        elif isinstance(said, list):
            self._given.popleft()
            for data in said:
                self._report(data)
        else:
            self.process.join()
            self._judge(said)
            return False
        return True

    def _report(self, data: dict[str, Any]) -> None:
        report = self._hook.pytest_report_from_serializable(config=self._config, data=data)
        self._hook.pytest_runtest_logreport(report=report)
        if report.when == "teardown":
            self._hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)

    def _judge(self, said: str | None) -> None:
        """Report what is wrong with how it ended."""
        if not (said or self.process.exitcode or self._given):
            return
        where = self._given[0].nodeid if self._given else "the end of a process of tests"
        why = said or f"The process ended with the exit code {self.process.exitcode}."
        if self._given:
            why += f" It was at the first of {len(self._given)} tests that it did not end."
        report = pytest.TestReport(where, (where, None, where), {}, "failed", why, "call")
        self._hook.pytest_runtest_logreport(report=report)


class _Own:
    """What a process has for itself: its end of a pipe, and its folder."""

    def __init__(self, link: Connection, others: list[Connection], base: Path) -> None:
        self.link, self._others, self._base = link, others, base

    def make(self, config: pytest.Config) -> None:
        """Part with what it got of the process that collected, and is not to be shared."""
        for other in self._others:  # while they are open here, nobody sees that they were closed
            other.close()
        self._base.mkdir(mode=0o700)
        config._tmp_path_factory._basetemp = self._base  # type: ignore[attr-defined]  # noqa: SLF001
        capture: Any = config.pluginmanager.get_plugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
        reporter = _Reporter(config, self.link)
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(reporter, "terminalreporter")


class _Reporter:
    """In place of what writes to the terminal: sends what is reported of a test, all at once."""

    def __init__(self, config: pytest.Config, link: Connection) -> None:
        self._config, self._link = config, link
        self._tw = config.get_terminal_writer()  # it says how differences are coloured
        self._reports: list[Any] = []

    def write_line(self, line: str) -> None:
        """What is told beside reports gets lost."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook
        data = hook.pytest_report_to_serializable(config=self._config, report=report)
        self._reports.append(data)

    def pytest_runtest_logfinish(self) -> None:
        reports, self._reports = self._reports, []
        self._link.send(reports)


def _run(session: pytest.Session, groups: Groups, own: _Own) -> None:
    """What a process does: its groups, one after another, and what plugins do in the end."""
    own.make(session.config)
    problem = None
    try:
        try:
            _run_groups(session, _asked(own.link, groups))
        finally:
            session._setupstate.teardown_exact(None)  # noqa: SLF001
        session.config.hook.pytest_unconfigure(config=session.config)
    except (BrokenPipeError, EOFError, KeyboardInterrupt):
        return  # the process that collected has ended, or all were interrupted
    except BaseException as error:  # noqa: BLE001  (whatever it is, it is told)
        problem = f"It ended by {error!r}."
    own.link.send(problem)


def _run_groups(session: pytest.Session, asked: Iterator[pytest.Item]) -> None:
    item = next(asked, None)
    while item is not None:
        following = next(asked, None)  # the fixtures that it has in common with this one are kept
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item = None if session.shouldfail or session.shouldstop else following


def _asked(link: Connection, groups: Groups) -> Iterator[pytest.Item]:
    while True:
        link.send(_MORE)
        group = link.recv()
        if group is _ENDED:
            return
        yield from groups[group]
