"""Rules about the system nodes: what holds for pools holds for them, and they have a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.instances import other_instance_names
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.instances import (
    MANY_TYPES,
    NOT_IN_REGION,
    TYPE_TWICE,
    UNKNOWN_TYPE,
    not_in_region,
    type_faults,
)
from eks_gpushare.rules.registry import Runs, Scope, check
from eks_gpushare.sharing.nodes import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.config.environment import SystemNodes
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context
    from eks_gpushare.sharing.system_load import SystemLoad

_SIZES = "https://docs.aws.amazon.com/eks/latest/userguide/choosing-instance-type.html"

TWO_ARCHITECTURES = Rule(
    "GPU620",
    "error",
    "System nodes are of one processor architecture.",
    "A node group has one AMI, for amd64 or for arm64: types of the other are refused, or never "
    "boot.",
    _SIZES,
)
GPU_UNUSED = Rule(
    "GPU621",
    "error",
    "System nodes have no GPU.",
    "It would be paid for and lie idle: the image of system nodes has no driver, and no pool says "
    "how the GPU is shared.",
    "https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-ami.html",
)
TOO_SMALL = Rule(
    "GPU623",
    "error",
    "System nodes have room for what runs on them.",
    "Cluster DNS and the controllers of the GPU stack would wait for ever: a node takes as many "
    "pods as its network interfaces have addresses, and keeps memory for itself.",
    _SIZES,
)
NO_SYSTEM_NODE = Rule(
    "GPU624",
    "error",
    "There is a system node from the start.",
    "CoreDNS waits for a node without a taint, the add-on is not healthy until then, and nothing "
    "starts a first one.",
    "https://docs.aws.amazon.com/eks/latest/userguide/managing-coredns.html",
    not_alone="Such nodes may be further ones of a cluster.",
)


@check(
    Scope.SYSTEM_NODES,
    *(UNKNOWN_TYPE, TYPE_TWICE, MANY_TYPES, TWO_ARCHITECTURES, GPU_UNUSED, NOT_IN_REGION),
)
def types(ctx: Context) -> Iterator[Finding]:
    system = ctx.environment.system
    if system is None:
        return
    at = ("system", "instanceTypes")
    given = system.instance_types
    yield from type_faults(at, given, ctx.catalog, other_instance_names)
    known = _known(ctx, system)
    for index, found in known.items():
        if found.gpu is not None:
            yield GPU_UNUSED.finding(
                (*at, index),
                f"{found.name} has {found.gpu_count} x {found.gpu.model}, which nothing on a "
                "system node uses.",
                "Use a type without GPUs, such as m6i.large; GPUs belong to a pool.",
            )
        yield from not_in_region((*at, index), found, ctx.region)
    arches: dict[str, list[str]] = {}
    for found in known.values():
        arches.setdefault(found.arch, []).append(found.name)
    if len(arches) > 1:
        listed = "; ".join(f"{', '.join(names)}: {arch}" for arch, names in arches.items())
        message = f"The types differ: {listed}."
        yield TWO_ARCHITECTURES.finding(at, message, "Keep those of one architecture.")


def _known(ctx: Context, system: SystemNodes) -> dict[int, InstanceType]:
    """The types that the catalog knows, by their place; each once."""
    given = system.instance_types
    return {
        index: found
        for index, name in enumerate(given)
        if name not in given[:index] and (found := ctx.catalog.find(name)) is not None
    }


@check(Scope.SYSTEM_NODES, NO_SYSTEM_NODE, runs=Runs.IN_STACKS)
def a_node(ctx: Context) -> Iterator[Finding]:
    """For a new cluster; the pods of an existing one have nodes already."""
    system = ctx.environment.system
    if system is None or ctx.new_cluster is None:
        return
    size = sizes(system.nodes)
    if size.min <= size.desired <= size.max and size.max > 0 and size.desired < 1:
        yield NO_SYSTEM_NODE.finding(
            ("system", "nodes"),
            f"min {size.min}, desired {size.desired} and max {size.max} begin without a node.",
            "Set desired to 1, better to 2, in two zones.",
        )


_LARGER = {
    "amd64": ("t3.large", "m6i.xlarge", "m6i.2xlarge", "m6i.4xlarge", "m6i.8xlarge"),
    "arm64": ("t4g.large", "m6g.xlarge", "m6g.2xlarge", "m6g.4xlarge", "m6g.8xlarge"),
}
"""Types to name where one is too small, the smallest first."""


@check(Scope.SYSTEM_NODES, TOO_SMALL)
def large_enough(ctx: Context) -> Iterator[Finding]:
    """For the smallest of the types: EKS may start any of them."""
    from eks_gpushare.sharing.system_load import for_the_cluster, on_each_node, room

    system = ctx.environment.system
    if system is None:
        return
    at = ("system", "instanceTypes")
    count = max(1, sizes(system.nodes).desired)
    whole = for_the_cluster(ctx.environment)
    own = on_each_node(ctx.environment)
    for index, found in _known(ctx, system).items():
        if found.gpu is not None:
            continue
        lacks = _lacks(room(found, ctx.environment), count, whole)
        if lacks:
            larger = map(ctx.catalog.find, _LARGER[found.arch])
            enough = (
                instance_type.name
                for instance_type in larger
                if instance_type and not _lacks(room(instance_type, ctx.environment), count, whole)
            )
            fix = f"Use a larger type, such as {such}, or" if (such := next(enough, "")) else "Use"
            nodes = "1 node" if count == 1 else f"{count} nodes"
            yield TOO_SMALL.finding(
                (*at, index),
                f"{nodes} of {found.name} have {' and '.join(lacks)} left that "
                f"{', '.join(whole.names)} take, beside {', '.join(own.names)} on each.",
                f"{fix} more nodes.",
            )


def _lacks(left: SystemLoad, count: int, whole: SystemLoad) -> list[str]:
    """What a number of nodes have too little of, in words.

    Args:
        left: What one of them has.
        count: How many there are.
        whole: What they have to have together.
    """
    return [
        f"{max(0, has)} {what} of {needs}"
        for has, needs, what in (
            (left.pods * count, whole.pods, "places for pods"),
            (left.cpu_millis * count, whole.cpu_millis, "m of CPU"),
            (left.memory_mib * count, whole.memory_mib, "MiB of memory"),
        )
        if has < needs
    ]
