"""Parts of pods that stand by themselves: in documentation, and in values of charts of others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import PART_OF_POD, Workload
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at, items, pairs
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.readers.values import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath, Position
    from eks_gpushare.manifests.document import Document

_GPUS: Final = "nvidia.com/"
_MOST: Final = 20_000
"""Mappings of a document that are looked at."""
_FIRST: Final = ("containers", 0)


class PodPartsReader:
    """Reads what a document without a kind says of where pods go and what they ask for."""

    name = "part of a pod"

    def matches(self, document: Document) -> bool:
        """Whether it has such a part, and is no object of its own."""
        value = document.value
        if not isinstance(value, dict) or "apiVersion" in value or _is_schema(value):
            return False
        return next(_parts(value), None) is not None

    def read(self, document: Document) -> Read:
        """Its parts, each of which may be all that is shown of a pod."""
        return Read([_workload(document, path, part) for path, part in _parts(document.value)])


def _is_schema(value: Mapping[str, Any]) -> bool:
    """Whether it tells what values may be, as a chart's values.schema.json does."""
    return "$schema" in value or (
        value.get("type") == "object" and isinstance(value.get("properties"), dict)
    )


def _parts(value: Any) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    """The outermost mappings with fields of a pod, of which only those are taken."""
    taken: list[FieldPath] = []
    for count, (path, inner) in enumerate(walk(value)):
        if count > _MOST:
            return
        if any(path[: len(above)] == above for above in taken):
            continue
        part = {key: inner[key] for key in _FIELDS if key in inner and _FIELDS[key](inner[key])}
        part |= _of_ollama(inner)
        if part:
            taken.append(path)
            yield path, part


def _of_ollama(value: Mapping[str, Any]) -> dict[str, Any]:
    """What Ollama's chart makes of values: GPUs by a number, with a toleration of their name.

    Source: templates/deployment.yaml of otwld/ollama-helm 1.77.0 (eadf03e6).
    """
    gpu = at(value, "ollama", "gpu")
    told = [at(gpu, key) for key in ("type", "nvidiaResource", "draEnabled")]
    is_nvidias = at(gpu, "enabled") is True and told[0] in (None, "", "nvidia")
    if not is_nvidias or told[2] or UNKNOWN in told:
        return {}
    asked = {str(told[1] or f"{_GPUS}gpu"): at(gpu, "number") or 1}
    if at(gpu, "mig", "enabled"):
        asked = {f"{_GPUS}mig-{key}": count for key, count in pairs(at(gpu, "mig", "devices"))}
    own = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in asked]
    written = value.get("tolerations")
    others = [UNKNOWN] if written is UNKNOWN else items(written)
    return {"resources": {"limits": asked}, "tolerations": [*own, *others]}


def _is_selector(value: Any) -> bool:
    """Whether it has values of labels; a switch of a chart's own, `enabled: false`, is none."""
    return bool(pairs(value)) and not any(
        isinstance(given, dict | list) or (key == "enabled" and isinstance(given, bool))
        for key, given in pairs(value)
    )


def _is_affinity(value: Any) -> bool:
    return isinstance(at(value, "nodeAffinity"), dict)


def _are_tolerations(value: Any) -> bool:
    known = ("key", "operator", "effect")
    return bool(items(value)) and all(
        isinstance(item, dict) and any(key in item for key in known) for item in items(value)
    )


def _are_containers(value: Any) -> bool:
    return bool(items(value)) and all(
        isinstance(item, dict) and "name" in item and ("image" in item or "resources" in item)
        for item in items(value)
    )


def _are_resources(value: Any) -> bool:
    return any(
        key.lower().startswith(_GPUS)
        for part in ("limits", "requests")
        for key, _ in pairs(at(value, part))
    )


_FIELDS: Final = {
    "nodeSelector": _is_selector,
    "affinity": _is_affinity,
    "tolerations": _are_tolerations,
    "containers": _are_containers,
    "initContainers": _are_containers,
    "resources": _are_resources,
}
"""Fields of a pod's spec or of a container, with what tells that they are meant as such."""


def _workload(document: Document, path: FieldPath, part: Mapping[str, Any]) -> Workload:
    spec = {key: item for key, item in part.items() if key != "resources"}
    if "resources" in part and "containers" not in part:
        spec["containers"] = [{"name": "", "resources": part["resources"]}]
        document = replace(document, position=_of_container(document, path), editable=False)
    where = ".".join(str(step) for step in path if isinstance(step, str))
    called = f"the part of a pod under {where}" if where else "the part of a pod"
    return Workload(
        source=Source(called, document),
        kind=PART_OF_POD,
        name=UNKNOWN,
        namespace=UNKNOWN,
        replicas=UNKNOWN,
        labels=UNKNOWN,
        spec=spec,
        spec_path=path,
    )


def _of_container(document: Document, above: FieldPath) -> Any:
    """Places in a document whose resources stand beside the pod's fields, as values have them."""
    outer, depth = document.position, len(above)

    def position(path: FieldPath) -> Position:
        of_container = tuple(path[depth : depth + 2]) == _FIRST
        return outer((*above, *path[depth + 2 :]) if of_container else path)

    return position
