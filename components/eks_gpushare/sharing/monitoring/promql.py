"""Parts of queries that all rules use: how series of exporters become one for each thing.

- kube-state-metrics may run twice, and an address or pod of it is then among the labels; `max by`
  over what is meant leaves one series of each.
- The DCGM exporter has the name of its node as `Hostname` up to 4.5.3-4.8.2, and as `hostname`
  after (its pull request 655): both become `node`, as kube-state-metrics has it.
- It copies a GPU's value to each pod on it, or has the GPU's own beside those of pods. Nothing of
  a pod is more than that of its GPU, so that the greatest is the GPU's.

- What the exporter tells of no pod gets the labels of the exporter's own pod, as of every target:
  pods are those that ask for a share, and no others.

All of it takes `honorLabels: true`, or the labels of pods are the exporter's own.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

NODE: Final = "gpushare:node"
"""1 for each node of a pool, with its pool and instance type."""
SHARES: Final = 'resource=~"nvidia_com_.+"'
"""Which resources kube-state-metrics is asked for: all of NVIDIA's."""
_ASKED: Final = "kube_pod_container_resource_requests"
_UNKNOWN: Final = re.compile(r"[^a-zA-Z0-9_]")


class RecordingRule(NamedTuple):
    """A series that Prometheus keeps of a query."""

    record: str
    """Its name."""
    expr: str
    """The query."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels that it gets beside those of the query."""

    def as_json(self) -> dict[str, object]:
        """The rule as Prometheus reads it."""
        labels = {"labels": dict(self.labels)} if self.labels else {}
        return {"record": self.record, "expr": self.expr, **labels}


def label_value(resource: str) -> str:
    """A resource as kube-state-metrics has it among labels: `nvidia_com_gpu_shared`."""
    return _UNKNOWN.sub("_", resource)


def constant(record: str, value: float, **labels: str) -> RecordingRule:
    """A series that always has one value: what is declared, which nothing measures."""
    return RecordingRule(record, f"vector({value:.10g})", tuple(sorted(labels.items())))


def by_node(metric: str, matchers: str = "") -> str:
    """Series of the DCGM exporter with the name of their node as `node`.

    Args:
        metric: Name of the metric.
        matchers: What its labels have to be, as within braces.
    """
    given = f"{metric}{{{matchers}}}" if matchers else metric
    renamed = f'label_replace({given}, "node", "$1", "Hostname", "(.+)")'
    return f'label_replace({renamed}, "node", "$1", "hostname", "(.+)")'


def of_devices(metric: str, matchers: str = "") -> str:
    """One value for each GPU or MIG instance, its own, with its pool and instance type."""
    devices = f"max by (node, gpu, GPU_I_ID, GPU_I_PROFILE) ({by_node(metric, matchers)})"
    return f"{devices} * on (node) group_left (pool, instance_type) {NODE}"


def of_pods(metric: str, of: str, quantity: str) -> str:
    """One value for each pod and device in pools where it is the pod's own.

    Args:
        metric: Name of the metric.
        of: `gpu` or `instance`.
        quantity: What it measures, as `gpushare:measured` names it.
    """
    instance = 'GPU_I_ID=""' if of == "gpu" else 'GPU_I_ID!=""'
    given = by_node(metric, f'pod!="",{instance}')
    pods = f"max by (node, namespace, pod, gpu, GPU_I_ID, GPU_I_PROFILE) ({given})"
    pods = f"({pods} and on (namespace, pod) {_ASKED}{{{SHARES}}})"
    known = f'gpushare:measured{{quantity="{quantity}",of="{of}",by="pod"}}'
    placed = f"{pods} * on (node) group_left (pool, instance_type) {NODE}"
    return f"{placed} * on (pool) group_left () {known}"


def requests(matchers: str, phase: str) -> str:
    """What containers ask for of NVIDIA's resources, of pods that are not finished.

    Args:
        matchers: What the labels have to be beside the resource.
        phase: Phases of those pods, as a regular expression.
    """
    asked = f"{_ASKED}{{{SHARES},{matchers}}}"
    containers = f"max by (namespace, pod, container, node, resource) ({asked})"
    return f"{containers} * on (namespace, pod) group_left () ({in_phase(phase)})"


def in_phase(phase: str) -> str:
    """1 for each pod that is in a phase."""
    given = f'kube_pod_status_phase{{phase=~"{phase}"}}'
    return f"max by (namespace, pod) ({given}) == 1"
