"""Violations that a configuration lets be: for one resource, with a reason, until a day.

Every rule takes `exemptions` in its configuration, so the same file works for `eks-gpushare policy`
and for the engine; the former takes codes of findings for names of rules too, and adds what
comments of a stack file let be. What is let be is said by the rule `exemptions-in-force`, with what
has expired and what is not needed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Protocol

from eks_gpushare.facts.index import facts_of, names_of
from eks_gpushare.facts.names import is_meant, only_a_policy_says
from gpushare_policies.words import name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

KEY = "exemptions"
"""Key in the configuration of every rule."""

SCHEMA: Mapping[str, Any] = {
    "type": "array",
    "description": "Resources at which the rule is let be, each with a reason and its last day.",
    "items": {
        "type": "object",
        "properties": {
            "resource": {
                "type": ["string", "array"],
                "pattern": r"\S",
                "items": {"type": "string", "pattern": r"\S"},
            },
            "reason": {"type": "string", "pattern": r"\S"},
            "until": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
            "finding": {"type": "string", "pattern": r"\S"},
            "comment": {"type": "string"},
        },
        "required": ["resource", "reason", "until"],
        "additionalProperties": False,
    },
}
"""JSON Schema of the key. `until` is the last day on which the exemption holds, in UTC; `finding` a
name of the one fact of the rule that is let be; `comment` where a stack file says so."""


class Configured(Protocol):
    """Anything that carries a policy's configuration."""

    def get_config(self) -> Mapping[str, Any]:
        """The configuration, possibly without the defaults."""


def today() -> date:
    """Today's date in UTC, which last days are compared with."""
    return datetime.now(tz=UTC).date()


@dataclass(frozen=True, slots=True)
class Exemption:
    """One entry of a rule's `exemptions`."""

    rule: str
    resources: tuple[str, ...]
    """URNs or logical names of resources, `*` standing for anything."""
    reason: str
    until: str
    finding: str = ""
    """A name of the fact that is meant. Default: all that the rule says."""
    comment: str = ""
    """The place of the comment that it stands in. Default: it is of the configuration."""

    def is_for(self, urn: str, code: str = "") -> bool:
        """Whether a violation at a resource is meant.

        Args:
            urn: The resource's.
            code: That of the finding which the violation is. Default: the rule's facts are meant.
        """
        if self.finding and not _is_finding(self.finding, code, self.rule):
            return False
        if self.comment:
            return urn in self.resources
        names = (urn, urn.rpartition("::")[2], name_of(urn))
        patterns = [_literal(resource) for resource in self.resources]
        return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)

    def holds(self) -> bool:
        """Whether its last day is not over. A day that no calendar has is over."""
        try:
            return today() <= date.fromisoformat(self.until)
        except ValueError:
            return False


def _is_finding(name: str, code: str, rule: str) -> bool:
    """Whether a violation is of the fact of a name: by its code, or as the rule says no other."""
    if code:
        return is_meant(code, (name,))
    facts = facts_of(rule)
    return bool(facts) and all(fact in facts_of(name) for fact in facts)


def _literal(pattern: str) -> str:
    """A pattern in which only `*` means something: names of resources may hold the rest."""
    return re.sub(r"[\[?]", r"[\g<0>]", pattern)


@dataclass(frozen=True, slots=True)
class ExemptedViolation:
    """A violation that was let be."""

    exemption: Exemption
    urn: str
    message: str
    """What the rule would have said."""
    code: str = ""
    """Of the finding that it is, where the rule says several facts."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names of what was let be."""
        return tuple(sorted(names_of(self.code or self.exemption.rule)))

    def __str__(self) -> str:
        rule, comment = self.exemption.rule, self.exemption.comment
        others = ", ".join(name for name in self.names if name != rule)
        named = name_of(self.urn) if self.urn else "the stack"
        return (
            f"{rule}{f' (also {others})' if others else ''} is let be at {named} until "
            f"{self.exemption.until}{f' by the comment at {comment}' if comment else ''}: "
            f"{self.exemption.reason.rstrip('.')}. It would say: {self.message}"
        )


