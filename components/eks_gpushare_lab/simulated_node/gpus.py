"""The GPUs of a simulated machine as MIG has partitioned them.

The partitions of a GPU are a state of the machine and of nothing else, so they are kept where the
lab keeps machines: in an annotation of the node, which outlives the process.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare_lab.client import Object

STATE = "lab.eks-gpushare/gpus"
"""Annotation of a node: per GPU null for a whole one, else the instances on it."""


class MigInstance(NamedTuple):
    """One MIG instance, of which compute instance and GPU instance are the same."""

    profile: str
    """NVIDIA's name, such as "1g.5gb+me"."""
    start: int
    """Memory slice at which it begins."""


@dataclass(frozen=True, slots=True)
class SimulatedGpu:
    """One GPU."""

    mig: bool = False
    """Whether MIG mode is on."""
    instances: tuple[MigInstance, ...] = ()
    """What it is partitioned into; none while MIG mode is off, or before anything was created."""

    def counts(self) -> dict[str, int]:
        """Instances by profile."""
        return dict(Counter(instance.profile for instance in self.instances))


def whole(count: int) -> tuple[SimulatedGpu, ...]:
    """GPUs as a machine has them when it comes from the factory."""
    return (SimulatedGpu(),) * count


def encode(gpus: Sequence[SimulatedGpu]) -> str:
    """The text of the annotation."""
    return json.dumps([list(gpu.instances) if gpu.mig else None for gpu in gpus])


def of_node(node: Object, count: int) -> tuple[SimulatedGpu, ...]:
    """The GPUs of a node, whole where nobody has partitioned them."""
    text = annotation(node, STATE)
    if not text:
        return whole(count)
    return tuple(
        SimulatedGpu()
        if load is None
        else SimulatedGpu(mig=True, instances=tuple(MigInstance(*one) for one in load))
        for load in json.loads(text)
    )


def annotation(node: Object, name: str) -> str:
    """An annotation of a node, `""` if it has none of that name."""
    there: Mapping[str, str] = node["metadata"].get("annotations") or {}
    return there.get(name, "")
