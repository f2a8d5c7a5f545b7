"""The built wheels, installed where this repository's sources cannot be seen."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Distribution:
    """One of the two distributions that this repository is released as."""

    project: Path
    """Folder of its pyproject.toml."""
    package: Path
    """Folder of its one package."""

    @property
    def id(self) -> str:
        return self.package.name

    def sources(self) -> set[str]:
        """The files of the package, as a wheel names them, and of what it carries as data."""
        own = {f"{self.id}/{file}" for file in files_in(self.package)}
        carried = {f"{self.id}/policy_pack/{file}" for file in files_in(PACK)}
        projects = {f"{self.id}/{name}" for name in ("LICENSE", "pyproject.toml")}
        return own - projects | (carried if self.package == LIBRARY.package else set())


def files_in(folder: Path) -> set[str]:
    return {
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


PACK = ROOT / "policies"
LIBRARY = Distribution(ROOT, ROOT / "components/eks_gpushare")
LAB = Distribution(ROOT / "components/eks_gpushare_lab", ROOT / "components/eks_gpushare_lab")
BOTH = pytest.mark.parametrize("built", [LIBRARY, LAB], ids=lambda each: each.id)

DATA = {
    "eks_gpushare": (
        "catalog/data/instances.json",
        "documents/data/",
        "in_cluster/data/",
        "plugin/schema.json",
    ),
    "eks_gpushare_lab": (
        "binaries/go/etcd/go.mod",
        "binaries/go/etcd/go.sum",
        "install/data/daemonsets.json",
    ),
}


def run(*command: str | Path, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    # Without PYTHONPATH, which would show the source tree to the environment under test.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == code, (
        f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    )
    return done


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each wheel, built from the source distribution and not from this folder."""
    folder = tmp_path_factory.mktemp("dist")
    # Without isolation, so that it needs no network: hatchling is among the pinned requirements.
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    for each in (LIBRARY, LAB):
        run(*build, each.project, cwd=folder)
    found = {file.name.partition("-")[0]: file for file in folder.glob("*.whl")}
    assert len(list(folder.glob("*.tar.gz"))) == len(found)
    return found


def environment_with(folder: Path, *wheels: Path) -> Path:
    """The programs of a new virtual environment that has these wheels.

    The wheels come alone and without a network. What they depend on is seen through a .pth file
    that names a folder of links to this interpreter's packages, without this repository's own: not
    as sources, nor as the metadata that brings entry points.
    """
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", *wheels, cwd=folder)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    links = folder / "dependencies"
    links.mkdir()
    for packages in {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}:
        for entry in Path(packages).iterdir():
            if not entry.name.startswith("eks_gpushare") and entry.suffix != ".pth":
                (links / entry.name).symlink_to(entry)
    (site / "dependencies.pth").write_text(str(links), encoding="utf-8")
    return folder / "venv" / "bin"


