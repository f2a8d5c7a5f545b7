"""Rules about what a stack says of its nodes besides their GPUs: role, kubelet, disks, updates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.catalog.arns import role_fault
from eks_gpushare.catalog.kubelet import BOTTLEROCKET_SETTINGS, SET_ELSEWHERE, kubelet_fields
from eks_gpushare.config.pools import Pool
from eks_gpushare.documents.duration import seconds
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.bottlerocket import is_bottlerocket
from eks_gpushare.validation.shape import format_value, similar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.environment import SystemNodes
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

    Nodes: TypeAlias = Pool | SystemNodes

_KUBELET = "https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/"
_NODEADM = "https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/"

NODE_ROLE = Rule(
    "GPU420",
    "error",
    "The role of nodes is given by the ARN of an IAM role.",
    "EKS refuses the node group.",
    "https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html",
)
MAX_UNAVAILABLE = Rule(
    "GPU421",
    "error",
    "From 1 to 100 nodes are exchanged at a time, or from 1% to 100% of them.",
    "EKS refuses the node group.",
    "https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupUpdateConfig.html",
)
IDLE_NODE_KEY = Rule(
    "GPU422",
    "error",
    "Only nodes that the stack makes are set up by it.",
    "On others the key would be ignored.",
    "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html",
)
UNREAD_KEY = Rule(
    "GPU630",
    "warning",
    "A pool whose nodes are made elsewhere says only what is read of it.",
    "The key says how nodes are to be, and nobody here makes them so.",
    "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html",
)
UNKNOWN_FIELD = Rule(
    "GPU426",
    "error",
    "A kubelet setting is a field of KubeletConfiguration, with a value of its kind.",
    "The kubelet does not start with another one, and the node never joins.",
    _KUBELET,
)
FIELD_SET_ELSEWHERE = Rule(
    "GPU427",
    "error",
    "A kubelet setting is not one that EKS, the AMI or this project sets.",
    "The node would not join, or not with the taints that the stack says.",
    _NODEADM,
)
NO_SETTING = Rule(
    "GPU428",
    "error",
    "A kubelet setting of a Bottlerocket pool is one that Bottlerocket has.",
    "Its kubelet is configured by settings alone, and there is none for the field.",
    "https://bottlerocket.dev/en/os/1.57.x/api/settings/kubernetes/",
)
NO_STORE = Rule(
    "GPU429",
    "error",
    "Local storage is for types that have an instance store.",
    "There are no disks to make an array of: images would stay on the root volume.",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-store-volumes.html",
)

_IDLE = ("node_role", "user_data", "kubelet", "max_unavailable", "local_storage")
"""Keys that set nodes up, which is refused of nodes that others make."""
_READ = frozenset(
    {
        *("provisioner", "instance_types", "nodes", "ami_family", "custom_ami", "ami_version"),
        *("bottlerocket", "capacity_type", "reservation", "labels", "taints", "sharing"),
        *("karpenter", "warm", "wait_for_driver", "efa", "gpus_on_request_only"),
    }
)
"""Keys that say how nodes of others are, or that have a rule of their own."""
_PERCENT = re.compile(r"([1-9][0-9]?|100)%")
_MOST_AT_A_TIME = 100
"""https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupUpdateConfig.html"""
_OF_EACH = {"texts": "text", "booleans": "boolean"}
_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "list": (list, tuple),
}
_WORDS = {
    "text": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "duration": 'a duration such as "30s"',
    "list": "a list",
    "texts": "a mapping to texts",
    "booleans": "a mapping to true or false",
    "block": "a mapping",
}


@check(Scope.POOL, IDLE_NODE_KEY)
def idle_keys(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner == "managedNodeGroup":
        return
    if pool.provisioner == "karpenter":
        if pool.max_unavailable is not None:
            message = (
                "Karpenter exchanges nodes by its budgets, so maxUnavailable would be ignored."
            )
            fix = 'Remove it, and set karpenter: {budgets: [{nodes: "10%", reasons: [Drifted]}]}.'
            yield IDLE_NODE_KEY.finding(("pools", name, "maxUnavailable"), message, fix)
        if pool.node_role is not None:
            message = (
                "Karpenter hands one role to the nodes of all its pools, so that of a single pool "
                "would be ignored."
            )
            fix = "Remove it, and give the role as nodeRole of karpenter itself."
            yield IDLE_NODE_KEY.finding(("pools", name, "nodeRole"), message, fix)
        return
    for field in _IDLE:
        if getattr(pool, field) is not None:
            key = Pool.model_fields[field].alias or field
            message = f"{pool.provisioner} leaves the nodes to others, so {key} would be ignored."
            fix = f"Remove {key}, or set provisioner: managedNodeGroup."
            yield IDLE_NODE_KEY.finding(("pools", name, key), message, fix)


@check(Scope.POOL, UNREAD_KEY)
def unread_keys(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """For keys that are worth a word only, since leaving them there breaks nothing."""
    if pool.provisioner != "existing" or ctx.nodes_elsewhere:
        return
    for field, info in Pool.model_fields.items():
        if field not in {*_READ, *_IDLE} and getattr(pool, field) != info.default:
            key = info.alias or field
            message = f"The nodes of this pool are made elsewhere, and nothing here reads {key}."
            fix = f"Remove {key}, or set provisioner: managedNodeGroup."
            yield UNREAD_KEY.finding(("pools", name, key), message, fix)


@check(Scope.POOL, NODE_ROLE, MAX_UNAVAILABLE)
def pool_group(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    yield from _group(("pools", name), pool)


@check(Scope.SYSTEM_NODES, NODE_ROLE, MAX_UNAVAILABLE)
def system_group(ctx: Context) -> Iterator[Finding]:
    """For the system nodes."""
    if ctx.environment.system is not None:
        yield from _group(("system",), ctx.environment.system)


def _group(at: FieldPath, nodes: Nodes) -> Iterator[Finding]:
    role, most = nodes.node_role, nodes.max_unavailable
    if role is not None and (fault := role_fault(role)):
        yield NODE_ROLE.finding(
            (*at, "nodeRole"),
            f'"{role}" {fault}.',
            "Write it like arn:aws:iam::111122223333:role/gpu-nodes.",
        )
    if most is not None and not _is_update_size(most):
        yield MAX_UNAVAILABLE.finding(
            (*at, "maxUnavailable"),
            f"{format_value(most)} is neither 1 to 100 nodes nor 1% to 100% of them.",
            'Write a number such as 2, or a percentage such as "33%".',
        )


def _is_update_size(most: int | str) -> bool:
    if isinstance(most, str):
        return _PERCENT.fullmatch(most) is not None
    return 1 <= most <= _MOST_AT_A_TIME


@check(Scope.POOL, UNKNOWN_FIELD, FIELD_SET_ELSEWHERE, NO_SETTING)
def pool_kubelet(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    at = ("pools", name, "kubelet")
    for key in pool.kubelet or {}:
        if is_bottlerocket(pool) and key in kubelet_fields() and key not in _on_bottlerocket():
            yield NO_SETTING.finding(
                (*at, key),
                f"Bottlerocket has no setting for {key} in all its releases.",
                "Remove it; what a newer release has can be given in userData.",
            )
    yield from kubelet_faults(at, pool.kubelet or {}, _version(ctx))


@check(Scope.SYSTEM_NODES, UNKNOWN_FIELD, FIELD_SET_ELSEWHERE)
def system_kubelet(ctx: Context) -> Iterator[Finding]:
    """For the system nodes."""
    system = ctx.environment.system
    if system is not None and system.kubelet:
        yield from kubelet_faults(("system", "kubelet"), system.kubelet, _version(ctx))


def _on_bottlerocket() -> set[str]:
    """Fields that Bottlerocket has, and those about which something else is said."""
    return {*BOTTLEROCKET_SETTINGS, *SET_ELSEWHERE}


def _version(ctx: Context) -> str | None:
    from eks_gpushare.config.base import known_fields

    return known_fields(ctx.new_cluster).get("version") if ctx.new_cluster else None


def kubelet_faults(
    at: FieldPath, given: Mapping[str, Any], version: str | None
) -> Iterator[Finding]:
    """What is wrong with fields of a KubeletConfiguration.

    Args:
        at: Where they are.
        given: The fields.
        version: Kubernetes version of the nodes, None if it is not known.
    """
    for name, value in given.items():
        field = kubelet_fields().get(name)
        if field is None:
            meant = similar(name, kubelet_fields())
            fix = f"Did you mean {meant}?" if meant else "Remove it."
            message = f"{name} is not a field of KubeletConfiguration."
            yield UNKNOWN_FIELD.finding((*at, name), message, fix)
        elif name in SET_ELSEWHERE:
            message = f"{name} is not for a stack to set: {SET_ELSEWHERE[name]}."
            yield FIELD_SET_ELSEWHERE.finding((*at, name), message, "Remove it.")
        elif not _is(field.kind, value):
            message = f"{format_value(value)} is not {_WORDS[field.kind]}."
            fix = f"{name} takes {_WORDS[field.kind]}."
            yield UNKNOWN_FIELD.finding((*at, name), message, fix)
        elif version and field.since and _minor(version) < _minor(field.since):
            message = f"The kubelet has {name} since {field.since}; the cluster has {version}."
            yield UNKNOWN_FIELD.finding((*at, name), message, "Remove it.")


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]+", version))


def _is(kind: str, value: Any) -> bool:
    if isinstance(value, bool):  # which Python takes for a number
        return kind == "boolean"
    if kind in _OF_EACH:
        inner = _OF_EACH[kind]
        return isinstance(value, dict) and all(_is(inner, each) for each in value.values())
    if kind == "duration":
        return isinstance(value, str) and seconds(value) is not None
    return isinstance(value, _TYPES.get(kind, dict))


@check(Scope.POOL, NO_STORE)
def instance_store(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.local_storage is None:
        return
    for found, _ in ctx.gpu_types(pool):
        # Of a type that the stack file adds, nobody has said whether it has one.
        if not found.nvme_gb and found.name in gpu_instance_types():
            yield NO_STORE.finding(
                ("pools", name, "localStorage"),
                f"{found.name} has no instance store.",
                f"Remove localStorage, or take a type with one, such as {_with_store(found.name)}.",
            )


def _with_store(name: str) -> str:
    """A type with an instance store, of the same size if there is one."""
    size = name.partition(".")[2]
    having = [item for item, found in gpu_instance_types().items() if found.nvme_gb]
    return min(having, key=lambda instance_type: instance_type.partition(".")[2] != size)
