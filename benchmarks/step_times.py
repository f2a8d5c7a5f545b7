"""Print the CPU seconds of each step of a preview as JSON: step_times.py PROGRAM FILE.

Everything is imported and run once on a small stack first, so that only work is counted.
"""

from __future__ import annotations

import gc
import io
import json
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, TypeVar

from stack_files import write_stack_file

from eks_gpushare.config.additions import catalog_of
from eks_gpushare.program.preview import Preview, locate, preview
from eks_gpushare.program_verbs.preview_text import print_preview
from eks_gpushare.rules import check_environment
from eks_gpushare.sharing.plan import plan_environment
from eks_gpushare.stack_file.file import read_stack_file
from eks_gpushare.validation.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.stack_file.project import Project

_REPEATS = 5
T = TypeVar("T")


def timed(step: Callable[[], T], repeats: int = 1) -> tuple[float, T]:
    """The least CPU time of a step in seconds, and what it gives."""
    started = process_time()
    result = step()
    took = process_time() - started
    return (took, result) if repeats == 1 else (min(took, timed(step, repeats - 1)[0]), result)


def steps(project: Project, file: Path) -> dict[str, float]:
    """The time of each step on this file."""
    times: dict[str, float] = {}

    def step(title: str, work: Callable[[], T], repeats: int = _REPEATS) -> T:
        times[title], result = timed(work, repeats)
        return result

    stack = step("reading the file", lambda: read_stack_file(file))
    environment = step("parsing", lambda: parse(stack.environment, stack.spelled)).environment
    if environment is None:
        raise ValueError(f"{file} has errors")
    step("rules", lambda: check_environment(environment, region=stack.region))
    catalog, _ = catalog_of(environment.catalog, stack.region)
    step("planning", lambda: plan_environment(environment, catalog, stack.region))
    previewed = step("checking the file and running the program", lambda: preview(project, file), 1)
    if not previewed.ok:
        raise ValueError(f"{file} cannot be previewed")
    step("showing the result", lambda: show(previewed), 1)
    return times


def show(previewed: Preview) -> None:
    """Print a preview both ways, into nothing."""
    with redirect_stdout(io.StringIO()):
        print_preview(previewed, same=previewed.stack, quiet=False)
        json.dumps(previewed.as_json())


def main(program: str, file: str) -> None:
    """Measure after a small stack has had everything imported and its caches filled."""
    gc.disable()  # as our command does
    with tempfile.TemporaryDirectory() as scratch:
        small = write_stack_file(Path(scratch), 1)
        project, _ = locate(str(small), program)
        steps(project, small)
    print(json.dumps(steps(project, Path(file))))


if __name__ == "__main__":
    main(*sys.argv[1:])
