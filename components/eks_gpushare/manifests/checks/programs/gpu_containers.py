"""Containers with GPUs, as far as what they run can be told from the pod that is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.requests import requests_of
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.manifests.pod_fields import is_plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Workload

SHM: Final = "/dev/shm"  # noqa: S108  (a place in a container)
_COMMENT: Final = re.compile(r"^[ \t]*#[^\n]*$", re.MULTILINE)
"""Of a script among the arguments."""
_TRAINING: Final = frozenset(
    ("PyTorchJob", "TFJob", "MPIJob", "PaddleJob", "XGBoostJob", "JAXJob", "MXJob")
)
"""Kinds of Kubeflow's training operator, which adds variables to containers and no volume:
https://github.com/kubeflow/training-operator/tree/release-1.9/pkg/controller.v1."""
_GROUPS: Final = _TRAINING | {"LeaderWorkerSet", "JobSet"}
_COPIES: Final = frozenset(("Rollout", "CloneSet"))
"""Of Argo and OpenKruise, which make pods as a Deployment does."""


class GpuContainer(NamedTuple):
    """A container of which all is known that is asked here."""

    workload: Workload
    place: FieldPath
    value: Any
    line: str
    """Its command and arguments, in one line."""
    gpus: int | None
    """How many it asks for; None where that is not known."""


def runs_as_written(workload: Workload) -> bool:
    """Whether pods have the containers and volumes of their template and no more.

    KubeRay mounts shared memory in its pods (`addEmptyDir` in controllers/ray/common/pod.go), and
    KServe takes parts of the pods of a model from elsewhere, but not of one without `model`.
    """
    kind, value = workload.kind, getattr(workload.source.document, "value", None)
    if kind == "InferenceService":
        above = workload.spec_path
        alone = at(value, *above, "model") is None and at(value, *above, "workerSpec") is None
        return above == ("spec", "predictor") and alone
    return is_plain(kind) or kind in _GROUPS or kind in _COPIES


def is_of_a_group(kind: str) -> bool:
    """Whether several pods of a kind run one program together."""
    return kind in _GROUPS


def trains(kind: str) -> bool:
    """Whether pods of a kind train a model, on all GPUs that they have."""
    return kind in _TRAINING


def gpu_containers(workload: Workload) -> Iterator[GpuContainer]:
    """Each container of a workload, with what it runs."""
    requests = list(requests_of(workload))
    for where, value in containers(workload.spec):
        place = (*workload.spec_path, *where)
        counts = [
            quantity(str(text(request.amount)))
            for request in requests
            if request.place[: len(place)] == place
        ]
        known = [int(count) for count in counts if count is not None and count.denominator == 1]
        gpus = sum(known) if len(known) == len(counts) else None
        words = [text(word) for key in ("command", "args") for word in items(at(value, key))]
        # What is yet to be filled in decides as a variable of a shell does.
        line = " ".join("$" if word is UNKNOWN else _COMMENT.sub("", str(word)) for word in words)
        yield GpuContainer(workload, place, value, line, gpus)


def asked_for(container: GpuContainer) -> list[str]:
    """The names of the resources that it asks for, under limits or requests."""
    parts = (at(container.value, "resources", part) for part in ("limits", "requests"))
    return [name for part in parts for name, _ in pairs(part)]


def shares_memory(container: GpuContainer) -> bool:
    """Whether a container has more shared memory than 64 MiB, or has no need of it."""
    spec, value = container.workload.spec, container.value
    if at(spec, "hostIPC") is True or has_unknown([at(spec, "volumes"), at(value, "volumeMounts")]):
        return True
    if any(at(each, "name") == "NCCL_SHM_DISABLE" for each in items(at(value, "env"))):
        return True
    return any(
        str(text(at(mount, "mountPath"))).rstrip("/") == SHM
        for mount in items(at(value, "volumeMounts"))
    )
