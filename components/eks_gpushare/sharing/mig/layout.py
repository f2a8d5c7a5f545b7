"""What a layout of the stack file means for the GPUs of one node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.catalog.mig import ALL_DISABLED, why_no_mig
from eks_gpushare.sharing.mig.geometry import large_first, meant_profile, nearest, place, why_not

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.catalog import Catalog, InstanceType
    from eks_gpushare.catalog.mig import MigModel
    from eks_gpushare.config.sharing import Layout, MigGroup
    from eks_gpushare.sharing.mig.geometry import Placement

ALL_ENABLED = "all-enabled"
"""mig-parted's name for MIG switched on and nothing made: a node without any GPU to ask for."""
_HASH_DIGITS = 10
_MOST_NAMES = 12


class LayoutProblem(NamedTuple):
    """One thing that is wrong with a layout."""

    at: tuple[str | int, ...]
    """Where, from the key `layout` down."""
    kind: str
    """noMig, unknownGpu, name, profile, fit, group, count, gpu, twice or empty."""
    message: str
    """What was given and what is allowed."""
    fix: str
    """The change that removes it."""


class LayoutError(ValueError):
    """A layout that the GPUs of a node cannot have."""

    def __init__(self, problems: Sequence[LayoutProblem]) -> None:
        super().__init__(" ".join(f"{problem.message} {problem.fix}" for problem in problems))
        self.problems = list(problems)


@dataclass(frozen=True, slots=True)
class GpuLayout:
    """One GPU of a node."""

    devices: Mapping[str, int]
    """MIG instances by profile, large ones first; none if the GPU stays whole."""
    placements: tuple[Placement, ...]
    """Where the instances lie, in the order to create them."""


_WHOLE = GpuLayout({}, ())


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """All GPUs of a node."""

    model: MigModel
    """What they are."""
    gpus: tuple[GpuLayout, ...]
    """One per GPU, by its index."""

    @property
    def instances(self) -> Mapping[str, int]:
        """MIG instances on the node by profile, large ones first."""
        counts: dict[str, int] = {}
        for gpu in self.gpus:
            for name, count in gpu.devices.items():
                counts[name] = counts.get(name, 0) + count
        return large_first(self.model, counts)

    @property
    def whole(self) -> int:
        """GPUs that stay whole."""
        return sum(not gpu.devices for gpu in self.gpus)

    @property
    def uniform(self) -> str | None:
        """The profile of all instances if there is only one and no GPU stays whole."""
        names = list(self.instances)
        return names[0] if len(names) == 1 and not self.whole else None

    @property
    def layout_hash(self) -> str:
        """A short name fit for a label, the same for the same instances in the same places."""
        import hashlib

        parts = [self.model.name]
        parts += [
            ",".join(f"{at.profile}:{at.start}" for at in gpu.placements) for gpu in self.gpus
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:_HASH_DIGITS]


def node_layout(layout: Layout, instance_type: InstanceType, catalog: Catalog) -> NodeLayout:
    """What a layout makes of the GPUs of an instance type.

    Args:
        layout: A name, devices per GPU, or a list of `{gpus, devices}`.
        instance_type: Type of the node.
        catalog: Where the GPU's geometry and the named layouts are looked up.

    Raises:
        LayoutError: The GPUs cannot have it, with everything that is wrong.
    """
    model = catalog.mig_model(instance_type.gpu) if instance_type.gpu else None
    if model is None or why_no_mig(instance_type):
        raise LayoutError([_no_mig(instance_type)])
    if isinstance(layout, str):
        devices = layout_named(layout, model, catalog.mig_layouts(model))
        problems = _named_problems(layout, devices, model)
        per_gpu = [devices] * instance_type.gpu_count
    elif isinstance(layout, dict):
        problems = list(_device_problems((), layout, model))
        per_gpu = [layout] * instance_type.gpu_count
    else:
        problems = list(_group_problems(layout, instance_type, model))
        per_gpu = [] if problems else _by_index(layout, instance_type.gpu_count)
    if problems:
        raise LayoutError(problems)
    return NodeLayout(model, tuple(_gpu(model, devices) for devices in per_gpu))


