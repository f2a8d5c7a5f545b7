"""Reading the packages: EC2 descriptions and zones from moto, prices from two price tables."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from packages import GenerateError

_TYPES = "moto/ec2/resources/instance_types.json.gz"
_OFFERINGS = "moto/ec2/resources/instance_type_offerings/availability-zone-id"
_KARPENTER = "pkg/providers/pricing/zz_generated.pricing_aws.go"
_KARPENTER_GOV = "pkg/providers/pricing/zz_generated.pricing_aws_us_gov.go"
_BANDWIDTH = "pkg/providers/instancetype/zz_generated.bandwidth.go"
_VANTAGE = "data/instances.json"

_PRICE = re.compile(r'"([a-z0-9-]+\.[a-z0-9-]+)": ([0-9.]+)')
_REGION_BLOCK = re.compile(r'^\t"([a-z0-9-]+)": \{\n(.*?)\n\t\},', re.MULTILINE | re.DOTALL)
_MEGABITS = re.compile(r'^\s*"([a-z0-9-]+\.[a-z0-9-]+)":\s*([0-9]+),', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Moto:
    """One moto wheel's copy of two EC2 answers.

    Attributes:
        types: DescribeInstanceTypes, by instance type, as EC2 answers it.
        zones: DescribeInstanceTypeOfferings: zone ids by region by instance type.
        regions: every region the wheel has offerings of.

    """

    types: dict[str, dict[str, Any]]
    zones: dict[str, dict[str, list[str]]]
    regions: frozenset[str]


def read_moto(wheel: Path) -> Moto:
    """Read a moto wheel without importing it."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            types = json.loads(gzip.decompress(archive.read(_TYPES)))
            zones: dict[str, dict[str, list[str]]] = {}
            regions = set()
            for member in sorted(archive.namelist()):
                if not member.startswith(f"{_OFFERINGS}/"):
                    continue
                region = PurePosixPath(member).name.removesuffix(".json.gz")
                regions.add(region)
                for offer in json.loads(gzip.decompress(archive.read(member))):
                    by_region = zones.setdefault(offer["InstanceType"], {})
                    by_region.setdefault(region, []).append(offer["Location"])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        message = f"{wheel} is not a moto wheel with EC2 instance types ({error})"
        raise GenerateError(message) from None
    return Moto(types=types, zones=zones, regions=frozenset(regions))


def read_karpenter_prices(module: Path) -> dict[str, dict[str, float]]:
    """Read Linux on-demand prices in USD per hour by region by type.

    The table of the public partition knows us-east-1 only, that of GovCloud its two regions. The
    one of China is left out: its prices are in yuan.
    """
    found: dict[str, dict[str, float]] = {}
    for file in (_KARPENTER, _KARPENTER_GOV):
        text = _read(module / file)
        for region, block in _REGION_BLOCK.findall(text):
            for name, price in _PRICE.findall(block):
                if float(price) > 0:
                    found.setdefault(name, {})[region] = float(price)
    if not any("us-east-1" in prices for prices in found.values()):
        message = f"{module / _KARPENTER} has no us-east-1 prices in the form this script knows"
        raise GenerateError(message)
    return found


def read_karpenter_bandwidth(module: Path) -> dict[str, int]:
    """Read the baseline network bandwidth in Mbit/s; types with vague figures are absent."""
    text = _read(module / _BANDWIDTH)
    return {name: int(megabits) for name, megabits in _MEGABITS.findall(text)}


def read_vantage_prices(module: Path) -> dict[str, dict[str, float]]:
    """Read USD per hour by region by instance type, as they were on 2025-05-28."""
    try:
        rows = json.loads(_read(module / _VANTAGE))
        return {row["instance_type"]: _on_demand(row["pricing"]) for row in rows}
    except (ValueError, KeyError, TypeError) as error:
        message = f"{module / _VANTAGE} does not have the form this script knows ({error!r})"
        raise GenerateError(message) from None


def _on_demand(pricing: dict[str, Any]) -> dict[str, float]:
    found = {}
    for region, systems in pricing.items():
        # A missing price is an absent key in some rows and "0" or "N/A" in others.
        text = str(systems.get("linux", {}).get("ondemand", ""))
        if re.fullmatch(r"[0-9.]+", text) and float(text) > 0:
            found[region] = float(text)
    return found


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot read {file} ({error})"
        raise GenerateError(message) from None
