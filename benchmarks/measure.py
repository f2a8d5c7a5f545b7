"""CPU time of child processes that have ended.

Wall time on a shared machine says little, so everything here is user and system time as the kernel
counts it at the end of a process, its start and its teardown included.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

BYTES_OF_MAXRSS = 1 if sys.platform == "darwin" else 1024
"""What `getrusage` counts the largest resident set in."""

# Each would change what is measured: how Python starts, or what a program looks up.
_UNSET = ("PYTHONDONTWRITEBYTECODE", "PYTHONPROFILEIMPORTTIME", "PYTHONDEVMODE", "PYTHONOPTIMIZE")


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process took."""

    cpu: float
    """User and system time in seconds."""
    peak: float
    """Largest resident set in MB (10^6 bytes)."""
    output: str
    """What it printed."""


def run(command: Sequence[str], *, cwd: Path, fine: Sequence[int] = (0,)) -> Cost:
    """Run a command to its end.

    Args:
        command: Program and arguments.
        cwd: Where it runs.
        fine: Exit codes that are no failure.

    Raises:
        RuntimeError: If it fails, with the end of what it said.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _UNSET}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, cwd=cwd, env=environment, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode not in fine:
            said = (err.read() or out.read()).decode(errors="replace")
            raise RuntimeError(f"exit code {child.returncode} from {command[:4]}:\n{said[-2000:]}")
        peak = usage.ru_maxrss * BYTES_OF_MAXRSS / 1e6
        return Cost(usage.ru_utime + usage.ru_stime, peak, out.read().decode(errors="replace"))


def interleaved(
    commands: Mapping[str, Sequence[str]], *, cwd: Path, rounds: int
) -> dict[str, list[Cost]]:
    """Run commands in turn, A B A B, so that a machine's changes of mood meet all of them alike.

    A round before the first is not counted: it reads the files into the page cache and leaves
    bytecode where there was none.

    Args:
        commands: Commands by name.
        cwd: Where they run.
        rounds: How often each is counted.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            cost = run(command, cwd=cwd)
            if number:
                costs[name].append(cost)
    return costs


def cpu(costs: Sequence[Cost]) -> float:
    """The median CPU time in seconds."""
    return statistics.median(cost.cpu for cost in costs)


def ratio(ours: Sequence[Cost], theirs: Sequence[Cost]) -> float:
    """The median of the ratios of each round: its two processes ran side by side.

    Args:
        ours: What the one command took in each round.
        theirs: What the other took.
    """
    return statistics.median(a.cpu / b.cpu for a, b in zip(ours, theirs, strict=True))


def least_ratio(ours: Sequence[Cost], theirs: Sequence[Cost]) -> float:
    """The ratio of the least of each: what a busy machine adds is never below nothing.

    Args:
        ours: What the one command took in each round.
        theirs: What the other took.
    """
    return min(cost.cpu for cost in ours) / min(cost.cpu for cost in theirs)


def exponent(small: tuple[int, float], large: tuple[int, float]) -> float:
    """How time grows between two sizes: 1 is linear, 2 quadratic.

    Args:
        small: A size and its time.
        large: A larger size and its time.
    """
    return math.log(large[1] / small[1]) / math.log(large[0] / small[0])