def layout_named(
    name: str, model: MigModel, layouts: Mapping[str, Mapping[str, int]]
) -> Mapping[str, int]:
    """The devices per GPU of a named layout.

    Args:
        name: The name.
        model: The GPU.
        layouts: All named layouts of the GPU.

    Raises:
        LayoutError: No layout has the name, or it makes no device.
    """
    devices = layouts.get(name)
    if not devices:
        raise LayoutError([_wrong_name(name, model, layouts)])
    return devices


def _gpu(model: MigModel, devices: Mapping[str, int]) -> GpuLayout:
    placements = place(model, devices)
    if placements is None:  # not reached: problems have been looked for
        raise ValueError(why_not(model, devices))
    return GpuLayout(large_first(model, devices), placements) if devices else _WHOLE


def _by_index(groups: Sequence[MigGroup], count: int) -> list[Mapping[str, int]]:
    per_gpu: list[Mapping[str, int]] = [{} for _ in range(count)]
    for group in groups:
        for index in group.gpus:
            per_gpu[index] = group.devices
    return per_gpu


def _no_mig(instance_type: InstanceType) -> LayoutProblem:
    why = why_no_mig(instance_type)
    gpu = instance_type.gpu
    if why is not None or gpu is None:
        fix = "Use exclusive, timeSlicing or mps, or another instance type."
        return LayoutProblem((), "noMig", why or "", fix)
    memory = f" of {gpu.memory_mib} MiB" if gpu.memory_mib else ""
    return LayoutProblem(
        (),
        "unknownGpu",
        f"The MIG profiles of the {gpu.model}{memory} in {instance_type.name} are not known.",
        f"Add them under catalog.migProfiles, under the name {gpu.model}.",
    )


def _wrong_name(
    name: str, model: MigModel, layouts: Mapping[str, Mapping[str, int]]
) -> LayoutProblem:
    if name == ALL_DISABLED:
        message = f"{name} leaves every GPU whole, so there would be no MIG."
        return LayoutProblem((), "empty", message, "Use mode: exclusive for whole GPUs.")
    if name == ALL_ENABLED:
        message = f"{name} switches MIG on and makes no device, so a node would have no GPU."
        return LayoutProblem((), "empty", message, "Name the devices, or use mode: exclusive.")
    known = [item for item, devices in layouts.items() if devices]
    meant = meant_layout(name, model, layouts)
    guess = f"Did you mean {meant}? " if meant else ""
    listed = ", ".join(known[:_MOST_NAMES])
    return LayoutProblem(
        (),
        "name",
        f'"{name}" is not a layout of the {model.name}; there are {listed}.',
        f"{guess}Name one of them, or give the devices per GPU.",
    )


def meant_layout(
    name: str, model: MigModel, layouts: Mapping[str, Mapping[str, int]]
) -> str | None:
    """The layout of the profile that was meant, also by a bare profile, or one spelt alike."""
    bare = name.removeprefix("all-")
    for spelling in (bare, bare.replace(".me", "+me").replace(".gfx", "+gfx")):
        profile = spelling if spelling in model.profiles else meant_profile(model, spelling)
        meant = f"all-{profile.replace('+', '.')}" if profile else ""
        if meant in layouts:
            return meant
    from difflib import get_close_matches

    near = get_close_matches(
        name, [layout for layout in layouts if layouts[layout]], n=1, cutoff=0.75
    )
    return near[0] if near else None


def _named_problems(name: str, devices: Mapping[str, int], model: MigModel) -> list[LayoutProblem]:
    """What is wrong with the devices of a layout that the stack file's catalog added."""
    problem = next(_device_problems((), devices, model), None)
    if problem is None:
        return []
    return [problem._replace(at=(), message=f"{name}: {problem.message}")]


