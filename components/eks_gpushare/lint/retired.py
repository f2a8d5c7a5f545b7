"""Instance types that are not to be had any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog import alternatives

if TYPE_CHECKING:
    from eks_gpushare.catalog.instances import InstanceType


def retired_words(found: InstanceType) -> tuple[str, str]:
    """Message and fix for a type that is not to be had any more."""
    others = alternatives(found)[:3]
    instead = f"Take one of {', '.join(others)}." if others else "Take another type."
    return f"EC2 offers {found.name} in no region any more.", instead
