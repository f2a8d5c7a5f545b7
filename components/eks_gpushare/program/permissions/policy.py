"""The least IAM policy that deploys a stack: it creates, reads, updates and deletes it.

Made from what the stack's program registers and calls, and nothing else. Names that the provider
makes up (`<logical name>-<random>`) become patterns.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.program.permissions.iam_actions import (
    ACTIONS,
    FUNCTIONS,
    SPOT_ROLE,
    WRITES_POLICY,
)
from eks_gpushare.program.permissions.iam_ec2_actions import NAMED_BY_POOL
from eks_gpushare.program.permissions.statements import Condition, Permission, document, merged
from eks_gpushare.program.values import UNKNOWN, OutputValue, Secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.program.permissions.iam_grants import Grant
    from eks_gpushare.program.recording import Recording, Resource

MANAGED_POLICY_CHARACTERS = 6144
"""What a managed policy may hold, white space not counted:
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html."""

_ROLE = "aws:iam/role:Role"
_CLUSTER = "aws:eks/cluster:Cluster"
_NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
_ID = re.compile(r"[a-z]+-[0-9a-f]+")
"""An id that AWS gives; those that stand for the answer of a look-up are none."""
_PLACEHOLDER = re.compile(r"\{([A-Za-z0-9_.]+)\}")


@dataclass(frozen=True, slots=True)
class DeployPolicy:
    """What a deployer of one stack has to be allowed."""

    statements: tuple[Mapping[str, Any], ...]
    """Statements of an IAM policy, in a stable order."""
    unknown: tuple[str, ...] = ()
    """Types and functions of the AWS provider whose actions are not known here."""
    unbounded: tuple[str, ...] = ()
    """ARNs of roles into which a deployer may write any policy, as nothing bounds them."""

    @property
    def document(self) -> dict[str, Any]:
        """All of it as one policy document."""
        return document(self.statements)

    @property
    def characters(self) -> int:
        """Length of the document as IAM counts it."""
        return _length(self.statements)

    def split(self, most: int = MANAGED_POLICY_CHARACTERS) -> list[dict[str, Any]]:
        """The same as documents of at most so many characters each, none of them if it is empty."""
        parts: list[list[Mapping[str, Any]]] = []
        for statement in self.statements:
            room = (part for part in parts if _length([*part, statement]) <= most)
            if (part := next(room, None)) is not None:
                part.append(statement)
            else:
                parts.append([statement])
        return [document(part) for part in parts]


def _length(statements: Sequence[Mapping[str, Any]]) -> int:
    return len(json.dumps(document(statements), separators=(",", ":")))


def deploy_policy(recording: Recording, *, region: str, account: str = "*") -> DeployPolicy:
    """The policy of a stack.

    Args:
        recording: What its program registered and called. What only an update tells has to be
            unknown in it: what the fakes make up is in no account.
        region: The stack's AWS region; `""` for any.
        account: Number of the AWS account; `*` for any, since a role is in one account anyway.
    """
    scope = _Scope(recording, region, account)
    permissions = list(scope.permissions())
    statements = tuple(statement.as_json() for statement in merged(permissions))
    unbounded = {
        permission.resource
        for permission in permissions
        if permission.action == WRITES_POLICY and not permission.conditions
    }
    return DeployPolicy(statements, tuple(sorted(scope.unknown)), tuple(sorted(unbounded)))


class _Scope:
    """Fills in what a grant leaves open."""

    def __init__(self, recording: Recording, region: str, account: str) -> None:
        self.unknown: set[str] = set()
        self._recording = recording
        self._known = {
            "partition": partition_of(region or None).id,
            "region": region or "*",
            "account": account,
        }
        self._prefix = _name_prefix(recording)

    def permissions(self) -> Iterator[Permission]:
        """Everything that is needed, one by one."""
        for token, args in self._recording.calls:
            if token.startswith("aws:"):
                yield from self._granted(FUNCTIONS, token, args, {})
        for resource in self._recording.resources:
            if resource.custom and resource.type.startswith("aws:"):
                inputs = _opened(resource.inputs)
                inputs.setdefault("path", "/")
                yield from self._granted(
                    ACTIONS, resource.type, inputs, resource.property_dependencies, resource
                )
            elif resource.type == _NODE_POOL and _takes_spot(resource):
                yield from self._filled(SPOT_ROLE, _Fill(self, {}, {}, None))

    def _granted(
        self,
        table: Mapping[str, tuple[Grant, ...]],
        token: str,
        inputs: Mapping[str, Any],
        dependencies: Mapping[str, tuple[str, ...]],
        resource: Resource | None = None,
    ) -> Iterator[Permission]:
        if token not in table:
            self.unknown.add(token)
        for grant in table.get(token, ()):
            if not _is_given(grant.given, inputs):
                continue
            yield from self._filled(grant, _Fill(self, inputs, dependencies, resource))

    def _filled(self, grant: Grant, fill: _Fill) -> Iterator[Permission]:
        shared = fill.shared(*grant.shared) if grant.shared else []
        conditions = frozenset(self._conditions(grant, fill, named=not shared))
        for arn in shared or (arn for template in grant.resources for arn in fill.all(template)):
            for action in grant.actions:
                yield Permission(action, arn, conditions)

    def _conditions(self, grant: Grant, fill: _Fill, *, named: bool) -> Iterator[Condition]:
        if grant.condition is not None:
            operator, key, value = grant.condition
            yield Condition(operator, key, fill.one(value))
        kind, _, place = grant.named.partition(" ")
        of = fill.named_by(place) if place else fill.resource
        if kind and named and (name := self._name(of)):
            where = "Request" if kind == "new" else "Resource"
            yield Condition("StringLike", f"aws:{where}Tag/Name", name)
        boundary = fill.boundary() if grant.bounded else None
        if boundary is not None:
            yield Condition("StringEquals", "iam:PermissionsBoundary", boundary)

    def _name(self, resource: Resource | None) -> str:
        """The name that a resource has to have: any of the network, or its own alone."""
        if resource is None:
            return ""
        if resource.type not in NAMED_BY_POOL:
            return f"{self._prefix}*" if self._prefix else ""
        own = _at(_opened(resource.inputs), "tags.Name")
        return own if isinstance(own, str) else ""

    def text(self, name: str) -> str | None:
        """What the stack as a whole is known by."""
        return self._known.get(name)

    def role_arn(self, role: Resource) -> str:
        """The ARN of a role that the stack makes."""
        inputs = _opened(role.inputs)
        path, name = inputs.get("path", "/"), _made_up(inputs.get("name"), role)
        return f"arn:{self._known['partition']}:iam::{self._known['account']}:role{path}{name}"

    def resource(self, urn: str) -> Resource | None:
        """A resource of the stack."""
        return self._recording.by_urn.get(urn)


@dataclass(frozen=True, slots=True)
class _Fill:
    """Fills the placeholders of one resource's grants."""

    scope: _Scope
    inputs: Mapping[str, Any]
    dependencies: Mapping[str, tuple[str, ...]]
    resource: Resource | None

    def all(self, template: str) -> list[str]:
        """The texts of a template: several, where a placeholder stands for several roles."""
        whole = _PLACEHOLDER.fullmatch(template)
        if whole is not None and _is_role(whole[1]):
            return self._roles(whole[1])
        return [self.one(template)]

    def one(self, template: str) -> str:
        """The text of a template."""
        return _PLACEHOLDER.sub(lambda found: self._text(found[1]), template)

    def _text(self, name: str) -> str:
        known = self.scope.text(name)
        if known is not None:
            return known
        value = _at(self.inputs, name)
        if isinstance(value, str):
            return value
        if name in {"name", "rule"} or name.endswith(("Name", "Url")):
            return _made_up(None, self.named_by(name) or self.resource)
        if name.endswith("keyArn"):
            return self.one("arn:{partition}:kms:{region}:{account}:key/*")
        if name.endswith("workspaceArn"):
            return self.one("arn:{partition}:aps:{region}:{account}:workspace/*")
        return self._cluster(name) if name.endswith(".cluster") else "*"

    def _cluster(self, name: str) -> str:
        """The name of a cluster that is told by its ARN."""
        given = _at(self.inputs, f"{name}Arn")
        if isinstance(given, str):
            return given.rpartition("/")[2]
        made = (
            self.scope.resource(urn)
            for urn in self.dependencies.get(name.split(".", maxsplit=1)[0], ())
        )
        names = (
            _opened(each.inputs).get("name") for each in made if each and each.type == _CLUSTER
        )
        return next((each for each in names if isinstance(each, str)), "*")

    def shared(self, kind: str, place: str) -> list[str]:
        """ARNs of what the program names by ids, which others may share with the account."""
        found = _at(self.inputs, place)
        ids = found if isinstance(found, list) else [found]
        arn = self.one("arn:{partition}:ec2:{region}:")
        written = [
            identifier
            for identifier in ids
            if isinstance(identifier, str) and _ID.fullmatch(identifier)
        ]
        return [f"{arn}*:{kind}/{identifier}" for identifier in written]

    def boundary(self) -> str | None:
        """The permissions boundary of the role, if the program gives it one."""
        role = self.named_by("role") or self.resource
        given = _opened(role.inputs).get("permissionsBoundary") if role else None
        return given if isinstance(given, str) else None

    def named_by(self, name: str) -> Resource | None:
        """The resource that an input is of."""
        for urn in self.dependencies.get(name, ()):
            return self.scope.resource(urn)
        return None

    def _roles(self, name: str) -> list[str]:
        top = name.partition(".")[0]
        values = [_at(value, name) for value in _each(self.inputs, top)]
        given = [value for value in values if isinstance(value, str)]
        made = [self.scope.resource(urn) for urn in self.dependencies.get(top, ())]
        arns = [self.scope.role_arn(role) for role in made if role and role.type == _ROLE]
        anywhere = self.one("arn:{partition}:iam::{account}:role/")
        named = [role if role.startswith("arn:") else f"{anywhere}{role}" for role in given]
        found = sorted({*named, *arns} if not arns else {*arns, *named})
        return found or [f"{anywhere}*"]


