"""A stack with tenants, laid in the lab: each gets what its contract says, and no more."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.cli import main
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.install.manifests import Manifest
from eks_gpushare_lab.reporting.report import report_of
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

pytestmark = [pytest.mark.slow, pytest.mark.at_length]

# What conftest.py offers.
Programs = Any

ROOT = Path(__file__).parents[3]
SMALL = "nvidia.com/mig-1g.5gb"
TOLERATED = [{"key": "nvidia.com/gpu", "operator": "Exists"}]


WANTED = {
    "research/mig-1g-5gb": 4,
    "research/mig-2g-10gb": 2,
    "research/mig-3g-20gb": 2,
    "vision/mig-1g-5gb": 12,
    "vision/mig-2g-10gb": 6,
    "vision/mig-3g-20gb": 6,
    "vision/gpu-shared": 0,
}


def deployment(space: str, resource: str, replicas: int, pool: str = "slices") -> dict[str, Any]:
    name = resource.rpartition("/")[2].replace(".", "-")
    container = {"name": "c", "image": "x", "resources": {"limits": {resource: 1}}}
    pod = {
        "containers": [container],
        "tolerations": TOLERATED,
        "nodeSelector": {"eks-gpushare/pool": pool},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": space},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
        },
    }


def test_each_tenant_runs_what_it_is_sure_of(
    programs: Programs, lab_home: object, desired: Callable[[str], DesiredCluster]
) -> None:
    """80 of 320 GiB and 240: the first asks for all, and the second still has its own."""
    assert programs.paths
    assert lab_home
    asked = [
        deployment(space, f"nvidia.com/mig-{profile}", 20)
        for space in ("research", "vision")
        for profile in ("1g.5gb", "2g.10gb", "3g.20gb")
    ]
    asked.append(deployment("vision", "nvidia.com/gpu.shared", 1, "notebooks"))
    with ControlPlane() as up:
        lab = up.lab
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
        with Session(client, lab) as session:
            session.install(desired("tenants"))
            assert session.settle()
            session.apply([Manifest(f"asked {n}", each) for n, each in enumerate(asked)])
            # What was borrowed meanwhile comes back; the rest of what is asked for waits for ever.
            # How soon it does is measured by benchmarks/tenants.py, on a machine that is free.
            deadline = time.monotonic() + 120
            while (found := running(session)) != WANTED and time.monotonic() < deadline:
                time.sleep(0.2)
            report = report_of(session, {}, []).as_json()

    assert found == WANTED
    research, vision = report["tenants"]["research"], report["tenants"]["vision"]
    assert (research["running"], vision["running"]) == (8, 24)
    assert vision["has"] == {
        "nvidia.com/mig-1g.5gb": 12,
        "nvidia.com/mig-2g.10gb": 6,
        "nvidia.com/mig-3g.20gb": 6,
    }
    assert research["borrowed"] == vision["borrowed"] == {}
    assert sum(research["waiting"].values()) == 60 - 8
    assert any("insufficient" in why for why in research["waiting"]), research["waiting"]
    [(by, said)] = vision["refused"].items()
    assert by.startswith("the policy eks-gpushare-tenants-")
    assert any("nvidia.com/gpu.shared" in each for each in said)
    # And a workload's own reason is Kueue's, not that a gate holds its pods.
    short = report["short"]["research/mig-3g-20gb"]
    assert any("Kueue: " in why for why in short["why"]), short
    assert not any("gate" in why for why in short["why"])


def test_two_teams_by_one_command(
    programs: Programs, lab_home: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one of `examples/lab/README.md`."""
    assert programs.paths
    assert lab_home
    line = "eks-gpushare lab run tenants "
    text = (ROOT / "examples" / "lab" / "README.md").read_text(encoding="utf-8")
    (command,) = (part for part in text.split("`") if part.startswith(line))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        code = main([*shlex.split(command)[1:], "--json"])
    report = json.loads(capsys.readouterr().out)

    assert code == 0, report["findings"]
    research, vision = report["tenants"]["research"], report["tenants"]["vision"]
    assert (research["has"], vision["has"]) == ({SMALL: 4}, {SMALL: 12})
    # One that gave way may be lent to again before vision has asked for all.
    assert sum(research["reclaimed"].values()) >= 4
    assert sum(research["waiting"].values()) == 8
    assert [*vision["refused"]] == ["the policy eks-gpushare-tenants-pods"]
    assert (research["usdPerHour"], vision["usdPerHour"]) == (6.8126, 16.4682)


def running(session: Session) -> dict[str, int]:
    workloads = report_of(session, {}, []).as_json()["workloads"]
    return {name: each["running"] for name, each in workloads.items()}
