"""How much of a stack a pack has rules for: what it passes over is told, and not called right."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.program.recording import PROVIDER_TYPE_PREFIX, STACK_TYPE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pulumi_policy import Policy

    from eks_gpushare.program.recording import Recording

_SHOWN = 8
_OBJECT = re.compile(r"(kubernetes:.*?)/?v[0-9][a-z0-9]*:([A-Za-z]+?)(?:Patch|List)?")


class RulesCoverage(NamedTuple):
    """The resources of a stack, by whether any rule is about their types."""

    judged: int
    unknown: Mapping[str, int]
    """Types that no rule knows, those with most resources first."""

    def text(self) -> str:
        """The same as a sentence without its full stop."""
        judged = f"{self.judged} {'resource' if self.judged == 1 else 'resources'} judged"
        if not self.unknown:
            return judged
        shown = [f"{count} {token}" for token, count in self.unknown.items()]
        more = [f"{len(shown) - _SHOWN} types more"] if len(shown) > _SHOWN else []
        others = sum(self.unknown.values())
        told = ", ".join(shown[:_SHOWN] + more)
        return f"{judged}, {others} of types that no rule knows: {told}"


def coverage_of(policies: Sequence[Policy], recording: Recording) -> RulesCoverage | None:
    """What rules there are for; None of a pack whose policies do not say what they look at."""
    if not all(hasattr(policy, "applies_to") for policy in policies):
        return None
    named = {_kind(token) for policy in policies for token in _applies_to(policy)}
    looking = [policy.looks_at for policy in policies if hasattr(policy, "looks_at")]
    known: dict[str, bool] = {}
    counted: Counter[str] = Counter()
    judged = 0
    for resource in recording.resources:
        token = resource.type
        if resource.existing or token == STACK_TYPE or token.startswith(PROVIDER_TYPE_PREFIX):
            continue
        if token not in known:
            known[token] = _kind(token) in named or any(looks(token) for looks in looking)
        if known[token]:
            judged += 1
        elif resource.custom:
            counted[token] += 1
    return RulesCoverage(judged, dict(counted.most_common()))


def _applies_to(policy: Policy) -> Sequence[str]:
    found: Sequence[str] = getattr(policy, "applies_to", ())
    return found


def _kind(token: str) -> str:
    """A type without the version of an object, which does not matter to rules."""
    found = _OBJECT.fullmatch(token)
    return f"{found[1]}:{found[2]}" if found else token
