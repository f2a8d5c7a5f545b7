"""Labels that Karpenter gives a node by its instance type."""

from __future__ import annotations

import dataclasses

import pytest

from eks_gpushare.catalog import Catalog, InstanceType
from eks_gpushare.inventory.type_labels import facts_of

CATALOG = Catalog()


def found(name: str) -> InstanceType:
    one = CATALOG.find(name)
    assert one is not None
    return one


@pytest.mark.parametrize(
    ("name", "category", "generation"),
    [
        ("g4dn.xlarge", "g", "4"),
        ("gr6.4xlarge", "gr", "6"),
        ("p4de.24xlarge", "p", "4"),
        ("m5.large", "m", "5"),
        ("c7i-flex.large", "c", "7"),
    ],
)
def test_a_name_tells_category_and_generation(name: str, category: str, generation: str) -> None:
    """As `instanceTypeScheme` of Karpenter's `providers/instancetype/types.go` does."""
    facts = facts_of(dataclasses.replace(found("g6.xlarge"), name=name))

    assert (facts["category"], facts["generation"]) == (category, generation)


def test_of_memory_in_a_name_nothing_is_told() -> None:
    facts = facts_of(dataclasses.replace(found("m5.large"), name="u-6tb1.metal"))

    assert facts["family"] == "u-6tb1"
    assert (facts["category"], facts["generation"]) == ("u", "1")


def test_a_name_of_another_form_has_neither() -> None:
    facts = facts_of(dataclasses.replace(found("m5.large"), name="new.large"))

    assert facts.keys() == {"family", "size", "cpu", "memory", "arch"}


def test_gpus_are_told_of_as_ec2_counts_them() -> None:
    facts = facts_of(found("g6.12xlarge"))

    assert facts["gpu-manufacturer"] == "nvidia"
    assert facts["gpu-name"] == "l4"
    assert facts["gpu-count"] == "4"
    assert facts_of(found("g6f.xlarge"))["gpu-count"] == "0"


def test_a_count_that_is_not_known_is_empty() -> None:
    facts = facts_of(dataclasses.replace(found("g6.xlarge"), api_gpu_count=None))

    assert facts["gpu-name"] == "l4"
    assert facts["gpu-count"] == ""


def test_without_a_gpu_there_is_none_of_its_labels() -> None:
    assert not any(key.startswith("gpu-") for key in facts_of(found("m5.large")))
