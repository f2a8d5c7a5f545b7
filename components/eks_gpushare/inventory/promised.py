"""What overlays of Karpenter make it take nodes to have of GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.advertised import is_gpu_resource
from eks_gpushare.inventory.label_index import LabelIndex
from eks_gpushare.inventory.matching import meets_requirements
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import has_unknown, pairs, text
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.inventory.items import Overlay
    from eks_gpushare.inventory.nodes import NodeKind


class Told(NamedTuple):
    """What an autoscaler takes a node to have."""

    resources: Mapping[str, int | None]
    by: Mapping[str, Overlay]
    """The overlay that says so of a resource, of several the weightiest."""


def gpu_part(capacity: Any) -> Any:
    """What a capacity has of GPUs; UNKNOWN where that is not known."""
    if capacity is UNKNOWN:
        return UNKNOWN
    return {name: value for name, value in pairs(capacity) if is_gpu_resource(name)}


def meaning(overlays: Sequence[Overlay], kinds: Sequence[NodeKind]) -> list[list[Overlay]]:
    """Of each of some nodes the overlays that may be for them; the others surely are not."""
    index = LabelIndex(kinds)
    found: list[list[Overlay]] = [[] for _ in kinds]
    for overlay in overlays:
        told = has_unknown([overlay.weight, gpu_part(overlay.capacity)])
        meant = None if told else index.meeting_terms([{"matchExpressions": overlay.requirements}])
        for position in range(len(kinds)) if meant is None else meant:
            found[position].append(overlay)
    return found


def meant_for(kind: NodeKind, overlays: Sequence[Overlay]) -> tuple[list[Overlay], list[Overlay]]:
    """The overlays that are for nodes, and those of which it is not known what they say."""
    verdicts = [
        (overlay, meets_requirements(overlay.requirements, kind.label)) for overlay in overlays
    ]
    unsure = [
        overlay
        for overlay, verdict in verdicts
        if verdict is None or has_unknown([overlay.weight, gpu_part(overlay.capacity)])
    ]
    return [overlay for overlay, verdict in verdicts if verdict], unsure


def told_of(kind: NodeKind, overlays: Sequence[Overlay]) -> Told | None:
    """What Karpenter takes a node of a known type to have of GPUs; None if that is not known."""
    meant, unsure = meant_for(kind, overlays)
    if unsure or kind.type is None:
        return None
    return told_by({GPU: kind.type.api_gpu_count}, meant)


def told_by(by_type: Mapping[str, int | None], overlays: Sequence[Overlay]) -> Told:
    """The heavier overlay goes over the lighter, resource by resource."""
    found = dict(by_type)
    by: dict[str, Overlay] = {}
    for overlay in sorted(overlays, key=weight_of):
        for name, value in pairs(gpu_part(overlay.capacity)):
            found[name], by[name] = count_of(value), overlay
    return Told(found, by)


def weight_of(overlay: Overlay) -> int:
    """The weight of an overlay, 0 where it says none."""
    return overlay.weight if isinstance(overlay.weight, int) else 0


def count_of(value: Any) -> int | None:
    """How many a written amount is; None where that is not known."""
    found = None if value is UNKNOWN else quantity(str(text(value)))
    return None if found is None else int(found)
