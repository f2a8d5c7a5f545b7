"""The driver and the container toolkit are on a node once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import PRESENT, chart, codes, nodes, plugin, problems, said

from eks_gpushare.inventory.edges import drivers
from eks_gpushare.inventory.problem import Edit
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

AL2023 = "AL2023_x86_64_NVIDIA"


def operator(driver: Any = None, toolkit: Any = None) -> Item:
    given = {"driver": driver, "toolkit": toolkit}
    values = {key: {"enabled": each} for key, each in given.items() if each is not None}
    return chart("gpu-operator", values)


def karpenter(ami: str) -> Item:
    return nodes(provisioner="karpenter", ami=ami)


BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "by default": ("GPU1180", (nodes(ami=AL2023), operator())),
    "the driver": ("GPU1180", (nodes(ami=AL2023), operator(toolkit=False))),
    "the toolkit": ("GPU1180", (nodes(ami=AL2023), operator(driver=False))),
    "said so": ("GPU1180", (nodes(ami=AL2023), operator(driver=True, toolkit=False))),
    "where EKS chooses the AMI": ("GPU1180", (nodes(), operator())),
    "Amazon Linux 2": ("GPU1180", (nodes(ami="AL2_x86_64_GPU"), operator())),
    "Karpenter's alias": ("GPU1180", (karpenter("al2023@v20260901"), operator())),
    "eksctl's family": ("GPU1180", (nodes(ami="AmazonLinux2023"), operator())),
    "one node group of two": (
        "GPU1180",
        (nodes(ami="ami-0123456789abcdef0", name="b"), nodes(ami=AL2023), operator()),
    ),
    "an AMI without a driver": (
        "GPU1181",
        (nodes(ami="AL2023_x86_64_STANDARD"), operator(driver=False, toolkit=False)),
    ),
    "Bottlerocket without one": (
        "GPU1181",
        (nodes(ami="BOTTLEROCKET_x86_64", labels={"nvidia.com/gpu.deploy.operands": "false"}),),
    ),
    "Ubuntu beside a plugin": ("GPU1181", (nodes(ami="Ubuntu2204", labels=PRESENT), plugin())),
    "an image by its name": (
        "GPU1181",
        (
            nodes(ami="amazon-eks-node-al2023-x86_64-standard-1.33-*"),
            operator(driver=False, toolkit=False),
        ),
    ),
    "an AMI type that nobody names": ("GPU1182", (nodes(ami="", labels=PRESENT), plugin())),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "neither": (nodes(ami=AL2023), operator(driver=False, toolkit=False)),
    "on an AMI that has none": (nodes(ami="AL2023_x86_64_STANDARD"), operator()),
    "on one's own": (nodes(ami="ami-0123456789abcdef0"), operator()),
    "Ubuntu": (nodes(ami="Ubuntu2204"), operator()),
    "Ubuntu that boots with it": (
        nodes(ami="Ubuntu2204", labels=PRESENT, user_data="apt install nvidia-driver-580"),
        plugin(),
    ),
    "no operator": (nodes(ami=AL2023, labels=PRESENT), plugin()),
    "nodes that it leaves alone": (
        nodes(ami="BOTTLEROCKET_x86_64_NVIDIA", labels={"nvidia.com/gpu.deploy.operands": "false"}),
        operator(),
    ),
    "nodes without a GPU": (nodes("m5.large", ami=""), operator()),
    "none named of one's own nodes": (
        nodes(provisioner="selfManaged", ami="", labels=PRESENT),
        plugin(),
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_driver_twice_or_never_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


def test_of_a_plain_image_alone_all_may_be_brought_by_hand() -> None:
    assert "GPU1181" not in codes(nodes(ami="Ubuntu2204", labels=PRESENT))


@pytest.mark.parametrize("case", RIGHT)
def test_a_driver_once_is_not(case: str) -> None:
    assert codes(*RIGHT[case]) == []


def test_the_edit_switches_both_off() -> None:
    (found,) = problems(nodes(ami=AL2023), operator(driver=True))

    assert found.edits == (
        Edit("set", ("driver", "enabled"), value=False),
        Edit("set", ("toolkit", "enabled"), value=False),
    )


@pytest.mark.parametrize(
    "items",
    [
        (nodes(ami=UNKNOWN), operator()),
        (nodes(provisioner="selfManaged"), operator()),
        (nodes(ami=AL2023), operator(driver=UNKNOWN, toolkit=False)),
    ],
)
def test_what_is_not_known_is_said(items: tuple[Item, ...]) -> None:
    assert codes(*items) == [f"?{drivers.TWICE.id}"]


@pytest.mark.parametrize(
    ("items", "complete", "severity"),
    [
        ((nodes(ami="AL2023_x86_64_STANDARD"),), True, None),
        ((nodes(ami="AL2023_x86_64_STANDARD"),), False, "warning"),
        ((nodes(ami="AL2023_x86_64_STANDARD"), operator(driver=False)), False, None),
    ],
)
def test_of_files_an_operator_may_stand_in_others(
    items: tuple[Item, ...],
    complete: bool,
    severity: str | None,
) -> None:
    (found,) = problems(*items, complete=complete, of=[drivers.NOWHERE])

    assert found.severity == severity


@pytest.mark.parametrize(
    "items",
    [
        (nodes(ami=AL2023, provisioner="autoMode"), operator()),
        (nodes(ami=AL2023, provisioner="byHand"), operator()),
        # Signs of GPUs, and no type that has one.
        (nodes(instance_types=(), labels=PRESENT, ami=AL2023), operator()),
        (nodes(ami=UNKNOWN), operator(driver=False, toolkit=False)),
        (nodes(ami="custom"), operator()),
        (nodes(ami="AL2023_x86_64_STANDARD"), operator(driver=UNKNOWN)),
        (nodes(ami="AL2023_x86_64_STANDARD"), operator(driver=False), operator(driver=True)),
    ],
)
def test_where_a_driver_may_be_right_nothing_is_said(items: tuple[Item, ...]) -> None:
    assert said(drivers.drivers, *items) == []


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ((nodes(ami=UNKNOWN), operator()), "the AMI of the node group gpu"),
        (
            (nodes(ami=AL2023), operator(driver=UNKNOWN)),
            "whether the Release gpu-operator installs drivers on the node group gpu",
        ),
        (
            (nodes(ami=UNKNOWN), operator(driver=UNKNOWN)),
            "whether the Release gpu-operator installs drivers on the node group gpu",
        ),
        ((nodes(ami=AL2023, labels=UNKNOWN), operator()), "the labels of the node group gpu"),
    ],
)
def test_what_is_not_known_of_drivers_is_named(items: tuple[Item, ...], expected: str) -> None:
    assert said(drivers.drivers, *items) == [("?GPU1180", expected)]


def test_the_message_names_what_is_there_twice() -> None:
    (both,) = problems(nodes(ami=AL2023), operator())
    (one,) = problems(nodes(provisioner="karpenter"), operator(driver=False))

    assert both.message == (
        "The Release gpu-operator installs the driver and the toolkit, and the AMI of the node "
        "group gpu, AL2023_x86_64_NVIDIA, has them."
    )
    assert one.message == (
        "The Release gpu-operator installs the toolkit, and the AMI of the node group gpu has it."
    )
    assert one.path == ("toolkit", "enabled")
