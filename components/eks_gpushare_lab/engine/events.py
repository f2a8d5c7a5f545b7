"""What the Pulumi engine says while it works: its log of events, read as it grows."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_URN = re.compile(r"urn:pulumi:[^\s\"]+")
_QUIET = {"same", "read"}


@dataclass(frozen=True, slots=True)
class Step:
    """A resource that the engine has begun or ended to change."""

    resource: str
    """Type and logical name, such as `ConfigMap gpushare-device-plugin-config`."""
    operation: str
    """Such as `create`, `update` or `create-replacement`."""
    done: bool
    """Whether it has ended well."""


@dataclass(slots=True)
class Events:
    """The events of one call."""

    file: Path
    """Where the engine writes them."""
    changes: dict[str, str] = field(default_factory=dict)
    """What happened to each resource that a provider manages, but for what stayed the same."""
    errors: list[tuple[str, str]] = field(default_factory=list)
    """Resource, or `""`, and text of each error."""
    _read: int = 0

    def news(self) -> list[Step]:
        """Steps since the last call."""
        try:
            with self.file.open("rb") as opened:
                opened.seek(self._read)
                text = opened.read()
        except FileNotFoundError:
            return []
        whole, _, _ = text.rpartition(b"\n")
        self._read += len(whole) + bool(whole)
        found = []
        for line in whole.splitlines():
            step = self._take(json.loads(line))
            if step is not None:
                found.append(step)
        return found

    def _take(self, event: dict[str, Any]) -> Step | None:
        said = event.get("diagnosticEvent")
        if said is not None and said["severity"] == "error":
            text = _URN.sub(lambda urn: short(urn.group()), str(said["message"]))
            self.errors.append((short(str(said.get("urn", ""))), " ".join(text.split())))
        for kind, done in (("resourcePreEvent", False), ("resOutputsEvent", True)):
            if kind in event:
                return self._step(event[kind]["metadata"], done=done)
        return None

    def _step(self, step: dict[str, Any], *, done: bool) -> Step | None:
        state = step.get("new") or step.get("old") or {}
        plain = not state.get("custom") or step["type"].startswith("pulumi:")
        if plain or step["op"] in _QUIET:
            return None
        resource = short(step["urn"])
        if done:
            self.changes.setdefault(resource, step["op"])
        return Step(resource, step["op"], done)


def short(urn: str) -> str:
    """A URN as people say it: the type without its package, and the name."""
    parts = urn.split("::", 3)
    return f"{parts[2].rpartition(':')[2]} {parts[3]}" if len(parts) > 3 else ""  # noqa: PLR2004
