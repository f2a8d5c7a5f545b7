"""Print where the CPU time of a preview goes as JSON of seconds: stage_times.py STACK.

The stages are those of the command, in its order, with one difference: the SDK's classes are
imported before the program runs, so that the two can be told apart.
"""

from __future__ import annotations

from time import process_time

_STARTED = process_time()  # before anything else is imported: this much is Python itself

import gc  # noqa: E402
import importlib  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
from contextlib import redirect_stdout  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable


def main(stack: str) -> None:
    """Go through the stages of `preview STACK`."""
    gc.disable()  # as our command does
    times = {"starting Python": _STARTED}

    def stage(title: str, work: Callable[[], Any]) -> Any:
        before = process_time()
        result = work()
        times[title] = process_time() - before
        return result

    def module(name: str) -> Any:
        return importlib.import_module(f"eks_gpushare.{name}")

    previews = stage(
        "importing the command, the model and the rules",
        lambda: (
            module("program_verbs.preview"),
            module("stack_file.check"),
            module("program.preview"),
        )[-1],
    )
    project, file = previews.locate(stack)
    stage("checking the file", lambda: previews.check_file(file))
    stage("importing pulumi", pulumi)
    stage("importing the SDK classes and the components", components)
    previewed = stage(
        "checking again and running the program", lambda: previews.preview(project, file)
    )
    stage("showing the result", lambda: show(previewed, module))
    gc.freeze()  # as our command does
    print(json.dumps(times))


def pulumi() -> None:
    """Import the SDK and what runs a program on it, in the way it is done for a preview."""
    with lean():
        importlib.import_module("eks_gpushare.program.run")


def components() -> None:
    """Import what the program imports, in the way it is done for it."""
    with lean():
        importlib.import_module("eks_gpushare.environment")
        importlib.import_module("eks_gpushare.stack")


def lean() -> Any:
    """What the SDKs are imported in."""
    packages = importlib.import_module("eks_gpushare.program.running.lean_packages")
    return packages.lean_packages()


def show(previewed: Any, module: Callable[[str], Any]) -> None:
    """Print the preview into nothing."""
    with redirect_stdout(io.StringIO()):
        text = module("program_verbs.preview_text")
        text.print_preview(previewed, same=previewed.stack, quiet=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
