"""Commands as a user runs them: in a process of their own, in a directory of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

ROOT = Path(__file__).parents[2]
_SECONDS = 120


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


@pytest.fixture
def run() -> Run:
    """The command, run in the repository unless told otherwise."""

    def call(*words: str, cwd: Path = ROOT) -> Ran:
        environment = {**os.environ, "NO_COLOR": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "eks_gpushare", *words],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def time_slicing() -> str:
    """The text of the time-slicing stack file, for tests that change it."""
    return (ROOT / "stacks" / "Pulumi.time-slicing.yaml").read_text(encoding="utf-8")
