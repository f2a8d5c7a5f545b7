"""What Karpenter makes has a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import PolicyComplianceFramework, Severity

from eks_gpushare.facts.karpenter_pools import has_limit
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.karpenter import NODE_POOL
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import count
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_SET_LIMITS = "Set `spec.limits` of the NodePool, such as `{nvidia.com/gpu: 16}` or `{cpu: 512}`."
_LIMITED = Fix("Set `pools.<pool>.nodes.max` in the stack file.", _SET_LIMITS, _SET_LIMITS)


def _limits(subject: Subject) -> Iterator[str | Unjudged]:
    body = subject.object.body
    if at(body, "spec") is UNKNOWN:
        yield Unjudged("the spec")
        return
    replicas, limits = count(at(body, "spec", "replicas")), at(body, "spec", "limits")
    if replicas not in (None, UNKNOWN):  # static capacity
        return
    if limits is UNKNOWN:
        yield Unjudged("limits")
        return
    values = [value for _, value in pairs(limits)]
    if (limits is None and subject.object.patch) or has_limit(values):
        return
    if replicas is UNKNOWN:
        yield Unjudged("replicas")
        return
    yield (
        f"{subject.opening} has no limits. It must have some, or "
        f"Karpenter makes nodes for every pod that somebody asks for, at any cost. "
        f"{_LIMITED.of(subject.args.urn)}"
    )


NODE_POOL_LIMITS = ResourcePolicy(
    "node-pool-limits",
    "NodePools of Karpenter must have limits.",
    checks=ObjectChecks({NODE_POOL: _limits}),
    severity=Severity.MEDIUM,
    framework=PolicyComplianceFramework(
        "EKS Best Practices Guide", None, "Karpenter", "Set compute limits on NodePools."
    ),
    fix=_LIMITED,
)
