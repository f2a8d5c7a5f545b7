"""The built wheel, installed where this repository's sources cannot be seen."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "components" / "eks_gpushare"

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    # Without PYTHONPATH, which would show the source tree to the environment under test.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, (
        f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    )
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # Without isolation, so that it needs no network: hatchling is among the pinned requirements.
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    run(*build, cwd=folder)
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody else's folder, with the wheel in a virtual environment of its own.

    The wheel comes alone and without a network. What it depends on is seen through a .pth file that
    names this interpreter's packages; the editable install among them stays out of sight, since
    Python follows no .pth files of a folder that it got from one.
    """
    folder = tmp_path_factory.mktemp("program")
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    seen = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    (site / "dependencies.pth").write_text("\n".join(sorted(seen)), encoding="utf-8")
    return folder


def source_files() -> set[str]:
    return {
        file.relative_to(PACKAGE.parent).as_posix()
        for file in PACKAGE.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def test_the_wheel_holds_exactly_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    own = {name for name in names if not re.match(r"eks_gpushare-[^/]+\.dist-info/", name)}

    assert own == source_files()


def test_the_wheel_says_that_it_is_typed_and_brings_its_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    assert "eks_gpushare/py.typed" in names
    assert any(re.fullmatch(r"eks_gpushare/catalog/data/.+\.json", name) for name in names)


def test_the_wheel_brings_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("licenses/LICENSE"))

        assert archive.read(name) == (ROOT / "LICENSE").read_bytes()


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
