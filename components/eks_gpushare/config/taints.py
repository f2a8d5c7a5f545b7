"""Taints and tolerations: one model, every spelling.

Kubernetes writes `NoSchedule`, the EKS API `NO_SCHEDULE`. Both come from the one `Taint` of the
stack file.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Literal, TypeAlias

from eks_gpushare.config.base import Model

if TYPE_CHECKING:
    from collections.abc import Iterable

Effect: TypeAlias = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class Taint(Model):
    """A taint of the nodes of a pool."""

    key: str
    """Label-like key, for example `nvidia.com/gpu`."""
    value: str = ""
    """Value; quote `"true"`, for YAML reads a bare true as a boolean."""
    effect: Effect
    """NoSchedule, PreferNoSchedule or NoExecute, as Kubernetes spells them."""

    def for_eks(self) -> dict[str, str]:
        """The taint as the EKS API has it, with `NO_SCHEDULE` for `NoSchedule`."""
        spelling = {
            "NoSchedule": "NO_SCHEDULE",
            "PreferNoSchedule": "PREFER_NO_SCHEDULE",
            "NoExecute": "NO_EXECUTE",
        }
        return {"key": self.key, "value": self.value, "effect": spelling[self.effect]}

    def toleration(self) -> dict[str, str]:
        """The narrowest toleration that lets a pod onto the node."""
        if self.value:
            return {
                "key": self.key,
                "operator": "Equal",
                "value": self.value,
                "effect": self.effect,
            }
        return {"key": self.key, "operator": "Exists", "effect": self.effect}


by_key = attrgetter("key", "effect")
"""What taints are sorted by where their order says nothing."""


def tolerating(taints: Iterable[Taint]) -> list[dict[str, str]]:
    """Tolerations of taints whatever their values, each once and in the order of the taints."""
    wanted = dict.fromkeys(map(by_key, taints))
    return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in wanted]


GPU_TAINT_KEY = "nvidia.com/gpu"
DEFAULT_TAINT = Taint.model_construct(key=GPU_TAINT_KEY, value="true", effect="NoSchedule")
"""What keeps pods without a GPU request away from a GPU node, unless a pool says otherwise."""
