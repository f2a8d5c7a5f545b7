"""Rules about MIG layouts that a node's own boot makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog import why_no_mig
from eks_gpushare.config.sharing import Mig
from eks_gpushare.documents.mig_boot import mig_boot_part
from eks_gpushare.documents.node_config import SHELL, USER_DATA_LIMIT, user_data, user_data_bytes
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.closed_runtime import closed_pools, closes_at_boot
from eks_gpushare.sharing.mig.layout import LayoutError, node_layout
from eks_gpushare.sharing.mig_boot import boots, mig_boot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.catalog import Gpu, InstanceType
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context
    from eks_gpushare.sharing.mig.layout import NodeLayout

_GUIDE = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/getting-started-with-mig.html"
_TEMPLATES = "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"

LONG_USER_DATA = Rule(
    "GPU240",
    "error",
    "The user data that makes a MIG layout fits into a launch template.",
    "EC2 takes 16 KB of user data, in which EKS adds a part of its own.",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html",
)
UNLIKE_COUNTS = Rule(
    "GPU241",
    "error",
    "A MIG layout made at boot is for one number of GPUs.",
    "All nodes of a pool get the same user data; those with other GPUs join with a failure taint.",
    _TEMPLATES,
)
NOBODY_BOOTS = Rule(
    "GPU242",
    "error",
    "A MIG layout made at boot is for nodes that this stack makes.",
    "Nothing would apply it: the nodes go on advertising whole GPUs, and pods stay Pending.",
    _TEMPLATES,
)
NO_DRIVER_AT_BOOT = Rule(
    "GPU243",
    "error",
    "A MIG layout made at boot finds the NVIDIA driver in the image.",
    "A driver that a pod installs comes after kubelet; every node would join with a failure taint.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html",
)
REBOOTS_ONCE = Rule(
    "GPU244",
    "info",
    "GPUs of the Ampere generation take a reboot to switch MIG on.",
    "A new node joins some minutes later than others.",
    _GUIDE,
)


_AMPERE = 8
"""Compute capability of the first GPUs with MIG (https://developer.nvidia.com/cuda-gpus)."""
# As long as EKS makes them: 100 letters for a name, and about 1.5 KB for the authority.
_LONGEST_CLUSTER = ("c" * 100, f"https://{'e' * 80}", "a" * 1600, "255.255.255.255/32")
_BY_OPERATOR = "apply: migManager with gpuStack: {manager: gpuOperator}"


@check(Scope.POOL, LONG_USER_DATA)
def boot_size(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    for found, layout in _layouts(ctx, pool):
        cluster = _LONGEST_CLUSTER if pool.custom_ami else None
        script = mig_boot_part(mig_boot(layout))
        size = user_data_bytes(user_data(script, cluster, parts=_closing(ctx, name)))
        if size > USER_DATA_LIMIT:
            yield LONG_USER_DATA.finding(
                ("pools", name, "sharing", "layout"),
                f"The user data for the {len(layout.gpus)} GPUs of {found.name} has {size} bytes; "
                f"at most {USER_DATA_LIMIT} leave EKS room for its own.",
                f"Cut all GPUs alike, which takes one entry, or set {_BY_OPERATOR}.",
            )
            return


def _closing(ctx: Context, name: str) -> list[tuple[str, str]]:
    """The part that closes the container runtime, where the pool's nodes are told to."""
    if not closes_at_boot(closed_pools(ctx.environment)[name]):
        return []
    from eks_gpushare.documents.closed_runtime import closed_runtime_part

    return [(SHELL, closed_runtime_part())]


@check(Scope.POOL, UNLIKE_COUNTS)
def boot_counts(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner == "managedNodeGroup":
        return  # its types have the same GPUs, or a finding of their own
    kinds = {
        found.name: (layout.model.name, len(layout.gpus)) for found, layout in _layouts(ctx, pool)
    }
    counts = {count for _, count in kinds.values()}
    if len(counts) > 1 and len({model for model, _ in kinds.values()}) == 1:
        listed = ", ".join(f"{item} has {count}" for item, (_, count) in kinds.items())
        yield UNLIKE_COUNTS.finding(
            ("pools", name, "instanceTypes"),
            f"The types differ in GPUs: {listed}.",
            f"Make a pool of each number of GPUs, or set {_BY_OPERATOR}.",
        )


@check(Scope.POOL, NOBODY_BOOTS)
def boot_provisioner(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner == "existing" and boots(pool):
        yield NOBODY_BOOTS.finding(
            ("pools", name, "sharing", "apply"),
            "Somebody else makes these nodes, so their boot will not make the layout.",
            f"Set {_BY_OPERATOR}, or provisioner: managedNodeGroup.",
        )


@check(Scope.POOL, NO_DRIVER_AT_BOOT)
def boot_driver(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.custom_ami is not None and not pool.custom_ami.driver_included and boots(pool):
        yield NO_DRIVER_AT_BOOT.finding(
            ("pools", name, "customAmi", "driverIncluded"),
            "The AMI has no NVIDIA driver, so there is nothing to cut GPUs with before kubelet "
            "starts.",
            f"Use an AMI with the driver, or set {_BY_OPERATOR}.",
        )


@check(Scope.POOL, REBOOTS_ONCE)
def boot_reboots(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    for found, gpu in _boot_types(ctx, pool):
        if gpu.compute_capability[0] == _AMPERE:
            yield REBOOTS_ONCE.finding(
                ("pools", name, "sharing", "apply"),
                f"A new {found.name} reboots once before it joins, to switch MIG on.",
                "Allow for some minutes more where nodes are scaled or replaced.",
            )
            return


def _boot_types(ctx: Context, pool: Pool) -> list[tuple[InstanceType, Gpu]]:
    """Types whose boot cuts GPUs."""
    if not boots(pool) or pool.provisioner == "existing":
        return []
    return [(found, gpu) for found, gpu in ctx.gpu_types(pool) if why_no_mig(found) is None]


def _layouts(ctx: Context, pool: Pool) -> Iterator[tuple[InstanceType, NodeLayout]]:
    """What the layout makes of each type; one that does not fit has rules of its own."""
    for found, _ in _boot_types(ctx, pool):
        if isinstance(pool.sharing, Mig):
            try:
                yield found, node_layout(pool.sharing.layout, found, ctx.catalog)
            except LayoutError:
                continue
