"""`pulumi package add` of the plugin: of a folder, of a repository, and of a release's archive.

Each installs the plugin as a user's machine does, by pip into an environment of its own, and then
runs the TypeScript example with it.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
import yaml
from tests.engine.conftest import Project
from tests.engine.https_server import NAME, PORT, HttpsServer
from tests.engine.languages import (
    CONFIG,
    EXAMPLES,
    INSTALL_SECONDS,
    MADE,
    PACKAGE,
    ROOT,
    TYPESCRIPT,
    run,
    show,
    skip_without,
)

import eks_gpushare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.engine.conftest import Engine

pytestmark = [pytest.mark.slow]

VERSION = eks_gpushare.__version__
RELEASED = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "components",
    "policies",
    "plugin",
)
"""What of the repository a wheel and the plugin are made of."""
OTHERS = ("aws", "eks", "kubernetes")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is in this folder as a repository with the version's tag."""
    skip_without(*TYPESCRIPT.tools, "git")
    folder = tmp_path_factory.mktemp("repository") / "eks-gpushare"
    folder.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", "venv", "*.egg-info")
    for name in RELEASED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder)
    identity = ("-c", "user.name=tests", "-c", "user.email=tests@localhost")
    run(("git", "init", "--quiet", "--initial-branch=main"), folder)
    run(("git", "add", "--all"), folder)
    run(("git", *identity, "commit", "--quiet", "--message=A release"), folder)
    run(("git", "tag", f"v{VERSION}"), folder)
    return folder


@pytest.fixture(scope="module")
def server(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpsServer]:
    """Where the repository is cloned from."""
    folder = tmp_path_factory.mktemp("served")
    bare = folder / "eks-gpushare" / "eks-gpushare.git"
    run(("git", "clone", "--quiet", "--bare", str(repository), str(bare)), folder)
    try:
        running = HttpsServer(folder, tmp_path_factory.mktemp("certificate"))
    except PermissionError:
        pytest.skip(f"port {PORT} of this machine is not for everybody")
    yield running
    running.close()


@pytest.fixture
def engine(
    engine_with: Callable[..., Engine], server: HttpsServer, monkeypatch: pytest.MonkeyPatch
) -> Engine:
    """An engine that trusts the server, and has the plugins that this one needs, but not it."""
    for name in ("SSL_CERT_FILE", "PIP_CERT"):
        monkeypatch.setenv(name, str(server.trusted))
    made = engine_with(*OTHERS)
    for name in OTHERS:
        file = made.home / "plugins" / f"pulumi-resource-{name}"
        words = ("resource", name, version(f"pulumi-{name}"), "--file", str(file))
        made.run(made.home, "plugin", "install", *words)
    return made


@pytest.fixture
def program(engine: Engine, tmp_path: Path) -> Project:
    """The example before anything was added."""
    directory = tmp_path / "gpus"
    ignored = shutil.ignore_patterns(*MADE, "Pulumi.yaml")
    shutil.copytree(EXAMPLES / "typescript", directory, ignore=ignored)
    settings = yaml.safe_load((EXAMPLES / "typescript" / "Pulumi.yaml").read_text(encoding="utf-8"))
    del settings["packages"]
    settings["stackConfigDir"] = "stacks"
    (directory / "Pulumi.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    package = directory / "package.json"
    dependency = f'        "@eks-gpushare/eks-gpushare": "file:{PACKAGE}",\n'
    text = package.read_text(encoding="utf-8")
    assert dependency in text
    package.write_text(text.replace(dependency, ""), encoding="utf-8")
    return Project(engine, directory)


def added(program: Project, source: str) -> object:
    """Add the package; what Pulumi.yaml says of it then."""
    result = program.engine.run(
        program.directory, "package", "add", source, limit_seconds=INSTALL_SECONDS
    )
    show(result.text)
    settings = yaml.safe_load((program.directory / "Pulumi.yaml").read_text(encoding="utf-8"))
    assert (program.directory / PACKAGE / "package.json").exists()
    return settings["packages"]["eks-gpushare"]


def runs(program: Project) -> None:
    """Whether the program is compiled, and makes what it does elsewhere."""
    run(TYPESCRIPT.compiled, program.directory)
    program.init("dev", CONFIG)
    made = program.up("dev")
    show(made.text)
    assert made.outputs["request"] == {"nvidia.com/gpu": 1}
    assert "Release device-plugin-release" in made.changes
    assert program.up("dev").changes == {}


def test_a_folder(program: Project, repository: Path, tmp_path: Path) -> None:
    clone = tmp_path / "eks-gpushare"
    run(("git", "clone", "--quiet", str(repository), str(clone)), tmp_path)

    assert added(program, "../eks-gpushare/plugin") == "../eks-gpushare/plugin"
    runs(program)


def test_a_repository(program: Project) -> None:
    # With `.git`: without it the engine takes what has no domain such as .com for a folder.
    source = f"{NAME}/eks-gpushare/eks-gpushare.git/plugin"

    said = added(program, f"https://{source}@v{VERSION}")
    assert VERSION in str(said)
    assert source in str(said)
    runs(program)


def test_a_release(program: Project, repository: Path, tmp_path: Path) -> None:
    wheels, archives = tmp_path / "wheels", tmp_path / "archives"
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(wheels))
    for project in (repository, repository / "components"):
        run((*build, str(project)), tmp_path)
    tool = ROOT / "tools" / "packaging" / "plugin_archive.py"
    run((sys.executable, str(tool), str(archives), *map(str, wheels.iterdir())), tmp_path)
    (archive,) = archives.glob(f"*-{platform()}.tar.gz")

    words = ("resource", "eks-gpushare", f"v{VERSION}", "--file", str(archive))
    program.engine.run(
        program.directory, "plugin", "install", *words, limit_seconds=INSTALL_SECONDS
    )
    assert added(program, f"eks-gpushare@v{VERSION}")
    runs(program)


def platform() -> str:
    """Of this machine, as the engine names it."""
    machine = os.uname().machine
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
    return f"{os.uname().sysname.lower()}-{architecture}"
