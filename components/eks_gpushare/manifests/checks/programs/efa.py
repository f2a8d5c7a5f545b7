"""EFA interfaces that pods count on, or take out of the node's folder, without the device plugin.

The plugin gives a container the devices below /dev/infiniband that it allocates, and the container
runtime lets it open those alone: https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html
and https://github.com/aws/eks-charts/tree/master/stable/aws-efa-k8s-device-plugin. What libfabric
is told: https://ofiwg.github.io/libfabric/main/man/fabric.7.html and fi_efa.7.html beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.scheduling import is_extended
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import (
    GpuContainer,
    gpu_containers,
    is_of_a_group,
)
from eks_gpushare.manifests.rules.gpu_programs import EFA_BY_HAND
from eks_gpushare.sharing.efa import EFA
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_FOLDER: Final = "/dev/infiniband"
_TOLD: Final = (("FI_PROVIDER", "efa"), ("FI_EFA_USE_DEVICE_RDMA", "1"))
"""Variables that have libfabric use EFA."""
_TOGETHER: Final = ("Job", "StatefulSet")
"""Kinds of Kubernetes' own whose pods find each other by their index."""
_OTHERS: Final = ("rdma/", "nvidia.com/hostdev", "openshift.io/")
"""Of device plugins for InfiniBand, which hand out what EFA's does not."""


@edge(EFA_BY_HAND)
def efa_by_hand(inventory: Inventory) -> Iterator[Judgement]:
    """Of containers with GPUs or EFA. One that is privileged may open what it did not ask for."""
    for workload in inventory.of(Workload):
        folders = {
            str(text(at(volume, "name"))): index
            for index, volume in enumerate(items(at(workload.spec, "volumes")))
            if str(text(at(volume, "hostPath", "path"))).rstrip("/") == _FOLDER
        }
        if workload.kind == "DaemonSet":
            continue  # such as what hands them out
        for container in gpu_containers(workload):
            yield from _judged(container, folders)
            if _are_several(workload):
                yield from _not_asked(container)


def _are_several(workload: Workload) -> bool:
    """Whether several pods of a workload run one program together, as far as its kind tells."""
    if workload.kind in _TOGETHER:
        return isinstance(workload.replicas, int) and workload.replicas > 1
    return is_of_a_group(workload.kind) or workload.kind.startswith("Ray")


def _not_asked(container: GpuContainer) -> Iterator[Problem]:
    """What is told to exchange by EFA, of a group of pods, and asks for no interface."""
    value, spec = container.value, container.workload.spec
    parts = [at(value, key) for key in ("resources", "securityContext", "env")]
    if not container.gpus or has_unknown(parts):
        return
    names = {
        name for part in ("limits", "requests") for name, _ in pairs(at(value, "resources", part))
    }
    by_others = any(is_extended(name) and name != GPU for name in names)
    by_claims = at(value, "resources", "claims") or at(spec, "resourceClaims")
    if by_others or by_claims or at(value, "securityContext", "privileged") is True:
        return
    for index, variable in enumerate(items(at(value, "env"))):
        if (at(variable, "name"), str(text(at(variable, "value"))).strip()) in _TOLD:
            yield Problem(
                EFA_BY_HAND,
                container.workload.source,
                (*container.place, "env", index, "value"),
                f"{at_start(container.workload.source.name)} sets {at(variable, 'name')} to "
                f"{text(at(variable, 'value'))}, and its container asks for no {EFA}: it gets no "
                "interface, and its pods exchange by TCP or not at all.",
                f"Ask for {EFA} under resources.limits, as many as the instance type has for each "
                "pod.",
            )
            return


def _judged(container: GpuContainer, folders: dict[str, int]) -> Iterator[Problem]:
    value: Any = container.value
    if has_unknown([at(value, "resources"), at(value, "securityContext")]):
        return
    names = [
        name for part in ("limits", "requests") for name, _ in pairs(at(value, "resources", part))
    ]
    mounted = [str(text(at(mount, "name"))) for mount in items(at(value, "volumeMounts"))]
    is_privileged = at(value, "securityContext", "privileged") is True
    number = next((folders[name] for name in mounted if name in folders), None)
    if (
        number is None
        or (is_privileged and EFA not in names)
        or any(name.startswith(_OTHERS) for name in names)
        or not (container.gpus or EFA in names)
    ):
        return
    called = at_start(container.workload.source.name)
    has = f"asks for {EFA}" if EFA in names else f"asks for no {EFA}"
    yield Problem(
        EFA_BY_HAND,
        container.workload.source,
        (*container.workload.spec_path, "volumes", number),
        f"{called} mounts {_FOLDER} of the node in a container that {has} and is "
        f"{'privileged: it opens those of other pods' if is_privileged else 'not privileged'}.",
        f"Remove the volume{'' if EFA in names else f', and ask for {EFA}'}: the device plugin "
        "gives a container its interfaces.",
    )
