"""What a program in a language takes: its tools, its package, and how it is compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from tests.engine.conftest import Project

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.engine.conftest import Engine

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "languages"
SCHEMA = ROOT / "components" / "eks_gpushare" / "plugin" / "schema.json"
SWITCH = "EKS_GPUSHARE_TEST_LANGUAGES"
CONFIG = {"aws:region": "us-west-2"}
PACKAGE = "sdks/eks-gpushare-eks-gpushare"
"""Where `pulumi package add` writes the package."""
INSTALL_SECONDS = 900
MADE = ("sdks", "node_modules", "__pycache__", "bin", "obj", "target", "program")
"""What somebody may have made of an example in its folder."""


@dataclass(frozen=True)
class Language:
    """What a program in a language takes."""

    name: str
    """Folder of its example."""
    source: str
    host: str
    """What Pulumi calls it."""
    tools: tuple[str, ...]
    more: tuple[str, str]
    """An edit after which eight pods share a GPU, where four did."""
    unprotected: tuple[str, str]
    """An edit after which the cluster may be deleted."""
    late: tuple[tuple[str, str], ...] = ()
    """Edits after which a MIG layout is an output that is known; YAML has none of its own."""
    install: tuple[tuple[str, ...], ...] = ()
    compiled: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    """Of its runtime."""
    generated: bool = True
    """Whether it has a package that is generated; YAML reads the schema itself."""

    @property
    def one(self) -> tuple[str, str]:
        """An edit that is refused: one pod shares a GPU."""
        return self.more[0], self.more[1].replace("8", "1")


_A100 = (("g6.2xlarge", "p4d.24xlarge"),)

TYPESCRIPT = Language(
    name="typescript",
    source="index.ts",
    host="nodejs",
    tools=("pulumi-language-nodejs", "node", "npm"),
    install=(("npm", "install", "--no-audit", "--no-fund", "--prefer-offline"),),
    compiled=("node", "node_modules/typescript/bin/tsc", "-p", "."),
    more=("replicas: 4", "replicas: 8"),
    unprotected=('name: "gpus",', 'name: "gpus", deletionProtection: false,'),
    late=(
        (
            'const version = "1.35";',
            'import * as pulumi from "@pulumi/pulumi"; const version = "1.35";',
        ),
        *_A100,
        ("TimeSlicing, replicas: 4", 'Mig, layout: pulumi.output({ "3g.20gb": 2 })'),
    ),
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
    late=(
        *_A100,
        ("eksgpushare.SharingModeTimeSlicing", "eksgpushare.SharingModeMig"),
        ("Replicas: pulumi.IntRef(4)", 'Layout: pulumi.ToOutput(map[string]int{"3g.20gb": 2})'),
    ),
    options=(("binary", "program"),),  # else each start compiles the program again
)
YAML = Language(
    name="yaml",
    source="Pulumi.yaml",
    host="yaml",
    tools=("pulumi-language-yaml",),
    more=("replicas: 4", "replicas: 8"),
    unprotected=("      admins:", "      deletionProtection: false\n      admins:"),
    generated=False,
)
JAVA = Language(
    name="java",
    source="src/main/java/gpus/App.java",
    host="java",
    tools=("pulumi-language-java", "java", "mvn"),
    compiled=("mvn", "-q", "-B", "compile"),
    more=(".replicas(4)", ".replicas(8)"),
    unprotected=('.name("gpus")', '.name("gpus").deletionProtection(false)'),
    late=(
        *_A100,
        ("TimeSlicing).replicas(4)", 'Mig).layout(Output.of(java.util.Map.of("3g.20gb", 2)))'),
    ),
)
CSHARP = Language(
    name="csharp",
    source="Program.cs",
    host="dotnet",
    tools=("pulumi-language-dotnet", "dotnet"),
    compiled=("dotnet", "build", "-nologo"),
    more=("Replicas = 4", "Replicas = 8"),
    unprotected=('Name = "gpus",', 'Name = "gpus", DeletionProtection = false,'),
    late=(
        *_A100,
        (
            "TimeSlicing, Replicas = 4",
            'Mig, Layout = Output.Create(new Dictionary<string, int> { ["3g.20gb"] = 2 })',
        ),
    ),
)
LANGUAGES = (TYPESCRIPT, GO, JAVA, CSHARP, YAML)


def skip_without(*tools: str) -> None:
    """Skip a test whose tools are not here, or that nobody asked for."""
    if os.environ.get(SWITCH) != "1":
        pytest.skip(f"{SWITCH}=1 runs it: packages are downloaded, which takes a minute")
    if absent := [each for each in tools if shutil.which(each) is None]:
        pytest.skip(f"not on PATH: {', '.join(absent)}")


def run(command: tuple[str, ...], directory: Path) -> str:
    """Run an installer or a compiler, which has to succeed."""
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


def copied(
    engine: Engine, example: Path, directory: Path, options: Mapping[str, str] | None = None
) -> Project:
    """A copy of an example whose plugin is the one on PATH."""
    shutil.copytree(example, directory, ignore=shutil.ignore_patterns(*MADE))
    file = directory / "Pulumi.yaml"
    settings = yaml.safe_load(file.read_text(encoding="utf-8"))
    settings.pop("packages", None)
    settings["runtime"].setdefault("options", {}).update(options or {})
    if settings["runtime"]["name"] == "python":
        settings["runtime"]["options"]["virtualenv"] = ".venv"
        (directory / ".venv").symlink_to(sys.prefix, target_is_directory=True)
    settings["stackConfigDir"] = "stacks"
    file.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    return Project(engine, directory)


def compiled_project(language: Language, engine: Engine, directory: Path) -> Project:
    """A copy of a language's example with its package, compiled."""
    project = copied(engine, EXAMPLES / language.name, directory, dict(language.options))
    if language.generated:
        generate(language, engine, directory)
    for command in (*language.install, *filter(None, [language.compiled])):
        run(command, directory)
    return project


def generate(language: Language, engine: Engine, directory: Path, file: Path = SCHEMA) -> Path:
    """Generate the package of a language, and put it where `pulumi package add` does."""
    generated = directory / "generated"
    options = ("--language", language.host, "--local", "--out", str(generated))
    engine.run(directory, "package", "gen-sdk", str(file), *options)
    package = directory / PACKAGE
    package.parent.mkdir()
    shutil.move(generated / language.host, package)
    return package


def edit(project: Project, language: Language, old: str, new: str) -> None:
    """Edit a program, and compile it."""
    file = project.directory / language.source
    program = file.read_text(encoding="utf-8")
    assert old in program
    file.write_text(program.replace(old, new), encoding="utf-8")
    if language.compiled:
        run(language.compiled, project.directory)


def show(text: str) -> None:
    """What a command printed, for `pytest -s` and for a test that fails."""
    sys.stdout.write(text)
