"""How messages of checks are worded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.inventory.inventory import Inventory


def at_start(name: str) -> str:
    """A name at the start of a sentence: `The Deployment notebooks`."""
    return f"{name[:1].upper()}{name[1:]}"


def if_missing(inventory: Inventory) -> Severity | None:
    """The severity of what is not there: of files, it may stand in others."""
    return None if inventory.complete else "info"
