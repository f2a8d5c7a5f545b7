"""What a check of an inventory finds, and what it could not see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath, Severity
    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.inventory.source import Source


@dataclass(frozen=True, slots=True)
class Edit:
    """A change that is certain to be right, below the source's path."""

    kind: Literal["set", "rename", "remove", "append"]
    """`set` writes `value`, `rename` makes it the key at `path`, `append` adds it to a list."""
    path: FieldPath
    value: Any = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with one item, or between it and others."""

    rule: Rule
    """Its severity holds unless `severity` says otherwise."""
    source: Source
    path: FieldPath
    """The place, below the source's path."""
    message: str
    """What was given and what is allowed, naming the item it is about."""
    fix: str
    """The change that removes it, in the words of what was written."""
    severity: Severity | None = None
    edits: tuple[Edit, ...] = ()
    """Empty unless they are certain."""
    against: tuple[Source, FieldPath] | None = None
    """Another item that it follows from, and the place in it of what does not go with this one."""
    is_doubted: bool = False
    """Whether it may not be so, by what may be of the same cluster: it is a note then."""


@dataclass(frozen=True, slots=True)
class NotSeen:
    """What a check would have judged, had it been known."""

    rule: Rule
    source: Source
    what: str
    """The value and why it is not known: `the taints of the node group gpu`."""


Judgement: TypeAlias = Problem | NotSeen
"""What a check yields."""


def severity_of(judgement: Judgement) -> Severity:
    """How grave it is: what it says itself, or else its rule."""
    return getattr(judgement, "severity", None) or judgement.rule.severity
