"""The command as a user starts it: exit codes, signals and streams of a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest
from tests.conftest import sampled

ROOT = Path(__file__).parents[2]
MODULE = (sys.executable, "-m", "eks_gpushare")
SCRIPT = (str(Path(sysconfig.get_path("scripts")) / "eks-gpushare"),)
SECONDS = 120

WAITS = """import pathlib, time

pathlib.Path("started").touch()
time.sleep(600)
"""


def started(
    *words: str, command: tuple[str, ...] = MODULE, cwd: Path = ROOT
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*command, *words],
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    with process:
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, out, err


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A Pulumi program that goes on until it is stopped."""
    (tmp_path / "Pulumi.yaml").write_text("name: mine\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {}\n")
    (tmp_path / "__main__.py").write_text(WAITS)
    return tmp_path


@pytest.mark.parametrize("command", [MODULE, SCRIPT], ids=["module", "script"])
def test_a_preview_ends_with_0_and_prints_one_document(command: tuple[str, ...]) -> None:
    code, out, err = ended(started("preview", "time-slicing", "--json", command=command))

    assert (code, err) == (0, "")
    assert json.loads(out)["pools"]["gpu"]["atDesired"] == {"nvidia.com/gpu": 40}


def test_a_mandatory_violation_ends_with_1(tmp_path: Path) -> None:
    config = tmp_path / "levels.json"
    config.write_text(json.dumps({"time-slicing-replicas": "mandatory"}))

    code, out, err = ended(started("policy", "time-slicing", "--config", str(config)))

    assert (code, err) == (1, "")
    assert out.startswith("time-slicing: refused, 1 mandatory and 0 advisory violations\n")


def test_a_refused_file_ends_with_1(tmp_path: Path, time_slicing: str) -> None:
    file = tmp_path / "Pulumi.wrong.yaml"
    file.write_text(time_slicing.replace("replicas: 10", "replicas: 1"))

    code, out, err = ended(started("check", str(file)))

    assert (code, err) == (1, "")
    assert "GPU201" in out


def test_a_program_that_fails_ends_with_1_and_its_line_but_no_traceback(program: Path) -> None:
    (program / "__main__.py").write_text("pools = {}\npools['gpu']\n")

    code, _, err = ended(started("preview", "dev", cwd=program))

    assert code == 1
    assert f"{program / '__main__.py'}:2: " in err
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [(), ("no-such-verb",), ("check",), ("preview", "nope")], ids=str)
def test_wrong_usage_ends_with_2_and_a_sentence(words: tuple[str, ...]) -> None:
    code, out, err = ended(started(*words))

    assert code == 2
    assert out + err
    assert "Traceback" not in err


def test_an_interrupt_ends_with_130_and_one_word(program: Path) -> None:
    process = started("preview", "dev", cwd=program)
    deadline = time.monotonic() + SECONDS
    while not (program / "started").exists() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)

    assert ended(process) == (130, "", "interrupted\n")


@pytest.mark.parametrize("more", sampled([["--json"], []], 2))
def test_a_reader_that_has_gone_ends_it_as_a_signal_would(more: list[str]) -> None:
    """As with `| head`: what is printed is more than the pipe holds.

    It is no success, since what was not read may have been a refusal, and nothing to complain of.
    """
    process = started("preview", "multi-tenant", *more)
    assert process.stdout
    process.stdout.close()

    with process:
        assert process.stderr
        assert (process.stderr.read(), process.wait(SECONDS)) == ("", 141)
