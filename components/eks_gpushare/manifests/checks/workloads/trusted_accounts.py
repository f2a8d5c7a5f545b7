"""Roles of AWS by the annotation of a ServiceAccount, against whom their trust policies let in.

Sources: https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html and
"String condition operators" of
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.items import (
    ACCOUNT_USER,
    ADDRESS,
    ROLE_ANNOTATION,
    ROLE_TRUST,
    SERVICE_ACCOUNT,
    NodeSet,
    Pointer,
    Release,
)
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, every, items, some
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.charts import CLUSTER_AUTOSCALER
from eks_gpushare.manifests.document import certain_namespace, value_of
from eks_gpushare.manifests.rules.two_numbers import NOT_TRUSTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe, Source

_ROLE: Final = re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/(?:.*/)?([A-Za-z0-9+=,.@_-]+)")
_OF_AUTOSCALER: Final = ("rbac", "serviceAccount")
_MAY_SCALE: Final = ("wellKnownPolicies", "autoScaler")
_IN_VALUES: Final = (("serviceAccount",), _OF_AUTOSCALER)
"""Where values of charts have the account."""


class _Account(NamedTuple):
    source: Source
    place: FieldPath
    subject: str
    role: str


@edge(NOT_TRUSTED)
def accounts(inventory: Inventory) -> Iterator[Judgement]:
    """Each with the roles of that name, which may be several: of each environment one."""
    for cluster in inventory.clusters():
        roles = [each for each in inventory.of(Pointer, cluster) if each.kind == ROLE_TRUST]
        for account in _accounts(inventory, cluster) if roles else ():
            named = [each for each in roles if account.role in (each.name, at(each.spec, ADDRESS))]
            trusts = [_lets_in(each.spec, account.subject) for each in named]
            if named and all(each is False for each in trusts):
                others = " and ".join(dict.fromkeys(_subjects(named[0].spec)))
                yield Problem(
                    NOT_TRUSTED,
                    account.source,
                    account.place,
                    f"{at_start(account.source.name)} gives {account.subject} the role "
                    f"{account.role}, and {named[0].source.name} trusts {others or 'nobody'}.",
                    "Write this account into the trust policy, or let it have the namespace and "
                    "the name that stand there.",
                )


def _accounts(inventory: Inventory, cluster: str) -> Iterator[_Account]:
    """Those whose role, namespace and name are known."""
    for each in inventory.of(Pointer, cluster):
        place: FieldPath = ("metadata", "annotations", ROLE_ANNOTATION)
        if each.kind == SERVICE_ACCOUNT and certain_namespace(each) is not UNKNOWN:
            yield from _account(each, place, at(each.spec, *place), each.name)
    for release in inventory.of(Release, cluster):
        for path in _IN_VALUES:
            given = at(release.values, *path)
            if at(given, "create") in (None, True):
                arn = at(given, "annotations", ROLE_ANNOTATION)
                place = value_place(release, (*path, "annotations"))
                name = at(given, "name") or _of_autoscaler(release)
                yield from _account(release, place, arn, name)


def _of_autoscaler(release: Release) -> Maybe[str]:
    """The account of Cluster Autoscaler, which its chart names after the release and itself.

    `cluster-autoscaler.serviceAccountName` and `.fullname` in charts/cluster-autoscaler/templates/
    _helpers.tpl of kubernetes/autoscaler, chart 9.50.
    """
    values = release.values
    given = at(values, *_OF_AUTOSCALER)
    account, is_made = at(given, "name"), at(given, "create")
    whole, part = at(values, "fullnameOverride"), at(values, "nameOverride")
    provider = at(values, "cloudProvider") or "aws"
    told = (account, is_made, whole, provider, release.name)
    if release.chart != CLUSTER_AUTOSCALER or part or UNKNOWN in told:
        return UNKNOWN
    if account or is_made is False:
        return str(account or "default")
    own, name = f"{provider}-{CLUSTER_AUTOSCALER}", str(release.name)
    return str(whole or (name if own in name else f"{name}-{own}"))


@edge(NOT_TRUSTED)
def autoscalers(inventory: Inventory) -> Iterator[Judgement]:
    """Cluster Autoscaler with an account that is not the one that eksctl makes a role for.

    https://docs.aws.amazon.com/eks/latest/eksctl/iamserviceaccounts.html
    """
    for cluster in inventory.clusters():
        configs = [value_of(each) for each in inventory.of(NodeSet, cluster)]
        made = {
            (at(each, "metadata", "namespace") or "default", at(each, "metadata", "name"))
            for config in configs
            if at(config, "kind") == "ClusterConfig" and not _by_nodes(config)
            for each in items(at(config, "iam", "serviceAccounts"))
            if at(each, *_MAY_SCALE) is True
        }
        for release in inventory.of(Release, cluster):
            name, space = _of_autoscaler(release), release.namespace
            arn = at(release.values, *_OF_AUTOSCALER, "annotations", ROLE_ANNOTATION)
            others = [each for where, each in made if where == space and isinstance(each, str)]
            if name is UNKNOWN or arn is not None or not others or (space, name) in made:
                continue
            yield Problem(
                NOT_TRUSTED,
                release.source,
                value_place(release, _OF_AUTOSCALER),
                f"{at_start(release.source.name)} runs as {space}/{name}, and the role that may "
                f"scale groups is that of {space}/{others[0]}, which eksctl makes.",
                f"Write rbac: {{serviceAccount: {{create: false, name: {others[0]}}}}}.",
                "warning",
            )


def _by_nodes(config: Any) -> bool:
    """Whether the role of some nodes may scale groups, which pods without their own have."""
    return any(
        at(group, "iam", "withAddonPolicies", "autoScaler")
        for kind in ("managedNodeGroups", "nodeGroups")
        for group in items(at(config, kind))
    )


def _account(item: Pointer | Release, place: FieldPath, arn: Any, name: Any) -> Iterator[_Account]:
    named = _ROLE.fullmatch(arn) if isinstance(arn, str) else None
    is_known = isinstance(name, str) and isinstance(item.namespace, str)
    if named is not None and is_known and name and item.namespace:
        yield _Account(item.source, place, f"{ACCOUNT_USER}{item.namespace}:{name}", named[1])


def _lets_in(trust: Any, subject: str) -> bool | None:
    statements = at(trust, "statements")
    if statements is UNKNOWN:
        return None
    return some(
        every(_holds(each, subject) for each in conditions) for conditions in items(statements)
    )


def _holds(condition: Any, subject: str) -> bool | None:
    values = items(at(condition, "values"))
    match at(condition, "test"):
        case "StringEquals":
            return subject in values
        case "StringLike":
            return any(_is_like(subject, str(value)) for value in values)
        case _:
            return None


def _is_like(subject: str, pattern: str) -> bool:
    """By the wildcards of IAM, which has no other."""
    parts = ({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in pattern)
    return re.fullmatch("".join(parts), subject, re.DOTALL) is not None


def _subjects(trust: Any) -> Iterator[str]:
    for conditions in items(at(trust, "statements")):
        for each in conditions:
            yield from items(at(each, "values"))
