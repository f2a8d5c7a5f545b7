"""Values of vLLM's production stack, read as the Deployments that its chart makes of them.

Source: `templates/deployment-vllm-multi.yaml`, `templates/_helpers.tpl` and `values.yaml` of
`helm/` in https://github.com/vllm-project/production-stack, chart vllm-stack 0.1.12 (August 2026).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, holds, items, text
from eks_gpushare.manifests.readers.kubernetes import KubernetesReader
from eks_gpushare.manifests.readers.pod_parts import PodPartsReader
from eks_gpushare.manifests.readers.values import mappings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath, Position
    from eks_gpushare.manifests.document import Document, Read

_ENGINES: Final = "servingEngineSpec"
_ABOVE: Final[tuple[FieldPath, ...]] = ((), ("vllm-stack",))
"""As values of the chart itself, and of one that has it among its own."""
_RUNTIME_CLASS: Final = "nvidia"
"""What pods name where no values do, since January 2025."""
_STRATEGY: Final = {"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}}
_FLAGS: Final = (
    ("tensorParallelSize", "--tensor-parallel-size"),
    ("maxModelLen", "--max-model-len"),
    ("gpuMemoryUtilization", "--gpu_memory_utilization"),
)
"""Of `vllmConfig`, those that say how much of GPUs is used."""
_AMOUNTS: Final = {
    "requests": (
        *(("requestMemory", "memory"), ("requestCPU", "cpu"), ("requestGPU", "")),
        *(("requestGPUMem", "nvidia.com/gpumem"), ("requestGPUCores", "nvidia.com/gpucores")),
        ("requestGPUMemPercentage", "nvidia.com/gpumem-percentage"),
    ),
    "limits": (
        *(("limitMemory", "memory"), ("limitCPU", "cpu"), ("requestGPU", "")),
        *(("limitGPUMem", "nvidia.com/gpumem"), ("limitGPUCores", "nvidia.com/gpucores")),
        ("limitGPUMemPercentage", "nvidia.com/gpumem-percentage"),
    ),
}
"""Keys of a model, and the resource that each becomes; of GPUs it is named by `requestGPUType`."""
_GPU: Final = "nvidia.com/gpu"
_POD: Final = ("spec", "template", "spec")
_DEPLOYMENTS: Final = KubernetesReader()
_PARTS: Final = PodPartsReader()


class ProductionStackReader:
    """Reads values that make servers of vLLM."""

    name = "vLLM production stack"

    def matches(self, document: Document) -> bool:
        """Whether it says which models are served, alone or as a subchart's values."""
        return not isinstance(at(document.value, "kind"), str) and _above(document) is not None

    def read(self, document: Document) -> Read:
        """A Deployment for each model that Ray does not serve; the rest as parts of pods."""
        place: FieldPath = (*(_above(document) or ()), _ENGINES)
        parts = _PARTS.read(document)
        rest = [
            part
            for part in parts.items
            if isinstance(part, Workload) and part.spec_path[: len(place)] != place
        ]
        engines = at(document.value, *place)
        if at(engines, "enableEngine") in (None, True):
            rest += [
                made
                for index, model in mappings(at(engines, "modelSpec"))
                if _is_served(model)
                for made in _deployment(document, place, index)
            ]
        return parts._replace(items=rest)


def _above(document: Document) -> FieldPath | None:
    return next(
        (path for path in _ABOVE if items(at(document.value, *path, _ENGINES, "modelSpec"))), None
    )


def _is_served(model: Mapping[str, Any]) -> bool:
    """Whether a model gets a Deployment; one of Ray's gets a cluster."""
    by_ray = at(model, "raySpec", "enabled")
    return at(model, "enabled") in (None, True) and not (by_ray is UNKNOWN or by_ray)


def _deployment(document: Document, place: FieldPath, index: int) -> Iterator[Workload]:
    engines = at(document.value, *place)
    model = at(engines, "modelSpec", index)
    made = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": UNKNOWN, "namespace": UNKNOWN},
        "spec": {
            "replicas": at(model, "replicaCount"),
            "strategy": at(engines, "strategy") or _STRATEGY,
            "selector": UNKNOWN,
            "template": {"metadata": {"labels": UNKNOWN}, "spec": _pod(engines, model)},
        },
    }
    whence = _Places(document, place, index)
    inner = replace(
        document, value=made, position=whence.position, editable=False, text=None, origin=None
    )
    named = text(at(model, "name"))
    called = "a model" if named in ("", UNKNOWN) else f"the model {named}"
    for item in _DEPLOYMENTS.read(inner).items:
        if isinstance(item, Workload):
            yield replace(item, source=replace(item.source, name=f"the Deployment of {called}"))


def _pod(engines: Any, model: Any) -> dict[str, Any]:
    """The pod's spec, as far as rules ask."""
    tensor_parallel = holds(model, "vllmConfig", "tensorParallelSize")
    mounts = [*items(at(model, "extraVolumeMounts"))]
    volumes = [*items(at(model, "extraVolumes"))]
    if tensor_parallel:
        mounts.append({"name": "shm", "mountPath": "/dev/shm"})  # noqa: S108  (of a container)
        volumes.append({"name": "shm", "emptyDir": {"medium": "Memory"}})
    spec: dict[str, Any] = {
        "containers": [
            {
                "name": "vllm",
                "image": _image(model),
                "command": ["vllm", "serve", at(model, "modelURL"), *_arguments(model)],
                "env": _variables(engines, model),
                "resources": at(model, "resources") or _resources(model),
                "volumeMounts": mounts,
            }
        ],
        "volumes": volumes,
        "tolerations": _tolerations(engines, model),
        "runtimeClassName": _runtime_class(engines, model),
        "affinity": _affinity(model),
    }
    if at(model, "lmcacheConfig", "enablePD"):
        spec["hostIPC"] = True
    for key in ("priorityClassName", "nodeName"):
        if at(model, key):
            spec[key] = at(model, key)
    return spec


