"""Rules about how GPUs are shared, and what else a share needs."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from eks_gpushare.catalog import memory_text
from eks_gpushare.catalog.versions import device_plugin_source
from eks_gpushare.config.sharing import Mig, Mps, TimeSlicing
from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.mps import most_clients
from eks_gpushare.facts.replicas import ADVISED_SLICES, are_many_slices
from eks_gpushare.facts.shares import (
    MOST_LISTED_BYTES,
    SYSTEM_PODS,
    are_more_than_pods,
    listed_bytes,
    most_pods,
    thin,
)
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.planned import planned
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.nodes import allocatable
from eks_gpushare.sharing.resources import GPU, is_left_whole, renames, replicas, shares
from eks_gpushare.sharing.sizing import pods_of_node
from eks_gpushare.sharing.system_load import known_addons

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context
    from eks_gpushare.sharing.resources import Share

_REPLICAS = device_plugin_source("api/config/v1/replicas.go")
_EKS_PLATFORM = "https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html"

FEW_REPLICAS = Rule(
    "GPU201",
    "error",
    "Sharing means at least two replicas.",
    "The device plugin refuses one replica and crash-loops on every node of the pool.",
    _REPLICAS,
)
MPS_LIMIT = rule_of("GPU202")
NO_MIG = Rule(
    "GPU203",
    "error",
    "MIG is for GPUs that have it.",
    "The layout would never be applied, and the node would advertise whole GPUs or nothing.",
    "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-gpus.html",
)
SEVERAL_SHARES = rule_of("GPU205")
MEMORY_SHARED = Rule(
    "GPU206",
    "info",
    "Pods that share a GPU by time slicing share its memory without limits.",
    "One pod that takes too much makes the others fail with CUDA out of memory.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/461",
)
MPS_MEMORY = Rule(
    "GPU207",
    "info",
    "MPS limits memory per process, and one fatal fault ends all clients of the GPU.",
    "Pods with several processes get the limit several times over.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/594",
)
MANY_REPLICAS = rule_of("GPU208")
TOO_FEW_PODS = rule_of("GPU209")
THIN_SHARES = rule_of("GPU210")
TWO_SHARES = Rule(
    "GPU212",
    "info",
    "A share of one name is the same part of a GPU in every pool.",
    "Pods that ask for it by its name alone get whichever is free, with more or less memory and "
    "time than they were measured with.",
    _REPLICAS,
)
TOLERATION_NEEDED = Rule(
    "GPU211",
    "info",
    "Pods that ask for a renamed resource write the toleration themselves.",
    "EKS adds a toleration by itself only for a taint that has the name of the requested "
    "resource; without one these pods stay Pending.",
    _EKS_PLATFORM,
)
LONG_LIST = Rule(
    "GPU445",
    "warning",
    "A node has no more shares than its kubelet can be told of.",
    "The device plugin lists all of them in one message, and the kubelet takes none above 4 MiB: "
    "the node then has no share at all, and pods wait for ever.",
    "https://github.com/kubernetes/kubernetes/blob/v1.35.4/pkg/kubelet/cm/devicemanager/plugin/v1beta1/client.go",
)
MPS_ONE_USER = rule_of("GPU280")

FEWEST_REPLICAS = 2


def _sharing(name: str, *more: str) -> FieldPath:
    return ("pools", name, "sharing", *more)


@check(Scope.POOL, FEW_REPLICAS)
def enough_replicas(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    for at, count in _replica_counts(name, pool):
        if count < FEWEST_REPLICAS:
            yield FEW_REPLICAS.finding(
                at,
                f"{count} is less than 2; a GPU is shared by at least two pods.",
                "Set 2 or more, or mode: exclusive for a pod per GPU.",
            )


def _replica_counts(name: str, pool: Pool) -> Iterator[tuple[FieldPath, int]]:
    sharing = pool.sharing
    if isinstance(sharing, TimeSlicing | Mps):
        yield _sharing(name, "replicas"), sharing.replicas
    elif isinstance(sharing, Mig) and sharing.time_slicing is not None:
        yield _sharing(name, "timeSlicing", "replicas"), sharing.time_slicing.replicas


@check(Scope.POOL, MPS_LIMIT)
def mps_clients(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if not isinstance(pool.sharing, Mps):
        return
    wanted = pool.sharing.replicas
    limits = {t.name: (most_clients(gpu, wanted), gpu) for t, gpu in ctx.gpu_types(pool)}
    for instance_type, (limit, gpu) in limits.items():
        if limit is not None:
            major, minor = gpu.compute_capability
            yield MPS_LIMIT.finding(
                _sharing(name, "replicas"),
                f"{wanted} is more than the {limit} MPS clients of the "
                f"{gpu.model} in {instance_type} (compute capability {major}.{minor}).",
                f"Set {limit} or fewer, or mode: timeSlicing.",
            )


@check(Scope.POOL, NO_MIG)
def mig_capable(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if not isinstance(pool.sharing, Mig):
        return
    for instance_type, gpu in ctx.gpu_types(pool):
        if not gpu.mig_capable:
            yield NO_MIG.finding(
                _sharing(name, "mode"),
                f"The {gpu.model} in {instance_type.name} has no MIG.",
                "Use timeSlicing or mps, or a type with A100, H100, H200, B200 or RTX PRO GPUs.",
            )


@check(Scope.POOL, SEVERAL_SHARES)
def several_shares(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    sharing = pool.sharing
    if isinstance(sharing, TimeSlicing | Mps) and not sharing.fail_requests_greater_than_one:
        yield SEVERAL_SHARES.finding(
            _sharing(name, "failRequestsGreaterThanOne"),
            "A pod may ask for several shares here and gets no more of the GPU for it.",
            "Remove the key, so that such a pod is refused, unless its charts cannot be changed.",
        )


@check(Scope.POOL, MEMORY_SHARED, MPS_MEMORY)
def memory_per_share(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    sharing = pool.sharing
    if isinstance(sharing, Mig):
        yield from _memory_per_turn(ctx, name, pool, sharing)
        return
    if not isinstance(sharing, TimeSlicing | Mps) or sharing.replicas < FEWEST_REPLICAS:
        return
    for instance_type, gpu in ctx.gpu_types(pool):
        if gpu.memory_mib is None:
            continue
        # As the MPS daemon does it, with NVML's total (cmd/mps-control-daemon/mps/daemon.go).
        each = memory_text(replace(gpu, memory_mib=gpu.memory_mib // sharing.replicas))
        board = f"{gpu.model} of {memory_text(gpu)}"
        has = f"{instance_type.name}: {sharing.replicas} pods on one {board}"
        if isinstance(sharing, Mps):
            yield MPS_MEMORY.finding(
                _sharing(name),
                f"{has}, so MPS limits each process to {each}; a fatal fault of one ends them all.",
                "Give tenants that must not disturb each other MIG or whole GPUs.",
            )
        else:
            yield MEMORY_SHARED.finding(
                _sharing(name),
                f"{has}, so {each} each if all keep to it; nothing enforces that, and time slicing "
                "isolates no faults.",
                "Give tenants that must not disturb each other MIG or whole GPUs.",
            )


@check(Scope.POOL, MPS_ONE_USER)
def one_user(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    # cmd/mps-control-daemon/mps/daemon.go starts `nvidia-cuda-mps-control -d`, without the -M that
    # would make its servers take every user; nothing in the chart's values adds it.
    if isinstance(pool.sharing, Mps):
        yield MPS_ONE_USER.finding(
            _sharing(name, "mode"),
            "The MPS server of a node serves one user id at a time; pods of a second one wait for "
            "the GPUs, without an error, until all pods of the first have ended.",
            "Give all pods of this pool the same securityContext.runAsUser, or make a pool for "
            "each user.",
        )


def _memory_per_turn(ctx: Context, name: str, pool: Pool, sharing: Mig) -> Iterator[Finding]:
    """GPU206 for the pods on one MIG device."""
    turns = sharing.time_slicing
    if turns is None or turns.replicas < FEWEST_REPLICAS:
        return
    for instance_type, _ in ctx.gpu_types(pool):
        for share in _shares(ctx, pool, instance_type):
            if share.memory_mib is None or share.of_node == 1 / instance_type.gpu_count:
                continue
            yield MEMORY_SHARED.finding(
                _sharing(name, "timeSlicing"),
                f"{instance_type.name}: {turns.replicas} pods on one MIG device, so "
                f"{share.memory_mib} MiB each of {share.resource} if all keep to it; nothing "
                "enforces that, and a fault on a device reaches all of its pods.",
                "Give tenants that must not disturb each other devices of their own.",
            )


def _shares(ctx: Context, pool: Pool, instance_type: InstanceType) -> tuple[Share, ...]:
    """The shares of a node; none where the layout is wrong, which has a finding of its own."""
    if not isinstance(pool.sharing, Mig):
        return shares(pool, instance_type, ctx.catalog)
    from eks_gpushare.sharing.mig.layout import LayoutError

    try:
        return shares(pool, instance_type, ctx.catalog)
    except LayoutError:
        return ()


@check(Scope.POOL, MANY_REPLICAS)
def advised_replicas(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if isinstance(pool.sharing, Mps):
        return
    for at, count in _replica_counts(name, pool):
        if are_many_slices(count):
            what = "a MIG device" if isinstance(pool.sharing, Mig) else "a GPU"
            yield MANY_REPLICAS.finding(
                at,
                f"{count} pods take turns on {what}; AWS advises 2 to {ADVISED_SLICES}.",
                "Keep it where pods are mostly idle.",
            )


@check(Scope.POOL, TOO_FEW_PODS, THIN_SHARES)
def room_for_shares(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if replicas(pool) < FEWEST_REPLICAS and not isinstance(pool.sharing, Mig):
        return
    for instance_type, _ in ctx.gpu_types(pool):
        found = _shares(ctx, pool, instance_type)
        count = sum(share.per_node for share in found)
        if not count:
            continue
        room = allocatable(instance_type)
        pods = pods_of_node(pool, instance_type, ctx.environment)
        who = f"{instance_type.name} advertises {count} shares"
        if pods is not None and are_more_than_pods(count, pods):
            efa = " with EFA" if pool.efa else ""
            yield TOO_FEW_PODS.finding(
                _lever(name, pool),
                f"{who} but takes {pods} pods{efa}, about {SYSTEM_PODS} of them the node's own.",
                _fewer(count // replicas(pool), pods - SYSTEM_PODS)
                + _prefixes(ctx, pool, instance_type, count),
            )
        if less := thin(room.cpu_millis, room.memory_mib, count):
            yield THIN_SHARES.finding(
                _lever(name, pool),
                f"{who}; of the node's {room.cpu_millis}m CPU and {room.memory_mib} MiB each gets "
                f"{room.cpu_millis // count}m and {room.memory_mib // count} MiB, less than "
                f"{' and '.join(less)}.",
                "Let pods request no more than that, set fewer replicas, or take a type with more "
                "CPU per GPU.",
            )


@check(Scope.POOL, LONG_LIST)
def listed_shares(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    count = replicas(pool)
    if count < FEWEST_REPLICAS:
        return
    for instance_type, _ in ctx.gpu_types(pool):
        for share in _shares(ctx, pool, instance_type):
            size = partial(listed_bytes, share.per_node // count)
            if size(count) > MOST_LISTED_BYTES:
                most = bisect_right(range(count), MOST_LISTED_BYTES, lo=2, key=size) - 1
                yield LONG_LIST.finding(
                    _lever(name, pool),
                    f"{instance_type.name} advertises {share.per_node} {share.resource}, of which "
                    f"the list is {size(count)} bytes long; a kubelet takes {MOST_LISTED_BYTES}.",
                    f"Set {most} or fewer.",
                )


def _lever(name: str, pool: Pool) -> FieldPath:
    """The place of what says how many shares there are."""
    if not isinstance(pool.sharing, Mig):
        return _sharing(name, "replicas")
    turns = pool.sharing.time_slicing is not None
    return _sharing(name, *(("timeSlicing", "replicas") if turns else ("layout",)))


def _fewer(devices: int, room: int) -> str:
    most = room // devices
    if most < FEWEST_REPLICAS:
        return "Take a larger instance type."
    return f"Set {most} or fewer, or take a larger instance type."


def _prefixes(ctx: Context, pool: Pool, instance_type: InstanceType, count: int) -> str:
    """The way out of too few addresses, where there is one and nothing is said of the pods."""
    most = most_pods(instance_type, by_karpenter=False, prefixes=True)
    own = (pool.kubelet or {}).get("maxPods")
    addons = known_addons(ctx.environment)
    if addons is None or own is not None or are_more_than_pods(count, most):
        return ""
    told = f"kubelet: {{maxPods: {most}}} here" if pool.provisioner == "karpenter" else ""
    if told and addons.prefix_delegation:
        return f" Or give it {told}, since Karpenter knows of no prefixes."
    also = f", and {told}" if told else ""
    return f" Or give it prefixes of addresses by cluster.addons.prefixDelegation: true{also}."


@check(Scope.POOL, TOLERATION_NEEDED)
def toleration_needed(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    taints = [t for t in pool.taints if t.key == GPU and t.effect != "PreferNoSchedule"]
    if renames(pool) and taints and isinstance(pool.sharing, TimeSlicing | Mps):
        yield TOLERATION_NEEDED.finding(
            _sharing(name, "rename"),
            f"Pods ask for {GPU}.shared here, for which EKS adds no toleration of the taint {GPU}.",
            f"Give such pods tolerations: [{{key: {GPU}, operator: Exists}}].",
        )


@check(Scope.ENVIRONMENT, TWO_SHARES)
def shares_of_one_name(ctx: Context) -> Iterator[Finding]:
    first: dict[str, tuple[str, int]] = {}
    for name, pool in ctx.environment.pools.items():
        plan = planned(ctx, name, pool)
        nodes = plan.per_node.values() if plan is not None else ()
        for resource in {resource: None for node in nodes for resource, n in node.items() if n}:
            turns = 1 if is_left_whole(pool, resource) else replicas(pool)
            other, known = first.setdefault(resource, (name, turns))
            if turns != known:
                yield TWO_SHARES.finding(
                    ("pools", name, "sharing"),
                    f"Of {resource} a GPU or device has {turns} here, and {known} in {other}.",
                    "Give pods the node selector of their pool, or the pools the same replicas, or "
                    "rename the shares of one.",
                )
