"""Every registration against the schema that AWS publishes for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from aws_oracle import cloudformation
from aws_oracle.calls import registered
from aws_oracle.lifecycle import LIFECYCLES
from aws_oracle.translate import NotTakenError
from aws_oracle.variants import NAMES, often

from eks_gpushare.program.recording import Resource

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.program.recording import Recording


@pytest.mark.parametrize("name", often(NAMES))
def test_the_schema_takes_every_registration(name: str, record: Callable[[str], Recording]) -> None:
    found = [
        fault
        for each in registered(record(name))
        if each.type not in cloudformation.NONE
        for fault in cloudformation.faults(each)
    ]

    assert found == []


def test_the_schemas_are_held_against_every_type_that_has_calls() -> None:
    known = set(cloudformation.EQUIVALENTS) | set(cloudformation.NONE)

    assert known == set(LIFECYCLES)


def vpc(**inputs: object) -> Resource:
    return Resource("urn", "aws:ec2/vpc:Vpc", "vpc", inputs=inputs)


def test_an_input_without_a_property_is_refused() -> None:
    with pytest.raises(NotTakenError, match="cidrBlok is taken by none of"):
        cloudformation.faults(vpc(cidrBlok="10.0.0.0/16"))


def test_a_value_that_the_schema_does_not_allow_is_a_fault() -> None:
    template = Resource(
        "urn",
        "aws:ec2/launchTemplate:LaunchTemplate",
        "template",
        inputs={"tagSpecifications": [{"resourceType": "instance", "tags": {"": "empty"}}]},
    )
    group = Resource(
        "urn",
        "aws:eks/nodeGroup:NodeGroup",
        "gpu",
        inputs={"scalingConfig": {"minSize": -1}, "clusterName": "demo"},
    )

    assert cloudformation.faults(group) == [
        "gpu: $.ScalingConfig.MinSize: -1 is less than the minimum of 0",
        "gpu: $: 'NodeRole' is a required property",
        "gpu: $: 'Subnets' is a required property",
    ]
    assert cloudformation.faults(template) == []
