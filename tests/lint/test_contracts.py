"""Workloads of files in the namespaces of a stack's tenants."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import Quota, Workload
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.against import judge_against
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
        spec={
            "containers": [{"name": "c", "resources": {"limits": limits}}],
            "tolerations": [{"operator": "Exists"}],
        },
        spec_path=("spec", "template", "spec"),
    )


def found(*items: Workload, stack: str = "tenants") -> list[Any]:
    return list(judge_contracts(Inventory(items), stack_of(stack)))


@pytest.mark.parametrize(
    "workload",
    [
        pods(6),
        pods(9, "elsewhere"),
        pods(9, UNKNOWN),
        pods(None, kind="DaemonSet"),
        pods(9, limits={"cpu": 1}),
        pods(6, "vision"),
    ],
)
def test_what_a_tenant_may(workload: Workload) -> None:
    assert found(workload) == []


def test_workloads_of_one_namespace_count_together() -> None:
    (problem,) = found(pods(3, name="one"), pods(4, name="two"))

    assert isinstance(problem, Problem)
    assert (problem.rule.id, problem.severity, problem.path) == (
        "GPU1217",
        None,
        ("spec", "replicas"),
    )
    assert problem.source.name == "the Deployment two"
    assert problem.message == (
        f"7 of {DEVICES} are asked for in the namespace of research (the Deployment one 3, the "
        "Deployment two 4), which may have 6."
    )


def test_pods_of_a_job_come_one_after_the_other() -> None:
    (problem,) = found(pods(7, kind="Job"))
    (never,) = found(pods(1, kind="Job", limits={"nvidia.com/gpu": 1}))

    assert (problem.severity, problem.path) == ("warning", ("spec", "parallelism"))
    assert never.severity is None


def test_how_many_pods_is_not_known() -> None:
    (judged,) = found(pods(UNKNOWN))

    assert isinstance(judged, NotSeen)


def test_without_tenants_nothing_is_said() -> None:
    assert found(pods(100), stack="multi-tenant") == []


def edited(tmp_path: Path, research: dict[str, Any], **workloads: dict[str, Any]) -> Stack:
    text = (ROOT / "stacks" / "Pulumi.tenants.yaml").read_text(encoding="utf-8")
    declared = yaml.safe_load(text)
    environment = declared["config"]["eks-gpushare:environment"]
    environment["tenants"]["research"]["pools"]["slices"] = research
    environment["workloads"] = workloads
    file = tmp_path / "Pulumi.edited.yaml"
    file.write_text(yaml.safe_dump(declared), encoding="utf-8")
    stack = read_stack(file)
    assert stack.errors == ()
    return stack


def test_the_stack_s_own_workloads_count_too(tmp_path: Path) -> None:
    model = {"image": "registry.example/model:1.2", "pool": "slices", "namespace": "research"}
    two = {"guaranteed": {"sharesOf": {"mig-3g.20gb": 2, "mig-1g.5gb": 1}}}
    stack = edited(
        tmp_path,
        two,
        named={**model, "share": DEVICES},
        unnamed=model,  # of the most numerous kind
        elsewhere={**model, "namespace": "models", "share": DEVICES, "replicas": {"min": 2}},
    )

    assert list(judge_contracts(Inventory((pods(1),)), stack)) == []
    (problem,) = judge_contracts(Inventory((pods(2),)), stack)
    assert isinstance(problem, Problem)
    assert "3 of nvidia.com/mig-3g.20gb" in problem.message
    assert "the stack's own workload named 1, the Deployment d 2" in problem.message
    (one,) = judge_contracts(Inventory((pods(1, limits={"nvidia.com/mig-1g.5gb": 1}),)), stack)
    assert isinstance(one, Problem)
    assert "the stack's own workload unnamed 1, the Deployment d 1" in one.message


def test_a_job_of_a_tenant_with_one_share_takes_turns(tmp_path: Path) -> None:
    stack = edited(tmp_path, {"guaranteed": {"sharesOf": {"mig-3g.20gb": 1}}})

    (problem,) = judge_contracts(Inventory((pods(2, kind="Job"),)), stack)
    assert isinstance(problem, Problem)
    assert problem.severity == "warning"


@pytest.mark.parametrize("queue", [True, False])
def test_what_others_leave_is_waited_for_in_a_queue(tmp_path: Path, queue: bool) -> None:
    """Where a quota counts instead, pods that have no room wait for ever."""
    four = {"guaranteed": {"sharesOf": {"mig-1g.5gb": 4}}, "maximum": {"gpuMemoryGiB": 80}}
    stack = edited(tmp_path, four)
    given = stack.environment
    assert given is not None
    assert given.tenants is not None
    each = {name: t.model_copy(update={"queue": queue}) for name, t in given.tenants.items()}
    stack = replace(stack, environment=given.model_copy(update={"tenants": each}))
    limits = {"nvidia.com/mig-1g.5gb": 1}
    files = Inventory((pods(12, limits=limits), pods(12, "vision", limits=limits)))

    codes = [judged.rule.id for judged in judge_against(files, stack)]
    assert codes == ([] if queue else ["GPU1203"])


def quota(hard: Any, space: Any = "vision", name: str = "own", **more: Any) -> Quota:
    kind = more.pop("kind", "ResourceQuota")
    return Quota(
        source=Source(f"the {kind} {name}"), kind=kind, name=name, namespace=space, hard=hard
    )


@pytest.mark.parametrize(
    ("given", "path", "message"),
    [
        (
            quota({DEVICES: "5"}),
            ("spec", "hard", f"requests.{DEVICES}"),
            (
                "The ResourceQuota own in the namespace of vision allows 5 of "
                "nvidia.com/mig-3g.20gb, and vision is sure of 6."
            ),
        ),
        (
            quota({DEVICES: "6", "nvidia.com/gpu": "1"}, name="gpu-shares"),
            ("metadata", "name"),
            (
                "The ResourceQuota gpu-shares in the namespace of vision has the name of one that "
                "the stack makes there."
            ),
        ),
    ],
)
def test_a_quota_of_others_that_leaves_less(given: Quota, path: Any, message: str) -> None:
    (problem,) = judge_contracts(Inventory((given,)), stack_of("tenants"))

    assert isinstance(problem, Problem)
    assert (problem.rule.id, problem.path, problem.message) == ("GPU1272", path, message)
    assert problem.fix


@pytest.mark.parametrize(
    "given",
    [
        quota({DEVICES: 6}),
        quota({DEVICES: "many"}),
        quota({DEVICES: UNKNOWN}),
        quota(UNKNOWN),
        quota({"pods": 0}),
        # Of a dump: the stack's own. What a queue counts is in none of them.
        quota({"nvidia.com/gpu": "0", "pods": "0"}, name="gpu-shares"),
        quota({"pods": 0}, name="system-priority"),
        quota({DEVICES: 1}, "elsewhere"),
        quota({DEVICES: 1}, UNKNOWN),
        quota({DEVICES: 1}, kind="ClusterQueue"),
    ],
)
def test_other_quotas_of_others_are_theirs(given: Quota) -> None:
    assert list(judge_contracts(Inventory((given,)), stack_of("tenants"))) == []
