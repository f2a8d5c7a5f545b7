"""Rules about MIG layouts and the GPUs they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog import nvidia_ami, why_no_mig
from eks_gpushare.catalog.versions import device_plugin_source, mig_parted_source
from eks_gpushare.config.sharing import Mig
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.resources import GPU, shares

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.catalog import InstanceType, MigModel
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context
    from eks_gpushare.sharing.mig.geometry import Unused
    from eks_gpushare.sharing.mig.layout import LayoutProblem, NodeLayout

_GUIDE = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html"
_NAMES = mig_parted_source("pkg/mig/builder")
_STRATEGIES = device_plugin_source("#mig_strategy")
_EKS_PLATFORM = "https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html"

UNKNOWN_LAYOUT = Rule(
    "GPU220",
    "error",
    "A named MIG layout is one of the pool's GPU.",
    "MIG manager leaves the GPUs as they are and the node advertises none of the devices.",
    _NAMES,
)
UNKNOWN_PROFILE = rule_of("GPU221")
NO_ROOM = rule_of("GPU222")
MEDIA_TWICE = Rule(
    "GPU223",
    "error",
    "One MIG device of a GPU has the media engines.",
    "The driver refuses the second +me device, when the node is up and paid for.",
    _GUIDE,
)
NO_SUCH_GPU = Rule(
    "GPU224",
    "error",
    "A MIG layout names GPUs that the instance type has.",
    "The layout is not applied, or applied to fewer GPUs than were meant.",
    mig_parted_source("README.md"),
)
GPU_TWICE = Rule(
    "GPU225",
    "error",
    "A GPU stands in a MIG layout once.",
    "mig-parted applies the entries in order, so the later one would silently win.",
    mig_parted_source("README.md"),
)
NO_DEVICES = Rule(
    "GPU226",
    "error",
    "A MIG layout makes devices.",
    "MIG would be switched on for nothing, or not at all.",
    _NAMES,
)
WRONG_COUNT = Rule(
    "GPU227",
    "error",
    "A MIG layout has one device or more of each profile it names.",
    "mig-parted refuses negative counts, and takes a count of 0 for a profile that is not there.",
    mig_parted_source("api/spec/v1/spec.go"),
)
SINGLE_STRATEGY = rule_of("GPU228")
UNLIKE_GPUS = Rule(
    "GPU229",
    "error",
    "A MIG layout means the same on every instance type of a pool.",
    "Nodes of one pool would advertise different resources, and a pod would fit on some of them.",
    _STRATEGIES,
)
MIG_TOLERATION = Rule(
    "GPU230",
    "info",
    "Pods that ask for a MIG device by its profile write the toleration themselves.",
    "EKS adds a toleration by itself only for a taint that has the name of the requested "
    "resource; without one these pods stay Pending.",
    _EKS_PLATFORM,
)
UNUSED_SLICES = Rule(
    "GPU231",
    "info",
    "A MIG layout uses all of a GPU.",
    "Slices without a device are paid for and never used.",
    _GUIDE,
)
UNPROVEN_GEOMETRY = Rule(
    "GPU232",
    "warning",
    "The MIG profiles of a GPU are published.",
    "Names or placements may differ on the node; the layout is then refused there.",
    _GUIDE,
)
MIG_DRIVER = Rule(
    "GPU233",
    "error",
    "The AMI's driver has MIG for the GPU.",
    "The driver finds no profiles and the layout fails on every node.",
    "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-gpus.html",
)
UNKNOWN_GEOMETRY = Rule(
    "GPU234",
    "error",
    "The MIG profiles of a GPU are known.",
    "Nothing could be said of the layout before the node is paid for.",
    _GUIDE,
)

_BY_KIND = {
    "unknownGpu": UNKNOWN_GEOMETRY,
    "name": UNKNOWN_LAYOUT,
    "profile": UNKNOWN_PROFILE,
    "fit": NO_ROOM,
    "group": MEDIA_TWICE,
    "gpu": NO_SUCH_GPU,
    "twice": GPU_TWICE,
    "empty": NO_DEVICES,
    "count": WRONG_COUNT,
}


@check(
    Scope.POOL,
    UNKNOWN_LAYOUT,
    UNKNOWN_PROFILE,
    NO_ROOM,
    MEDIA_TWICE,
    NO_SUCH_GPU,
    GPU_TWICE,
    NO_DEVICES,
    WRONG_COUNT,
    UNKNOWN_GEOMETRY,
)
def layout_fits(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    said: set[tuple[FieldPath, str]] = set()
    for found, _, problems in _outcomes(ctx, pool):
        at: FieldPath = ("pools", name, "sharing", "layout")
        for problem in problems:
            code = _BY_KIND.get(problem.kind)
            text = problem.message.replace(found.name, "the type")
            if code is not None and (problem.at, text) not in said:
                said.add((problem.at, text))
                yield code.finding((*at, *problem.at), problem.message, problem.fix)


@check(Scope.POOL, SINGLE_STRATEGY)
def one_profile(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if not isinstance(pool.sharing, Mig) or pool.sharing.strategy != "single":
        return
    for found, layout in _layouts(ctx, pool):
        if layout.uniform is not None:
            continue
        profiles = list(layout.instances)
        if len(profiles) > 1:
            message = f"The layout makes {_listed(profiles)} on {found.name}; single knows one."
        else:
            whole = ", ".join(str(i) for i, gpu in enumerate(layout.gpus) if not gpu.devices)
            gpus = f"GPU {whole} stays" if layout.whole == 1 else f"GPUs {whole} stay"
            message = f"On {found.name} {gpus} whole beside {profiles[0]}; single needs all cut."
        yield SINGLE_STRATEGY.finding(
            ("pools", name, "sharing", "strategy"),
            message,
            f"Set strategy: mixed, or cut every GPU into {profiles[0]} alone.",
        )
        return


@check(Scope.POOL, UNLIKE_GPUS)
def same_meaning(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner == "managedNodeGroup":
        return  # its types have the same GPUs, or a finding of their own
    layouts = list(_layouts(ctx, pool))
    listed = isinstance(pool.sharing, Mig) and isinstance(pool.sharing.layout, tuple)
    kinds: dict[str, list[str]] = {}
    for found, layout in layouts:
        kind = layout.model.name + (f" x {len(layout.gpus)}" if listed else "")
        kinds.setdefault(kind, []).append(found.name)
    if len(kinds) > 1:
        differ = "; ".join(f"{', '.join(types)}: {kind}" for kind, types in kinds.items())
        yield UNLIKE_GPUS.finding(
            ("pools", name, "instanceTypes"),
            f"The layout means something else on each kind of GPU: {differ}.",
            "Make a pool of each kind.",
        )


@check(Scope.POOL, MIG_TOLERATION)
def mig_toleration(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    taints = [t for t in pool.taints if t.key == GPU and t.effect != "PreferNoSchedule"]
    if not taints:
        return
    asked: dict[str, None] = {}
    for found, _ in _layouts(ctx, pool):
        asked |= dict.fromkeys(
            share.resource
            for share in shares(pool, found, ctx.catalog)
            if share.resource != GPU and share.per_node
        )
    if asked:
        yield MIG_TOLERATION.finding(
            ("pools", name, "sharing", "strategy"),
            f"Pods ask for {_listed(asked)} here, for which EKS adds no toleration of the taint "
            f"{GPU}.",
            f"Give such pods tolerations: [{{key: {GPU}, operator: Exists}}].",
        )


@check(Scope.POOL, UNUSED_SLICES)
def slices_used(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if not isinstance(pool.sharing, Mig):
        return
    from eks_gpushare.sharing.mig.geometry import unused
    from eks_gpushare.sharing.mig.layout import format_layout

    for _, layout in _first_of_each_model(ctx, pool):
        model = layout.model
        for devices in _distinct(layout):
            left = unused(model, devices)
            if not left.compute_slices and not left.memory_slices:
                continue
            yield UNUSED_SLICES.finding(
                ("pools", name, "sharing", "layout"),
                f"{format_layout(devices)} leaves {_left(left, model)} of the {model.name} unused.",
                f"Add {_listed(left.addable, 'or')}, unless this is meant."
                if left.addable
                else "Nothing more fits beside these devices; keep it if they are what you need.",
            )


def _left(left: Unused, model: MigModel) -> str:
    parts = []
    if left.compute_slices:
        parts.append(f"{left.compute_slices} of {model.compute_slices} compute slices")
    if left.memory_slices:
        of_all = f"{left.memory_slices} of {model.memory_slices} memory slices"
        parts.append(f"{of_all} ({left.memory_gb} GB)")
    return " and ".join(parts)


@check(Scope.POOL, UNPROVEN_GEOMETRY)
def proven_geometry(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    for found, layout in _first_of_each_model(ctx, pool):
        model = layout.model
        if model.confidence != "verified":
            yield UNPROVEN_GEOMETRY.finding(
                ("pools", name, "sharing", "layout"),
                f"The MIG geometry of the {model.name} in {found.name} is {model.confidence}. "
                f"{' '.join(model.notes)}",
                "Compare with nvidia-smi mig -lgip and -lgipp on one node first; correct it under "
                "catalog.migProfiles.",
            )


@check(Scope.POOL, MIG_DRIVER)
def mig_driver(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    unknown_image = pool.ami_family == "custom" or pool.provisioner == "existing"
    if not isinstance(pool.sharing, Mig) or unknown_image:
        return
    for index, wanted in enumerate(pool.instance_types):
        found = ctx.catalog.find(wanted)
        model = _usable_model(ctx, found)
        if found is None or model is None or model.driver_min is None:
            continue
        ami = nvidia_ami(pool.ami_family, found.arch)
        driver = ami.driver_for(found, pool.ami_version) if ami is not None else None
        if driver is None:
            continue
        if found.driver_min is not None and driver < found.driver_min:
            continue  # the GPU itself is unknown to the driver, which has a rule of its own
        if driver < model.driver_min:
            yield MIG_DRIVER.finding(
                ("pools", name, "instanceTypes", index),
                f"MIG on the {model.name} of {wanted} needs driver {model.driver_min} or later; "
                f"the {pool.ami_family} AMI of EKS has {driver}.",
                f"Use amiFamily: custom with an AMI that has driver {model.driver_min}.",
            )


def _usable_model(ctx: Context, found: InstanceType | None) -> MigModel | None:
    if found is None or found.gpu is None or why_no_mig(found) is not None:
        return None
    return ctx.catalog.mig_model(found.gpu)


def _outcomes(
    ctx: Context, pool: Pool
) -> Iterator[tuple[InstanceType, NodeLayout | None, list[LayoutProblem]]]:
    """What the layout makes of each type of a pool; types without MIG have rules of their own."""
    if not isinstance(pool.sharing, Mig):
        return
    from eks_gpushare.sharing.mig.layout import LayoutError, node_layout

    for found, _ in ctx.gpu_types(pool):
        if why_no_mig(found) is not None:
            continue
        try:
            yield found, node_layout(pool.sharing.layout, found, ctx.catalog), []
        except LayoutError as error:
            yield found, None, error.problems


def _layouts(ctx: Context, pool: Pool) -> Iterator[tuple[InstanceType, NodeLayout]]:
    for found, layout, _ in _outcomes(ctx, pool):
        if layout is not None:
            yield found, layout


def _first_of_each_model(ctx: Context, pool: Pool) -> Iterator[tuple[InstanceType, NodeLayout]]:
    seen: set[str] = set()
    for found, layout in _layouts(ctx, pool):
        if layout.model.name not in seen:
            seen.add(layout.model.name)
            yield found, layout


def _distinct(layout: NodeLayout) -> list[dict[str, int]]:
    kinds: list[dict[str, int]] = []
    for gpu in layout.gpus:
        if gpu.devices and gpu.devices not in kinds:
            kinds.append(dict(gpu.devices))
    return kinds


def _listed(words: Iterable[str], last: str = "and") -> str:
    *most, final = words
    return f"{', '.join(most)} {last} {final}" if most else final
