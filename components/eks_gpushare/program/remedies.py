"""What helps with errors that a program meets for the way it is run here, not for what it says."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pulumi.config import ConfigMissingError

if TYPE_CHECKING:
    from pathlib import Path

_OF_NO_ANSWER = "get can only be used with classes decorated"
"""What the SDK says where a property is read of a look-up that was not asked."""


def remedy_of(error: BaseException, directory: Path | None, stack: str) -> str:
    """A sentence that follows the error's own text; "" if that says all there is to say.

    Args:
        error: What the program ended with.
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
    if isinstance(error, AssertionError) and str(error).startswith(_OF_NO_ANSWER):
        return (
            "A look-up is asked for what only an update tells, such as an output of another stack. "
            "Call the function that takes outputs, such as get_cluster_output for get_cluster, or "
            "set the value in the configuration."
        )
    return ""