@dataclass(slots=True)
class Ledger:
    """The exemptions that rules were given, and what they were used for.

    One process runs one pack over one stack at a time; resources come before the stack's rules.
    """

    given: dict[Exemption, bool] = field(default_factory=dict)
    """Each exemption, and whether a violation was met that it is for."""
    exempted: dict[ExemptedViolation, None] = field(default_factory=dict)
    """What was let be, in the order in which it was met."""

    unjudged: set[str] = field(default_factory=set)
    """Rules that met something they could not judge, so that their exemptions may be needed."""

    def of(self, rule: str, args: Configured) -> tuple[Exemption, ...]:
        """The exemptions of a rule, all of which are remembered."""
        found = tuple(_read(rule, args.get_config().get(KEY)))
        for exemption in found:
            self.given.setdefault(exemption, False)
        return found

    def lets_be(
        self, exemptions: tuple[Exemption, ...], urn: str, message: str, code: str = ""
    ) -> bool:
        """Whether one of a rule's exemptions is for this violation, which is then remembered."""
        meant = [exemption for exemption in exemptions if exemption.is_for(urn, code)]
        for each in meant:
            self.given[each] = True
        holding = next((exemption for exemption in meant if exemption.holds()), None)
        if holding is None:
            return False
        self.exempted[ExemptedViolation(holding, urn, message, code)] = None
        return True

    def clear(self) -> None:
        """Forget everything."""
        self.given.clear()
        self.exempted.clear()
        self.unjudged.clear()

    def over(self) -> Iterator[str]:
        """What is to be said of exemptions that do nothing."""
        written: dict[Exemption, list[Exemption]] = {}
        for exemption in self.given:
            written.setdefault(_as_written(exemption), []).append(exemption)
        for exemption, meant in written.items():
            used = any(self.given[one] for one in meant)
            at = ", ".join(exemption.resources)
            if not exemption.holds():
                then = "what it was for counts again" if used else "nothing needs it any more"
                yield (
                    f"The exemption of {exemption.rule} at {at} ended with {exemption.until}: "
                    f"{then}. Remove it from the configuration, or give it a later day and a "
                    "reason for it."
                )
            elif used or any(one.rule in self.unjudged for one in meant):
                continue
            elif not exemption.comment:
                yield (
                    f"The exemption of {exemption.rule} at {at} is for nothing: no resource "
                    "of that name violates the rule. Remove it from the configuration."
                )
            elif only_a_policy_says(exemption.rule):  # of others `check` knows what they are for
                yield (
                    f"The comment at {exemption.comment} that lets {exemption.rule} be is for "
                    "nothing: nothing of the pool or block that it stands in violates the rule. "
                    "Remove it."
                )


def _as_written(exemption: Exemption) -> Exemption:
    """An exemption under the name that it was written by, which may be one of several rules."""
    return replace(exemption, rule=exemption.finding or exemption.rule, finding="")


def _read(rule: str, given: Any) -> Iterator[Exemption]:
    for exemption in given or ():
        resource = exemption["resource"]
        resources = (resource,) if isinstance(resource, str) else tuple(map(str, resource))
        more = (str(exemption.get("finding", "")), str(exemption.get("comment", "")))
        yield Exemption(rule, resources, str(exemption["reason"]), str(exemption["until"]), *more)


LEDGER = Ledger()
"""The one of this process."""


def exempting(
    rule: str, args: Configured, report: Callable[[str, str], None]
) -> Callable[[str, str, str], None]:
    """A way to report violations of a rule that leaves out those that are exempted."""
    exemptions = LEDGER.of(rule, args)

    def report_others(message: str, urn: str, code: str) -> None:
        if not LEDGER.lets_be(exemptions, urn, message, code):
            report(message, urn)

    return report_others


def is_let_be(rule: str, args: Configured, urn: str) -> bool:
    """Whether nothing is to be done about a resource, as when a rule would repair it."""
    return any(exemption.is_for(urn) and exemption.holds() for exemption in LEDGER.of(rule, args))
