"""Edits change what they are about, and leave everything else to the letter."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from eks_gpushare.inventory.problem import Edit
from eks_gpushare.lint.edits import applied, planned
from eks_gpushare.manifests.texts import read_texts, texts_within
from eks_gpushare.manifests.yaml_text import YamlText


def edited(text: str, *edits: Edit, document: int = 0) -> str:
    read = read_texts(text, "a.yaml").documents[document].text
    assert isinstance(read, YamlText)
    return applied(text, planned(read, edits))[0]


TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists"}
CASES = [
    ("a: 1  # why\nb: 2\n", Edit("set", ("a",), 3), "a: 3  # why\nb: 2\n"),
    ("a: '1'\n", Edit("set", ("a",), "no"), "a: 'no'\n"),
    ("a: x\n", Edit("set", ("a",), "no"), 'a: "no"\n'),
    ('a: "true"\n', Edit("set", ("a",), value=True), "a: true\n"),
    ("a: true\n", Edit("set", ("a",), "true"), 'a: "true"\n'),
    ("a:\nb: 1\n", Edit("set", ("a",), "x"), "a: x\nb: 1\n"),
    ("# top\nb: 1\n", Edit("set", ("version",), "v1"), "# top\nversion: v1\nb: 1\n"),
    ("- b: 1\n  c: 2\n", Edit("set", (0, "name"), "x"), "- name: x\n  b: 1\n  c: 2\n"),
    (
        "s:\n  a: 1 # one\n\n  # last\nt: 2\n",
        Edit("set", ("s", "b"), 2),
        "s:\n  a: 1 # one\n  b: 2\n\n  # last\nt: 2\n",
    ),
    ("s: {a: 1, b: [2]}\n", Edit("set", ("s", "c"), 3), "s: {a: 1, b: [2], c: 3}\n"),
    ("s: {}\n", Edit("set", ("s", "c"), 3), "s: {c: 3}\n"),
    (
        "s:\n  a: |\n    x\n\nt: 1\n",
        Edit("set", ("s", "b"), 1),
        "s:\n  a: |\n    x\n  b: 1\n\nt: 1\n",
    ),
    ("s:\n  a: 1", Edit("set", ("s", "b", "c"), 1), "s:\n  a: 1\n  b:\n    c: 1"),
    (
        "s:\n  a: 1\n",
        Edit("append", ("s", "t"), TOLERATION),
        "s:\n  a: 1\n  t:\n    - key: nvidia.com/gpu\n      operator: Exists\n",
    ),
    (
        "t:\n- key: a\n  value: b # x\n# end\nu: 1\n",
        Edit("append", ("t",), TOLERATION),
        "t:\n- key: a\n  value: b # x\n- key: nvidia.com/gpu\n  operator: Exists\n# end\nu: 1\n",
    ),
    ("t: [{a: b}]\n", Edit("append", ("t",), {"a": "y"}), 't: [{a: b}, {a: "y"}]\n'),
    ("t: []\n", Edit("append", ("t",), 1), "t: [1]\n"),
    ("a:\n  'b': 1 # x\n", Edit("rename", ("a", "b"), "c"), "a:\n  'c': 1 # x\n"),
    ("{a: {b: 1}}\n", Edit("rename", ("a", "b"), "nvidia.com/gpu"), "{a: {nvidia.com/gpu: 1}}\n"),
    ("a: 1\nb:\n  - c\nd: 2 # x\n", Edit("remove", ("b",)), "a: 1\nd: 2 # x\n"),
    ("a: 1\r\nb: 1\r\n", Edit("remove", ("b",)), "a: 1\r\n"),
    ('{"a": 1}', Edit("set", ("b",), {"c": ["x"]}), '{"a": 1, "b": {"c": ["x"]}}'),
    ('{\n\t"a": 1\n}\n', Edit("set", ("b",), "x"), '{\n\t"a": 1,\n\t"b": "x"\n}\n'),
    ('{"a": [\n  1\n]}', Edit("append", ("a",), "x"), '{"a": [\n  1,\n  "x"\n]}'),
    ('{"a": true}', Edit("set", ("a",), "true"), '{"a": "true"}'),
    ('{"a": {}}', Edit("rename", ("a",), "b"), '{"b": {}}'),
    ("é: ü\nb: 1\n", Edit("set", ("b",), 2), "é: ü\nb: 2\n"),
    ("\ufeffb: 1\n", Edit("set", ("b",), 2), "\ufeffb: 2\n"),
    ("a: 1\r\nb: x\r\n", Edit("set", ("c",), 2), "a: 1\r\nb: x\r\nc: 2\r\n"),
    ("%YAML 1.1\n---\na: 1\n", Edit("set", ("a",), 2), "%YAML 1.1\n---\na: 2\n"),
]


@pytest.mark.parametrize(("before", "edit", "after"), CASES)
def test_an_edit(before: str, edit: Edit, after: str) -> None:
    assert edited(before.removeprefix("\ufeff"), edit) == after.removeprefix("\ufeff")


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("a: &x {b: 1}\nc: *x\n", Edit("set", ("c", "b"), 2)),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", Edit("set", ("c", "b"), 2)),
        ("a: &x 1\nc: *x\n", Edit("set", ("a",), 2)),
        ("a: !!str 1\n", Edit("set", ("a",), 2)),
        ("a: |\n  x\n", Edit("set", ("a",), 2)),
        ("a: {b: 1}\n", Edit("set", ("a",), 2)),
        ("a: 1\n", Edit("rename", ("b",), "c")),
        ("a: 1\n", Edit("append", ("a",), "c")),
        ("a: 1\n", Edit("set", ("a", "b"), 1)),
        ("a: {b: 1}\n", Edit("remove", ("a", "b"))),
        ("- a: 1\n  b: 2\n", Edit("remove", (0, "a"))),
        ("a: 1\nb:\n  - c # x\nd: 2\n", Edit("remove", ("b",))),
    ],
)
def test_what_is_not_certain_is_left(text: str, edit: Edit) -> None:
    assert edited(text, edit) == text


def test_an_edit_of_the_second_document() -> None:
    text = "a: 1\n---\na: 1\n---\na: 1\n"
    assert edited(text, Edit("set", ("a",), 2), document=1) == "a: 1\n---\na: 2\n---\na: 1\n"


def test_an_edit_within_a_literal_block() -> None:
    text = "data:\n  a.yaml: |-\n    # first\n    x: 1\n\n    s:\n      z: 2 # z\nb: 1\n"
    (outer,) = read_texts(text, "a.yaml").documents
    within = texts_within(outer, ("data", "a.yaml"))
    assert within is not None
    (inner,) = within.documents
    assert inner.text is not None
    assert inner.position(("s", "z")) == (7, 7)
    edits = (
        Edit("set", ("version",), "v1"),
        Edit("rename", ("s", "z"), "w"),
        Edit("set", ("s", "v"), {"u": 1}),
    )
    assert applied(text, planned(inner.text, edits))[0] == (
        "data:\n  a.yaml: |-\n    # first\n    version: v1\n    x: 1\n\n    s:\n      w: 2 # z\n"
        "      v:\n        u: 1\nb: 1\n"
    )


SAMPLE = """\
# A comment.
apiVersion: apps/v1
kind: Deployment   # with a comment
metadata: {name: notebooks, labels: {app: "a b"}}
spec:
  replicas: 3

  template:
    # inside
    spec:
      nodeSelector:
        eks-node: gpu
      containers:
      - name: main
        args: ["--a", 'b']
        command:
          - sh
          - -c
          - |
            echo a
            echo b
        env:
          - {name: A, value: "1"}
        resources:
          limits:
            nvidia.com/gpu: 1   # one
      # last
      volumes: []
