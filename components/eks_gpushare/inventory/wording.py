"""How messages of checks are worded."""

from __future__ import annotations


def at_start(name: str) -> str:
    """A name at the start of a sentence: `The Deployment notebooks`."""
    return f"{name[:1].upper()}{name[1:]}"
