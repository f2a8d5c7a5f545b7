"""The example of each language, run by its real host: as the Python program, and as judged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.engine.conftest import Engine

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "languages"
SCHEMA = ROOT / "components" / "eks_gpushare" / "plugin" / "schema.json"
PACKAGE = "sdks/eks-gpushare-eks-gpushare"
SWITCH = "EKS_GPUSHARE_TEST_LANGUAGES"

pytestmark = [pytest.mark.slow]


@dataclass(frozen=True)
class Language:
    """How a program of a language is made ready."""

    folder: str
    host: str
    tools: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...]
    options: tuple[tuple[str, str], ...] = ()
    wrong: tuple[str, str] = ("", "")
    """An edit after which a pool is refused."""


LANGUAGES = (
    Language(
        "typescript",
        "nodejs",
        ("node", "npm"),
        (("npm", "install", "--no-audit", "--no-fund", "--prefer-offline"),),
        wrong=("replicas: 4", "replicas: 1"),
    ),
    Language(
        "go",
        "go",
        ("go",),
        (("go", "build", "-o", "program", "."),),
        (("binary", "program"),),
        ("IntRef(4)", "IntRef(1)"),
    ),
)


@pytest.fixture(scope="module", params=LANGUAGES, ids=lambda each: each.folder)
def language(request: pytest.FixtureRequest) -> Language:
    found: Language = request.param
    if os.environ.get(SWITCH) != "1":
        pytest.skip(f"{SWITCH}=1 runs it: packages are downloaded and compiled, for minutes")
    needed = (f"pulumi-language-{found.host}", *found.tools)
    if absent := [each for each in needed if shutil.which(each) is None]:
        pytest.skip(f"not on PATH: {', '.join(absent)}")
    return found


def step(directory: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def project(
    language: Language,
    engine_with: Callable[..., Engine],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp(language.folder) / "gpus"
    shutil.copytree(EXAMPLES / language.folder, directory)
    file = directory / "Pulumi.yaml"
    settings = yaml.safe_load(file.read_text(encoding="utf-8"))
    settings.pop("packages", None)
    settings["runtime"]["options"] = dict(language.options)
    file.write_text(json.dumps(settings), encoding="utf-8")
    generated = directory / "generated"
    options = ("--language", language.host, "--local", "--out", str(generated))
    engine_with("aws", "eks", "kubernetes").run(
        directory, "package", "gen-sdk", str(SCHEMA), *options
    )
    (directory / "sdks").mkdir()
    shutil.move(generated / language.host, directory / PACKAGE)
    for command in language.steps:
        step(directory, *command)
    yield directory
    shutil.rmtree(directory)  # its packages are hundreds of MB


def command(verb: str, directory: Path) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        [sys.executable, "-m", "eks_gpushare", verb, str(directory), "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "components")},
    )
    return done.returncode, json.loads(done.stdout), done.stderr


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on how an SDK says it: see docs/languages.md."""
    resources = {
        each["urn"]: {key: each[key] for key in each if key != "dependencies"}
        for each in document["resources"]
    }
    for each in resources.values():
        if each["type"] == "pulumi:providers:kubernetes":
            each["inputs"] = sorted(each["inputs"])
    cost = document["cost"]
    items = sorted(map(json.dumps, cost.pop("items")))
    return {**document, "resources": resources, "cost": {**cost, "items": items}}


def test_it_is_previewed_as_the_python_program(project: Path) -> None:
    code, found, said = command("preview", project)
    _, expected, _ = command("preview", EXAMPLES / "python")

    assert code == 0, said
    assert comparable(found) == comparable(expected)
    kinds = {each["type"].rpartition(":")[2] for each in found["resources"]}
    assert kinds >= {"Network", "EksCluster", "SystemNodes", "GpuPool", "DevicePlugin"}


def test_policies_say_the_same(project: Path) -> None:
    code, found, said = command("policy", project)
    _, expected, _ = command("policy", EXAMPLES / "python")

    assert code == 0, said

    def told(document: dict[str, Any]) -> list[tuple[str, ...]]:
        keys = ("policy", "level", "urn", "message")
        return sorted(tuple(each[key] for key in keys) for each in document["violations"])

    assert told(found) == told(expected)


def test_a_refusal_names_the_line_and_nothing_else(project: Path, language: Language) -> None:
    (source,) = (each for each in project.iterdir() if each.name in {"index.ts", "main.go"})
    before = source.read_text(encoding="utf-8")
    try:
        source.write_text(before.replace(*language.wrong), encoding="utf-8")
        if language.options:
            step(project, *language.steps[-1])
        code, found, _ = command("preview", project)
    finally:
        source.write_text(before, encoding="utf-8")

    assert code == 1
    assert found["error"]["type"] == "InputPropertiesError"
    assert f"{source}:" in found["error"]["source"]
    lines = found["error"]["text"].splitlines()
    assert "GpuPool: 1 argument is wrong:" in lines[0]
    assert lines[1].startswith("  sharing.replicas: 1 is less than 2; ")
    assert sum("GpuPool: " in each for each in lines) == 1
    assert not any(word in each for word in ("Traceback", "Exception") for each in lines)
