"""What pods say to KAI and Volcano, as these read it.

Source: `pkg/binder/plugins/gpusharing/gpu-request/gpu_request_validator.go`, `pod_mutator.go`,
`input_jobs.go` and `cache/cluster_info/queue.go` of https://github.com/NVIDIA/KAI-Scheduler at
72de64f; `pkg/webhooks/admission/jobs/validate/admit_job.go` of
https://github.com/volcano-sh/volcano.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import PART_OF_POD, Pointer, Release, Workload
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.pod_fields import is_plain
from eks_gpushare.manifests.rules.other_schedulers import NO_SUCH_QUEUE, NOT_ASKED
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_KAI: Final = "kai-scheduler"
_KAI_QUEUE: Final = "kai.scheduler/queue"
_FORMER_QUEUE: Final = "runai/queue"
_RENAMED_IN: Final = (0, 6)
"""What the label was called before that release: CHANGELOG.md of KAI-Scheduler."""
_RELEASE: Final = re.compile(r"v?([0-9]+)\.([0-9]+)\.[0-9].*")
_FRACTION, _MEMORY = "gpu-fraction", "gpu-memory"
_DEVICES: Final = "gpu-fraction-num-devices"
_READ: Final = (_FRACTION, _MEMORY, _DEVICES, "gpu-fraction-container-name")
_MEANT: Final = re.compile(r"gpu[._-]?(?:mem(?:ory)?|fraction|share)\b|(?:fraction|share)[._-]?gpu")
"""Annotations by which people mean those."""
_OF_CHART: Final = ("default-queue", "default-parent-queue")
"""What KAI's chart makes."""
_OF_VOLCANO: Final = ("default", "root")
"""What Volcano makes by itself."""
_GROUPS: Final = {"scheduling.run.ai": "KAI", "scheduling.volcano.sh": "Volcano"}
_VGPU: Final = "volcano.sh/vgpu-"
_WHOLE: Final = re.compile("[0-9]+")


def _annotations(workload: Workload) -> tuple[FieldPath, Mapping[str, Any]]:
    path = (*workload.spec_path[:-1], "metadata", "annotations")
    return path, dict(pairs(at(value_of(workload), *path)))


def part_of_kai(workload: Workload) -> bool:
    """Whether pods ask KAI for a part of a GPU, which they do by annotations alone."""
    return any(key in _annotations(workload)[1] for key in (_FRACTION, _MEMORY))


@edge(NOT_ASKED)
def asked_of_others(inventory: Inventory) -> Iterator[Judgement]:
    """By annotations of pods, and by resources of Volcano's."""
    said: set[int] = set()
    for workload in inventory.of(Workload):
        if workload.kind == PART_OF_POD:
            continue
        place, given = _annotations(workload)
        if at(workload.spec, "schedulerName") == _KAI and id(workload.source.document) not in said:
            for problem in _as_annotation(workload, place, given):
                said.add(id(workload.source.document))
                yield problem
        if not is_plain(workload.kind):
            continue
        named = at(workload.spec, "schedulerName")
        if str(at(value_of(workload), "apiVersion")).startswith("batch.volcano.sh/"):
            continue  # its pods are Volcano's where nobody says another: mutate_job.go
        if named in (None, "", "default-scheduler") and not _is_shown(workload):
            yield from _not_scheduled(workload, place, given)
        elif named == _KAI:
            for key, message, fix in _refused(workload, given):
                told = f"{at_start(workload.source.name)} {message}."
                yield Problem(NOT_ASKED, workload.source, (*place, key), told, fix)
            yield from _beside_pods(workload, given)
            yield from _by_other_name(inventory, workload)
            yield from _switched_off(inventory, workload, place, given)


def _as_annotation(
    workload: Workload, place: FieldPath, given: Mapping[str, Any]
) -> Iterator[Problem]:
    """A queue among the annotations, and none among the labels, which alone KAI reads."""
    top: FieldPath = ("metadata", "annotations")
    value = value_of(workload)
    where = place if _KAI_QUEUE in given else top
    named = [at(value, "metadata", "labels", _KAI_QUEUE), at(workload.labels, _KAI_QUEUE)]
    if named == [None, None] and isinstance(at(value, *where, _KAI_QUEUE), str):
        yield Problem(
            NOT_ASKED,
            workload.source,
            (*where, _KAI_QUEUE),
            f"{at_start(workload.source.name)} has {_KAI_QUEUE} as an annotation, and KAI reads it "
            "as a label: it goes to the queue of all that name none.",
            "Move it to the labels.",
        )


