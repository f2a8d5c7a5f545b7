"""What git ignores is not read of a folder: as git itself says."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.manifests.files import given_files
from eks_gpushare.manifests.ignored import Ignored

if TYPE_CHECKING:
    from pathlib import Path

PATTERNS = {
    ".gitignore": "*.out.yaml\n/rendered/\nbuild\n!keep.out.yaml\n# none\n\ndeep/**/x.yaml\n",
    "a/.gitignore": "secret.yaml\n!b.out.yaml\n",
    "a/inner/.gitignore": "*\n!good.yaml\n!.gitignore\n",
    ".git/info/exclude": "mine.yaml\n",
}
FILES = (
    *(
        "top.yaml",
        "x.out.yaml",
        "keep.out.yaml",
        "mine.yaml",
        "rendered/r.yaml",
        "a/rendered/r.yaml",
    ),
    *("build/b.yaml", "a/build/b.yaml", "a/secret.yaml", "a/b.out.yaml", "a/c.out.yaml"),
    *("a/inner/good.yaml", "a/inner/bad.yaml", "deep/x.yaml", "deep/one/two/x.yaml"),
    "deep/y.yaml",
    *("build/keep.out.yaml", "rendered/keep.out.yaml", "secret.yaml"),
)

ASKED = ("check-ignore", "--no-index")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    for name, text in PATTERNS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a: b\n")
    return tmp_path


def test_the_patterns_of_each_folder_count_as_git_counts_them(repository: Path) -> None:
    ignored = Ignored()
    found = {name for name in FILES if ignored(repository / name)}

    git = shutil.which("git") or "git"
    shutil.rmtree(repository / ".git")
    subprocess.run((git, "init", "-q", str(repository)), check=True)
    (repository / ".git/info/exclude").write_text(PATTERNS[".git/info/exclude"])
    said = subprocess.run(
        (
            git,
            "-C",
            str(repository),
            "-c",
            "core.excludesFile=",
            "check-ignore",
            "--no-index",
            *FILES,
        ),
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    assert found == set(said)
    assert "top.yaml" not in found
    assert len(found) > len(FILES) // 2


def test_a_folder_is_read_without_them_and_says_so(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    (repository / "main.ts").write_text("")
    read = {file.name: file.note for file in given_files(["."])}

    assert {*read} == {
        *("top.yaml", "keep.out.yaml", "a/b.out.yaml", "a/inner/good.yaml", "a/rendered/r.yaml"),
        *("deep/y.yaml", "secret.yaml", "."),
    }
    assert read["."].startswith("1 file below it is of no kind that is read: 1 .ts; ")
    assert read["."].endswith("files and folders are left out, since git ignores them")


def test_what_is_named_is_read_and_so_is_all_where_nobody_wants_that(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)

    assert [file.name for file in given_files(["a/secret.yaml"])] == ["a/secret.yaml"]
    assert {*FILES} <= {file.name for file in given_files(["."], ignored=True)}


def test_outside_of_a_repository_nothing_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*\n")

    assert not Ignored()(tmp_path / "a.yaml")
