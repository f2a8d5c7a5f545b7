"""Whether a disruption budget lets a pod go when its node has to."""

from __future__ import annotations

import re
from typing import Final

_HUNDRED: Final = 100
_GIVEN: Final = re.compile(r"([0-9]{1,9})(%?)")


def lets_go(pods: int | None, least: object, most: object) -> bool | None:
    """Whether one of the pods of a budget may be evicted while all of them are ready.

    Kubernetes rounds shares of a hundred up, of both keys:
    https://kubernetes.io/docs/tasks/run-application/configure-pdb/ (2026-11-26).

    Args:
        pods: How many there are; None if that is not known.
        least: `minAvailable`, a number or a share of a hundred; None if it is not given.
        most: `maxUnavailable`, the same.

    Returns:
        None where the pods decide and are not known, and of what is neither number nor share.
    """
    away, kept = _read(most), _read(least)
    if most is not None:
        return None if away is None else away[0] > 0
    if kept is None:
        return None
    number, is_share = kept
    if number == 0 or (is_share and number >= _HUNDRED):
        return number == 0
    if pods is None:
        return None
    return (-(-pods * number // _HUNDRED) if is_share else number) < pods


def is_number_of_pods(given: int | str) -> bool:
    """Whether Kubernetes takes it: a number from 0, or a share of a hundred like `25%`."""
    read = _read(given)
    return (
        read is not None
        and read[0] >= 0
        and isinstance(given, str) == read[1]
        and (not read[1] or read[0] <= _HUNDRED)
    )


def _read(given: object) -> tuple[int, bool] | None:
    """A number, and whether it is a share of a hundred."""
    if isinstance(given, str):
        matched = _GIVEN.fullmatch(given.strip())
        return (int(matched[1]), bool(matched[2])) if matched else None
    if isinstance(given, bool) or not isinstance(given, int | float) or given != int(given):
        return None
    return int(given), False
