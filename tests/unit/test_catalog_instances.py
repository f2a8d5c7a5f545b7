"""The instance tables, held against figures that were copied by hand from AWS's own pages."""

from __future__ import annotations

import dataclasses

import pytest

from eks_gpushare.catalog import (
    InstanceType,
    alternatives,
    eks_max_pods,
    gpu_instance_types,
    memory_text,
    mps_client_limit,
    other_instance_type,
)

ALL = sorted(gpu_instance_types())

# name: vCPUs, GiB, arch, GPUs, model, MiB of one by EC2, EFA interfaces, NVMe GB, us-east-1 USD/h
TABLE = {
    "p3.2xlarge": (8, 61, "amd64", 1, "V100", 16384, 0, 0, 3.06),
    "p3.8xlarge": (32, 244, "amd64", 4, "V100", 16384, 0, 0, 12.24),
    "p3.16xlarge": (64, 488, "amd64", 8, "V100", 16384, 0, 0, 24.48),
    "p3dn.24xlarge": (96, 768, "amd64", 8, "V100", 32768, 1, 1800, 31.212),
    "p4d.24xlarge": (96, 1152, "amd64", 8, "A100", 40960, 4, 8000, 21.957642),
    "p4de.24xlarge": (96, 1152, "amd64", 8, "A100", 81920, 4, 8000, 27.44705),
    "p5.4xlarge": (16, 256, "amd64", 1, "H100", 81920, 1, 3800, 6.88),
    "p5.48xlarge": (192, 2048, "amd64", 8, "H100", 81920, 32, 30400, 55.04),
    "p5e.48xlarge": (192, 2048, "amd64", 8, "H200", 144384, 32, 30400, None),
    "p6-b200.48xlarge": (192, 2048, "amd64", 8, "B200", 183359, 8, 30400, 113.9328),
    "p6-b300.48xlarge": (192, 4096, "amd64", 8, "B300", 275040, 16, 30400, 142.416),
    "p6e-gb200.36xlarge": (144, 960, "arm64", 4, "GB200", None, 8, 22500, None),
    "g4dn.xlarge": (4, 16, "amd64", 1, "T4", 16384, 0, 125, 0.526),
    "g4dn.12xlarge": (48, 192, "amd64", 4, "T4", 16384, 1, 900, 3.912),
    "g4dn.metal": (96, 384, "amd64", 8, "T4", 16384, 1, 1800, 7.824),
    "g5.xlarge": (4, 16, "amd64", 1, "A10G", 22888, 0, 250, 1.006),
    "g5.48xlarge": (192, 768, "amd64", 8, "A10G", 22888, 1, 7600, 16.288),
    "g5g.16xlarge": (64, 128, "arm64", 2, "T4g", 16384, 0, 0, 2.744),
    "g6.12xlarge": (48, 192, "amd64", 4, "L4", 22888, 1, 3760, 4.6016),
    "g6e.24xlarge": (96, 768, "amd64", 4, "L40S", 45776, 2, 3800, 15.06559),
    "g6f.large": (2, 8, "amd64", 1, "L4", 2861, 0, 100, 0.202),
    "g7.12xlarge": (48, 192, "amd64", 2, "RTX PRO 4500", 32768, 1, 1900, 7.12832),
    "g7e.12xlarge": (48, 512, "amd64", 2, "RTX PRO Server 6000", 98304, 1, 3800, 8.28608),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_type_has_the_figures_of_aws_own_tables(name: str) -> None:
    found = gpu_instance_types()[name]
    assert found.gpu is not None

    assert TABLE[name] == (
        found.vcpus,
        found.memory_mib / 1024,
        found.arch,
        found.gpu_count,
        found.gpu.model,
        found.gpu.ec2_memory_mib,
        found.efa_interfaces,
        found.nvme_gb,
        found.price("us-east-1"),
    )


# Total of FB memory as nvidia-smi shows it with drivers of branch 510 or later, by board: copied
# from public output. The T4 is that of NVIDIA's own README of GPU feature discovery.
DRIVER_MIB = {
    "p3.2xlarge": 16384,
    "p3dn.24xlarge": 32768,
    "p4d.24xlarge": 40960,
    "p4de.24xlarge": 81920,
    "p5.4xlarge": 81559,
    "p5en.48xlarge": 143771,
    "p6-b200.48xlarge": 183359,
    "p6-b300.48xlarge": 275040,
    "p6e-gb200.36xlarge": 189471,
    "g4dn.xlarge": 15360,
    "g5.xlarge": 23028,
    "g5g.xlarge": 15360,
    "g6.xlarge": 23034,
    "gr6.4xlarge": 23034,
    "g6e.xlarge": 46068,
    "g7e.2xlarge": 97887,
}


@pytest.mark.parametrize("name", DRIVER_MIB)
def test_memory_of_a_gpu_is_what_its_driver_reports(name: str) -> None:
    gpu = gpu_instance_types()[name].gpu
    assert gpu is not None

    assert (gpu.memory_mib, gpu.memory_estimated) == (DRIVER_MIB[name], False)
    assert memory_text(gpu) == f"{DRIVER_MIB[name]} MiB"


@pytest.mark.parametrize("name", ALL)
def test_memory_that_no_driver_was_seen_to_report_is_marked(name: str) -> None:
    found = gpu_instance_types()[name]
    assert found.gpu is not None
    unknown = found.family in {"g6f", "gr6f", "g7"}

    assert found.gpu.memory_estimated is unknown
    assert found.sources["nvml_memory_mib"].endswith("stands in for it") is unknown
    if unknown:
        assert found.gpu.memory_mib == found.gpu.ec2_memory_mib
        assert memory_text(found.gpu) == f"about {found.gpu.ec2_memory_mib} MiB"


def test_ec2_and_the_driver_are_never_far_apart() -> None:
    for found in gpu_instance_types().values():
        gpu = found.gpu
        if gpu is not None and gpu.memory_mib and gpu.ec2_memory_mib:
            assert abs(gpu.memory_mib - gpu.ec2_memory_mib) <= 0.07 * gpu.ec2_memory_mib


def test_the_table_has_69_types() -> None:
    assert len(gpu_instance_types()) == 69
    assert len(ALL) == 69


def test_a_type_that_is_not_there_is_no_member() -> None:
    assert "p3.4xlarge" not in gpu_instance_types()
    assert gpu_instance_types().get("p3.4xlarge") is None


def test_looking_a_type_up_twice_gives_the_same_object() -> None:
    assert gpu_instance_types()["g5.xlarge"] is gpu_instance_types()["g5.xlarge"]


def test_p3_8xlarge_costs_the_same_in_oregon() -> None:
    assert gpu_instance_types()["p3.8xlarge"].price("us-west-2") == 12.24


def test_a_region_without_a_known_price_has_none() -> None:
    assert gpu_instance_types()["p4d.24xlarge"].price("sa-east-1") is None


def test_prices_that_were_cut_are_known_elsewhere_too() -> None:
    """P4 and P5 cost a third to almost half less since June 2025, in all regions alike."""
    types = gpu_instance_types()

    assert types["p4d.24xlarge"].price("us-west-2") == 21.95764
    assert types["p5.48xlarge"].price("eu-north-1") == 58.8928


def test_types_without_a_gpu_have_prices_by_region() -> None:
    found = other_instance_type("t3.large")

    assert found is not None
    assert (found.price("us-west-2"), found.price("eu-central-1")) == (0.0832, 0.096)
    assert found.price("eu-nowhere-1") is None


def test_a_type_that_is_not_sold_by_the_hour_has_no_price_and_not_zero() -> None:
    assert gpu_instance_types()["p5e.48xlarge"].price("us-east-1") is None


@pytest.mark.parametrize("name", ALL)
def test_every_known_price_is_positive(name: str) -> None:
    known = [price for price in gpu_instance_types()[name].prices.values() if price is not None]

    assert all(price > 0 for price in known)


@pytest.mark.parametrize("name", ALL)
def test_every_field_of_every_type_has_a_source(name: str) -> None:
    found = gpu_instance_types()[name]
    missing = {
        field.name
        for field in dataclasses.fields(InstanceType)
        if not found.sources.get(_SOURCE_OF.get(field.name, field.name))
    }

    # The name is the key, notes repeat other fields in words, sources have none themselves, and
    # prices of spot are a stack's own.
    assert missing == {"name", "notes", "sources", "spot_prices"}


_SOURCE_OF = {"max_pods": "eni_pods", "driver_min": "driver", "driver_max": "driver"}


@pytest.mark.parametrize("name", ALL)
def test_a_node_takes_no_more_pods_than_eks_allows(name: str) -> None:
    found = gpu_instance_types()[name]

    assert found.max_pods is None or 0 < found.max_pods <= (110 if found.vcpus < 30 else 250)


def test_only_p6e_gb200_has_no_known_pod_limit() -> None:
    unknown = [name for name in ALL if gpu_instance_types()[name].max_pods is None]

    assert unknown == ["p6e-gb200.36xlarge"]


# From eni-max-pods.txt of awslabs/amazon-eks-ami: 8 * 29 + 2, 3 * 9 + 2, 15 * 49 + 2, 2 * 49 + 2.
@pytest.mark.parametrize(
    ("name", "pods"),
    [("p3.8xlarge", 234), ("g4dn.xlarge", 29), ("p4d.24xlarge", 737), ("p5.48xlarge", 100)],
)
def test_interfaces_alone_allow_as_many_pods_as_aws_lists(name: str, pods: int) -> None:
    assert gpu_instance_types()[name].eni_pods == pods


def test_a_t3_large_takes_35_pods() -> None:
    found = other_instance_type("t3.large")
    assert found is not None

    assert found.max_pods == 35


@pytest.mark.parametrize(
    ("eni_pods", "vcpus", "expected"),
    [(29, 4, 29), (234, 16, 110), (234, 29, 110), (234, 30, 234), (737, 96, 250), (None, 4, None)],
)
def test_eks_caps_pods_by_vcpus(eni_pods: int | None, vcpus: int, expected: int | None) -> None:
    assert eks_max_pods(eni_pods, vcpus) == expected


def test_a_fraction_of_a_gpu_is_one_for_the_driver_and_none_for_the_api() -> None:
    found = gpu_instance_types()["g6f.large"]

    assert (found.gpu_count, found.api_gpu_count, found.gpu_fraction) == (1, 0, 0.125)


def test_only_g6f_and_gr6f_have_fractions() -> None:
    families = {found.family for found in gpu_instance_types().values() if found.gpu_fraction < 1}

    assert families == {"g6f", "gr6f"}


def test_elsewhere_the_api_and_the_driver_count_alike() -> None:
    differing = {
        found.family
        for found in gpu_instance_types().values()
        if found.api_gpu_count != found.gpu_count
    }

    assert differing == {"g6f", "gr6f", "p6e-gb200"}


def test_three_p3_sizes_are_retired_and_offered_nowhere() -> None:
    retired = {
        found.name: dict(found.zones) for found in gpu_instance_types().values() if found.retired
    }

    assert retired == {"p3.2xlarge": {}, "p3.8xlarge": {}, "p3.16xlarge": {}}


def test_p3dn_is_still_sold() -> None:
    assert gpu_instance_types()["p3dn.24xlarge"].zones


def test_zones_are_the_ids_of_their_region() -> None:
    zones = gpu_instance_types()["g4dn.xlarge"].zones

    assert zones["us-west-2"] == ("usw2-az1", "usw2-az2", "usw2-az3")


def test_mig_capable_families_are_those_of_the_eks_user_guide() -> None:
    families = {
        found.family
        for found in gpu_instance_types().values()
        if found.gpu is not None and found.gpu.mig_capable
    }

    assert families == {
        *("p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300", "p6e-gb200"),
        *("g7", "g7e"),
    }


def test_driver_limits_are_those_of_the_image_builders() -> None:
    limits = {
        found.family: (found.driver_min, found.driver_max)
        for found in gpu_instance_types().values()
        if (found.driver_min, found.driver_max) != (None, None)
    }

    assert limits == {
        "g6f": (None, 580),
        "gr6f": (None, 580),
        "g7": (595, None),
        "p3": (None, 580),
        "p3dn": (None, 580),
    }


def test_p6e_gb200_comes_in_capacity_blocks_only() -> None:
    assert gpu_instance_types()["p6e-gb200.36xlarge"].usage_classes == ("capacity-block",)


@pytest.mark.parametrize(
    ("name", "limit"),
    [("p3.8xlarge", 16), ("g4dn.xlarge", 48), ("g5.xlarge", 48), ("p6-b300.48xlarge", 48)],
)
def test_mps_takes_16_clients_below_compute_capability_7_5(name: str, limit: int) -> None:
    gpu = gpu_instance_types()[name].gpu
    assert gpu is not None

    assert mps_client_limit(gpu) == limit


def test_alternatives_of_a_retired_type_have_as_many_gpus_and_come_cheapest_first() -> None:
    found = alternatives(gpu_instance_types()["p3.8xlarge"])

    assert found == (
        *("g4dn.12xlarge", "g6.12xlarge", "g5.12xlarge", "g6.24xlarge", "g5.24xlarge"),
        *("g6e.12xlarge", "g7.24xlarge", "g6e.24xlarge", "g7e.24xlarge"),
    )


@pytest.mark.parametrize("name", ALL)
def test_alternatives_can_be_bought(name: str) -> None:
    types = gpu_instance_types()
    found = [types[other] for other in alternatives(types[name])]

    assert not [other.name for other in found if other.retired or other.name == name]
    assert all("on-demand" in other.usage_classes for other in found)


def test_alternatives_of_a_whole_gpu_are_no_fractions() -> None:
    assert "g6f.large" not in alternatives(gpu_instance_types()["p3.2xlarge"])


def test_a_type_without_a_gpu_is_known_to_exist() -> None:
    found = other_instance_type("t3.large")

    assert found is not None
    assert (found.vcpus, found.memory_mib, found.arch, found.gpu) == (2, 8192, "amd64", None)


def test_no_type_is_in_both_tables() -> None:
    assert not [name for name in ALL if other_instance_type(name) is not None]


def test_a_name_that_ec2_does_not_have_is_in_no_table() -> None:
    assert other_instance_type("t3.gigantic") is None


def test_the_family_is_what_stands_before_the_dot() -> None:
    assert gpu_instance_types()["p6-b200.48xlarge"].family == "p6-b200"


def test_types_can_be_told_apart_in_a_set() -> None:
    types = gpu_instance_types()

    assert len({types["g5.xlarge"], types["g5.xlarge"], types["g5.2xlarge"]}) == 2
