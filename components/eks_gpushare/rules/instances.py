"""Rules about instance types: those of pools, and what holds for system nodes as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog import alternatives, gpu_instance_types, memory_text, nvidia_ami
from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from eks_gpushare.catalog import Ami, Catalog, Gpu, InstanceType
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_MOST_TYPES = 20
_EC2_TYPES = "https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html"

UNKNOWN_TYPE = Rule(
    "GPU101",
    "error",
    "An instance type is one that EC2 has.",
    "A node group with a type that does not exist fails after minutes, when the rest is there.",
    _EC2_TYPES,
)
NO_GPU = Rule(
    "GPU102",
    "error",
    "An instance type of a pool has an NVIDIA GPU.",
    "Nodes would start, cost money and advertise no GPU.",
    _EC2_TYPES,
)
MIXED_TYPES = Rule(
    "GPU103",
    "error",
    "The types of a managed node group have the same GPU, as many of them, and one architecture.",
    "EKS starts any of them, so that shares per node, memory per share and the AMI would be luck; "
    "the Cluster Autoscaler also plans with the first type only.",
    "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md",
)
RETIRED_TYPE = Rule(
    "GPU104",
    "warning",
    "An instance type is still offered.",
    "EC2 offers these types in no region any more; the stack can be planned but not launched.",
    _EC2_TYPES,
)
OLD_DRIVER = Rule(
    "GPU105",
    "error",
    "The AMI's driver knows the GPU.",
    "The node joins, but its driver does not find the GPU and nothing is advertised.",
    "https://github.com/awslabs/amazon-eks-ami/blob/main/doc/usage/g7-ami.md",
)
ULTRASERVER = Rule(
    "GPU106",
    "error",
    "A p6e-gb200 pool keeps to what UltraServers can do.",
    "They come as capacity blocks only, in managed node groups, without MIG: the EKS AMI loads the "
    "driver in a mode that excludes it.",
    "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-nvidia-ultraserver.html",
)
NOT_IN_REGION = Rule(
    "GPU107",
    "warning",
    "An instance type is offered in the stack's region.",
    "The node group fails to launch where EC2 does not offer the type.",
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypeOfferings.html",
    not_alone="A pool is not told its region.",
)
FRACTIONAL_GPU = Rule(
    "GPU109",
    "info",
    "A fraction of a GPU counts as one GPU on the node and as none in the EC2 API.",
    "Autoscalers that read the API believe that such a node has no GPU.",
    "https://karpenter.sh/docs/concepts/nodeoverlays/",
)
TYPE_TWICE = Rule(
    "GPU110",
    "error",
    "An instance type stands once in a pool, and there is at least one.",
    "EKS refuses an empty list, and a type given twice is usually a slip.",
    _EC2_TYPES,
)
MANY_TYPES = Rule(
    "GPU629",
    "error",
    "A node group has at most 20 instance types.",
    "EKS refuses the node group.",
    "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html",
)

_MOST_ALTERNATIVES = 4
_MOST_REGIONS = 6
_EXAMPLE_RELEASE = "1.35.8-20260930"


@check(Scope.POOL, UNKNOWN_TYPE, NO_GPU, TYPE_TWICE, MANY_TYPES)
def known_gpu_types(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    at = ("pools", name, "instanceTypes")
    most = None if pool.provisioner == "karpenter" else _MOST_TYPES
    yield from type_faults(at, pool.instance_types, ctx.catalog, ctx.catalog.gpu_types, most)
    for index, wanted in enumerate(pool.instance_types):
        found = ctx.catalog.find(wanted)
        if found is not None and found.gpu is None and wanted not in pool.instance_types[:index]:
            added = wanted in ctx.catalog.overrides
            yield NO_GPU.finding(
                (*at, index),
                f"{wanted} has no NVIDIA GPU.",
                f"Add gpu to it under catalog.instanceTypes[{wanted}]."
                if added
                else "Use a type of a GPU family, such as g5, g6, p4d or p5.",
            )


def type_faults(
    at: FieldPath,
    given: Sequence[str],
    catalog: Catalog,
    near: Callable[[], Iterable[str]],
    most: int | None = _MOST_TYPES,
) -> Iterator[Finding]:
    """What is wrong with a list of instance types, of a pool or of the system nodes.

    Args:
        at: Where the list is.
        given: The types.
        catalog: The types that there are.
        near: Gives the names among which the one is that a misspelt one may have meant.
        most: How many there may be. None: as many as anybody likes.
    """
    if not given:
        yield TYPE_TWICE.finding(at, "The list is empty.", "Name at least one instance type.")
    for index, wanted in enumerate(given):
        if wanted in given[:index]:
            yield TYPE_TWICE.finding(
                (*at, index), f"{wanted} stands twice.", "Remove one of the two."
            )
        elif catalog.find(wanted) is None:
            meant = similar(wanted, near())
            guess = f"Did you mean {meant}? " if meant else ""
            yield UNKNOWN_TYPE.finding(
                (*at, index),
                f"{wanted} is not an instance type that the catalog knows.",
                f"{guess}A type newer than this release is added under catalog.instanceTypes.",
            )
    if most is not None and len(given) > most and len({*given}) == len(given):
        yield MANY_TYPES.finding(
            at,
            f"{len(given)} instance types are more than the {most} that EKS takes.",
            f"Keep the {most} best ones.",
        )


@check(Scope.POOL, MIXED_TYPES)
def same_gpus(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner != "managedNodeGroup":
        return
    if ctx.nodes_elsewhere and pool.sharing.mode != "mig":
        return  # they may be several pools to those who make them; a MIG layout names profiles
    types = [t for t, _ in ctx.gpu_types(pool)]
    kinds: dict[str, list[str]] = {}
    for found in types:
        kinds.setdefault(_kind(found), []).append(found.name)
    if len(kinds) > 1:
        listed = "; ".join(f"{', '.join(names)}: {kind}" for kind, names in kinds.items())
        yield MIXED_TYPES.finding(
            ("pools", name, "instanceTypes"),
            f"The types differ: {listed}.",
            "Make a pool of each kind.",
        )


def _kind(found: InstanceType) -> str:
    gpu = found.gpu
    if gpu is None:
        return f"{found.gpu_count} x no GPU, {found.arch}"
    return f"{found.gpu_count} x {gpu.model} of {memory_text(gpu)}, {found.arch}"


@check(Scope.POOL, RETIRED_TYPE, NOT_IN_REGION)
def still_offered(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    for index, (found, gpu) in _indexed(ctx, pool):
        at = ("pools", name, "instanceTypes", index)
        gpus = "1 GPU" if found.gpu_count == 1 else f"{found.gpu_count} GPUs"
        if found.retired:
            others = _instead(ctx, pool, found) or list(alternatives(found))
            yield RETIRED_TYPE.finding(
                at,
                f"EC2 offers {found.name} ({found.gpu_count} x {gpu.model}) in no region any more.",
                f"Types with {gpus} are {', '.join(others[:_MOST_ALTERNATIVES])}.",
            )
        elif _lacking(ctx.region, found):
            others = _instead(ctx, pool, found)[:_MOST_ALTERNATIVES]
            here = f" Types with {gpus} in {ctx.region} are {', '.join(others)}." if others else ""
            yield from not_in_region(at, found, ctx.region, here)


def not_in_region(
    at: FieldPath, found: InstanceType, region: str | None, instead: str = ""
) -> Iterator[Finding]:
    """For an instance type that EC2 does not offer in a region, as far as the catalog knows.

    Args:
        at: Where it is named.
        found: The type.
        region: Of the stack. None: not known.
        instead: A sentence, with a space before it, on what the region has in its place.
    """
    if region and _lacking(region, found):
        from eks_gpushare.catalog.regions import by_distance

        regions = _some(by_distance(region, found.zones), _MOST_REGIONS)
        yield NOT_IN_REGION.finding(
            at,
            f"{found.name} was not offered in {region} when the catalog was made.",
            f"It was in {regions}.{instead} Ask EC2 for its offerings before you rely on it.",
        )


def _instead(ctx: Context, pool: Pool, found: InstanceType) -> list[str]:
    """Types with as many GPUs that the region has, and that can be cut where that is asked."""
    types = gpu_instance_types()
    names = alternatives(found, ctx.region) if ctx.region else alternatives(found)
    if pool.sharing.mode != "mig":
        return list(names)
    return [name for name in names if (gpu := types[name].gpu) is not None and gpu.mig_capable]


def _lacking(region: str | None, found: InstanceType) -> bool:
    """Whether a region is without a type: the catalog has offerings of some partitions only."""
    if not region or not found.zones or region in found.zones:
        return False
    known = {partition_of(zone) for kind in gpu_instance_types().values() for zone in kind.zones}
    return partition_of(region) in known


def _some(names: list[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


@check(Scope.POOL, OLD_DRIVER)
def driver_fits(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.ami_family == "custom":
        return
    for index, (found, gpu) in _indexed(ctx, pool):
        ami = nvidia_ami(pool.ami_family, found.arch)
        old = ami.too_old(found, pool.ami_version) if ami else None
        if ami is not None and old is not None:
            driver, oldest = old
            which = f" in release {pool.ami_version}" if pool.ami_version else ""
            yield OLD_DRIVER.finding(
                ("pools", name, "instanceTypes", index),
                f"{found.name} ({gpu.model}) needs driver {oldest} or later; the "
                f"{pool.ami_family} AMI of EKS has {driver}{which}.",
                _newer_driver(ami, found, oldest),
            )


def _newer_driver(ami: Ami, found: InstanceType, oldest: int) -> str:
    custom = f"amiFamily: custom with an AMI that has driver {oldest}."
    for second in ami.second_drivers:
        if found.family in second.families and second.branch >= oldest:
            since = f"{second.since[:4]}-{second.since[4:6]}-{second.since[6:]}"
            return (
                f"Set amiVersion to a release from {since} on, such as {_EXAMPLE_RELEASE}, which "
                f"has driver {second.branch} too, or use {custom}"
            )
    return f"Use {custom}"


@check(Scope.POOL, ULTRASERVER)
def ultraserver_limits(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    ultra = [t.name for t, _ in ctx.gpu_types(pool) if t.family.startswith("p6e-gb")]
    if not ultra:
        return
    at = ("pools", name)
    if pool.capacity_type != "capacityBlock":
        yield ULTRASERVER.finding(
            (*at, "capacityType"),
            f"{ultra[0]} is sold as capacity blocks only, not as {pool.capacity_type}.",
            "Set capacityType: capacityBlock and reservation: {id: cr-...}.",
        )
    if pool.provisioner == "karpenter":
        yield ULTRASERVER.finding(
            (*at, "provisioner"),
            f"Karpenter cannot launch {ultra[0]}.",
            "Set provisioner: managedNodeGroup.",
        )
    if pool.sharing.mode == "mig":
        yield ULTRASERVER.finding(
            (*at, "sharing", "mode"),
            f"MIG is not available on {ultra[0]}: the EKS AMI loads the driver in coherent memory "
            "mode, which excludes it.",
            "Use exclusive, timeSlicing or mps.",
        )


@check(Scope.POOL, FRACTIONAL_GPU)
def fractional_gpus(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    for index, (found, gpu) in _indexed(ctx, pool):
        if found.gpu_fraction < 1:
            yield FRACTIONAL_GPU.finding(
                ("pools", name, "instanceTypes", index),
                f"{found.name} has {found.gpu_fraction:g} of one {gpu.model}: the node advertises "
                f"it as 1 GPU, the EC2 API counts {found.api_gpu_count}.",
                _who_is_told(pool),
            )


def _who_is_told(pool: Pool) -> str:
    if pool.provisioner == "karpenter":
        return "Nothing to change: the stack tells Karpenter by a NodeOverlay."
    if pool.provisioner == "managedNodeGroup" and pool.scaled_by == "autoscaler":
        return "Nothing to change: a tag of the node group tells Cluster Autoscaler."
    return "Nothing to change for a fixed number of nodes; an autoscaler has to be told."


def _indexed(ctx: Context, pool: Pool) -> list[tuple[int, tuple[InstanceType, Gpu]]]:
    """Known GPU types with their index in the list."""
    at = {wanted: index for index, wanted in reversed(list(enumerate(pool.instance_types)))}
    return [(at[t.name], (t, gpu)) for t, gpu in ctx.gpu_types(pool)]
