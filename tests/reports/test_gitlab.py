"""GitLab's report on code quality: what its documentation asks of each violation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from eks_gpushare.cli import main

if TYPE_CHECKING:
    from pathlib import Path

FORMAT: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!\\./|/).+$"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
"""https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format (November 2026)."""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 0.5}}}]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a").mkdir()
    both = f"---\n---\n{POD % 'x'}---\n{POD % 'y'}"
    (tmp_path / "a" / "x.yaml").write_text(both)
    (tmp_path / "no.yaml").write_text("a: b\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reported(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    main(["lint", "--output", "gitlab", *words])
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, FORMAT)
    return found


def test_each_violation_has_what_gitlab_reads(capsys: pytest.CaptureFixture[str]) -> None:
    found = reported(capsys, "./a/x.yaml", "no.yaml")

    assert [(each["check_name"], each["severity"], each["location"]) for each in found] == [
        ("GPU1114", "major", {"path": "a/x.yaml", "lines": {"begin": 6}}),
        ("GPU1114", "major", {"path": "a/x.yaml", "lines": {"begin": 11}}),
        ("GPU1001", "info", {"path": "no.yaml", "lines": {"begin": 1}}),
    ]
    assert len({each["fingerprint"] for each in found}) == 3


def test_a_fingerprint_stays_when_lines_move_and_from_another_folder(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [each["fingerprint"] for each in reported(capsys, "a")]
    file = folder / "a" / "x.yaml"
    file.write_text(f"# first\n\n{file.read_text()}")
    monkeypatch.chdir(folder / "a")

    assert [each["fingerprint"] for each in reported(capsys, "x.yaml")] == before


def test_stack_files_have_it_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "Pulumi.dev.yaml").write_text("config: {}\n")

    assert main(["check", "--output", "gitlab", "Pulumi.dev.yaml"]) == 1
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, FORMAT)
    assert found
