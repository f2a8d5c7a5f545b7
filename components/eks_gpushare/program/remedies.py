"""What helps with errors that a program meets for the way it is run here, not for what it says."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from pulumi.config import ConfigMissingError

if TYPE_CHECKING:
    from types import TracebackType

_NO_MEMBER = re.compile(r"module '(pulumi_[a-z0-9_]+)[^']*' has no attribute ")
_NO_ARGUMENT = re.compile(r"\(\) got an unexpected keyword argument ")
_OF_NO_ANSWER = "get can only be used with classes decorated"
"""What the SDK says where a property is read of a look-up that was not asked."""


def remedy_of(error: BaseException, text: str, directory: Path | None, stack: str) -> str:
    """A sentence that follows the error's own text; "" if that says all there is to say.

    Args:
        error: What the program ended with.
        text: What it says of itself, which not every error can.
        directory: That of the program, None for one that is a function.
        stack: The stack that was run.
    """
    if isinstance(error, ModuleNotFoundError):
        needs = "install what the program needs"
        if directory is not None and (directory / "requirements.txt").is_file():
            needs = f"python -m pip install -r {directory / 'requirements.txt'}"
        return f"It is looked for in the environment of this command, {sys.prefix}: {needs} there."
    if isinstance(error, ConfigMissingError):
        return f"Without Pulumi, write it under `config` of Pulumi.{stack}.yaml."
    if package := _of_another_release(error, text):
        return f"{package} is installed here; the program may be for an earlier release of it."
    if isinstance(error, AssertionError) and text.startswith(_OF_NO_ANSWER):
        return (
            "A look-up is asked for what only an update tells, such as an output of another stack. "
            "Call the function that takes outputs, such as get_cluster_output for get_cluster, or "
            "set the value in the configuration."
        )
    return ""


def _of_another_release(error: BaseException, text: str) -> str:
    """Name and version of the SDK that lacks what a program asks of it; "" if none does."""
    if isinstance(error, AttributeError) and (found := _NO_MEMBER.match(text)):
        return _installed(found[1])
    if isinstance(error, TypeError) and _NO_ARGUMENT.search(text):
        return _installed(_package_of(error.__traceback__))
    return ""


def _package_of(trace: TracebackType | None) -> str:
    """The package of Pulumi in which an error was raised, or "" if it was in none."""
    file = ""
    while trace is not None:
        file, trace = trace.tb_frame.f_code.co_filename, trace.tb_next
    return next((part for part in Path(file).parts if part.startswith("pulumi_")), "")


def _installed(package: str) -> str:
    try:
        return f"{package} {version(package)}" if package else ""
    except PackageNotFoundError:
        return ""
