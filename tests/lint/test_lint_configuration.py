"""`.gpushare-lint.yaml`: where it is found, what it says, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from eks_gpushare.cli import main
from eks_gpushare.lint.configuration import (
    NAME,
    ConfigurationError,
    declared_in,
    found_configuration,
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_nearest_counts_as_far_as_the_repository(folder: Path) -> None:
    (folder.parent / NAME).write_text("scopes: []\n")
    assert found_configuration(folder / "a" / "b") is None
    (folder / NAME).write_text("scopes: []\n")
    assert found_configuration(folder / "a" / "b") == folder / NAME
    (folder / "a" / NAME).write_text("scopes: []\n")
    assert found_configuration(folder / "a" / "b") == folder / "a" / NAME
    (folder.parent / NAME).unlink()


def test_paths_begin_in_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / NAME).write_text("scopes: [{name: prod, paths: [a/b, '*-prod.yaml']}]\n")
    declared = declared_in(folder / NAME)
    monkeypatch.chdir(folder / "a")

    assert declared.scopes(["b/x.yaml", "../n-prod.yaml", "../other.yaml"]) == {
        "prod": frozenset(("b/x.yaml", "../n-prod.yaml"))
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "{file}:1: not valid YAML: while parsing a flow node"),
        ("[]", "{file}: it is a mapping of scopes"),
        ("scope: []", "{file}: scope is no key of it; it has scopes"),
        ("scopes: {}", "{file}: scopes is a list of items with name and paths"),
        ("scopes: [x]", "{file}: scopes[0] has name and paths"),
        ("scopes: [{paths: [a]}]", "{file}: scopes[0].name is a text"),
        (
            "scopes: [{name: a, paths: [a]}, {name: a, paths: [b]}]",
            "{file}: scopes[1].name is a again; a scope has a name of its own",
        ),
        (
            "scopes: [{name: a, paths: a, x: 1}]",
            "{file}: scopes[0].x is no key of it; it has name and paths\n{file}: scopes[0].pat",
        ),
        ("scopes: [{name: a, paths: []}]", "{file}: scopes[0].paths is a list of files"),
    ],
)
def test_what_is_wrong_is_said_all_at_once(
    text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(NAME).resolve()
    file.write_text(text)

    with pytest.raises(ConfigurationError) as error:
        declared_in(file)
    assert str(error.value).startswith(says.format(file=file))
    assert main(["lint", "a"]) == 2
    assert capsys.readouterr().err.startswith(f"eks-gpushare: {says.format(file=file)}")


def test_without_one_nothing_is_declared() -> None:
    assert declared_in(None).scopes(["a.yaml"]) == {}
    Path(NAME).write_text("# empty\n")
    assert declared_in(Path(NAME)).scopes(["a.yaml"]) == {}


def test_the_command_explains_scopes(capsys: pytest.CaptureFixture[str]) -> None:
    Path(NAME).write_text("scopes: [{name: one, paths: [a/b]}]\n")
    Path("a/x.yaml").write_text("a: 1\n")
    Path("a/b/y.yaml").write_text("a: 1\n")

    assert main(["lint", "--explain-scopes", "a"]) == 0
    assert capsys.readouterr().out == (
        "scope one: the configuration declares it\n  a/b/y.yaml\n"
        "the folder a: they lie in one folder\n  a/x.yaml\n"
    )
    assert main(["lint", "--explain-scopes", "--together", "--json", "a"]) == 0
    assert '"name": "all files"' in capsys.readouterr().out


def test_scopes_of_a_file_that_is_not_there_are_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["lint", "--explain-scopes", "missing.yaml"]) == 2
    assert capsys.readouterr().err == "eks-gpushare: missing.yaml cannot be read\n"