def _by_other_name(inventory: Inventory, workload: Workload) -> Iterator[Problem]:
    """A queue named by the label that another release of KAI reads than the one that is here."""
    for release in inventory.of(Release, workload.cluster):
        found = _RELEASE.fullmatch(str(release.version))
        if release.chart != _KAI or found is None:
            continue
        is_new = (int(found[1]), int(found[2])) >= _RENAMED_IN
        read, other = (_KAI_QUEUE, _FORMER_QUEUE) if is_new else (_FORMER_QUEUE, _KAI_QUEUE)
        labels = [workload.labels, at(value_of(workload), "metadata", "labels")]
        if UNKNOWN in labels or any(at(each, read) is not None for each in labels):
            continue
        where = (*workload.spec_path[:-1], "metadata", "labels", other)
        if at(workload.labels, other) is not None:
            yield Problem(
                NOT_ASKED,
                workload.source,
                where,
                f"{at_start(workload.source.name)} has its queue under {other}, and KAI "
                f"{release.version} reads {read}: it goes to the queue of all that name none.",
                f"Write {read}.",
                edits=(Edit("rename", where, read),),
            )


def _beside_pods(workload: Workload, given: Mapping[str, Any]) -> Iterator[Problem]:
    """What stands at a workload and not at its pods, of which KAI reads it."""
    place: FieldPath = ("metadata", "annotations")
    for key in (_FRACTION, _MEMORY):
        if workload.kind != "Pod" and key not in given and at(value_of(workload), *place, key):
            yield Problem(
                NOT_ASKED,
                workload.source,
                (*place, key),
                f"{at_start(workload.source.name)} has {key} itself, and its pods have none.",
                "Move it to the annotations of the pod template.",
            )


def _switched_off(
    inventory: Inventory, workload: Workload, place: FieldPath, given: Mapping[str, Any]
) -> Iterator[Problem]:
    key = next((key for key in (_FRACTION, _MEMORY) if key in given), None)
    for release in inventory.of(Release, workload.cluster) if key else ():
        sharing = at(release.values, "global", "gpuSharing")
        if release.chart == _KAI and release.name and sharing in (None, False, "false"):
            yield Problem(
                NOT_ASKED,
                workload.source,
                (*place, str(key)),
                f"{at_start(workload.source.name)} has {key}, and {release.source.name} shares no "
                "GPUs: KAI refuses the pod.",
                "Set `global.gpuSharing: true` of the chart.",
                "warning",
            )


def _not_scheduled(
    workload: Workload, place: FieldPath, given: Mapping[str, Any]
) -> Iterator[Problem]:
    by_queue = isinstance(at(workload.labels, _KAI_QUEUE), str)
    key = next((key for key in (_FRACTION, _MEMORY) if key in given), None)
    if key is None and not by_queue:
        yield from _not_of_volcano(workload)
        return
    where = (*place, key) if key else (*place[:-1], "labels", _KAI_QUEUE)
    yield Problem(
        NOT_ASKED,
        workload.source,
        where,
        f"{at_start(workload.source.name)} has {key or _KAI_QUEUE}, which KAI's scheduler reads, "
        "and its schedulerName is Kubernetes' own.",
        f"Write `schedulerName: {_KAI}` in the pod's spec.",
        "warning",
    )


def _not_of_volcano(workload: Workload) -> Iterator[Problem]:
    for where, container in containers(workload.spec):
        for key, _ in pairs(at(container, "resources", "limits")):
            if key.startswith(_VGPU):
                yield Problem(
                    NOT_ASKED,
                    workload.source,
                    (*workload.spec_path, *where, "resources", "limits", key),
                    f"{at_start(workload.source.name)} asks for {key}, which Volcano's scheduler "
                    "places, and its schedulerName is Kubernetes' own.",
                    "Write `schedulerName: volcano` in the pod's spec.",
                    "warning",
                )
                return


