"""Patches as Kubernetes merges them, at their edges."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.manifests.strategic_merge import PatchError, merged, patched

POD = {"apiVersion": "v1", "kind": "Pod"}


@pytest.mark.parametrize(
    ("given", "patch", "expected"),
    [
        ({"a": 1}, {"$patch": "merge", "$retainKeys": ["b"], "b": 2}, {"a": 1, "b": 2}),
        ({}, {"$setElementOrder/env": [], "b": {"$patch": "merge", "c": None}}, {"b": {}}),
        ({}, {"b": {"c": [{"d": None, "e": 1}, None]}}, {"b": {"c": [{"e": 1}, None]}}),
        ({"env": [{"name": "A"}]}, {"env": ["name", {"value": 1}]},
         {"env": [{"name": "A"}, "name", {"value": 1}]}),
        ({"env": "x"}, {"env": [{"name": "A"}]}, {"env": [{"name": "A"}]}),
        ({"env": ["x", {"name": "A", "b": 1}]}, {"env": [{"name": "A", "b": 2}]},
         {"env": ["x", {"name": "A", "b": 2}]}),
        ({"env": [{"name": "A"}, {"name": "B"}]}, {"env": [{"name": "A", "$patch": "delete"}]},
         {"env": [{"name": "B"}]}),
        ({"env": [{"name": "A"}]}, {"env": [{"$patch": "replace"}, {"name": "C"}, "x"]},
         {"env": [{"name": "C"}, "x"]}),
        ({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}, {"a": {"c": 2}}),
        ({"a": {"b": 1}}, {"a": {"$patch": "delete"}}, {}),
        ({"a": 1}, {"a": None}, {}),
    ],
)  # fmt: skip
def test_a_strategic_merge(given: Any, patch: Any, expected: Any) -> None:
    assert merged({**POD, **given}, patch) == {**POD, **expected}


def test_lists_of_kinds_that_others_bring_are_replaced() -> None:
    own = {"apiVersion": "example.com/v1", "env": [{"name": "A"}]}

    assert merged(own, {"env": [{"name": "B"}]})["env"] == [{"name": "B"}]
    assert merged([1], {"a": 1}) == {"a": 1}
    assert merged({"a": 1}, 5) == 5


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "add", "path": "/a/0", "value": 9}, [9, 1, 2]),
        ({"op": "add", "path": "/a/2", "value": 9}, [1, 2, 9]),
        ({"op": "add", "path": "/a/-", "value": 9}, [1, 2, 9]),
        ({"op": "replace", "path": "/a/0", "value": 9}, [9, 2]),
        ({"op": "replace", "path": "/a/1", "value": 9}, [1, 9]),
        ({"op": "remove", "path": "/a/1"}, [1]),
        ({"op": "test", "path": "/a/1", "value": 2}, [1, 2]),
    ],
)
def test_an_operation_on_a_list(operation: dict[str, Any], expected: list[int]) -> None:
    assert patched({"a": [1, 2]}, [operation]) == {"a": expected}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/a/2", "value": 9},
        {"op": "replace", "path": "/a/-", "value": 9},
        {"op": "add", "path": "/a/3", "value": 9},
        {"op": "add", "path": "/b/c", "value": 9},
        {"op": "replace", "path": "/b/c", "value": 9},
        {"op": "add", "path": "/b/0", "value": 9},
        {"op": "remove", "path": "/a/2"},
    ],
)
def test_an_operation_beyond_what_is_there(operation: dict[str, Any]) -> None:
    with pytest.raises(PatchError):
        patched({"a": [1, 2], "b": 5}, [operation])
