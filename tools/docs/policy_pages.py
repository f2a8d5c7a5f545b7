"""The pages of the policies, which the pack itself writes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PACK = Path(__file__).parents[2] / "policies"


def pages() -> Mapping[str, str]:
    """All of them, by their paths below `docs`."""
    # The pack is no package of the environment: it is beside the program.
    sys.path.insert(0, str(PACK))
    try:
        from gpushare_policies.describe import pages as described
    finally:
        sys.path.remove(str(PACK))
    return described()
