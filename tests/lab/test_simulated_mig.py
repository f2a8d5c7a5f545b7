"""MIG on simulated machines: what the hardware, its driver and NVIDIA's programs accept."""

from __future__ import annotations

import pytest

from eks_gpushare_lab.simulated_node import discovery, mig_parted
from eks_gpushare_lab.simulated_node.advertising import DevicesError, advertised
from eks_gpushare_lab.simulated_node.config_file import Configuration, Replicated
from eks_gpushare_lab.simulated_node.gpus import (
    STATE,
    MigInstance,
    SimulatedGpu,
    encode,
    of_node,
    whole,
)
from eks_gpushare_lab.simulated_node.hardware import Hardware, hardware_of
from eks_gpushare_lab.simulated_node.mig_driver import PartitionError, arrange, create
from eks_gpushare_lab.simulated_node.mig_parted import ApplyError, SpecError

GPU = "nvidia.com/gpu"
BALANCED = {"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2}


def machine(kind: str = "p4d.24xlarge") -> Hardware:
    found = hardware_of(kind)
    assert found is not None
    return found


def partitioned(*profiles: str) -> SimulatedGpu:
    """A GPU with instances; where they lie does not matter to whom it is given."""
    return SimulatedGpu(
        mig=True, instances=tuple(MigInstance(name, n) for n, name in enumerate(profiles))
    )


# What `nvidia-smi mig -cgi` makes of profiles, by NVIDIA's MIG user guide.


@pytest.mark.parametrize(
    ("wanted", "made"),
    [
        ("19:0,19:1", [("1g.5gb", 0), ("1g.5gb", 1)]),
        (
            "9:4,14:2,19:0,19:1",
            [("3g.20gb", 4), ("2g.10gb", 2), ("1g.5gb", 0), ("1g.5gb", 1)],
        ),
        ("5:0,9:4", [("4g.20gb", 0), ("3g.20gb", 4)]),
        ("20:0,15:2", [("1g.5gb+me", 0), ("1g.10gb", 2)]),
        ("0:0", [("7g.40gb", 0)]),
        ("3g.20gb:0", [("3g.20gb", 0)]),
    ],
)
def test_profiles_are_made_where_they_may_lie(wanted: str, made: list[tuple[str, int]]) -> None:
    model = machine().mig
    assert model is not None
    pairs = [each.split(":") for each in wanted.split(",")]

    assert [tuple(each) for each in create(model, [(p, int(s)) for p, s in pairs])] == made


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ([("9", 0), ("9", 0)], "Insufficient Resources"),
        ([("9", 0), ("14", 2)], "Insufficient Resources"),
        ([("9", 2)], "3g.20gb cannot begin at 2, only at 0, 4"),
        ([("20", 0), ("20", 1)], "Insufficient Resources"),
        ([("99", 0)], "A100-40GB has no such profile"),
        ([("1g.10gb+gfx", 0)], "A100-40GB has no such profile"),
    ],
)
def test_what_overlaps_or_is_not_known_is_refused(
    wanted: list[tuple[str, int]], message: str
) -> None:
    model = machine().mig
    assert model is not None

    with pytest.raises(PartitionError, match=message):
        create(model, wanted)


@pytest.mark.parametrize(
    "counts", [{"3g.20gb": 2, "1g.5gb": 1}, {"1g.5gb": 8}, {"1g.5gb+me": 2}, {"4g.20gb": 2}]
)
def test_no_order_makes_too_much_fit(counts: dict[str, int]) -> None:
    model = machine().mig
    assert model is not None

    with pytest.raises(PartitionError, match="Insufficient Resources"):
        arrange(model, counts)


def test_counts_are_laid_without_regard_to_their_order() -> None:
    model = machine().mig
    assert model is not None

    assert len(arrange(model, {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1})) == 4


def test_what_a_gpu_is_cut_into_outlives_the_agent() -> None:
    gpus = (SimulatedGpu(), SimulatedGpu(mig=True), partitioned("3g.20gb", "2g.10gb"))
    node = {"metadata": {"annotations": {STATE: encode(gpus)}}}

    assert of_node(node, 3) == gpus


# The device plugin and GPU feature discovery, by their sources.


@pytest.mark.parametrize(
    ("strategy", "gpus", "counts"),
    [
        ("none", (partitioned("1g.5gb"), SimulatedGpu()), {GPU: 2}),
        ("single", (SimulatedGpu(), SimulatedGpu()), {GPU: 2}),
        ("single", (partitioned("1g.5gb", "1g.5gb"), partitioned("1g.5gb")), {GPU: 3}),
        (
            "mixed",
            (SimulatedGpu(), partitioned("1g.5gb", "1g.5gb")),
            {GPU: 1, "nvidia.com/mig-1g.5gb": 2},
        ),
        ("mixed", (partitioned("1g.5gb+me"),), {"nvidia.com/mig-1g.5gb.me": 1}),
        ("mixed", (SimulatedGpu(mig=True),), {}),
    ],
)
def test_devices_follow_the_mig_strategy(
    strategy: str, gpus: tuple[SimulatedGpu, ...], counts: dict[str, int]
) -> None:
    assert advertised(gpus, Configuration(strategy)) == counts


