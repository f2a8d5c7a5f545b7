"""Bottlerocket on simulated machines: its settings, its device plugin and its MIG manager."""

from __future__ import annotations

import base64
import tomllib
from typing import Any

import pytest

from eks_gpushare_lab.simulated_node import bottlerocket, user_data
from eks_gpushare_lab.simulated_node.advertising import advertised
from eks_gpushare_lab.simulated_node.boot import boot, built_in
from eks_gpushare_lab.simulated_node.bottlerocket import SettingsError
from eks_gpushare_lab.simulated_node.gpus import of_node
from eks_gpushare_lab.simulated_node.node import BUILT_IN, SimulatedNode

GPU = "nvidia.com/gpu"
NVIDIA = "[settings.kubelet-device-plugins.nvidia]\n"
TABLE = "[settings.kubelet-device-plugins.nvidia.{}]\n"
# As in Bottlerocket's documentation of the settings.
SLICED = (
    NVIDIA
    + 'device-sharing-strategy = "time-slicing"\n'
    + TABLE.format("time-slicing")
    + "replicas = 4\nrename-by-default = false\nfail-requests-greater-than-one = true\n"
)
PARTITIONED = (
    NVIDIA
    + 'device-partitioning-strategy = "mig"\n'
    + TABLE.format("mig.profile")
    + '"a100.40gb" = "{}"\n'
)


def node(
    text: str, kind: str = "p4d.24xlarge", ami: str = "BOTTLEROCKET_x86_64_NVIDIA"
) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "n",
            "uid": "u",
            "labels": {"node.kubernetes.io/instance-type": kind},
            "annotations": {
                user_data.AMI_TYPE: ami,
                user_data.USER_DATA: base64.b64encode(text.encode()).decode(),
            },
        },
        "spec": {},
        "status": {"nodeInfo": {"osImage": "Bottlerocket OS 1.57.0 (aws-k8s-1.35-nvidia)"}},
    }


def simulated(given: dict[str, Any]) -> SimulatedNode:
    """The node after its boot, with no chart's pod on it."""
    joined = boot(given).node
    assert joined is not None
    found = SimulatedNode("n", "u")
    found.update(joined, [], lambda *_: None)
    return found


def test_without_settings_the_built_in_plugin_serves_whole_gpus() -> None:
    assert simulated(node("")).allocatable == {GPU: 8}


def test_shares_keep_their_name_where_the_settings_say_so() -> None:
    assert simulated(node(SLICED)).allocatable == {GPU: 32}


@pytest.mark.parametrize("strategy", ["time-slicing", "mps"])
def test_by_default_there_are_two_shares_with_a_name_of_their_own(strategy: str) -> None:
    found = simulated(node(f'{NVIDIA}device-sharing-strategy = "{strategy}"\n'))

    assert found.allocatable == {f"{GPU}.shared": 16}
    assert found.shares_by_mps is (strategy == "mps")


def test_a_name_that_a_node_advertised_before_stays_at_0() -> None:
    given = node(f'{NVIDIA}device-sharing-strategy = "time-slicing"\n')
    counts = {GPU: "8"}
    given["status"] |= {"capacity": counts, "allocatable": counts}

    assert simulated(given).allocatable == {GPU: 0, f"{GPU}.shared": 16}


def test_by_default_a_request_for_two_shares_fails() -> None:
    found = simulated(node(f'{NVIDIA}device-sharing-strategy = "time-slicing"\n'))
    configuration = found.plugin_configuration()

    assert configuration is not None
    assert configuration.fail_more_than_one


@pytest.mark.parametrize(
    ("given", "profile", "count"),
    [
        ("1g.5gb", "1g.5gb", 7),
        ("7", "1g.5gb", 7),
        ("1g.10gb", "1g.10gb", 4),
        ("4", "1g.10gb", 4),
        ("3", "2g.10gb", 3),
        ("3g.20gb", "3g.20gb", 2),
        ("1", "7g.40gb", 1),
        # Neither is in the table of its MIG manager, which then takes the largest.
        ("4g.20gb", "7g.40gb", 1),
        ("1g.18gb", "7g.40gb", 1),
    ],
)
def test_one_profile_cuts_every_gpu(given: str, profile: str, count: int) -> None:
    joined = boot(node(PARTITIONED.format(given))).node
    assert joined is not None

    assert [gpu.counts() for gpu in of_node(joined, 8)] == [{profile: count}] * 8


def test_instances_are_advertised_as_gpus() -> None:
    assert simulated(node(PARTITIONED.format("1g.5gb"))).allocatable == {GPU: 56}


def test_instances_can_be_shared() -> None:
    text = PARTITIONED.format("1g.5gb").replace(NVIDIA, NVIDIA + SLICED.splitlines()[1] + "\n")

    assert simulated(node(text)).allocatable == {f"{GPU}.shared": 112}


