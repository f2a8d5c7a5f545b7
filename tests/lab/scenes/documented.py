"""What the documentation says of nodes that autoscalers launched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_NUMBERS = Path(__file__).parents[2] / "golden" / "scaling" / "nodes-launched.json"


def documented(by: str) -> list[dict[str, Any]]:
    """The rows of an autoscaler: its case, that of a pool which tells it nothing, and counts."""
    given: dict[str, list[dict[str, Any]]] = json.loads(_NUMBERS.read_text(encoding="utf-8"))
    return given[by]
