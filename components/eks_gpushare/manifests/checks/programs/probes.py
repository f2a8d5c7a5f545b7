"""Probes that end a server before it can have loaded its model, or name a port that is not."""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import gpu_containers, runs_as_written
from eks_gpushare.manifests.checks.programs.gpu_programs import server_of
from eks_gpushare.manifests.checks.programs.model_sizes import weights_gib
from eks_gpushare.manifests.rules.gpu_programs import ENDED_EARLY, NO_SUCH_PORT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_LEAST: Final = 45
"""Seconds in which no server on a GPU has loaded a model and set up its memory."""
_LEAST_OF_LARGE: Final = 60
"""The same of a model of several GB."""
_LARGE_GIB: Final = 6
_HUGE_GIB: Final = 30
_GIB_A_SECOND: Final = 1.25
"""Most that is fetched of a model that the pod's node has not: 10 Gbit/s."""
_GONE_WITH_POD: Final = frozenset(
    ("emptyDir", "configMap", "secret", "projected", "downwardAPI", "serviceAccountToken")
)
"""Kinds of volumes that have no model when a pod starts."""
_ASKS: Final = re.compile(r"curl|wget|http|grpc|\bnc\b|:[0-9]{2,5}", re.ASCII)
"""Words of commands that ask a server."""
_DIGITS: Final = re.compile(r"[0-9]{1,5}")
_ALL_PROBES: Final = ("startupProbe", "livenessProbe", "readinessProbe")
_PROBES: Final = ("startupProbe", "livenessProbe")
_DEFAULTS: Final = {"initialDelaySeconds": 0, "periodSeconds": 10, "failureThreshold": 3}
"""Of the API: pkg/apis/core/v1/defaults.go of Kubernetes 1.35."""


@edge(ENDED_EARLY)
def probes(inventory: Inventory) -> Iterator[Judgement]:
    """Of servers that are known, on GPUs."""
    for workload in inventory.of(Workload):
        if workload.spec is UNKNOWN or not runs_as_written(workload):
            continue
        for container in gpu_containers(workload):
            # The startup probe holds the other back.
            given = ((key, at(container.value, key)) for key in _PROBES)
            key, probe = next((pair for pair in given if pair[1] is not None), ("", None))
            if not container.gpus or not isinstance(probe, dict):
                continue
            server, seconds = server_of(container), _seconds(probe)
            weights = weights_gib(container.line) or 0
            least = _LEAST_OF_LARGE if weights >= _LARGE_GIB else _LEAST
            if weights >= _HUGE_GIB and not _keeps_files(workload):
                least += int(weights / _GIB_A_SECOND)
            if server is not None and seconds is not None and seconds <= least:
                yield Problem(
                    ENDED_EARLY,
                    workload.source,
                    (*container.place, key),
                    f"{at_start(workload.source.name)} runs {server.name}, and its {key} ends it "
                    f"if it does not answer within {seconds} s of its start.",
                    "Give it a startupProbe with a failureThreshold for some minutes, such as 60.",
                )


@edge(NO_SUCH_PORT)
def named_ports(inventory: Inventory) -> Iterator[Judgement]:
    """By `findPortByName` in pkg/kubelet of Kubernetes 1.35, which looks in the container alone."""
    for workload in inventory.of(Workload):
        if workload.spec is UNKNOWN or not runs_as_written(workload):
            continue
        for container in gpu_containers(workload):
            ports = at(container.value, "ports")
            if not container.gpus or has_unknown(ports):
                continue
            names = [str(text(at(each, "name"))) for each in items(ports) if at(each, "name")]
            for key, how in product(_ALL_PROBES, ("httpGet", "tcpSocket")):
                named = at(container.value, key, how, "port")
                if not isinstance(named, str) or has_unknown(named) or named in names:
                    continue
                if _DIGITS.fullmatch(named):
                    continue
                there = f"has {', '.join(names)}" if names else "names none"
                yield Problem(
                    NO_SUCH_PORT,
                    workload.source,
                    (*container.place, key, how, "port"),
                    f"The {key} of {workload.source.name} asks the port {named}, and its container "
                    f"{there}.",
                    "Write the number, or give the port that name under `ports` of the container.",
                )


def _keeps_files(workload: Workload) -> bool:
    """Whether some of its volumes may have the model before it starts."""
    volumes = at(workload.spec, "volumes")
    return has_unknown(volumes) or any(
        not _GONE_WITH_POD.intersection(each) for each in items(volumes) if isinstance(each, dict)
    )


def _seconds(probe: dict[str, Any]) -> int | None:
    """When a container is ended that never answers; None where that is not known.

    A command that asks the server nothing may be content before it answers.
    """
    given = {key: probe.get(key) for key in _DEFAULTS}
    if has_unknown(given) or (probe.get("exec") and not _ASKS.search(str(probe["exec"]))):
        return None
    shown = {key: str(text(value)) for key, value in given.items() if value is not None}
    if not all(map(_DIGITS.fullmatch, shown.values())):
        return None
    found = {**_DEFAULTS, **{key: int(value) for key, value in shown.items()}}
    return found["initialDelaySeconds"] + found["periodSeconds"] * found["failureThreshold"]
