"""What starts without the SDKs starts without them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

STACK = Path(__file__).parents[2] / "stacks" / "Pulumi.time-slicing.yaml"
MANIFEST = Path(__file__).parents[2] / "examples" / "lint" / "GPU1020" / "bad.yaml"
HEAVY = re.compile(r"(pulumi\w*|grpc|rich|google)(\.|$)")
PROGRAM = """
import json, sys
loaded = {}
for words in json.loads(sys.argv[1]):
    sys.argv = ["eks-gpushare", *words]
    from eks_gpushare.cli import main
    main()
    loaded[" ".join(words)] = sorted(sys.modules)
print("\\nMODULES", json.dumps(loaded))
"""
PREVIEW = """
import sys
from eks_gpushare.program.preview import locate, preview
assert preview(*locate(sys.argv[1])).ok
print("\\n".join(sorted(sys.modules)))
"""


def loaded(*commands: list[str]) -> dict[str, set[str]]:
    """What a process has loaded after each of these commands, and after those before it."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    told = json.loads(done.stdout.rpartition("\nMODULES ")[2])
    return {words: set(names) for words, names in told.items()}


def test_no_sdk_is_loaded() -> None:
    """One process runs all: what none of them has loaded in the end, none has loaded alone."""
    after = loaded(
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
    )

    assert len(after) == 19
    assert {words: sdks for words, names in after.items() if (sdks := heavy(names))} == {}


def heavy(names: set[str]) -> set[str]:
    return {name for name in names if HEAVY.match(name)}


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


def test_help_needs_no_model() -> None:
    for names in loaded(["--help"], ["mig", "--help"]).values():
        assert {"pydantic", "yaml"} & names == set()


def test_the_pattern_finds_what_it_is_meant_to() -> None:
    names = ["pulumi", "pulumi_aws.eks", "grpc", "rich.table", "google.protobuf"]

    assert [name for name in names if not HEAVY.match(name)] == []
