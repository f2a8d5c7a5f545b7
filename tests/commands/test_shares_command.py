"""`eks-gpushare shares`: of stacks, of types, as JSON, and what it refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run

STACK = "stacks/Pulumi.multi-tenant.yaml"


def test_every_pool_of_a_stack_and_what_it_declares(run: Run) -> None:
    ran = run("shares", STACK, "--gpu-memory", "2.5GiB", "--json")

    told = [
        (each["pool"], each["mode"], each["declaredReplicas"], each["replicas"])
        for each in ran.json["pools"]
    ]
    assert told == [
        ("whole", "exclusive", 1, 8),
        ("notebooks", "timeSlicing", 8, 8),
        ("inference", "mps", 4, 8),
        ("tenants", "mig", 1, 1),
    ]
    assert ran.code == 0


def test_one_pool_that_declares_too_many(run: Run) -> None:
    ran = run("shares", STACK, "--pool", "notebooks", "--gpu-memory", "3GiB")

    assert ran.code == 1
    assert ran.out.splitlines()[0] == "notebooks: g6.4xlarge, 1 x L4, timeSlicing"
    assert ran.out.splitlines()[-1] == "  The stack declares 8: too many."


def test_what_a_pod_costs_is_the_nodes_price_over_its_pods(run: Run) -> None:
    ran = run("shares", "g6.12xlarge", "--gpu-memory", "3GiB", "--region", "us-west-2", "--json")

    assert [each["pool"] for each in ran.json["pools"]] == ["timeSlicing", "mps"]
    for each in ran.json["pools"]:
        assert each["podsPerNode"] == 24
        assert each["usdPerPodHour"] == pytest.approx(4.6016 / 24)
        assert each["declaredReplicas"] is None


@pytest.mark.parametrize(
    ("memory", "layout"),
    [("4GiB", "all-1g.5gb"), ("4.5GiB", "all-1g.10gb"), ("15GiB", "all-3g.20gb"), ("39GiB", None)],
)
def test_the_smallest_device_that_holds_a_pod(run: Run, memory: str, layout: str | None) -> None:
    ran = run("shares", "p4d.24xlarge", "--gpu-memory", memory)

    found = [line for line in ran.out.splitlines() if line.startswith("mig: ")]
    assert found == ([f"mig: p4d.24xlarge, 8 x A100, layout {layout}"] if layout else [])


def test_devices_with_room_for_several_pods_take_turns(run: Run) -> None:
    ran = run("shares", "p4d.24xlarge", "--gpu-memory", "1GiB")

    assert "  sharing: {mode: mig, layout: all-1g.5gb, timeSlicing: {replicas: 4}}" in ran.out
    assert ran.code == 0


def test_without_gpu_memory_that_is_said(run: Run) -> None:
    ran = run("shares", "g6.xlarge", "--cpu", "500m")

    assert ran.out.count("GPU memory was not given, and mostly is what runs out first") == 2
    assert ran.code == 0


def test_no_room_is_an_exit_code(run: Run) -> None:
    ran = run("shares", "g6.xlarge", "--cpu", "4")

    assert ran.out.count("  No pod for each GPU fits: CPU is not enough.") == 2
    assert ran.code == 1


def test_room_for_one_is_a_whole_gpu(run: Run) -> None:
    ran = run("shares", "g6.xlarge", "--gpu-memory", "20GiB")

    assert ran.out.splitlines()[-1] == "  sharing: {mode: exclusive}"


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["g6.xlarge"], "say what a pod takes, such as --gpu-memory 3GiB", 2),
        (["t3.large", "--cpu", "1"], "t3.large has no NVIDIA GPU", 2),
        (["g6.xlarge", "--cpu", "1", "--pool", "gpu"], "--pool is one of a stack", 2),
        ([STACK, "--cpu", "1", "--region", "us-east-1"], "a stack has its own", 2),
        ([STACK, "--cpu", "1", "--pool", "gpu"], "its pools: whole, notebooks, inference", 2),
        (["g6.2xlrge", "--cpu", "1"], "Did you mean g6.2xlarge?", 2),
        (["nothing.yaml", "--cpu", "1"], "nothing.yaml", 2),
        (["g6.xlarge", "--cpu", "x"], "'x' is no amount above 0, such as 500m", 2),
        (
            ["g6.xlarge", "--gpu-memory", "5"],
            "'5' is less than a MiB; give a unit, as in 3GiB",
            2,
        ),
        (["g6.xlarge", "--gpu-memory", "0"], "'0' is no amount above 0, such as 3GiB", 2),
        (["g6.xlarge", "--gpu-use", "101"], "'101' is more than 100 percent", 2),
        (["g6.xlarge", "--cpu", "1", "--headroom", "100"], "would leave nothing for pods", 2),
    ],
)
def test_what_is_refused(run: Run, words: list[str], said: str, code: int) -> None:
    ran = run("shares", *words)

    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "defect" not in ran.err


def test_a_stack_with_errors_is_checked_first(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.broken.yaml"
    file.write_text(json.dumps({"config": {"eks-gpushare:environment": {}}}), encoding="utf-8")
    ran = run("shares", str(file), "--cpu", "1")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == run("check", "--quiet", str(file)).out


def test_no_headroom_is_all_of_it(run: Run) -> None:
    words = ("shares", "g6.xlarge", "--gpu-memory", "11517MiB", "--headroom")

    assert run(*words, "0", "--json").json["pools"][0]["replicas"] == 2
    assert run(*words, "1", "--json").json["pools"][0]["replicas"] == 1


def test_a_region_of_which_no_price_is_known_is_said(run: Run) -> None:
    words = ("shares", "g5.xlarge", "--gpu-memory", "3GiB", "--region")

    assert "  What a node costs in eu-north-9 is not known." in run(*words, "eu-north-9").out
    assert "not known" not in run(*words, "us-west-2").out


def test_what_is_no_region_is_refused(run: Run) -> None:
    ran = run("shares", "g5.xlarge", "--gpu-memory", "3GiB", "--region", "mars-1")

    assert ran.code == 2
    assert "'mars-1' is no region: write it as us-west-2" in ran.err


def test_a_folder_is_called_one(run: Run, tmp_path: Path) -> None:
    ran = run("shares", str(tmp_path), "--gpu-memory", "3GiB")

    assert (ran.code, ran.err) == (
        2,
        f"eks-gpushare: {tmp_path} is a folder: name a stack, its file or an instance type\n",
    )
