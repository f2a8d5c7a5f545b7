"""What came of the inversions of a module."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Result:
    """What became of a module's inversions."""

    tried: int = 0
    survived: list[str] = field(default_factory=list)
    """What each changes that no test noticed."""
    untested: list[str] = field(default_factory=list)
    """The same of those whose line no test runs."""
