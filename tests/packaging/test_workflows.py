"""The workflows: what they may do, what they run of others, and that what they name is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTIONS = sorted((ROOT / ".github/actions").glob("*/action.yml"))
PINNED = [*WORKFLOWS, *ACTIONS, *sorted((ROOT / "examples/ci").glob("*.yml"))]
WRITES = {
    ("docs", "publish"): {"pages", "id-token"},
    ("newer", "newer"): {"contents", "pull-requests"},
    ("release", "attest"): {"id-token", "attestations"},
    ("release", "publish"): {"id-token"},
    ("release", "archives"): {"contents"},
}
"""Jobs that may do more than read the repository."""

each_workflow = pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)


def jobs(file: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"]
    return found


@pytest.mark.parametrize("file", PINNED, ids=lambda file: file.stem)
def test_an_action_is_pinned_by_its_commit_with_the_version_beside_it(file: Path) -> None:
    used = re.findall(r"uses: (.*)", file.read_text(encoding="utf-8"))

    assert used
    assert [
        each for each in used if not re.fullmatch(r"\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)
    ] == []


def test_an_action_has_one_version_everywhere() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in PINNED)
    used = set(re.findall(r"uses: (\S+)@(\S+ # \S+)", text))

    assert len({action for action, _ in used}) == len(used)


@each_workflow
def test_a_job_may_read_the_repository_and_no_more_unless_it_publishes(file: Path) -> None:
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    more = {
        name: set(job["permissions"]) for name, job in jobs(file).items() if "permissions" in job
    }

    assert document["permissions"] == {"contents": "read"}
    assert more == {job: rights for (of, job), rights in WRITES.items() if of == file.stem}


@each_workflow
def test_a_checkout_leaves_no_credentials_behind(file: Path) -> None:
    checkouts = [
        step.get("with", {})
        for job in jobs(file).values()
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/checkout@")
    ]

    assert all(each.get("persist-credentials") is False for each in checkouts)


@each_workflow
def test_what_a_step_runs_is_in_the_repository(file: Path) -> None:
    steps = [step for job in jobs(file).values() for step in job["steps"]]
    said = "\n".join(str(step.get("run", "")) for step in steps)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z]+):", makefile, re.MULTILINE)
    paths = re.findall(r"\b(?:tests|components)(?:/[\w.]+)*|requirements-?\w*\.txt", said)

    assert set(re.findall(r"\bmake ([a-z]+)", said)) <= set(targets)
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("file", [".github/workflows/release.yml", "docs/install.md"])
def test_every_distribution_is_built(file: str) -> None:
    projects = [*ROOT.glob("pyproject.toml"), *ROOT.glob("components/**/pyproject.toml")]
    text = (ROOT / file).read_text(encoding="utf-8")
    built = re.findall(r"-m build --no-isolation --outdir dist (\S+)", text)

    assert sorted(built) == sorted(place(path) or "." for path in projects)


def test_updates_are_asked_for_wherever_versions_are_pinned() -> None:
    text = (ROOT / ".github/dependabot.yml").read_text(encoding="utf-8")
    updates = yaml.safe_load(text)["updates"]
    asked = {
        (update["package-ecosystem"], folder.strip("/"))
        for update in updates
        for pattern in update.get("directories", [update.get("directory")])
        for folder in folders(pattern)
    }
    pinned = {("github-actions", ""), ("github-actions", "examples/ci")}
    pinned |= {("github-actions", place(path)) for path in ACTIONS}
    pinned |= {("pip", place(path)) for path in ROOT.glob("pyproject.toml")}
    pinned |= {("pip", place(path)) for path in ROOT.glob("components/**/pyproject.toml")}
    pinned |= {("gomod", place(path)) for path in ROOT.glob("components/**/go.mod")}

    assert asked == pinned
    assert all(update["cooldown"]["default-days"] >= 7 for update in updates)


def folders(pattern: str) -> list[str]:
    relative = pattern.strip("/")
    return [place(path / "x") for path in ROOT.glob(relative)] if relative else [""]


def place(path: Path) -> str:
    return path.parent.relative_to(ROOT).as_posix().removeprefix(".")
