"""The pages of the policies, which the pack itself writes."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PACK = Path(__file__).parents[2] / "policies"


def pages() -> Mapping[str, str]:
    """All of them, by their paths below `docs`."""
    with _pack():
        from gpushare_policies.describe import pages as described
    return described()


def presets() -> Mapping[Path, str]:
    """The levels that presets give to policies, as files of the pack."""
    with _pack():
        from gpushare_policies.presets import files
    return {PACK / "presets" / name: text for name, text in files().items()}


@contextmanager
def _pack() -> Iterator[None]:
    """The pack is no package of the environment: it is beside the program."""
    sys.path.insert(0, str(PACK))
    try:
        yield
    finally:
        sys.path.remove(str(PACK))
