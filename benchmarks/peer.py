"""The same intent in CDK EKS Blueprints: how long its synth takes.

It needs node and npm. Some 520 MB are installed into a directory outside this repository, once.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from measure import cpu, interleaved, ratio, run
from report import Figure

if TYPE_CHECKING:
    from subjects import Setting

_SOURCES = Path(__file__).parent / "peer"
_TIMES_OF_SYNTH = 0.7
_INSTALL = (
    "npm",
    "install",
    "--no-audit",
    "--no-fund",
    "--no-package-lock",
    "--ignore-scripts",
)


def peer(setting: Setting, cache: Path, stack: str) -> list[Figure]:
    """A preview of ours and a synth of theirs, in turn.

    Args:
        setting: How to measure.
        cache: Where the peer is installed, or is to be.
        stack: Our stack.
    """
    app = install(cache)
    with tempfile.TemporaryDirectory() as out:
        commands = {
            "theirs": ["node", str(app), out],
            "ours": setting.command("preview", stack),
        }
        costs = interleaved(commands, cwd=setting.root, rounds=setting.rounds)
    ours, theirs = cpu(costs["ours"]), cpu(costs["theirs"])
    resources = costs["theirs"][-1].output.strip()
    subject = "CDK EKS Blueprints 1.19.0, the same intent"
    return [
        Figure(subject, f"its synth, {resources} resources in the main template", theirs, "s"),
        Figure(subject, f"`preview {stack}`", ours, "s"),
        Figure(
            subject,
            "the second in times of the first",
            ratio(costs["ours"], costs["theirs"]),
            "times",
            _TIMES_OF_SYNTH,
        ),
        Figure(subject, "peak memory of its synth", max(c.peak for c in costs["theirs"]), "MB"),
        Figure(subject, "peak memory of the preview", max(c.peak for c in costs["ours"]), "MB"),
    ]


def install(cache: Path) -> Path:
    """Install the peer where it is not there yet, and return its program."""
    cache.mkdir(parents=True, exist_ok=True)
    for source in _SOURCES.iterdir():
        shutil.copy(source, cache)
    if not (cache / "node_modules" / "aws-cdk-lib").is_dir():
        run(_INSTALL, cwd=cache)
    return cache / "app.js"
