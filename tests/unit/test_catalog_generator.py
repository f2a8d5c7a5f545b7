"""The generator on small packages made here, run as a user runs it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "catalog" / "generate.py"


def described(**changes: object) -> dict[str, Any]:
    """EC2's description of an instance type with one T4."""
    return {
        "BareMetal": False,
        "GpuInfo": {
            "Gpus": [
                {
                    "Count": 1,
                    "Manufacturer": "NVIDIA",
                    "MemoryInfo": {"SizeInMiB": 16384},
                    "Name": "T4",
                }
            ]
        },
        "MemoryInfo": {"SizeInMiB": 16384},
        "NetworkInfo": {
            "DefaultNetworkCardIndex": 0,
            "Ipv4AddressesPerInterface": 10,
            "MaximumNetworkCards": 1,
            "NetworkCards": [{"MaximumNetworkInterfaces": 3, "NetworkCardIndex": 0}],
        },
        "PlacementGroupInfo": {"SupportedStrategies": ["spread"]},
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
        "SupportedUsageClasses": ["spot", "on-demand"],
        "VCpuInfo": {"DefaultVCpus": 4},
    } | changes


PLAIN = {key: value for key, value in described().items() if key != "GpuInfo"}

HANDMADE: dict[str, Any] = {
    "references": {"moto": "the package", "price": "the table"},
    "gpus": {"T4": {"architecture": "turing", "compute_capability": [7, 5], "mig_capable": False}},
    "nvml": {"T4": [{"ec2_mib": 16384, "mib": 15360, "source": "driver"}]},
    "quotas": {"g": {"onDemand": "L-1", "spot": "L-2"}},
    "families": {"g4dn": {"quota": "g"}},
    "regionalPrices": {},
    "retired": {},
    "types": {},
}


@dataclass
class Packages:
    """A folder with packages to generate from; change a field, then run."""

    folder: Path
    types: dict[str, Any] = field(
        default_factory=lambda: {"g4dn.xlarge": described(), "t3.large": PLAIN}
    )
    former: dict[str, Any] = field(default_factory=dict)
    handmade: dict[str, Any] = field(default_factory=lambda: json.loads(json.dumps(HANDMADE)))
    prices: dict[str, float] = field(default_factory=lambda: {"g4dn.xlarge": 0.5})
    older: dict[str, dict[str, str]] = field(default_factory=dict)
    gov: dict[str, float] = field(default_factory=dict)

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def wheel(self, name: str, types: dict[str, Any]) -> Path:
        path = self.folder / name
        resources = "moto/ec2/resources"
        offers = [{"InstanceType": t, "Location": "usw2-az1"} for t in types]
        with zipfile.ZipFile(path, "w") as archive:
            packed = gzip.compress(json.dumps(types).encode())
            archive.writestr(f"{resources}/instance_types.json.gz", packed)
            archive.writestr(
                f"{resources}/instance_type_offerings/availability-zone-id/us-west-2.json.gz",
                gzip.compress(json.dumps(offers).encode()),
            )
        return path

    def run(self, *more: str) -> subprocess.CompletedProcess[str]:
        providers = self.folder / "karpenter" / "pkg" / "providers"
        for name in ("pricing", "instancetype"):
            (providers / name).mkdir(parents=True)
        for file, region, prices in (
            ("aws", "us-east-1", self.prices),
            ("aws_us_gov", "us-gov-west-1", self.gov),
        ):
            lines = "".join(f'\t\t"{name}": {price:f},\n' for name, price in prices.items())
            (providers / "pricing" / f"zz_generated.pricing_{file}.go").write_text(
                f'// generated at 2026-07-06T14:20:29Z\n\t"{region}": {{\n{lines}\t}},\n'
            )
        (providers / "instancetype" / "zz_generated.bandwidth.go").write_text(
            '\t\t// g4dn.2xlarge is not available in the page\n\t\t"g4dn.xlarge": 5000,\n'
        )
        rows = [
            {
                "instance_type": name,
                "pricing": {r: {"linux": {"ondemand": p}} for r, p in regions.items()},
            }
            for name, regions in self.older.items()
        ]
        (self.folder / "vantage" / "data").mkdir(parents=True)
        (self.folder / "vantage" / "data" / "instances.json").write_text(json.dumps(rows))
        facts = self.folder / "handmade.json"
        facts.write_text(json.dumps(self.handmade))
        options = {
            "--out": self.out,
            "--moto": self.wheel("now.whl", self.types),
            "--moto-retired": self.wheel("then.whl", self.former),
            "--karpenter": self.folder / "karpenter",
            "--vantage": self.folder / "vantage",
            "--handmade": facts,
        }
        command = [sys.executable, str(SCRIPT), *(str(x) for pair in options.items() for x in pair)]
        return subprocess.run([*command, *more], capture_output=True, text=True, check=False)

    def made(self) -> dict[str, Any]:
        done = self.run()
        assert done.stderr == ""
        found: dict[str, Any] = json.loads((self.out / "instances.json").read_text())
        return found

    def zones(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out / "zones.json").read_text())
        return found

    def error(self, *more: str) -> str:
        done = self.run(*more)
        assert done.returncode == 1
        assert done.stdout == ""
        return done.stderr


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    return Packages(tmp_path)


