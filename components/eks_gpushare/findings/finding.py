"""One thing that is wrong with, or worth knowing about, a stack file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Severity: TypeAlias = Literal["error", "warning", "info"]
"""`error` refuses the stack, `warning` lets it through and says so, `info` is worth knowing."""

SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")
"""The worst first."""

FieldPath: TypeAlias = "tuple[str | int, ...]"
"""A place in the environment: mapping keys and list indexes from the top down."""


class Position(NamedTuple):
    """A place in a file, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding at one place, in the words of the person at the keyboard."""

    code: str
    """Stable code, for example `GPU201`; each has a page in `docs/findings`."""
    severity: Severity
    path: str
    """Where, relative to the environment: `pools.gpu.sharing.replicas`."""
    message: str
    """What was given and what is allowed."""
    fix: str
    """The change that removes the finding."""
    source: str
    """A link or issue that explains the rule."""
    at: FieldPath = field(default=(), compare=False, repr=False)
    """The same place as `path`, in parts: keys may hold dots. For line numbers."""

    def as_json(self) -> dict[str, str]:
        """The finding as the commands print it."""
        return {
            "code": self.code,
            "severity": self.severity,
            "path": self.path,
            "message": self.message,
            "fix": self.fix,
            "source": self.source,
        }

    def __str__(self) -> str:
        """One finding as text: where, what, and what to do."""
        where = f"{self.path}: " if self.path else ""
        return f"{self.severity} {self.code} {where}{self.message} {self.fix}".rstrip()


_LONGEST = 400
"""Characters of a key that are shown; those of labels have 317 at most."""


def dotted(at: Iterable[str | int]) -> str:
    """A place as people write it: `pools.gpu.taints[0].key`, `labels["a.b/c"]`."""
    text = ""
    for whole in at:
        part = f"{whole[:_LONGEST]}..." if isinstance(whole, str) and whole[_LONGEST:] else whole
        if isinstance(part, int):
            text += f"[{part}]"
        elif _plain(part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text


def _plain(part: str) -> bool:
    return bool(part) and not set(part) & set('./[]" ')


def is_at_least(severity: Severity, least: Severity | None) -> bool:
    """Whether a severity is as bad as another, or worse; never where that is None."""
    return least is not None and SEVERITIES.index(severity) <= SEVERITIES.index(least)


def has_errors(findings: Iterable[Finding]) -> bool:
    """Whether any of the findings refuses the stack."""
    return any(f.severity == "error" for f in findings)
