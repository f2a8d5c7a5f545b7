"""Rules about instance types, images and disks, on both sides of each limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from finding_examples import base, checked, findings, stack_file_text

from eks_gpushare.catalog import (
    Catalog,
    alternatives,
    gpu_instance_types,
    nvidia_ami,
    standard_ami,
)
from eks_gpushare.catalog.amis import NO_LDCONFIG, SecondDriver
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.rules import instances
from eks_gpushare.rules.images import (
    AMI_SERVES,
    AMI_VERSION,
    FLOATING_AMI,
    LOST_LIBRARIES,
    SMALL_DISK,
)
from eks_gpushare.rules.instances import (
    FRACTIONAL_GPU,
    MANY_TYPES,
    NOT_IN_REGION,
    TYPE_TWICE,
    not_in_region,
    type_faults,
)


def pool(code: str, **changes: Any) -> list[tuple[str, str]]:
    return findings({"pools": {"gpu": changes}}, code)


def test_a_type_that_does_not_exist_is_refused_with_a_guess() -> None:
    assert pool("GPU101", instanceTypes=["g5.xlarg"]) == [
        (
            "pools.gpu.instanceTypes[0]",
            "g5.xlarg is not an instance type that the catalog knows.",
        )
    ]


@pytest.mark.parametrize("name", ["m5.large", "t3.large", "inf2.xlarge", "c7i.4xlarge"])
def test_a_type_without_an_nvidia_gpu_is_refused(name: str) -> None:
    assert pool("GPU102", instanceTypes=[name]) == [
        ("pools.gpu.instanceTypes[0]", f"{name} has no NVIDIA GPU.")
    ]


def test_types_of_one_kind_may_share_a_pool() -> None:
    assert pool("GPU103", instanceTypes=["g5.xlarge", "g5.2xlarge", "g5.16xlarge"]) == []


@pytest.mark.parametrize("other", ["g5.12xlarge", "g4dn.xlarge", "g5g.xlarge"])
def test_types_of_several_kinds_may_not(other: str) -> None:
    [(path, message)] = pool("GPU103", instanceTypes=["g5.xlarge", other])

    assert path == "pools.gpu.instanceTypes"
    assert message.startswith("The types differ: g5.xlarge: 1 x A10G of 23028 MiB, amd64; ")


def test_karpenter_may_mix_them() -> None:
    nodes = {"min": None, "desired": None, "max": 3}
    types = ["g5.xlarge", "g5.12xlarge"]

    assert pool("GPU103", instanceTypes=types, provisioner="karpenter", nodes=nodes) == []


@pytest.mark.parametrize("name", ["p3.2xlarge", "p3.8xlarge", "p3.16xlarge"])
def test_a_retired_type_is_a_warning(name: str) -> None:
    count = gpu_instance_types()[name].gpu_count

    assert pool("GPU104", instanceTypes=[name]) == [
        (
            "pools.gpu.instanceTypes[0]",
            f"EC2 offers {name} ({count} x V100) in no region any more.",
        )
    ]


@pytest.mark.parametrize("name", [n for n, t in gpu_instance_types().items() if t.retired])
def test_the_alternatives_to_a_retired_type_have_as_many_gpus(name: str) -> None:
    retired = gpu_instance_types()[name]
    others = [gpu_instance_types()[other] for other in alternatives(retired)]

    assert others
    assert {(other.gpu_count, other.arch, other.retired) for other in others} == {
        (retired.gpu_count, retired.arch, False)
    }


@pytest.mark.parametrize(
    ("release", "refused"),
    [("1.35.6-20260916", True), ("1.35.6-20260917", False), (None, True)],
)
def test_a_g7_needs_an_image_with_driver_595(release: str | None, refused: bool) -> None:
    found = pool("GPU105", instanceTypes=["g7.2xlarge"], amiVersion=release)
    which = f" in release {release}" if release else ""

    assert found == (
        [
            (
                "pools.gpu.instanceTypes[0]",
                (
                    "g7.2xlarge (RTX PRO 4500) needs driver 595 or later; the al2023 AMI of EKS "
                    f"has 580{which}."
                ),
            )
        ]
        if refused
        else []
    )


@pytest.mark.parametrize("release", ["1.35.8-20260930", None])
def test_a_g7_is_served_by_the_image_if_by_its_driver(release: str | None) -> None:
    assert pool("GPU503", instanceTypes=["g7.2xlarge"], amiVersion=release) == []


def test_a_custom_image_is_the_users_business() -> None:
    ami = {"id": "ami-0123456789abcdef0", "family": "al2023", "driverIncluded": True}
    keys: dict[str, Any] = {"amiFamily": "custom", "customAmi": ami, "amiVersion": None}

    assert pool("GPU105", instanceTypes=["g7.2xlarge"], **keys) == []


ULTRA: dict[str, Any] = {
    "instanceTypes": ["p6e-gb200.36xlarge"],
    "capacityType": "capacityBlock",
    "reservation": {"id": "cr-0123456789abcdef0"},
    "zones": ["us-west-2a"],
}


def test_an_ultraserver_in_a_capacity_block_is_fine() -> None:
    assert pool("GPU106", **ULTRA) == []


@pytest.mark.parametrize("capacity", ["onDemand", "spot", "reserved"])
def test_an_ultraserver_is_bought_in_blocks_only(capacity: str) -> None:
    assert pool("GPU106", **(ULTRA | {"capacityType": capacity})) == [
        (
            "pools.gpu.capacityType",
            f"p6e-gb200.36xlarge is sold as capacity blocks only, not as {capacity}.",
        )
    ]


def test_an_ultraserver_has_no_mig() -> None:
    sharing = {"mode": "mig", "layout": "all-1g.23gb"}

    assert pool("GPU106", **(ULTRA | {"sharing": sharing})) == [
        (
            "pools.gpu.sharing.mode",
            (
                "MIG is not available on p6e-gb200.36xlarge: the EKS AMI loads the driver in "
                "coherent memory mode, which excludes it."
            ),
        )
    ]


def test_an_ultraserver_is_not_for_karpenter() -> None:
    nodes = {"min": None, "desired": None, "max": 1}

    assert pool("GPU106", **(ULTRA | {"provisioner": "karpenter", "nodes": nodes})) == [
        ("pools.gpu.provisioner", "Karpenter cannot launch p6e-gb200.36xlarge.")
    ]


NEW = {
    "vcpus": 8,
    "memoryMiB": 32768,
    "arch": "amd64",
    "maxPods": 58,
    "gpu": {"model": "L8", "count": 2, "memoryMiB": 49152, "computeCapability": "12.0"},
}


def with_type(code: str, name: str, entry: dict[str, Any], **changes: object) -> list[str]:
    fragment = {
        "catalog": {"instanceTypes": {name: entry}},
        "pools": {"gpu": {"instanceTypes": [name], **changes}},
    }
    return [message for _, message in findings(fragment, code)]


def test_an_added_type_is_known() -> None:
    assert with_type("GPU101", "g9.xlarge", NEW) == []


def test_an_added_type_is_planned_with_its_own_figures() -> None:
    sharing = {"mode": "timeSlicing", "replicas": 4}

    assert with_type("GPU206", "g9.xlarge", NEW, sharing=sharing) == [
        (
            "g9.xlarge: 4 pods on one L8 of 49152 MiB, so 12288 MiB each if all keep to it; "
            "nothing enforces that, and time slicing isolates no faults."
        )
    ]


@pytest.mark.parametrize("key", ["vcpus", "memoryMiB", "arch"])
def test_an_added_type_without_a_figure_is_refused(key: str) -> None:
    entry = {name: value for name, value in NEW.items() if name != key}

    assert with_type("GPU108", "g9.xlarge", entry) == [
        f"g9.xlarge is not in the catalog, so {key} must be given."
    ]


@pytest.mark.parametrize("key", ["model", "count", "memoryMiB", "computeCapability"])
def test_an_added_gpu_without_a_figure_is_refused(key: str) -> None:
    gpu = {name: value for name, value in NEW["gpu"].items() if name != key}  # type: ignore[attr-defined]

    assert with_type("GPU108", "g9.xlarge", {**NEW, "gpu": gpu}) == [
        f"g9.xlarge is not in the catalog, so gpu.{key} must be given."
    ]


@pytest.mark.parametrize("given", ["8", "8.", "eight", "8.9.1", "٨.٩", "²"])
def test_a_compute_capability_is_two_numbers(given: str) -> None:
    entry = {"gpu": {"computeCapability": given}}

    assert with_type("GPU108", "g5.xlarge", entry) == [
        f'"{given}" is not a capability such as "8.9".'
    ]


@pytest.mark.parametrize("count", [0, -1])
def test_a_count_of_gpus_is_at_least_one(count: int) -> None:
    assert with_type("GPU108", "g5.xlarge", {"gpu": {"count": count}}) == [
        f"{count} is not more than 0."
    ]


def test_a_known_type_is_corrected_in_one_figure() -> None:
    entry = {"gpu": {"memoryMiB": 10240}}
    sharing = {"mode": "timeSlicing", "replicas": 4}

    assert with_type("GPU206", "g5.xlarge", entry, sharing=sharing) == [
        (
            "g5.xlarge: 4 pods on one A10G of 10240 MiB, so 2560 MiB each if all keep to it; "
            "nothing enforces that, and time slicing isolates no faults."
        )
    ]


def test_a_given_price_is_a_known_price() -> None:
    assert with_type("GPU802", "g9.xlarge", NEW) != []
    assert with_type("GPU802", "g9.xlarge", NEW | {"priceUsdPerHour": 1.5}) == []


def test_a_price_on_demand_is_none_of_spot() -> None:
    spot, both = {"capacityType": "spot"}, {"priceUsdPerHour": 1.5, "spotUsdPerHour": 0.5}

    assert with_type("GPU802", "g9.xlarge", NEW | {"priceUsdPerHour": 1.5}, **spot) == [
        "The price of spot capacity is not in the catalog."
    ]
    assert with_type("GPU802", "g9.xlarge", NEW | both, **spot) == []
    assert with_type("GPU802", "g9.xlarge", NEW | {"spotUsdPerHour": 0.5}) != []
    assert with_type("GPU108", "g9.xlarge", NEW | {"spotUsdPerHour": 0}) == [
        "0.0 is not more than 0."
    ]


@pytest.mark.parametrize(
    ("size", "code"),
    [(19, "GPU505"), (20, "GPU506"), (99, "GPU506"), (100, None), (65536, None), (65537, "GPU505")],
)
def test_the_size_of_a_disk(size: int, code: str | None) -> None:
    found = {each for each in ("GPU505", "GPU506") if pool(each, rootVolumeGiB=size)}

    assert found == ({code} if code else set())


def test_the_disk_holds_the_image() -> None:
    ami = nvidia_ami("al2023", "amd64")
    assert ami is not None

    assert pool("GPU505", rootVolumeGiB=ami.own_disk_gib - 1) == [
        (
            "pools.gpu.rootVolumeGiB",
            "19 GiB is not between the 20 GiB of the AMI and 65536 GiB.",
        )
    ]


@pytest.mark.parametrize("given", ["latest", "1.35", "1.35.8", "v1.35.8-20260930", "1.35.8-202609"])
def test_an_image_version_is_a_release(given: str) -> None:
    assert pool("GPU504", amiVersion=given) == [
        (
            "pools.gpu.amiVersion",
            f'"{given}" is not a release version such as 1.35.8-20260930.',
        )
    ]


@pytest.mark.parametrize("given", ["ami-1", "AMI-01234567", "ami-0123456g", "ami-0123456789"])
def test_the_id_of_an_image_has_8_or_17_digits(given: str) -> None:
    ami = {"id": given, "family": "al2023", "driverIncluded": True}

    assert pool("GPU501", amiFamily="custom", customAmi=ami, amiVersion=None) == [
        (
            "pools.gpu.customAmi.id",
            f'"{given}" is not the ID of an AMI, ami- and 8 or 17 hexadecimal digits.',
        )
    ]


def test_the_gpu_operator_brings_a_driver() -> None:
    ami = {"id": "ami-01234567", "family": "al2023", "driverIncluded": False}
    keys = {"amiFamily": "custom", "customAmi": ami, "amiVersion": None}
    fragment = {"gpuStack": {"manager": "gpuOperator"}, "pools": {"gpu": keys}}

    assert findings(fragment, "GPU507") == []


@pytest.mark.parametrize("given", ["1.35.8-20260930", "newest", "1.65"])
def test_a_release_of_another_image_is_none_of_bottlerocket(given: str) -> None:
    assert pool("GPU504", amiFamily="bottlerocket", amiVersion=given) == [
        (
            "pools.gpu.amiVersion",
            f'"{given}" is not a Bottlerocket release such as 1.65.0-0be31b34.',
        )
    ]


@pytest.mark.parametrize("given", ["1.65.0-0be31b34", "1.65.0", "1.65.0-12345678"])
def test_a_release_of_bottlerocket_is_fine(given: str) -> None:
    assert pool("GPU504", amiFamily="bottlerocket", amiVersion=given) == []


@pytest.mark.parametrize(
    ("types", "most", "codes"),
    [
        ([], 20, [TYPE_TWICE.id]),
        (["g5.xlarge"], 20, []),
        (["g5.xlarge", "g5.2xlarge"], 2, []),
        (["g5.xlarge", "g5.2xlarge", "g5.4xlarge"], 2, [MANY_TYPES.id]),
        (["g5.xlarge", "g5.2xlarge", "g5.4xlarge"], None, []),
        (["g5.xlarge", "g5.xlarge", "g5.2xlarge"], 2, [TYPE_TWICE.id]),
        (["g5.xlarge", "g5.xlarge"], 2, [TYPE_TWICE.id]),
    ],
)
def test_a_list_of_types_is_in_order(types: list[str], most: int | None, codes: list[str]) -> None:
    found = type_faults(("at",), types, Catalog(), gpu_instance_types, most)

    assert [each.code for each in found] == codes


@pytest.mark.parametrize(
    ("name", "begins"),
    [("g5.xlarg", "Did you mean g5.xlarge? A type newer"), ("qqqqqqqq", "A type newer than")],
)
def test_a_guess_is_made_where_there_is_one(name: str, begins: str) -> None:
    (found,) = type_faults(("at",), [name], Catalog(), gpu_instance_types)

    assert found.fix.startswith(begins)


def fixes(code: str, fragment: dict[str, Any], region: str = "us-west-2") -> list[str]:
    text = stack_file_text(merge_values(base(), fragment), region)
    return [f"{each.message} {each.fix}" for each in checked(text).findings if each.code == code]


def on_karpenter(**changes: Any) -> dict[str, Any]:
    nodes = {"min": None, "desired": None, "max": 2}
    return {"pools": {"gpu": {"provisioner": "karpenter", "nodes": nodes, **changes}}}


@pytest.mark.parametrize(("count", "of_eks", "of_karpenter"), [(20, 0, 0), (21, 1, 0), (25, 1, 0)])
def test_eks_takes_so_many_types_and_karpenter_any(
    count: int, of_eks: int, of_karpenter: int
) -> None:
    types = [name for name in gpu_instance_types() if not name.startswith("p6e")][:count]

    assert len(pool(MANY_TYPES.id, instanceTypes=types)) == of_eks
    assert len(findings(on_karpenter(instanceTypes=types), MANY_TYPES.id)) == of_karpenter


@pytest.mark.parametrize(
    ("added", "fix"),
    [
        (False, "Use a type of a GPU family, such as g5, g6, p4d or p5."),
        (True, "Add gpu to it under catalog.instanceTypes[m5.large]."),
    ],
)
def test_a_type_without_a_gpu_is_put_right_where_it_comes_from(added: bool, fix: str) -> None:
    own = {"catalog": {"instanceTypes": {"m5.large": {"maxPods": 20}}}} if added else {}
    fragment = {"pools": {"gpu": {"instanceTypes": ["m5.large"]}}, **own}

    assert fixes("GPU102", fragment) == [f"m5.large has no NVIDIA GPU. {fix}"]


@pytest.mark.parametrize(
    ("name", "region", "says"),
    [
        ("p5.48xlarge", "us-west-2", ""),
        ("p4de.24xlarge", "eu-west-1", "Types with 8 GPUs in eu-west-1 are "),
        ("g7.2xlarge", "af-south-1", "Types with 1 GPU in af-south-1 are "),
    ],
)
def test_a_region_is_told_what_it_has_instead(name: str, region: str, says: str) -> None:
    fragment = {
        "network": {"zones": 2},
        "pools": {"gpu": {"instanceTypes": [name]}},
    }
    found = fixes(NOT_IN_REGION.id, fragment, region)

    assert [says in each for each in found] == ([True] if says else [])


def test_a_type_that_the_region_has_is_offered() -> None:
    found = gpu_instance_types()["g5.xlarge"]

    assert list(not_in_region(("at",), found, "us-west-2")) == []
    assert list(not_in_region(("at",), found, None)) == []


@pytest.mark.parametrize(
    ("count", "more"), [(5, ""), (6, ""), (7, " and 1 more."), (8, " and 2 more.")]
)
def test_regions_beyond_some_are_counted(count: int, more: str) -> None:
    regions = [region for region in gpu_instance_types()["g5.xlarge"].zones if "us-" not in region]
    zones = dict.fromkeys(regions[:count], ("a",))
    found = replace(gpu_instance_types()["g5.xlarge"], zones=zones)
    (finding,) = not_in_region(("at",), found, "us-west-1")

    assert len(zones) == count
    assert (" more." in finding.fix) is bool(more)
    assert more in finding.fix


@pytest.mark.parametrize(
    ("name", "shown"),
    [("g6f.large", 1), ("gr6f.4xlarge", 1), ("g6.xlarge", 0), ("g5.12xlarge", 0)],
)
def test_parts_of_a_gpu_are_told_of(name: str, shown: int) -> None:
    assert len(pool(FRACTIONAL_GPU.id, instanceTypes=[name])) == shown
    of_karpenter = fixes(FRACTIONAL_GPU.id, on_karpenter(instanceTypes=[name]))
    assert [each.endswith("by a NodeOverlay.") for each in of_karpenter] == [True] * shown
    of_eks = fixes(FRACTIONAL_GPU.id, {"pools": {"gpu": {"instanceTypes": [name]}}})
    assert [each.endswith("has to be told.") for each in of_eks] == [True] * shown


@pytest.mark.parametrize(
    ("provisioner", "scaled_by", "end"),
    [
        ("managedNodeGroup", "autoscaler", "a tag of the node group tells Cluster Autoscaler."),
        ("managedNodeGroup", "stack", "an autoscaler has to be told."),
        ("existing", "autoscaler", "an autoscaler has to be told."),
    ],
)
def test_who_is_told_of_parts_of_a_gpu(provisioner: str, scaled_by: str, end: str) -> None:
    keys = {"instanceTypes": ["g6f.large"], "provisioner": provisioner, "scaledBy": scaled_by}

    [found] = fixes(FRACTIONAL_GPU.id, {"pools": {"gpu": keys}})
    assert found.endswith(end)


def test_an_image_that_came_with_a_newer_driver_is_named() -> None:
    fragment = {"pools": {"gpu": {"instanceTypes": ["g7.2xlarge"], "amiVersion": None}}}

    (found,) = fixes("GPU105", fragment)
    second = nvidia_ami("al2023", "amd64").second_drivers[0]  # type: ignore[union-attr]
    since = f"{second.since[:4]}-{second.since[4:6]}-{second.since[6:]}"
    assert f"Set amiVersion to a release from {since} on, such as " in found
    assert f"which has driver {second.branch} too, or use amiFamily: custom" in found


@pytest.mark.parametrize(
    "second", [SecondDriver(590, ("g7",), "20260917"), SecondDriver(595, ("g6",), "20260917")]
)
def test_an_image_that_came_with_a_driver_for_others_is_not(
    second: SecondDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    ami = nvidia_ami("al2023", "amd64")
    assert ami is not None
    other = ami._replace(second_drivers=(second,))
    monkeypatch.setattr(instances, "nvidia_ami", lambda *_: other)

    fragment = {"pools": {"gpu": {"instanceTypes": ["g7.2xlarge"], "amiVersion": None}}}
    assert [each.rpartition(". ")[2] for each in fixes("GPU105", fragment)] == [
        "Use amiFamily: custom with an AMI that has driver 595."
    ]


def test_standard_images_of_al2023_are_of_one_size() -> None:
    sizes = {standard_ami("al2023", arch).own_disk_gib for arch in ("amd64", "arm64")}

    assert len(sizes) == 1


@pytest.mark.parametrize(("size", "paths"), [(0, ["pools.gpu.rootVolumeGiB"]), (1, [])])
def test_the_disk_of_an_image_that_nobody_knows(size: int, paths: list[str]) -> None:
    found = pool("GPU505", amiFamily="custom", rootVolumeGiB=size)

    assert [path for path, _ in found] == paths


@pytest.mark.parametrize("instance_type", ["m5.large", "m7g.large", None])
@pytest.mark.parametrize(("size", "fits"), [(19, 0), (20, 1), (65536, 1), (65537, 0)])
def test_the_disk_of_system_nodes(instance_type: str | None, size: int, fits: int) -> None:
    types = {} if instance_type is None else {"instanceTypes": [instance_type]}
    found = findings({"system": {"rootVolumeGiB": size, **types}}, SMALL_DISK.id)

    assert [path for path, _ in found] == ["system.rootVolumeGiB"] * (1 - fits)


@pytest.mark.parametrize(
    ("release", "paths"),
    [
        (None, []),
        ("1.35.8-20260930", []),
        ("1.34.8-20260930", ["system.amiVersion"]),
        ("newest", ["system.amiVersion"]),
    ],
)
def test_the_image_of_system_nodes_is_a_release_of_the_version(
    release: str | None, paths: list[str]
) -> None:
    given = {} if release is None else {"amiVersion": release}

    assert [path for path, _ in findings({"system": given}, AMI_VERSION.id)] == paths
    existing = {"existing": {"name": "demo"}, "name": None, "version": None, "admins": None}
    pools = {"gpu": {"amiVersion": release}}
    of_existing = findings({"cluster": existing, "network": None, "pools": pools}, AMI_VERSION.id)
    assert bool(of_existing) is (release == "newest")


def test_an_image_that_may_change_is_told_of() -> None:
    managed = fixes(FLOATING_AMI.id, {"pools": {"gpu": {"amiVersion": None}}})
    karpenter = fixes(FLOATING_AMI.id, on_karpenter(amiVersion=None))
    existing = fixes(
        FLOATING_AMI.id, {"pools": {"gpu": {"amiVersion": None, "provisioner": "existing"}}}
    )
    other = fixes(
        FLOATING_AMI.id,
        {"cluster": {"version": "1.99"}, "pools": {"gpu": {"amiVersion": None}}},
    )

    assert "so the newest AMI at the time of creation is taken" in managed[0]
    assert ", for example 1.35." in managed[0]
    assert "a later one exchanges the nodes" in karpenter[0]
    assert existing == []
    assert other[0].endswith("Pin amiVersion in production.")


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 1),
        ({"provisioner": "existing", "nodes": None}, 0),
        ({"amiFamily": "bottlerocket"}, 0),
        ({"amiVersion": None}, 0),
    ],
)
def test_a_release_without_its_libraries(changes: dict[str, Any], count: int) -> None:
    first, last = NO_LDCONFIG
    given = {"amiVersion": f"1.35.8-{first}", **changes}
    found = fixes(LOST_LIBRARIES.id, {"pools": {"gpu": given}})

    dates = " to ".join(f"{each[:4]}-{each[4:6]}-{each[6:]}" for each in (first, last))
    assert [f"as all from {dates}. Take a later release, for ex" in each for each in found] == (
        [True] * count
    )


@pytest.mark.parametrize("name", ["g5.xlarge", "g5g.xlarge", "m5.large", "unknown.xlarge"])
def test_an_image_is_asked_for_of_types_with_gpus_alone(name: str) -> None:
    """Of the others another rule speaks, and nothing fails at them."""
    pools = {"gpu": {"instanceTypes": [name]}}
    text = stack_file_text(merge_values(base(), {"pools": pools}))
    codes = {each.code for each in checked(text).findings}

    assert not codes & {AMI_SERVES.id, CHECK_FAILED.id}
