"""Rules about MIG on Bottlerocket nodes, where the operating system makes the layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog import bottlerocket as facts
from eks_gpushare.config.sharing import Mig
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.bottlerocket import served_by_chart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_MIG_MANAGER = "https://github.com/bottlerocket-os/bottlerocket-kernel-kit/pull/35"
_MIXED = "https://github.com/bottlerocket-os/bottlerocket/issues/4483"

MIG_GPU = Rule(
    "GPU252",
    "error",
    "MIG on Bottlerocket is for the GPUs that its MIG manager is documented for.",
    "The manager would make another layout or none, and the node would advertise something else.",
    _MIG_MANAGER,
)
MIG_STRATEGY = Rule(
    "GPU253",
    "error",
    "MIG on Bottlerocket has the strategy single.",
    "Its device plugin calls every MIG device nvidia.com/gpu; pods that ask for a profile by name "
    "would stay Pending.",
    _MIXED,
)
MIG_LAYOUT = Rule(
    "GPU254",
    "error",
    "MIG on Bottlerocket cuts every GPU of a node into as many devices of one profile as fit.",
    "The settings have room for one profile per GPU model and for nothing else.",
    _MIXED,
)
MIG_PROFILE = Rule(
    "GPU255",
    "error",
    "A MIG profile is one that Bottlerocket's MIG manager knows.",
    "It takes any other for the whole GPU and says nothing.",
    _MIG_MANAGER,
)
MIG_APPLY = Rule(
    "GPU256",
    "error",
    "Bottlerocket makes MIG layouts itself, at boot.",
    "The GPU Operator's MIG manager needs a host that can be written to.",
    "https://github.com/NVIDIA/mig-parted/pull/382",
)
_AL2023 = "use amiFamily: al2023"


@check(Scope.POOL, MIG_GPU, MIG_STRATEGY, MIG_APPLY)
def bottlerocket_mig(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    at, sharing = ("pools", name, "sharing"), pool.sharing
    if served_by_chart(pool) or not isinstance(sharing, Mig):
        return
    if sharing.apply == "migManager":
        yield MIG_APPLY.finding(
            (*at, "apply"),
            "The GPU Operator's MIG manager cannot run on Bottlerocket.",
            f"Remove the key: the image makes the layout itself, at boot. Or {_AL2023}.",
        )
    if sharing.strategy == "mixed":
        yield MIG_STRATEGY.finding(
            (*at, "strategy"),
            "The strategy is mixed; Bottlerocket calls every MIG device nvidia.com/gpu.",
            f"Remove the key, since single is the default there, or {_AL2023}.",
        )
    for found, gpu in ctx.gpu_types(pool):
        model = ctx.catalog.mig_model(gpu)
        if model and facts.bottlerocket_mig_gpu(model.name) is None:
            yield MIG_GPU.finding(
                (*at, "mode"),
                f"Bottlerocket documents MIG for A30, A100, H100 and H200; {found.name} has "
                f"{gpu.model} ({model.name}).",
                f"Use timeSlicing or mps, or {_AL2023}.",
            )


@check(Scope.POOL, MIG_LAYOUT, MIG_PROFILE)
def bottlerocket_layout(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """One finding, since types of one pool differ in nothing that matters here."""
    if served_by_chart(pool) or not isinstance(pool.sharing, Mig):
        return
    for found, _ in ctx.gpu_types(pool):
        fault = _layout_fault(ctx, ("pools", name, "sharing", "layout"), pool.sharing, found)
        if fault is not None:
            yield fault
            return


def _layout_fault(
    ctx: Context, at: FieldPath, sharing: Mig, instance_type: InstanceType
) -> Finding | None:
    from eks_gpushare.sharing.mig.layout import LayoutError, node_layout

    try:
        layout = node_layout(sharing.layout, instance_type, ctx.catalog)
    except LayoutError:  # has findings of its own
        return None
    gpu = facts.bottlerocket_mig_gpu(layout.model.name)
    if gpu is None:
        return None
    names = ", ".join(f"all-{profile}" for profile in gpu.instances)
    fix = f"Use one of {names}, or {_AL2023}."
    profile = layout.uniform
    if profile is None:
        left = [f"{layout.whole} whole GPU" + "s" * (layout.whole > 1)] if layout.whole else []
        parts = " and ".join([*layout.instances, *left])
        message = f"This makes {parts}; Bottlerocket makes one profile on every GPU of a node."
        return MIG_LAYOUT.finding(at, message, fix)
    if profile not in gpu.instances:
        instead = (
            "its settings take no profile with an attribute"
            if layout.model.profiles[profile].attributes
            else f"it would make {gpu.whole} of it, the whole GPU, without a word"
        )
        message = f"Bottlerocket's MIG manager does not know {profile}: {instead}."
        return MIG_PROFILE.finding(at, message, fix)
    full = gpu.instances[profile]
    fewest = min(gpu.devices[profile] for gpu in layout.gpus)
    if fewest == full:
        return None
    message = f"This makes {fewest} of {profile} on a GPU; Bottlerocket always makes {full}."
    return MIG_LAYOUT.finding(at, message, f"Write layout: all-{profile}, or {_AL2023}.")