def _device_problems(
    at: tuple[str | int, ...], devices: Mapping[str, int], model: MigModel
) -> Iterator[LayoutProblem]:
    if not devices:
        message = "No device is named."
        fix = "Name profiles and how many of each, such as {PROFILE: 2}."
        example = next(iter(model.profiles))
        yield LayoutProblem(at, "empty", message, fix.replace("PROFILE", example))
        return
    wrong = False
    for name, count in devices.items():
        if name not in model.profiles:
            wrong = True
            yield _wrong_profile((*at, name), name, model)
        elif count <= 0:
            wrong = True
            message = f"{count} is not a number of devices; a GPU has 1 or more of a profile."
            yield LayoutProblem((*at, name), "count", message, f"Give 1 or more, or remove {name}.")
    if not wrong and place(model, devices) is None:
        yield _does_not_fit(at, devices, model)


def _wrong_profile(at: tuple[str | int, ...], name: str, model: MigModel) -> LayoutProblem:
    meant = meant_profile(model, name)
    fix = f"Write {meant}." if meant else "Use one of the profiles of this GPU."
    return LayoutProblem(at, "profile", why_not(model, {name: 1}), fix)


def _does_not_fit(
    at: tuple[str | int, ...], devices: Mapping[str, int], model: MigModel
) -> LayoutProblem:
    kind = "group" if _shares_group(devices, model) else "fit"
    instead = "; ".join(format_layout(each) for each in nearest(model, devices))
    return LayoutProblem(at, kind, why_not(model, devices), f"The nearest that fit: {instead}.")


def _shares_group(devices: Mapping[str, int], model: MigModel) -> bool:
    """Whether two of the devices are of a group of which a GPU has one."""
    counts: dict[str, int] = {}
    for name, count in devices.items():
        group = model.profiles[name].exclusive_group
        if group is not None:
            counts[group] = counts.get(group, 0) + count
    return any(count > 1 for count in counts.values())


def format_layout(devices: Mapping[str, int]) -> str:
    """Devices as they stand in a stack file: `{3g.20gb: 1, 1g.5gb: 2}`."""
    return "{" + ", ".join(f"{name}: {count}" for name, count in devices.items()) + "}"


def _group_problems(
    groups: Sequence[MigGroup], instance_type: InstanceType, model: MigModel
) -> Iterator[LayoutProblem]:
    if not groups:
        message = "The list is empty, so every GPU would stay whole."
        yield LayoutProblem((), "empty", message, "List {gpus, devices}, or use mode: exclusive.")
    count = instance_type.gpu_count
    seen: dict[int, int] = {}
    for number, group in enumerate(groups):
        at = (number, "gpus")
        if not group.gpus:
            message = "No GPU is named."
            yield LayoutProblem(at, "empty", message, "Give GPU indexes, or remove this entry.")
        for place_in_list, index in enumerate(group.gpus):
            here = (*at, place_in_list)
            if not 0 <= index < count:
                message = f"{instance_type.name} has no GPU {index}; it has {_indexes(count)}."
                fix = f"Use indexes from 0 to {count - 1}." if count > 1 else "Use 0."
                yield LayoutProblem(here, "gpu", message, fix)
            elif index in seen:
                where = "this list twice" if seen[index] == number else f"entry {seen[index]} too"
                message = f"GPU {index} stands in {where}; a GPU has one layout."
                yield LayoutProblem(here, "twice", message, "Remove one of the two.")
            seen.setdefault(index, number)
        yield from _group_devices(number, group, model)


def _group_devices(number: int, group: MigGroup, model: MigModel) -> Iterator[LayoutProblem]:
    if group.devices:
        yield from _device_problems((number, "devices"), group.devices, model)
        return
    message = "No device is named for these GPUs."
    fix = "Name the devices, or leave the GPUs out of the list: then they stay whole."
    yield LayoutProblem((number, "devices"), "empty", message, fix)


def _indexes(count: int) -> str:
    return f"GPUs 0 to {count - 1}" if count > 1 else "GPU 0"
