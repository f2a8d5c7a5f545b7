"""Instance types that a stack file adds to the catalog or corrects in it; with them, its MIG."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import Catalog, Gpu, InstanceType, mig_models
from eks_gpushare.catalog.instances import gpu_instance_types
from eks_gpushare.config.mig_additions import own_layouts, own_mig_models
from eks_gpushare.findings.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.config.environment import CatalogAdditions, CatalogGpu, CatalogInstanceType
    from eks_gpushare.findings.finding import Finding

INCOMPLETE_TYPE = Rule(
    "GPU108",
    "error",
    "An added instance type has all the figures that planning needs.",
    "Shares, costs and limits would be computed from guesses.",
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypes.html",
)
_SOURCE = "the stack file's own catalog"
_DEFAULT_CAPABILITY = (7, 5)


def catalog_of(additions: CatalogAdditions, region: str | None) -> tuple[Catalog, list[Finding]]:
    """The catalog with the stack file's own entries on top.

    Args:
        additions: The `catalog` block.
        region: AWS region that a given price is for.

    Returns:
        The catalog and what is wrong with the entries; a wrong entry is left out.
    """
    known, overrides, found = Catalog(), {}, []
    for name, entry in additions.instance_types.items():
        base = known.find(name)
        missing = _missing(entry, base)
        wrong = _impossible(entry)
        at = ("catalog", "instanceTypes", name)
        if missing:
            message = f"{name} is not in the catalog, so {', '.join(missing)} must be given."
            without = base is None and entry.gpu is None
            more = ", and gpu unless the type is for system nodes" if without else ""
            fix = f"Add them, as ec2 describe-instance-types shows them{more}."
            found.append(INCOMPLETE_TYPE.finding(at, message, fix))
        elif wrong:
            found.append(INCOMPLETE_TYPE.finding((*at, *wrong[0]), wrong[1], "Correct it."))
        else:
            overrides[name] = _merged(name, entry, base, region, additions.mig_profiles)
    mig_models = own_mig_models(additions.mig_profiles, found)
    layouts = own_layouts(additions.mig_layouts, found)
    return Catalog(overrides, mig_models, layouts), found


def _missing(entry: CatalogInstanceType, base: InstanceType | None) -> list[str]:
    """What has to be given of a type; one without a GPU is for system nodes."""
    wanted: dict[str, object] = {}
    if base is None:
        wanted = {"vcpus": entry.vcpus, "memoryMiB": entry.memory_mib, "arch": entry.arch}
    gpu = entry.gpu
    if gpu is not None and (base is None or base.gpu is None):
        wanted |= {
            "gpu.model": gpu.model,
            "gpu.count": gpu.count,
            "gpu.memoryMiB": gpu.memory_mib,
            "gpu.computeCapability": gpu.compute_capability,
        }
    return [key for key, value in wanted.items() if value is None]


def _impossible(entry: CatalogInstanceType) -> tuple[tuple[str, ...], str] | None:
    numbers: dict[tuple[str, ...], float | None] = {
        ("vcpus",): entry.vcpus,
        ("memoryMiB",): entry.memory_mib,
        ("maxPods",): entry.max_pods,
        ("priceUsdPerHour",): entry.price_usd_per_hour,
        ("spotUsdPerHour",): entry.spot_usd_per_hour,
    }
    if entry.gpu is not None:
        numbers |= {("gpu", "count"): entry.gpu.count, ("gpu", "memoryMiB"): entry.gpu.memory_mib}
        given = entry.gpu.compute_capability
        if given is not None and _capability(given) is None:
            return ("gpu", "computeCapability"), f'"{given}" is not a capability such as "8.9".'
    for at, number in numbers.items():
        if number is not None and number <= 0:
            return at, f"{number} is not more than 0."
    return None


def _merged(
    name: str,
    entry: CatalogInstanceType,
    base: InstanceType | None,
    region: str | None,
    own_mig: Iterable[str],
) -> InstanceType:
    known = base or InstanceType(name=name, vcpus=0, memory_mib=0, arch="amd64")
    changes: dict[str, Any] = {
        "vcpus": entry.vcpus,
        "memory_mib": entry.memory_mib,
        "arch": entry.arch,
        "max_pods": entry.max_pods,
    }
    if entry.gpu is not None:
        changes["gpu"] = _gpu(entry.gpu, known.gpu, own_mig)
        changes["gpu_count"] = entry.gpu.count
        changes["api_gpu_count"] = entry.gpu.count
    if entry.price_usd_per_hour is not None and region is not None:
        changes["prices"] = {**known.prices, region: entry.price_usd_per_hour}
    if entry.spot_usd_per_hour is not None and region is not None:
        changes["spot_prices"] = {region: entry.spot_usd_per_hour}
    if entry.zone_ids is not None and region is not None:
        changes["zones"] = {**known.zones, region: entry.zone_ids}
    given = {key: value for key, value in changes.items() if value is not None}
    return replace(known, **given, sources={**known.sources, **dict.fromkeys(given, _SOURCE)})


def _gpu(entry: CatalogGpu, base: Gpu | None, own_mig: Iterable[str]) -> Gpu:
    capability = entry.compute_capability and _capability(entry.compute_capability)
    return Gpu(
        model=entry.model or (base.model if base else ""),
        memory_mib=entry.memory_mib or (base.memory_mib if base else None),
        memory_estimated=bool(base and base.memory_estimated and not entry.memory_mib),
        ec2_memory_mib=base.ec2_memory_mib if base else None,
        architecture=base.architecture if base and not entry.model else "",
        compute_capability=capability or (base.compute_capability if base else _DEFAULT_CAPABILITY),
        mig_capable=_has_mig(entry, base, own_mig) if entry.mig is None else entry.mig,
    )


def _has_mig(entry: CatalogGpu, base: Gpu | None, own_mig: Iterable[str]) -> bool:
    """Whether the GPU has MIG, where the entry does not say: as others of its model do."""
    model = entry.model or (base.model if base else "")
    if base is not None and base.model == model:
        return base.mig_capable
    if model in own_mig or model in mig_models():
        return True
    known = (found.gpu for found in gpu_instance_types().values())
    return any(gpu is not None and gpu.model == model and gpu.mig_capable for gpu in known)


def _capability(text: str) -> tuple[int, int] | None:
    matched = re.fullmatch(r"([0-9]{1,3})\.([0-9]{1,3})", text)
    return (int(matched[1]), int(matched[2])) if matched else None
