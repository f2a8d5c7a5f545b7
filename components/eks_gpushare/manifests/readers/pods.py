"""Where kinds of Kubernetes objects have their pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.readers.values import mapping, walk, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.source import Maybe

_TEMPLATE: Final = ("spec", "template")
_JOB: Final = ("spec", "jobTemplate", "spec")
_MOST_NODES: Final = 20_000


class PodPlace(NamedTuple):
    """Pods that an object makes."""

    template: FieldPath
    """Where their metadata and spec stand."""
    spec: FieldPath
    """Where their spec stands."""
    replicas: Maybe[int | None]


def pod_places(kind: str, value: Mapping[str, Any]) -> Iterator[PodPlace]:
    """Each pod template of an object."""
    match kind:
        case "Pod":
            yield PodPlace((), ("spec",), 1)
        case "PodTemplate":
            yield PodPlace(("template",), ("template", "spec"), 0)
        case "Deployment" | "StatefulSet" | "ReplicaSet" | "ReplicationController":
            yield _in_template(_TEMPLATE, whole(at(value, "spec", "replicas"), 1))
        case "DaemonSet":
            yield _in_template(_TEMPLATE, None)
        case "Job" if at(value, *_TEMPLATE) is not None:  # Volcano's has tasks
            yield _in_template(_TEMPLATE, whole(at(value, "spec", "parallelism"), 1))
        case "CronJob":
            parallel = whole(at(value, *_JOB, "parallelism"), 1)
            yield _in_template((*_JOB, "template"), parallel)
        case _:
            yield from _wherever(value)


def _in_template(path: FieldPath, replicas: Maybe[int | None]) -> PodPlace:
    return PodPlace(path, (*path, "spec"), replicas)


def _wherever(value: Mapping[str, Any]) -> Iterator[PodPlace]:
    """Pod templates of a kind that is not known: whatever has a list of containers.

    So have RayCluster, Notebook, PyTorchJob, LeaderWorkerSet, JobSet, InferenceService and others.
    Knative names a container that has no name itself.
    """
    of_knative = str(value.get("apiVersion")).startswith("serving.knative.dev/")
    own = ("name", "image") if of_knative else ("name",)
    for count, (path, inner) in enumerate(walk(value)):
        if count > _MOST_NODES:
            return
        containers = inner.get("containers")
        if not (isinstance(containers, list) and containers and path and path[0] == "spec"):
            continue
        if not all(
            isinstance(each, dict) and any(key in each for key in own) for each in containers
        ):
            continue
        template = path[:-1] if path[-1] == "spec" else path
        yield PodPlace(template, path, _replicas(value, template))


def _replicas(value: Mapping[str, Any], template: FieldPath) -> Maybe[int | None]:
    """The number beside the template or above: Ray and Kubeflow name it `replicas`."""
    for length in range(len(template) - 1, 0, -1):
        beside = at(value, *template[:length])
        if not isinstance(beside, dict):
            continue
        for key in ("replicas", "numWorkers", "parallelism"):
            if key in beside:
                return whole(beside[key], 1)
    return 1


def pod_labels(value: Mapping[str, Any], template: FieldPath) -> Maybe[Mapping[str, Any]]:
    """Labels of the pods of a template."""
    found = at(value, *template, "metadata", "labels")
    own = UNKNOWN if found is UNKNOWN else mapping(found)
    if value.get("kind") != "Notebook" or own is UNKNOWN:
        return own
    # generateStatefulSet in notebook_controller.go of kubeflow/kubeflow.
    name, above = at(value, "metadata", "name"), mapping(at(value, "metadata", "labels"))
    if above is UNKNOWN:
        return UNKNOWN
    return {**own, **above, "statefulset": name, "notebook-name": name}
