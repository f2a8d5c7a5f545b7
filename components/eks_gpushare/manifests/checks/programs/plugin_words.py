"""What the device plugin is told by its command line and its environment, and does not know.

Source: cmd/nvidia-device-plugin/main.go of NVIDIA/k8s-device-plugin at its 32 releases from 0.10.0
to 0.20.0, read 2026-11-30. Names of all of them count, whichever version runs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.image import image_name
from eks_gpushare.inventory.daemons import plugin_container
from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import at, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.rules.starting import NO_USE_OF_IT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_FLAGS: Final = frozenset(
    (
        *("mig-strategy", "fail-on-init-error", "driver-root", "nvidia-driver-root", "dev-root"),
        *("pass-device-specs", "device-list-strategy", "device-id-strategy", "gdrcopy-enabled"),
        *("gds-enabled", "mofed-enabled", "cdi-annotation-prefix", "nvidia-cdi-hook-path"),
        *("nvidia-ctk-path", "driver-root-ctr-path", "container-driver-root", "mps-root"),
        *("shared-devices-allocation-policy", "device-discovery-strategy", "imex-channel-ids"),
        *("imex-required", "kubelet-socket", "config-file", "cdi-feature-flags"),
        *("cdi-disable-hooks", "help", "h", "version", "v"),
    )
)
_VARIABLES: Final = frozenset(each.upper().replace("-", "_") for each in _FLAGS)
"""Each flag has one, called as it is; `driver-root` by its former name."""
_IMAGE: Final = "k8s-device-plugin"
_PROGRAM: Final = "nvidia-device-plugin"
_FLAG: Final = re.compile(r"--?([a-z][a-z-]*)(?:=.*)?", re.DOTALL)
_OF_SHARING: Final = re.compile(r"(?:.*_)?(?:TIME_?SLIC|SHAR|REPLICA|MPS)[A-Z]*(?:_.*)?")
_OF_CUDA: Final = ("CUDA_", "NVIDIA_VISIBLE_", "NVIDIA_DRIVER_")


@edge(NO_USE_OF_IT)
def plugin_words(inventory: Inventory) -> Iterator[Judgement]:
    """Of DaemonSets that are written out with NVIDIA's image."""
    for workload in inventory.of(Workload):
        container = plugin_container(workload.spec) if workload.kind == "DaemonSet" else None
        if image_name(str(text(at(container, "image")))) != _IMAGE:
            continue
        listed = items(at(workload.spec, "containers"))
        place = (*workload.spec_path, "containers", listed.index(container))
        yield from _flags(workload, container, place)
        yield from _variables(workload, container, place)


def _flags(workload: Workload, container: Any, place: tuple[str | int, ...]) -> Iterator[Problem]:
    command = [str(text(each)) for each in items(at(container, "command"))]
    if command and command[0].rpartition("/")[2] != _PROGRAM:
        return  # a shell's line, or another program of the image
    for key in ("command", "args"):
        for index, word in enumerate(items(at(container, key))):
            flag = _FLAG.fullmatch(str(text(word)))
            if flag is not None and flag[1] not in _FLAGS:
                yield Problem(
                    NO_USE_OF_IT,
                    workload.source,
                    (*place, key, index),
                    f"{at_start(workload.source.name)} starts the device plugin with --{flag[1]}, "
                    "which it does not have: it ends with `flag provided but not defined`.",
                    "Remove it. How GPUs are shared stands in the file that --config-file names.",
                )


def _variables(
    workload: Workload, container: Any, place: tuple[str | int, ...]
) -> Iterator[Problem]:
    """Those that are to share GPUs; others may be of the runtime, or of no program at all."""
    for index, variable in enumerate(items(at(container, "env"))):
        name = str(text(at(variable, "name")))
        if name in _VARIABLES or name.startswith(_OF_CUDA) or not _OF_SHARING.fullmatch(name):
            continue
        yield Problem(
            NO_USE_OF_IT,
            workload.source,
            (*place, "env", index, "name"),
            f"{at_start(workload.source.name)} sets {name}, which the device plugin does not read: "
            "it shares no GPU by it.",
            "Write a configuration with sharing into a ConfigMap, mount it, and name its file by "
            "CONFIG_FILE.",
            "warning",
        )
