"""What machines are started with: the metadata service and room on disks, as questions."""

from __future__ import annotations

from typing import Final

NODE_ALONE: Final = 1
"""Hop limit with which answers of the metadata service reach no pod."""
ROOMY_GIB: Final = 100
"""Below this, a few CUDA images fill the disk (AWS best practices for AI/ML, May 2026)."""

_OWN_DISKS: Final = ("localStorage", "local-disks")
"""In user data that puts images on the disks of the instance: of nodeadm, and of AL2's script."""


def takes_no_token(tokens: str) -> bool:
    """Whether the metadata service answers who shows no token (IMDSv1)."""
    return tokens != "required"


def reaches_pods(hops: int, most: int = NODE_ALONE) -> bool:
    """Whether answers of the metadata service go further than they may."""
    return hops > most


def uses_own_disks(user_data: str) -> bool:
    """Whether nodes have images and pods on the disks of the instance, not on a volume."""
    return any(flag in user_data for flag in _OWN_DISKS)
