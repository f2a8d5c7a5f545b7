"""Dumps at their limits: how deep, how large, from where, and which of two counts."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.live import dumps
from eks_gpushare.live.connection import CannotLookError
from eks_gpushare.live.dumps import read_dumps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eks_gpushare.live.objects import ClusterObjects

DEEPEST = 1000
LONGEST = "1" * 20


def made(kind: str, name: str, **metadata: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **metadata}}


NODE = made("Node", "n")


@pytest.fixture
def dump(tmp_path: Path) -> Callable[..., str]:
    """`dump(text)` or `dump(objects)` is a file with it."""

    def write(*given: Any) -> str:
        file = tmp_path / "dump"
        texts = [each if isinstance(each, str) else json.dumps(each) for each in given]
        file.write_text("\n---\n".join(["# several", *texts] if len(texts) > 1 else texts))
        return str(file)

    return write


def test_json_is_read_as_json_whatever_is_around_it(dump: Callable[..., str]) -> None:
    """YAML takes no tabs there."""
    text = json.dumps({**NODE, "spec": {"a": ["\U0001d11e"]}}, indent="\t")

    assert read_dumps([dump(text)]).of("Node")[0]["spec"] == {"a": ["\U0001d11e"]}


def nested(depth: int, beside: int = 0) -> str:
    """YAML of a mapping with `beside` empty lists, and one list in another down to a depth."""
    lists = "".join(f"b{number}: []\n" for number in range(beside))
    return f"{lists}a: {'[' * (depth - 1)}{']' * (depth - 1)}\n"


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (nested(DEEPEST + 1), True),
        (nested(DEEPEST + 1, DEEPEST), True),
        (nested(DEEPEST, 1), False),
        (nested(DEEPEST, 3 * DEEPEST), False),
        (nested(2, 3 * DEEPEST), False),
    ],
    ids=["deep", "deep and wide", "as deep as may be", "and wide", "wide"],
)
def test_what_is_nested_too_deeply_is_refused(
    dump: Callable[..., str], text: str, *, refused: bool
) -> None:
    with pytest.raises(CannotLookError) as error:
        read_dumps([dump(text)])

    assert ("nested too deeply" in str(error.value)) is refused


def nodes_of(found: ClusterObjects) -> list[str]:
    return [each["metadata"]["name"] for each in found.of("Node")]


def test_what_comes_by_a_pipe_has_a_limit_and_a_file_has_none(
    dump: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, data = dump(NODE), json.dumps(NODE).encode()

    def piped(name: str | None = None) -> ClusterObjects:
        """By a pipe of its own, or by standard input."""
        reading, writing = os.pipe()
        os.write(writing, data)
        os.close(writing)
        before = os.dup(0)
        os.dup2(reading, 0)
        try:
            return read_dumps([name or f"/dev/fd/{reading}"])
        finally:
            os.dup2(before, 0)
            os.close(before)
            os.close(reading)

    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_text(json.dumps(made("Node", "of-a-file")))
    assert nodes_of(piped("-")) == nodes_of(piped()) == ["n"]
    monkeypatch.setattr(dumps, "_MOST_BYTES", 10)
    assert nodes_of(read_dumps([file])) == ["n"]
    for name in ("-", None):
        with pytest.raises(CannotLookError, match="cannot be read"):
            piped(name)


def test_objects_are_told_apart_by_their_namespace(dump: Callable[..., str]) -> None:
    pods = [made("Pod", "p", namespace=name) for name in ("a", "b")]
    found = read_dumps([dump(NODE, *pods, made("Pod", "p"))]).of("Pod")

    assert [each["metadata"].get("namespace") for each in found] == ["a", "b", "default"]


@pytest.mark.parametrize(
    ("versions", "counts"),
    [
        ((None, None), 1),
        (("7", "7"), 1),
        ((None, "0"), 1),
        (("8", "7"), 0),
        (("8", "10"), 1),
        ((LONGEST, "7"), 0),
        ((f"{LONGEST}1", "7"), 1),
    ],
)
def test_of_two_the_later_one_counts(
    dump: Callable[..., str], versions: tuple[str | None, ...], counts: int
) -> None:
    pods = [
        {**made("Pod", "p", **({} if version is None else {"resourceVersion": version})), "spec": x}
        for version, x in zip(versions, ({"nodeName": "0"}, {"nodeName": "1"}), strict=True)
    ]
    (found,) = read_dumps([dump(NODE, *pods)]).of("Pod")

    assert found["spec"]["nodeName"] == str(counts)
