"""Which GPU types the requirements of a NodePool leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.instance_choice import chosen_types

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.catalog.instances import InstanceType

K = "karpenter.k8s.aws/instance-"
TYPE = "node.kubernetes.io/instance-type"
GPUS = {"key": f"{K}gpu-manufacturer", "operator": "In", "values": ["nvidia"]}
A10G = {"key": f"{K}family", "operator": "In", "values": ["g5"]}


def one(key: str, operator: Any, *values: Any) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    "requirement",
    [
        GPUS,
        one(f"{K}gpu-count", "Gt", "0"),
        one(f"{K}gpu-count", "Gte", "1"),
        one(f"{K}gpu-name", "Exists"),
        one("eks.amazonaws.com/instance-gpu-name", "Exists"),
        one(f"{K}category", "In", "g"),
        one(f"{K}category", "In", "g", "p"),
        one(f"{K}category", "In", "gr"),
        one(f"{K}category", "In", "g", "gr", "p"),
        one(f"{K}category", "In", "g", UNKNOWN),
        one(f"{K}family", "In", "g5"),
        one(f"{K}family", "In", *{name.partition(".")[0] for name in gpu_instance_types()}),
    ],
)
def test_these_ask_for_gpus(requirement: dict[str, Any]) -> None:
    assert chosen_types([requirement])


@pytest.mark.parametrize(
    "requirement",
    [
        one(f"{K}gpu-count", "Lt", "1"),
        one(f"{K}gpu-name", "DoesNotExist"),
        one(f"{K}gpu-name", "NotIn", "t4"),
        one(f"{K}category", "In", "g", "m"),
        one(f"{K}category", "NotIn", "g"),
        one(f"{K}category", "In"),
        one(f"{K}category", "In", UNKNOWN),
        one(f"{K}family", "In", "g5", "m5"),
        one(f"{K}family", "NotIn", "g5"),
        one(f"{K}size", "In", "g"),
        one(f"{K}size", "In", "g5"),
        one(f"{K}size", "In", "xlarge"),
        one("example.com/instance-gpu-name", "Exists"),
        one("example.com/instance-category", "In", "g"),
        one("kubernetes.io/arch", "In", "amd64"),
        {"key": 5, "operator": "In", "values": ["g"]},
        "text",
    ],
)
def test_these_do_not(requirement: Any) -> None:
    assert chosen_types([requirement]) == ()


@pytest.mark.parametrize(
    ("requirement", "is_left"),
    [
        (one(f"{K}family", "In", "g5", "g6"), lambda name, _: name.startswith(("g5.", "g6."))),
        (one(f"{K}family", "NotIn", "g5"), lambda name, _: not name.startswith("g5.")),
        (one(f"{K}size", "In", "xlarge"), lambda name, _: name.endswith(".xlarge")),
        (one(f"{K}category", "In", "p"), lambda name, _: name.startswith("p")),
        (one(f"{K}category", "In", "gr"), lambda name, _: name.startswith("gr6")),
        (one(f"{K}category", "In", "g"), lambda name, _: name.startswith(("g4", "g5", "g6", "g7"))),
        (one(f"{K}generation", "In", "6"), lambda name, _: name.startswith(("g6", "gr6", "p6"))),
        (
            one(f"{K}generation", "Gt", "4"),
            lambda name, _: not name.startswith(("g4", "p4", "g3", "p3", "p2", "g2")),
        ),
        (one(f"{K}cpu", "Gt", "8"), lambda _, found: found.vcpus > 8),
        (one(f"{K}cpu", "Gte", "8"), lambda _, found: found.vcpus >= 8),
        (one(f"{K}cpu", "Lt", "8"), lambda _, found: found.vcpus < 8),
        (one(f"{K}cpu", "Lte", 8), lambda _, found: found.vcpus <= 8),
        (one(f"{K}cpu", "In", "8"), lambda _, found: found.vcpus == 8),
        (one(f"{K}gpu-count", "In", "8"), lambda _, found: found.api_gpu_count == 8),
        (one(f"{K}gpu-count", "In", "0"), lambda _, found: found.api_gpu_count == 0),
        (one(f"{K}gpu-name", "In", "a10g"), lambda name, _: name.startswith("g5.")),
        (one("kubernetes.io/arch", "In", "arm64"), lambda _, found: found.arch == "arm64"),
        # What is no number, not known or nothing that types have, leaves all.
        (one(f"{K}cpu", "Gt", "many"), lambda _name, _found: True),
        (one(f"{K}cpu", "Gt"), lambda _name, _found: True),
        (one(f"{K}family", "Gt", "5"), lambda _name, _found: True),
        (one(f"{K}cpu", "Near", "5"), lambda _name, _found: True),
        (one(f"{K}cpu", ["In"], "5"), lambda _name, _found: True),
        (one(f"{K}cpu", "In", UNKNOWN, "8"), lambda _name, _found: True),
        ({"key": f"{K}cpu", "operator": "In", "values": UNKNOWN}, lambda _name, _found: True),
        (one(f"{K}memory", "Gt", "5"), lambda _name, _found: True),
        (one("example.com/instance-cpu", "In", "8"), lambda _name, _found: True),
        ({"key": 8, "operator": "In", "values": ["8"]}, lambda _name, _found: True),
    ],
)
def test_requirements_leave_these(
    requirement: dict[str, Any], is_left: Callable[[str, InstanceType], bool]
) -> None:
    there = {name: of for name, of in gpu_instance_types().items() if not of.retired}
    found = chosen_types([GPUS, requirement])

    assert isinstance(found, tuple)
    assert set(found) == {name for name, of in there.items() if is_left(name, of)}
    assert found


def test_named_types_are_taken_whatever_they_are() -> None:
    named = one(TYPE, "In", "m5.large", "p3.2xlarge", "g5.xlarge")

    assert chosen_types([named]) == ("m5.large", "p3.2xlarge", "g5.xlarge")
    assert chosen_types([A10G, named]) == ("m5.large", "g5.xlarge")
    assert chosen_types([one(TYPE, "NotIn", "g5.xlarge")]) == ()
    assert chosen_types([one(TYPE, "NotIn", "g5.xlarge"), A10G])
    assert chosen_types([one("beta.kubernetes.io/instance-type", "In", "a")]) == ("a",)


@pytest.mark.parametrize(
    "requirements",
    [
        UNKNOWN,
        [UNKNOWN, A10G],
        [{"key": TYPE, "operator": "In", "values": UNKNOWN}],
        [one(TYPE, "In", "g5.xlarge", UNKNOWN)],
    ],
)
def test_what_is_not_known_leaves_what_is_not_known(requirements: Any) -> None:
    assert chosen_types(requirements) is UNKNOWN


@pytest.mark.parametrize("requirements", [None, [], "text", {}])
def test_without_requirements_nothing_is_asked_for(requirements: Any) -> None:
    assert chosen_types(requirements) == ()
