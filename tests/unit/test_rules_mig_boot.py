"""Rules about MIG layouts that a node's own boot makes."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import findings

from eks_gpushare.catalog import gpu_instance_types, mig_model
from eks_gpushare.documents.mig_boot import mig_boot_part
from eks_gpushare.documents.node_config import USER_DATA_LIMIT, user_data, user_data_bytes
from eks_gpushare.sharing.mig.geometry import place
from eks_gpushare.sharing.mig.layout import GpuLayout, NodeLayout
from eks_gpushare.sharing.mig_boot import mig_boot

KARPENTER = {"provisioner": "karpenter", "nodes": {"min": None, "desired": None, "max": 2}}
CUSTOM = {"amiFamily": "custom", "amiVersion": None}
WITHOUT_DRIVER = {"id": "ami-0123456789abcdef0", "family": "al2023", "driverIncluded": False}


def pool(
    code: str,
    *types: str,
    layout: Any = "all-1g.10gb",
    apply: Any = "boot",
    **more: Any,
) -> list[tuple[str, str]]:
    sharing = {"mode": "mig", "layout": layout, "apply": apply}
    changes = {"instanceTypes": list(types), "sharing": sharing, **more}
    return findings({"pools": {"gpu": changes}}, code)


def test_nodes_of_somebody_else_are_not_cut_at_boot() -> None:
    assert pool("GPU242", "p5.48xlarge", provisioner="existing") == [
        (
            "pools.gpu.sharing.apply",
            "Somebody else makes these nodes, so their boot will not make the layout.",
        )
    ]


def test_mig_manager_may_cut_nodes_of_somebody_else() -> None:
    assert pool("GPU242", "p5.48xlarge", provisioner="existing", apply="migManager") == []


@pytest.mark.parametrize("provisioner", ["managedNodeGroup", "karpenter"])
def test_nodes_of_this_stack_may_be_cut_at_boot(provisioner: str) -> None:
    assert pool("GPU242", "p5.48xlarge", **{**KARPENTER, "provisioner": provisioner}) == []


def test_bottlerocket_has_settings_of_its_own() -> None:
    family = {"amiFamily": "bottlerocket", "amiVersion": None, "provisioner": "existing"}

    assert pool("GPU242", "p5.48xlarge", **family) == []


def test_an_image_without_driver_cannot_cut_at_boot() -> None:
    [(path, message)] = pool("GPU243", "p5.48xlarge", **CUSTOM, customAmi=WITHOUT_DRIVER)

    assert path == "pools.gpu.customAmi.driverIncluded"
    assert message == (
        "The AMI has no NVIDIA driver, so there is nothing to cut GPUs with before kubelet starts."
    )


def test_mig_manager_waits_for_the_operators_driver() -> None:
    more = {**CUSTOM, "customAmi": WITHOUT_DRIVER}

    assert pool("GPU243", "p5.48xlarge", apply="migManager", **more) == []


def test_one_boot_layout_is_for_one_number_of_gpus() -> None:
    assert pool("GPU241", "p5.4xlarge", "p5.48xlarge", **KARPENTER) == [
        (
            "pools.gpu.instanceTypes",
            "The types differ in GPUs: p5.4xlarge has 1, p5.48xlarge has 8.",
        )
    ]


def test_types_of_as_many_gpus_may_boot_alike() -> None:
    types = ["g7e.2xlarge", "g7e.4xlarge", "g7e.8xlarge"]

    assert pool("GPU241", *types, layout={"1g.24gb": 4}, **KARPENTER) == []


def test_mig_manager_takes_any_number_of_gpus() -> None:
    assert pool("GPU241", "p5.4xlarge", "p5.48xlarge", apply="migManager", **KARPENTER) == []


@pytest.mark.parametrize("name", ["p4d.24xlarge", "p4de.24xlarge"])
def test_a_reboot_of_ampere_is_told(name: str) -> None:
    assert pool("GPU244", name, layout="all-balanced") == [
        (
            "pools.gpu.sharing.apply",
            f"A new {name} reboots once before it joins, to switch MIG on.",
        )
    ]


@pytest.mark.parametrize("name", ["p5.48xlarge", "g7e.2xlarge"])
def test_later_gpus_switch_mig_on_without_a_reboot(name: str) -> None:
    assert pool("GPU244", name, layout="all-balanced") == []


@pytest.mark.parametrize("name", [n for n, t in gpu_instance_types().items() if t.gpu])
def test_the_longest_layout_of_every_type_fits_even_with_an_image_of_ones_own(name: str) -> None:
    found = gpu_instance_types()[name]
    model = mig_model(found.gpu) if found.gpu else None
    if model is None:
        return  # has no MIG
    most = max(model.profiles.values(), key=lambda profile: profile.max_count)
    devices = {most.name: most.max_count}
    cut = GpuLayout(devices, place(model, devices) or ())
    # A GPU that stays whole keeps the others from being named together.
    layout = NodeLayout(model, (*[cut] * (found.gpu_count - 1), GpuLayout({}, ())))
    cluster = ("c" * 100, f"https://{'e' * 80}", "a" * 1600, "255.255.255.255/32")

    assert user_data_bytes(user_data(mig_boot_part(mig_boot(layout)), cluster)) <= USER_DATA_LIMIT


def test_a_layout_too_long_for_a_launch_template_is_refused() -> None:
    layout = [{"gpus": list(range(63)), "devices": {"1g.24gb+me.all": 1, "1g.24gb-me": 3}}]
    changes = {"instanceTypes": ["g7e.48xlarge"], "sharing": {"mode": "mig", "layout": layout}}
    catalog = {"instanceTypes": {"g7e.48xlarge": {"gpu": {"count": 64}}}}
    [(path, message)] = findings({"catalog": catalog, "pools": {"gpu": changes}}, "GPU240")

    assert path == "pools.gpu.sharing.layout"
    assert message.startswith("The user data for the 64 GPUs of g7e.48xlarge has ")
    assert message.endswith(" bytes; at most 12288 leave EKS room for its own.")