@pytest.mark.parametrize(
    ("gpus", "message"),
    [
        (
            (partitioned("1g.5gb"), SimulatedGpu()),
            "all devices on the node must be configured with the same migEnabled value",
        ),
        ((partitioned("1g.5gb", "2g.10gb"),), "more than one MIG device type present on node"),
        ((partitioned("1g.5gb"), SimulatedGpu(mig=True)), "device 1 has no MIG devices configured"),
    ],
)
def test_the_single_strategy_wants_one_profile_everywhere(
    gpus: tuple[SimulatedGpu, ...], message: str
) -> None:
    with pytest.raises(DevicesError) as raised:
        advertised(gpus, Configuration("single"))

    assert str(raised.value).endswith(f": {message}")


def slicing(name: str, *, renamed: bool = False) -> Configuration:
    return Configuration("mixed", "time-slicing", (Replicated(name, 4),), renamed=renamed)


@pytest.mark.parametrize(
    ("configuration", "counts"),
    [
        (slicing("nvidia.com/mig-1g.5gb"), {GPU: 1, "nvidia.com/mig-1g.5gb": 8}),
        (
            slicing("nvidia.com/mig-1g.5gb", renamed=True),
            {GPU: 1, "nvidia.com/mig-1g.5gb.shared": 8},
        ),
        (slicing(GPU), {GPU: 4, "nvidia.com/mig-1g.5gb": 2}),
        (slicing("nvidia.com/mig-2g.10gb"), {GPU: 1, "nvidia.com/mig-1g.5gb": 2}),
    ],
)
def test_instances_are_shared_by_their_resource(
    configuration: Configuration, counts: dict[str, int]
) -> None:
    assert advertised((SimulatedGpu(), partitioned("1g.5gb", "1g.5gb")), configuration) == counts


def test_mps_does_not_serve_instances() -> None:
    mps = Configuration("single", "mps", (Replicated(GPU, 4),))

    with pytest.raises(DevicesError, match="sharing using MPS is not supported for MIG devices"):
        advertised((partitioned("1g.5gb"),), mps)


def labels(strategy: str, *gpus: SimulatedGpu) -> dict[str, str]:
    return discovery.labels(machine(), gpus, Configuration(strategy))


def test_instances_of_the_mixed_strategy_have_labels_of_their_own() -> None:
    found = labels("mixed", partitioned("1g.5gb", "1g.5gb"), SimulatedGpu())

    assert {key: value for key, value in found.items() if "mig-" in key} == {
        "nvidia.com/mig-1g.5gb.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
        "nvidia.com/mig-1g.5gb.count": "2",
        "nvidia.com/mig-1g.5gb.replicas": "1",
        "nvidia.com/mig-1g.5gb.sharing-strategy": "none",
        "nvidia.com/mig-1g.5gb.memory": "4864",
        "nvidia.com/mig-1g.5gb.multiprocessors": "14",
        "nvidia.com/mig-1g.5gb.slices.gi": "1",
        "nvidia.com/mig-1g.5gb.slices.ci": "1",
    }
    assert (found["nvidia.com/gpu.count"], found["nvidia.com/mig.strategy"]) == ("2", "mixed")


