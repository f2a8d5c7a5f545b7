"""The driver that the GPU Operator installs: images that it is too old for, and GPUs of nodes.

Source: `NVIDIA_REQUIRE_CUDA` of https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/
latest/docker-specialized.html, by which NVIDIA's images say what they are for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.catalog.gpus import COMPATIBLE_BRANCHES, CUDA_OF_LATE, FIRST_WITH_IT
from eks_gpushare.inventory.items import Release, Workload
from eks_gpushare.inventory.nodes import gpu_nodes, without_operands
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import GpuContainer, gpu_containers
from eks_gpushare.manifests.rules.gpu_programs import OTHER_GPUS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_IMAGE: Final = re.compile(r"(?:^|/)nvidia/cuda:([0-9]{1,2})\.([0-9]{1,2})(?:\.[0-9]+)?-")
_BRANCH: Final = re.compile(r"([0-9]{3})(?:\.[0-9]+)*(?:-.*)?")
_OFF: Final = ("NVIDIA_DISABLE_REQUIRE", "NVIDIA_REQUIRE_CUDA")
"""Variables by which a container is started all the same."""


@edge(OTHER_GPUS)
def cuda_versions(inventory: Inventory) -> Iterator[Judgement]:
    """Of NVIDIA's own images, where the chart of the operator names the driver."""
    for cluster in inventory.clusters():
        drivers = [found for each in inventory.of(Release, cluster) if (found := _driver(each))]
        if len({branch for _, branch in drivers}) != 1:
            continue
        release, branch = drivers[0]
        yield from _of_nodes(inventory, cluster, release, branch)
        if branch >= FIRST_WITH_IT or branch in COMPATIBLE_BRANCHES:
            continue
        for workload in inventory.of(Workload, cluster):
            if workload.spec is UNKNOWN:
                continue
            for container in gpu_containers(workload):
                cuda = _cuda(container)
                if container.gpus and cuda is not None and cuda >= CUDA_OF_LATE:
                    yield Problem(
                        OTHER_GPUS,
                        workload.source,
                        (*container.place, "image"),
                        f"{at_start(workload.source.name)} has an image of CUDA "
                        f"{'.'.join(map(str, cuda))}, and {release.source.name} installs a driver "
                        f"of branch {branch}, on which such an image is not started.",
                        f"Let the driver be of branch {FIRST_WITH_IT} or later, or take an image "
                        "of an older CUDA.",
                        "error",
                    )


def _of_nodes(
    inventory: Inventory, cluster: str, release: Release, branch: int
) -> Iterator[Problem]:
    """Types whose GPUs need a later driver, or had their last one earlier."""
    for kind in gpu_nodes(inventory, cluster):
        first, last = getattr(kind.type, "driver_min", None), getattr(kind.type, "driver_max", None)
        is_late, is_early = first is not None and branch < first, last is not None and branch > last
        if kind.type is None or without_operands(kind.nodes) or not (is_late or is_early):
            continue
        limit = f"{first} or later" if is_late else f"{last} or earlier"
        yield Problem(
            OTHER_GPUS,
            release.source,
            value_place(release, ("driver", "version")),
            f"{at_start(release.source.name)} installs a driver of branch {branch}, and a "
            f"{kind.type.name} of {kind.nodes.source.name} needs one of {limit}.",
            "Take a driver of such a branch, or other instance types.",
            "error",
        )
        return


def _driver(release: Release) -> tuple[Release, int] | None:
    driver = at(release.values, "driver")
    version = _BRANCH.fullmatch(str(text(at(driver, "version"))))
    is_on = at(driver, "enabled") in (None, True)
    by_objects = at(driver, "nvidiaDriverCRD", "enabled") not in (None, False)
    if chart_of(release.chart) != OPERATOR_CHART or not is_on or by_objects or version is None:
        return None
    return release, int(version[1])


def _cuda(container: GpuContainer) -> tuple[int, int] | None:
    """The CUDA of an image that says what it is for; None of another."""
    env: Any = at(container.value, "env")
    found = _IMAGE.search(str(text(at(container.value, "image"))))
    told = any(str(at(each, "name")) in _OFF for each in items(env)) or has_unknown(env)
    return None if found is None or told else (int(found[1]), int(found[2]))
