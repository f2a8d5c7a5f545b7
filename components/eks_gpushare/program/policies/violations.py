"""What a policy pack says of a stack."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOT_RUN = re.compile(
    r"can't run (?:policy|remediation) '.*?' from policy pack '.*?' during preview: "
)
"""How the SDK begins what it says of a policy that met a value which is not known yet."""

REMEDIATED = "remediated: the resource is taken with the properties that the policy gave it"
"""Message of a violation that a policy has repaired by itself."""

TO_REMEDIATE = "to be remediated: the next update gives the resource what the policy wants"
"""The same of a state, in which nothing is repaired."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing a policy has to say about one resource."""

    policy: str
    """The policy's name."""
    pack: str
    level: str
    """``mandatory`` (fails the update), ``advisory``, or ``remediate`` if it was repaired."""
    severity: str
    """``critical``, ``high``, ``medium``, ``low`` or ``unspecified``."""
    urn: str
    """The resource; the stack's where a stack policy names none."""
    message: str
    """What is wrong with this resource."""
    description: str
    """What the policy is about, the same for every resource."""
    framework: str = ""
    """The compliance framework, with its version, ``""`` if the policy names none."""
    reference: str = ""
    """The control in that framework."""
    remediation_steps: str = ""
    url: str = ""
    message_says_fix: bool = False
    """Whether the message ends with how to comply, in the words of what it is about."""
    source: str = ""
    """``file:line`` of the program that the resource or its component comes from, if known."""

    @property
    def not_judged(self) -> str:
        """Why the policy could not judge, ``""`` if it did."""
        begun = _NOT_RUN.match(self.message)
        return self.message[begun.end() :] if begun else ""

    def as_json(self) -> dict[str, Any]:
        """The violation as JSON data; what the policy leaves out is None."""
        return {
            "policy": self.policy,
            "pack": self.pack,
            "level": self.level,
            "severity": self.severity,
            "urn": self.urn,
            "message": self.message,
            "description": self.description,
            "framework": self.framework or None,
            "reference": self.reference or None,
            "remediationSteps": self.remediation_steps or None,
            "url": self.url or None,
            "judged": not self.not_judged,
        }


@dataclass(frozen=True, slots=True)
class Exempted:
    """A violation that the configuration of its policy lets be."""

    policy: str
    urn: str
    message: str
    """What the policy would have said."""
    reason: str
    until: str
    """The last day of it."""
    said: str
    """The message in which the pack tells of it."""
    source: str = ""
    names: tuple[str, ...] = ()
    """All by which it goes: the policy's, and codes of findings that say the same."""

    def as_json(self) -> dict[str, Any]:
        """The same as JSON data."""
        return {
            "policy": self.policy,
            "urn": self.urn,
            "message": self.message,
            "names": list(self.names),
            "reason": self.reason,
            "until": self.until,
        }


@dataclass(frozen=True, slots=True)
class Judged:
    """What a pack had to say."""

    violations: list[Violation]
    """In the order in which the engine would say it."""
    exempted: tuple[Exempted, ...] = ()
    levels: Mapping[str, str] = field(default_factory=dict)
    """Each policy that was asked, with its level."""