"""


def paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, each in value.items():
            found += paths(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            found += paths(each, (*path, index))
    return found


def done(value: Any, edit: Edit) -> Any:
    """The same edit of the plain value."""
    value = copy.deepcopy(value)
    *above, last = edit.path
    parent = value
    for step in above:
        parent = parent[step]
    if edit.kind == "set":
        parent[last] = edit.value
    elif edit.kind == "append":
        parent[last].append(edit.value)
    elif edit.kind == "remove":
        del parent[last]
    else:
        parent[edit.value] = parent.pop(last)
    return value


def test_what_is_read_after_an_edit_is_the_edited_value() -> None:
    before = read_texts(SAMPLE, "a.yaml").documents[0].value
    chosen = random.Random(0)  # noqa: S311
    made = 0
    for path in paths(before):
        parent: Any = before
        for step in path[:-1]:
            parent = parent[step]
        value = parent[path[-1]]
        edits = []
        if isinstance(value, dict):
            edits.append(Edit("set", (*path, "added"), {"x": ["no", 1], "y": "a: b"}))
        if isinstance(value, list):
            edits.append(Edit("append", path, chosen.choice([1, "on", {"k": {"a": [True]}}])))
        if isinstance(value, str | int):
            edits.append(Edit("set", path, chosen.choice(["on", "1", "# a", 2, True, "a'b", ""])))
        if isinstance(path[-1], str):
            edits += [Edit("rename", path, "other"), Edit("remove", path)]
        for edit in edits:
            text = edited(SAMPLE, edit)
            if text == SAMPLE:
                continue
            made += 1
            (after,) = read_texts(text, "a.yaml").documents
            assert after.value == done(before, edit), (edit, text)
            kept = [line for line in SAMPLE.splitlines() if line in text.splitlines()]
            assert len(kept) >= len(SAMPLE.splitlines()) - (9 if edit.kind == "remove" else 1)
            assert text.count("#") >= SAMPLE.count("#")
    assert made > 55
