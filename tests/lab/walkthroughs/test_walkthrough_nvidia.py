"""`lab run --nvidia`, with programs of the tests' own in place of NVIDIA's."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import nvidia_folder
import pytest

from eks_gpushare_lab.nvidia.holding import hold
from eks_gpushare_lab.run import run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from eks_gpushare_lab.client import Client
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.nvidia.holding import Held

pytestmark = pytest.mark.slow

FORTY = {"registers": {"nvidia.com/gpu": 40}}
NO_MPS_DAEMON = (
    "The MPS control daemon is not run, since it needs a GPU: it is taken for running, and how "
    "many clients it allows is the simulated node's word alone."
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nvidia_folder.make(tmp_path_factory.mktemp("nvidia") / "programs")


@pytest.fixture
def held(walk: Any, folder: Path, tmp_path: Path) -> Callable[..., dict[str, Held]]:
    """`held(stack, plugin, labels)`: what comes of the pools, by their names.

    Discovery labels as the simulated node does but for those that are given, None for without.
    """

    def look(
        stack: str,
        plugin: dict[str, Any],
        other: Mapping[str, str | None] = MappingProxyType({}),
        **discovery: Any,
    ) -> dict[str, Held]:
        walk.install(stack)
        simulated = walk.session.simulated("gpu-0")
        labels = {**(simulated.labels if simulated else {}), **other}
        labels = {name: value for name, value in labels.items() if value is not None}
        nvidia_folder.tell(folder, plugin=plugin, discovery={"labels": labels, **discovery})
        found = hold(walk.session, folder, tmp_path, lambda _: None)
        assert not (tmp_path / "nvidia").exists()
        return {each.pool: each for each in found}

    return look


def test_programs_that_do_the_same_are_no_finding(held: Callable[..., dict[str, Held]]) -> None:
    pool = held("time-slicing", FORTY)["gpu"]

    assert (pool.node, pool.resources, pool.simulated) == ("gpu-0", *[{"nvidia.com/gpu": 40}] * 2)
    assert pool.compared == 12
    assert list(pool.findings()) == []


@pytest.mark.at_length
def test_another_count_is_an_error(held: Callable[..., dict[str, Held]]) -> None:
    pool = held("time-slicing", {"registers": {"nvidia.com/gpu": 4, "nvidia.com/x": 1}})["gpu"]
    (finding,) = pool.findings()

    assert (finding.code, finding.severity) == ("GPU985", "error")
    assert finding.path == "pools.gpu.nodes.gpu-0"
    assert finding.message == (
        "NVIDIA's device plugin registers nvidia.com/gpu: 4, nvidia.com/x: 1, and the node "
        "advertises nvidia.com/gpu: 40."
    )


@pytest.mark.at_length
def test_a_plugin_that_stops_is_an_error(held: Callable[..., dict[str, Held]]) -> None:
    pool = held("time-slicing", {"ends": "unable to load config: no"})["gpu"]
    (said,) = pool.differences

    assert said.startswith(
        "NVIDIA's device plugin registers nothing, and the node advertises nvidia.com/gpu: 40: "
        "nvidia-device-plugin ends with exit code 1: "
    )
    assert said.endswith("unable to load config: no")
    assert pool.resources is None


@pytest.mark.at_length
def test_another_label_is_an_error(held: Callable[..., dict[str, Held]]) -> None:
    labels = {
        "nvidia.com/gpu.count": "5",
        "nvidia.com/gpu.extra": "x",
        "nvidia.com/gpu.family": None,
        "nvidia.com/cuda.driver.major": "580",
        "nvidia.com/gpu.mode": "unknown",
    }
    pool = held("time-slicing", FORTY, labels)["gpu"]
    does, simulated, family = "NVIDIA's feature discovery", "the simulated one", "'ada-lovelace'"

    assert pool.differences == (
        f"Label nvidia.com/gpu.count: {does} sets it to '5', {simulated} sets it to '4'.",
        f"Label nvidia.com/gpu.extra: {does} sets it to 'x', {simulated} does not set it.",
        f"Label nvidia.com/gpu.family: {does} does not set it, {simulated} sets it to {family}.",
    )


@pytest.mark.at_length
def test_a_discovery_that_stops_is_an_error(held: Callable[..., dict[str, Held]]) -> None:
    pool = held("time-slicing", FORTY, ends="no NVML")["gpu"]

    (said,) = pool.differences
    assert said == (
        "NVIDIA's feature discovery writes no labels, and the simulated one does: "
        "gpu-feature-discovery ends with exit code 1: no NVML"
    )
    assert pool.labels is None


@pytest.mark.at_length
def test_what_is_not_run_of_mps_is_said(held: Callable[..., dict[str, Held]]) -> None:
    pool = held("mps", {"registers": {"nvidia.com/gpu": 4}})["gpu"]

    assert pool.apart == (NO_MPS_DAEMON,)
    assert [each.code for each in pool.findings()] == ["GPU986"]


@pytest.mark.at_length
def test_a_library_without_mig_is_not_compared_with(held: Callable[..., dict[str, Held]]) -> None:
    pool = held("mig-uniform", {})["gpu"]

    (said,) = pool.apart

    assert (pool.resources, pool.differences) == (None, ())
    assert said == (
        "The library in the folder shows MIG instances off, off, off, off, off, off, off, off, and "
        "the GPUs of the node have 7, 7, 7, 7, 7, 7, 7, 7: a mock of NVML that knows MIG is needed."
    )


@pytest.mark.at_length
def test_bottlerocket_is_not_compared_with(held: Callable[..., dict[str, Held]]) -> None:
    pools = held("bottlerocket", {})
    why = "Bottlerocket brings a device plugin and settings of its own; NVIDIA's is not run."

    assert {each.apart for each in pools.values()} == {(why,)}


@pytest.mark.at_length
def test_a_pool_without_a_node_is_told(held: Callable[..., dict[str, Held]]) -> None:
    (pool,) = held("karpenter-time-slicing", {}).values()

    assert (pool.node, pool.apart) == ("", ("No node of it is there.",))


def test_a_difference_ends_a_run_with_1(
    empty_lab: Lab,
    client: Client,
    emptied: Callable[[Client], AbstractContextManager[None]],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("eks_gpushare_lab.run.control_plane", lambda: nullcontext(empty_lab))
    nvidia_folder.tell(folder, plugin={"registers": {"nvidia.com/gpu": 4}}, discovery={"ends": 1})
    options = Namespace(
        **dict.fromkeys(("program", "until_steady")),
        **dict.fromkeys(("apply", "scale", "expect"), ()),
        engine=False,
        json=True,
        stack="time-slicing",
        nvidia=folder,
    )
    with emptied(client):
        code = run(options)
    report = json.loads(capsys.readouterr().out)

    assert code == 1
    assert [each["code"] for each in report["findings"]] == ["GPU985", "GPU985"]
    assert report["nvidia"]["gpu"]["registered"] == {"nvidia.com/gpu": 4}
    assert report["nvidia"]["gpu"]["simulated"] == {"nvidia.com/gpu": 40}
    assert list(empty_lab.directory.glob("nvidia*")) == []