def test_a_type_gets_its_figures(packages: Packages) -> None:
    assert packages.made()["types"]["g4dn.xlarge"] == {
        "vcpus": 4,
        "memory_mib": 16384,
        "arch": "amd64",
        "gpu": "T4",
        "gpu_memory_mib": 16384,
        "gpu_count": 1,
        "api_gpu_count": 1,
        "gpu_fraction": 1,
        "eni_pods": 29,
        "interface_pods": 9,
        "efa_interfaces": 0,
        "network_cards": 1,
        "nvme_gb": 0,
        "bare_metal": False,
        "usage_classes": ["on-demand", "spot"],
        "placement": ["spread"],
        "nvml_memory_mib": 15360,
        "network_mbps": 5000,
        "prices": {"us-east-1": 0.5},
        "quota": {"onDemand": "L-1", "spot": "L-2"},
        "driver_min": None,
        "driver_max": None,
        "retired": False,
        "notes": [],
    }


@pytest.mark.parametrize(("home", "kept"), [(0.5, True), (0.4, False)])
def test_prices_copied_by_hand_are_kept_while_the_known_one_is_the_same(
    packages: Packages, home: float, kept: bool
) -> None:
    packages.handmade["regionalPrices"] = {"g4dn.xlarge": {"us-east-1": home, "eu-west-1": 0.7}}

    prices = packages.made()["types"]["g4dn.xlarge"]["prices"]

    assert prices == ({"us-east-1": 0.5, "eu-west-1": 0.7} if kept else {"us-east-1": 0.5})


def test_prices_of_govcloud_stand_beside_the_public_ones(packages: Packages) -> None:
    packages.gov = {"g4dn.xlarge": 0.6, "p5.48xlarge": 99.0}

    assert packages.made()["types"]["g4dn.xlarge"]["prices"] == {
        "us-east-1": 0.5,
        "us-gov-west-1": 0.6,
    }


def test_prices_of_types_without_a_gpu_stand_by_region(packages: Packages) -> None:
    packages.types |= {"m5.large": PLAIN, "m6.large": PLAIN}
    packages.prices = {"t3.large": 0.08, "m5.large": 0.1}
    packages.older = {
        "t3.large": {"us-east-1": "0.08", "eu-west-1": "0.09", "us-east-1-bos-1": "0.2"},
        "m5.large": {"us-east-1": "0.09", "eu-west-1": "0.11"},
    }
    packages.run()

    assert json.loads((packages.out / "other-prices.json").read_text()) == {
        "regions": ["eu-west-1", "us-east-1"],
        "types": {"m5.large": [None, 0.1], "t3.large": [0.09, 0.08]},
    }


def test_types_without_a_gpu_go_into_their_own_file(packages: Packages) -> None:
    packages.run()
    found = json.loads((packages.out / "other-types.json").read_text())

    assert found == {"t3.large": [4, 16384, "amd64", 29]}


def test_each_type_has_a_line_of_its_own(packages: Packages) -> None:
    packages.types["g4dn.2xlarge"] = described()
    packages.run()
    lines = (packages.out / "instances.json").read_text().splitlines()

    assert [line[:15] for line in lines if line.startswith('"g4dn')] == [
        '"g4dn.xlarge": ',
        '"g4dn.2xlarge":',
    ]


def test_a_fraction_of_a_gpu_counts_as_the_driver_counts_it(packages: Packages) -> None:
    part = {
        "Count": 0,
        "LogicalGpuCount": 1,
        "GpuPartitionSize": 0.125,
        "Manufacturer": "NVIDIA",
        "MemoryInfo": {"SizeInMiB": 2048},
        "Name": "T4",
    }
    packages.types["g4dn.xlarge"] = described(GpuInfo={"Gpus": [part]})
    found = packages.made()["types"]["g4dn.xlarge"]

    assert (found["gpu_count"], found["api_gpu_count"], found["gpu_fraction"]) == (1, 0, 0.125)
    assert found["nvml_memory_mib"] is None


def test_memory_of_a_board_that_nobody_measured_is_not_known(packages: Packages) -> None:
    packages.handmade["nvml"]["T4"][0]["ec2_mib"] = 32768
    made = packages.made()

    assert made["types"]["g4dn.xlarge"]["nvml_memory_mib"] is None
    assert made["sources"]["nvml_memory_mib"] == {"*": "nvml-unknown"}


