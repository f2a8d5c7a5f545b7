"""Names of models in queries for vLLM's metrics, against the name that the scaled server has.

Sources: `get_served_model_name` in vllm/config/model.py of vllm-project/vllm, which takes the first
of several, and `PrometheusStatLogger` in vllm/v1/metrics/loggers.py, whose label it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.items import Pointer, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.checks.metrics.scaling import prometheus_queries, scales
from eks_gpushare.manifests.checks.programs.gpu_containers import gpu_containers
from eks_gpushare.manifests.checks.programs.gpu_programs import is_told_all, server_of
from eks_gpushare.manifests.rules.scaling import METRIC_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_SELECTOR: Final = re.compile(r"vllm:[a-z0-9_]+\s*\{([^}]*)\}")
_LABEL: Final = re.compile(r"(?<![A-Za-z0-9_])model_name\s*=\s*([\"'])([A-Za-z0-9._/:-]+)\1")
_SERVED: Final = re.compile(r"\s--served[-_]model[-_]name(?:=|\s+)(\S+)")
_MODEL: Final = re.compile(r"\s--model(?:=|\s+)(\S+)|vllm serve\s+(?!-)(\S+)")
_PLAIN: Final = re.compile(r"[A-Za-z0-9._/:-]+")
_MONITORS: Final = ("ServiceMonitor", "PodMonitor")


@edge(METRIC_NAME)
def model_names(inventory: Inventory) -> Iterator[Judgement]:
    """Of what scales a server whose name is known, and by a name that no other server has."""
    for cluster in inventory.clusters():
        pointers = inventory.of(Pointer, cluster)
        asking = [each for each in pointers if _asked(each)]
        monitors = [each.spec for each in pointers if each.kind in _MONITORS]
        if not asking or "model_name" in str(monitors):  # which may write another
            continue
        servers = [(each, _names(each)) for each in inventory.of(Workload, cluster)]
        every = {name for _, names in servers for name in names}
        for pointer in asking:
            own = next((names for each, names in servers if scales(pointer, each)), [])
            if len(own) != 1 or None in every:
                continue
            for index, place, name in _asked(pointer):
                if name not in every:
                    yield Problem(
                        METRIC_NAME,
                        pointer.source,
                        place,
                        f"The query of trigger {index} of {pointer.source.name} is for the model "
                        f"{name}, and what it scales serves {own[0]}.",
                        f'Write model_name="{own[0]}".',
                    )


def _asked(pointer: Pointer) -> list[tuple[int, FieldPath, str]]:
    """The model that each query is for, with the number of its trigger, and its place."""
    return [
        (index, place, named[1])
        for index, place, query in prometheus_queries(pointer)
        for selector in _SELECTOR.findall(query)
        for named in _LABEL.findall(selector)
    ]


def _names(workload: Workload) -> list[str | None]:
    """What the servers of a workload call their models; None of one that is not known."""
    if workload.spec is UNKNOWN:
        return []
    found: list[str | None] = []
    for container in gpu_containers(workload):
        server = server_of(container)
        if server is None or server.name != "vLLM":
            continue
        line = f" {container.line} "
        served = _SERVED.search(line)
        named = served or _MODEL.search(line)
        name = next(filter(None, named.groups()), "") if named else ""
        may_be_more = "$" in line and not served  # such as more arguments in a variable
        is_known = is_told_all(container, server) and _PLAIN.fullmatch(name) and not may_be_more
        found.append(name if is_known else None)
    return found