def test_the_single_strategy_describes_instances_as_gpus() -> None:
    found = labels("single", partitioned("1g.5gb", "1g.5gb"), partitioned("1g.5gb"))

    assert found["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"
    assert (found["nvidia.com/gpu.count"], found["nvidia.com/gpu.memory"]) == ("3", "4864")


def test_gpus_that_the_single_strategy_cannot_have_are_labelled_invalid() -> None:
    found = labels("single", partitioned("1g.5gb"), SimulatedGpu())

    assert found["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB-MIG-INVALID"
    assert (found["nvidia.com/gpu.count"], found["nvidia.com/gpu.replicas"]) == ("0", "0")


def test_gpus_with_mig_mode_count_no_replicas() -> None:
    assert labels("mixed", partitioned("1g.5gb"))["nvidia.com/gpu.replicas"] == "0"


def test_discovery_stops_where_mps_meets_mig() -> None:
    with pytest.raises(DevicesError, match="MPS sharing is not supported for mig devices"):
        discovery.labels(machine(), (partitioned("1g.5gb"),), Configuration("none", "mps"))


def test_labels_of_profiles_that_went_go_too() -> None:
    there = {"nvidia.com/mig-2g.10gb.count": "1", "nvidia.com/mig.strategy": "mixed", "team": "a"}

    assert discovery.stale(there, labels("none", SimulatedGpu())) == [
        "nvidia.com/mig-2g.10gb.count",
        "nvidia.com/mig.strategy",
    ]


# mig-parted's document, as its README and examples/config.yaml have it.

EXAMPLE = """
version: v1
mig-configs:
  all-disabled:
  - devices: all
    mig-enabled: false
  half:
  - devices: [0, 1, 2, 3]
    mig-enabled: false
  - devices: [4, 5, 6, 7]
    mig-enabled: true
    mig-devices: {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}
  filtered:
  - device-filter: ["0x20B010DE"]
    devices: all
    mig-enabled: true
    mig-devices: {"1g.5gb": 7}
  - device-filter: "0x233010DE"
    devices: all
    mig-enabled: true
    mig-devices: {"1g.10gb": 7}
  twice:
  - {devices: all, mig-enabled: true, mig-devices: {"1g.5gb": 7}}
  - {devices: [0], mig-enabled: true, mig-devices: {"3g.20gb": 2}}
"""


def applied(name: str, gpus: tuple[SimulatedGpu, ...] | None = None) -> list[dict[str, int]]:
    hardware, items = machine(), mig_parted.selected(mig_parted.read(EXAMPLE), name)
    there = mig_parted.with_modes(items, gpus or whole(hardware.count), hardware)
    made = mig_parted.with_instances(items, there, hardware)
    return [gpu.counts() for gpu in made]


def test_a_configuration_is_for_some_gpus() -> None:
    assert applied("half") == [{}] * 4 + [BALANCED] * 4


def test_a_filter_picks_the_board() -> None:
    assert applied("filtered") == [{"1g.5gb": 7}] * 8


def test_of_several_items_for_a_gpu_the_last_stays() -> None:
    assert applied("twice") == [{"3g.20gb": 2}] + [{"1g.5gb": 7}] * 7


def test_what_was_there_goes_when_mode_is_set() -> None:
    assert applied("all-disabled", (partitioned("1g.5gb"),) * 8) == [{}] * 8


def item(content: str) -> str:
    return f"{{version: v1, mig-configs: {{a: [{{{content}}}]}}}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "missing 'version' field"),
        ("{version: v2, mig-configs: {a: []}}", "unknown version: v2"),
        ("{version: v1}", "at least one entry in 'mig-configs' is required"),
        ("{version: v1, mig-configs: {a: []}}", "at least one entry in 'a' is required"),
        ("{version: v1, more: 1}", "unexpected field: more"),
        (item("devices: all"), "missing required field: mig-enabled"),
        (item("devices: some, mig-enabled: false"), "string input for 'devices': some"),
        (
            item("devices: all, mig-enabled: true"),
            "missing required field 'mig-devices' when 'mig-enabled' is true",
        ),
        (
            item("devices: all, mig-enabled: true, mig-devices: null"),
            "missing required field 'mig-devices' when 'mig-enabled' is true",
        ),
        (
            item("devices: all, mig-enabled: false, mig-devices: {1g.5gb: 1}"),
            "MIG devices included when 'mig-enabled' is false",
        ),
        (item("devices: all, mig-enabled: true, migDevices: {}"), "field: migDevices"),
        (
            item("devices: all, mig-enabled: true, mig-devices: {1g: 1}"),
            "invalid format for '1g'",
        ),
        (
            item("devices: all, mig-enabled: true, mig-devices: {1g.5gb: 0}"),
            "all counts for all MigProfiles are 0",
        ),
    ],
)
def test_a_document_that_mig_parted_refuses_is_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError) as raised:
        mig_parted.read(text)

    assert message in str(raised.value)


def test_a_configuration_that_is_not_there_is_named() -> None:
    with pytest.raises(SpecError, match="selected mig-config not present: all-1g"):
        mig_parted.selected(mig_parted.read(EXAMPLE), "all-1g.5gb")


def test_instances_that_do_not_fit_are_refused() -> None:
    items = (mig_parted.AppliedItem(None, enabled=True, counts={"3g.20gb": 2, "1g.5gb": 1}),)
    there = mig_parted.with_modes(items, whole(8), machine())

    with pytest.raises(ApplyError, match=r"GPU 0: 3g\.20gb x 2, 1g\.5gb x 1: Failed to create"):
        mig_parted.with_instances(items, there, machine())


def test_gpus_without_mig_are_passed_over_where_all_are_meant() -> None:
    items = (mig_parted.AppliedItem(None, enabled=True, counts={"1g.5gb": 1}),)

    assert mig_parted.with_modes(items, whole(1), machine("g5.xlarge")) == whole(1)


def test_a_gpu_without_mig_is_refused_where_it_is_named() -> None:
    items = (mig_parted.AppliedItem((0,), enabled=True, counts={"1g.5gb": 1}),)

    with pytest.raises(ApplyError, match="non MIG-capable GPU"):
        mig_parted.with_modes(items, whole(1), machine("g5.xlarge"))


def test_without_a_file_the_hardware_names_the_configurations() -> None:
    found = mig_parted.generated(machine())

    assert {name: dict(items[0].counts) for name, items in found.items()} == {
        "all-disabled": {},
        "all-enabled": {},
        "all-1g.5gb": {"1g.5gb": 7},
        "all-1g.5gb.me": {"1g.5gb+me": 1},
        "all-1g.10gb": {"1g.10gb": 4},
        "all-2g.10gb": {"2g.10gb": 3},
        "all-3g.20gb": {"3g.20gb": 2},
        "all-4g.20gb": {"4g.20gb": 1},
        "all-7g.40gb": {"7g.40gb": 1},
        "all-balanced": BALANCED,
    }
