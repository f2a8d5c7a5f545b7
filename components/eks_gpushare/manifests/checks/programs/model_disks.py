"""Whether a model fits where a server downloads it to: a part of the node's disk, or a volume.

Sources, November 2026: "Local ephemeral storage" of
https://kubernetes.io/docs/concepts/storage/ephemeral-storage/, `HF_HOME` and `HF_HUB_CACHE` of
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables, and the
Dockerfile of huggingface/text-generation-inference, which has /data.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.items import Pointer, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at, has_unknown, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import (
    GpuContainer,
    gpu_containers,
    runs_as_written,
)
from eks_gpushare.manifests.checks.programs.gpu_programs import server_of
from eks_gpushare.manifests.checks.programs.model_sizes import model_named, weights_gib
from eks_gpushare.manifests.checks.workloads.volumes import is_disk, is_named
from eks_gpushare.manifests.rules.room_of_pools import NO_DISK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_GIB: Final = 2**30
CACHES: Final = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE", "HF_HOME")
_DEFAULTS: Final = {"Text Generation Inference": "/data"}
_OF_USER: Final = str(PurePosixPath("/", "root", ".cache", "huggingface"))
"""In the home of the user that the images run as."""
_STORAGE: Final = "ephemeral-storage"
_OPTION: Final = "--download-dir"


@edge(NO_DISK)
def model_disks(inventory: Inventory) -> Iterator[Judgement]:
    """Of servers that are told a model by its name on the hub, with its size in it."""
    for cluster in inventory.clusters():
        claims = [
            each
            for each in inventory.of(Pointer, cluster)
            if each.kind == "PersistentVolumeClaim" and is_disk(each, inventory, cluster)
        ]
        for workload in inventory.of(Workload, cluster):
            if workload.spec is UNKNOWN or not runs_as_written(workload):
                continue
            for container in gpu_containers(workload):
                yield from _judged(container, claims)


def _judged(container: GpuContainer, claims: list[Pointer]) -> Iterator[Problem]:
    server, model = server_of(container), model_named(container.line)
    large = weights_gib(container.line)
    parts = [at(container.value, key) for key in ("env", "envFrom", "volumeMounts", "resources")]
    volumes = at(container.workload.spec, "volumes")
    # A name on the hub is one of an owner and one of a model.
    if server is None or not large or not container.gpus or has_unknown([*parts, volumes]):
        return
    if model is None or model.count("/") != 1 or model.startswith(("/", ".")):
        return
    folder = cache_folder(container, server.name)
    if folder is None:
        return
    for source, place, given, what in _rooms(container, folder, claims):
        room = None if given in (None, UNKNOWN) else quantity(str(text(given)))
        if room and room < Fraction(large) * _GIB:
            yield Problem(
                NO_DISK,
                source,
                place,
                f"{at_start(container.workload.source.name)} downloads {model}, of {large:.0f} "
                f"GiB or more, to {folder}, and {what} {text(given)}.",
                f"Let it be {2 * int(large) + 2}Gi or more.",
            )
            return


def cache_folder(container: GpuContainer, server: str) -> str | None:
    """Where a server keeps what it downloads; None where something else decides."""
    words = container.line.replace("=", " ").split()
    if _OPTION in words[:-1]:
        folder = words[words.index(_OPTION) + 1]
        return folder if folder.startswith("/") else None
    if at(container.value, "envFrom"):
        return None
    env = {str(at(each, "name")): at(each, "value") for each in items(at(container.value, "env"))}
    for name in (*CACHES, "HOME", "XDG_CACHE_HOME"):
        if name in env:
            told = env[name]
            is_folder = isinstance(told, str) and told.startswith("/") and "$" not in told
            return told if is_folder and name in CACHES else None
    return _DEFAULTS.get(server, _OF_USER)


def _rooms(
    container: GpuContainer, folder: str, claims: list[Pointer]
) -> Iterator[tuple[Source, FieldPath, Any, str]]:
    """What limits how much a folder may hold."""
    workload = container.workload
    mounts = [
        each
        for each in items(at(container.value, "volumeMounts"))
        if f"{folder}/".startswith(f"{str(at(each, 'mountPath')).rstrip('/')}/")
    ]
    mount = max(mounts, key=lambda each: len(str(at(each, "mountPath"))), default=None)
    numbered = enumerate(items(at(workload.spec, "volumes")))
    found = [(i, each) for i, each in numbered if at(each, "name") == at(mount, "name")]
    if mount is not None and not found:
        return  # of a template of claims
    index, volume = found[0] if mount is not None else (0, None)
    if volume is not None and at(volume, "emptyDir") is None:
        name = at(volume, "persistentVolumeClaim", "claimName")
        claim = next((each for each in claims if is_named(each, name, workload)), None)
        if claim is not None:
            asked = ("resources", "requests", "storage")
            given = at(claim.spec, *asked)
            yield claim.source, ("spec", *asked), given, f"{claim.source.name} has"
        return
    if volume is not None:
        limit = at(volume, "emptyDir", "sizeLimit")
        place = (*workload.spec_path, "volumes", index, "emptyDir", "sizeLimit")
        yield workload.source, place, limit, "that volume is limited to"
    if at(volume, "emptyDir", "medium") != "Memory":
        limit = at(container.value, "resources", "limits", _STORAGE)
        place = (*container.place, "resources", "limits", _STORAGE)
        yield workload.source, place, limit, f"its {_STORAGE} is limited to"
