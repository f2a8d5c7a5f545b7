"""Versions, support dates and quotas."""

from __future__ import annotations

import dataclasses
import re
from datetime import date
from pathlib import Path

import pytest

from eks_gpushare.catalog import (
    addon_versions,
    ami_release,
    bucket,
    eks_versions,
    gpu_instance_types,
    other_instance_type,
    support,
    versions,
)
from eks_gpushare.stack_file.file import read_stack_file

ROOT = Path(__file__).parents[2]
SUPPORTED = ["1.33", "1.34", "1.35", "1.36"]
ADDONS = {
    "amazon-cloudwatch-observability",
    "aws-ebs-csi-driver",
    "coredns",
    "eks-node-monitoring-agent",
    "eks-pod-identity-agent",
    "kube-proxy",
    "vpc-cni",
}


@pytest.mark.parametrize(
    ("version", "today", "expected"),
    [
        ("1.36", date(2026, 11, 21), "standard"),
        ("1.35", date(2026, 11, 21), "standard"),
        ("1.34", date(2026, 11, 21), "standard"),
        ("1.33", date(2026, 11, 21), "extended"),
        ("1.32", date(2026, 11, 21), "extended"),
        ("1.31", date(2026, 11, 21), "extended"),
        ("1.30", date(2026, 11, 21), "ended"),
        ("1.37", date(2026, 11, 21), "unknown"),
        ("1.3", date(2026, 11, 21), "unknown"),
        # Extended support is charged from the start of the day on which standard support ends.
        ("1.34", date(2026, 12, 1), "standard"),
        ("1.34", date(2026, 12, 2), "extended"),
        ("1.31", date(2026, 11, 25), "extended"),
        ("1.31", date(2026, 11, 26), "ended"),
    ],
)
def test_support_depends_on_the_day(version: str, today: date, expected: str) -> None:
    assert support(version, today) == expected


def test_a_version_has_14_months_of_standard_and_12_of_extended_support() -> None:
    odd = []
    for known in eks_versions().values():
        assert known.released
        assert known.standard_until
        assert known.extended_until
        standard, extended = known.standard_until, known.extended_until
        months = (standard.year - known.released.year) * 12 + standard.month - known.released.month
        if months != 14 or extended != standard.replace(year=standard.year + 1):
            odd.append(known.version)

    assert odd == []


def test_versions_come_oldest_first() -> None:
    assert list(eks_versions()) == ["1.30", "1.31", "1.32", *SUPPORTED]


@pytest.mark.parametrize("version", SUPPORTED)
def test_each_version_has_all_addons(version: str) -> None:
    assert set(addon_versions(version)) == ADDONS


@pytest.mark.parametrize("version", SUPPORTED)
def test_addon_versions_have_the_form_of_eks(version: str) -> None:
    for addon in addon_versions(version).values():
        assert re.fullmatch(r"v\d+\.\d+\.\d+-eksbuild\.\d+", addon.version)


@pytest.mark.parametrize("version", SUPPORTED)
def test_every_addon_version_says_where_it_was_seen_and_when(version: str) -> None:
    for addon in addon_versions(version).values():
        assert addon.source
        assert addon.read.year == 2026


@pytest.mark.parametrize("version", SUPPORTED)
def test_kube_proxy_has_the_minor_version_of_its_cluster(version: str) -> None:
    assert addon_versions(version)["kube-proxy"].version.startswith(f"v{version}.")


def test_a_version_without_addons_leaves_them_to_eks() -> None:
    assert addon_versions("1.37") == {}


@pytest.mark.parametrize("version", SUPPORTED)
def test_the_al2023_release_is_a_patch_version_and_a_date(version: str) -> None:
    release = ami_release("al2023", version)

    assert release
    assert re.fullmatch(re.escape(version) + r"\.\d+-2026\d{4}", release)


def test_the_bottlerocket_release_is_an_os_version_and_a_commit() -> None:
    release = ami_release("bottlerocket", "1.35")

    assert release
    assert re.fullmatch(r"1\.\d+\.\d+-[0-9a-f]{8}", release)


@pytest.mark.parametrize("family", ["al2023", "bottlerocket"])
def test_no_release_is_known_for_an_unknown_version(family: str) -> None:
    assert ami_release(family, "1.37") is None


CHARTS = [value for value in vars(versions).values() if isinstance(value, versions.HelmChart)]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_charts_have_versions_without_ranges(chart: versions.HelmChart) -> None:
    assert re.fullmatch(r"v?\d+\.\d+\.\d+", chart.version)


