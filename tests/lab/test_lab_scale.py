from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eks_gpushare_lab.binaries.build import Programs

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "lab_scale.py"
SILENT_SECONDS = 150
"""Every wait of a measurement says how it goes, or ends, within this time."""


@pytest.fixture(scope="module")
def measured(programs: Programs, lab_home: Path) -> dict[str, Any]:
    """One small measurement."""
    assert programs.paths
    assert lab_home.is_dir()
    words = ("--nodes", "20", "--pods", "200", "--setting", "benchmark", "--json")
    with subprocess.Popen(
        [sys.executable, BENCHMARK, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        said = list(heard(process))
        output = process.stdout.read()
    assert process.returncode == 0, said
    (run,) = json.loads(output)["runs"]
    found: dict[str, Any] = run
    return found


def heard(process: subprocess.Popen[str]) -> Iterator[str]:
    """What a measurement says on its way; one that falls silent is killed.

    How long it takes in all says nothing: on a busy machine it is a multiple.
    """
    assert process.stderr is not None
    while True:
        silence = threading.Timer(SILENT_SECONDS, process.kill)
        silence.start()
        try:
            line = process.stderr.readline()
        finally:
            silence.cancel()
        if not line:
            return
        yield line


@pytest.mark.at_length
def test_every_pod_has_a_share_and_every_share_a_pod(measured: dict[str, Any]) -> None:
    counts = {key: measured[key] for key in ("nodes", "shares", "pods", "usedNodes")}

    assert counts == {"nodes": 20, "shares": 200, "pods": 200, "usedNodes": 20}
    assert measured["mostPodsOnANode"] == 10


@pytest.mark.at_length
def test_the_nodes_are_made_usable_by_their_daemon_sets(measured: dict[str, Any]) -> None:
    # One each of the device plugin, GPU feature discovery, node feature discovery, EKS's node
    # monitoring agent and its host engine of DCGM; the agent is on the two system nodes as well.
    assert measured["daemonSetPods"] == 5 * 20 + 2


@pytest.mark.at_length
def test_each_process_has_its_cpu_time_and_memory(measured: dict[str, Any]) -> None:
    names = {
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kwok",
        "simulated nodes and client",
    }

    assert set(measured["peaksMb"]) == names
    assert all(set(phase["cpuSeconds"]) == names for phase in measured["phases"].values())
    assert min(measured["peaksMb"].values()) > 0


@pytest.mark.at_length
def test_an_interrupted_measurement_leaves_nothing(
    programs: Programs,
    tmp_path: Path,
    runs: Callable[[int], bool],
    eventually: Callable[..., bool],
) -> None:
    assert programs.paths
    process = subprocess.Popen(
        [sys.executable, BENCHMARK, "--nodes", "20", "--pods", "200"],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        said = heard(process)
        ready = next(line for line in said if "ready after" in line)
        (folder,) = (tmp_path / "eks-gpushare" / "lab").glob("run-*")
        pids = json.loads((folder / "state.json").read_text(encoding="utf-8"))["processes"]
        process.send_signal(signal.SIGINT)
        last = list(said)[-1]

    assert ready.startswith("stock: ")
    assert (process.returncode, last) == (130, "interrupted\n")
    assert len(pids) == 5
    assert eventually(lambda: not any(runs(pid) for pid in pids.values()))
    assert not folder.exists()


def test_more_pods_than_shares_are_refused() -> None:
    ended = subprocess.run(
        [sys.executable, BENCHMARK, "--nodes", "2", "--pods", "21"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 2
    assert ended.stderr == "2 nodes have 10 shares each: too few for the pods\n"
