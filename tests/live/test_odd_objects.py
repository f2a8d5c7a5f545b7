"""A dump may be filtered, cut or edited: whatever its objects are, there is an answer."""

from __future__ import annotations

import copy
import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.cli import main
from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live.connection import CannotLookError
from eks_gpushare.live.dumps import read_dumps
from eks_gpushare.live.shapes import in_shape
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
STACK = read_stack(ROOT / "stacks" / "Pulumi.time-slicing.yaml")
CLUSTER = ROOT / "examples" / "verify" / "cluster.json"
ITEMS: list[dict[str, Any]] = json.loads(CLUSTER.read_text())["items"]
CHANGES = int(os.environ.get("EKS_GPUSHARE_TEST_CHANGES", "60"))
SEED = 1300
JUNK: tuple[Any, ...] = (
    *(None, "", "x", "\x00", "1k", 5, -1, 0.5, 10**30, float("inf"), True),
    *([], {}, [None], ["x"], {"x": []}, {"": None}, [[]]),
)
REMOVED = object()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place below a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in inner:
        yield (*path, key)
        if isinstance(below, dict | list):
            yield from places(below, (*path, key))


def pod_that_waits() -> dict[str, Any]:
    """A pod with all that a pod may be placed by."""
    term = {
        "matchExpressions": [{"key": "eks-node", "operator": "In", "values": ["gpu"]}],
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-0"]}],
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    resources = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"cpu": "500m"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "chat-1",
            "namespace": "default",
            "creationTimestamp": "2026-11-26T17:30:00Z",
            "ownerReferences": [{"kind": "ReplicaSet", "name": "chat", "controller": True}],
        },
        "spec": {
            "containers": [{"name": "main", "image": "x", "resources": resources}],
            "initContainers": [{"name": "first", "image": "x", "resources": resources}],
            "nodeSelector": {"eks-node": "gpu"},
            "affinity": {"nodeAffinity": required},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "schedulingGates": [],
        },
        "status": {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "message": "no room"}],
        },
    }


BASE = [*ITEMS, pod_that_waits()]
PLACES = list(places(BASE))


def changed(number: int) -> list[dict[str, Any]]:
    """The cluster with a few things that are something else, or gone."""
    chance = random.Random(SEED + number)  # noqa: S311  (the same ones each time)
    given = copy.deepcopy(BASE)
    for _ in range(chance.choice((1, 1, 2, 4))):
        *above, last = chance.choice(PLACES)
        value: Any = given
        for key in above:
            there = isinstance(value, dict) or (isinstance(value, list) and isinstance(key, int))
            value = value[key] if there and (isinstance(value, list) or key in value) else None
        new = chance.choice((REMOVED, *JUNK))
        if isinstance(value, dict):
            value[last] = new
            if new is REMOVED:
                del value[last]
        elif isinstance(value, list) and isinstance(last, int) and last < len(value):
            value[last] = None if new is REMOVED else new
    return given


def test_whatever_an_object_is_there_is_an_answer(tmp_path: Path) -> None:
    answered = 0
    file = tmp_path / "cluster.json"
    for number in range(CHANGES):
        file.write_text(json.dumps({"kind": "List", "items": changed(number)}))
        for stack in (STACK, None):
            try:
                found = verdict_of(read_dumps([str(file)]), stack)
            except CannotLookError:
                continue
            answered += 1
            told = json.dumps(found.as_json())
            assert f'"{CHECK_FAILED.id}"' not in told, (number, told)

    assert answered > CHANGES, "nearly each of them can be read"


def node(**changes: Any) -> dict[str, Any]:
    return {"kind": "Node", "metadata": {"name": "one"}, **changes}


@pytest.mark.parametrize(
    ("given", "kept", "said"),
    [
        (node(), node(spec={}, status={}), ""),
        (node(spec=None, status=None), node(spec={}, status={}), ""),
        (
            node(spec={"taints": [{"key": "a"}, {"key": "b", "effect": "NoSchedule"}]}),
            node(spec={"taints": [{"key": "b", "effect": "NoSchedule"}]}, status={}),
            "spec.taints[0] of one is not as Kubernetes writes it, and is left out",
        ),
        (
            node(status={"allocatable": {"nvidia.com/gpu": "many", "cpu": 8}}),
            node(spec={}, status={"allocatable": {"cpu": 8}}),
            "status.allocatable of one is not as Kubernetes writes it, and is left out",
        ),
        (
            node(metadata={"name": "one", "labels": ["x"]}),
            node(spec={}, status={}),
            "metadata.labels of one is not as Kubernetes writes it, and is left out",
        ),
    ],
)
def test_what_is_not_of_its_type_is_left_out_and_told(
    given: dict[str, Any], kept: dict[str, Any], said: str
) -> None:
    assert in_shape("Node", [given]) == ((kept,), said)


def test_objects_that_are_as_they_should_be_are_not_copied() -> None:
    pods = [given for given in BASE if given["kind"] == "Pod"]
    kept, said = in_shape("Pod", pods)

    assert said == ""
    assert all(one is other for one, other in zip(kept, pods, strict=True))


def test_what_was_left_out_is_unknown_and_no_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = copy.deepcopy(ITEMS)
    for kind in ("Node", "Pod"):
        next(each for each in given if each["kind"] == kind)["metadata"]["labels"] = "all"
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": given}))
    main(["verify", "--from", str(file)])

    assert (
        "  unknown Pod: metadata.labels of nvidia-device-plugin-gpu-feature-discovery-wwgvl is "
        "not as Kubernetes writes it, and is left out\n" in capsys.readouterr().out
    )


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", "kind: Node\nmetadata: {name: x}\nspec: &s {a: *s}\n", "it has aliases"),
        ("a.yaml", "a: &a [1]\nb: [*a, *a]\nkind: Node\n", "it has aliases"),
        ("a.json", nested(100_000), "it is nested too deeply"),
        ("a.json", '{"items": [' + nested(100_000), "it is nested too deeply"),
        ("a.yaml", f"kind: Node\nspec: {nested(100_000)}\n", "nested too deeply"),
        ("a.yaml", "kind: Node\nspec:\n  " + "- " * 100_000 + "x", "nested too deeply"),
    ],
)
def test_what_has_no_end_is_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, said: str
) -> None:
    file = tmp_path / name
    file.write_text(text)

    assert main(["verify", "--from", str(file)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("depth", [30, 300, 700, 950])
def test_an_object_may_be_nested_deeply(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], depth: int
) -> None:
    given = copy.deepcopy(ITEMS)
    for each in given:
        each.setdefault("spec", {})["more"] = "nested"
    file = tmp_path / "cluster.json"
    text = json.dumps({"kind": "List", "items": given})
    file.write_text(text.replace('"nested"', nested(depth)))  # json's writer goes less deep

    assert main(["verify", "--from", str(file)]) in {0, 1, 2}
    assert "defect" not in capsys.readouterr().err