def test_without_an_entry_for_the_board_it_takes_the_largest_profile() -> None:
    text = PARTITIONED.format("1g.5gb").replace("a100.40gb", "h100.80gb")

    assert simulated(node(text)).allocatable == {GPU: 8}


def test_a_board_it_does_not_know_takes_the_entry_that_fits() -> None:
    text = PARTITIONED.format("1g.24gb").replace("a100.40gb", "r6000.96gb")

    assert simulated(node(text, "g7e.2xlarge")).allocatable == {GPU: 4}


def test_a_board_that_no_entry_fits_advertises_nothing() -> None:
    found = simulated(node(PARTITIONED.format("1g.5gb"), "g7e.2xlarge"))

    assert found.allocatable == {}
    assert found.notes[BUILT_IN].endswith(": device 0 has no MIG devices configured")


def test_a_gpu_without_mig_stays_whole() -> None:
    assert simulated(node(PARTITIONED.format("1g.5gb"), "g5.12xlarge")).allocatable == {GPU: 4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{NVIDIA}device-sharing = 1\n", "unknown field settings.kubelet-device-plugins.nvidia"),
        (f"{NVIDIA}device-sharing-strategy = 'shared'\n", "invalid value 'shared' of "),
        (TABLE.format("time-slicing") + "replicas = 1\n", "time-slicing.replicas: 2 or more"),
        (TABLE.format("time-slicing") + "renameByDefault = true\n", "time-slicing.renameByDefault"),
        (TABLE.format("mps") + "fail-requests-greater-than-one = false\n", "unknown field "),
        (TABLE.format("mps") + "replicas = 49\n", "mps.replicas: 2 to 48"),
        (TABLE.format("mig.profile") + '"A100" = "1g.5gb"\n', "invalid GPU 'A100'"),
        (TABLE.format("mig.profile") + '"a100.40gb" = "1g.5gb+me"\n', "invalid MIG profile"),
        (TABLE.format("mig.profile") + '"a100.40gb" = "5"\n', "invalid MIG profile '5'"),
        (
            f"{NVIDIA}device-sharing-strategy = 'mps'\ndevice-partitioning-strategy = 'mig'\n",
            "MPS and MIG cannot be enabled simultaneously",
        ),
        ("[kubernetes]\n", "unknown table kubernetes"),
        ("[settings.kubelet-device-plugins.amd]\n", "kubelet-device-plugins.amd"),
    ],
)
def test_settings_that_the_os_refuses_are_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        bottlerocket.read(tomllib.loads(text))

    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "version", "since"),
    [
        (f"{NVIDIA}enabled = false\n", (1, 57), "1.63"),
        (f"{NVIDIA}device-sharing-strategy = 'mps'\n", (1, 53), "1.54"),
        (f"{NVIDIA}device-partitioning-strategy = 'none'\n", (1, 33), "1.34"),
        (f"{NVIDIA}device-sharing-strategy = 'none'\n", (1, 24), "1.25"),
    ],
)
def test_a_setting_that_is_newer_than_the_os_is_refused(
    text: str, version: tuple[int, int], since: str
) -> None:
    with pytest.raises(SettingsError, match=f"came with {since} and the OS is"):
        bottlerocket.read(tomllib.loads(text), version)


def test_the_settings_of_others_are_not_looked_at() -> None:
    settings = bottlerocket.read({"settings": {"kubernetes": {"anything": 1}}})

    assert settings.plugin is not None
    assert advertised((), settings.plugin) == {GPU: 0}


def test_a_node_with_settings_that_are_refused_never_joins() -> None:
    joining = boot(node(f"{NVIDIA}enabled = false\n"))

    assert joining.node is None
    assert joining.said == (
        "unknown field settings.kubelet-device-plugins.nvidia.enabled: "
        "it came with 1.63 and the OS is 1.57"
    )


def test_user_data_that_is_no_toml_stops_the_boot() -> None:
    assert boot(node("echo hello\n")).node is None


def test_the_built_in_plugin_can_be_switched_off() -> None:
    given = node(f"{NVIDIA}enabled = false\n")
    given["status"]["nodeInfo"]["osImage"] = "Bottlerocket OS 1.63.0 (aws-k8s-1.35-nvidia)"

    assert simulated(given).allocatable == {}


def test_an_image_of_ones_own_shows_by_its_user_data_what_it_is() -> None:
    assert simulated(node(SLICED, ami="CUSTOM")).allocatable == {GPU: 32}


def test_a_variant_without_nvidias_programs_has_no_plugin() -> None:
    assert built_in(node("", ami="BOTTLEROCKET_x86_64")) is None
