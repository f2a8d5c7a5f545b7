"""Who gets which value of the simulated exporter, by mode and by the exporter's options."""

from __future__ import annotations

import re
from typing import Any

import pytest

from eks_gpushare_lab.simulated_node.allocation import Device, DeviceManager, devices
from eks_gpushare_lab.simulated_node.config_file import Configuration, Replicated
from eks_gpushare_lab.simulated_node.dcgm_exporter import (
    ENGINE,
    FREE,
    USED,
    UTILISATION,
    ExporterMachine,
    Options,
    exposition,
    options_of,
)
from eks_gpushare_lab.simulated_node.gpus import MigInstance, SimulatedGpu, whole
from eks_gpushare_lab.simulated_node.hardware import hardware_of

GPU, SHARED, SMALL = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"
SEES_ALL = Options(virtual=True, resources=(SHARED,), host_pid=True)
FOUR = Configuration(strategy="time-slicing", resources=(Replicated(GPU, 4),))
MIXED = Configuration(mig_strategy="mixed")
SEVEN = SimulatedGpu(mig=True, instances=tuple(MigInstance("1g.5gb", n) for n in range(7)))


def pod(name: str, resource: str = GPU, count: int = 1, phase: str = "Running") -> dict[str, Any]:
    container = {"name": "main", "resources": {"limits": {resource: str(count), "cpu": "1"}}}
    metadata = {"name": name, "namespace": "team", "uid": f"uid-{name}", "creationTimestamp": name}
    spec = {"containers": [container, {"name": "sidecar"}]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def told(
    configuration: Configuration,
    loads: dict[str, float],
    options: Options = SEES_ALL,
    *,
    kind: str = "g4dn.xlarge",
    gpus: tuple[SimulatedGpu, ...] | None = None,
    resource: str = GPU,
    memory: float = 0,
) -> dict[str, dict[str, float]]:
    """By metric, value by pod; `""` for the device's own, with its instance if it is one."""
    hardware = hardware_of(kind)
    assert hardware is not None
    gpus = gpus or whole(hardware.count)
    pods = [pod(name, resource) for name in loads]
    manager = DeviceManager()
    manager.update(devices(gpus, configuration), pods)
    machine = ExporterMachine(
        "node-0",
        hardware,
        gpus,
        manager.holdings,
        {each["metadata"]["uid"]: each for each in pods},
        lambda each: loads[each["metadata"]["name"]],
        lambda _: memory,
    )
    found: dict[str, dict[str, float]] = {}
    for metric, labels, value in series(exposition(machine, options)):
        found.setdefault(metric, {})[labels.get("pod", "")] = value
    return found


def series(text: str) -> list[tuple[str, dict[str, str], float]]:
    found = []
    for line in text.splitlines():
        if not line.startswith("#"):
            parts = re.fullmatch(r"(\w+)\{(.*)\} (\S+)", line)
            assert parts is not None, line
            labels = dict(re.findall(r'(\w+)="([^"]*)"', parts[2]))
            found.append((parts[1], labels, float(parts[3])))
    return found


def test_processes_of_pods_that_share_a_gpu_are_told_apart() -> None:
    found = told(FOUR, {"a": 60, "b": 20})

    assert found[UTILISATION] == {"": 80, "a": 60, "b": 20}


def test_other_values_are_copied_to_all_who_share() -> None:
    found = told(FOUR, {"a": 60, "b": 20})

    assert found[ENGINE] == {"a": 0.8, "b": 0.8}


def test_without_host_pid_every_pod_seems_idle() -> None:
    found = told(FOUR, {"a": 60, "b": 20}, Options(virtual=True))

    assert found[UTILISATION] == {"": 80, "a": 0, "b": 0}


def test_without_the_option_one_pod_has_the_value_of_the_device() -> None:
    found = told(FOUR, {"a": 60, "b": 20}, Options(host_pid=True))

    assert found[UTILISATION] == {"b": 80}


def test_a_renamed_resource_has_to_be_listed() -> None:
    renamed = Configuration(strategy="time-slicing", resources=FOUR.resources, renamed=True)
    unlisted = told(renamed, {"a": 60}, Options(virtual=True, host_pid=True), resource=SHARED)
    listed = told(renamed, {"a": 60}, resource=SHARED)

    assert unlisted[UTILISATION] == {"": 60}
    assert listed[UTILISATION] == {"": 60, "a": 60}


def test_a_gpu_is_never_in_use_by_more_than_a_whole() -> None:
    found = told(FOUR, {"a": 90, "b": 90, "c": 180})

    assert found[UTILISATION] == {"": 100, "a": 25, "b": 25, "c": 50}
    assert set(found[ENGINE].values()) == {1}


def test_each_instance_has_values_of_its_own() -> None:
    found = told(
        MIXED, {"a": 90, "b": 5}, kind="p4d.24xlarge", gpus=(SEVEN,), resource=SMALL, memory=100
    )

    assert found[ENGINE] == {"a": 0.9, "b": 0.05, "": 0}
    assert found[USED]["a"] == found[USED]["b"] == 100
    assert found[FREE]["a"] == 5 * 1024 - 100


def test_a_split_gpu_has_no_utilisation() -> None:
    found = told(MIXED, {"a": 90}, kind="p4d.24xlarge", gpus=(SEVEN,), resource=SMALL)

    assert UTILISATION not in found


def test_pods_that_take_turns_on_an_instance_have_its_value() -> None:
    turns = Configuration("mixed", "time-slicing", (Replicated(SMALL, 2),))
    gpus = (SimulatedGpu(mig=True, instances=(MigInstance("1g.5gb", 0),)),)
    found = told(turns, {"a": 90, "b": 0}, kind="p4d.24xlarge", gpus=gpus, resource=SMALL)

    assert found[ENGINE] == {"a": 0.9, "b": 0.9}


def test_a_gpu_that_nobody_has_is_told_of_too() -> None:
    assert told(FOUR, {})[UTILISATION] == {"": 0}


def test_labels_are_those_of_the_exporter() -> None:
    hardware = hardware_of("g4dn.xlarge")
    assert hardware is not None
    pods = [pod("a")]
    manager = DeviceManager()
    manager.update(devices(whole(1), FOUR), pods)
    machine = ExporterMachine(
        "node-0", hardware, whole(1), manager.holdings, {"uid-a": pods[0]}, lambda _: 7.0
    )
    found = {
        (name, "pod" in labels): labels for name, labels, _ in series(exposition(machine, SEES_ALL))
    }
    own = {"gpu", "UUID", "pci_bus_id", "device", "modelName", "hostname"}
    ours = {"container", "namespace", "pod", "vgpu"}

    assert found[UTILISATION, False].keys() == own
    assert found[UTILISATION, True].keys() == own | ours | {"pod_uid"}
    assert found[ENGINE, True].keys() == own | ours
    assert found[ENGINE, True]["modelName"] == "Tesla T4"


@pytest.mark.parametrize(
    ("image", "label"),
    [
        ("nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-ubuntu22.04", "Hostname"),
        ("nvcr.io/nvidia/k8s/dcgm-exporter:4.2.0-4.1.0-ubi9", "Hostname"),
        ("nvcr.io/nvidia/dcgm-exporter:4.6.0-4.8.3-distroless", "hostname"),
        ("example.com/mirror/exporter@sha256:0123", "hostname"),
    ],
)
def test_the_label_of_the_node_was_renamed(image: str, label: str) -> None:
    container = {"name": "exporter", "command": ["dcgm-exporter"], "image": image}

    assert options_of({"spec": {"containers": [container]}}).hostname == label


def test_options_are_read_from_the_pod() -> None:
    env = {
        "KUBERNETES_VIRTUAL_GPUS": "true",
        "NVIDIA_RESOURCE_NAMES": f"{SHARED}, example.com/gpu",
        "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID": "1",
    }
    variables = [{"name": key, "value": value} for key, value in env.items()]
    container = {"name": "exporter", "command": ["/usr/bin/dcgm-exporter"], "env": variables}
    found = options_of({"spec": {"containers": [container], "hostPID": True}})

    assert found == Options(
        virtual=True, resources=(SHARED, "example.com/gpu"), host_pid=True, pod_uid=True
    )


def test_shares_go_to_the_gpu_that_has_given_out_fewest() -> None:
    manager = DeviceManager()
    manager.update(devices(whole(2), FOUR), [pod(name) for name in "abcd"])

    assert [each.device.gpu for each in manager.holdings] == [0, 1, 0, 1]


def test_a_pod_keeps_its_share_until_it_ends() -> None:
    manager = DeviceManager()
    listed = devices(whole(2), FOUR)
    manager.update(listed, [pod("a"), pod("b"), pod("c")])
    before = {each.pod: each.device for each in manager.holdings}
    manager.update(listed, [pod("a", phase="Succeeded"), pod("b"), pod("c"), pod("d")])
    after = {each.pod: each.device for each in manager.holdings}

    assert {uid: after[uid] for uid in ("uid-b", "uid-c")} == {
        uid: before[uid] for uid in ("uid-b", "uid-c")
    }
    assert after.keys() == {"uid-b", "uid-c", "uid-d"}


def test_nobody_is_given_more_than_there_is() -> None:
    manager = DeviceManager()
    manager.update(devices(whole(1), Configuration()), [pod("a"), pod("b")])

    assert [(each.pod, each.device) for each in manager.holdings] == [("uid-a", Device(0))]
