"""Programs of a language whose host is the tests' own: the SDK's language server as a process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.stack_file.project import find_project

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.stack_file.project import Project

    Host = Callable[[str, str], Path]
    Write = Callable[..., Project]

HOSTS = Path(__file__).parent / "hosts"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """Puts a language host on PATH: a shell script by the name of the language."""
    folder = tmp_path / "hosts"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))

    def put(language: str, script: str) -> Path:
        path = folder / f"pulumi-language-{language}"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return put


@pytest.fixture
def write(tmp_path: Path, host: Host) -> Write:
    """Writes a project of the tiny language, or of another."""
    host("tiny", f"exec '{sys.executable}' '{HOSTS / 'tiny.py'}' \"$@\"")

    def made(program: str = "", *, language: str = "tiny", config: str = "{}") -> Project:
        folder = tmp_path / "program"
        folder.mkdir(exist_ok=True)
        (folder / "program.py").write_text(dedent(program), encoding="utf-8")
        text = f"name: demo\nruntime: {language}\nconfig: {config}\n"
        (folder / "Pulumi.yaml").write_text(text, encoding="utf-8")
        return find_project(folder)

    return made
