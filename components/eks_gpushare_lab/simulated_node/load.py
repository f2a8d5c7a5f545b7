"""The GPU use of simulated pods: nothing computes there, so annotations say what would.

    lab.eks-gpushare/gpu-load: "85"              of a pod: percent, for as long as it runs
    lab.eks-gpushare/gpu-load: "85, 20s=10"      85 at first, 10 from the twentieth second on
    lab.eks-gpushare/gpu-demand: "170"           of a workload: percent, divided among its pods

What the percent is of is what the exporter tells: of a MIG instance where the pod has one, else of
the whole GPU that the pod shares. On a workload both are allowed, for each of its pods and for all
of them together; an annotation of the pod goes before. A schedule begins when its pod starts, or on
a workload when the lab first sees it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

GPU_LOAD = "lab.eks-gpushare/gpu-load"
"""Annotation of a pod, or of its workload for each of its pods."""
GPU_DEMAND = "lab.eks-gpushare/gpu-demand"
"""Annotation of a workload: what its running pods do together."""
GPU_MEMORY = "lab.eks-gpushare/gpu-memory-mib"
"""Annotation of a pod or its workload: GPU memory that each pod holds."""

FULL = 100.0
"""The most that a GPU or an instance of one can be in use, in percent."""

_STEP = re.compile(r"(?:(?P<after>[0-9]+(?:\.[0-9]+)?)s\s*=\s*)?(?P<percent>[0-9]+(?:\.[0-9]+)?)%?")


class LoadError(ValueError):
    """A load that cannot be read; the text says how one is written."""


@dataclass(frozen=True, slots=True)
class Load:
    """Percent over time."""

    steps: tuple[tuple[float, float], ...] = ((0.0, 0.0),)
    """Seconds from which on it is so, and percent; the first at 0."""

    def at(self, seconds: float) -> float:
        """Percent after some seconds."""
        return next(percent for after, percent in reversed(self.steps) if after <= max(seconds, 0))


IDLE = Load()
"""No load at all."""


def parse(text: str) -> Load:
    """Read an annotation.

    Raises:
        LoadError: If it is none.
    """
    steps: list[tuple[float, float]] = []
    for part in text.split(","):
        found = _STEP.fullmatch(part.strip())
        after = float(found["after"] or 0) if found else -1.0
        if found is None or (steps and after <= steps[-1][0]):
            message = f'{text!r} is no load: write percent, such as "85", or percent over time'
            raise LoadError(f'{message}, such as "85, 20s=10", each step later than the one before')
        steps.append((after, float(found["percent"])))
    if steps[0][0] > 0:
        steps.insert(0, (0.0, 0.0))
    return Load(tuple(steps))
