"""What kube-state-metrics answers of the lab's nodes and pods, in its own names.

Of its metrics those that the rules of a stack ask: labels and allocatable resources of nodes, what
containers ask for, phases, and when pods were made and started. Labels of nodes are told only where
it is started with `--metric-labels-allowlist`: here those that the rules join by.

Source: kubernetes/kube-state-metrics v2.19, docs/metrics and internal/store; read 2026-11-27.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.sharing.monitoring.installed import NODE_LABELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare_lab.client import Object

_NO_LABEL = re.compile(r"[^a-zA-Z0-9_]")
_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
_EXTENDED = "/"
_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def page(nodes: Iterable[Object], pods: Iterable[Object]) -> str:
    """Its answer to a scrape.

    Args:
        nodes: those there are.
        pods: those there are.
    """
    lines = [*(line for node in nodes for line in _of_node(node))]
    lines += (line for pod in pods for line in _of_pod(pod))
    # Samples of one metric stand together.
    return "".join(f"{line}\n" for line in sorted(lines))


def _of_node(node: Object) -> Iterator[str]:
    name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
    told = {f"label_{_mangled(key)}": labels[key] for key in NODE_LABELS if key in labels}
    yield _sample("kube_node_labels", {"node": name, **told}, 1)
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    for resource, amount in allocatable.items():
        if _EXTENDED in resource:
            labels = {"node": name, "resource": _mangled(resource), "unit": "integer"}
            yield _sample("kube_node_status_allocatable", labels, _number(amount))


def _of_pod(pod: Object) -> Iterator[str]:
    metadata, status = pod["metadata"], pod.get("status") or {}
    known = {"namespace": metadata["namespace"], "pod": metadata["name"], "uid": metadata["uid"]}
    node = pod["spec"].get("nodeName") or ""
    for container in pod["spec"]["containers"]:
        requests = (container.get("resources") or {}).get("requests") or {}
        for resource, amount in requests.items():
            if _EXTENDED in resource:
                more = {"container": container["name"], "node": node, "unit": "integer"}
                labels = {**known, **more, "resource": _mangled(resource)}
                yield _sample("kube_pod_container_resource_requests", labels, _number(amount))
    for phase in _PHASES:
        is_in = int(status.get("phase") == phase)
        yield _sample("kube_pod_status_phase", {**known, "phase": phase}, is_in)
    for metric, given in (
        ("kube_pod_created", metadata.get("creationTimestamp")),
        ("kube_pod_start_time", status.get("startTime")),
    ):
        if given:
            yield _sample(metric, known, datetime.fromisoformat(given).timestamp())


def _sample(metric: str, labels: Mapping[str, str], value: float) -> str:
    told = ",".join(f'{key}="{text.translate(_ESCAPED)}"' for key, text in labels.items())
    return f"{metric}{{{told}}} {value:.15g}"


def _mangled(name: str) -> str:
    return _NO_LABEL.sub("_", name)


def _number(amount: object) -> float:
    found = quantity(str(amount))
    return 0.0 if found is None else float(found)
