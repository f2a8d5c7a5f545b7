"""Making the two tables of the catalog out of what the packages and the hand-made facts say."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packages import GenerateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from readers import Moto

_HOME = "us-east-1"
_REGION = re.compile(r"[a-z]{2}(-gov)?-[a-z]+-\d+")
"""A region of the price table, and no local or wavelength zone."""
_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}

# What describes the machine itself; the rest of a row is price, place and hand-made facts.
HARDWARE = (
    "vcpus",
    "memory_mib",
    "arch",
    "gpu",
    "gpu_memory_mib",
    "gpu_count",
    "api_gpu_count",
    "gpu_fraction",
    "eni_pods",
    "interface_pods",
    "efa_interfaces",
    "network_cards",
    "nvme_gb",
    "bare_metal",
    "usage_classes",
    "placement",
)


@dataclass(frozen=True, slots=True)
class Public:
    """What the public packages say.

    Attributes:
        current: EC2's answers as of today.
        former: EC2's answers from when retired types were still sold.
        prices: USD per hour by region by type, recent; of few regions, us-east-1 among them.
        bandwidth: baseline Mbit/s by type.
        older_prices: USD per hour by region by type, of an earlier date.
        later_prices: the same of types whose price has moved since, copied by hand.

    """

    current: Moto
    former: Moto
    prices: Mapping[str, Mapping[str, float]]
    bandwidth: Mapping[str, int]
    older_prices: Mapping[str, Mapping[str, float]]
    later_prices: Mapping[str, Mapping[str, float]]


def gpu_table(handmade: Mapping[str, Any], public: Public) -> dict[str, Any]:
    """Instances.json as a dictionary: references, sources by field, GPUs, types."""
    rows: dict[str, dict[str, Any]] = {}
    sources: dict[str, dict[str, str]] = {}
    for name, description in _described(handmade, public).items():
        family = name.partition(".")[0]
        facts = handmade["families"].get(family)
        if facts is None:
            message = f"{name}: family {family} is not in handmade.json; add its quota and driver"
            raise GenerateError(message)
        by_hand = handmade["types"].get(name, {})
        retired = handmade["retired"].get(name)
        row = dict(by_hand["record"]) if by_hand else hardware(name, description)
        if row["gpu"] not in handmade["gpus"]:
            message = f"{name}: GPU {row['gpu']!r} is not in handmade.json; add its facts"
            raise GenerateError(message)
        row["nvml_memory_mib"], nvml_source = _nvml(handmade, row)
        row["network_mbps"] = public.bandwidth.get(name)
        row["prices"], price_source = _prices(name, public)
        row["quota"] = handmade["quotas"][facts["quota"]]
        row["driver_min"] = facts.get("driver_min")
        row["driver_max"] = facts.get("driver_max")
        row["retired"] = retired is not None
        row["notes"] = [*(retired or ()), *facts.get("notes", ()), *by_hand.get("notes", ())]
        rows[name] = row

        machine = "moto" if retired is None else "moto-retired"
        has_limit = row["driver_min"] is not None or row["driver_max"] is not None
        sources[name] = dict.fromkeys(HARDWARE, machine) | {
            "gpu_facts": "gpu",
            "nvml_memory_mib": nvml_source,
            "network_mbps": "bandwidth" if name in public.bandwidth else "unknown",
            "prices": price_source,
            "zones": "moto-zones" if retired is None else "offered-nowhere",
            "quota": "quota" if "spot" in row["quota"] else "quota-p6-spot",
            "driver": "driver-ami" if has_limit else "driver-none",
            "retired": "offered" if retired is None else "offered-nowhere",
        }
        if by_hand:
            given = by_hand["sources"]
            sources[name] |= dict.fromkeys((*HARDWARE, "retired"), given["other"])
            sources[name] |= {field: key for field, key in given.items() if field != "other"}
    return {
        "references": handmade["references"],
        "sources": _fold(sources),
        "gpus": handmade["gpus"],
        "types": {name: rows[name] for name in sorted(rows, key=by_size)},
    }


def other_table(current: Moto) -> dict[str, list[Any]]:
    """Other-types.json: [vCPUs, memory MiB, architecture, pods by the ENI rule] by name.

    Types with an NVIDIA GPU are in the other table. Macs are left out: EKS has no nodes of them.
    """
    rows: dict[str, list[Any]] = {}
    for name, description in current.types.items():
        arch = _architecture(description)
        if arch is None or _nvidia(description) is not None:
            continue
        vcpus = description["VCpuInfo"]["DefaultVCpus"]
        memory = description["MemoryInfo"]["SizeInMiB"]
        rows[name] = [vcpus, memory, arch, eni_pods(description)]
    return {name: rows[name] for name in sorted(rows, key=by_size)}


def other_prices(public: Public) -> dict[str, Any]:
    """Other-prices.json: the regions, and by type its USD per hour in each of them, in their order.

    Of the types in the other table; null is unknown. Types of which no price is known are left out.
    """
    types = other_table(public.current)
    known = {name: found for name in types if (found := price_by_region(name, public))}
    regions = sorted({region for found in known.values() for region in found})
    return {
        "regions": regions,
        "types": {name: [found.get(r) for r in regions] for name, found in known.items()},
    }


def zones(names: Iterable[str], current: Moto) -> dict[str, Any]:
    """Zones.json: zone ids by region, and a number whose bits are zones for the types.

    The lowest bit is the first zone of the first region. A type that is offered nowhere is left
    out: nothing is known of where it is.
    """
    by_region: dict[str, set[str]] = {}
    for regions in current.zones.values():
        for region, offered_in in regions.items():
            by_region.setdefault(region, set()).update(offered_in)
    regions = {region: sorted(known) for region, known in sorted(by_region.items())}
    places = [(region, zone) for region, known in regions.items() for zone in known]
    offered: dict[str, str] = {}
    for name in names:
        here = current.zones.get(name, {})
        bits = sum(
            1 << at for at, (region, zone) in enumerate(places) if zone in here.get(region, ())
        )
        if bits:
            alike = offered.get(f"{bits:x}")
            offered[f"{bits:x}"] = f"{alike} {name}" if alike else name
    return {"zones": regions, "offered": offered}


def hardware(name: str, description: Mapping[str, Any]) -> dict[str, Any]:
    """The HARDWARE fields of a type with NVIDIA GPUs from EC2's description of it."""
    gpu = _nvidia(description)
    arch = _architecture(description)
    if gpu is None or arch is None:
        message = f"{name}: not a Linux instance type with an NVIDIA GPU"
        raise GenerateError(message)
    network = description["NetworkInfo"]
    return {
        "vcpus": description["VCpuInfo"]["DefaultVCpus"],
        "memory_mib": description["MemoryInfo"]["SizeInMiB"],
        "arch": arch,
        "gpu": gpu["Name"],
        "gpu_memory_mib": gpu["MemoryInfo"]["SizeInMiB"],
        # Fractional GPUs have a Count of 0; their logical count is what the driver shows.
        "gpu_count": int(gpu.get("LogicalGpuCount", gpu["Count"])),
        "api_gpu_count": gpu["Count"],
        "gpu_fraction": gpu.get("GpuPartitionSize", 1),
        "eni_pods": eni_pods(description),
        "interface_pods": network["Ipv4AddressesPerInterface"] - 1,
        "efa_interfaces": network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
        "network_cards": network["MaximumNetworkCards"],
        "nvme_gb": description.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
        "bare_metal": description["BareMetal"],
        "usage_classes": sorted(description["SupportedUsageClasses"]),
        "placement": sorted(description["PlacementGroupInfo"]["SupportedStrategies"]),
    }


