"""Nodes with GPUs that Karpenter makes are for pods that ask for GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.reading.karpenter import gives_gpus
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import items, mappings
from gpushare_policies.rule import ResourcePolicy, Unjudged
from gpushare_policies.rules.autoscaling.node_pool_limits import NODE_POOL
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEEPING = ("NoSchedule", "NoExecute")

_SET_TAINT = (
    "Set `spec.template.spec.taints: [{key: nvidia.com/gpu, effect: NoSchedule}]` of the NodePool."
)
_TAINTED = Fix(
    'Set `pools.<pool>.taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]` in the '
    "stack file, or leave the key out for this default.",
    _SET_TAINT,
    _SET_TAINT,
)


def _taints(subject: Subject) -> Iterator[str | Unjudged]:
    has_gpus = gives_gpus(subject.object.body)
    taints = at(subject.object.body, "spec", "template", "spec", "taints")
    effects = [each.get("effect") for _, each in mappings(taints)]
    if has_gpus is False or any(each in _KEEPING for each in effects):
        return
    if has_gpus is None or UNKNOWN in (taints, *items(taints), *effects):
        yield Unjudged("requirements" if has_gpus is None else "taints")
    elif taints is not None or not subject.object.patch:
        yield (
            f"{subject.opening} makes GPU nodes without a taint that keeps other pods out. There "
            f"must be one with the effect NoSchedule or NoExecute, or pods that need no GPU fill "
            f"the expensive nodes. {_TAINTED.of(subject.args.urn)}"
        )


GPU_NODE_POOLS_TAINTED = ResourcePolicy(
    "gpu-node-pools-tainted",
    "NodePools of GPU nodes must have a taint that keeps pods without a GPU request away.",
    checks=ObjectChecks({NODE_POOL: _taints}),
    severity=Severity.MEDIUM,
    fix=_TAINTED,
)
