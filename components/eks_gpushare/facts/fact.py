"""What a fact is: everything there is to say of it, once, with the names it is said by."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.findings.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.findings.finding import Severity


class Front(StrEnum):
    """Who says a fact."""

    STACK = "stack"
    """`check`, `preview` and the components, of a stack file: GPU001 to GPU899."""
    FILES = "files"
    """`lint`, of files of others: GPU1000 to GPU1299."""
    LAB = "lab"
    """The lab, of what it ran: GPU900 to GPU999."""
    LIVE = "live"
    """`verify`, of a running cluster: GPU1300 and above."""
    POLICY = "policy"
    """The policy pack, of resources; the name is that of the policy."""


def front_of(name: str) -> Front:
    """Whose name it is: of a policy, or a code by its number."""
    if not name.startswith("GPU"):
        return Front.POLICY
    number = int(name.removeprefix("GPU"))
    return next(front for least, front in _FROM if number >= least)


_FROM = ((1300, Front.LIVE), (1000, Front.FILES), (900, Front.LAB), (0, Front.STACK))
"""The least number of each, the greatest first."""


class Differs(NamedTuple):
    """What one name of a fact is worth, where it is not what the fact is worth."""

    severity: Severity
    because: str
    """What this front knows, or does not, that others do."""


class Fact(NamedTuple):
    """Something that has to hold, and what follows where it does not."""

    title: str
    """The fact in one sentence."""
    why: str
    """What happens where it does not hold."""
    source: str
    """A link that explains it, of somebody else's."""
    severity: Severity
    """What it is worth, under every name that `differs` does not have."""
    names: tuple[str, ...]
    """What it is said by: codes of findings, and names of policies, of which one may say several
    facts. All of them were released and stay."""
    differs: Mapping[str, Differs] = MappingProxyType({})
    """By name."""

    def names_of(self, front: Front) -> tuple[str, ...]:
        """Its names in one front."""
        return tuple(name for name in self.names if front_of(name) == front)

    def severity_of(self, name: str) -> Severity:
        """What the fact is worth under one of its names."""
        differing = self.differs.get(name)
        return differing.severity if differing else self.severity

    def rule(self, name: str, *, not_alone: str = "") -> Rule:
        """The kind of finding by which one of its names says the fact."""
        return Rule(name, self.severity_of(name), self.title, self.why, self.source, not_alone)
