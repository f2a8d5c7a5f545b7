"""EFA interfaces of a simulated machine, which AWS's device plugin hands out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eks_gpushare_lab.client import Object

RESOURCE = "vpc.amazonaws.com/efa"
"""The resource of one interface."""
INTERFACES = "lab.eks-gpushare/efa-interfaces"
"""Annotation of a node: how many its launch template gives it."""
KINDS = frozenset({"efa", "efa-only"})
"""Types of network interfaces that are EFAs."""


def interfaces_of(node: Object) -> int:
    """How many EFA interfaces a node has."""
    return int((node["metadata"].get("annotations") or {}).get(INTERFACES, 0))
