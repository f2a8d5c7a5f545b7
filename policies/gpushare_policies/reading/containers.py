"""Containers of the pods that objects make, and what they ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.objects import POD_TEMPLATES, Kind, pod_templates
from gpushare_policies.reading.plain import mappings, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpushare_policies.reading.objects import KubernetesObject
    from gpushare_policies.reading.on_objects import ObjectCheck

_LISTS = ("containers", "initContainers", "ephemeralContainers")
GPU_PREFIX = "nvidia.com/"


@dataclass(frozen=True, slots=True)
class Pod:
    """The spec of pods that an object makes."""

    spec: Any
    containers: tuple[Container, ...]
    unknown: tuple[str, ...]
    """Lists of containers that are not known."""
    annotations: Any = None


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a pod."""

    name: str
    body: Mapping[str, Any]

    def get(self, *path: str) -> Any:
        """What is written at a path."""
        return at(self.body, *path)


def pods_of(each: KubernetesObject) -> Iterator[Pod]:
    """The pods that an object makes."""
    for template in pod_templates(each):
        spec = template.spec
        found: list[Container] = []
        unknown: list[str] = []
        for key in _LISTS:
            listed = at(spec, key)
            if listed is UNKNOWN or (isinstance(listed, list) and UNKNOWN in listed):
                unknown.append(key)
            for index, body in mappings(listed):
                name = text(body.get("name"), str(index))
                found.append(Container(str(index) if name is UNKNOWN else str(name), body))
        yield Pod(spec, tuple(found), tuple(unknown), at(template.metadata, "annotations"))


def unknown_of(pod: Pod) -> Iterator[Unjudged]:
    """What of a pod no rule can look at."""
    if pod.spec is UNKNOWN:
        yield Unjudged("the pods' spec")
    for key in pod.unknown:
        yield Unjudged(key)


def on_pods(check: ObjectCheck) -> Mapping[Kind, ObjectCheck]:
    """A check for every kind of Kubernetes itself that makes pods."""
    return dict.fromkeys(POD_TEMPLATES, check)


def gpu_amounts(container: Container) -> Any:
    """Resources of NVIDIA that a container asks for: name to amount; `UNKNOWN` if not known."""
    found: dict[str, Any] = {}
    for side in ("requests", "limits"):
        amounts = container.get("resources", side)
        if amounts is UNKNOWN:
            return UNKNOWN
        found |= {key: value for key, value in pairs(amounts) if is_gpu(key)}
    return {key: value for key, value in found.items() if not _is_none(value)}


def _is_none(amount: Any) -> bool:
    """Whether an amount is 0, which a container might as well leave out."""
    return amount is not UNKNOWN and quantity(str(text(amount))) == 0


def is_gpu(resource: str) -> bool:
    """Whether a resource is one of NVIDIA's, whatever the plugin calls it."""
    name = resource.removeprefix("requests.").removeprefix("limits.")
    return name.startswith(GPU_PREFIX)
