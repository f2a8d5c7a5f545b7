"""Rules on the network that nodes and pods are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.network.nodes_without_public_address import (
    NODES_WITHOUT_PUBLIC_ADDRESS,
)

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (NODES_WITHOUT_PUBLIC_ADDRESS,)
"""The rules of this theme, a module each."""
