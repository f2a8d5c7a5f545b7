"""Karpenter's own word on an edit of its objects: `drift.go`, built of its modules.

The lab builds it, as it builds Karpenter. What it has said is kept in `drift.json`, by the paths
that an edit changes, so that the edits can be tried without it.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare_lab.binaries import build, versions
from eks_gpushare_lab.binaries.versions import GoCommand, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SOURCE: Final = Path(__file__).with_name("drift.go")
KEPT: Final = Path(__file__).with_name("drift.json")


@dataclass(frozen=True, slots=True)
class Says:
    """What Karpenter says of a NodePool or EC2NodeClass before and after."""

    hash: bool
    """Whether nodes made by the earlier one carry another hash."""
    requirements: bool = False
    """Whether a node that the earlier one allows does not meet the later one."""
    moved: tuple[int, int] = (0, 0)
    """How many nodes of ten it may empty to save money, before and after."""


class Karpenter:
    """Asks Karpenter's functions, or what they have said before of the same edit."""

    def __init__(self, program: Path | None) -> None:
        self._program = program
        self.kept: dict[str, dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf-8"))

    def of(self, was: Mapping[str, Any], now: Mapping[str, Any]) -> Says:
        """What it says of one object, before and after."""
        differences = sorted(_paths(was["spec"], now["spec"]))
        if not differences:  # what else an object has, Karpenter makes no nodes of
            return Says(hash=False)
        name = f"{was['kind']}: {'; '.join(differences)}"
        if self._program is None:
            assert name in self.kept, f"nobody has asked Karpenter of this: {name}"
        elif name not in self.kept or not self.kept[name].get("asked"):
            self.kept[name] = self._ask(was, now) | {"asked": True}
        found = self.kept[name]
        return Says(found["hash"], found["requirements"], tuple(found["moved"]))

    def _ask(self, was: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
        assert self._program is not None
        done = subprocess.run(
            [str(self._program)],
            input=json.dumps([{"old": was, "new": now}]),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        (answer,) = json.loads(done.stdout)
        found: dict[str, Any] = answer
        return found

    def keep(self) -> None:
        """Write down what was said."""
        said = {
            name: {key: each for key, each in answer.items() if key != "asked"}
            for name, answer in sorted(self.kept.items())
        }
        KEPT.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def built() -> Path:
    """The program, which the lab's machinery builds once."""
    of = versions.karpenter()
    text = hashlib.sha256(SOURCE.read_bytes()).hexdigest()
    command = GoCommand("karpenter-drift", str(SOURCE))
    stamps = (f"main.source={text}",)  # so that another text is another entry of the cache
    tool = Tool(
        command.name, of.version, of.folder, of.module, (command,), stamps=stamps, seconds=60
    )
    return build.programs((tool,)).paths[command.name]


def _paths(was: Any, now: Any, at: str = "") -> Iterator[str]:
    """What differs: paths of mappings and, of what is at their ends, what it was and is."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted({*was, *now}):
            if was.get(key) != now.get(key):
                yield from _paths(was.get(key), now.get(key), f"{at}.{key}" if at else key)
    else:
        yield f"{at} {_digest(was)} to {_digest(now)}"


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True)
    most = 60
    if len(text) <= most:
        return text
    return f"{text[:40]}... {hashlib.sha256(text.encode()).hexdigest()[:8]}"