def eni_pods(description: Mapping[str, Any]) -> int:
    """Interfaces * (addresses each - 1) + 2, without prefix delegation and without a cap.

    Only the default network card counts: the VPC CNI attaches its interfaces there, so that
    p4d.24xlarge has 15 * 49 + 2 pods and not four times as many.
    """
    network = description["NetworkInfo"]
    default = network["DefaultNetworkCardIndex"]
    cards = {card["NetworkCardIndex"]: card for card in network["NetworkCards"]}
    interfaces = cards[default]["MaximumNetworkInterfaces"]
    return int(interfaces * (network["Ipv4AddressesPerInterface"] - 1) + 2)


def by_size(name: str) -> tuple[str, int, str]:
    """Order types as people do: by family, then large, xlarge, 2xlarge, ..., metal."""
    family, _, size = name.partition(".")
    multiple = re.match(r"(\d+)xlarge", size)
    small = ("nano", "micro", "small", "medium", "large", "xlarge")
    if multiple:
        rank = 10 * int(multiple[1])
    elif size in small:
        rank = small.index(size)
    else:
        rank = 10_000
    return (family, rank, size)


def render_gpu(table: Mapping[str, Any]) -> str:
    """Instances.json: one line for each reference, field, GPU and type."""
    blocks = [
        f'"{key}": {{\n{_lines(table[key].items())}\n}}'
        for key in ("references", "sources", "gpus", "types")
    ]
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def render_other(table: Mapping[str, list[Any]]) -> str:
    """Other-types.json: one line for each type."""
    return "{\n" + _lines(table.items()) + "\n}\n"


