"""Why nothing catches some mutants, in classes; what has no reason here is a defect."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "as good": "Another value that is as good: nothing else has to agree with it.",
    "refused": "AWS or Kubernetes refuses it at once, before there is anything to pay for.",
    "not run": "The SDK or the provider refuses it in the preview.",
    "elsewhere": "It agrees with something outside of the stack.",
}
"""Class of a reason to the reason."""

_CLASSES: tuple[tuple[str, str], ...] = (("*/stack file/*", "as good"),)
"""Pattern of names to class; the first that fits counts."""


def reason_of(name: str) -> str:
    """Class of the reason why nothing has to catch a mutant; no text if there is none."""
    return next((found for pattern, found in _CLASSES if fnmatchcase(name, pattern)), "")
