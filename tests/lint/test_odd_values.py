"""Whatever stands where another value is expected: a check says something or nothing, and ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linted import every
from tests.conftest import EXAMPLES, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FILES = sorted((ROOT / "examples" / "lint").glob("*/*.yaml"))
ODD = (
    *("$X", "5", "-1", "1e9", "true", "null", '""', '"{{ .Values.x }}"', "[]", "{}", "[1, $Y]"),
    *("{a: b}", "{a: [{}]}", "[[]]"),
)
ENTRY = re.compile(r"^([ -]*[\w./\"-]+:)( .*)?$", re.ASCII)


FLOW = re.compile(r"([\w./\"-]+: )([^,{}\[\]\n]+)(?=[,}])", re.ASCII)
"""An entry within braces."""


def with_odd_value(text: str, which: int, odd: str) -> str:
    """A text with one of its entries, and what stands below it, as something else."""
    lines = text.split("\n")
    places = [number for number, line in enumerate(lines) if ENTRY.match(line)]
    flow = list(FLOW.finditer(text))
    if not places and not flow:
        return text
    number = which % (len(places) + len(flow))
    if number >= len(places):
        begin, end = flow[number - len(places)].span(2)
        return f"{text[:begin]}{odd}{text[end:]}"
    place = places[number]
    depth = len(lines[place]) - len(lines[place].lstrip(" -"))
    end = place + 1
    while end < len(lines) and (not lines[end].strip() or _depth(lines[end]) > depth):
        end += 1
    key = ENTRY.sub(r"\1", lines[place])
    return "\n".join([*lines[:place], f"{key} {odd}", *lines[end:]])


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


@st.composite
def folders(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Some examples side by side, each with odd values in places."""
    chosen = draw(st.lists(st.sampled_from(FILES), min_size=1, max_size=8))
    made = []
    for number, file in enumerate(chosen):
        text = file.read_text(encoding="utf-8")
        places = st.tuples(st.integers(0, 200), st.sampled_from(ODD))
        for which, odd in draw(st.lists(places, max_size=4)):
            text = with_odd_value(text, which, odd)
        made.append((f"{number}{_name(file)}", text))
    return made


def _name(file: Path) -> str:
    return "-values.yaml" if "values" in file.name else ".yaml"


def ended(files: Iterable[tuple[str, str]]) -> list[str]:
    """What is said of checks that ended before their time."""
    return [each.message for each in every(files) if each.code == "GPU012"]


@given(folders())
@settings(max_examples=EXAMPLES * 3 // 8)  # each is judged as a whole
def test_no_check_ends_at_it(files: list[tuple[str, str]]) -> None:
    assert ended(files) == []


KUSTOMIZATION = "resources: [a.yaml]\nnamespace: x\nreplicas: [{name: a, count: 2}]\npatches: "
OBJECT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 1}\n"


@pytest.mark.parametrize(
    ("patch", "made"),
    [
        ("[]", OBJECT.replace("Deployment", "[Deployment]")),
        ("[]", OBJECT.replace("{replicas: 1}", "[1]")),
        ("[]", OBJECT.replace("{replicas: 1}", "$SPEC")),
        ('[{patch: "- {op: [add], path: /spec}", target: {kind: Deployment}}]', OBJECT),
        ("[{patch: \"- {op: remove, path: ''}\", target: {kind: Deployment}}]", OBJECT),
        (
            "[{patch: \"- {op: replace, path: '', value: 5}\", target: {kind: Deployment}}]",
            OBJECT,
        ),
    ],
)
def test_no_kustomization_ends_at_it(patch: str, made: str) -> None:
    files = {"kustomization.yaml": KUSTOMIZATION + patch, "a.yaml": made}

    assert ended(files.items()) == []


@pytest.mark.parametrize("name", ["[gpu]", "{a: b}", "5", "$X"])
def test_no_guide_ends_at_it(name: str) -> None:
    kind = "apiVersion: argoproj.io/v1alpha1\nkind: Application"
    block = f"```yaml\n{kind}\nmetadata: {{name: {name}}}\nspec: {{}}\n```\n"
    guide = f"# GPUs\n\n## Option A\n\n{block}\n## Option B\n\n{block}"

    assert ended([("README.md", guide)]) == []
