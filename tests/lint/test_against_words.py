"""What there is room for on the pools of a stack, in numbers and in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from inventory_of import pods as workload

from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import ConfigMap, NodeSet, Overlay, Release, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.lint.against import judge_against
from eks_gpushare.lint.stack_side import (
    Stack,
    StackUnusableError,
    read_stack,
    stack_file_of,
)

ROOT = Path(__file__).parents[2]
GPU = "nvidia.com/gpu"
ANY = [{"operator": "Exists"}]


def stack_of(name: str) -> Stack:
    return read_stack(ROOT / "stacks" / f"Pulumi.{name}.yaml")


@pytest.fixture(scope="module")
def v100() -> Stack:
    """One pool of one p3.8xlarge: four GPUs, ten shares of each."""
    return stack_of("time-slicing-v100")


def pods(replicas: Any, name: str = "app", kind: str = "Deployment", **requests: Any) -> Workload:
    return workload({GPU: 1}, requests, replicas=replicas, name=name, kind=kind, tolerations=ANY)


def found(stack: Stack, *items: Workload) -> list[Problem]:
    judged = list(judge_against(Inventory(items), stack))
    assert all(isinstance(each, Problem) for each in judged)
    return [each for each in judged if isinstance(each, Problem)]


@pytest.mark.parametrize(
    ("kind", "replicas", "then"),
    [
        ("Deployment", 41, "1 stays Pending."),
        ("Deployment", 42, "2 stay Pending."),
        ("Job", 41, "1 waits for its turn."),
        ("Job", 42, "2 wait for their turn."),
    ],
)
def test_what_comes_of_those_that_are_too_many(
    v100: Stack, kind: str, replicas: int, then: str
) -> None:
    (problem,) = found(v100, pods(replicas, kind=kind))

    assert problem.message == (
        f"The {kind} app has {replicas} pods with 1 of nvidia.com/gpu each; with all nodes that "
        f"the stack allows (1 of pools.gpu) there is room for 40, and {then}"
    )


@pytest.mark.parametrize(
    ("requests", "asked"),
    [
        ({"cpu": 64}, "asks for 64000m of cpu, and the most that a node of pools.gpu has for pods"),
        ({"memory": "300Gi"}, "asks for 307200 MiB of memory, and the most that a node of pools"),
    ],
)
def test_what_is_too_large_is_told_in_its_unit(
    v100: Stack, requests: dict[str, Any], asked: str
) -> None:
    (problem,) = found(v100, pods(1, **requests))
    room = problem.message.rpartition(" is ")[2]

    assert f"A pod of the Deployment app {asked}" in problem.message
    assert room.endswith(("m (p3.8xlarge).", " MiB (p3.8xlarge)."))
    assert (" MiB " in room) is ("memory" in requests)


def test_as_many_of_a_resource_as_a_node_has_are_on_one(v100: Stack) -> None:
    whole = workload({GPU: 40}, replicas=1, tolerations=ANY)
    more = workload({GPU: 41}, replicas=1, tolerations=ANY)

    assert found(v100, whole) == found(v100, more) == []  # of the second it is said elsewhere
    assert [each.rule.id for each in found(v100, whole, pods(1, "b"))] == ["GPU1203"]


def test_together_they_are_told_once_at_the_largest(v100: Stack) -> None:
    (problem,) = found(v100, pods(20, "a"), pods(21, "b"), pods(1, "c"))

    assert problem.source.name == "the Deployment b"
    assert problem.message == (
        "42 of nvidia.com/gpu are wanted at the same time (the Deployment a 20, the Deployment b "
        "21, the Deployment c 1), and pools.gpu has 40 with all nodes that the stack allows."
    )


@pytest.mark.parametrize("wrong", [1, 2])
def test_errors_of_a_stack_are_all_told(tmp_path: Path, wrong: int) -> None:
    text = (ROOT / "stacks/Pulumi.time-slicing.yaml").read_text(encoding="utf-8")
    text = text.replace("mode: timeSlicing", "mode: slicing")
    if wrong > 1:
        text = text.replace("    tags: {team: ml-platform}", "    tags: 5")
    file = tmp_path / "Pulumi.broken.yaml"
    file.write_text(text, encoding="utf-8")
    stack = read_stack(file)
    problems = found(stack, pods(1))

    assert len(stack.errors) == wrong
    assert [(each.path, each.fix) for each in problems] == [
        (error.at, error.fix) for error in stack.errors
    ]
    for problem, error in zip(problems, stack.errors, strict=True):
        start = f"Of its pools nothing is known: {stack.name} has an error. "
        assert problem.message == start + error.message


def test_a_stack_that_files_are_held_against_is_left_as_it_is(v100: Stack) -> None:
    assert not v100.document.editable


def test_a_stack_that_cannot_be_opened_is_no_side(tmp_path: Path) -> None:
    with pytest.raises(StackUnusableError, match="nowhere"):
        read_stack(tmp_path / "nowhere.yaml")


def test_a_stack_is_named_as_the_user_would_write_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    assert stack_file_of("time-slicing") == Path("stacks/Pulumi.time-slicing.yaml")
    monkeypatch.chdir(tmp_path)
    assert stack_file_of("time-slicing", ROOT) == ROOT / "stacks/Pulumi.time-slicing.yaml"
    for given in ("time.yaml", "time.yml", "some/time"):
        with pytest.raises(StackUnusableError, match=f"There is no stack file {given}"):
            stack_file_of(given, ROOT)


@pytest.mark.parametrize("path", sorted((ROOT / "stacks").glob("*.yaml")), ids=lambda p: p.stem)
def test_a_stack_is_what_its_file_says(path: Path) -> None:
    stack = read_stack(path)
    assert stack.environment is not None
    pools = stack.environment.pools
    nodes = {each.name: each for each in stack.items if isinstance(each, NodeSet)}
    overlays = {each.source.path[1] for each in stack.items if isinstance(each, Overlay)}

    for name, pool in pools.items():
        each = nodes[name]
        starting = set(each.startup_taints or ())  # type: ignore[arg-type]
        assert not starting & set(each.taints)  # type: ignore[arg-type]
        assert (pool.provisioner == "karpenter") or not {name} & overlays
        assert str(each.ami).startswith(("AL2023", "BOTTLEROCKET", "ami-", "al2023", "bottler"))
    for map_ in (each for each in stack.items if isinstance(each, ConfigMap)):
        (release,) = (each for each in stack.items if isinstance(each, Release))
        assert (
            map_.namespace
            == release.namespace
            == (stack.environment.gpu_stack.namespace or release.namespace)
        )
        assert release.version


@pytest.mark.parametrize(
    ("name", "promised"),
    [
        ("cluster-autoscaler", {GPU: 0, f"{GPU}.shared": 10}),
        ("time-slicing", {}),
        ("karpenter-time-slicing", {}),
    ],
)
def test_only_cluster_autoscaler_is_told_by_tags(name: str, promised: dict[str, int]) -> None:
    (nodes,) = (each for each in stack_of(name).items if isinstance(each, NodeSet))

    assert nodes.promised == promised


def stack_with(folder: Path, pools: dict[str, Any], **more: Any) -> Stack:
    """A stack of some pools, each of one node unless it says otherwise."""
    text = (ROOT / "stacks/Pulumi.time-slicing.yaml").read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    environment = content["config"]["eks-gpushare:environment"]
    usual = {"nodes": {"min": 1, "desired": 1, "max": 1}, "amiVersion": "1.35.8-20260930"}
    environment["pools"] = {name: {**usual, **pool} for name, pool in pools.items()}
    environment.update(more)
    file = folder / "Pulumi.made.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    stack = read_stack(file)
    assert not stack.errors
    return stack


def slices(kind: str, replicas: int, **more: Any) -> dict[str, Any]:
    return {
        "instanceTypes": [kind],
        "sharing": {"mode": "timeSlicing", "replicas": replicas},
        **more,
    }


def test_a_node_has_no_room_for_more_pods_than_its_addresses(tmp_path: Path) -> None:
    """A g4dn.xlarge takes 29 pods, 8 of which are there already; of its 40 shares 21 are used."""
    stack = stack_with(tmp_path, {"gpu": slices("g4dn.xlarge", 40)})

    assert found(stack, pods(21)) == []
    (problem,) = found(stack, pods(22))
    assert "there is room for 21, and 1 stays Pending." in problem.message


def test_a_pool_whose_nodes_are_too_small_adds_no_room(tmp_path: Path) -> None:
    stack = stack_with(
        tmp_path, {"small": slices("g6.xlarge", 10), "large": slices("g6.12xlarge", 10)}
    )

    assert found(stack, pods(9, cpu=5)) == []
    (problem,) = found(stack, pods(10, cpu=5))
    assert "(1 of pools.small, 1 of pools.large) there is room for 9," in problem.message


def test_what_a_stack_itself_adds_to_the_catalog_is_not_judged(tmp_path: Path) -> None:
    gpu = {"model": "L40S", "count": 1, "memoryMiB": 46068, "computeCapability": "8.9"}
    own = {"vcpus": 4, "memoryMiB": 16384, "arch": "amd64", "maxPods": 58, "gpu": gpu}
    stack = stack_with(
        tmp_path,
        {"gpu": slices("g99.xlarge", 2)},
        catalog={"instanceTypes": {"g99.xlarge": {**own, "priceUsdPerHour": 0.9}}},
    )

    assert found(stack, pods(1)) == found(stack, pods(99)) == []


def test_of_one_resource_it_is_told_once_and_of_each(tmp_path: Path) -> None:
    layout = {"mode": "mig", "layout": "all-1g.5gb"}
    stack = stack_with(
        tmp_path,
        {
            "one": slices("g6.12xlarge", 10),
            "two": slices("g6.12xlarge", 10),
            "mig": {"instanceTypes": ["p4d.24xlarge"], "sharing": layout},
        },
    )
    chosen = {"nodeSelector": {"eks-gpushare/pool": "one"}}
    mig = {"nvidia.com/mig-1g.5gb": 1}

    def of(limits: dict[str, int], name: str, replicas: int, **spec: Any) -> Workload:
        return workload(limits, replicas=replicas, name=name, tolerations=ANY, **spec)

    on_one = [of({GPU: 1}, "a", 30, **chosen), of({GPU: 1}, "b", 30, **chosen)]
    anywhere = [of({GPU: 1}, "c", 30), of(mig, "d", 30), of(mig, "e", 27)]

    told = found(stack, *on_one, *anywhere)

    assert [each.message.partition(" are wanted")[0] for each in told] == [
        "60 of nvidia.com/gpu",
        "57 of nvidia.com/mig-1g.5gb",
    ]
    assert found(stack, on_one[0], anywhere[0], of(mig, "d", 30), of(mig, "e", 26)) == []


OPERATOR = {"manager": "gpuOperator"}
LAYOUT = {"mode": "mig", "layout": "all-1g.5gb", "apply": "migManager"}


@pytest.mark.parametrize(
    ("manager", "namespace"),
    [
        ({}, "nvidia-device-plugin"),
        ({"namespace": "own"}, "own"),
        (OPERATOR, "gpu-operator"),
        ({**OPERATOR, "namespace": "own"}, "own"),
    ],
)
def test_where_a_stack_installs_its_chart(
    tmp_path: Path, manager: dict[str, str], namespace: str
) -> None:
    stack = stack_with(tmp_path, {"gpu": slices("g6.12xlarge", 2)}, gpuStack=manager)
    items = [each for each in stack.items if isinstance(each, ConfigMap | Release)]

    assert {each.namespace for each in items} == {namespace}
    assert len([each for each in items if isinstance(each, ConfigMap)]) == 1
    assert not stack.document.editable
    assert stack.document.position(("nowhere",))[1] == 1


@pytest.mark.parametrize(("sharing", "maps"), [(LAYOUT, 2), ({"mode": "exclusive"}, 1)])
def test_layouts_are_there_where_something_reads_them(
    tmp_path: Path, sharing: dict[str, str], maps: int
) -> None:
    pool = {"instanceTypes": ["p4d.24xlarge"], "sharing": sharing, "nodeRepair": False}
    stack = stack_with(tmp_path, {"gpu": pool}, gpuStack=OPERATOR)
    (release,) = [each for each in stack.items if isinstance(each, Release)]
    found = {each.name for each in stack.items if isinstance(each, ConfigMap)}

    assert len(found) == maps
    values: Any = release.values
    named = values.get("migManager", {}).get("config", {}).get("name")
    assert (named in found) is (maps == 2)


@pytest.mark.parametrize(
    ("kind", "more", "ami"),
    [
        ("g6.12xlarge", {}, "AL2023_x86_64_NVIDIA"),
        ("g5g.xlarge", {}, "AL2023_ARM_64_NVIDIA"),
        ("g6.12xlarge", {"amiFamily": "bottlerocket", "amiVersion": "1.64.0-d5db3f23"},
         "BOTTLEROCKET_x86_64_NVIDIA"),
    ],
)  # fmt: skip
def test_images_of_a_stack(tmp_path: Path, kind: str, more: dict[str, str], ami: str) -> None:
    stack = stack_with(tmp_path, {"gpu": slices(kind, 2, **more)})
    (nodes,) = [each for each in stack.items if isinstance(each, NodeSet)]

    assert nodes.ami == ami


def test_a_value_that_a_stack_takes_out_of_a_chart_stays_out(tmp_path: Path) -> None:
    charts = {"devicePlugin": {"values": {"updateStrategy": None}}}
    stack = stack_with(tmp_path, {"gpu": slices("g6.12xlarge", 2)}, charts=charts)
    (release,) = [each for each in stack.items if isinstance(each, Release)]

    values: Any = release.values
    assert values["updateStrategy"] is None


def test_of_a_stack_that_is_well_formed_and_wrong_nothing_is_planned(tmp_path: Path) -> None:
    text = (ROOT / "stacks/Pulumi.time-slicing.yaml").read_text(encoding="utf-8")
    file = tmp_path / "Pulumi.wrong.yaml"
    file.write_text(
        text.replace("mode: timeSlicing, replicas: 10", "mode: mig, layout: all-1g.5gb")
    )
    stack = read_stack(file)

    assert stack.errors
    assert stack.environment is None
    assert not stack.items
