"""Errors that NVIDIA's driver reports by number, and what each says about the GPU.

Source: NVIDIA's table of XIDs, https://docs.nvidia.com/deploy/xid-errors/index.html, read
2026-11-27.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class XidClass(NamedTuple):
    """Numbers that have one kind of cause."""

    name: str
    """The value of the label `class`."""
    numbers: tuple[int, ...]
    severity: str
    """Of the alert: info of what a program does wrong, which ends that program alone."""
    about: str
    """The cause, in words."""


XID_CLASSES: Final = (
    XidClass("application", (13, 31, 43, 45), "info", "a program did what it may not"),
    XidClass("memory", (48, 63, 64, 92, 94, 95), "critical", "its memory failed"),
    XidClass("nvlink", (74,), "critical", "a link between GPUs failed"),
    XidClass("bus", (79,), "critical", "it has fallen off the bus"),
    XidClass("gsp", (119, 120), "critical", "its system processor does not answer"),
)
