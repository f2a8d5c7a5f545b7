"""The rule on the repair of GPU nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, PolicyResource, ResourceValidationArgs, Severity

from gpushare_policies.gpus import is_gpu_node_group
from gpushare_policies.props import each, format_value, is_true, read
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.tokens import NODE_GROUP
from gpushare_policies.words import BY_TRANSFORM, Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_MIG_CONFIG = "nvidia.com/mig.config"


def _cut_by_mig_manager(args: ResourceValidationArgs | PolicyResource) -> bool:
    # It reboots nodes, which repair takes for a broken GPU:
    # https://docs.aws.amazon.com/eks/latest/userguide/node-health.html, read 2026-11-22.
    return any(key == _MIG_CONFIG for key in read(args.props, "labels") or ())


_SET_REPAIR = "Set `nodeRepairConfig: {enabled: true}`."
REPAIR = Fix(
    "Set `pools.<pool>.nodeRepair: true` in the stack file, or leave the key out.",
    f"Set `nodeRepairConfig: {{enabled: true}}` of the aws.eks.NodeGroup {BY_TRANSFORM}.",
    _SET_REPAIR,
)


_TAKE_OUT = "Take the entry out of `nodeRepairConfig.nodeRepairConfigOverrides`."
_SET_ACTION = Fix(REPAIR.stack_file, _TAKE_OUT, _TAKE_OUT)
_OF_GPUS = "AcceleratedHardwareReady"
"""The condition of nodes that tells of GPUs:
https://docs.aws.amazon.com/eks/latest/userguide/node-health.html, read 2026-11-22."""

_SET_NO_REPAIR = "Set `nodeRepairConfig: {enabled: false}`."
_NO_REPAIR = Fix(
    "Set `pools.<pool>.nodeRepair: false` in the stack file.",
    f"Set `nodeRepairConfig: {{enabled: false}}` of the aws.eks.NodeGroup {BY_TRANSFORM}.",
    _SET_NO_REPAIR,
)


def _repaired(args: ResourceValidationArgs) -> Iterator[str]:
    if is_gpu_node_group(args.props):
        yield from unrepaired(args)


def unrepaired(args: ResourceValidationArgs | PolicyResource) -> Iterator[str]:
    """What there is to say of GPU nodes that nobody repairs, or that are not to be."""
    enabled = read(args.props, "nodeRepairConfig", "enabled")
    if is_true(enabled) and _cut_by_mig_manager(args):
        yield (
            f"Node repair of {args.name} is on, and MIG manager reboots its nodes to cut their "
            f"GPUs. It must be off there: EKS takes a GPU that is away for ten minutes for broken "
            f"and replaces the node. {_NO_REPAIR.of(args.urn)}"
        )
    elif not is_true(enabled) and not _cut_by_mig_manager(args):
        yield (
            f"Node repair of the GPU nodes of {args.name} is {format_value(enabled)}. It must be "
            f"on, so that EKS replaces a node whose GPU has failed. {REPAIR.of(args.urn)}"
        )
    elif is_true(enabled):
        yield from _let_be(args)


def _let_be(args: ResourceValidationArgs | PolicyResource) -> Iterator[str]:
    """Failures of GPUs on which repair is told to do nothing."""
    for override in each(read(args.props, "nodeRepairConfig", "nodeRepairConfigOverrides")):
        if (
            read(override, "nodeMonitoringCondition") == _OF_GPUS
            and read(override, "repairAction") == "NoAction"
        ):
            reason = format_value(read(override, "nodeUnhealthyReason"))
            yield (
                f"Node repair of the GPU nodes of {args.name} does nothing where a GPU has failed "
                f"with {reason}. EKS must replace such a node. {_SET_ACTION.of(args.urn)}"
            )


NODE_REPAIR_ON = ResourcePolicy(
    "node-repair-on",
    "EKS must repair GPU nodes whose GPU has failed, and must not those that MIG manager reboots.",
    checks={NODE_GROUP: _repaired},
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    fix=REPAIR,
)
