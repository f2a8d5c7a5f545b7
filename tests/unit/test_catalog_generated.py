"""The committed tables against the public package they were made from, read a second way.

The package is the moto that other tests run. The generator itself takes wheels: it is tried where
it has left them, or in the folder that EKS_GPUSHARE_CATALOG_CACHE names, and skipped elsewhere.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.catalog import gpu_instance_types, other_instance_type
from eks_gpushare.catalog.instances import other_instance_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.catalog import InstanceType

ROOT = Path(__file__).parents[2]
DATA = ROOT / "components" / "eks_gpushare" / "catalog" / "data"
CACHE = Path(
    os.environ.get("EKS_GPUSHARE_CATALOG_CACHE")
    or Path(tempfile.gettempdir()) / "eks-gpushare-catalog"
)
WHEEL = f"moto-{version('moto')}-py3-none-any.whl"
HOW = (
    "moto's wheel is not here: run `python tools/catalog/generate.py --out FOLDER` once, or set "
    f"EKS_GPUSHARE_CATALOG_CACHE to a folder with {WHEEL}"
)

NAMES = ("instances.json", "other-types.json", "other-prices.json", "zones.json")

# Absent from the newest moto: three retired types, and one that EC2 describes to few.
NOT_IN_MOTO = {"p3.2xlarge", "p3.8xlarge", "p3.16xlarge", "p6e-gb200.36xlarge"}


def gpu(raw: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = raw["GpuInfo"]["Gpus"][0]
    return found


def pods(raw: dict[str, Any]) -> int:
    network = raw["NetworkInfo"]
    card = network["NetworkCards"][network["DefaultNetworkCardIndex"]]
    addresses: int = network["Ipv4AddressesPerInterface"] - 1
    interfaces: int = card["MaximumNetworkInterfaces"]
    return addresses * interfaces + 2


SIZE: dict[str, tuple[Callable[[InstanceType], object], Callable[[dict[str, Any]], object]]] = {
    "vcpus": (lambda t: t.vcpus, lambda raw: raw["VCpuInfo"]["DefaultVCpus"]),
    "memory_mib": (lambda t: t.memory_mib, lambda raw: raw["MemoryInfo"]["SizeInMiB"]),
    "arch": (
        lambda t: {"amd64": "x86_64"}.get(t.arch, t.arch),
        lambda raw: raw["ProcessorInfo"]["SupportedArchitectures"][-1],
    ),
    "eni_pods": (lambda t: t.eni_pods, pods),
}

FIELDS = SIZE | {
    "interface_pods": (
        lambda t: t.interface_pods,
        lambda raw: raw["NetworkInfo"]["Ipv4AddressesPerInterface"] - 1,
    ),
    "gpu.model": (lambda t: t.gpu and t.gpu.model, lambda raw: gpu(raw)["Name"]),
    "gpu.ec2_memory_mib": (
        lambda t: t.gpu and t.gpu.ec2_memory_mib,
        lambda raw: gpu(raw)["MemoryInfo"]["SizeInMiB"],
    ),
    # A fraction's memory is its own; elsewhere the sum over all GPUs must come out.
    "total GPU memory": (
        lambda t: t.gpu and t.gpu.ec2_memory_mib and t.gpu.ec2_memory_mib * t.gpu_count,
        lambda raw: raw["GpuInfo"]["TotalGpuMemoryInMiB"],
    ),
    "api_gpu_count": (lambda t: t.api_gpu_count, lambda raw: gpu(raw)["Count"]),
    "gpu_fraction": (lambda t: t.gpu_fraction, lambda raw: gpu(raw).get("GpuPartitionSize", 1)),
    "efa_interfaces": (
        lambda t: t.efa_interfaces,
        lambda raw: raw["NetworkInfo"].get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
    ),
    "network_cards": (
        lambda t: t.network_cards,
        lambda raw: len(raw["NetworkInfo"]["NetworkCards"]),
    ),
    "nvme_gb": (
        lambda t: t.nvme_gb,
        lambda raw: raw.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
    ),
    "bare_metal": (lambda t: t.bare_metal, lambda raw: raw["BareMetal"]),
    "usage_classes": (
        lambda t: sorted(t.usage_classes),
        lambda raw: sorted(raw["SupportedUsageClasses"]),
    ),
    "placement": (
        lambda t: sorted(t.placement),
        lambda raw: sorted(raw["PlacementGroupInfo"]["SupportedStrategies"]),
    ),
}


@pytest.fixture(scope="module")
def wheel() -> Path:
    found = CACHE / WHEEL
    if not found.is_file():
        pytest.skip(HOW)
    return found


@pytest.fixture(scope="module")
def resources() -> Path:
    spec = find_spec("moto")
    assert spec
    assert spec.origin
    return Path(spec.origin).parent / "ec2" / "resources"


@pytest.fixture(scope="module")
def described(resources: Path) -> dict[str, dict[str, Any]]:
    packed = (resources / "instance_types.json.gz").read_bytes()
    found: dict[str, dict[str, Any]] = json.loads(gzip.decompress(packed))
    return found


def has_nvidia(raw: dict[str, Any]) -> bool:
    return any(g["Manufacturer"] == "NVIDIA" for g in raw.get("GpuInfo", {}).get("Gpus", []))


def test_the_gpu_table_has_every_type_that_ec2_describes(
    described: dict[str, dict[str, Any]],
) -> None:
    names = {name for name, raw in described.items() if has_nvidia(raw)}

    assert set(gpu_instance_types()) == names | NOT_IN_MOTO


def test_the_gpu_table_says_what_ec2_says(described: dict[str, dict[str, Any]]) -> None:
    differences = [
        f"{name}: {field} is {ours(found)!r} here and {theirs(described[name])!r} in EC2"
        for name, found in gpu_instance_types().items()
        if name not in NOT_IN_MOTO
        for field, (ours, theirs) in FIELDS.items()
        if ours(found) != theirs(described[name])
    ]

    assert differences == []


def test_the_other_table_says_what_ec2_says(described: dict[str, dict[str, Any]]) -> None:
    differences = []
    for name, raw in described.items():
        if has_nvidia(raw) or name.startswith("mac"):
            continue
        found = other_instance_type(name)
        if found is None:
            differences.append(f"{name} is missing here")
            continue
        differences += [
            f"{name}: {field} is {ours(found)!r} here and {theirs(raw)!r} in EC2"
            for field, (ours, theirs) in SIZE.items()
            if ours(found) != theirs(raw)
        ]

    assert differences == []


def test_the_other_table_has_no_type_that_ec2_lacks(described: dict[str, dict[str, Any]]) -> None:
    names = json.loads((DATA / "other-types.json").read_text(encoding="utf-8"))

    assert set(names) - set(described) == set()


def every_type() -> dict[str, InstanceType]:
    others = {name: other_instance_type(name) for name in other_instance_names()}
    return {**gpu_instance_types(), **{name: found for name, found in others.items() if found}}


def test_zones_are_those_that_ec2_offers(resources: Path) -> None:
    folder = resources / "instance_type_offerings" / "availability-zone-id"
    offered: dict[str, dict[str, list[str]]] = {}
    for file in folder.iterdir():
        region = file.name.split(".")[0]
        for offer in json.loads(gzip.decompress(file.read_bytes())):
            zones = offered.setdefault(offer["InstanceType"], {})
            zones.setdefault(region, []).append(offer["Location"])
    differences = [
        f"{name}: offered in {theirs} by EC2, in {ours} here"
        for name, found in every_type().items()
        if (theirs := {r: sorted(z) for r, z in offered.get(name, {}).items()})
        != (ours := {r: list(z) for r, z in found.zones.items()})
    ]

    assert differences == []


@pytest.mark.slow
def test_the_generator_makes_the_committed_files(wheel: Path, tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("the price tables are Go modules, and there is no `go` on PATH")
    script = ROOT / "tools" / "catalog" / "generate.py"
    done = subprocess.run(
        [sys.executable, script, "--out", tmp_path, "--cache", wheel.parent],
        capture_output=True,
        text=True,
        check=False,
        # Only what is there already: a test fetches nothing.
        env=os.environ | {"GOPROXY": "off", "PIP_NO_INDEX": "1"},
    )
    if done.returncode != 0 and "could not download" in done.stderr:
        pytest.skip(f"not everything is here ({done.stderr.strip()})")
    made = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    committed = {file.name: file.read_text(encoding="utf-8") for file in DATA.glob("*.json")}

    assert made == {name: committed[name] for name in NAMES}