@pytest.fixture(scope="module")
def program(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody else's folder, with the library in a virtual environment of its own."""
    folder = tmp_path_factory.mktemp("program")
    environment_with(folder, wheels[LIBRARY.id])
    return folder


@pytest.fixture(scope="module")
def with_lab(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the lab too."""
    return environment_with(tmp_path_factory.mktemp("lab"), *wheels.values())


@BOTH
def test_a_wheel_holds_exactly_its_package(wheels: dict[str, Path], built: Distribution) -> None:
    with zipfile.ZipFile(wheels[built.id]) as archive:
        names = set(archive.namelist())
    own = {name for name in names if not re.match(rf"{built.id}-[^/]+\.dist-info/", name)}

    assert own == built.sources()


@BOTH
def test_a_wheel_says_that_it_is_typed_and_brings_its_data(
    wheels: dict[str, Path], built: Distribution
) -> None:
    with zipfile.ZipFile(wheels[built.id]) as archive:
        names = archive.namelist()

    assert f"{built.id}/py.typed" in names
    for data in DATA[built.id]:
        assert any(name.startswith(f"{built.id}/{data}") for name in names), data


@BOTH
def test_a_wheel_brings_the_licence(wheels: dict[str, Path], built: Distribution) -> None:
    with zipfile.ZipFile(wheels[built.id]) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("licenses/LICENSE"))

        assert archive.read(name) == (ROOT / "LICENSE").read_bytes()


@BOTH
def test_a_wheel_says_what_its_project_says(wheels: dict[str, Path], built: Distribution) -> None:
    text = (built.project / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    with zipfile.ZipFile(wheels[built.id]) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        said = email.message_from_bytes(archive.read(name))

    assert (said["Name"], said["Version"]) == (project["name"], project["version"])
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Description-Content-Type"] == "text/markdown"
    assert str(said.get_payload()).strip()


def test_both_distributions_say_where_they_come_from(wheels: dict[str, Path]) -> None:
    said = []
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            said.append(email.message_from_bytes(archive.read(name)).get_all("Project-URL"))

    assert said[0] == said[1]
    assert [each.partition(",")[0] for each in said[0] or ()] == [
        *("Repository", "Documentation", "Changelog", "Issues"),
    ]


def test_the_package_comes_from_the_wheel(program: Path) -> None:
    statement = "import eks_gpushare; print(eks_gpushare.__file__)"
    done = run(program / "venv/bin/python", "-c", statement, cwd=program)

    assert Path(done.stdout.strip()).is_relative_to(program / "venv")


def test_the_command_shows_its_help(program: Path) -> None:
    done = run(program / "venv/bin/eks-gpushare", "--help", cwd=program)

    assert done.stdout.startswith("usage: eks-gpushare")


def test_the_package_runs_as_a_module(program: Path) -> None:
    done = run(program / "venv/bin/python", "-m", "eks_gpushare", "--help", cwd=program)

    assert done.stdout.startswith("usage: eks-gpushare")


def test_a_stack_file_is_checked_in_another_folder(program: Path) -> None:
    stack = shutil.copy(ROOT / "stacks" / "Pulumi.time-slicing.yaml", program)

    run(program / "venv/bin/eks-gpushare", "check", Path(stack).name, cwd=program)


def test_another_program_imports_a_component(program: Path) -> None:
    (program / "__main__.py").write_text(
        "import inspect\nfrom eks_gpushare import GpuPool, GpuPoolArgs\n"
        "print(inspect.getfile(GpuPool), GpuPoolArgs.__name__)\n",
        encoding="utf-8",
    )
    done = run(program / "venv/bin/python", "__main__.py", cwd=program)
    file, args = done.stdout.split()

    assert Path(file).is_relative_to(program / "venv")
    assert args == "GpuPoolArgs"


RAW_PROGRAM = """
import pulumi_aws as aws

aws.ec2.LaunchTemplate("nodes", image_id="ami-0123456789abcdef0", instance_type="g6.xlarge")
"""


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Somebody's program of raw resources, in a folder of its own."""
    (tmp_path / "Pulumi.yaml").write_text("name: raw\nruntime: python\n", encoding="utf-8")
    (tmp_path / "__main__.py").write_text(RAW_PROGRAM, encoding="utf-8")
    (tmp_path / "Pulumi.dev.yaml").write_text(
        "config:\n  aws:region: us-west-2\n", encoding="utf-8"
    )
    return tmp_path


def test_the_pack_of_the_wheel_judges_a_program_of_raw_resources(program: Path, raw: Path) -> None:
    done = run(program / "venv/bin/eks-gpushare", "policy", "dev", cwd=raw, code=1)

    assert "mandatory imdsv2-required" in done.stdout
    assert done.stdout.endswith("\nThe pack is the one of this package.\n")


def test_the_pack_of_the_wheel_is_written_for_the_engine(program: Path, raw: Path) -> None:
    command = program / "venv/bin/eks-gpushare"
    run(command, "policy", "--write-pack", "policies", cwd=raw)
    done = run(command, "policy", "dev", cwd=raw, code=1)

    assert files_in(raw / "policies") == files_in(PACK)
    assert done.stdout.endswith("\nThe pack is the one in policies.\n")


def test_the_wheel_writes_the_schema_for_editors(program: Path, raw: Path) -> None:
    command = program / "venv/bin/eks-gpushare"
    run(command, "schema", "--stack-file", "--output", "stack-file.schema.json", cwd=raw)
    written = (raw / "stack-file.schema.json").read_text(encoding="utf-8")

    assert written == (ROOT / "docs/stack-file.schema.json").read_text(encoding="utf-8")


def test_without_the_lab_its_verb_says_how_to_install_it(program: Path) -> None:
    done = run(program / "venv/bin/eks-gpushare", "lab", cwd=program, code=2)

    assert done.stdout == ""
    assert done.stderr.endswith(
        'eks-gpushare: error: lab is not installed: pip install "eks-gpushare[lab]"\n'
    )


def test_beside_the_library_the_lab_adds_its_verb(with_lab: Path, tmp_path: Path) -> None:
    done = run(with_lab / "eks-gpushare", "lab", "run", "--help", cwd=tmp_path)

    assert done.stdout.startswith("usage: eks-gpushare lab run")


def test_beside_the_library_the_lab_adds_its_findings(with_lab: Path, tmp_path: Path) -> None:
    done = run(with_lab / "eks-gpushare", "findings", "GPU903", cwd=tmp_path)

    assert done.stdout.startswith("GPU903, warning, reported by lab run\n")
