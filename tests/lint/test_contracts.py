"""Workloads of files in the namespaces of a stack's tenants."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.contracts import judge_contracts
from eks_gpushare.lint.stack_side import Stack, read_stack

ROOT = Path(__file__).parents[2]
DEVICES = "nvidia.com/mig-3g.20gb"


@cache
def stack_of(name: str) -> Stack:
    return read_stack(ROOT / "stacks" / f"Pulumi.{name}.yaml")


def pods(replicas: Any, space: Any = "research", kind: str = "Deployment", **more: Any) -> Workload:
    limits = more.pop("limits", {DEVICES: 1})
    name = more.pop("name", "d")
    return Workload(
        source=Source(f"the {kind} {name}"),
        kind=kind,
        name=name,
        namespace=space,
        replicas=replicas,
        spec={"containers": [{"name": "c", "resources": {"limits": limits}}]},
        spec_path=("spec", "template", "spec"),
    )


def found(*items: Workload, stack: str = "tenants") -> list[Any]:
    return list(judge_contracts(Inventory(items), stack_of(stack)))


@pytest.mark.parametrize(
    "workload",
    [
        pods(2),
        pods(3, "elsewhere"),
        pods(3, UNKNOWN),
        pods(None, kind="DaemonSet"),
        pods(9, limits={"cpu": 1}),
        pods(6, "vision"),
    ],
)
def test_what_a_tenant_may(workload: Workload) -> None:
    assert found(workload) == []


def test_workloads_of_one_namespace_count_together() -> None:
    (problem,) = found(pods(1, name="one"), pods(2, name="two"))

    assert isinstance(problem, Problem)
    assert (problem.rule.id, problem.severity, problem.path) == (
        "GPU1217",
        None,
        ("spec", "replicas"),
    )
    assert problem.source.name == "the Deployment two"
    assert problem.message == (
        f"3 of {DEVICES} are asked for in the namespace of research (the Deployment one 1, the "
        "Deployment two 2), which is sure of 2."
    )


def test_pods_of_a_job_come_one_after_the_other() -> None:
    (problem,) = found(pods(3, kind="Job"))
    (never,) = found(pods(1, kind="Job", limits={"nvidia.com/gpu": 1}))

    assert (problem.severity, problem.path) == ("warning", ("spec", "parallelism"))
    assert never.severity is None


def test_how_many_pods_is_not_known() -> None:
    (judged,) = found(pods(UNKNOWN))

    assert isinstance(judged, NotSeen)


def test_without_tenants_nothing_is_said() -> None:
    assert found(pods(100), stack="multi-tenant") == []
