"""A pytest plugin: every inversion of some modules, tried by the tests that run its line."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import coverage
from _pytest.runner import runtestprotocol

from rule_mutants.conditions import inversions
from rule_mutants.result import Result
from rule_mutants.swapping import caches, forget, living, swap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pytest

    from rule_mutants.conditions import Inversion

_TIMES = 5
"""How many times what the tests take without it an inversion may take, before it hangs."""
_NOTICED, _SURVIVED, _NOT_SWAPPED = 0, 7, 8
_PACKAGES = ("gpushare_policies", "eks_gpushare")
_ASKED_BY_TESTS = ("finding_examples", "lint_reports")
"""They keep what was found in examples and reports, which several tests ask them for."""


class Trial:
    """The plugin; `results` is there after the session."""

    def __init__(
        self,
        modules: list[Path],
        share: int = 1,
        after: Callable[[Trial], None] | None = None,
        seconds: float = 10,
    ) -> None:
        """Know what to try.

        Args:
            modules: Their conditions are inverted.
            share: Of so many inversions one is tried.
            after: Called after each module.
            seconds: Of CPU, what each inversion may take besides that of its tests.
        """
        self._modules, self._share, self._after = modules, share, after
        self._seconds = seconds
        self.results: dict[str, Result] = {}
        self.failed: list[str] = []
        """Tests that fail without any inversion; they are left out."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests once, then those of each inversion in a fork."""
        if session.testsfailed or not session.items:
            return True
        by_line, seconds = self._run_once(session.items)
        functions = living({str(each) for each in self._modules})
        kept = caches((*_PACKAGES, *_modules_of(session.items)))
        gc.freeze()  # so that a collection in a fork does not copy all of it
        for module in self._modules:
            result = self.results.setdefault(str(module), Result())
            every = list(inversions(module.read_text(encoding="utf-8"), str(module)))
            for inversion in every[:: self._share]:
                result.tried += 1
                items = by_line.get((str(module), inversion.line), [])
                items = sorted(items, key=lambda item: seconds[item.nodeid])
                limit = self._seconds + _TIMES * sum(seconds[item.nodeid] for item in items)
                trial = _Try(inversion, items, functions, kept)
                verdict = _verdict(trial, limit) if items else _NOT_SWAPPED
                if verdict == _SURVIVED:
                    result.survived.append(inversion.what)
                elif verdict == _NOT_SWAPPED:
                    result.untested.append(inversion.what)
            if self._after is not None:
                self._after(self)
        return True

    def _run_once(
        self, items: list[pytest.Item]
    ) -> tuple[Mapping[tuple[str, int], list[pytest.Item]], Mapping[str, float]]:
        by_line: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
        seconds = {}
        files = [str(each) for each in self._modules]
        # Else only the first test that asks reaches a rule.
        asked = caches(tuple(_modules_of(items)))
        measured = coverage.Coverage(data_file=None, include=files, config_file=False)
        measured.start()
        # After the last one comes the first, so that what all share is not taken down.
        for item, following in zip(items, [*items[1:], items[0]], strict=True):
            forget(asked)
            measured.switch_context(item.nodeid)
            start = time.process_time()
            if _fails(item, following):
                self.failed.append(item.nodeid)
            seconds[item.nodeid] = time.process_time() - start
        measured.stop()
        named = {item.nodeid: item for item in items if item.nodeid not in self.failed}
        data = measured.get_data()
        for file in data.measured_files():
            for line, contexts in data.contexts_by_lineno(file).items():
                by_line[file, line] += [named[each] for each in contexts if each in named]
        return by_line, seconds


def _modules_of(items: list[pytest.Item]) -> set[str]:
    """The modules of tests and of what they ask, which keep answers of the whole code too."""
    modules = (getattr(item, "module", None) for item in items)
    return {*_ASKED_BY_TESTS, *(module.__name__ for module in modules if module is not None)}


def _fails(item: pytest.Item, following: pytest.Item | None) -> bool:
    # The item itself for the next one would leave it set up.
    following = None if following is item else following
    return any(each.failed for each in runtestprotocol(item, log=False, nextitem=following))


class _Try(NamedTuple):
    inversion: Inversion
    items: list[pytest.Item]
    functions: Any
    kept: list[Any]


def _verdict(trial: _Try, limit: float) -> int:
    child = os.fork()
    if child == 0:
        # By CPU, for beside other programs the clock says little of how far a test is.
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            code = _try(trial)
        except BaseException:  # noqa: BLE001  (whatever it is, it was noticed)
            code = _NOTICED
        os._exit(code)
    _, status = os.waitpid(child, 0)
    # One that hangs has ended by the signal, and so have those that end the process.
    return max(os.waitstatus_to_exitcode(status), _NOTICED)


def _try(trial: _Try) -> int:
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    code = trial.inversion.code
    if code is None or not swap(code, trial.functions):
        return _NOT_SWAPPED
    forget(trial.kept)
    following = [*trial.items[1:], None]
    noticed = any(_fails(*each) for each in zip(trial.items, following, strict=True))
    return _NOTICED if noticed else _SURVIVED
