"""The pins: complete, exact, and inside the ranges that pyproject.toml promises."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
FILES = ("requirements.txt", "requirements-dev.txt", "requirements-docs.txt")
PROJECTS = [
    tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for folder in (".", "components", "components/eks_gpushare_lab")
]


def statements(name: str) -> list[str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def pins(*names: str) -> dict[str, Requirement]:
    parsed = (Requirement(line) for name in names for line in statements(name) if line[0] != "-")
    return {canonicalize_name(pin.name): pin for pin in parsed}


def ranges() -> list[Requirement]:
    found = []
    for project in PROJECTS:
        optional = project.get("optional-dependencies", {}).values()
        texts = project["dependencies"] + [text for group in optional for text in group]
        found += [Requirement(text) for text in texts]
    own = {project["name"] for project in PROJECTS}
    return [each for each in found if each.name not in own]


def version_of(pin: Requirement) -> str:
    return str(pin.specifier).removeprefix("==")


@pytest.mark.parametrize("name", FILES)
def test_every_requirement_is_pinned_exactly(name: str) -> None:
    loose = [
        str(pin)
        for pin in pins(name).values()
        if len(pin.specifier) != 1 or not str(pin.specifier).startswith("==")
    ]

    assert loose == []


@pytest.mark.parametrize("promised", ranges(), ids=lambda promised: promised.name)
def test_a_direct_dependency_is_pinned_inside_its_range(promised: Requirement) -> None:
    pin = pins("requirements.txt")[canonicalize_name(promised.name)]

    assert promised.specifier.contains(version_of(pin))


@pytest.mark.parametrize("name", FILES[:2])
def test_what_a_pinned_package_requires_is_pinned_too(name: str) -> None:
    pinned = pins("requirements.txt", name)
    missing = []
    for own in pinned:
        for text in importlib.metadata.requires(own) or []:
            required = Requirement(text)
            wanted = required.marker is None or required.marker.evaluate({"extra": ""})
            if wanted and canonicalize_name(required.name) not in pinned:
                missing.append(f"{own} requires {required}")

    assert missing == []


def test_the_installed_versions_are_the_pinned_ones() -> None:
    pinned = {name: version_of(pin) for name, pin in pins(*FILES[:2]).items()}
    installed = {name: importlib.metadata.version(name) for name in pinned}

    assert installed == pinned


def test_protobuf_stays_where_the_policy_sdk_holds_it() -> None:
    assert version_of(pins("requirements.txt")["protobuf"]).startswith("5.29.")


def test_what_is_released_is_installed_in_place_and_last() -> None:
    own = ["--editable .", "--editable components", "--editable components/eks_gpushare_lab"]

    assert statements("requirements.txt")[-3:] == own


def test_all_distributions_are_of_one_version_and_ask_for_each_other_in_it() -> None:
    checks, library, lab = PROJECTS
    version = checks["version"]

    assert library["version"] == lab["version"] == version
    assert library["dependencies"][0] == f"eks-gpushare-checks[completion,terraform]=={version}"
    assert library["optional-dependencies"]["lab"] == [f"eks-gpushare-lab=={version}"]
    assert lab["dependencies"][0] == f"eks-gpushare=={version}"


@pytest.mark.parametrize("name", FILES[1:])
def test_further_requirements_start_from_the_programs_own(name: str) -> None:
    assert statements(name)[0] == "-r requirements.txt"


def test_the_file_with_hashes_has_the_pins_and_a_hash_for_each() -> None:
    text = (ROOT / "requirements-hashes.txt").read_text(encoding="utf-8")
    logical = text.replace(" \\\n", " ").splitlines()
    lines = [line.split() for line in logical if not line.startswith("#")]
    digest = re.compile(r"--hash=sha256:[0-9a-f]{64}")

    assert {words[0] for words in lines} == {str(pin) for pin in pins("requirements.txt").values()}
    assert [
        words for words in lines if len(words) < 2 or not all(map(digest.fullmatch, words[1:]))
    ] == []
    assert "://" not in text
