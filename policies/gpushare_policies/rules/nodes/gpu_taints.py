"""Taints that keep pods without a GPU request from GPU nodes, wherever they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import PolicyResource, ResourceValidationArgs, Severity
from pulumi_policy.proxy import UnknownValueError

from eks_gpushare.inventory.matching import KEEPS_OFF
from eks_gpushare.inventory.scheduling import lasts, passes
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import decoded, registered
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.gpus import is_gpu_node_group, is_gpu_type
from gpushare_policies.props import each, format_value, given, is_true, peek, read
from gpushare_policies.reading.karpenter import NODE_POOL, gives_gpus
from gpushare_policies.reading.node_groups import NodeGroup, nodes_of, settled
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import items, mappings
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import ResourcePolicy, StackPolicy
from gpushare_policies.tokens import (
    EKS_CLUSTER,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    OUR_POOL,
    SCALING_GROUPS,
)
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pulumi_policy import StackValidationArgs

# AWS spells effects NO_SCHEDULE, Kubernetes NoSchedule.
_KEEPS_PODS_OUT = {effect.lower() for effect in KEEPS_OFF}
_KARPENTER = "karpenter"
_STACK_FILE = (
    'Set `pools.<pool>.taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]` in the '
    "stack file, or leave the key out for this default."
)
_SET_TAINT = 'Set `taints: [{key: nvidia.com/gpu, value: "true", effect: NO_SCHEDULE}]`.'
_OF_GROUPS = Fix(_STACK_FILE, _SET_TAINT, _SET_TAINT)
_SET_BY_KEY = 'Set `taints: {nvidia.com/gpu: {value: "true", effect: NoSchedule}}`.'
_OF_COMPONENTS = Fix(_STACK_FILE, _SET_BY_KEY, _SET_BY_KEY)
_ARGUMENTS = ("kubeletExtraArgs", "bootstrapExtraArgs")
_MORE_OF_KUBELET = (
    *("nodeUserDataOverride", "nodeUserData", "nodeadmExtraOptions", "bottlerocketSettings"),
)
"""Properties of those components by which nodes may register with taints too."""
_SET_POOL = (
    "Set `spec.template.spec.taints: [{key: nvidia.com/gpu, effect: NoSchedule}]` of the NodePool."
)
_OF_POOLS = Fix(_STACK_FILE, _SET_POOL, _SET_POOL)
_MUST = (
    "There must be one with the effect NoSchedule or NoExecute, or pods that need no GPU fill the "
    "expensive nodes."
)


def _keeps_out(effect: Any, key: Any) -> bool:
    """Whether a taint lets no pod in that does not tolerate it, for as long as the node is there.

    One that nodes lose once they are ready, or an agent runs on them, keeps nobody out.
    """
    stays = lasts(str(key or "")) and not passes(str(key or ""))
    return stays and str(effect or "").replace("_", "").lower() in _KEEPS_PODS_OUT


def _keeps_pods_out(props: Any) -> bool:
    """Whether a node group or pool has a taint that pods without a toleration cannot pass."""
    unknown: UnknownValueError | None = None
    for taint in each(read(props, "taints")):
        try:
            effect = read(taint, "effect")
        except UnknownValueError as error:
            unknown = error
            continue
        if _keeps_out(effect, peek(taint, "key")):
            return True
    if unknown is not None:
        raise unknown
    return False


def _untainted(args: ResourceValidationArgs | PolicyResource) -> str:
    effects = format_value([peek(taint, "effect") for taint in each(read(args.props, "taints"))])
    return (
        f"The GPU nodes of {args.name} have no taint that keeps other pods out (effects given: "
        f"{effects}). {_MUST} {_OF_GROUPS.of(args.urn)}"
    )


def _node_group(args: ResourceValidationArgs) -> Iterator[str]:
    if is_gpu_node_group(args.props) and not _keeps_pods_out(args.props):
        yield _untainted(args)


def _scaling_group(args: ResourceValidationArgs) -> Iterator[str]:
    """Of `pulumi_eks`, which makes user data of taints by their keys; other user data says more."""
    if any(_may_taint(args.props)):
        return
    is_gpu = is_true(peek(args.props, "gpu")) or is_gpu_type(read(args.props, "instanceType"))
    taints = read(args.props, "taints") or {}
    effects = {key: str(read(taints, key, "effect") or "") for key in taints}
    if is_gpu and not any(_keeps_out(effect, key) for key, effect in effects.items()):
        yield (
            f"The GPU nodes of {args.name} have no taint that keeps other pods out (effects given: "
            f"{format_value([*effects.values()])}). {_MUST} {_OF_COMPONENTS.of(args.urn)}"
        )


def _may_taint(props: Any) -> Iterator[bool]:
    """Whether what the nodes of a component are told besides may have them register with a taint.

    What arguments of kubelet say is read; scripts and settings may do anything.
    """
    yield from (given(props, key) for key in _MORE_OF_KUBELET)
    for key in _ARGUMENTS:
        told = peek(props, key)
        if told is UNKNOWN or "$" in str(told or ""):
            yield True
        else:
            found = registered(f"#!/bin/sh\nkubelet {told or ''}").taints
            yield found is UNKNOWN or any(_keeps_out(each.effect, each.key) for each in found)


def _default_nodes(args: ResourceValidationArgs) -> Iterator[str]:
    """Those that a cluster of `pulumi_eks` makes by itself, which only its options can taint."""
    if any(is_true(peek(args.props, key)) for key in ("skipDefaultNodeGroup", "fargate")):
        return
    options = peek(args.props, "nodeGroupOptions") or {}
    if options is UNKNOWN or any(_may_taint(options)):
        return
    asked = (args.props, options)
    is_gpu = any(
        is_true(peek(one, "gpu")) or is_gpu_type(peek(one, "instanceType")) for one in asked
    )
    taints = peek(options, "taints") or {}
    if is_gpu and taints is not UNKNOWN:
        effects = {key: peek(taints, key, "effect") for key in taints}
        if not any(effect is UNKNOWN or _keeps_out(effect, key) for key, effect in effects.items()):
            yield (
                f"The GPU nodes that {args.name} makes by itself have no taint that keeps other "
                f"pods out. {_MUST} {_OF_COMPONENTS.of(args.urn)}"
            )


def _pool(args: ResourceValidationArgs) -> Iterator[str]:
    # A pool of managed nodes is judged at its node group; those of others are not ours to taint.
    if (
        read(args.props, "provisioner") == _KARPENTER
        and given(args.props, "taints")
        and not _keeps_pods_out(args.props)
    ):
        yield _untainted(args)


def _started(nodes: NodeGroup) -> Iterator[tuple[str, str]]:
    # What the node group says itself is judged by itself; taints of Auto Scaling groups stand in
    # user data.
    if not nodes.is_managed or nodes.start is None or nodes.has_gpu_by_itself():
        return
    if nodes.has_gpu() and not _keeps_pods_out(nodes.group.props) and not _at_boot(nodes.start):
        yield _untainted(nodes.group), nodes.group.urn


def _at_boot(start: PolicyResource) -> bool:
    """Whether kubelet registers its node with a taint that keeps pods out."""
    taints = registered(decoded(settled(start, "userData"))).taints
    return taints is not UNKNOWN and any(_keeps_out(taint.effect, taint.key) for taint in taints)


def _templates(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    yield from over_each(nodes_of(args.resources), _started)


def _node_pool(subject: Subject) -> Iterator[str | Unjudged]:
    has_gpus = gives_gpus(subject.object.body)
    taints = at(subject.object.body, "spec", "template", "spec", "taints")
    effects = [taint.get("effect") for _, taint in mappings(taints)]
    if has_gpus is False or any(
        taint.get("effect") in KEEPS_OFF and _keeps_out(taint["effect"], taint.get("key"))
        for _, taint in mappings(taints)
    ):
        return
    if has_gpus is None or UNKNOWN in (taints, *items(taints), *effects):
        yield Unjudged("requirements" if has_gpus is None else "taints")
    elif taints is not None or not subject.object.patch:
        yield (
            f"{subject.opening} makes GPU nodes without a taint that keeps other pods out. {_MUST} "
            f"{_OF_POOLS.of(subject.args.urn)}"
        )


GPU_NODES_TAINTED = ResourcePolicy(
    "gpu-nodes-tainted",
    "GPU nodes must have a taint that keeps pods without a GPU request away.",
    checks={
        NODE_GROUP: _node_group,
        **dict.fromkeys(SCALING_GROUPS, _scaling_group),
        EKS_CLUSTER: _default_nodes,
        OUR_POOL: _pool,
    },
    unseen=(
        "a GPU type that only the launch template names (gpu-launch-template-taints does), "
        "and taints that stand in user data, as those of Auto Scaling groups do, but for those of "
        "NodeGroup and NodeGroupV2 of pulumi_eks."
    ),
    severity=Severity.MEDIUM,
    fix=_OF_GROUPS,
)

GPU_LAUNCH_TEMPLATE_TAINTS = StackPolicy(
    "gpu-launch-template-taints",
    "Nodes whose launch template names a GPU type must have a taint that keeps other pods away.",
    check=_templates,
    applies_to=(NODE_GROUP, LAUNCH_TEMPLATE),
    unseen=(
        "launch templates of other stacks, and taints of Auto Scaling groups, which stand "
        "in user data."
    ),
    severity=Severity.MEDIUM,
    fix=_OF_GROUPS,
)

GPU_NODE_POOLS_TAINTED = ResourcePolicy(
    "gpu-node-pools-tainted",
    "NodePools of GPU nodes must have a taint that keeps pods without a GPU request away.",
    checks=ObjectChecks({NODE_POOL: _node_pool}),
    severity=Severity.MEDIUM,
    fix=_OF_POOLS,
)
