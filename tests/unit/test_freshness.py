"""What was read some time ago is told with its age; nothing is left out of the list."""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from finding_examples import TODAY, findings, fixes

from eks_gpushare.catalog import versions
from eks_gpushare.catalog.ages import ages
from eks_gpushare.cli import main
from eks_gpushare.rules.freshness import CHART_DAYS, IMAGE_DAYS, PRICES_DAYS

CATALOG = Path(versions.__file__).parent
KARPENTER = {
    "pools": {
        "gpu": {
            "provisioner": "karpenter",
            "nodes": {"min": None, "desired": None, "max": 4},
            "capacityType": "spot",
        }
    }
}
SCALED: dict[str, Any] = {
    "keda": {
        "prometheus": {"url": "http://prometheus.monitoring.svc:9090", "exporter": "existing"}
    },
    "workloads": {
        "model": {
            "pool": "gpu",
            "image": "registry.example.com/model:1.0.0",
            "replicas": {"min": 1, "max": 2},
            "useQuery": "avg(model_use)",
        }
    },
}
CHARTS = (versions.DEVICE_PLUGIN, versions.DCGM_EXPORTER, versions.KARPENTER)
WITHOUT_TABLE = {
    "arns.py",  # forms, which do not age
    "cidrs.py",
    "foreign_keys.py",  # reads data/*-keys.json
    "iam_karpenter_actions.py",  # part of iam_actions
    "resource_ids.py",
}


def image(day: date) -> dict[str, Any]:
    return {"pools": {"gpu": {"amiVersion": f"1.35.8-{day:%Y%m%d}"}}}


def test_an_image_is_told_once_it_is_older_than_is_said() -> None:
    last = TODAY - timedelta(days=IMAGE_DAYS)

    assert findings(image(last), "GPU473") == []
    assert findings(image(last - timedelta(days=1)), "GPU473") == [
        ("pools.gpu.amiVersion", f"The image is of 2026-05-24, {IMAGE_DAYS + 1} days ago.")
    ]


def told(fragment: dict[str, Any], today: date) -> list[str]:
    return [path for path, _ in findings(fragment, "GPU473", today=today)]


@pytest.mark.parametrize(
    ("fragment", "chart", "key"),
    [
        ({}, versions.DEVICE_PLUGIN, "devicePlugin"),
        ({"gpuStack": {"manager": "gpuOperator"}}, versions.GPU_OPERATOR, "gpuOperator"),
        ({"gpuStack": {"dcgmExporter": True}}, versions.DCGM_EXPORTER, "dcgmExporter"),
        ({"karpenter": {}}, versions.KARPENTER, "karpenter"),
        ({"clusterAutoscaler": {}}, versions.CLUSTER_AUTOSCALER, "clusterAutoscaler"),
        (SCALED, versions.KEDA, "keda"),
    ],
)
def test_a_chart_is_told_where_the_stack_leaves_its_version_to_this_package(
    fragment: dict[str, Any], chart: versions.HelmChart, key: str
) -> None:
    last = chart.read + timedelta(days=CHART_DAYS)
    given = {**fragment, "charts": {key: {"version": chart.version}}}

    def named(fragment: dict[str, Any], today: date) -> bool:
        found = findings(fragment, "GPU473", today=today)
        return any(f" {chart.name} {chart.version}" in said for _, said in found)

    assert not named(fragment, last)
    assert named(fragment, last + timedelta(days=1))
    assert not named(given, last + timedelta(days=1))


def test_old_charts_are_told_once_for_all() -> None:
    fragment = {"karpenter": {}, "gpuStack": {"dcgmExporter": True}}
    last = versions.DEVICE_PLUGIN.read + timedelta(days=2 * CHART_DAYS)

    found = [said for path, said in findings(fragment, "GPU473", today=last) if path == "charts"]

    assert found == [
        f"Newest on {versions.DEVICE_PLUGIN.read}, {2 * CHART_DAYS} days ago, or soon after: "
        + ", ".join(f"{chart.name} {chart.version}" for chart in CHARTS)
        + "."
    ]


def test_prices_are_told_once_they_are_a_year_old() -> None:
    last = versions.PRICES_READ + timedelta(days=PRICES_DAYS)

    assert "pools" not in told({}, last)
    assert "pools" in told({}, last + timedelta(days=1))
    assert "pools" not in told({"pools": None}, last + timedelta(days=1))


@pytest.mark.parametrize("release", ["1.35.8-20261399", "1.35.8", "1.65.0-0be31b34", "latest"])
def test_what_names_no_day_has_no_age(release: str) -> None:
    assert findings({"pools": {"gpu": {"amiVersion": release}}}, "GPU473") == []


def test_nothing_is_old_on_the_day_of_the_examples() -> None:
    assert findings({"karpenter": {}, "keda": {}, "clusterAutoscaler": {}}, "GPU473") == []


def test_the_role_of_spot_instances_is_told_once() -> None:
    pools = dict.fromkeys(("gpu", "spare"), KARPENTER["pools"]["gpu"])
    extra = {"instanceTypes": ["g5.xlarge"], "sharing": {"mode": "exclusive"}}
    fragment = {"pools": {"gpu": pools["gpu"], "spare": {**extra, **pools["spare"]}}}

    ((path, message),) = findings(fragment, "GPU474")

    assert path == "pools.gpu"
    assert message.startswith("Karpenter takes spot instances for gpu, spare, and EC2's role")
    assert "create-service-linked-role" in fixes(fragment, "GPU474")[0]
    assert findings({"pools": {"gpu": {"capacityType": "spot"}}}, "GPU474") == []  # EKS makes it


def test_every_table_and_pin_is_in_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["findings", "--ages", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["ages"]
    files = {each["value"] for each in listed if each["kind"] == "table"}
    with_dates = {
        file.name: {date.fromisoformat(day) for day in re.findall(r"20\d\d-\d\d-\d\d", text)}
        for file in CATALOG.glob("*.py")
        if re.search(r"[Rr]ead (on )?20\d\d", text := file.read_text(encoding="utf-8"))
    }

    assert {f"data/{file.name}" for file in CATALOG.glob("data/*.json")} <= files
    assert with_dates.keys() - WITHOUT_TABLE <= files | {"versions.py"}
    assert all((CATALOG / file).is_file() for file in files)
    of_modules = {each.value: each.read for each in ages() if each.value in with_dates}
    assert {name: day in with_dates[name] for name, day in of_modules.items()} == dict.fromkeys(
        of_modules, True
    )
    pins = {name for name, each in vars(versions).items() if isinstance(each, versions.HelmChart)}
    assert len(pins) == len(versions.CHARTS)
    assert [each["read"] for each in listed] == sorted(each["read"] for each in listed)
    assert all(each["source"] and each["name"] for each in listed)


def test_ages_are_printed_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["findings", "--ages"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert len(lines) == len(ages())
    assert all(re.match(r"20\d\d-\d\d-\d\d +\d+ days  ", line) for line in lines)


def test_ages_are_of_all_and_of_no_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["findings", "GPU473", "--ages"]) == 2
    told = capsys.readouterr()

    assert told == ("", "eks-gpushare: --ages lists all that was read, and takes no CODE\n")
