"""What to say of a key that belongs to another way of sharing than the one chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.findings.finding import Finding

_MIG_KEYS = {"layout", "strategy", "apply", "mig"}
_SHARE_KEYS = {"replicas", "rename"}
_TAGS = {"<exclusive>", "<timeSlicing>", "<mps>", "<mig>"}


def of_another_mode(loc: Sequence[int | str], block: Sequence[str]) -> Finding | None:
    """The finding for a key of another mode, None for any other unknown key.

    Args:
        loc: The place of the key as pydantic gives it, with the tags of unions.
        block: The keys that the block may have.
    """
    tag, key = (str(loc[-2]) if len(loc) > 1 else ""), str(loc[-1])
    if tag not in _TAGS or key in block:
        return None
    said = _said(tag.strip("<>"), key)
    if said is None:
        return None
    at = tuple(part for part in loc if part not in _TAGS)
    return shape_rules.UNKNOWN_KEY.finding(at, *said)


def _said(mode: str, key: str) -> tuple[str, str] | None:
    """Message and fix."""
    if (mode == "mps" and key in _MIG_KEYS) or (mode == "mig" and key == "mps"):
        message = (
            f"{key} cannot stand here: MPS and MIG do not go together, the device plugin has no "
            "MPS on MIG devices."
        )
        fix = (
            "Use mode: mig with timeSlicing: {replicas: ...} on top of the layout, or mode: mps "
            "without a layout."
        )
        return message, fix
    if mode == "mig" and key in _SHARE_KEYS:
        message = f"{key} stands under timeSlicing with mode: mig."
        return message, f"Write timeSlicing: {{{key}: ...}} beside the layout."
    if mode in {"timeSlicing", "exclusive"} and key in _MIG_KEYS:
        on_top = ", with timeSlicing: {replicas: ...} on top" if mode == "timeSlicing" else ""
        return f"{key} belongs to mode: mig.", f"Write mode: mig{on_top}, or remove {key}."
    return None
