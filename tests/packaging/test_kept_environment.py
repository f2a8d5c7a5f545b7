"""A new checkout takes the environment that was kept, if it is for the same."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tools" / "packaging" / "kept_environment.py"
SPEC = importlib.util.spec_from_file_location("kept_environment", FILE)
assert SPEC is not None
assert SPEC.loader is not None
kept_environment = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(kept_environment)


def made(folder: Path) -> Path:
    venv.create(folder, symlinks=True)
    return folder


def site_of(folder: Path) -> Path:
    return next((folder / "lib").glob("python*/site-packages"))


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """What was kept of an environment with a package, its program, and the project."""
    first = made(tmp_path / "first" / ".venv")
    (site_of(first) / "package.py").write_text("NAME = 'package'\n", encoding="utf-8")
    (site_of(first) / "_eks_gpushare.pth").write_text(str(tmp_path), encoding="utf-8")
    (site_of(first) / "eks_gpushare-1.dist-info").mkdir()
    for name in ("program", "eks-gpushare"):
        program = first / "bin" / name
        text = f"#!{first / 'bin' / 'python'}\nimport sys, package\nprint(sys.prefix, package.NAME)"
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
    folder = tmp_path / "kept"
    kept_environment.keep(first, folder, "made of this")
    return folder


def test_a_program_runs_in_the_new_environment(kept: Path, tmp_path: Path) -> None:
    second = made(tmp_path / "second" / ".venv")

    assert kept_environment.take(second, kept, "made of this")
    done = subprocess.run(
        [str(second / "bin" / "program")], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(second), "package"]


def test_what_is_put_in_place_of_a_file_leaves_the_kept_one(kept: Path, tmp_path: Path) -> None:
    second = made(tmp_path / "second" / ".venv")
    kept_environment.take(second, kept, "made of this")
    taken = site_of(second) / "package.py"
    assert taken.samefile(site_of(kept) / "package.py")

    other = tmp_path / "other.py"
    other.write_text("NAME = 'other'\n", encoding="utf-8")
    other.replace(taken)
    assert "'package'" in (site_of(kept) / "package.py").read_text(encoding="utf-8")


def test_where_a_file_cannot_be_linked_it_is_copied(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr(kept_environment.os, "link", refused)
    second = made(tmp_path / "second" / ".venv")
    kept_environment.take(second, kept, "made of this")

    here, there = (site_of(each) / "package.py" for each in (second, kept))
    assert not here.samefile(there)
    assert here.stat().st_mtime == there.stat().st_mtime


def test_the_project_itself_is_not_taken(kept: Path, tmp_path: Path) -> None:
    second = made(tmp_path / "second" / ".venv")
    kept_environment.take(second, kept, "made of this")

    assert not [each for each in site_of(second).iterdir() if "gpushare" in each.name]
    assert not (second / "bin" / "eks-gpushare").exists()


@pytest.mark.parametrize("wanted", ["made of that", ""])
def test_of_other_requirements_nothing_is_taken(wanted: str, kept: Path, tmp_path: Path) -> None:
    second = made(tmp_path / "second" / ".venv")

    assert not kept_environment.take(second, kept, wanted)
    assert not kept_environment.take(second, tmp_path / "nothing", wanted)
    assert [*site_of(second).iterdir()] == []


def test_what_it_is_made_of_is_in_the_key(tmp_path: Path) -> None:
    file = tmp_path / "requirements-dev.txt"
    file.write_text("a==1\n", encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("b==1\n", encoding="utf-8")
    before = kept_environment.key(file)
    assert before == kept_environment.key(file)
    assert sys.version in before

    (tmp_path / "requirements.txt").write_text("b==2\n", encoding="utf-8")
    assert kept_environment.key(file) != before
