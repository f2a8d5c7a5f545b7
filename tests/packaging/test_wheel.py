"""The built wheels, installed where this repository's sources cannot be seen."""

from __future__ import annotations

import email
import importlib.metadata
import json
import marshal
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Distribution:
    """One of the distributions that this repository is released as."""

    id: str
    """Its name, as that of its wheel begins."""
    project: Path
    """Folder of its pyproject.toml."""
    sources: frozenset[str]
    """The files of its package, as a wheel names them, and of what it carries as data."""

    @property
    def package(self) -> str:
        """Its one package."""
        return "eks_gpushare_lab" if self.id == "eks_gpushare_lab" else "eks_gpushare"


def files_in(folder: Path) -> set[str]:
    return {
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


PACK = ROOT / "policies"
COMPONENTS = ROOT / "components"
ALL = {file for file in files_in(COMPONENTS) if file.startswith("eks_gpushare/")}
ROOT_BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
LISTED = tuple(ROOT_BUILD["build"]["only-include"])
LEFT_OUT = frozenset(ROOT_BUILD["build"]["exclude"])
IN_CHECKS = frozenset(
    file
    for file in ALL
    if f"components/{file}" not in LEFT_OUT
    and f"components/{file}".startswith((*(f"{each}/" for each in LISTED), *LISTED))
)
CHECKS = Distribution("eks_gpushare_checks", ROOT, IN_CHECKS)
LIBRARY = Distribution(
    "eks_gpushare",
    COMPONENTS,
    frozenset(ALL - IN_CHECKS | {f"eks_gpushare/policy_pack/{file}" for file in files_in(PACK)}),
)
LAB = Distribution(
    "eks_gpushare_lab",
    COMPONENTS / "eks_gpushare_lab",
    frozenset(
        f"eks_gpushare_lab/{file}"
        for file in files_in(COMPONENTS / "eks_gpushare_lab") - {"LICENSE", "pyproject.toml"}
    ),
)
RELEASED = (CHECKS, LIBRARY, LAB)
EACH = pytest.mark.parametrize("built", RELEASED, ids=lambda each: each.id)

DATA = {
    "eks_gpushare_checks": ("py.typed", "catalog/data/instances.json", "documents/data/"),
    "eks_gpushare": ("in_cluster/data/", "plugin/schema.json"),
    "eks_gpushare_lab": (
        "py.typed",
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
    for each in RELEASED:
        run(*build, each.project, cwd=folder)
    found = {file.name.partition("-")[0]: file for file in folder.glob("*.whl")}
    assert len(list(folder.glob("*.tar.gz"))) == len(found)
    return found


def environment_with(folder: Path, *wheels: Path, of: Path | None = None) -> Path:
    """The programs of a new virtual environment that has these wheels.

    The wheels come alone and without a network. What they depend on is seen through a .pth file
    that names a folder of links to this interpreter's packages, without this repository's own: not
    as sources, nor as the metadata that brings entry points.

    Args:
        folder: Where it is made.
        wheels: What is installed.
        of: The wheel whose dependencies are to be seen, and nothing else. Default: all is.
    """
    venv.create(folder / "venv", symlinks=True)
    pip(folder, "install", *wheels, compiles=of is not None)
    links = folder / "dependencies"
    links.mkdir()
    needed = None if of is None else set(needed_by(requirements_of(of)))
    link_packages(links, needed)
    (site_of(folder) / "dependencies.pth").write_text(str(links), encoding="utf-8")
    return folder / "venv" / "bin"


def pip(folder: Path, verb: str, *words: str | Path, compiles: bool = False) -> None:
    """Install wheels alone and without a network, or take packages out.

    What is imported is compiled then, a small part of a wheel; all of it only where that is asked.
    """
    compiled = () if compiles else ("--no-compile",)
    how = ("--no-deps", "--no-index", *compiled) if verb == "install" else ("--yes",)
    python = folder / "venv" / "bin" / "python"
    own = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*own, verb, "--quiet", *how, *words, cwd=folder)


def site_of(folder: Path) -> Path:
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    return site


def link_packages(links: Path, needed: set[str] | None) -> None:
    for packages in {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}:
        for entry in Path(packages).iterdir():
            own = entry.name.startswith("eks_gpushare") or entry.suffix == ".pth"
            if not own and (needed is None or entry.name in needed):
                with suppress(FileExistsError):  # both kinds are one folder on most systems
                    (links / entry.name).symlink_to(entry)


def needed_by(requirements: list[str], seen: frozenset[str] = frozenset()) -> Iterator[str]:
    """The entries of site-packages of all that these requirements come to."""
    for text in requirements:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        marker = requirement.marker
        if name in seen or not (marker is None or marker.evaluate({"extra": ""})):
            continue
        found = importlib.metadata.distribution(name)
        yield from {file.parts[0] for file in found.files or () if file.parts[0] != ".."}
        yield from needed_by(found.requires or [], seen | {name})


def requirements_of(wheel: Path) -> list[str]:
    return metadata_of(wheel).get_all("Requires-Dist") or []


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


@pytest.fixture(scope="module")
def program(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody else's folder, with the library in a virtual environment of its own."""
    folder = tmp_path_factory.mktemp("program")
    environment_with(folder, wheels[CHECKS.id], wheels[LIBRARY.id])
    return folder


@pytest.fixture(scope="module")
def alone(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose environment has the checks, and what they depend on, and nothing else."""
    folder = tmp_path_factory.mktemp("alone")
    environment_with(folder, wheels[CHECKS.id], of=wheels[CHECKS.id])
    return folder


@pytest.fixture(scope="module")
def with_lab(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the lab too."""
    return environment_with(tmp_path_factory.mktemp("lab"), *wheels.values())


@EACH
def test_a_wheel_holds_exactly_its_package(wheels: dict[str, Path], built: Distribution) -> None:
    with zipfile.ZipFile(wheels[built.id]) as archive:
        names = set(archive.namelist())
    own = {name for name in names if not re.match(rf"{built.id}-[^/]+\.dist-info/", name)}

    assert own == built.sources


@EACH
def test_a_wheel_brings_its_data_and_that_it_is_typed(
    wheels: dict[str, Path], built: Distribution
) -> None:
    with zipfile.ZipFile(wheels[built.id]) as archive:
        names = archive.namelist()

    for data in DATA[built.id]:
        assert any(name.startswith(f"{built.package}/{data}") for name in names), data


@EACH
def test_a_wheel_brings_the_licence(wheels: dict[str, Path], built: Distribution) -> None:
    with zipfile.ZipFile(wheels[built.id]) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("licenses/LICENSE"))

        assert archive.read(name) == (ROOT / "LICENSE").read_bytes()


@EACH
def test_a_wheel_says_what_its_project_says(wheels: dict[str, Path], built: Distribution) -> None:
    text = (built.project / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    said = metadata_of(wheels[built.id])

    assert (said["Name"], said["Version"]) == (project["name"], project["version"])
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Description-Content-Type"] == "text/markdown"
    assert str(said.get_payload()).strip()


def test_all_distributions_say_where_they_come_from(wheels: dict[str, Path]) -> None:
    said = [metadata_of(wheel).get_all("Project-URL") for wheel in wheels.values()]

    assert said[0] == said[1] == said[2]
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


@pytest.mark.at_length
def test_the_pack_of_the_wheel_is_written_for_the_engine(program: Path, raw: Path) -> None:
    command = program / "venv/bin/eks-gpushare"
    run(command, "policy", "--write-pack", "policies", cwd=raw)
    done = run(command, "policy", "dev", "--pack", "policies", cwd=raw, code=1)

    assert files_in(raw / "policies") == files_in(PACK)
    assert done.stdout.endswith("\nThe pack is the one in policies.\n")


def test_the_wheel_writes_the_schema_for_editors(program: Path, raw: Path) -> None:
    command = program / "venv/bin/eks-gpushare"
    run(command, "schema", "--stack-file", "--out", "stack-file.schema.json", cwd=raw)
    written = (raw / "stack-file.schema.json").read_text(encoding="utf-8")

    assert written == (ROOT / "docs/stack-file.schema.json").read_text(encoding="utf-8")


@pytest.mark.at_length
def test_without_the_lab_its_verb_says_how_to_install_it(program: Path) -> None:
    done = run(program / "venv/bin/eks-gpushare", "lab", cwd=program, code=2)

    assert done.stdout == ""
    assert done.stderr.endswith(
        'eks-gpushare: error: lab is not installed: pip install "eks-gpushare[lab]"\n'
    )


@pytest.mark.at_length
def test_beside_the_library_the_lab_adds_its_verb(with_lab: Path, tmp_path: Path) -> None:
    done = run(with_lab / "eks-gpushare", "lab", "run", "--help", cwd=tmp_path)

    assert done.stdout.startswith("usage: eks-gpushare lab run")


@pytest.mark.at_length
def test_beside_the_library_the_lab_adds_its_findings(with_lab: Path, tmp_path: Path) -> None:
    done = run(with_lab / "eks-gpushare", "findings", "GPU903", cwd=tmp_path)

    assert done.stdout.startswith("GPU903, warning, reported by lab run\n")


IMPORT_ALL = """
import importlib, pkgutil, sys
import eks_gpushare

for module in pkgutil.walk_packages(eks_gpushare.__path__, "eks_gpushare."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print("\\n".join(name for name in sys.modules if name.partition(".")[0] == "eks_gpushare"))
"""
MOST = 26 * 1024**2
PROGRAM_VERBS = ("preview", "policy", "iam")
STACK = ROOT / "stacks" / "Pulumi.time-slicing.yaml"
WRONG_MANIFEST = ROOT / "examples" / "lint" / "GPU1020" / "bad.yaml"


def test_no_file_is_in_two_wheels(wheels: dict[str, Path]) -> None:
    names: list[str] = []
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as archive:
            names += archive.namelist()

    assert len(names) == len(set(names))


def test_one_wheel_alone_has_the_command(wheels: dict[str, Path]) -> None:
    owners = []
    for name, wheel in wheels.items():
        with zipfile.ZipFile(wheel) as archive:
            points = [each for each in archive.namelist() if each.endswith("entry_points.txt")]
            owners += [name for each in points if b"[console_scripts]" in archive.read(each)]

    assert owners == [CHECKS.id]


def test_the_checks_import_where_nothing_else_is(alone: Path) -> None:
    done = run(alone / "venv/bin/python", "-c", IMPORT_ALL, cwd=alone)
    sources = {file for file in IN_CHECKS if file.endswith(".py") and "__main__" not in file}
    modules = {file.removesuffix(".py").removesuffix("/__init__") for file in sources}

    assert set(done.stdout.splitlines()) == {module.replace("/", ".") for module in modules}


def test_the_checks_take_no_more_than_26_megabytes(alone: Path) -> None:
    """With what they depend on and the bytecode of all of it, as pip makes it."""
    own = [file for file in site_of(alone).rglob("*") if file.is_file()]
    # What the tests' own environment has of bytecode is of what was imported in it.
    others = [
        file
        for link in (alone / "dependencies").iterdir()
        for file in (link.resolve().rglob("*") if link.is_dir() else (link.resolve(),))
        if file.is_file() and file.suffix != ".pyc"
    ]
    sources = [file.read_bytes() for file in others if file.suffix == ".py"]
    compiled = sum(len(marshal.dumps(compile(source, "", "exec"))) for source in sources)

    assert sum(file.suffix == ".pyc" for file in own) > len(IN_CHECKS) / 2
    assert sum(file.stat().st_size for file in (*own, *others)) + compiled <= MOST


def test_the_checks_alone_judge_a_stack_file(alone: Path, tmp_path: Path) -> None:
    command = alone / "venv/bin/eks-gpushare"
    text = STACK.read_text(encoding="utf-8")
    (tmp_path / "Pulumi.good.yaml").write_text(text, encoding="utf-8")
    broken = text.replace("mode: timeSlicing", "mode: timeslicing")
    (tmp_path / "Pulumi.bad.yaml").write_text(broken, encoding="utf-8")

    run(command, "check", "Pulumi.good.yaml", cwd=tmp_path)
    refused = run(command, "check", "--quiet", "Pulumi.bad.yaml", cwd=tmp_path, code=1)
    assert "sharing.mode" in refused.stdout


def test_the_checks_alone_judge_files_of_others_and_report_in_sarif(
    alone: Path, tmp_path: Path
) -> None:
    command = alone / "venv/bin/eks-gpushare"
    done = run(command, "lint", "--output", "sarif", WRONG_MANIFEST, cwd=tmp_path, code=1)
    (found,) = json.loads(done.stdout)["runs"]

    assert "GPU1020" in {result["ruleId"] for result in found["results"]}


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        (("mig", "check", "p4d.24xlarge", "all-balanced"), "p4d.24xlarge: 8 x A100-40GB"),
        (("schema",), "{"),
        (("findings", "GPU201"), "GPU201, "),
        (("--version",), "eks-gpushare "),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_the_checks_alone_have_their_other_verbs(
    alone: Path, tmp_path: Path, words: tuple[str, ...], begins: str
) -> None:
    done = run(alone / "venv/bin/eks-gpushare", *words, cwd=tmp_path)

    assert done.stdout.startswith(begins)
    assert done.stderr == ""


def test_without_what_shells_ask_completion_says_how_to_install_it(
    alone: Path, tmp_path: Path
) -> None:
    command = alone / "venv/bin/eks-gpushare"
    done = run(command, "completion", "bash", cwd=tmp_path, code=2)
    asked = subprocess.run(
        [command, "che"],
        env={"_ARGCOMPLETE": "1", "COMP_LINE": "eks-gpushare che", "COMP_POINT": "16"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == ""
    assert done.stderr.endswith("pip install 'eks-gpushare-checks[completion]'\n")
    assert (asked.returncode, asked.stdout, asked.stderr) == (1, "", "")


@pytest.mark.parametrize("verb", PROGRAM_VERBS)
def test_without_the_components_their_verbs_say_how_to_install_them(
    alone: Path, tmp_path: Path, verb: str
) -> None:
    done = run(alone / "venv/bin/eks-gpushare", verb, "dev", cwd=tmp_path, code=2)
    wanted = '"eks-gpushare[policy]"' if verb == "policy" else "eks-gpushare"

    assert done.stdout == ""
    assert done.stderr.endswith(
        f"eks-gpushare: error: {verb} is not installed: pip install {wanted}\n"
    )


def test_without_the_components_help_has_none_of_their_verbs(alone: Path, tmp_path: Path) -> None:
    done = run(alone / "venv/bin/eks-gpushare", "--help", cwd=tmp_path)
    verbs = re.findall(r"^    (\w+) ", done.stdout, re.MULTILINE)

    assert {"check", "lint", "mig", "init"} <= set(verbs)
    assert set(verbs).isdisjoint(PROGRAM_VERBS)


def test_without_the_components_their_names_say_how_to_install_them(
    alone: Path, tmp_path: Path
) -> None:
    python = alone / "venv/bin/python"
    done = run(python, "-c", "from eks_gpushare import GpuPoolArgs", cwd=tmp_path, code=1)

    assert done.stderr.endswith(
        "ImportError: GpuPoolArgs comes with the components: pip install eks-gpushare\n"
    )


@pytest.mark.at_length
def test_the_components_come_and_go_beside_the_checks(
    wheels: dict[str, Path], tmp_path: Path, raw: Path
) -> None:
    command = environment_with(tmp_path, wheels[CHECKS.id]) / "eks-gpushare"
    run(command, "preview", STACK, cwd=tmp_path, code=2)

    pip(tmp_path, "install", wheels[LIBRARY.id])
    assert "gpushare-gpu-role" in run(command, "preview", STACK, cwd=tmp_path).stdout
    run(command, "policy", "dev", cwd=raw, code=1)

    pip(tmp_path, "uninstall", "eks-gpushare")
    run(command, "preview", STACK, cwd=tmp_path, code=2)
    run(command, "check", STACK, cwd=tmp_path)
    run(command, "lint", WRONG_MANIFEST, cwd=tmp_path, code=1)
    left = {f"eks_gpushare/{file}" for file in files_in(site_of(tmp_path) / "eks_gpushare")}
    assert left == IN_CHECKS