@pytest.mark.parametrize(
    "file",
    sorted((ROOT / "stacks").glob("*.yaml")) + sorted((ROOT / "examples").rglob("Pulumi.*.yaml")),
    ids=lambda file: file.stem,
)
def test_a_stack_that_pins_a_chart_pins_the_one_of_the_catalog(file: Path) -> None:
    environment = read_stack_file(file).environment
    pinned = {
        "devicePlugin": versions.DEVICE_PLUGIN,
        "gpuOperator": versions.GPU_OPERATOR,
        "efaDevicePlugin": versions.EFA_DEVICE_PLUGIN,
        "keda": versions.KEDA,
    }
    given = environment.get("charts", {}) if isinstance(environment, dict) else {}
    for key, chart in given.items():
        if key in pinned and "version" in chart:
            wanted = pinned[key].version

            assert chart["version"] == wanted, (
                f"{file.relative_to(ROOT)} pins charts.{key}.version: write {wanted} there, the "
                "version of catalog/versions.py"
            )


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("", "tree/v1.2.3"),
        ("#mig_strategy", "tree/v1.2.3#mig_strategy"),
        ("api/config/v1", "tree/v1.2.3/api/config/v1"),
        ("api/config/v1/replicas.go", "blob/v1.2.3/api/config/v1/replicas.go"),
        ("README.md#mig", "blob/v1.2.3/README.md#mig"),
    ],
)
def test_sources_are_linked_at_the_version_that_is_installed(
    path: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "DEVICE_PLUGIN", versions.DEVICE_PLUGIN._replace(version="1.2.3"))
    monkeypatch.setattr(versions, "GPU_OPERATOR", versions.GPU_OPERATOR._replace(version="v1.2.3"))
    monkeypatch.setattr(versions, "MIG_PARTED", "v1.2.3")

    github = "https://github.com/NVIDIA"
    assert versions.device_plugin_source(path) == f"{github}/k8s-device-plugin/{address}"
    assert versions.gpu_operator_source(path) == f"{github}/gpu-operator/{address}"
    assert versions.mig_parted_source(path) == f"{github}/mig-parted/{address}"


PINNED_LINK = re.compile(
    r"github\.com/NVIDIA/(?:k8s-device-plugin|gpu-operator|mig-parted)/\w+/v\d"
)


def test_no_module_pins_a_link_to_nvidias_sources_by_itself() -> None:
    found = [
        file.relative_to(ROOT / folder).as_posix()
        for folder in ("components", "policies")
        for file in sorted((ROOT / folder).rglob("*.py"))
        if PINNED_LINK.search(file.read_text(encoding="utf-8"))
    ]

    assert found == [], "use device_plugin_source(...) and the like of catalog/versions.py"


@pytest.mark.parametrize(
    ("name", "capacity", "code"),
    [
        ("g5.xlarge", "onDemand", "L-DB2E81BA"),
        ("g5.xlarge", "spot", "L-3819A6DF"),
        ("g5.xlarge", "reserved", "L-DB2E81BA"),
        ("p3.8xlarge", "onDemand", "L-417A185B"),
        ("p3.8xlarge", "spot", "L-7212CCBC"),
        ("p4d.24xlarge", "spot", "L-7212CCBC"),
        ("p5.48xlarge", "spot", "L-C4BD4855"),
        ("p6-b200.48xlarge", "onDemand", "L-417A185B"),
    ],
)
def test_gpu_nodes_count_on_the_quota_that_aws_lists(name: str, capacity: str, code: str) -> None:
    found = bucket(gpu_instance_types()[name], capacity)  # type: ignore[arg-type]  # from a table

    assert found is not None
    assert found.code == code
    assert found.name != code


def test_capacity_blocks_use_no_vcpu_quota() -> None:
    assert bucket(gpu_instance_types()["p5.48xlarge"], "capacityBlock") is None


def test_no_spot_quota_is_known_for_p6() -> None:
    assert bucket(gpu_instance_types()["p6-b200.48xlarge"], "spot") is None


@pytest.mark.parametrize(
    ("name", "standard"),
    [
        *(("t3.large", True), ("m7i-flex.large", True), ("im4gn.large", True), ("z1d.large", True)),
        *(("inf2.xlarge", False), ("trn1.2xlarge", False), ("hpc7g.4xlarge", False)),
        *(("x2gd.medium", False), ("u7i-6tb.112xlarge", False)),
    ],
)
def test_standard_families_share_one_quota(name: str, standard: bool) -> None:
    found = other_instance_type(name)
    assert found is not None

    quota = bucket(found, "onDemand")

    assert (quota.code if quota else None) == ("L-1216C47A" if standard else None)


def test_a_stacks_own_quota_code_is_kept() -> None:
    own = dataclasses.replace(gpu_instance_types()["g5.xlarge"], quota={"onDemand": "L-00000000"})
    found = bucket(own, "onDemand")

    assert found is not None
    assert found.code == "L-00000000"
