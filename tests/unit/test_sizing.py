"""How many pods may share a GPU: each bound by itself, and all against the rules of `check`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from finding_examples import findings
from hypothesis import given
from hypothesis import strategies as st

from eks_gpushare.catalog import Catalog, gpu_instance_types
from eks_gpushare.sharing.sizing import Need, Sizing, size
from eks_gpushare.validation.parse import parse

TIME_SLICING = {"mode": "timeSlicing", "replicas": 2}
MPS = {"mode": "mps", "replicas": 2}
GIB = 1024


def sized(
    need: Need,
    instance: str = "g6.12xlarge",
    sharing: dict[str, Any] = TIME_SLICING,
    addons: dict[str, Any] | None = None,
    **keys: object,
) -> Sizing:
    environment = parse(
        {
            "cluster": {"name": "demo", "version": "1.35", "addons": addons or {}},
            "pools": {"gpu": {"instanceTypes": [instance], "sharing": sharing, **keys}},
        }
    ).environment
    assert environment is not None
    found = Catalog().find(instance)
    assert found is not None
    return size(need, environment.pools["gpu"], found, environment, Catalog())


def bounds(found: Sizing) -> dict[str, tuple[int, int]]:
    return {each.name: (each.replicas, each.pods) for each in found.bounds}


def test_every_bound_of_a_node_of_four() -> None:
    need = Need(Fraction(3 * GIB), Fraction(1, 8), Fraction(500), Fraction(2 * GIB))
    found = sized(need, sharing=MPS)

    assert bounds(found) == {
        "gpuMemory": (7, 28),  # 23034 / 3072
        "gpuTime": (8, 32),
        "mpsClients": (48, 192),
        "cpu": (23, 95),  # 47690 less 45 of DaemonSets, / 500
        "memory": (23, 94),
        "pods": (56, 226),
    }
    assert (found.replicas, found.pods, found.devices) == (7, 28, 4)
    assert [each.name for each in found.least] == ["gpuMemory"]


@pytest.mark.parametrize(
    ("kept", "fit"), [(Fraction(0), 2), (Fraction(1, 10_000), 1), (Fraction(1, 2), 1)]
)
def test_memory_that_is_left_free_is_no_pods(kept: Fraction, fit: int) -> None:
    found = sized(Need(Fraction(23034, 2), gpu_memory_kept=kept))

    assert bounds(found)["gpuMemory"] == (fit, 4 * fit)


@pytest.mark.parametrize(("use", "fit"), [("1", 1), ("1/2", 2), ("34/100", 2), ("1/3", 3)])
def test_a_gpu_has_time_for_those_who_use_it_in_turn(use: str, fit: int) -> None:
    assert bounds(sized(Need(gpu_use=Fraction(use))))["gpuTime"] == (fit, 4 * fit)


def test_a_pod_that_is_too_large_has_no_room() -> None:
    found = sized(Need(Fraction(23035)))

    assert (found.replicas, found.pods) == (0, 0)


def test_a_node_that_has_room_for_fewer_pods_than_gpus_has_none_for_each() -> None:
    found = sized(Need(cpu_millis=Fraction(20_000)))

    assert bounds(found)["cpu"] == (0, 2)
    assert (found.replicas, found.pods) == (0, 0)


def test_a_node_whose_own_pods_take_all_addresses_has_none_for_others() -> None:
    found = sized(Need(Fraction(1)), kubelet={"maxPods": 6})

    assert (bounds(found)["pods"], found.replicas, found.pods) == ((0, 0), 0, 0)


def test_the_smallest_device_of_a_layout_decides() -> None:
    layout = {"mode": "mig", "layout": "all-balanced", "timeSlicing": {"replicas": 2}}
    found = sized(Need(Fraction(2 * GIB)), "p4d.24xlarge", layout)

    assert found.devices == 32
    assert bounds(found)["gpuMemory"] == (2, 64)  # 4864 / 2048


def test_gpus_that_a_layout_leaves_whole_are_shared_by_nobody() -> None:
    layout = [{"gpus": [0], "devices": {"1g.5gb": 7}}]
    found = sized(Need(Fraction(2 * GIB)), "p4d.24xlarge", {"mode": "mig", "layout": layout})

    assert found.devices == 7


@pytest.mark.parametrize(
    ("keys", "addons", "most"),
    [
        ({}, {}, 29),
        ({}, {"prefixDelegation": True}, 110),
        ({"kubelet": {"maxPods": 50}}, {"prefixDelegation": True}, 50),
        ({"provisioner": "karpenter", "nodes": {"max": 2}}, {"prefixDelegation": True}, 29),
    ],
)
def test_pods_by_who_tells_the_kubelet(
    keys: dict[str, Any], addons: dict[str, Any], most: int
) -> None:
    found = sized(Need(Fraction(1)), "g4dn.xlarge", addons=addons, **keys)

    assert bounds(found)["pods"] == (most - 8, most - 8)


@pytest.mark.parametrize("name", sorted(gpu_instance_types()))
def test_check_says_the_same_of_pods_and_clients(name: str) -> None:
    """As many replicas as there is room for pass, and one more does not."""
    clients = sized(Need(Fraction(1, 1000)), name, MPS)
    room = bounds(clients)["pods"][0] if "pods" in bounds(clients) else None
    limit = bounds(clients)["mpsClients"][0]

    def told(code: str, mode: str, replicas: int) -> bool:
        sharing = {"mode": mode, "replicas": replicas}
        pools = {"gpu": {"instanceTypes": [name], "sharing": sharing}}
        return bool(findings({"pools": pools}, code))

    assert (told("GPU202", "mps", limit), told("GPU202", "mps", limit + 1)) == (False, True)
    if room is not None:
        assert not told("GPU209", "timeSlicing", room)
        assert told("GPU209", "timeSlicing", room + 1)


AMOUNTS = st.fractions(min_value=Fraction(1, 8), max_value=Fraction(100_000), max_denominator=64)


@given(
    name=st.sampled_from(sorted(gpu_instance_types())),
    gpu_memory=AMOUNTS,
    use=st.fractions(min_value=Fraction(1, 64), max_value=1, max_denominator=64),
    cpu=AMOUNTS,
    memory=AMOUNTS,
)
def test_so_many_fit_and_one_more_on_each_does_not(
    name: str, gpu_memory: Fraction, use: Fraction, cpu: Fraction, memory: Fraction
) -> None:
    """Added up pod by pod, as the scheduler and the GPU's memory do."""
    need = Need(gpu_memory, use, cpu, memory)
    found = sized(need, name)
    nothing = sized(Need(Fraction(1), Fraction(1), Fraction(1), Fraction(1)), name)
    rooms = {each.name: each.pods for each in nothing.bounds}
    of_gpu = nothing.instance_type.gpu.memory_mib if nothing.instance_type.gpu else None

    def fits(replicas: int) -> bool:
        pods = replicas * found.devices
        return (
            (of_gpu is None or replicas * gpu_memory <= of_gpu)
            and replicas * use <= 1
            and pods * cpu <= rooms["cpu"]
            and pods * memory <= rooms["memory"]
            and pods <= rooms.get("pods", pods)
        )

    assert fits(found.replicas)
    assert not fits(found.replicas + 1)
