"""`cost` of a cluster that runs: two teams, as reckoned by hand."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.walkthroughs.test_walkthrough_tenants import deployment

from eks_gpushare.cli import main
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.install.manifests import Manifest
from eks_gpushare_lab.reporting.report import report_of
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.at_length,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH"),
]

# What conftest.py offers.
Programs = Any

SHARED = "nvidia.com/gpu.shared"
SMALL, MIDDLE, LARGE = (f"nvidia.com/mig-{name}" for name in ("1g.5gb", "2g.10gb", "3g.20gb"))
POOLS = {SHARED: "notebooks", **dict.fromkeys((SMALL, MIDDLE, LARGE), "slices")}
ASKED = {
    ("research", SHARED): 5,
    ("research", SMALL): 4,
    ("research", MIDDLE): 1,
    ("vision", SMALL): 12,
    ("vision", LARGE): 3,
}
NOTEBOOK, SLICES = 1.3232, 21.957642
"""A g6.4xlarge with 8 shares, and a p4d.24xlarge with 8 GPUs of seven compute slices."""
BY_HAND = {
    "research": {
        "used": 5 / 8 * NOTEBOOK + (4 + 2) / 56 * SLICES,
        "guaranteed": 3 / 8 * NOTEBOOK + (2 + 2 * 3) / 56 * SLICES,
        "idle": 0.0,
    },
    "vision": {
        "used": (12 + 3 * 3) / 56 * SLICES,
        "guaranteed": (6 * 2 + 3 * 3) / 56 * SLICES,
        "idle": 0.0,
    },
}


def test_two_teams_cost_what_was_reckoned(
    programs: Programs,
    lab_home: object,
    desired: Callable[[str], DesiredCluster],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    assert programs.paths
    assert lab_home
    with ControlPlane() as up:
        lab = up.lab
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
        with Session(client, lab) as session:
            session.install(desired("tenants"))
            assert session.settle()
            session.apply(
                [
                    Manifest(f"asked {n}", deployment(space, resource, count, POOLS[resource]))
                    for n, ((space, resource), count) in enumerate(ASKED.items())
                ]
            )
            deadline = time.monotonic() + 60
            while running(session) != sum(ASKED.values()) and time.monotonic() < deadline:
                time.sleep(0.2)
        capsys.readouterr()
        code = main(["cost", "tenants", "--kubeconfig", str(lab.kubeconfig), "--json"])
        found = json.loads(capsys.readouterr().out)
        dump = tmp_path / "dump.json"
        command = ["kubectl", "--kubeconfig", str(lab.kubeconfig), "get", "nodes,pods,configmaps"]
        with dump.open("wb") as file:
            subprocess.run([*command, "-A", "-o", "json"], stdout=file, check=True)
        assert main(["cost", "tenants", "--from", str(dump), "--json"]) == 0
        dumped = json.loads(capsys.readouterr().out)

    assert code == 0
    assert found["usdPerHour"] == round(NOTEBOOK + SLICES, 4)
    rows = {row["tenant"]: row for row in found["rows"]}
    assert rows.keys() == BY_HAND.keys()
    for tenant, uses in BY_HAND.items():
        for use, usd in uses.items():
            assert rows[tenant][use]["usdPerHour"] == pytest.approx(usd, abs=0.0003), (tenant, use)
    assert (found["unknown"], found["notes"]) == ([], [])
    assert dumped["lines"] == found["lines"]


def running(session: Session) -> int:
    workloads = report_of(session, {}, []).as_json()["workloads"]
    return sum(each["running"] for each in workloads.values())
