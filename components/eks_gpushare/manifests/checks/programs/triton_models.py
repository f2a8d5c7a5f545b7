"""Devices that configurations of Triton's models name, against those that its container gets.

Source: "Instance Groups" of docs/user_guide/model_configuration.md of triton-inference-server; of
a number that is not there Triton says "specifies invalid or unsupported gpu id".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.items import ConfigMap, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, may_be_same, pairs, text
from eks_gpushare.manifests.checks.programs.gpu_containers import gpu_containers
from eks_gpushare.manifests.rules.gpu_programs import NO_SUCH_DEVICE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_SERVER: Final = re.compile(r"(?:^|/)tritonserver(?::|@|$)")
_DEVICES: Final = re.compile(r"(?<![A-Za-z_])gpus\s*:\s*\[([0-9,\s]+)\]")
_FILE: Final = ".pbtxt"


@edge(NO_SUCH_DEVICE)
def model_devices(inventory: Inventory) -> Iterator[Judgement]:
    """Of configurations in a ConfigMap that the pod of the server mounts."""
    for workload in inventory.of(Workload):
        volumes = [] if workload.spec is UNKNOWN else items(at(workload.spec, "volumes"))
        mounted = {str(text(at(each, "configMap", "name"))) for each in volumes}
        for container in gpu_containers(workload):
            image = str(text(at(container.value, "image")))
            gpus = container.gpus
            if not gpus or not _SERVER.search(image):
                continue
            for config_map in inventory.of(ConfigMap, workload.cluster):
                if config_map.name not in mounted:
                    continue
                if not may_be_same(config_map.namespace, workload.namespace):
                    continue
                for key, given in pairs(config_map.data):
                    beyond = _beyond(given, gpus) if key.endswith(_FILE) else None
                    if beyond is not None:
                        yield Problem(
                            NO_SUCH_DEVICE,
                            config_map.source,
                            ("data", key),
                            f"{key} of {config_map.source.name} puts a model on device {beyond}, "
                            f"and {workload.source.name} gives Triton {gpus}, counted from 0.",
                            "Leave gpus out, or ask for as many.",
                        )


def _beyond(given: object, gpus: int) -> int | None:
    """The first device that is not there."""
    for listed in _DEVICES.findall(given) if isinstance(given, str) else ():
        for each in listed.split(","):
            if each.strip() and int(each) >= gpus:
                return int(each)
    return None
