"""What MIG makes of each GPU model: its profiles, and where on the GPU an instance may lie.

The figures are in data/mig.json, each model with its sources and how sure they are. Names of
profiles hold the memory that the driver reports, rounded, so they differ from board to board
(`1g.10gb` is a seventh of an H100 and a slice with double memory of an A100 with 40 GB) and may
change with a driver; a stack file can add models and profiles under `catalog.migProfiles`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from eks_gpushare.catalog._data import load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog.instances import Gpu, InstanceType

Confidence = Literal["verified", "inferred", "preliminary"]

ALL_DISABLED = "all-disabled"
"""The named layout that leaves every GPU whole."""

# NVIDIA/mig-parted v0.15.0, pkg/mig/builder/balanced.go, by compute slices of the GPU: how many
# instances of which compute size all-balanced has. There is none for GPUs of two slices.
_BALANCED: dict[int, dict[int, int]] = {7: {1: 2, 2: 1, 3: 1}, 4: {1: 2, 2: 1}}

# awslabs/amazon-eks-ami (commit 81fec2e8): NVreg_CoherentGPUMemoryMode=driver on these.
_ULTRASERVERS = "p6e-gb"

# EC2 gives 183359 MiB for the GPU that NVIDIA sells as 180 GB; the nearest other board of one
# EC2 name, the H100 of 94 beside 96 GB, is two hundredths away and nearest wins.
_MEMORY_TOLERANCE = 0.08


@dataclass(frozen=True, slots=True)
class Profile:
    """One kind of MIG instance of one GPU model.

    Attributes:
        name: NVIDIA's name, such as "1g.5gb" or "1g.5gb+me".
        compute_slices: compute slices that an instance takes.
        memory_slices: memory slices that an instance takes, beginning at one of `starts`.
        memory_gb: its memory in GB as in the name.
        max_count: most instances on one GPU.
        starts: memory slices at which an instance may begin.
        attributes: what follows the sizes in the name: "me", "me.all", "gfx" or "-me".
        exclusive_group: of all profiles with the same group, a GPU has one instance at most.
        smi_id: number of the profile for `nvidia-smi mig -cgi`; None if not published.
        multiprocessors: streaming multiprocessors of an instance; None if not published.
        memory_mib: its memory in MiB as the driver reports it; None if not published.
        engines: media engines that it takes, by name; empty if not published.

    """

    name: str
    compute_slices: int
    memory_slices: int
    memory_gb: int
    max_count: int
    starts: tuple[int, ...]
    attributes: tuple[str, ...] = ()
    exclusive_group: str | None = None
    smi_id: int | None = None
    multiprocessors: int | None = None
    memory_mib: int | None = None
    engines: Mapping[str, int] = field(default_factory=dict, hash=False)


# Compared by identity: two boards never share profiles, and the geometry engine keeps what it
# worked out per board.
@dataclass(frozen=True, slots=True, eq=False)
class MigModel:
    """A GPU model as MIG sees it.

    Attributes:
        name: such as "A100-40GB".
        compute_slices: compute slices of the GPU.
        memory_slices: memory slices of the GPU; on RTX PRO 6000 twelve, which instances take by
            three, six or twelve.
        memory_gb: memory of the GPU in GB.
        profiles: its profiles by name, the small ones first.
        gpus: EC2's names of GPUs that may be this model, told apart by memory.
        device_ids: PCI device ids of the boards, such as "0x20B0"; empty if that of EC2's is not
            known.
        product: a part of the name that nvidia-smi shows and that no other model's name has.
        driver_min: oldest NVIDIA driver branch with MIG for it; None if unknown.
        engines: media engines of the GPU, by name; empty if instances do not compete for them.
        confidence: "verified" if published or seen on hardware, "inferred" if placements are
            those of a sister board, "preliminary" if sources disagree or placements are unknown.
        notes: what is not sure about it, one sentence each.
        source: where the figures come from.

    """

    name: str
    compute_slices: int
    memory_slices: int
    memory_gb: int
    profiles: Mapping[str, Profile]
    gpus: tuple[str, ...] = ()
    device_ids: tuple[str, ...] = ()
    product: str = ""
    driver_min: int | None = None
    engines: Mapping[str, int] = field(default_factory=dict)
    confidence: Confidence = "preliminary"
    notes: tuple[str, ...] = ()
    source: str = ""


@cache
def mig_models() -> Mapping[str, MigModel]:
    """Every GPU model with MIG that the catalog knows, by name."""
    table = load("mig.json")
    sources = table["sources"]
    return MappingProxyType(
        {name: _model(name, row, sources) for name, row in table["models"].items()}
    )


def mig_model(gpu: Gpu) -> MigModel | None:
    """The model of EC2's `gpu`, None if it has no MIG or its geometry is not known.

    EC2 calls boards of different memory the same; the model of the nearest memory is taken. A
    model's own name, such as "H100-94GB", is understood too, for types that a stack file adds.
    """
    if not gpu.mig_capable:
        return None
    named = mig_models().get(gpu.model)
    if named is not None:
        return named
    found = [model for model in mig_models().values() if gpu.model in model.gpus]
    if gpu.memory_mib is None:
        return found[0] if len(found) == 1 else None
    wanted = gpu.memory_mib / 1024
    near = [m for m in found if abs(m.memory_gb - wanted) <= _MEMORY_TOLERANCE * m.memory_gb]
    return min(near, key=lambda model: abs(model.memory_gb - wanted), default=None)


def why_no_mig(instance: InstanceType) -> str | None:
    """Why nodes of `instance` cannot use MIG, None if they can."""
    gpu = instance.gpu
    if gpu is None:
        return f"{instance.name} has no NVIDIA GPU."
    if not gpu.mig_capable:
        return f"The {gpu.model} in {instance.name} has no MIG."
    if instance.family.startswith(_ULTRASERVERS):
        return (
            f"MIG is not available on {instance.name}: the EKS AMI loads the driver in coherent "
            "memory mode, which excludes it."
        )
    return None


def named_layouts(model: MigModel) -> Mapping[str, Mapping[str, int]]:
    """The devices per GPU of every layout that NVIDIA's tools know by name.

    The names are those that mig-parted 0.14 and the GPU Operator 26.3 derive from the hardware
    (`+` of a profile becomes `.`), with the counts of this model. The lists they shipped before
    have the same names and the same counts, but for boards to which they do not fit.
    """
    layouts: dict[str, Mapping[str, int]] = {ALL_DISABLED: {}}
    for profile in model.profiles.values():
        layouts[f"all-{profile.name.replace('+', '.')}"] = {profile.name: profile.max_count}
    balanced = _balanced(model)
    if balanced:
        layouts["all-balanced"] = balanced
    return layouts


def _balanced(model: MigModel) -> dict[str, int] | None:
    """Instances of each compute size, of those with the least memory and no attributes."""
    formula = _BALANCED.get(model.compute_slices)
    if formula is None:
        return None
    found: dict[str, int] = {}
    for compute, count in formula.items():
        plain = [
            profile
            for profile in model.profiles.values()
            if profile.compute_slices == compute and not profile.attributes
        ]
        if not plain:
            return None
        found[min(plain, key=lambda profile: profile.memory_slices).name] = count
    return found


def _model(name: str, row: Mapping[str, Any], sources: Mapping[str, str]) -> MigModel:
    return MigModel(
        name=name,
        compute_slices=row["compute_slices"],
        memory_slices=row["memory_slices"],
        memory_gb=row["memory_gb"],
        profiles=MappingProxyType({n: _profile(n, p) for n, p in row["profiles"].items()}),
        gpus=tuple(row["gpus"]),
        device_ids=tuple(row["device_ids"]),
        product=row["product"],
        driver_min=row["driver_min"],
        engines=MappingProxyType(row.get("engines", {})),
        confidence=row["confidence"],
        notes=tuple(row["notes"]),
        source="; ".join(sources[key] for key in row["sources"]),
    )


def _profile(name: str, row: Mapping[str, Any]) -> Profile:
    return Profile(
        name=name,
        compute_slices=row["compute_slices"],
        memory_slices=row["memory_slices"],
        memory_gb=row["memory_gb"],
        max_count=row["max_count"],
        starts=tuple(row["starts"]),
        attributes=tuple(row.get("attributes", ())),
        exclusive_group=row.get("exclusive_group"),
        smi_id=row.get("smi_id"),
        multiprocessors=row.get("multiprocessors"),
        memory_mib=row.get("memory_mib"),
        engines=MappingProxyType(row.get("engines", {})),
    )