def test_a_type_without_a_price_has_null(packages: Packages) -> None:
    packages.prices = {"t3.large": 0.1}

    assert packages.made()["types"]["g4dn.xlarge"]["prices"] == {"us-east-1": None}


def test_older_prices_are_kept_where_the_known_one_has_not_moved(packages: Packages) -> None:
    packages.older = {"g4dn.xlarge": {"us-east-1": "0.5", "us-west-2": "0.6"}}

    assert packages.made()["types"]["g4dn.xlarge"]["prices"] == {
        "us-east-1": 0.5,
        "us-west-2": 0.6,
    }


def test_older_prices_are_dropped_where_the_known_one_has_moved(packages: Packages) -> None:
    packages.older = {"g4dn.xlarge": {"us-east-1": "0.4", "us-west-2": "0.6"}}

    assert packages.made()["types"]["g4dn.xlarge"]["prices"] == {"us-east-1": 0.5}


def test_an_older_price_of_zero_is_no_price(packages: Packages) -> None:
    packages.older = {"g4dn.xlarge": {"us-east-1": "0.5", "us-west-2": "0"}}

    assert packages.made()["types"]["g4dn.xlarge"]["prices"] == {"us-east-1": 0.5}


def test_a_retired_type_comes_from_the_older_package(packages: Packages) -> None:
    packages.former = {"g4dn.2xlarge": described()}
    packages.handmade["retired"] = {"g4dn.2xlarge": ["gone"]}
    found = packages.made()["types"]["g4dn.2xlarge"]

    assert (found["retired"], found["notes"]) == (True, ["gone"])
    # Of the retired one nothing is known.
    assert packages.zones()["zones"] == {"us-west-2": ["usw2-az1"]}
    assert packages.zones()["offered"] == {"1": "t3.large g4dn.xlarge"}


def test_a_retired_type_that_is_back_is_an_error(packages: Packages) -> None:
    packages.handmade["retired"] = {"g4dn.xlarge": ["gone"]}

    assert packages.error() == (
        "error: g4dn.xlarge is retired in handmade.json, but EC2 describes it again\n"
    )


def test_a_gpu_without_facts_is_an_error(packages: Packages) -> None:
    packages.handmade["gpus"] = {}

    assert packages.error() == (
        "error: g4dn.xlarge: GPU 'T4' is not in handmade.json; add its facts\n"
    )


def test_a_family_without_facts_is_an_error(packages: Packages) -> None:
    packages.types["g9.xlarge"] = described()

    assert packages.error() == (
        "error: g9.xlarge: family g9 is not in handmade.json; add its quota and driver\n"
    )


def test_a_package_that_is_not_there_is_one_line(packages: Packages) -> None:
    gone = packages.folder / "gone"

    assert packages.error("--vantage", str(gone)) == (
        f"error: cannot read {gone}/data/instances.json ([Errno 2] No such file or directory: "
        f"'{gone}/data/instances.json')\n"
    )


def test_a_file_that_is_no_wheel_is_one_line(packages: Packages) -> None:
    text = packages.folder / "text.whl"
    text.write_text("no zip")

    assert packages.error("--moto", str(text)) == (
        f"error: {text} is not a moto wheel with EC2 instance types (File is not a zip file)\n"
    )


def test_a_failure_leaves_the_old_files_as_they_were(packages: Packages) -> None:
    packages.out.mkdir()
    (packages.out / "instances.json").write_text("old")
    packages.handmade["gpus"] = {}
    packages.run()

    assert [(f.name, f.read_text()) for f in packages.out.iterdir()] == [("instances.json", "old")]


def test_nothing_but_the_files_is_left_behind(packages: Packages) -> None:
    packages.run()

    assert sorted(f.name for f in packages.out.iterdir()) == [
        "instances.json",
        "other-prices.json",
        "other-types.json",
        "zones.json",
    ]


def test_without_go_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    packed = Packages(tmp_path)
    wheel = str(packed.wheel("empty.whl", {}))
    command = [sys.executable, str(SCRIPT), "--out", str(packed.out), "--moto", wheel]
    done = subprocess.run(
        [*command, "--moto-retired", wheel], capture_output=True, text=True, check=False
    )

    assert done.stderr == (
        "error: no `go` on PATH to download github.com/aws/karpenter-provider-aws; "
        "install Go, or give a folder with --karpenter FOLDER\n"
    )


def test_a_failed_download_is_one_line_that_names_the_way_out(tmp_path: Path) -> None:
    options = ["--out", str(tmp_path / "out"), "--cache", str(tmp_path / "cache")]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *options],
        capture_output=True,
        text=True,
        check=False,
        env={"PIP_NO_INDEX": "1", "PATH": "/nowhere"},
    )

    assert done.returncode == 1
    assert done.stderr.startswith(f"error: could not download moto {version('moto')} (")
    assert done.stderr.endswith("; or give it with --moto FILE\n")
    assert done.stderr.count("\n") == 1
