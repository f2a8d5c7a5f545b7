"""Values of bjw-s' app-template, read as the workloads that its chart makes of them.

Source: `charts/library/common` of https://github.com/bjw-s-labs/helm-charts, common 4.1.1: its
templates `lib/pod`, `lib/container` and `classes`, and `values.yaml` (June 2025).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.readers.kubernetes import KubernetesReader
from eks_gpushare.manifests.rules.kubernetes import NO_FIELD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath, Position
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.manifests.document import Document

_ALL: Final = "controllers"
_OF_ALL: Final = "defaultPodOptions"
_KINDS: Final = {
    "": ("apps/v1", "Deployment"),
    "deployment": ("apps/v1", "Deployment"),
    "statefulset": ("apps/v1", "StatefulSet"),
    "daemonset": ("apps/v1", "DaemonSet"),
    "cronjob": ("batch/v1", "CronJob"),
    "job": ("batch/v1", "Job"),
}
_OPTIONS: Final = (
    *("nodeSelector", "affinity", "tolerations", "runtimeClassName", "priorityClassName"),
    *("schedulerName", "securityContext", "topologySpreadConstraints", "restartPolicy"),
    *("hostIPC", "hostNetwork", "hostPID", "resources", "terminationGracePeriodSeconds"),
)
"""What of a pod's spec the chart takes from the controller, or from what is of all."""
_OF_CONTAINERS: Final = (
    *("command", "args", "resources", "securityContext", "workingDir", "ports"),
    *("restartPolicy", "lifecycle"),
)
_OF_PODS: Final = (
    *("nodeSelector", "affinity", "tolerations", "runtimeClassName", "priorityClassName"),
    *("schedulerName", "topologySpreadConstraints", "hostNetwork", "resourceClaims"),
)
"""What of these no controller has, and no values as a whole: `schemas/controllers.json` refuses
it, and before it was there nothing read it."""
_SIGN: Final = "nvidia"
"""What is in values of pods that have to do with GPUs: in a resource, a class or an image."""
_WORKLOADS: Final = KubernetesReader()


class AppTemplateReader:
    """Reads the values of controllers and their containers, each by its name."""

    name = "app-template"

    def matches(self, document: Document) -> bool:
        """Whether it has such controllers, and is no object of its own."""
        return at(document.value, "apiVersion") is None and _has_controllers(document.value)

    def read(self, document: Document) -> Read:
        """A workload for each controller with something of NVIDIA's in it."""
        given = document.value
        found: list[Item] = []
        judgements: list[Judgement] = [*_not_read(document)]
        for name, controller in pairs(given[_ALL]):
            options = [at(given, _OF_ALL), at(controller, "pod"), at(controller, "containers")]
            is_on = at(controller, "enabled") in (None, True)
            if is_on and _SIGN in f"{options}{at(controller, 'defaultContainerOptions')}".lower():
                read = _workload(document, name, controller)
                found += read.items
                judgements += read.judgements
        return Read(found, judgements)


class BroughtAppTemplateReader:
    """Reads values of a chart of one's own that brings app-template, below its name or alias."""

    name = "app-template"

    def matches(self, document: Document) -> bool:
        """Whether there are such controllers below a key, and it is no object of its own."""
        value = document.value
        return at(value, "apiVersion") is None and any(
            _has_controllers(each) for _, each in pairs(value)
        )

    def read(self, document: Document) -> Read:
        """What stands below the keys, as values by themselves."""
        below = [(key, each) for key, each in pairs(document.value) if _has_controllers(each)]
        return Read(inner=[document.inside((key,), each) for key, each in below])


def _has_controllers(value: Any) -> bool:
    return any(isinstance(at(each, "containers"), dict) for _, each in pairs(at(value, _ALL)))