def _refused(workload: Workload, given: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Annotations that KAI does not admit, why, and what to do."""
    parts = [key for key in (_FRACTION, _MEMORY) if key in given]
    whole = any(
        GPU in dict(pairs(at(each, "resources", "limits"))) for _, each in containers(workload.spec)
    )
    if parts and whole:
        yield parts[0], f"has {parts[0]} and a limit of {GPU}", "Ask for one of the two."
    if len(parts) > 1:
        yield _MEMORY, f"has {_FRACTION} and {_MEMORY}", "Keep one of the two."
    if _DEVICES in given and not parts:
        yield _DEVICES, f"has {_DEVICES} without {_FRACTION}", f"Write {_FRACTION} beside it."
    for key in given if not parts else ():
        if _MEANT.search(key) and key not in _READ:
            meant = _MEMORY if "mem" in key else _FRACTION
            yield key, f"has the annotation {key}, which KAI does not read", f"Write {meant}."
    shown = {key: text(value) for key, value in given.items()}
    fraction, memory = shown.get(_FRACTION, UNKNOWN), shown.get(_MEMORY, UNKNOWN)
    if fraction is not UNKNOWN and not _is_part(fraction):
        message = f"asks for the fraction {fraction} of a GPU"
        yield _FRACTION, message, f"Write a number between 0 and 1, or ask for {GPU}."
    if memory is not UNKNOWN and not (_WHOLE.fullmatch(memory) and int(memory)):
        yield _MEMORY, f"asks for {memory} as {_MEMORY}", "Write MiB as a whole number."


def _is_part(given: str) -> bool:
    try:
        return 0 < float(given) < 1
    except ValueError:
        return False


@edge(NO_SUCH_QUEUE)
def queues_are_there(inventory: Inventory) -> Iterator[Judgement]:
    """Where some are; who lints workloads alone has them elsewhere."""
    for cluster in inventory.clusters():
        for group, whose in _GROUPS.items():
            there = [each for each in inventory.of(Pointer, cluster) if _is_of(each, group)]
            names = [UNKNOWN if _is_shown(each) else each.name for each in there]
            if not there or UNKNOWN in names:
                continue
            known = [*map(str, names), *(_OF_CHART if whose == "KAI" else _OF_VOLCANO)]
            above = {at(each.spec, "parentQueue"): each for each in reversed(there)}
            for workload in inventory.of(Workload, cluster):
                place, name = _queue_of(workload, whose)
                if isinstance(name, str) and name:
                    yield from _queue(workload, place, name, whose, known, above)
            for name, queue in above.items() if whose == "KAI" else ():
                if isinstance(name, str) and name and name not in known:
                    yield Problem(
                        NO_SUCH_QUEUE,
                        queue.source,
                        ("spec", "parentQueue"),
                        f"{at_start(queue.source.name)} is below the queue {name}, which is not "
                        "here: KAI leaves it out, and its jobs with it.",
                        f"Make the queue {name}, or name one that is there: {', '.join(known)}.",
                        "warning",
                    )


def _is_shown(item: Pointer | Workload) -> bool:
    """Whether it stands in a guide, which may show one of several, or a part."""
    return is_guide(item.source.file)


def _is_of(pointer: Pointer, group: str) -> bool:
    version = at(value_of(pointer), "apiVersion")
    return pointer.kind == "Queue" and str(version).startswith(f"{group}/")


def _queue_of(workload: Workload, whose: str) -> tuple[FieldPath, Any]:
    """Where a workload names its queue, and the name."""
    value = value_of(workload)
    if workload.kind == PART_OF_POD:
        return (), None
    if whose == "Volcano":
        group = str(at(value, "apiVersion")).partition("/")[0]
        path: FieldPath = ("spec", "queue")
        return path, at(value, *path) if group == "batch.volcano.sh" else None
    top: FieldPath = ("metadata", "labels", _KAI_QUEUE)
    own = at(value, *top)
    if at(workload.spec, "schedulerName") != _KAI:
        return top, None
    if own is not None:
        return top, own
    return (*workload.spec_path[:-1], *top), at(workload.labels, _KAI_QUEUE)


def _queue(
    workload: Workload,
    place: FieldPath,
    name: str,
    whose: str,
    known: Sequence[str],
    above: Mapping[Any, Pointer],
) -> Iterator[Problem]:
    called = f"{at_start(workload.source.name)} names the queue {name} of {whose}"
    if name not in known:
        fix = f"Make it, or name one that is there: {', '.join(known)}."
        told = f"{called}, which is not here."
        yield Problem(NO_SUCH_QUEUE, workload.source, place, told, fix, "warning")
    elif whose == "KAI" and name in above:
        told = f"{called}, which has queues below it: {above[name].source.name}."
        fix = "Name a queue that has none below it."
        yield Problem(NO_SUCH_QUEUE, workload.source, place, told, fix)
