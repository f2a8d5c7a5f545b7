"""What the controller that frees nodes makes of a node; tests/lab runs it on a real API server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.in_cluster.data import mig_taint_remover as script
from eks_gpushare.sharing.labels import POOL_LABEL
from eks_gpushare.sharing.mig_manager import MIG_CONFIG_LABEL, startup_taint
from eks_gpushare.sharing.resources import GPU, MIG_PREFIX, SHARED_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

POOLS = {"a": {"config": "all-1g.5gb", "advertises": {"p4d.24xlarge": {"nvidia.com/gpu": 2000}}}}
STARTUP = {"key": "eks-gpushare/mig-layout", "value": "pending", "effect": "NoSchedule"}
OTHER = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}


def node(*taints: dict[str, str], capacity: Any = "2k", allocatable: Any = "2k") -> dict[str, Any]:
    labels = {
        "eks-gpushare/pool": "a",
        "nvidia.com/mig.config": "all-1g.5gb",
        "nvidia.com/mig.config.state": "success",
        "node.kubernetes.io/instance-type": "p4d.24xlarge",
    }
    return {
        "metadata": {"name": "n", "labels": labels},
        "spec": {"taints": list(taints)} if taints else {},
        "status": {
            "capacity": {"nvidia.com/gpu": capacity, "cpu": "96"},
            "allocatable": {"nvidia.com/gpu": allocatable, "cpu": "95690m"},
        },
    }


def test_the_script_means_the_labels_and_the_taint_of_the_library() -> None:
    """It runs without the library, so it spells them out."""
    assert startup_taint().model_dump() == script.TAINT
    assert (script.POOL, script.CONFIG) == (POOL_LABEL, MIG_CONFIG_LABEL)
    assert script.GPU_RESOURCES == (GPU, GPU + SHARED_SUFFIX)
    assert script.MIG_RESOURCE == MIG_PREFIX


def test_the_script_needs_nothing_but_python() -> None:
    code = "import runpy, sys; runpy.run_path(sys.argv[1])"
    command = [sys.executable, "-I", "-S", "-c", code, str(Path(script.__file__))]

    assert subprocess.run(command, check=False).returncode == 0


def test_a_large_count_in_short_is_read() -> None:
    assert script.reason_to_wait(node(STARTUP), POOLS) is None


@pytest.mark.parametrize(
    ("text", "count"), [("0", 0), ("56", 56), ("1k", 1000), ("3M", 3_000_000), (8, 8)]
)
def test_a_quantity_is_a_number(text: object, count: int) -> None:
    assert script.number(text) == count


def test_one_broken_device_does_not_keep_the_node_away() -> None:
    assert script.reason_to_wait(node(STARTUP, allocatable="1999"), POOLS) is None


def test_a_plugin_that_has_gone_keeps_it_away() -> None:
    assert script.reason_to_wait(node(STARTUP, allocatable="0"), POOLS) == (
        "it advertises nothing and not nvidia.com/gpu: 2000"
    )


def test_a_node_without_status_or_labels_waits() -> None:
    bare = {"metadata": {"name": "n"}, "spec": {"taints": [STARTUP]}}

    assert script.reason_to_wait(bare, POOLS) == "the pool None is not one of these"


@pytest.mark.parametrize(
    ("taints", "index"),
    [
        ([], None),
        ([OTHER], None),
        ([{**STARTUP, "effect": "NoExecute"}], None),
        ([{**STARTUP, "value": "other"}], None),
        ([{"key": STARTUP["key"], "effect": "NoSchedule"}], None),
        ([OTHER, STARTUP], 1),
        ([{**STARTUP, "timeAdded": "2026-11-21T00:00:00Z"}], 0),
    ],
)
def test_the_startup_taint_is_told_from_others(taints: list[Any], index: int | None) -> None:
    assert script.place_of(node(*taints)) == index


def test_the_patch_holds_only_while_its_reasons_do() -> None:
    assert script.patch(node(OTHER, STARTUP)) == [
        {"op": "test", "path": "/metadata/labels/nvidia.com~1mig.config", "value": "all-1g.5gb"},
        {"op": "test", "path": "/metadata/labels/nvidia.com~1mig.config.state", "value": "success"},
        {"op": "test", "path": "/spec/taints/1", "value": STARTUP},
        {"op": "remove", "path": "/spec/taints/1"},
    ]


GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


class Forgotten(script.Remover):
    """Watches from a version that the API server has forgotten, until it has listed three times."""

    sweeps = 0

    def sweep(self) -> str:
        self.sweeps += 1
        if self.sweeps == 3:
            raise SystemExit
        return "1"

    def watch(self, version: str) -> Iterator[dict[str, Any]]:
        if self.sweeps == 1:  # it says so in the stream, or instead of one
            raise script.ApiError(410, f"{GONE['message']}: {version}")
        yield {"type": "ERROR", "object": GONE}


def test_a_forgotten_version_is_listed_anew(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script, "PAUSE_SECONDS", 0)
    with pytest.raises(SystemExit):
        Forgotten(None, POOLS, None).run()  # type: ignore[arg-type]  # nothing is sent

    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["level"], each["message"]) for each in said] == [
        ("info", "the watch is too old: listing anew")
    ] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [('{"kind": "Status", "message": "no"}', "no"), ("bad gateway\n", "bad gateway"), ("[]", "[]")],
)
def test_a_refusal_is_quoted(text: str, message: str) -> None:
    assert script.message_of(text) == message
