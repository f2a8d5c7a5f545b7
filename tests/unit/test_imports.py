"""What starts without the SDKs starts without them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

STACK = Path(__file__).parents[2] / "stacks" / "Pulumi.time-slicing.yaml"
MANIFEST = Path(__file__).parents[2] / "examples" / "lint" / "GPU1020" / "bad.yaml"
HEAVY = re.compile(r"(pulumi\w*|grpc|rich|google)(\.|$)")
PROGRAM = """
import sys
sys.argv = ["eks-gpushare", *sys.argv[1:]]
from eks_gpushare.cli import main
main()
print("\\n".join(["", "MODULES", *sorted(sys.modules)]))
"""
PREVIEW = """
import sys
from eks_gpushare.program.preview import locate, preview
assert preview(*locate(sys.argv[1])).ok
print("\\n".join(sorted(sys.modules)))
"""


def loaded(*words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.partition("\nMODULES\n")[2].splitlines())


@pytest.mark.parametrize(
    "words",
    [
        ["check", str(STACK)],
        ["check", "--json", str(STACK)],
        ["schema"],
        ["shares", str(STACK), "--cpu", "1", "--gpu-memory", "1GiB"],
        ["shares", "g6.xlarge", "--cpu", "1"],
        ["schema", "--stack-file"],
        ["--help"],
        ["check", "--help"],
        ["lint", str(MANIFEST)],
        ["lint", "--diff", "--output", "sarif", str(MANIFEST.parent)],
        ["lint", "--help"],
        ["preview", "--help"],
        ["policy", "--help"],
        ["mig", "--help"],
        ["mig", "check", "--help"],
        ["mig", "profiles", "p4d.24xlarge"],
        ["mig", "layouts", "p4d.24xlarge"],
        ["mig", "check", "p4d.24xlarge", "all-balanced"],
        [],
    ],
)
def test_no_sdk_is_loaded_by(words: list[str]) -> None:
    assert {name for name in loaded(*words) if HEAVY.match(name)} == set()


def test_a_python_program_needs_no_language_host() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PREVIEW, str(STACK)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    names = set(done.stdout.splitlines())

    assert "eks_gpushare.program.run" in names
    assert not {name for name in names if "language_host" in name}


@pytest.mark.parametrize("words", [["--help"], ["mig", "--help"]])
def test_help_needs_no_model(words: list[str]) -> None:
    assert {"pydantic", "yaml"} & loaded(*words) == set()


def test_the_pattern_finds_what_it_is_meant_to() -> None:
    names = ["pulumi", "pulumi_aws.eks", "grpc", "rich.table", "google.protobuf"]

    assert [name for name in names if not HEAVY.match(name)] == []
