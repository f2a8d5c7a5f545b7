"""What a command found, in no format yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Severity

State: TypeAlias = Literal["found", "unjudged", "exempted"]
"""`unjudged`: what decides is not known. `exempted`: found, and let be by configuration, or by a
comment of the file."""
BaselineState: TypeAlias = Literal["", "new", "unchanged"]
"""Whether an earlier run had a result; empty where nothing is held against one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedRule:
    """A rule that can have results."""

    id: str
    """`GPU201` or `private-endpoint-on`."""
    level: Severity
    """What its results mean, unless one says otherwise."""
    title: str
    """The rule in one sentence."""
    why: str = ""
    """What it is for."""
    help: str = ""
    """How to comply."""
    url: str = ""
    """Page of the rule."""
    tags: tuple[str, ...] = ()
    security: str = ""
    """`critical`, `high`, `medium` or `low` where the rule is about security."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One thing that was found."""

    rule: str
    """Id of its rule."""
    level: Severity
    message: str
    """What is wrong."""
    fix: str = ""
    """The change that removes it; empty where the message says it."""
    file: str = ""
    """The file, as it was given or in full."""
    line: int = 0
    """From 1; 0 where it is not known."""
    column: int = 0
    """From 1, in characters; 0 where it is not known."""
    place: str = ""
    """The place in that file: `pools.gpu.sharing.replicas`."""
    urn: str = ""
    """The resource of a program."""
    subject: str = ""
    """Which of the report's subjects it is about; only needed where there are several."""
    state: State = "found"
    reason: str = ""
    """Why it is exempted, and until when."""
    in_source: bool = False
    """Whether a comment of the file exempts it, and not the configuration."""
    identity: str = ""
    """What it is known by within its file in later runs; empty for its place."""
    baseline: BaselineState = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that one call of a command found."""

    verb: str
    """`check`, `policy` or `lint`."""
    subjects: tuple[str, ...]
    """What was looked at: stacks or files."""
    category: str = ""
    """What tells runs of one verb apart whose results stand side by side: the stack."""
    rules: tuple[ReportedRule, ...]
    """Each rule that has results, at least."""
    results: tuple[Result, ...] = ()
    notes: tuple[str, ...] = ()
    """What was assumed, or not looked at."""
    all_rules: bool = False
    """Whether `rules` are all that were asked, so that one without results has passed."""
    ended: bool = True
    """Whether it was judged to the end; not where a program fails."""

    def rule_of(self, result: Result) -> ReportedRule:
        """The rule of a result."""
        return next(rule for rule in self.rules if rule.id == result.rule)
