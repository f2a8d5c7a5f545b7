"""Exemptions that are written under another name than a policy's, as exemptions of policies.

A code stands for the policies that say the same fact, and lets be what they say of that fact alone.
So do comments of a stack file, of any of its names, and a policy for others that say its facts. A
level and settings are a policy's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from eks_gpushare.facts.index import names_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from eks_gpushare.program.policies.stack_silences import StackSilence

_KEY = "exemptions"
_LEVEL = "enforcementLevel"

Config = dict[str, dict[str, Any]]


def under_policies(
    config: Mapping[str, str | Mapping[str, Any]],
    silences: Iterable[StackSilence],
    taking: Collection[str],
    problems: list[str],
) -> Config:
    """A configuration in which every exemption stands under a policy.

    Args:
        config: The configuration as it was given.
        silences: What comments of a stack file let be.
        taking: The policies of the pack that take exemptions of one finding.
        problems: Is added to, where a code has what only a policy takes.
    """
    found: Config = {}
    for name, value in config.items():
        given = {_LEVEL: value} if isinstance(value, str) else dict(value)
        policies = sorted(names_of(name).intersection(taking))
        # Names of policies begin in lower case; what no policy says is refused as such.
        if not (name.startswith("GPU") and policies):
            _add(found, name, given)
        elif given.keys() != {_KEY} or not _are_objects(given[_KEY]):
            named = " and ".join(policies)
            wrong = f"a code takes a list of {_KEY} only; levels and settings are of {named}"
            problems.append(f"{name}: {wrong}")
            continue
        # The name of one policy means the same fact in another.
        for policy in policies:
            if policy != name and _are_objects(entries := given.get(_KEY)):
                _add(found, policy, {_KEY: [{"finding": name, **entry} for entry in entries]})
    for said in silences:
        for name in said.silence.names:
            for policy in sorted(names_of(name).intersection(taking)):
                _add(found, policy, {_KEY: [_entry(said, name, policy)]})
    return found


def _are_objects(given: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(given, list) and all(isinstance(exemption, dict) for exemption in given)


def _add(config: Config, policy: str, given: Mapping[str, Any]) -> None:
    known = config.setdefault(policy, {})
    before, more = known.get(_KEY), given.get(_KEY)
    known.update(given)
    if isinstance(before, list) and isinstance(more, list):
        known[_KEY] = [*before, *more]


def _entry(said: StackSilence, name: str, policy: str) -> dict[str, Any]:
    silence = said.silence
    entry = {
        "resource": list(said.urns),
        "reason": silence.reason,
        "until": str(silence.until),
        "comment": said.place,
    }
    return entry if name == policy else entry | {"finding": name}