def render_prices(table: Mapping[str, Any]) -> str:
    """Other-prices.json: the regions in one line, then one line for each type."""
    regions = json.dumps(table["regions"], separators=(",", ":"))
    return f'{{\n"regions": {regions},\n"types": {{\n{_lines(table["types"].items())}\n}}\n}}\n'


def render_zones(table: Mapping[str, Any]) -> str:
    """Zones.json: one line for each region, and for types of the same zones."""
    blocks = [f'"{key}": {{\n{_lines(value.items())}\n}}' for key, value in table.items()]
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def _lines(items: Iterable[tuple[str, Any]]) -> str:
    return ",\n".join(f'"{k}": {json.dumps(v, separators=(",", ":"))}' for k, v in items)


def _described(handmade: Mapping[str, Any], public: Public) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {
        name: description
        for name, description in public.current.types.items()
        if _nvidia(description) is not None and _architecture(description) is not None
    }
    for name in handmade["retired"]:
        if name in found:
            message = f"{name} is retired in handmade.json, but EC2 describes it again"
            raise GenerateError(message)
        if name not in public.former.types:
            message = f"{name} is retired in handmade.json, but the older moto lacks it too"
            raise GenerateError(message)
        found[name] = public.former.types[name]
    for name in handmade["types"]:
        if name in found:
            message = f"{name} is made by hand in handmade.json, but EC2 describes it now"
            raise GenerateError(message)
        found[name] = {}
    return found


def _nvml(handmade: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[int | None, str]:
    """Memory of one GPU in MiB as the driver reports it, and the key of its source.

    EC2 calls boards of different memory the same, so its own figure tells which one is meant; a
    part of a GPU is none of them.
    """
    for each in handmade["nvml"].get(row["gpu"], ()):
        if each["ec2_mib"] == row["gpu_memory_mib"] and row["gpu_fraction"] == 1:
            return each["mib"], each["source"]
    return None, "nvml-unknown"


def _prices(name: str, public: Public) -> tuple[dict[str, float | None], str]:
    """Prices by region and the key of their source; the unknown one of us-east-1 is None."""
    found: dict[str, float | None] = {_HOME: None, **price_by_region(name, public)}
    if found[_HOME] is None:
        return found, "price-none"
    if name in public.later_prices:
        return found, "price-later"
    return found, "price-regions" if len(found) > 1 else "price"


def price_by_region(name: str, public: Public) -> dict[str, float]:
    """USD per hour of a type in every region that the packages tell it of.

    Another table is believed only where its us-east-1 price is that of the recent one.
    """
    found = dict(public.prices.get(name, {}))
    for table in (public.later_prices, public.older_prices):
        other = table.get(name, {})
        if _HOME in found and other.get(_HOME) == found[_HOME]:
            found = {r: other[r] for r in other if _REGION.fullmatch(r)} | found
    return {region: found[region] for region in sorted(found, key=lambda r: (r != _HOME, r))}


def _fold(sources: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Turn source keys by type and field into, by field, the commonest key and its exceptions."""
    folded: dict[str, dict[str, str]] = {}
    names = sorted(sources, key=by_size)
    for field in sources[names[0]]:
        keys = [sources[name][field] for name in names]
        usual = max(sorted(set(keys)), key=keys.count)
        exceptions = {n: sources[n][field] for n in names if sources[n][field] != usual}
        folded[field] = {"*": usual} | exceptions
    return folded


def _nvidia(description: Mapping[str, Any]) -> Mapping[str, Any] | None:
    gpus = description.get("GpuInfo", {}).get("Gpus", [])
    return next((gpu for gpu in gpus if gpu["Manufacturer"] == "NVIDIA"), None)


def _architecture(description: Mapping[str, Any]) -> str | None:
    supported = description["ProcessorInfo"]["SupportedArchitectures"]
    return next((arch for api, arch in _ARCHITECTURES.items() if api in supported), None)
