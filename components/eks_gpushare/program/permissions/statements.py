"""Permissions put together into as few statements as say the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.program.permissions.iam_actions import KINDS_TELL, OF_ANY_KIND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Condition(NamedTuple):
    """A test that a request has to pass."""

    operator: str
    key: str
    value: str


class Permission(NamedTuple):
    """One action on one resource, if all conditions hold."""

    action: str
    resource: str
    conditions: frozenset[Condition] = frozenset()


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that allows."""

    actions: frozenset[str]
    resources: frozenset[str]
    tests: frozenset[tuple[tuple[str, str], frozenset[str]]] = frozenset()
    """Operator and key of each condition, and the values that it takes."""

    @property
    def keys(self) -> frozenset[tuple[str, str]]:
        """Operators and keys of its conditions."""
        return frozenset(test for test, _ in self.tests)

    @property
    def service(self) -> str:
        """The service of its actions."""
        return min(self.actions).partition(":")[0]

    def as_json(self) -> dict[str, Any]:
        """The statement as IAM has it."""
        found: dict[str, Any] = {
            "Effect": "Allow",
            "Action": sorted(self.actions),
            "Resource": "*" if self.resources == {"*"} else sorted(self.resources),
        }
        conditions: dict[str, Any] = {}
        for (operator, key), values in sorted(self.tests):
            listed = sorted(values)
            conditions.setdefault(operator, {})[key] = listed if len(listed) > 1 else listed[0]
        if conditions:
            found["Condition"] = conditions
        return found

    def with_(self, other: Statement) -> Statement:
        """Both in one, which have conditions of the same keys."""
        values = dict(other.tests)
        return Statement(
            self.actions | other.actions,
            self.resources | other.resources,
            frozenset((test, each | values[test]) for test, each in self.tests),
        )


def merged(permissions: Iterable[Permission]) -> list[Statement]:
    """Statements in a stable order that allow these permissions and nothing that matters besides.

    An action that is for one kind of resource means nothing beside another kind, so that actions
    of such services share a statement. What is allowed on everything swallows what is not.
    """
    wanted: dict[tuple[frozenset[Condition], str], set[str]] = {}
    for action, resource, conditions in permissions:
        wanted.setdefault((conditions, action), set()).add(resource)
    grouped: dict[tuple[frozenset[Condition], frozenset[str]], set[str]] = {}
    for (conditions, action), resources in wanted.items():
        everything = frozenset({"*"})
        found = everything if "*" in resources else frozenset(resources)
        grouped.setdefault((conditions, found), set()).add(action)
    statements = [
        Statement(
            frozenset(actions),
            resources,
            frozenset(((op, key), frozenset({value})) for op, key, value in conditions),
        )
        for (conditions, resources), actions in grouped.items()
    ]
    statements.sort(key=_order)
    return sorted(_joined(_joined(statements, _same_but_for_values), _kinds_tell), key=_order)


def _order(statement: Statement) -> tuple[object, ...]:
    everything = statement.resources == {"*"}
    return (
        not everything,
        statement.service,
        sorted((test, sorted(values)) for test, values in statement.tests),
        sorted(statement.actions),
        sorted(statement.resources),
    )


def _joined(statements: Sequence[Statement], may: Any) -> list[Statement]:
    found: list[Statement] = []
    for statement in statements:
        for index, other in enumerate(found):
            if may(statement, other):
                found[index] = other.with_(statement)
                break
        else:
            found.append(statement)
    return found if len(found) == len(statements) else _joined(found, may)


_BOUND_VALUES = {"ec2:CreateAction", "iam:AWSServiceName"}
"""Keys whose values belong to one resource each, and mean nothing with another."""


def _same_but_for_values(one: Statement, other: Statement) -> bool:
    if not one.tests or one.keys != other.keys or one.actions != other.actions:
        return False
    if one.resources == other.resources:
        return len(one.tests - other.tests) == 1  # of two that differ, the values would mix
    return {key for _, key in one.keys} <= _BOUND_VALUES


def _kinds_tell(one: Statement, other: Statement) -> bool:
    same = (one.service, one.tests) == (other.service, other.tests)
    if not same or one.service not in KINDS_TELL or {"*"} in (one.resources, other.resources):
        return False
    return _keeps(one, other) and _keeps(other, one)


def _keeps(one: Statement, other: Statement) -> bool:
    """Whether what acts on every kind gets no further kind from the other."""
    return not one.actions & OF_ANY_KIND or other.resources <= one.resources


def document(statements: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """A policy document."""
    return {"Version": "2012-10-17", "Statement": [dict(statement) for statement in statements]}
