"""EKS's images, and which instances each serves."""

from __future__ import annotations

import dataclasses
import re

import pytest

from eks_gpushare.catalog import (
    Ami,
    InstanceType,
    ami_types,
    gpu_instance_types,
    nvidia_ami,
    other_instance_type,
    standard_ami,
)

# AMITypes of the EKS API, without Windows, Neuron and the dead AL2 ones.
API_TYPES = {
    *("AL2023_x86_64_STANDARD", "AL2023_ARM_64_STANDARD"),
    *("AL2023_x86_64_NVIDIA", "AL2023_ARM_64_NVIDIA"),
    *("BOTTLEROCKET_x86_64", "BOTTLEROCKET_ARM_64"),
    *("BOTTLEROCKET_x86_64_FIPS", "BOTTLEROCKET_ARM_64_FIPS"),
    *("BOTTLEROCKET_x86_64_NVIDIA", "BOTTLEROCKET_ARM_64_NVIDIA"),
    *("BOTTLEROCKET_x86_64_NVIDIA_FIPS", "BOTTLEROCKET_ARM_64_NVIDIA_FIPS"),
}


def nvidia(family: str, arch: str = "amd64", *, fips: bool = False) -> Ami:
    found = nvidia_ami(family, arch, fips=fips)
    assert found is not None
    return found


def gpu_type(name: str) -> InstanceType:
    return gpu_instance_types()[name]


def test_the_types_are_spelt_as_the_eks_api_spells_them() -> None:
    assert {ami.type for ami in ami_types()} == API_TYPES


@pytest.mark.parametrize(
    ("family", "arch", "expected"),
    [
        ("al2023", "amd64", "AL2023_x86_64_NVIDIA"),
        ("al2023", "arm64", "AL2023_ARM_64_NVIDIA"),
        ("bottlerocket", "amd64", "BOTTLEROCKET_x86_64_NVIDIA"),
        ("bottlerocket", "arm64", "BOTTLEROCKET_ARM_64_NVIDIA"),
    ],
)
def test_family_and_architecture_choose_the_nvidia_image(
    family: str, arch: str, expected: str
) -> None:
    assert nvidia(family, arch).type == expected


def test_bottlerocket_has_a_fips_image_with_the_driver() -> None:
    assert nvidia("bottlerocket", fips=True).type == "BOTTLEROCKET_x86_64_NVIDIA_FIPS"


def test_al2023_has_no_fips_image_with_the_driver() -> None:
    assert nvidia_ami("al2023", "amd64", fips=True) is None


def test_a_custom_family_has_no_image() -> None:
    assert nvidia_ami("custom", "amd64") is None


def test_the_standard_image_has_no_driver() -> None:
    found = standard_ami("al2023", "amd64")

    assert (found.type, found.driver, found.preinstalled) == ("AL2023_x86_64_STANDARD", None, ())


@pytest.mark.parametrize("ami", [a for a in ami_types() if a.driver], ids=lambda ami: ami.type)
def test_every_nvidia_image_ships_driver_and_toolkit(ami: Ami) -> None:
    assert ami.driver == 580
    assert {"driver", "container-toolkit"} <= set(ami.preinstalled)


def test_only_bottlerocket_brings_a_device_plugin_and_a_mig_manager() -> None:
    families = {
        ami.family for ami in ami_types() if {"device-plugin", "mig-manager"} & {*ami.preinstalled}
    }

    assert families == {"bottlerocket"}


@pytest.mark.parametrize("ami", ami_types(), ids=lambda ami: ami.type)
def test_every_image_says_where_its_facts_are_from_and_when(ami: Ami) -> None:
    assert ami.source
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", ami.read)


def test_bottlerocket_keeps_container_images_on_a_second_disk() -> None:
    found = nvidia("bottlerocket")

    assert (found.root_device, found.disk_device) == ("/dev/xvda", "/dev/xvdb")


def test_al2023_keeps_container_images_on_the_root_disk() -> None:
    assert nvidia("al2023").disk_device == "/dev/xvda"


@pytest.mark.parametrize("ami", ami_types(), ids=lambda ami: ami.type)
def test_every_family_that_an_image_lists_comes_up_on_it(ami: Ami) -> None:
    refused = {
        found.name: ami.why_not(found)
        for found in gpu_instance_types().values()
        if found.family in ami.families and ami.why_not(found)
    }

    assert refused == {}


@pytest.mark.parametrize("ami", ami_types(), ids=lambda ami: ami.type)
def test_every_listed_family_is_in_the_catalog_or_known_to_be_missing(ami: Ami) -> None:
    known = {found.family for found in gpu_instance_types().values()}

    assert set(ami.families) - known <= {"p6e-gb300"}


def test_every_family_but_g7_has_an_image() -> None:
    served = {
        found.family
        for found in gpu_instance_types().values()
        if any(ami.why_not(found) is None for ami in ami_types())
    }

    assert {found.family for found in gpu_instance_types().values()} - served == {"g7"}


@pytest.mark.parametrize(
    ("family", "release"),
    [
        ("al2023", None),
        ("al2023", "1.36.3-20260911"),
        ("al2023", "newest"),
        ("bottlerocket", None),
        ("bottlerocket", "1.65.0-0be31b34"),
    ],
)
def test_g7_is_refused_for_the_driver(family: str, release: str | None) -> None:
    assert nvidia(family).why_not(gpu_type("g7.2xlarge"), release) == (
        "the image ships driver branch 580, g7.2xlarge needs 595 or newer"
    )


@pytest.mark.parametrize("release", ["1.36.4-20260917", "1.35.8-20260930"])
def test_g7_runs_on_al2023_releases_with_a_second_driver(release: str) -> None:
    found = nvidia("al2023")

    assert found.why_not(gpu_type("g7.2xlarge"), release) is None
    assert found.driver_for(gpu_type("g7.2xlarge"), release) == 595


def test_the_second_driver_is_for_g7_alone() -> None:
    assert nvidia("al2023").driver_for(gpu_type("p3.8xlarge"), "1.35.8-20260930") == 580


def test_a_newer_driver_is_refused_where_the_type_needs_an_old_one() -> None:
    newer = nvidia("al2023")._replace(driver=595)

    assert newer.why_not(gpu_type("g6f.large")) == (
        "the image ships driver branch 595, g6f.large needs 580 or older"
    )


def test_the_wrong_architecture_is_refused() -> None:
    assert nvidia("al2023").why_not(gpu_type("g5g.xlarge")) == (
        "the image is for amd64, g5g.xlarge is arm64"
    )


def test_a_gpu_on_a_standard_image_is_refused() -> None:
    found = standard_ami("al2023", "amd64")

    assert found.why_not(gpu_type("g5.xlarge")) == "the image has no NVIDIA driver"


def test_p6e_gb200_on_bottlerocket_is_refused() -> None:
    found = nvidia("bottlerocket", "arm64")

    assert found.why_not(gpu_type("p6e-gb200.36xlarge")) == (
        "AWS does not list p6e-gb200 for BOTTLEROCKET_ARM_64_NVIDIA"
    )


def test_a_type_that_no_image_lists_is_judged_by_its_driver() -> None:
    new = dataclasses.replace(gpu_type("g5.xlarge"), name="g9.xlarge")

    assert nvidia("al2023").why_not(new) is None
    assert nvidia("al2023").why_not(dataclasses.replace(new, driver_min=600)) is not None


def test_a_type_without_a_gpu_runs_on_a_standard_image() -> None:
    found = other_instance_type("t3.large")
    assert found is not None

    assert standard_ami("bottlerocket", "amd64").why_not(found) is None
