"""Getting the public packages the catalog is made from, with the tools every developer has."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PINS = Path(__file__).parents[2] / "requirements.txt"


def _pinned(name: str) -> str:
    found = re.search(rf"^{name}==(\S+)$", _PINS.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise LookupError(f"{_PINS} does not pin {name}")
    return found[1]


MOTO = _pinned("moto")
"""The one that the tests use, so that tables and tests speak of the same EC2."""
# The last release whose data still holds p3.2xlarge, p3.8xlarge and p3.16xlarge.
MOTO_RETIRED = "5.1.4"
KARPENTER = ("github.com/aws/karpenter-provider-aws", "v1.15.1")
EC2_INSTANCES_INFO = (
    "github.com/cristim/ec2-instances-info",
    "v0.0.0-20250528091325-32acf84f42eb",
)

_TIMEOUT_SECONDS = 600


class GenerateError(Exception):
    """A reason to stop that the person at the terminal can act on; its text is one line."""


def moto_wheel(version: str, cache: Path) -> Path:
    """The path of moto's wheel, downloaded into `cache` unless it is there already."""
    wheel = cache / f"moto-{version}-py3-none-any.whl"
    if wheel.is_file():
        return wheel
    cache.mkdir(parents=True, exist_ok=True)
    # pip leaves a broken file behind when it is interrupted, so it works in a folder of its own.
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download"]
        command = [*pip, "--no-deps", "--dest", folder, f"moto=={version}"]
        _run(command, f"moto {version}", "--moto FILE")
        found = sorted(Path(folder).glob("moto-*.whl"))
        if not found:
            message = f"pip downloaded moto {version}, but not as a wheel; give one with --moto"
            raise GenerateError(message)
        found[0].replace(wheel)
    return wheel


def go_module(module: tuple[str, str], option: str) -> Path:
    """The folder of a Go module in the module cache, downloaded if need be.

    `option` is the command line option that takes a folder instead; errors name it.
    """
    name, version = module
    if shutil.which("go") is None:
        message = f"no `go` on PATH to download {name}; install Go, or give a folder with {option}"
        raise GenerateError(message)
    answer = _run(["go", "mod", "download", "-json", f"{name}@{version}"], name, option)
    try:
        return Path(json.loads(answer)["Dir"])
    except (ValueError, KeyError, TypeError):
        message = f"`go mod download` did not say where it put {name}; give a folder with {option}"
        raise GenerateError(message) from None


def _run(command: Sequence[str], what: str, option: str) -> str:
    # The commands are fixed above; nothing a user types reaches them.
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
        )
    except FileNotFoundError:
        message = f"no `{command[0]}` to download {what} with; or give it with {option}"
        raise GenerateError(message) from None
    except subprocess.TimeoutExpired:
        message = f"downloading {what} took over {_TIMEOUT_SECONDS} s; or give it with {option}"
        raise GenerateError(message) from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()[-1]
        message = f"could not download {what} ({said}); or give it with {option}"
        raise GenerateError(message)
    return done.stdout
