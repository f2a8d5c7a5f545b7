"""Omnistrate's service plans: what is wrong in what they ask for."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_objects import PLAN
from foreign_reading import ids, merged, problems, read_with

from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.lint.readers.compose import ComposeReader

COMPOSE = ComposeReader()
GPU = "x-internal-integrations__multiTenantGpu"
SCALING = "services__app__x-omnistrate-capabilities__autoscaling"


def of(**gpu: Any) -> dict[str, Any]:
    return merged(PLAN, **{GPU: gpu})


def test_a_plan_becomes_nodes() -> None:
    (read,) = read_with(COMPOSE, PLAN)

    (nodes,) = read.items
    assert isinstance(nodes, NodeSet)
    assert nodes.instance_types == ("p4d.24xlarge",)
    assert not read.judgements


@pytest.mark.parametrize(
    "gpu",
    [
        {"instanceType": "g4dn.xlarge", "timeSlicingReplicas": 2},
        {"instanceType": "g4dn.xlarge"},
        {"instanceType": "p5.48xlarge", "migProfile": "1g.10gb"},
        {"instanceType": "p4d.24xlarge", "migProfile": "1g.5gb+me"},
        {"instanceType": "p4de.24xlarge", "migProfile": "2g.20gb", "timeSlicingReplicas": 2},
        {"instanceType": "g5.xlarge", "timeSlicingReplicas": "4"},
    ],
)
def test_right_plans_pass(gpu: dict[str, Any]) -> None:
    assert ids(read_with(COMPOSE, of(**gpu))) == []


@pytest.mark.parametrize(
    ("code", "plan"),
    [
        ("GPU1074", of(instanceType="g4dn.xlarge", migProfile="1g.5gb")),
        ("GPU1074", of(instanceType="g5.12xlarge", migProfile="1g.10gb", timeSlicingReplicas=2)),
        ("GPU1074", of(instanceType="p5.48xlarge", migProfile="1g.5gb")),
        ("GPU1074", of(instanceType="p4d.24xlarge", migProfile="4g.40gb")),
        ("GPU1074", of(instanceType="p4d.24xlarge", migProfile="all-1g.5gb")),
        ("GPU1075", of(timeSlicingReplicas=2)),
        ("GPU1075", of(instanceType="g4dn.xlarg", timeSlicingReplicas=2)),
        ("GPU1075", of(instanceType="m6i.large", timeSlicingReplicas=2)),
        ("GPU1075", of(instanceType="g5.xlarge", timeSlicingReplicas=0)),
        ("GPU1075", of(instanceType="g5.xlarge", timeSlicingReplicas="many")),
        ("GPU1075", merged(PLAN, **{f"{SCALING}__minReplicas": 9})),
        ("GPU1075", merged(PLAN, **{f"{SCALING}__idleThreshold": 90})),
        ("GPU1076", of(instanceType="g5.xlarge", replicas=2)),
        ("GPU1076", of(instanceType="p4d.24xlarge", migprofile="1g.5gb")),
        ("GPU1069", of(instanceType="p3.2xlarge", timeSlicingReplicas=2)),
    ],
)
def test_one_thing_is_wrong(code: str, plan: dict[str, Any]) -> None:
    assert ids(read_with(COMPOSE, plan)) == [code]


def test_a_profile_of_another_board_is_told_those_that_there_are() -> None:
    (problem,) = problems(read_with(COMPOSE, of(instanceType="p5.48xlarge", migProfile="1g.5gb")))

    assert problem.message == "1g.5gb is no profile of the H100-80GB in p5.48xlarge."
    assert problem.fix.startswith("Name one of 1g.10gb,")
