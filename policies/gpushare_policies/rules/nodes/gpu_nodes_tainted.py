"""The rule on taints of GPU nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import PolicyResource, ResourceValidationArgs, Severity
from pulumi_policy.proxy import UnknownValueError

from eks_gpushare.inventory.scheduling import lasts
from gpushare_policies.gpus import is_gpu_node_group
from gpushare_policies.props import each, format_value, given, peek, read
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.tokens import NODE_GROUP, OUR_POOL
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

# AWS spells effects NO_SCHEDULE, Kubernetes NoSchedule.
_KEEPS_PODS_OUT = {"noschedule", "noexecute"}


_KARPENTER = "karpenter"


def keeps_out(effect: str) -> bool:
    """Whether a taint of this effect lets no pod in that does not tolerate it."""
    return effect.replace("_", "").lower() in _KEEPS_PODS_OUT


def keeps_pods_out(props: Any) -> bool:
    """Whether a node group or pool has a taint that pods without a toleration cannot pass.

    One that nodes lose once they are ready keeps nobody out.
    """
    unknown: UnknownValueError | None = None
    for taint in each(read(props, "taints")):
        try:
            effect = str(read(taint, "effect") or "")
        except UnknownValueError as error:
            unknown = error
            continue
        if keeps_out(effect) and lasts(str(peek(taint, "key") or "")):
            return True
    if unknown is not None:
        raise unknown
    return False


_SET_TAINT = 'Set `taints: [{key: nvidia.com/gpu, value: "true", effect: NO_SCHEDULE}]`.'
TAINT = Fix(
    'Set `pools.<pool>.taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]` in the '
    "stack file, or leave the key out for this default.",
    _SET_TAINT,
    _SET_TAINT,
)


def untainted(args: ResourceValidationArgs | PolicyResource) -> str:
    """What there is to say of GPU nodes that every pod may go to."""
    effects = format_value([peek(taint, "effect") for taint in each(read(args.props, "taints"))])
    return (
        f"The GPU nodes of {args.name} have no taint that keeps other pods out (effects given: "
        f"{effects}). There must be one with the effect NoSchedule or NoExecute, or pods "
        f"that need no GPU fill the expensive nodes. {TAINT.of(args.urn)}"
    )


def _node_group_tainted(args: ResourceValidationArgs) -> Iterator[str]:
    if is_gpu_node_group(args.props) and not keeps_pods_out(args.props):
        yield untainted(args)


def _pool_tainted(args: ResourceValidationArgs) -> Iterator[str]:
    # A pool of managed nodes is judged at its node group; those of others are not ours to taint.
    if (
        read(args.props, "provisioner") == _KARPENTER
        and given(args.props, "taints")
        and not keeps_pods_out(args.props)
    ):
        yield untainted(args)


GPU_NODES_TAINTED = ResourcePolicy(
    "gpu-nodes-tainted",
    "GPU nodes must have a taint that keeps pods without a GPU request away.",
    checks={
        NODE_GROUP: _node_group_tainted,
        OUR_POOL: _pool_tainted,
    },
    unseen=(
        "a GPU type that only the launch template names (gpu-launch-template-taints does), "
        "and taints that stand in user data, as those of Auto Scaling groups do."
    ),
    severity=Severity.MEDIUM,
    fix=TAINT,
)
