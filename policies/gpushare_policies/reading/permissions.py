"""What policies of IAM allow, as IAM finds it: by patterns, exceptions, conditions and denials.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html and
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html,
read 2026-11-25. The question is always whether somebody *can*: of what the caller of an action
chooses, such as the region, the choice that gets through is taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from ipaddress import ip_address, ip_network
from types import MappingProxyType
from typing import Any, NamedTuple

from gpushare_policies.props import each

CHOSEN = frozenset(
    (
        *("aws:currenttime", "aws:epochtime", "aws:referer", "aws:requestedregion"),
        *("aws:securetransport", "aws:useragent", "sts:externalid", "sts:rolesessionname"),
    )
)
"""Keys of conditions whose values the caller chooses or waits for, so that they keep nobody out."""

Context = Mapping[str, tuple[str, ...]]
"""Values of a request's keys, in small letters; the request lacks a key that is not in it."""


class ActionRequest(NamedTuple):
    """One action on one resource."""

    action: str
    resource: str
    context: Context = MappingProxyType({})
    chosen: frozenset[str] = CHOSEN


class PolicyStatement(NamedTuple):
    """A statement of a policy."""

    allows: bool
    actions: tuple[str, ...]
    all_other_actions: bool
    """Whether it is for what `actions` do not name: `NotAction`."""
    resources: tuple[str, ...]
    all_other_resources: bool
    conditions: Mapping[str, Mapping[str, Any]]
    principal: Any = None
    """Whom a trust or resource policy is for, as written."""
    all_other_principals: bool = False

    def names(self, action: str) -> bool:
        """Whether an action is among those that it is for, on whatever resource."""
        named = any(like(pattern, action, small=True) for pattern in self.actions)
        return named is not self.all_other_actions

    def is_for(self, request: ActionRequest) -> bool:
        """Whether a request is among those that it allows or denies."""
        meets = any(like(pattern, request.resource) for pattern in self.resources)
        return (
            self.names(request.action)
            and meets is not self.all_other_resources
            and self.holds(request.context, request.chosen)
        )

    def holds(self, context: Context, chosen: frozenset[str] = CHOSEN) -> bool:
        """Whether its conditions hold, if the caller chooses what there is to choose."""
        return all(
            self.allows
            if str(key).lower() in chosen
            else _holds(operator, str(key).lower(), [str(one) for one in each(values)], context)
            for operator, tests in self.conditions.items()
            for key, values in tests.items()
        )


def statements(document: Any) -> tuple[PolicyStatement, ...] | None:
    """The statements of a policy document, or None if it is none that AWS would take."""
    if isinstance(document, str):
        try:
            document = json.loads(document)
        except ValueError:
            return None
    if not isinstance(document, Mapping):
        return None
    found = [_statement(one) for one in each(document.get("Statement"))]
    return tuple(one for one in found if one is not None) if None not in found else None


def _statement(given: Any) -> PolicyStatement | None:
    if not isinstance(given, Mapping) or given.get("Effect") not in ("Allow", "Deny"):
        return None
    conditions = given.get("Condition") or {}
    if not isinstance(conditions, Mapping) or not all(
        isinstance(tests, Mapping) for tests in conditions.values()
    ):
        return None
    no_action, no_resource = "NotAction" in given, "NotResource" in given
    return PolicyStatement(
        given["Effect"] == "Allow",
        _texts(given.get("NotAction" if no_action else "Action")),
        no_action,
        # A trust policy names none: it is for its role alone.
        _texts(given.get("NotResource" if no_resource else "Resource", "*")),
        no_resource,
        conditions,
        given.get("Principal", given.get("NotPrincipal")),
        "NotPrincipal" in given,
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in each(value))


def may(
    request: ActionRequest,
    given: Iterable[PolicyStatement],
    bound: Iterable[PolicyStatement] | None = None,
) -> bool:
    """Whether statements allow a request, within a permissions boundary where there is one."""
    given = tuple(given)
    return _allowed(request, given) and (bound is None or _allowed(request, tuple(bound)))


def _allowed(request: ActionRequest, given: tuple[PolicyStatement, ...]) -> bool:
    told = [statement for statement in given if statement.is_for(request)]
    return bool(told) and all(statement.allows for statement in told)


def like(pattern: str, text: str, *, small: bool = False) -> bool:
    """Whether a text is of a pattern, in which `*` stands for any text and `?` for any character.

    What a variable such as `${aws:username}` stands for nobody knows here: nothing is of it.
    """
    if small:
        pattern, text = pattern.lower(), text.lower()
    # Most patterns differ before their first wildcard, and need not be compiled.
    start = re.split(r"[*?$]", pattern)[0]
    if not text.startswith(start):
        return False
    return start == pattern == text or _pattern(pattern).fullmatch(text) is not None


@lru_cache(4096)
def _pattern(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\$\{[^}]*\}|[*?])", pattern)
    found = "".join(_PARTS.get(part) or (_variable(part) or re.escape(part)) for part in parts)
    return re.compile(found, re.DOTALL)


_PARTS = {"*": ".*", "?": "."}
_NOTHING = "(?!)"


def _variable(part: str) -> str:
    if not part.startswith("${"):
        return ""
    return re.escape(part[2]) if part in ("${*}", "${?}", "${$}") else _NOTHING


def _holds(operator: str, key: str, wanted: list[str], context: Context) -> bool:
    every, _, rest = operator.rpartition(":")
    name = rest.removesuffix("IfExists")
    values = context.get(key)
    if name == "Null":
        return str(values is None).lower() in map(str.lower, wanted)
    is_not = "Not" in name
    # One that denies is to hold of every value, if nothing else is said, and so without any.
    of_all = every == "ForAllValues" or (is_not and every != "ForAnyValue")
    if values is None:
        return of_all or rest != name
    test = _TESTS.get(name.replace("Not", ""), str.__eq__)
    met = (any(test(pattern, value) for pattern in wanted) is not is_not for value in values)
    return all(met) if of_all else any(met)


def _within(wanted: str, value: str) -> bool:
    try:
        return ip_address(value) in ip_network(wanted, strict=False)
    except ValueError:
        return False


_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "StringEquals": str.__eq__,
    "StringEqualsIgnoreCase": lambda wanted, value: wanted.lower() == value.lower(),
    "StringLike": like,
    "ArnEquals": like,
    "ArnLike": like,
    "Bool": lambda wanted, value: wanted.lower() == value.lower(),
    "IpAddress": _within,
}
"""Operator to its test of a value that is wanted and one that a request has. Requests here have no
numbers and no dates of keys but those of `CHOSEN`."""
