"""Workloads of files held against the pools of a stack: what there is room for."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_gpushare.cli import main
from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import ConfigMap, NodeSet, Overlay, Release, Workload
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.against import judge_against
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.lint.stack_side import StackUnusableError, read_stack, stack_file_of
from eks_gpushare.manifests.files import GivenFile, given_files
from eks_gpushare.manifests.pod_demand import demand_of

ROOT = Path(__file__).parents[2]
STACKS = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
TOLERATED = [{"key": "nvidia.com/gpu", "operator": "Exists"}]


@cache
def stack_of(name: str) -> Any:
    return read_stack(ROOT / "stacks" / f"Pulumi.{name}.yaml")


def pods(  # what a test says of a workload
    limits: dict[str, Any],
    replicas: Any = 1,
    kind: str = "Deployment",
    name: str = "d",
    **more: Any,
) -> Workload:
    requests = more.pop("requests", {})
    spec = {
        "containers": [{"name": "c", "resources": {"limits": limits, "requests": requests}}],
        "tolerations": TOLERATED,
        **more,
    }
    return Workload(
        source=Source(f"the {kind} {name}"),
        kind=kind,
        name=name,
        replicas=replicas,
        spec=spec,
        spec_path=("spec", "template", "spec"),
    )


def codes(stack: str, *items: Workload) -> list[str]:
    found = list(judge_against(Inventory(items), stack_of(stack)))
    assert all(isinstance(each, Problem) for each in found)
    return [each.rule.id for each in found]


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.name)
def test_every_stack_is_a_side(path: Path) -> None:
    stack = read_stack(path)
    assert not stack.errors
    pools = [each for each in stack.items if isinstance(each, NodeSet)]
    assert [each.name for each in pools] == list(stack.environment.pools)  # type: ignore[union-attr]
    assert all(each.advertised and each.labels and each.ami for each in pools)
    for each in stack.items:
        line = stack.document.position(each.source.path).line
        assert 1 < line <= path.read_text().count("\n")


def test_what_a_stack_has_beside_its_pools() -> None:
    kinds = {type(each) for each in stack_of("karpenter-time-slicing").items}
    assert kinds == {NodeSet, Overlay, ConfigMap, Release}
    operator = [each for each in stack_of("gpu-operator").items if isinstance(each, Release)]
    assert [each.chart for each in operator] == ["gpu-operator"]
    maps = {
        each.name: each for each in stack_of("gpu-operator").items if isinstance(each, ConfigMap)
    }
    named = operator[0].values["migManager"]["config"]["name"]  # type: ignore[index]
    assert named in maps
    assert operator[0].values["devicePlugin"]["config"]["name"] in maps  # type: ignore[index]


def test_bottlerocket_serves_itself() -> None:
    assert not [each for each in stack_of("bottlerocket").items if isinstance(each, Release)]


@pytest.mark.parametrize(
    ("stack", "workload", "wanted"),
    [
        # 4 V100, ten shares each
        ("time-slicing-v100", pods({"nvidia.com/gpu": 1}, 40), []),
        ("time-slicing-v100", pods({"nvidia.com/gpu": 1}, 41), ["GPU1201"]),
        ("time-slicing-v100", pods({"nvidia.com/gpu": 1}, 41, "Job"), ["GPU1201"]),
        ("time-slicing-v100", pods({"nvidia.com/gpu": 1}, None, "DaemonSet"), []),
        # 8 A100 with seven slices
        ("mig-uniform", pods({"nvidia.com/mig-1g.5gb": 1}, 56), []),
        ("mig-uniform", pods({"nvidia.com/mig-1g.5gb": "1"}, 57), ["GPU1201"]),
        ("mig-uniform", pods({"nvidia.com/mig-1g.5gb": 2}, 29), ["GPU1201"]),
        # what no pool has is for the checks between items
        ("mig-uniform", pods({"nvidia.com/mig-3g.20gb": 1}, 500), []),
        ("mig-uniform", pods({"cpu": 400}, 500), []),
        # 32 vCPUs, 31.8 of which are for pods
        ("time-slicing-v100", pods({"nvidia.com/gpu": 1}, 1, requests={"cpu": 64}), ["GPU1202"]),
        ("time-slicing-v100", pods({"nvidia.com/gpu": 1}, 31, requests={"cpu": "1"}), []),
        ("time-slicing-v100", pods({"nvidia.com/gpu": 1}, 32, requests={"cpu": 1}), ["GPU1201"]),
        (
            "time-slicing-v100",
            pods({"nvidia.com/gpu": 1}, 1, requests={"memory": "300Gi"}),
            ["GPU1202"],
        ),
    ],
)
def test_room(stack: str, workload: Workload, wanted: list[str]) -> None:
    assert codes(stack, workload) == wanted


def test_words_of_one_that_is_too_many() -> None:
    (found,) = judge_against(
        Inventory((pods({"nvidia.com/gpu": 1}, 41),)), stack_of("time-slicing-v100")
    )
    assert isinstance(found, Problem)
    assert found.path == ("spec", "replicas")
    assert "there is room for 40, and 1 stays Pending" in found.message
    assert "pools.gpu" in found.fix


def test_a_job_waits_for_its_turn() -> None:
    found = list(
        judge_against(
            Inventory((pods({"nvidia.com/gpu": 1}, 99, "Job"),)), stack_of("time-slicing-v100")
        )
    )
    assert [(each.severity, each.path) for each in found] == [("warning", ("spec", "parallelism"))]  # type: ignore[union-attr]


def test_together() -> None:
    half = [pods({"nvidia.com/gpu": 1}, 20, name=name) for name in ("a", "b")]
    assert codes("time-slicing-v100", *half) == []
    assert codes("time-slicing-v100", *half, pods({"nvidia.com/gpu": 1}, 1)) == ["GPU1203"]
    # jobs end, so that nobody waits for ever
    assert codes("time-slicing-v100", *half, pods({"nvidia.com/gpu": 1}, 1, "Job")) == []


def test_unknown_numbers_are_said() -> None:
    found = list(
        judge_against(
            Inventory((pods({"nvidia.com/gpu": 1}, UNKNOWN),)), stack_of("time-slicing-v100")
        )
    )
    assert [type(each) for each in found] == [NotSeen]


def test_taints_keep_a_pod_off() -> None:
    """A pod that may be nowhere is not one too many: what keeps it off is said elsewhere."""
    workload = pods({"nvidia.com/mig-1g.5gb": 1}, 500, tolerations=[])
    assert codes("mig-uniform", workload) == []


def test_a_stack_with_errors_is_one_finding(tmp_path: Path) -> None:
    text = (ROOT / "stacks/Pulumi.time-slicing.yaml").read_text()
    broken = tmp_path / "Pulumi.broken.yaml"
    broken.write_text(text.replace("mode: timeSlicing", "mode: slicing"))
    stack = read_stack(broken)
    (found,) = judge_against(Inventory((pods({"nvidia.com/gpu": 1}),)), stack)
    assert isinstance(found, Problem)
    assert found.rule.id == "GPU1200"
    assert stack.document.position(found.path).line > 1
    assert stack.items == ()


def test_beside_a_stack_with_errors_nothing_is_said_to_be_missing(tmp_path: Path) -> None:
    text = (ROOT / "stacks/Pulumi.time-slicing.yaml").read_text()
    broken = tmp_path / "Pulumi.broken.yaml"
    broken.write_text(text.replace("mode: timeSlicing", "mode: slicing"))
    hard = {"requests.nvidia.com/mig-1g.5gb": 1}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": hard}}
    quota["metadata"] = {"name": "gpus", "namespace": "team"}
    files = [GivenFile("quota.yaml", json.dumps(quota))]

    def found(path: Path) -> list[str]:
        reports = lint_files(files, read_stack(path))
        return [each.code for report in reports for each in report.findings]

    assert found(broken) == ["GPU1200"]
    assert found(ROOT / "stacks/Pulumi.time-slicing.yaml") == ["GPU1150"]


def test_the_checks_between_items_find_nothing_wrong_with_stacks_alone() -> None:
    for path in STACKS:
        inventory = Inventory(tuple(read_stack(path).items), complete=True)
        assert [found for each in EDGES for found in each.look(inventory)] == [], path.name


@pytest.mark.parametrize(
    ("stack", "resource", "more", "wanted"),
    [
        ("time-slicing", "nvidia.com/gpu", {}, []),
        ("time-slicing", "nvidia.com/gpu.shared", {}, ["GPU1110"]),
        ("mig-uniform", "nvidia.com/gpu", {}, ["GPU1110"]),
        ("mig-uniform", "nvidia.com/mig-1g.5gb", {}, ["GPU1111"]),
        ("mig-uniform", "nvidia.com/mig-1g.5gb", {"tolerations": TOLERATED}, []),
        ("mig-balanced", "nvidia.com/mig-3g.20gb", {"tolerations": TOLERATED}, []),
        ("mig-balanced", "nvidia.com/mig-7g.40gb", {"tolerations": TOLERATED}, ["GPU1110"]),
        ("karpenter-time-slicing", "nvidia.com/gpu.shared", {"tolerations": TOLERATED}, []),
        ("time-slicing", "nvidia.com/gpu", {"nodeSelector": {"eks-gpushare/pool": "gpu"}}, []),
        (
            "time-slicing",
            "nvidia.com/gpu",
            {"nodeSelector": {"eks-gpushare/pool": "g"}},
            ["GPU1112"],
        ),
        ("bottlerocket", "nvidia.com/mig-1g.5gb", {"tolerations": TOLERATED}, ["GPU1110"]),
    ],
)
def test_from_a_file(
    tmp_path: Path, stack: str, resource: str, more: dict[str, Any], wanted: list[str]
) -> None:
    spec = {"containers": [{"name": "c", "resources": {"limits": {resource: 1}}}], **more}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    file = tmp_path / "pod.yaml"
    file.write_text(json.dumps(pod))
    (report,) = lint_files(given_files([str(file)]), stack_of(stack))
    assert [each.code for each in report.findings if each.severity != "info"] == wanted


def test_no_such_stack_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\n")
    monkeypatch.chdir(ROOT)
    assert main(["lint", str(tmp_path / "pod.yaml"), "--against", "nowhere"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "There is no stack nowhere" in shown.err


def test_names_of_stacks(tmp_path: Path) -> None:
    assert stack_file_of("time-slicing", ROOT).name == "Pulumi.time-slicing.yaml"
    assert stack_file_of(str(STACKS[0])) == STACKS[0]
    for given in ("nowhere.yaml", "some/where", "no-such-stack"):
        with pytest.raises(StackUnusableError, match=given):
            stack_file_of(given, ROOT)
    with pytest.raises(StackUnusableError, match="no "):
        stack_file_of("dev", tmp_path)


@pytest.mark.parametrize(
    ("spec", "cpu", "gpus"),
    [
        ({"containers": [{"resources": {"limits": {"cpu": 2, "nvidia.com/gpu": 1}}}]}, 2, 1),
        (
            {"containers": [{"resources": {"limits": {"cpu": 2}, "requests": {"cpu": "500m"}}}]},
            0.5,
            0,
        ),
        ({"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}] * 2}, 0, 2),
        (
            {
                "initContainers": [{"resources": {"limits": {"cpu": 8, "nvidia.com/gpu": 1}}}],
                "containers": [{"resources": {"limits": {"cpu": 2, "nvidia.com/gpu": 1}}}],
            },
            8,
            1,
        ),
        (
            {
                "initContainers": [
                    {"restartPolicy": "Always", "resources": {"requests": {"cpu": 1}}},
                    {"resources": {"requests": {"cpu": 3}}},
                ],
                "containers": [{"resources": {"requests": {"cpu": 2}}}],
            },
            4,
            0,
        ),
        (
            {
                "resources": {"requests": {"cpu": 6}},
                "containers": [{"resources": {"requests": {"cpu": 2}}}],
            },
            6,
            0,
        ),
        ({"containers": [{"resources": {"requests": {"cpu": UNKNOWN}}}]}, 0, 0),
        (UNKNOWN, 0, 0),
        ({}, 0, 0),
    ],
)
def test_what_a_pod_asks_for(spec: Any, cpu: float, gpus: int) -> None:
    found = demand_of(spec)
    assert float(found.amounts.get("cpu", 0)) == cpu
    assert found.of_devices().get("nvidia.com/gpu", 0) == gpus


def test_room_is_counted_beside_several_workloads_of_the_stack_itself() -> None:
    """The stack serve has one on each of its two pools, of which one has four shares."""
    shares = {"nvidia.com/gpu.shared": 1}

    assert codes("serve", pods(shares, replicas=3)) == []
    assert codes("serve", pods(shares, replicas=4)) == ["GPU1203"]


def test_files_that_a_stack_names_need_not_be_there(tmp_path: Path) -> None:
    """In the cluster, where what looks at it has the stack's text alone."""
    text = (ROOT / "stacks" / "Pulumi.time-slicing.yaml").read_text(encoding="utf-8")
    declared = yaml.safe_load(text)
    environment = declared["config"]["eks-gpushare:environment"]
    for key in ("network", "system"):
        environment.pop(key, None)
    environment["cluster"] = {"existing": {"kubeconfig": "elsewhere/kubeconfig", "context": "a"}}
    environment["charts"] = {"devicePlugin": {"path": "charts/nvidia-device-plugin"}}
    for pool in environment["pools"].values():
        given = {key: pool[key] for key in ("instanceTypes", "sharing")}
        pool.clear()
        pool.update({**given, "provisioner": "existing"})
    file = tmp_path / "Pulumi.alone.yaml"
    file.write_text(yaml.safe_dump(declared), encoding="utf-8")

    alone = read_stack(file)

    assert alone.errors == ()
    assert list(alone.plans) == list(environment["pools"])
