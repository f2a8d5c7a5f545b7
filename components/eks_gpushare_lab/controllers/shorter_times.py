"""ScaledObjects whose minutes pass in seconds.

Idle for two minutes is not worth waiting for. So all times of a ScaledObject are divided by one
number, those inside its queries too: what is measured over a window is the same, as long as the
scrapes come as much faster. Nothing else is changed, and who runs the lab is told.
"""

from __future__ import annotations

import copy
import os
import re
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab.errors import LabError

if TYPE_CHECKING:
    from eks_gpushare_lab.client import Object

VARIABLE = "EKS_GPUSHARE_LAB_FASTER"
"""Environment variable: what times of ScaledObjects are divided by."""
FASTER = 30.0
"""The same if nothing says another: idle for two minutes is four seconds."""

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_UNITS["y"] = 31_536_000_000
_PART = r"[0-9]+(?:ms|[smhdwy])"
_DURATION = rf"(?:{_PART})+"
# Times stand in brackets and after offset; quoted texts are left as they are.
_PLACES = re.compile(
    rf'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`[^`]*`'
    rf"|\[\s*{_DURATION}\s*(?::\s*(?:{_DURATION})?\s*)?\]"
    rf"|\boffset\s+-?\s*{_DURATION}"
)


def faster() -> float:
    """How many times faster the times of ScaledObjects pass.

    Raises:
        LabError: If the environment variable is no number of at least 1.
    """
    given = os.environ.get(VARIABLE, "")
    try:
        found = float(given or FASTER)
    except ValueError:
        found = 0.0
    if not 1 <= found < float("inf"):
        raise LabError(f"{VARIABLE} is {given!r}: it takes a number from 1 on, such as 30")
    return found


def divided(text: str, by: float) -> str:
    """A PromQL query with its times divided."""

    def place(found: re.Match[str]) -> str:
        if found[0][0] in "\"'`":
            return found[0]
        return re.sub(_DURATION, lambda match: _shorter(match[0], by), found[0])

    return _PLACES.sub(place, text)


def seconds_in(text: str) -> list[float]:
    """The times of a PromQL query."""
    places = (found[0] for found in _PLACES.finditer(text) if found[0][0] not in "\"'`")
    return [
        _milliseconds(duration) / 1000
        for place in places
        for duration in re.findall(_DURATION, place)
    ]


def _milliseconds(duration: str) -> int:
    parts = re.findall(r"([0-9]+)(ms|[smhdwy])", duration)
    return sum(int(count) * _UNITS[unit] for count, unit in parts)


def _shorter(duration: str, by: float) -> str:
    return f"{max(1, round(_milliseconds(duration) / by))}ms"


def compressed(given: Object, by: float) -> Object:
    """A ScaledObject with all its times divided: whole seconds, and one where none is no time.

    Args:
        given: it stays as it is.
        by: how many times faster.
    """
    made = copy.deepcopy(given)
    spec = made.get("spec") or {}
    for key, least in (("pollingInterval", 1), ("cooldownPeriod", 0), ("initialCooldownPeriod", 0)):
        _divide(spec, key, by, least)
    advanced = spec.get("advanced") or {}
    behavior = (advanced.get("horizontalPodAutoscalerConfig") or {}).get("behavior") or {}
    for direction in behavior.values():
        _divide(direction, "stabilizationWindowSeconds", by, 0)
        for policy in direction.get("policies") or ():
            _divide(policy, "periodSeconds", by, 1)
    for trigger in spec.get("triggers") or ():
        metadata = trigger.get("metadata") or {}
        if trigger.get("type") == "prometheus" and isinstance(metadata.get("query"), str):
            metadata["query"] = divided(metadata["query"], by)
    return made


def _divide(block: dict[str, Any], key: str, by: float, least: int) -> None:
    if isinstance(block.get(key), int):
        block[key] = max(least, round(block[key] / by))
