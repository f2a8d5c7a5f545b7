"""Folders that model servers write to, where their container can write nothing.

Sources, November 2026: `HF_HOME`, `HF_HUB_CACHE` and `HF_HUB_OFFLINE` of
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables, whose cache has
locks and references beside the files; `VLLM_CACHE_ROOT` in vllm/envs.py of vllm-project/vllm and
`TRITON_CACHE_DIR` in python/triton/knobs.py of triton-lang/triton, which are below the home of the
user, `/` for one without a name: https://github.com/llm-d/llm-d/issues/1430.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import (
    GpuContainer,
    gpu_containers,
    runs_as_written,
)
from eks_gpushare.manifests.checks.programs.gpu_programs import server_of
from eks_gpushare.manifests.checks.programs.model_disks import cache_folder
from eks_gpushare.manifests.checks.programs.model_sizes import model_named
from eks_gpushare.manifests.rules.starting import NO_USE_OF_IT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_OFFLINE: Final = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_READ_ONLY: Final = ("configMap", "secret", "downwardAPI", "projected")
"""Volumes that nobody writes to, whatever their mounts say."""
_OF_HOME: Final = {
    "/.triton": ("TRITON_CACHE_DIR", "TRITON_HOME"),
    "/.cache": ("VLLM_CACHE_ROOT", "XDG_CACHE_HOME"),
}
"""Folders in the home of a user without a name, and variables that name others."""
_OF_IMAGES: Final = 2000
"""Users with a name in images of vLLM, or of systems: below 1001, and the one of its own."""
_FIRST_NAMELESS: Final = 1001


@edge(NO_USE_OF_IT)
def written_folders(inventory: Inventory) -> Iterator[Judgement]:
    """Of servers on GPUs that are told a model by its name on the hub."""
    for workload in inventory.of(Workload):
        if workload.spec is UNKNOWN or not runs_as_written(workload):
            continue
        for container in gpu_containers(workload):
            parts = [at(container.value, key) for key in ("env", "volumeMounts", "securityContext")]
            whole = [at(workload.spec, key) for key in ("volumes", "securityContext")]
            server = server_of(container) if container.gpus else None
            if server is None or at(container.value, "envFrom") or has_unknown([*parts, *whole]):
                continue
            env = {
                str(text(at(each, "name"))): str(text(at(each, "value")))
                for each in items(parts[0])
            }
            yield from _cache(container, server.name, env)
            if server.name == "vLLM":
                yield from _home(container, env)


def _cache(container: GpuContainer, server: str, env: Mapping[str, str]) -> Iterator[Problem]:
    model = model_named(container.line)
    if model is None or model.count("/") != 1 or model.startswith(("/", ".", "$")):
        return
    if any(env.get(name, "0").lower() not in ("0", "", "false", "no") for name in _OFFLINE):
        return
    folder = cache_folder(container, server)
    if folder is None:
        return
    found = _mount(container, folder)
    place: FieldPath
    if found is not None:
        index, mount = found
        volume = _volume(container, mount)
        is_closed = at(mount, "readOnly") is True or (
            at(volume, "persistentVolumeClaim", "readOnly") is True
            or any(at(volume, kind) is not None for kind in _READ_ONLY)
        )
        place, what = (*container.place, "volumeMounts", index), "is mounted to be read"
    else:
        is_closed = at(container.value, "securityContext", "readOnlyRootFilesystem") is True
        place = (*container.place, "securityContext", "readOnlyRootFilesystem")
        what = "is of a file system to be read"
    if is_closed:
        yield Problem(
            NO_USE_OF_IT,
            container.workload.source,
            place,
            f"{at_start(container.workload.source.name)} keeps {model} in {folder}, which {what}: "
            f"{server} writes there what it downloads, with locks.",
            "Mount a volume there that can be written to; or, if all of it is there, set "
            'HF_HUB_OFFLINE to "1".',
            "warning",
        )


def _home(container: GpuContainer, env: Mapping[str, str]) -> Iterator[Problem]:
    """A user without a name, whose home is the root of the file system."""
    users = (container.value, container.workload.spec)
    user = next(
        (
            found
            for each in users
            if (found := at(each, "securityContext", "runAsUser")) is not None
        ),
        None,
    )
    image = str(text(at(container.value, "image")))
    nameless = isinstance(user, int) and user >= _FIRST_NAMELESS and user != _OF_IMAGES
    if not nameless or "HOME" in env or "vllm/vllm-openai" not in image:
        return
    for folder, names in _OF_HOME.items():
        if not any(name in env for name in names) and _mount(container, folder) is None:
            yield Problem(
                NO_USE_OF_IT,
                container.workload.source,
                container.place,
                f"{at_start(container.workload.source.name)} runs vLLM as the user {user}, which "
                f"has no name in its image, so that its home is /, and it may not make {folder}.",
                f"Set HOME to a folder that it can write to, or mount an emptyDir at {folder}.",
                "warning",
            )
            return


def _mount(container: GpuContainer, folder: str) -> tuple[int, Any] | None:
    """The mount that a folder is in, with its number; None where it is in none."""
    mounts = [
        (index, each)
        for index, each in enumerate(items(at(container.value, "volumeMounts")))
        if f"{folder}/".startswith(f"{str(text(at(each, 'mountPath'))).rstrip('/')}/")
    ]
    return max(mounts, key=lambda pair: len(str(at(pair[1], "mountPath"))), default=None)


def _volume(container: GpuContainer, mount: Any) -> Any:
    return next(
        (
            each
            for each in items(at(container.workload.spec, "volumes"))
            if at(each, "name") == at(mount, "name")
        ),
        None,
    )