def _not_read(document: Document) -> Iterator[Problem]:
    """Options of pods that stand beside what has them."""
    given = document.value
    controllers = pairs(given[_ALL])
    taken = [at(given, _OF_ALL), *(at(each, "pod") for _, each in controllers)]
    places: list[tuple[FieldPath, Any, str]] = [((), given, _OF_ALL)]
    places += [((_ALL, name), each, "pod") for name, each in controllers]
    for above, each, under in places:
        for key, value in pairs(each):
            is_own = not above and key == "pod" and isinstance(value, dict)
            # An anchor may stand anywhere.
            is_named = any(at(pod, key) == value or pod == value for pod in taken)
            if (key in _OF_PODS or is_own) and value and not is_named:
                of = f"the controller {above[-1]}" if above else "the values"
                yield Problem(
                    NO_FIELD,
                    Source(of, document),
                    (*above, key),
                    f"{key} is not read in {of} of app-template, which has it under {under}.",
                    f"Move {'what it has' if is_own else 'it'} under {under}.",
                )


def _workload(document: Document, name: str, controller: Any) -> Read:
    version, kind = _KINDS.get(str(text(at(controller, "type"))), ("", ""))
    if not kind:
        return Read()
    given = document.value
    template = {"metadata": {"labels": UNKNOWN}, "spec": _pod(given, name, controller)}
    spec: dict[str, Any] = {"template": template, "selector": UNKNOWN}
    if kind in ("Deployment", "StatefulSet"):
        told = controller.get("replicas", 1)
        spec["replicas"] = UNKNOWN if told is None else told  # a null is for an autoscaler
    if kind == "Deployment":
        spec["strategy"] = _strategy(controller)
    if kind == "CronJob":
        spec = {"jobTemplate": {"spec": spec}}
    made = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": UNKNOWN, "namespace": UNKNOWN},
        "spec": spec,
    }
    above = ("spec", "jobTemplate", "spec") if kind == "CronJob" else ("spec",)
    places = _Places(document, name, (*above, "template", "spec"))
    inner = replace(
        document, value=made, position=places.position, editable=False, text=None, origin=None
    )
    read = _WORKLOADS.read(inner)
    found = [
        replace(item, source=replace(item.source, name=f"the {kind} of {name}"))
        for item in read.items
        if isinstance(item, Workload)
    ]
    return read._replace(items=found)


def _strategy(controller: Any) -> Any:
    """The chart ends the old pod first, unless it is told otherwise."""
    told = at(controller, "strategy") or "Recreate"
    rolling = {
        key: at(controller, "rollingUpdate", own)
        for key, own in (("maxSurge", "surge"), ("maxUnavailable", "unavailable"))
        if at(controller, "rollingUpdate", own)
    }
    return {"type": told, **({"rollingUpdate": rolling} if rolling else {})}


def _pod(given: Any, name: str, controller: Any) -> dict[str, Any]:
    spec = {
        key: value
        for key in _OPTIONS
        if (value := _option(given, controller, key)) not in (None, "", {}, [])
    }
    volumes, mounts = [], {}
    for called, volume in pairs(at(given, "persistence")):
        if at(volume, "enabled") in (None, True):
            volumes.append({"name": called, **_source(volume)})
            mounts[called] = volume
    for key in ("initContainers", "containers"):
        spec[key] = [
            _container(controller, name, each, mounts) for each in _on(at(controller, key))
        ]
    return {**spec, "volumes": volumes}


def _option(given: Any, controller: Any, key: str) -> Any:
    """That of the pod, or of all pods; of mappings both, where they are to be merged."""
    of_all, own = at(given, _OF_ALL, key), at(controller, "pod", key)
    if own in (None, "", {}, []):
        return of_all
    is_merged = at(given, "defaultPodOptionsStrategy") == "merge"
    both = isinstance(own, dict) and isinstance(of_all, dict)
    return {**of_all, **own} if is_merged and both else own


def _on(containers: Any) -> Iterator[tuple[str, Any]]:
    for name, each in pairs(containers):
        if isinstance(each, dict) and at(each, "enabled") in (None, True):
            yield name, each


