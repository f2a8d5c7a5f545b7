"""What Ray is told of GPUs, held against what its containers ask for.

Sources, November 2026: docs/guidance/rayStartParams.md and ray-operator/controllers/ray/utils/
resources.go of ray-project/kuberay 1.5, `_get_num_gpus` in python/ray/autoscaler/_private/kuberay/
autoscaling_config.py of ray-project/ray 2.52, which takes the number as a whole one, and without
it counts resources whose names end in `gpu`.
"""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.items import PART_OF_POD, RAY_JOB, Pointer, Workload
from eks_gpushare.inventory.nodes import CATALOG, TYPE_LABELS
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import requests_of
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, is_same, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import GpuContainer, gpu_containers
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.rules.gpu_programs import UNLIKE_RAY
from eks_gpushare.manifests.texts import texts_within
from eks_gpushare.sharing.resources import GPU, SHARED_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_POD: Final = ("template", "spec")
_PARAMS: Final = "rayStartParams"
_TOLD: Final = "num-gpus"
_WORKERS: Final = "workerGroupSpecs"
_HEADS: Final = ("headGroupSpec", "head")
"""Of a cluster, and of values of KubeRay's chart for one, which have workers by other names."""
_CLUSTERS: Final[tuple[FieldPath, ...]] = (
    ("spec",),
    ("spec", "rayClusterSpec"),
    ("spec", "rayClusterConfig"),
)
"""Where a RayCluster stands, in an object of its own, of a RayJob and of a RayService."""
_SERVED: Final = ("spec", "serveConfigV2")
_APPS: Final = "applications"
_SPLIT: Final = ("tensor", "pipeline")
_ENTRY: Final = "entrypointNumGpus"
_CHOSEN: Final = ("clusterSelector", "ray.io/cluster")
_VISIBLE: Final = ("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
_WITH_CUDA: Final = re.compile(r"(?:^|/)rayproject/ray(?:-ml|-llm)?:[^ ]*(?:gpu|cu[0-9]{2})")
"""Ray's images with CUDA, whose environment has the container runtime show all GPUs."""
_OF_KUBERAY: Final = "config.samples.vllm.serve:model"
"""KubeRay's sample of vLLM, each of whose replicas has GPUs for TENSOR_PARALLELISM of one node
(STRICT_PACK): ray-operator/config/samples/vllm/serve.py."""
_PART: Final = re.compile(r"[0-9]*\.[0-9]*")
_NVIDIAS: Final = re.compile(r"[A-Z][0-9]+[A-Z]*(?:-[0-9]+G)?")
"""Names that Ray has for GPUs of NVIDIA, which no other accelerator's are like."""
_GPUS: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")


class _Group(NamedTuple):
    """Ray's nodes of one kind."""

    workload: Workload
    path: FieldPath
    """In the document."""
    told: Any
    gpus: int | None

    @property
    def counted(self) -> int | None:
        """How many GPUs Ray takes one of its nodes to have; None where that is not known.

        A container that asks for none may see a node's all the same, which Ray counts then.
        """
        if _is_whole(self.told):
            return int(str(text(self.told)))
        main = _main(self.workload)
        by_class = at(self.workload.spec, "runtimeClassName")
        if self.gpus == 0 and (by_class or (main is not None and _shows_all(main))):
            return None
        return self.gpus

    @property
    def called(self) -> str:
        """As messages name it."""
        value = getattr(self.workload.source.document, "value", None)
        name = text(at(value, *self.path, "groupName"))
        group = "a worker group" if name in ("", UNKNOWN) else f"the worker group {name}"
        if self.path[-1] in _HEADS:
            group = "the head"
        return f"{at_start(group)} of {self.workload.source.name}"


@edge(UNLIKE_RAY)
def ray(inventory: Inventory) -> Iterator[Judgement]:
    """Of clusters of Ray, also those of jobs and services, and in values of KubeRay's chart."""
    by_document: dict[int, list[_Group]] = {}
    for workload in inventory.of(Workload):
        group = _group(workload)
        if group is not None:
            by_document.setdefault(id(workload.source.document), []).append(group)
            yield from _told(group)
            yield from _sees_all(group)
    for groups in by_document.values():
        yield from _served(groups)
    for job in inventory.of(Pointer):
        if job.kind == RAY_JOB:
            yield from _entered(job, by_document.values())


def _group(workload: Workload) -> _Group | None:
    value, path = getattr(workload.source.document, "value", None), workload.spec_path
    of_chart = workload.kind == PART_OF_POD
    above = path if of_chart else path[:-2]
    params = at(value, *above, _PARAMS)
    is_group = isinstance(params, dict) if of_chart else path[-2:] == _POD
    if not is_group or not (of_chart or workload.kind.startswith("Ray")):
        return None
    if not of_chart and at(value, *above, "resources"):  # which goes over both
        return _Group(workload, above, UNKNOWN, None)
    main = _main(workload)
    is_known = main is not None and not has_unknown(at(main.value, "resources"))
    return _Group(workload, above, at(params, _TOLD), main.gpus if main and is_known else None)


def _main(workload: Workload) -> GpuContainer | None:
    """The container that Ray runs in: the first, but for those that only prepare it."""
    return next((each for each in gpu_containers(workload) if "containers" in each.place), None)


def _shows_all(container: GpuContainer) -> bool:
    """Whether its image has the runtime show all GPUs, and nothing says otherwise."""
    env = at(container.value, "env")
    if at(container.value, "envFrom") or has_unknown(env):
        return False
    named = any(str(at(each, "name")) in _VISIBLE for each in items(env))
    return not named and bool(_WITH_CUDA.search(str(text(at(container.value, "image")))))


def _is_whole(value: Any) -> bool:
    shown = "" if value is UNKNOWN else str(text(value))
    return shown.isascii() and shown.isdecimal()


def _told(group: _Group) -> Iterator[Problem]:
    if group.told is None:
        yield from _not_counted(group)
        return
    place, shown = (*group.path, _PARAMS, _TOLD), str(text(group.told))
    if group.told is not UNKNOWN and _PART.fullmatch(shown):
        yield Problem(
            UNLIKE_RAY,
            group.workload.source,
            place,
            f"{group.called} has {_TOLD} {shown}, which neither ray start nor the autoscaler "
            "takes.",
            f"Write a whole number, and let tasks and actors ask for a part: num_gpus={shown}.",
            "error",
        )
    if not _is_whole(group.told) or group.gpus is None or int(shown) == group.gpus:
        return
    if group.gpus == 0 and not _is_for_gpus(group.workload):
        return
    if int(shown) == 0 and group.path[-1] in _HEADS:
        return  # which keeps tasks off the head
    yield Problem(
        UNLIKE_RAY,
        group.workload.source,
        place,
        f"{group.called} has {_TOLD} {shown}, and its container "
        + (f"gets {group.gpus}." if group.gpus else "asks for none: it has what others have."),
        f"Remove {_TOLD}: KubeRay tells Ray what the container is limited to."
        if group.gpus
        else f"Write limits: {{{GPU}: {shown}}} under resources, and remove {_TOLD}.",
    )


def _is_for_gpus(workload: Workload) -> bool:
    """Whether its container has Ray with CUDA, and by no other way a GPU of its own."""
    spec = workload.spec
    if at(spec, "resourceClaims") or at(spec, "runtimeClassName") or has_unknown(spec):
        return False
    main = _main(workload)
    if main is None or not _shows_all(main):
        return False
    asked = at(main.value, "resources", "limits") or {}
    by_all = at(main.value, "securityContext", "privileged")
    return not by_all and not any("/" in str(key) for key in asked)


def _sees_all(group: _Group) -> Iterator[Problem]:
    """An image with CUDA on a node with GPUs that asks for none: it sees all of the node's."""
    workload, spec = group.workload, group.workload.spec
    if group.told is not None or group.gpus != 0 or at(spec, "resourceClaims"):
        return
    names = [str(text(at(spec, "nodeSelector", key))) for key in TYPE_LABELS]
    types = [CATALOG.find(name) for name in names if name]
    if not any(each is not None and each.gpu_count for each in types):
        return
    main = _main(workload)
    if main is not None and _shows_all(main):
        yield Problem(
            UNLIKE_RAY,
            workload.source,
            (*group.path, _PARAMS),
            f"{group.called} is on nodes with GPUs and asks for none: "
            f"{text(at(main.value, 'image'))} sees all of them, and Ray gives its tasks what other "
            "pods have.",
            f'Write {_TOLD}: "0" under {_PARAMS}, and NVIDIA_VISIBLE_DEVICES=void in its '
            "environment.",
        )


def _not_counted(group: _Group) -> Iterator[Problem]:
    """Shares by a name of their own, of which the autoscaler knows nothing."""
    value = getattr(group.workload.source.document, "value", None)
    scales = any(at(value, *path, "enableInTreeAutoscaling") is True for path in _CLUSTERS)
    asked = [each for each in requests_of(group.workload) if each.resource == GPU + SHARED_SUFFIX]
    if scales and asked and _WORKERS in group.path:
        yield Problem(
            UNLIKE_RAY,
            group.workload.source,
            asked[0].place,
            f"{group.called} asks for {asked[0].resource}, which Ray's autoscaler counts as no "
            "GPU.",
            f'Write {_TOLD}: "{text(asked[0].amount)}" under {_PARAMS}.',
        )


def _most(groups: Sequence[_Group]) -> int | None:
    """The most GPUs of one of Ray's nodes; None where of some it is not known what they have."""
    counts = [group.counted for group in groups if group.counted is not None]
    document = next(iter(groups)).workload.source.document
    if not isinstance(document, Document):
        return None
    declared = [items(at(document.value, *path, _WORKERS)) for path in _CLUSTERS]
    return max(counts) if len(counts) == 1 + sum(map(len, declared)) else None


def _entered(job: Pointer, clusters: Iterable[Sequence[_Group]]) -> Iterator[Problem]:
    """An entry point, which is an actor of one node, that no node has the GPUs for.

    https://docs.ray.io/en/latest/cluster/running-applications/job-submission/sdk.html#specifying-cpu-and-gpu-resources
    """
    named, wanted = at(job.spec, *_CHOSEN), at(job.spec, _ENTRY)
    own = [
        groups
        for groups in clusters
        for cluster in [next(iter(groups)).workload]
        if (named is None and cluster.source.document is job.source.document)
        or (is_same(named, cluster.name) and is_same(job.namespace, cluster.namespace))
    ]
    most = _most(own[0]) if len(own) == 1 else None
    if most is not None and _is_whole(wanted) and int(str(text(wanted))) > most:
        yield Problem(
            UNLIKE_RAY,
            job.source,
            ("spec", _ENTRY),
            f"The entry point of {job.source.name} asks for {text(wanted)} GPUs of one node, and "
            f"no node of {next(iter(own[0])).workload.source.name} has more than {most}.",
            "Ask for fewer, or give a worker group as many; tasks and actors ask by themselves.",
            "error",
        )


def _served(groups: Sequence[_Group]) -> Iterator[Problem]:
    """Actors of Ray Serve that no node of any group has the GPUs for, or not all of them."""
    source, most = next(iter(groups)).workload.source, _most(groups)
    document = source.document
    if not isinstance(document, Document) or most is None:
        return
    given = at(document.value, *_SERVED)
    inner = texts_within(document, _SERVED) if isinstance(given, str) else None
    applications = [
        each for one in (inner.documents if inner else ()) for each in items(at(one.value, _APPS))
    ]
    actors = [each for application in applications for each in _actors(application)]
    too_large = [each for each in actors if each.alone and each.gpus > most]
    for each in too_large:
        yield Problem(
            UNLIKE_RAY,
            source,
            _SERVED,
            f"The deployment {each.name} of {source.name} asks for {each.gpus:g} GPUs for each "
            f"replica, and no node of Ray has more than {most}.",
            "Ask for fewer, or give a worker group as many.",
            "error",
        )
    total, all_of = sum(each.replicas * each.gpus for each in actors), _in_all(groups)
    if all_of is not None and total > all_of and not too_large:
        yield Problem(
            UNLIKE_RAY,
            source,
            _SERVED,
            f"The replicas of {' and '.join(each.name for each in actors if each.gpus)} take "
            f"{total:g} GPUs from the start, and Ray's nodes of {source.name} have {all_of} at "
            "most.",
            "Let worker groups have more nodes (maxReplicas with enableInTreeAutoscaling, replicas "
            "without), or start with fewer replicas.",
            "error",
        )


class _Actor(NamedTuple):
    """What a deployment of Ray Serve takes, as far as it is written: the program may ask too."""

    name: Any
    replicas: int
    """How many there are from the start; 0 where the program says."""
    gpus: float
    """Of each."""
    alone: bool = True
    """Whether those have to be on one node."""


def _actors(application: Any) -> Iterator[_Actor]:
    """Those of an application, and of each model of `ray.serve.llm`, whose GPUs may be apart."""
    of_vllm = str(at(application, "import_path")).endswith(_OF_KUBERAY)
    for deployment in items(at(application, "deployments")):
        wanted = at(deployment, "ray_actor_options", "num_gpus")
        if of_vllm:
            wanted = at(application, "runtime_env", "env_vars", "TENSOR_PARALLELISM")
        yield _Actor(text(at(deployment, "name")), _replicas(deployment), _number(wanted))
    for model in items(at(application, "args", "llm_configs")):
        named = at(model, "model_loading_config", "model_id")
        split = [at(model, "engine_kwargs", f"{each}_parallel_size") for each in _SPLIT]
        gpus = prod(_number(each) or 1 for each in split)
        is_other = any(at(model, each) for each in ("placement_group_config", "accelerator_config"))
        of_nvidia = _NVIDIAS.fullmatch(str(at(model, "accelerator_type"))) and not is_other
        replicas = _replicas(at(model, "deployment_config"))
        yield _Actor(text(named), replicas, gpus if of_nvidia else 0, alone=False)


def _number(value: Any) -> float:
    """A number of GPUs; 0 for what is none, or not known."""
    shown = "" if value is UNKNOWN else str(text(value))
    return float(shown) if _GPUS.fullmatch(shown) else 0


def _replicas(deployment: Any) -> int:
    """How many replicas of a deployment Ray Serve makes at least."""
    scaled = at(deployment, "autoscaling_config")
    count = at(deployment, "num_replicas")
    if isinstance(scaled, dict):
        count = scaled.get("initial_replicas", scaled.get("min_replicas", 1))
    return int(str(text(count))) if _is_whole(count) else 0


def _in_all(groups: Sequence[_Group]) -> int | None:
    """How many GPUs all nodes of a cluster of Ray have at most; None where that has no bound."""
    value = getattr(next(iter(groups)).workload.source.document, "value", None)
    scales = [at(value, *path, "enableInTreeAutoscaling") for path in _CLUSTERS]
    total = 0
    for group in groups:
        spec, counted = at(value, *group.path), group.counted
        if counted is None:
            return None
        if counted and group.path[-1] not in _HEADS:
            least, most = spec.get("minReplicas", 0), spec.get("maxReplicas")
            nodes = [most] if any(scales) else [least, spec.get("replicas", 0)]
            counts = (*nodes, spec.get("numOfHosts", 1))
            if not all(map(_is_whole, counts)):
                return None
            *nodes, hosts = (int(str(text(each))) for each in counts)
            counted *= max(nodes) * hosts
        total += counted
    return total
