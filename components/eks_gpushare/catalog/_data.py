"""Reading the catalog's JSON files, each once."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "data"


@cache
def load(name: str) -> dict[str, Any]:
    """The object in the data file `name`; every caller gets the same one, to read only."""
    # importlib.resources costs twenty times as much at start-up; wheels are always unpacked here.
    found: dict[str, Any] = json.loads((_FOLDER / name).read_text(encoding="utf-8"))
    return found
