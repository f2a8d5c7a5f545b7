"""Violations that a configuration lets be: for one resource, with a reason, until a day.

Every rule takes `exemptions` in its configuration, so the same file works for `eks-gpushare policy`
and for the engine. What is let be is said by the rule `exemptions-in-force`, with what has expired
and what is not needed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Protocol

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
            "resource": {"type": "string", "pattern": r"\S"},
            "reason": {"type": "string", "pattern": r"\S"},
            "until": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
        },
        "required": ["resource", "reason", "until"],
        "additionalProperties": False,
    },
}
"""JSON Schema of the key. `until` is the last day on which the exemption holds, in UTC."""


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
    resource: str
    """The URN or the logical name of a resource, `*` standing for anything."""
    reason: str
    until: str

    def is_for(self, urn: str) -> bool:
        """Whether a resource is meant."""
        names = (urn, urn.rpartition("::")[2], name_of(urn))
        return any(fnmatchcase(name, _literal(self.resource)) for name in names)

    def holds(self) -> bool:
        """Whether its last day is not over. A day that no calendar has is over."""
        try:
            return today() <= date.fromisoformat(self.until)
        except ValueError:
            return False


def _literal(pattern: str) -> str:
    """A pattern in which only `*` means something: names of resources may hold the rest."""
    return re.sub(r"[\[?]", r"[\g<0>]", pattern)


@dataclass(frozen=True, slots=True)
class Exempted:
    """A violation that was let be."""

    exemption: Exemption
    urn: str
    message: str
    """What the rule would have said."""

    def __str__(self) -> str:
        named = name_of(self.urn) if self.urn else "the stack"
        return (
            f"{self.exemption.rule} is let be at {named} until {self.exemption.until}: "
            f"{self.exemption.reason.rstrip('.')}. It would say: {self.message}"
        )


@dataclass(slots=True)
class Ledger:
    """The exemptions that rules were given, and what they were used for.

    One process runs one pack over one stack at a time; resources come before the stack's rules.
    """

    given: dict[Exemption, bool] = field(default_factory=dict)
    """Each exemption, and whether a violation was met that it is for."""
    exempted: dict[Exempted, None] = field(default_factory=dict)
    """What was let be, in the order in which it was met."""

    unjudged: set[str] = field(default_factory=set)
    """Rules that met something they could not judge, so that their exemptions may be needed."""

    def of(self, rule: str, args: Configured) -> tuple[Exemption, ...]:
        """The exemptions of a rule, all of which are remembered."""
        found = tuple(_read(rule, args.get_config().get(KEY)))
        for each in found:
            self.given.setdefault(each, False)
        return found

    def lets_be(self, exemptions: tuple[Exemption, ...], urn: str, message: str) -> bool:
        """Whether one of a rule's exemptions is for this violation, which is then remembered."""
        meant = [each for each in exemptions if each.is_for(urn)]
        for each in meant:
            self.given[each] = True
        holding = next((each for each in meant if each.holds()), None)
        if holding is None:
            return False
        self.exempted[Exempted(holding, urn, message)] = None
        return True

    def clear(self) -> None:
        """Forget everything."""
        self.given.clear()
        self.exempted.clear()
        self.unjudged.clear()

    def over(self) -> Iterator[str]:
        """What is to be said of exemptions that do nothing."""
        for each, used in self.given.items():
            if not each.holds():
                then = "what it was for counts again" if used else "nothing needs it any more"
                yield (
                    f"The exemption of {each.rule} at {each.resource} ended with {each.until}: "
                    f"{then}. Remove it from the configuration, or give it a later day and a "
                    "reason for it."
                )
            elif not used and each.rule not in self.unjudged:
                yield (
                    f"The exemption of {each.rule} at {each.resource} is for nothing: no resource "
                    "of that name violates the rule. Remove it from the configuration."
                )


def _read(rule: str, given: Any) -> Iterator[Exemption]:
    for each in given or ():
        yield Exemption(rule, str(each["resource"]), str(each["reason"]), str(each["until"]))


LEDGER = Ledger()
"""The one of this process."""


def exempting(
    rule: str, args: Configured, report: Callable[[str, str], None]
) -> Callable[[str, str], None]:
    """A way to report violations of a rule that leaves out those that are exempted."""
    exemptions = LEDGER.of(rule, args)
    if not exemptions:
        return report

    def report_others(message: str, urn: str) -> None:
        if not LEDGER.lets_be(exemptions, urn, message):
            report(message, urn)

    return report_others


def is_let_be(rule: str, args: Configured, urn: str) -> bool:
    """Whether nothing is to be done about a resource, as when a rule would repair it."""
    return any(each.is_for(urn) and each.holds() for each in LEDGER.of(rule, args))