def _is_role(name: str) -> bool:
    return name == "role" or name.endswith(("roleArn", "RoleArn"))


def _each(inputs: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The inputs, with each item of a list by itself."""
    value = inputs.get(key)
    return [{**inputs, key: item} for item in value] if isinstance(value, list) else [inputs]


def _takes_spot(pool: Resource) -> bool:
    """Whether a NodePool of Karpenter's may have spot instances."""
    wanted = _at(_opened(pool.inputs), "spec.template.spec.requirements")
    return any(
        name.get("key") == "karpenter.sh/capacity-type" and "spot" in name.get("values", ())
        for name in (wanted if isinstance(wanted, list) else ())
        if isinstance(name, dict) and name.get("operator") in (None, "In")
    )


def _made_up(given: object, resource: Resource | None) -> str:
    """A name, or the pattern of one that the provider makes up."""
    if isinstance(given, str):
        return given
    if resource is None:
        return "*"
    inputs = _opened(resource.inputs)
    named = inputs.get("name")
    prefix = inputs.get("namePrefix")
    made = f"{prefix}*" if isinstance(prefix, str) else f"{resource.name}-*"
    return named if isinstance(named, str) else made


def _at(inputs: Mapping[str, Any], place: str) -> Any:
    value: Any = inputs
    for key in place.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _is_given(condition: str, inputs: Mapping[str, Any]) -> bool:
    key, _, wanted = condition.partition("=")
    value = inputs.get(key) if key else UNKNOWN
    return value is UNKNOWN or (value == wanted if wanted else bool(value))


def _opened(value: Any) -> Any:
    """A value without what it was sent with."""
    if isinstance(value, OutputValue | Secret):
        return _opened(value.value)
    if isinstance(value, dict):
        return {key: _opened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_opened(item) for item in value]
    return value


def _name_prefix(recording: Recording) -> str:
    """What the `Name` tags of the stack's network begin with, up to a hyphen."""
    names = []
    for resource in recording.resources:
        grants = ACTIONS.get(resource.type, ())
        if resource.custom and resource.type not in NAMED_BY_POOL and any(g.named for g in grants):
            name = _at(_opened(resource.inputs), "tags.Name")
            names += [name] if isinstance(name, str) else []
    first, last = min(names, default=""), max(names, default="")
    same = next(
        (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first)
    )
    return first[: first.rfind("-", 0, same) + 1]
