"""Programs in other languages: what is generated for them, and what the engine makes of them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.engine.languages import (
    CONFIG,
    EXAMPLES,
    LANGUAGES,
    Language,
    compiled_project,
    copied,
    edit,
    skip_without,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.engine.conftest import Engine, Project, Result

pytestmark = [pytest.mark.slow]


@dataclass(frozen=True)
class Life:
    """A program that was brought up, again, changed, refused, and destroyed."""

    made: Result
    state: dict[str, Any]
    again: Result
    changed: Result
    refused: Result
    kept: dict[str, Any]
    """The state after the refusal."""
    left: dict[str, Any]
    program: str
    """As it was in the beginning."""


@pytest.fixture(scope="module", params=LANGUAGES, ids=lambda each: each.name)
def language(request: pytest.FixtureRequest) -> Language:
    found: Language = request.param
    skip_without(*found.tools)
    return found


@pytest.fixture(scope="module")
def project(
    language: Language,
    new_engine: Callable[[], Engine],
    tmp_path_factory: pytest.TempPathFactory,
) -> Project:
    directory = tmp_path_factory.mktemp(language.name) / "gpus"
    made = compiled_project(language, new_engine(), directory)
    made.init("dev", CONFIG)
    return made


@pytest.fixture(scope="module")
def life(project: Project, language: Language) -> Life:
    made = project.up("dev")
    state = project.state("dev")
    again = project.up("dev")
    source = project.directory / language.source
    right = source.read_text(encoding="utf-8")
    edit(project, language, *language.one)
    refused = project.up("dev", fails=True)
    kept = project.state("dev")
    source.write_text(right, encoding="utf-8")
    edit(project, language, *language.more)
    changed = project.up("dev")
    edit(project, language, *language.unprotected)
    project.up("dev")
    project.destroy("dev")
    return Life(made, state, again, changed, refused, kept, project.state("dev"), right)


@pytest.fixture(scope="module")
def of_python(
    new_engine: Callable[[], Engine], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    engine = new_engine()
    project = copied(engine, EXAMPLES / "python", tmp_path_factory.mktemp("python") / "gpus")
    project.init("dev", CONFIG)
    project.up("dev")
    return project.state("dev")


def registered(state: dict[str, Any]) -> dict[str, Any]:
    """Inputs by URN, without what the engine and its providers keep for themselves.

    The device plugin's ConfigMap is immutable, and has a new name each time it is made.
    """
    text = re.sub(r"(nvidia-device-plugin-config)-[0-9a-f]{10}", r"\1", json.dumps(state))
    return {
        each["urn"]: each.get("inputs", {})
        for each in json.loads(text)["deployment"]["resources"]
        if not each["type"].startswith(("pulumi:providers:", "eks-gpushare:", "pulumi:pulumi:"))
    }


def components(state: dict[str, Any]) -> set[str]:
    return {
        each["urn"]
        for each in state["deployment"]["resources"]
        if each["type"].startswith("eks-gpushare:")
    }


def test_it_registers_what_the_python_program_does(life: Life, of_python: dict[str, Any]) -> None:
    assert components(life.state) == components(of_python)
    found, expected = registered(life.state), registered(of_python)

    assert set(found) == set(expected)
    assert {urn: found[urn] for urn in found if found[urn] != expected[urn]} == {}


def test_its_outputs_are_there(life: Life) -> None:
    assert life.made.outputs["request"] == {"nvidia.com/gpu": 1}
    assert life.made.outputs["nodeSelector"] == {"eks-gpushare/pool": "notebooks"}


def test_the_same_program_again_changes_nothing(life: Life) -> None:
    assert life.again.changes == {}


def test_more_replicas_reach_the_device_plugin_and_replace_no_node(life: Life) -> None:
    replaced = {name for name, what in life.changed.changes.items() if "replaced" in what}

    assert "Release device-plugin-release" in life.changed.changes
    assert replaced <= {"ConfigMap device-plugin-config"}  # immutable


def test_a_refusal_is_printed_once_and_changes_nothing(life: Life) -> None:
    said = [each for each in life.refused.errors if "GpuPool: " in each]

    assert len(said) == 1, life.refused.text
    assert said[0].endswith(
        "GpuPool: 1 argument is wrong:\n"
        "  sharing.replicas: 1 is less than 2; a GPU is shared by at least two pods. "
        "Set 2 or more, or mode: exclusive for a pod per GPU. [GPU201]"
    )
    refusals = [each for each in life.refused.errors if "argument is wrong" in each]
    assert life.refused.text.count("[GPU201]") == len(refusals), life.refused.text
    assert not any(word in life.refused.text for word in ("Traceback", 'File "', "Unexpected"))
    assert registered(life.kept) == registered(life.state)


def test_an_output_of_any_type_that_is_known_is_its_value(
    life: Life, project: Project, language: Language
) -> None:
    """A layout is of any type, so no compiler refuses an output there."""
    if not language.late:
        pytest.skip(f"a program in {language.host} has no outputs of its own")
    assert not life.left["deployment"].get("resources")
    program = life.program
    for old, new in language.late:
        assert old in program
        program = program.replace(old, new, 1)
    (project.directory / language.source).write_text(life.program, encoding="utf-8")
    edit(project, language, life.program, program)

    made = project.up("dev")
    pools = [
        each["inputs"]
        for each in project.state("dev")["deployment"]["resources"]
        if each["type"] == "eks-gpushare:index:GpuPool"
    ]
    edit(project, language, *language.unprotected)
    project.up("dev")
    project.destroy("dev")

    assert made.outputs["request"] == {"nvidia.com/mig-3g.20gb": 1}
    assert {"3g.20gb": 2} in [pool["sharing"].get("layout") for pool in pools]


def test_nothing_stays_after_a_destroy(life: Life) -> None:
    assert life.left["deployment"].get("resources", []) == []
