"""The command in the tests' own process; test_command_process.py starts it as a user does."""

from __future__ import annotations

import gc
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from eks_gpushare.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ran:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401  (any JSON)
        """Standard output, all of it, as one JSON document."""
        return json.loads(self.out)


class Run(Protocol):
    """Run `eks-gpushare` with the given words."""

    def __call__(self, *words: str, cwd: Path = ROOT) -> Ran: ...


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    """Put the garbage collector back: the command switches it off, for it is a short process."""
    collects, frozen, thresholds = gc.isenabled(), gc.get_freeze_count(), gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    if collects:
        gc.enable()
    if not frozen:
        gc.unfreeze()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, run in the repository unless told otherwise."""

    def call(*words: str, cwd: Path = ROOT) -> Ran:
        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            patch.setenv("NO_COLOR", "1")
            capsys.readouterr()
            code = main(words)
        return Ran(code, *capsys.readouterr())

    return call


@pytest.fixture
def time_slicing() -> str:
    """The text of the time-slicing stack file, for tests that change it."""
    return (ROOT / "stacks" / "Pulumi.time-slicing.yaml").read_text(encoding="utf-8")
