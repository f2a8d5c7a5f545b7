"""What each front says of given values: the names that it says, of codes and of policies."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

from pulumi_policy import (
    PolicyCustomTimeouts,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    StackValidationArgs,
)
from pulumi_policy.proxy import unknown_checking_proxy

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.booted import booted
from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.lint.readers.every import DOCUMENT_READERS
from eks_gpushare.manifests.checks import CHECKS
from eks_gpushare.manifests.document import Document
from eks_gpushare.stack_file.check import check_given
from gpushare_policies import POLICIES
from gpushare_policies.rule import ResourcePolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement

TODAY = date(2026, 11, 23)
GPU = "nvidia.com/gpu"
CLUSTER = "aws:eks/cluster:Cluster"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
RELEASE = "kubernetes:helm.sh/v3:Release"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
STACK_FILE: dict[str, Any] = {
    "cluster": {
        "name": "demo",
        "version": "1.35",
        "admins": ["arn:aws:iam::111122223333:role/Platform"],
    },
    "network": {"zones": ["us-west-2a", "us-west-2b"]},
    "pools": {"gpu": {"instanceTypes": ["g5.xlarge"], "sharing": {"mode": "exclusive"}}},
}
"""An environment with nothing wrong in it."""

_OPTIONS = PolicyResourceOptions(
    protect=False,
    ignore_changes=[],
    delete_before_replace=None,
    aliases=[],
    custom_timeouts=PolicyCustomTimeouts(0, 0, 0),
    additional_secret_outputs=[],
)


def stack(fragment: Mapping[str, Any]) -> set[str]:
    """The codes of `check`, of the environment with a fragment merged over it."""
    return set(told(fragment))


def told(fragment: Mapping[str, Any]) -> dict[str, str]:
    """The same with the last message of each."""
    _, found = check_given(merge_values(STACK_FILE, fragment), (), region="us-west-2", today=TODAY)
    assert CHECK_FAILED.id not in {each.code for each in found}, [each.message for each in found]
    return {each.code: each.message for each in found}


def files(*values: Mapping[str, Any]) -> set[str]:
    """The codes of `lint`, of documents whose values are given."""
    items: list[Item] = []
    judgements: list[Judgement] = []
    for each in _documents(values):
        reader = next(reader for reader in DOCUMENT_READERS if reader.matches(each))
        read = reader.read(each)
        items += read.items
        judgements += read.judgements
    return inventory(*items) | _codes(judgements)


def inventory(*items: Item) -> set[str]:
    """The codes of `lint`, of an inventory."""
    given = Inventory(tuple(booted(items)))
    return _codes(each for edge in (*EDGES, *CHECKS) for each in edge.look(given))


def _documents(values: Iterable[Mapping[str, Any]]) -> Iterator[Document]:
    for each in values:
        copied = json.loads(json.dumps(each))
        yield Document("file.yaml", copied, lambda _: Position(1, 1))


def _codes(judgements: Iterable[Judgement]) -> set[str]:
    return {each.rule.id for each in judgements if isinstance(each, Problem)}


_POLICIES = {rule.name: rule for rule in POLICIES}


def policy(
    name: str,
    *resources: tuple[str, Mapping[str, Any]],
    config: Mapping[str, Any] | None = None,
) -> set[str]:
    """The name of a policy if resources of a program, by type and properties, violate it."""
    found: set[str] = set()

    def report(message: str, where: str | None = None) -> None:
        assert message
        assert where
        found.add(name)

    rule = _POLICIES[name]
    made = [
        PolicyResource(
            token,
            unknown_checking_proxy(json.loads(json.dumps(props))),
            f"urn:pulumi:prod::demo::{token}::r{number}",
            f"r{number}",
            _OPTIONS,
            None,
            None,
            [],
            {},
        )
        for number, (token, props) in enumerate(resources)
    ]
    if isinstance(rule, ResourcePolicy):
        for each in made:
            args = (each.resource_type, each.props, each.urn, each.name, _OPTIONS, None, None)
            rule.validate(ResourceValidationArgs(*args), report)
    else:
        rule.validate(StackValidationArgs(made, config), report)
    return found
