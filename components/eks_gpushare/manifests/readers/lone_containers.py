"""Containers that kinds of others name one at a time, with the pod's fields around them.

A predictor of KServe has a `model`, a template of Argo Workflows a `container` or a `script`, a
service of NVIDIA NIM the resources of its only container.
Sources: https://kserve.github.io/website/docs/model-serving/node-scheduling/isvc-node-scheduling,
https://argo-workflows.readthedocs.io/en/latest/fields/ and
https://docs.nvidia.com/nim-operator/latest/service.html, read 2026-11-22.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs
from eks_gpushare.manifests.readers.values import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath, Position
    from eks_gpushare.inventory.items import Workload
    from eks_gpushare.inventory.source import Source
    from eks_gpushare.manifests.document import Document

_GPUS: Final = "nvidia.com/"
_MOST: Final = 20_000
_LISTS: Final = frozenset(("containers", "initContainers", "ephemeralContainers", "sidecars"))
_RESOURCES: Final = ("resources", "resourcesPerNode", "computeResources")
"""What kinds call them: of most, of a TrainJob's trainer, and of a step of Tekton."""
_OF_PODS: Final = ("tolerations", "nodeSelector", "affinity")
_SAID_HERE: Final = ("serving.kserve.io", "argoproj.io", "apps.nvidia.com")
"""Groups whose kinds say where pods go beside the container or above it; of others it may be
said elsewhere."""
_AS_WRITTEN: Final = (*_SAID_HERE, "trainer.kubeflow.org", "tekton.dev")
"""Those of which it is known that containers get what is written; what a program of somebody's own
makes of requests without limits, only that program knows."""
_FIRST: Final = ("containers", 0)


def lone_containers(document: Document, source: Source, around: Workload) -> Iterator[Workload]:
    """What asks for GPUs in an object of another kind, outside of a list of containers.

    Args:
        document: The object.
        source: Its source.
        around: What the object says of all its pods.
    """
    group, _, _ = str(document.value["apiVersion"]).rpartition("/")
    if "." not in group or group.endswith(".k8s.io"):
        return
    for count, (path, inner) in enumerate(walk(document.value)):
        if count > _MOST:
            return
        key = next((key for key in _RESOURCES if _has_gpus(inner.get(key))), None)
        in_list = not _LISTS.isdisjoint(path[-2:-1])
        if key is None or in_list or path[:1] != ("spec",):
            continue
        perhaps = {} if group in _AS_WRITTEN else {"limits": UNKNOWN}
        resources = {**perhaps, **inner[key]}
        container = {**inner, "name": str(path[-1]), "resources": resources}
        whence = replace(source, document=_placed(document, path, key))
        spec = _spec(document.value, path, container, complete=group in _SAID_HERE)
        yield replace(around, source=whence, spec=spec, spec_path=path)


def _has_gpus(resources: Any) -> bool:
    return any(
        key.startswith(_GPUS)
        for part in ("limits", "requests")
        for key, _ in pairs(at(resources, part))
    )


def _spec(
    value: Mapping[str, Any], path: FieldPath, container: Mapping[str, Any], *, complete: bool
) -> dict[str, Any]:
    """The pod: each field of the innermost mapping that has it."""
    missing = None if complete else UNKNOWN
    found: dict[str, Any] = {"containers": [container]}
    for key in _OF_PODS:
        levels = range(len(path), 0, -1)
        given = (at(value, *path[:length], key) for length in levels)
        of_pod = next((pod for pod in given if pod is not None), missing)
        if of_pod is not None:
            found[key] = of_pod
    return found


def _placed(document: Document, above: FieldPath, resources: str) -> Document:
    """The document, where what is said of the container is written beside the pod's fields."""
    outer, depth = document.position, len(above)

    def position(path: FieldPath) -> Position:
        if tuple(path[depth : depth + 2]) != _FIRST:
            return outer(path)
        inside = path[depth + 2 :]
        return outer(
            (*above, *((resources, *inside[1:]) if inside[:1] == ("resources",) else inside))
        )

    return replace(document, position=position, editable=False)
