"""What every example stack registers: the diff of these golden files is what users will see.

Two stacks are held whole. Each other stack is held by what it registers otherwise than one of the
two, so that a change to what all of them register changes two files, and a change to what only one
of them registers still changes one. Nothing is lost in the differences: a test reads them back.

In a file of differences stands, for each resource that differs, its URN without stack and project,
and below it each path that has another value, or after `-` one that is not there. `- URN` is not
registered here; `+ URN` only here, and is told by its differences from a resource `like` it.
``<cluster>`` is the name of the stack's cluster, ``<region>`` its region, ``<stack>`` its own name,
and ``<tags>`` are its tags.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.program.stack_config import read_stack_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.components.conftest import Run

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "registrations"

AGAINST = {
    "bottlerocket": "gpu-operator",
    "cluster-autoscaler": "time-slicing",
    "dev": "time-slicing",
    "exclusive": "time-slicing",
    "karpenter-mig": "karpenter-time-slicing",
    "mig-balanced": "time-slicing",
    "mig-time-slicing": "time-slicing",
    "mig-uniform": "time-slicing",
    "mps": "time-slicing",
    "multi-tenant": "time-slicing",
    "prod": "time-slicing",
    "serve": "karpenter-time-slicing",
    "spot-fallback": "karpenter-time-slicing",
    "tenants": "time-slicing",
    "time-slicing-v100": "time-slicing",
}
"""The stack that each other one is told by: one with each manager, and the nearer of the two."""

WHOLE = sorted(set(AGAINST.values()))

Lines = dict[str, str]
"""The values of a registration as JSON by their paths."""


@pytest.mark.parametrize("name", WHOLE)
def test_a_stack_registers_what_its_golden_file_says(
    name: str, run_stack: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    golden(f"registrations/{name}.json", run_stack(name).text())


@pytest.mark.parametrize(("name", "base"), AGAINST.items())
def test_a_stack_registers_what_its_differences_say(
    name: str, base: str, run_stack: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    ours, theirs = (lines_of(each, run_stack(each).text()) for each in (name, base))
    text = differences(ours, theirs)

    assert read_back(text, theirs) == ours
    golden(f"registrations/{name}.against-{base}.txt", text)


def test_every_stack_has_one_golden_file_of_registrations() -> None:
    names = {f"{name}.against-{base}.txt" for name, base in AGAINST.items()}
    stacks = {path.name.split(".")[1] for path in (ROOT / "stacks").glob("Pulumi.*.yaml")}

    assert {path.name for path in GOLDEN.iterdir()} == names | {f"{name}.json" for name in WHOLE}
    assert {*AGAINST, *WHOLE} == stacks


def lines_of(stack: str, text: str) -> dict[str, Lines]:
    """The registrations of a stack by URN, with what only tells stacks apart made alike."""
    config = read_stack_config(ROOT / "stacks" / f"Pulumi.{stack}.yaml").values
    environment = json.loads(config["eks-gpushare:environment"])
    assert not re.search("<(cluster|region|stack|tags)>", text)
    for own, alike in (
        (f"urn:pulumi:{stack}::eks-gpushare::", "urn:<stack>::"),
        (f"::eks-gpushare-{stack}", "::eks-gpushare-<stack>"),
        (environment["cluster"]["name"], "<cluster>"),
        (config["aws:region"], "<region>"),
    ):
        text = text.replace(own, alike)
    registrations = json.loads(text)
    return {
        each.pop("urn").removeprefix("urn:<stack>::"): dict(_leaves(each, environment["tags"]))
        for each in registrations
    }


def _leaves(value: Any, tags: dict[str, str], path: str = "") -> Iterator[tuple[str, str]]:
    if path == "dependencies":  # sorted, so that it may be told by what comes and goes
        assert value == sorted(set(value))
        value = dict.fromkeys(value, True)
    if isinstance(value, dict) and value:
        if tags.items() <= value.items():
            value = {**{key: value[key] for key in value if key not in tags}, "<tags>": True}
        for key, inner in value.items():
            plain = re.fullmatch(r"[\w-]+", key)
            step = key if plain and not path else f".{key}" if plain else f"[{json.dumps(key)}]"
            yield from _leaves(inner, tags, path + step)
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        for number, inner in enumerate(value):
            yield from _leaves(inner, tags, f"{path}[{number}]")
    else:
        yield path, json.dumps(value)


def differences(ours: dict[str, Lines], theirs: dict[str, Lines]) -> str:
    """What is registered otherwise than by the other stack, as text."""
    found = []
    for urn in sorted(ours.keys() | theirs.keys()):
        if urn not in ours:
            found.append(f"- {urn}\n")
        elif urn in theirs:
            changes = _changes(ours[urn], theirs[urn])
            found += [f"{urn}\n{changes}"] if changes else []
        else:
            like = _nearest(urn, ours[urn], theirs)
            changes = _changes(ours[urn], theirs.get(like, {}))
            found.append(f"+ {urn}\n" + (f"  like {like}\n" if like else "") + changes)
    return "\n".join(found)


def _changes(ours: Lines, theirs: Lines) -> str:
    return "".join(
        f"    {path} = {ours[path]}\n" if path in ours else f"  - {path}\n"
        for path in sorted(ours.keys() | theirs.keys())
        if ours.get(path) != theirs.get(path)
    )


def _nearest(urn: str, lines: Lines, others: dict[str, Lines]) -> str:
    """The other stack's resource of the same type that has most in common; no text if none is."""
    alike = [other for other in others if _type(other) == _type(urn)]
    return min(
        alike, key=lambda other: (_changes(lines, others[other]).count("\n"), other), default=""
    )


def _type(urn: str) -> str:
    return urn.partition("::")[0].rpartition("$")[2]


def read_back(text: str, theirs: dict[str, Lines]) -> dict[str, Lines]:
    """The registrations that a text of differences tells."""
    found = {urn: dict(lines) for urn, lines in theirs.items()}
    here: Lines = {}
    for line in text.splitlines():
        if line.startswith("- "):
            del found[line[2:]]
        elif line.startswith("  like "):
            here |= theirs[line[7:]]
        elif line.startswith("  - "):
            del here[line[4:]]
        elif line.startswith("    "):
            path, _, value = line[4:].partition(" = ")
            here[path] = value
        elif line:
            here = found.setdefault(line.removeprefix("+ "), {})
    return found


BASE = {"a:b:Role::one": {"inputs.name": '"x"', "inputs.size": "1"}, "a:b:Key::k": {"inputs": "{}"}}


@pytest.mark.parametrize(
    ("ours", "text"),
    [
        (BASE, ""),
        (
            {**BASE, "a:b:Role::one": {"inputs.name": '"y = 1"', "inputs.new": "[]"}},
            'a:b:Role::one\n    inputs.name = "y = 1"\n    inputs.new = []\n  - inputs.size\n',
        ),
        (
            {**BASE, "a:b:Role::two": {"inputs.name": '"x"', "inputs.size": "2"}},
            "+ a:b:Role::two\n  like a:b:Role::one\n    inputs.size = 2\n",
        ),
        (
            {"a:b:Role::one": BASE["a:b:Role::one"], "c:d:New::n": {"inputs": "{}"}},
            "- a:b:Key::k\n\n+ c:d:New::n\n    inputs = {}\n",
        ),
    ],
    ids=["none", "values", "like", "others"],
)
def test_differences_tell_what_is_registered_otherwise(ours: dict[str, Lines], text: str) -> None:
    assert differences(ours, BASE) == text
    assert read_back(text, BASE) == ours