def _container(
    controller: Any, name: str, of: tuple[str, Any], mounts: Mapping[str, Any]
) -> dict[str, Any]:
    called, own = of
    of_all = [(key, each) for key, each in pairs(at(controller, "defaultContainerOptions"))]
    whole = {**dict(of_all), **{key: each for key, each in own.items() if each}}
    image = at(whole, "image", "repository"), at(whole, "image", "tag")
    made = {key: whole[key] for key in _OF_CONTAINERS if whole.get(key)}
    made |= {key: [made[key]] for key in ("command", "args") if isinstance(made.get(key), str)}
    known = not has_unknown(image) and None not in image
    return {
        **made,
        "name": called,
        "image": ":".join(map(str, image)) if known else UNKNOWN,
        "env": _variables(whole.get("env")),
        "envFrom": [_whence(each) for each in items(whole.get("envFrom"))],
        "volumeMounts": [
            {"name": volume, "mountPath": at(mount, "path")}
            for volume, given in mounts.items()
            for mount in _mounts(given, volume, name, called)
        ],
    }


def _variables(given: Any) -> Any:
    """A list as Kubernetes has it, or by name; numbers are texts, sources may lack their key."""
    if not isinstance(given, dict):
        listed = [(at(each, "name"), each) for each in items(given)]
        return UNKNOWN if given is UNKNOWN else [_variable(*each) for each in listed]
    return [_variable(name, each) for name, each in pairs(given)]


def _variable(name: Any, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict) or "value" in given:
        value = at(given, "value") if isinstance(given, dict) else given
        return {"name": name, "value": value if value is UNKNOWN else str(text(value))}
    source = {key: each for key, each in given.items() if key not in ("name", "dependsOn")}
    return {"name": name, "valueFrom": at(given, "valueFrom") or source}


def _whence(given: Any) -> dict[str, Any]:
    """A ConfigMap or Secret by its name, or by the key that it has in the values."""
    kind = "secretRef" if at(given, "secret") or at(given, "secretRef") else "configMapRef"
    return {kind: {"name": at(given, kind, "name") or UNKNOWN}}


def _mounts(volume: Any, name: str, controller: str, container: str) -> list[Any]:
    of_all, own = at(volume, "globalMounts"), at(volume, "advancedMounts")
    if not of_all and not own:
        return [{"path": at(volume, "mountPath") or f"/{name}"}]
    return [*items(of_all), *items(at(own, controller, container))]


def _source(volume: Any) -> dict[str, Any]:
    kind = at(volume, "type")
    if kind == "emptyDir":
        told = {key: at(volume, key) for key in ("medium", "sizeLimit") if at(volume, key)}
        return {"emptyDir": told}
    if kind == "hostPath":
        return {"hostPath": {"path": at(volume, "hostPath")}}
    if kind in (None, "persistentVolumeClaim"):
        return {"persistentVolumeClaim": {"claimName": at(volume, "existingClaim") or UNKNOWN}}
    if kind == "custom":
        return dict(pairs(at(volume, "volumeSpec")))
    return {str(text(kind)): UNKNOWN}


class _Places:
    """Where the values stand that a workload is made of."""

    def __init__(self, document: Document, name: str, pod: FieldPath) -> None:
        """Of a controller by its name; `pod` is where the workload has its pod's spec."""
        self._outer, self._given, self._pod = document.position, document.value, pod
        self._own: FieldPath = (_ALL, name)

    def position(self, path: FieldPath) -> Position:
        """The place of what a path of the workload is made of."""
        return self._outer(self.place(path))

    def place(self, path: FieldPath) -> FieldPath:
        """The same as a path of the values."""
        own, inside = self._own, tuple(path[len(self._pod) :])
        if not inside or tuple(path[: len(self._pod)]) != self._pod:
            return (*own, "replicas") if tuple(path) == ("spec", "replicas") else own
        match inside:
            case ("containers" | "initContainers" as key, int(number), *rest):
                name = [name for name, _ in _on(at(self._given, *own, key))][number]
                # Values have variables by their names.
                return (*own, key, name, *(rest[:1] if rest[:1] == ["env"] else rest))
            case ("containers" | "initContainers" as key, *_):
                return (*own, key)
            case ("volumes", *_):
                return ("persistence",)
        is_own = at(self._given, *own, "pod", inside[0]) not in (None, "", {}, [])
        return (*own, "pod", *inside) if is_own else (_OF_ALL, *inside)
