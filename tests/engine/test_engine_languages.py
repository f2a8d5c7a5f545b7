"""Programs in other languages: what is generated for them, and what the engine makes of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.engine.conftest import Project, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.engine.conftest import Engine

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "languages"
SCHEMA = ROOT / "components" / "eks_gpushare" / "plugin" / "schema.json"
SWITCH = "EKS_GPUSHARE_TEST_LANGUAGES"
CONFIG = {"aws:region": "us-west-2"}
PACKAGE = "sdks/eks-gpushare-eks-gpushare"
"""Where `pulumi package add` writes the package."""
INSTALL_SECONDS = 900

pytestmark = [pytest.mark.slow]


@dataclass(frozen=True)
class Language:
    """What a program in a language takes."""

    name: str
    """Folder of its example."""
    source: str
    host: str
    """What Pulumi calls it."""
    tools: tuple[str, ...]
    install: tuple[tuple[str, ...], ...]
    compiled: tuple[str, ...]
    more: tuple[str, str]
    """An edit after which eight pods share a GPU, where four did."""
    unprotected: tuple[str, str]
    """An edit after which the cluster may be deleted."""
    options: tuple[tuple[str, str], ...] = ()
    """Of its runtime."""


TYPESCRIPT = Language(
    name="typescript",
    source="index.ts",
    host="nodejs",
    tools=("pulumi-language-nodejs", "node", "npm"),
    install=(("npm", "install", "--no-audit", "--no-fund", "--prefer-offline"),),
    compiled=("node", "node_modules/typescript/bin/tsc", "-p", "."),
    more=("replicas: 4", "replicas: 8"),
    unprotected=('name: "gpus",', 'name: "gpus", deletionProtection: false,'),
)
GO = Language(
    name="go",
    source="main.go",
    host="go",
    tools=("pulumi-language-go", "go"),
    install=(("go", "mod", "download"),),
    compiled=("go", "build", "-o", "program", "."),
    more=("IntRef(4)", "IntRef(8)"),
    unprotected=(
        '"203.0.113.0/24"},\n\t\t},',
        '"203.0.113.0/24"},\n\t\t},\n\t\tDeletionProtection: pulumi.BoolRef(false),',
    ),
    options=(("binary", "program"),),  # else each start compiles the program again
)


@dataclass(frozen=True)
class Life:
    """A program that was brought up, again, changed, and destroyed."""

    made: Result
    state: dict[str, Any]
    again: Result
    changed: Result
    left: dict[str, Any]


def missing(language: Language) -> str:
    if os.environ.get(SWITCH) != "1":
        return f"{SWITCH}=1 runs it: packages are downloaded, which takes a minute"
    absent = [each for each in language.tools if shutil.which(each) is None]
    return f"not on PATH: {', '.join(absent)}" if absent else ""


def run(command: tuple[str, ...], directory: Path) -> str:
    done = subprocess.run(
        command,
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=INSTALL_SECONDS,
        env={**os.environ, "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true"},
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin as an executable, which the engine finds on PATH."""
    path = tmp_path_factory.mktemp("plugin") / "pulumi-resource-eks-gpushare"
    parts = (f"PYTHONPATH={ROOT / 'components'}", sys.executable, str(ROOT / "plugin"))
    quoted = " ".join(f"'{each}'" for each in parts)
    path.write_text(f'#!/bin/sh\nexec env {quoted} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def new_engine(engine_with: Callable[..., Engine], plugin: Path) -> Callable[[], Engine]:
    """Each program has an engine of its own: all have the same project and stack."""
    built = {"eks-gpushare": str(plugin)}
    return lambda: engine_with("aws", "eks", "kubernetes", **built)


def project_of(
    engine: Engine, example: Path, directory: Path, options: Mapping[str, str] | None = None
) -> Project:
    """A copy of an example whose plugin is the one on PATH."""
    names = shutil.ignore_patterns("sdks", "node_modules", "__pycache__")
    shutil.copytree(example, directory, ignore=names)
    file = directory / "Pulumi.yaml"
    settings = yaml.safe_load(file.read_text(encoding="utf-8"))
    settings.pop("packages", None)
    settings["runtime"].setdefault("options", {}).update(options or {})
    if settings["runtime"]["name"] == "python":
        settings["runtime"]["options"]["virtualenv"] = ".venv"
        (directory / ".venv").symlink_to(sys.prefix, target_is_directory=True)
    settings["stackConfigDir"] = "stacks"
    file.write_text(json.dumps(settings), encoding="utf-8")
    return Project(engine, directory)


@pytest.fixture(scope="module", params=[TYPESCRIPT, GO], ids=lambda each: each.name)
def language(request: pytest.FixtureRequest) -> Language:
    found: Language = request.param
    if why := missing(found):
        pytest.skip(why)
    return found


def compiled_project(language: Language, engine: Engine, directory: Path) -> Project:
    project = project_of(engine, EXAMPLES / language.name, directory, dict(language.options))
    generated = directory / "generated"
    options = ("--language", language.host, "--local", "--out", str(generated))
    engine.run(directory, "package", "gen-sdk", str(SCHEMA), *options)
    package = directory / PACKAGE
    package.parent.mkdir()
    shutil.move(generated / language.host, package)
    for command in (*language.install, language.compiled):
        run(command, directory)
    return project


@pytest.fixture(scope="module")
def project(
    language: Language,
    new_engine: Callable[[], Engine],
    tmp_path_factory: pytest.TempPathFactory,
) -> Project:
    engine = new_engine()
    made = compiled_project(language, engine, tmp_path_factory.mktemp(language.name) / "gpus")
    made.init("dev", CONFIG)
    return made


@pytest.fixture(scope="module")
def life(project: Project, language: Language) -> Life:
    made = project.up("dev")
    state = project.state("dev")
    again = project.up("dev")
    edit(project, language, *language.more)
    changed = project.up("dev")
    edit(project, language, *language.unprotected)
    project.up("dev")
    project.destroy("dev")
    return Life(made, state, again, changed, project.state("dev"))


def edit(project: Project, language: Language, old: str, new: str) -> None:
    file = project.directory / language.source
    program = file.read_text(encoding="utf-8")
    assert old in program
    file.write_text(program.replace(old, new), encoding="utf-8")
    run(language.compiled, project.directory)


@pytest.fixture(scope="module")
def of_python(
    new_engine: Callable[[], Engine], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    engine = new_engine()
    project = project_of(engine, EXAMPLES / "python", tmp_path_factory.mktemp("python") / "gpus")
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


def test_nothing_stays_after_a_destroy(life: Life) -> None:
    assert life.left["deployment"].get("resources", []) == []


POOL = """\
import * as gpushare from "@eks-gpushare/eks-gpushare";

const late = new gpushare.Network("late", {{ zones: ["us-west-2a", "us-west-2b"] }}).vpcId;
const right = {{
    pool: "inference",
    clusterName: "shared",
    clusterSubnetIds: ["subnet-1", "subnet-2"],
    instanceTypes: ["g6.xlarge"],
    nodes: {{ min: 0, desired: 1, max: 3 }},
    sharing: {{ mode: "mps", replicas: 4 }},
}};
new gpushare.GpuPool("inference", {{ ...right, {wrong} }} as any);
"""

REFUSALS = {
    "nested": (
        'sharing: { mode: "mps", replicas: 1, repplicas: 4 }, rootVolumeGiB: "100"',
        {"sharing.replicas", "sharing.repplicas", "rootVolumeGiB"},
    ),
    "lists": (
        'sharing: { mode: "timesharing" }, taints: [{ key: "a", effekt: "NoSchedule" }]',
        {"sharing.mode", "taints[0].effekt"},
    ),
    "late": (
        'sharing: { mode: "mps", replicas: late }',
        {"sharing.replicas"},
    ),
}


@pytest.fixture(scope="module")
def typescript(
    new_engine: Callable[[], Engine], tmp_path_factory: pytest.TempPathFactory
) -> Project:
    if why := missing(TYPESCRIPT):
        pytest.skip(why)
    engine = new_engine()
    made = compiled_project(TYPESCRIPT, engine, tmp_path_factory.mktemp("refused") / "gpus")
    made.init("dev", CONFIG)
    return made


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_is_one_list_with_the_paths_of_the_program(
    typescript: Project, case: str
) -> None:
    wrong, paths = REFUSALS[case]
    program = POOL.format(wrong=wrong)
    (typescript.directory / "index.ts").write_text(program, encoding="utf-8")

    result = typescript.preview("dev", fails=True)

    told = [each for each in result.errors if "GpuPool: " in each]
    assert len(told) == 1, result.text
    lines = told[0].splitlines()
    assert {each.strip().partition(": ")[0] for each in lines if each.startswith("  ")} >= paths
    assert result.text.count(lines[-1]) == 1
    assert not any(word in result.text for word in ("Traceback", 'File "', "Exception"))


def test_a_misspelt_key_does_not_compile(typescript: Project) -> None:
    program = POOL.format(wrong="repplicas: 4").replace(" as any", "")
    (typescript.directory / "index.ts").write_text(program, encoding="utf-8")
    done = subprocess.run(
        TYPESCRIPT.compiled, cwd=typescript.directory, capture_output=True, text=True, check=False
    )

    assert done.returncode != 0
    assert "repplicas" in done.stdout
