"""Rules on the network that nodes and pods are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.network.node_ssh_not_open import NODE_SSH_NOT_OPEN
from gpushare_policies.rules.network.nodes_in_private_subnets import NODES_IN_PRIVATE_SUBNETS
from gpushare_policies.rules.network.public_addresses import (
    NODE_CLASS_WITHOUT_PUBLIC_ADDRESS,
    NODES_WITHOUT_PUBLIC_ADDRESS,
)
from gpushare_policies.rules.network.security_groups_not_open import SECURITY_GROUPS_NOT_OPEN

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (
    NODES_WITHOUT_PUBLIC_ADDRESS,
    NODES_IN_PRIVATE_SUBNETS,
    NODE_SSH_NOT_OPEN,
    SECURITY_GROUPS_NOT_OPEN,
    NODE_CLASS_WITHOUT_PUBLIC_ADDRESS,
)
"""The rules of this theme."""
