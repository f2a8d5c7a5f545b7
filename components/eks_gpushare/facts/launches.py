"""What machines are started with: the metadata service and room on disks, as questions."""

from __future__ import annotations

from typing import Final

NODE_ALONE: Final = 1
"""Hop limit with which answers of the metadata service reach no pod."""
ROOMY_GIB: Final = 100
"""Below this, a few CUDA images fill the disk (AWS best practices for AI/ML, May 2026)."""


def takes_no_token(tokens: str) -> bool:
    """Whether the metadata service answers who shows no token (IMDSv1)."""
    return tokens != "required"


def reaches_pods(hops: int, most: int = NODE_ALONE) -> bool:
    """Whether answers of the metadata service go further than they may."""
    return hops > most
