"""`cost` of a cluster that runs: two teams, as reckoned by hand."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.lab.walkthroughs.test_walkthrough_tenants import deployment

from eks_gpushare.cli import main
from eks_gpushare.program.preview import locate, preview
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.install.desired_cluster import desired_cluster
from eks_gpushare_lab.install.manifests import Manifest
from eks_gpushare_lab.reporting.report import report_of
from eks_gpushare_lab.session import Session

pytestmark = [
    pytest.mark.slow,
    pytest.mark.at_length,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH"),
]

# What conftest.py offers.
Programs = Any

STACK = Path(__file__).parents[3] / "stacks" / "Pulumi.tenants.yaml"
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


def tenants(folder: Path, *, queue: bool) -> Path:
    """The stack of two teams, whose contracts are kept by quotas where it has no queue."""
    if queue:
        return STACK
    declared = yaml.safe_load(STACK.read_text(encoding="utf-8"))
    for tenant in declared["config"]["eks-gpushare:environment"]["tenants"].values():
        tenant["queue"] = False
        tenant["pools"]["slices"].pop("maximum", None)
    file = folder / "Pulumi.quota.yaml"
    file.write_text(yaml.safe_dump(declared), encoding="utf-8")
    shutil.copy(STACK.parents[1] / "Pulumi.yaml", folder)
    shutil.copy(STACK.parents[1] / "__main__.py", folder)
    return file


@pytest.mark.parametrize("queue", [False, True], ids=["quota", "queue"])
def test_two_teams_cost_what_was_reckoned(
    programs: Programs,
    lab_home: object,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    *,
    queue: bool,
) -> None:
    assert programs.paths
    assert lab_home
    stack = tenants(tmp_path, queue=queue)
    previewed = preview(*locate(str(stack)), known=True)
    assert previewed.recording is not None, previewed.findings
    with ControlPlane() as up:
        lab = up.lab
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
        with Session(client, lab) as session:
            session.install(desired_cluster(previewed.recording))
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
        code = main(["cost", str(stack), "--kubeconfig", str(lab.kubeconfig), "--json"])
        found = json.loads(capsys.readouterr().out)
        dump = tmp_path / "dump.json"
        command = ["kubectl", "--kubeconfig", str(lab.kubeconfig), "get", "nodes,pods,configmaps"]
        with dump.open("wb") as file:
            subprocess.run([*command, "-A", "-o", "json"], stdout=file, check=True)
        assert main(["cost", str(stack), "--from", str(dump), "--json"]) == 0
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