def _image(model: Any) -> Any:
    parts = at(model, "repository"), at(model, "tag")
    return UNKNOWN if has_unknown(parts) or None in parts else ":".join(map(str, parts))


def _arguments(model: Any) -> Iterator[Any]:
    given = at(model, "vllmConfig")
    if given is UNKNOWN:
        yield UNKNOWN
    for key, flag in _FLAGS:
        if holds(given, key):
            yield flag
            yield at(given, key) if at(given, key) is UNKNOWN else str(text(at(given, key)))
    extra = at(given, "extraArgs")
    yield from (each if each is UNKNOWN else str(text(each)) for each in items(extra))
    if extra is UNKNOWN:
        yield UNKNOWN


def _variables(engines: Any, model: Any) -> Any:
    given = [at(engines, "env"), at(model, "env")]
    if UNKNOWN in given:
        return UNKNOWN
    own = at(model, "lmcacheConfig", "cudaVisibleDevices")
    devices = [] if own is None else [{"name": "CUDA_VISIBLE_DEVICES", "value": own}]
    return [*items(given[0]), *items(given[1]), *devices]


def _resources(model: Any) -> dict[str, Any]:
    count = at(model, "requestGPU")
    amount = quantity(str(text(count)))
    is_none = count is not UNKNOWN and (amount is None or amount < 1)
    found: dict[str, Any] = {}
    for part, keys in _AMOUNTS.items():
        held = [(key, name or _resource(model)) for key, name in keys if holds(model, key)]
        given = {name: at(model, key) for key, name in held}
        if is_none:
            given.pop(_resource(model), None)
        found[part] = given
    return found


def _resource(model: Any) -> str:
    return str(text(at(model, "requestGPUType")) or _GPU)


def _tolerations(engines: Any, model: Any) -> Any:
    of_all, own = at(engines, "tolerations"), at(model, "tolerations")
    if UNKNOWN in (of_all, own, at(model, "tolerationsPolicy")):
        return UNKNOWN
    return items(own) if _overrides(model) else [*items(of_all), *items(own)]


def _overrides(model: Any) -> bool:
    return bool(items(at(model, "tolerations"))) and at(model, "tolerationsPolicy") == "override"


def _runtime_class(engines: Any, model: Any) -> Any:
    of = model if holds(model, "runtimeClassName") else engines
    return at(of, "runtimeClassName") if holds(of, "runtimeClassName") else _RUNTIME_CLASS


def _affinity(model: Any) -> Any:
    own, terms = at(model, "affinity"), at(model, "nodeSelectorTerms")
    if own or not terms or at(model, "nodeName"):
        return own or {}
    required = {"nodeSelectorTerms": terms}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


class _Places:
    """Where the values stand that a Deployment is made of."""

    def __init__(self, document: Document, engines: FieldPath, index: int) -> None:
        """Of a model by its number in the list."""
        self._outer = document.position
        self._engines = engines
        self._of = at(document.value, *engines)
        self._path: FieldPath = (*engines, "modelSpec", index)
        self._model = at(document.value, *self._path)

    def position(self, path: FieldPath) -> Position:
        """The place of what a path of the Deployment is made of."""
        return self._outer(self.place(path))

    def place(self, path: FieldPath) -> FieldPath:
        """The same as a path of the values."""
        if tuple(path[: len(_POD)]) != _POD:
            of_replicas = tuple(path) == ("spec", "replicas")
            return (*self._path, "replicaCount") if of_replicas else self._path
        inside = tuple(path[len(_POD) :])
        match inside[:1]:
            case ("containers",):
                return self._of_container(inside[2:])
            case ("tolerations",):
                above = [] if _overrides(self._model) else items(at(self._of, "tolerations"))
                return self._of_two("tolerations", len(above), inside[1:])
            case ("runtimeClassName",) if not holds(self._model, "runtimeClassName"):
                return (*self._engines, "runtimeClassName")
            case ("affinity",) if not at(self._model, "affinity"):
                return (*self._path, "nodeSelectorTerms", *inside[4:])
            case _:
                return (*self._path, *inside)

    def _of_container(self, inside: FieldPath) -> FieldPath:
        match inside[:1]:
            case ("resources",) if not at(self._model, "resources"):
                part, name = (*inside[1:], "", "")[:2]
                keys = _AMOUNTS.get(str(part), ())
                names = {resource or _resource(self._model): key for key, resource in keys}
                return (*self._path, names.get(str(name), "requestGPU"))
            case ("env",):
                return self._of_two("env", len(items(at(self._of, "env"))), inside[1:])
            case ("image",):
                return (*self._path, "tag")
            case ("volumeMounts",):
                return (*self._path, "extraVolumeMounts", *inside[1:])
            case ("command" | "args",):
                return (*self._path, "vllmConfig")
            case _:
                return (*self._path, *inside)

    def _of_two(self, key: str, above: int, inside: FieldPath) -> FieldPath:
        """In a list of all models with that of the model behind it."""
        number = inside[0] if inside else None
        if isinstance(number, int) and number >= above:
            return (*self._path, key, number - above, *inside[1:])
        return (*self._engines, key, *inside)
