"""Karpenter leaves nodes alone on which pods share GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import PolicyComplianceFramework, Severity

from eks_gpushare.facts.karpenter_pools import DEFAULT_POLICY, moves_pods
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.karpenter import NODE_POOL, gives_gpus
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import mappings
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_SET_POLICY = "Set `spec.disruption.consolidationPolicy: WhenEmpty` of the NodePool."
_CONSOLIDATION = Fix(
    "Leave `pools.<pool>.karpenter.consolidationPolicy` out of the stack file, or set it to "
    "`WhenEmpty`.",
    _SET_POLICY,
    _SET_POLICY,
)


def _policy(subject: Subject) -> Iterator[str | Unjudged]:
    has_gpus = gives_gpus(subject.object.body)
    if has_gpus is False:
        return
    spec = at(subject.object.body, "spec")
    disruption = at(spec, "disruption")
    replicas = at(spec, "replicas")
    if replicas not in (None, UNKNOWN):  # static, of which Karpenter reads no policy
        return
    policy, after = (at(disruption, key) for key in ("consolidationPolicy", "consolidateAfter"))
    budgets = [budget for _, budget in mappings(at(disruption, "budgets"))]
    unknown = has_unknown([replicas, disruption])
    calm = not moves_pods(None if policy is UNKNOWN else policy, after, () if unknown else budgets)
    if calm or (subject.object.patch and policy is None):
        return
    if unknown or has_gpus is None:
        yield Unjudged("requirements" if has_gpus is None else "disruption")
        return
    given = f"the consolidationPolicy {policy}" if policy else "no consolidationPolicy"
    default = "" if policy else f", which means {DEFAULT_POLICY}"
    yield (
        f"{subject.opening} makes GPU nodes and has {given}{default}. "
        f"It must be WhenEmpty: shares look like small requests, so Karpenter moves pods together "
        f"and ends what runs on GPUs. {_CONSOLIDATION.of(subject.args.urn)}"
    )


GPU_POOLS_NOT_CONSOLIDATED = ResourcePolicy(
    "gpu-pools-not-consolidated",
    "NodePools of GPU nodes must be consolidated only when nodes are empty.",
    checks=ObjectChecks({NODE_POOL: _policy}),
    severity=Severity.MEDIUM,
    framework=PolicyComplianceFramework(
        "EKS Best Practices Guide", None, "Karpenter", "Workloads that are costly to interrupt."
    ),
    fix=_CONSOLIDATION,
)
