"""Lists in JSON are read object by object, and come to the same as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from eks_gpushare.live.checks import waiting
from eks_gpushare.live.dumps import read_dumps
from eks_gpushare.live.json_lists import read_json
from eks_gpushare.live.placement import untolerated
from eks_gpushare.live.slim import slim
from eks_gpushare.live.verdict import verdict_of

ROOT = Path(__file__).parents[2]
NAMES = [{"name": "é€𝄞", "n": 1.5}, [1, 2], "text ] }", 12, None, {"items": [{}]}]
TEXTS = {
    "as kubectl": {"apiVersion": "v1", "items": NAMES, "kind": "List", "metadata": {"a": "b"}},
    "as an API server": {"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": NAMES},
    "empty": {"apiVersion": "v1", "items": []},
    "one object": {"kind": "Node", "metadata": {"name": "x"}},
    "no list": NAMES,
    "numbers": {"items": [12, 34567]},
}


def chunks(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("indent", [None, 4])
def test_it_is_the_same_however_it_comes(name: str, indent: int | None) -> None:
    value = TEXTS[name]
    data = json.dumps(value, indent=indent, ensure_ascii=False).encode("utf-8")

    for size in (7, 64, len(data)):
        assert read_json(chunks(data, size), lambda item: item) == value
        assert read_json(chunks(b"\xef\xbb\xbf" + data, size + 3), lambda item: item) == value


def test_what_is_cut_is_no_json_wherever_it_is() -> None:
    data = json.dumps(TEXTS["as kubectl"], indent=4).encode()

    for end in range(len(data) - 1):
        with pytest.raises(ValueError, match=r"."):
            read_json([data[:end]], lambda item: item)


@pytest.mark.parametrize(
    "text", ['{"items": [1, 2]} x', '{"items": [1 x]}', '{"items": [1], "a"}', "", "\x00\x01"]
)
def test_what_is_behind_it_is_not_let_through(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json([text.encode()], lambda item: item)


def test_of_a_pod_that_something_made_only_what_counts_is_kept() -> None:
    container = {"name": "a", "image": "b", "resources": {"limits": {}}}
    owner = {"kind": "ReplicaSet", "name": "x", "controller": True}
    metadata = {"name": "p", "ownerReferences": [owner]}
    given = {
        "kind": "Pod",
        "metadata": {**metadata, "managedFields": [{}]},
        "spec": {"containers": [{**container, "env": [{}]}], "volumes": [{}], "nodeName": "n"},
    }
    by_hand: dict[str, Any] = {**given, "metadata": {"name": "p"}}

    assert slim(given) == {
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], "nodeName": "n"},
    }
    assert slim(by_hand) == by_hand, "nothing else says what is wrong with it"


def test_of_a_large_cluster_what_is_alike_is_judged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """400 workloads wait, each for one of 80 nodes: nodes of one sort are asked once for each."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from verify_many_nodes import WORKLOADS, cluster_of

    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"items": cluster_of(80, 1000), "kind": "List"}))
    objects = read_dumps([str(file)])
    asked = Mock(wraps=untolerated)
    monkeypatch.setattr(waiting, "untolerated", asked)
    found = verdict_of(objects)

    assert WORKLOADS <= asked.call_count < 5 * WORKLOADS
    waits = [cause for cause in found.causes if cause.fault.finding.code == "GPU1341"]
    assert sum(1 + len(cause.follows) for cause in waits) == WORKLOADS
