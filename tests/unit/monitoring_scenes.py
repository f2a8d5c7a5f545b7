"""Series of a cluster with shared GPUs, as kube-state-metrics and the DCGM exporter write them.

Of the exporter they are what the lab's stands in with, which is held to NVIDIA's code by
tests/lab/test_simulated_exporter.py; of kube-state-metrics as its documentation of metrics has them
at v2.19 (docs/metrics), twice over, as two of its pods tell them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import Catalog
from eks_gpushare.sharing.plan import plan_environment
from eks_gpushare.validation.parse import parse
from eks_gpushare_lab.simulated_node.allocation import DeviceManager, devices
from eks_gpushare_lab.simulated_node.config_file import Configuration, Replicated
from eks_gpushare_lab.simulated_node.dcgm_exporter import ExporterMachine, Options, exposition
from eks_gpushare_lab.simulated_node.gpus import MigInstance, SimulatedGpu, whole
from eks_gpushare_lab.simulated_node.hardware import hardware_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.sharing.plan import PoolPlan

GPU, SHARED, SMALL = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"
_MANGLED = re.compile(r"[^a-zA-Z0-9_]")
_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
TURNS = Configuration(strategy="time-slicing", resources=(Replicated(GPU, 4),), renamed=True)
MIXED = Configuration(mig_strategy="mixed")
SEVEN = SimulatedGpu(mig=True, instances=tuple(MigInstance("1g.5gb", n) for n in range(7)))

STACK: dict[str, Any] = {
    "cluster": {"name": "scenes", "version": "1.35"},
    "pools": {
        "slices": {
            "instanceTypes": ["g6.xlarge"],
            "nodes": {"min": 1, "desired": 1, "max": 2},
            "sharing": {"mode": "timeSlicing", "replicas": 4, "rename": True},
        },
        "mig": {
            "instanceTypes": ["p4d.24xlarge"],
            "nodes": {"min": 1, "desired": 1, "max": 2},
            "sharing": {"mode": "mig", "layout": "all-1g.5gb"},
        },
        "elastic": {
            "provisioner": "karpenter",
            "instanceTypes": ["g5.xlarge"],
            "sharing": {"mode": "mps", "replicas": 2},
            "karpenter": {"limits": {"cpu": 8}},
        },
    },
    "tenants": {
        "vision": {
            "namespaces": ["vision"],
            "queue": True,
            "pools": {"slices": {"guaranteed": {"shares": 2}, "maximum": {"shares": 3}}},
            "cost": {"center": "4712"},
        }
    },
    "verifier": {"image": "registry.example.com/verify:1", "intervalSeconds": 60},
}


def stack(**more: Any) -> tuple[Environment, Mapping[str, PoolPlan]]:
    """The stack that scenes are of, and its plans, with prices of us-west-2."""
    environment = parse({**STACK, **more}).environment
    assert environment is not None
    return environment, plan_environment(environment, Catalog(), "us-west-2")


@dataclass(frozen=True)
class ScenePod:
    """A pod that asks for shares."""

    name: str
    resource: str = SHARED
    node: str = "slices-0"
    namespace: str = "vision"
    phase: str = "Running"
    count: int = 1
    load: float = 40
    memory: float = 2000
    created: int = 0
    started: int | None = 5


@dataclass(frozen=True)
class SceneNode:
    """A node of a pool."""

    name: str = "slices-0"
    pool: str = "slices"
    machine: str = "g6.xlarge"
    allocatable: Mapping[str, int] = field(default_factory=lambda: {SHARED: 4, GPU: 0})
    gpus: tuple[SimulatedGpu, ...] | None = None
    configuration: Configuration = TURNS
    exporter: Options | None = Options(  # noqa: RUF009  (frozen)
        virtual=True, resources=(SHARED,), host_pid=True
    )
    labels: Mapping[str, str] = field(default_factory=dict)
    copied: tuple[tuple[str, str, float], ...] = ()
    """Further metrics of the exporter for GPU 0: name, labels beside, value; copied to each pod."""


MIG_NODE = SceneNode(
    "mig-0",
    "mig",
    "p4d.24xlarge",
    {SMALL: 56, GPU: 0},
    (SEVEN,) * 8,
    MIXED,
)


@dataclass(frozen=True)
class Scene:
    """A cluster at one time."""

    nodes: tuple[SceneNode, ...] = (SceneNode(),)
    pods: tuple[ScenePod, ...] = ()
    more: tuple[tuple[str, str], ...] = ()
    """Series of others: their text, and their value or how it grows."""

    def node(self, **changed: Any) -> Scene:
        """With the first node otherwise."""
        return replace(self, nodes=(replace(self.nodes[0], **changed), *self.nodes[1:]))

    def series(self) -> dict[str, str]:
        """Value by series."""
        found = dict(self.more)
        for node in self.nodes:
            found |= dict(_of_node(node))
            if node.exporter is not None:
                found |= dict(_of_exporter(node, node.exporter, self.pods))
        for pod in self.pods:
            found |= dict(_of_pod(pod))
        return found


def _twice(name: str, labels: Mapping[str, str], value: float) -> Iterator[tuple[str, str]]:
    for instance in ("10.0.1.5:8080", "10.0.2.7:8080"):
        all_labels = {"job": "kube-state-metrics", "instance": instance, **labels}
        told = ",".join(f'{key}="{text}"' for key, text in all_labels.items())
        yield f"{name}{{{told}}}", f"{value:g}"


def _of_node(node: SceneNode) -> Iterator[tuple[str, str]]:
    given = {
        "eks-gpushare/pool": node.pool,
        "node.kubernetes.io/instance-type": node.machine,
        **node.labels,
    }
    labels = {f"label_{_MANGLED.sub('_', key)}": value for key, value in given.items()}
    yield from _twice("kube_node_labels", {"node": node.name, **labels}, 1)
    for resource, count in {**node.allocatable, "cpu": 4}.items():
        unit = "core" if resource == "cpu" else "integer"
        told = {"node": node.name, "resource": _MANGLED.sub("_", resource), "unit": unit}
        yield from _twice("kube_node_status_allocatable", told, count)


def _of_pod(pod: ScenePod) -> Iterator[tuple[str, str]]:
    known = {"namespace": pod.namespace, "pod": pod.name, "uid": f"uid-{pod.name}"}
    node = pod.node if pod.phase != "Pending" or pod.started is not None else ""
    request = {"container": "main", "node": node, "unit": "integer"}
    asked = {**known, **request, "resource": _MANGLED.sub("_", pod.resource)}
    yield from _twice("kube_pod_container_resource_requests", asked, pod.count)
    for phase in _PHASES:
        told = {**known, "phase": phase}
        yield from _twice("kube_pod_status_phase", told, int(phase == pod.phase))
    yield from _twice("kube_pod_created", known, pod.created)
    if pod.started is not None:
        yield from _twice("kube_pod_start_time", known, pod.created + pod.started)


def _of_exporter(
    node: SceneNode, options: Options, pods: tuple[ScenePod, ...]
) -> Iterator[tuple[str, str]]:
    hardware = hardware_of(node.machine)
    assert hardware is not None
    gpus = node.gpus or whole(hardware.count)
    own = [pod for pod in pods if pod.node == node.name and pod.phase == "Running"]
    objects = {f"uid-{pod.name}": _object(pod) for pod in own}
    by_name = {pod.name: pod for pod in own}
    manager = DeviceManager()
    manager.update(devices(gpus, node.configuration), list(objects.values()))
    machine = ExporterMachine(
        node.name,
        hardware,
        gpus,
        manager.holdings,
        objects,
        lambda given: by_name[given["metadata"]["name"]].load,
        lambda given: by_name[given["metadata"]["name"]].memory,
    )
    # Prometheus has them of the exporter's pod, and adds those that a series does not have.
    own_pod = {"namespace": "gpushare-metrics", "pod": f"dcgm-exporter-{node.name}"}
    target = {"job": "dcgm-exporter", "instance": f"{node.name}:9400", **own_pod}
    for line in exposition(machine, options, target).splitlines():
        if not line.startswith("#"):
            series, _, value = line.rpartition(" ")
            yield series, value
    for name, more, told in node.copied:
        pods_of = [own_pod, *({"namespace": each.namespace, "pod": each.name} for each in own)]
        for labels in pods_of:
            pod = "".join(f',{key}="{text}"' for key, text in labels.items())
            at = f'gpu="0",UUID="GPU-0",{options.hostname}="{node.name}"'
            yield f"{name}{{{at}{more}{pod}}}", f"{told:g}"


def _object(pod: ScenePod) -> dict[str, Any]:
    limits = {pod.resource: str(pod.count)}
    return {
        "metadata": {
            "name": pod.name,
            "namespace": pod.namespace,
            "uid": f"uid-{pod.name}",
            "creationTimestamp": pod.name,
        },
        "spec": {"containers": [{"name": "main", "resources": {"limits": limits}}]},
        "status": {"phase": "Running"},
    }


def timeline(*phases: tuple[int, Scene]) -> list[dict[str, str]]:
    """Input series of promtool: each scene for so many minutes, one after the other."""
    told = [(minutes, scene.series()) for minutes, scene in phases]
    found = []
    for series in dict.fromkeys(name for _, known in told for name in known):
        values: list[str] = []
        for minutes, known in told:
            value = known.get(series)
            if value is None:
                # Prometheus marks what a scrape no longer has.
                gone = ["stale", f"_x{minutes - 1}"] if minutes > 1 else ["stale"]
                values += gone if values else [f"_x{minutes}"]
            elif "x" in value:  # it says itself how it goes on
                values.append(value)
            else:
                values.append(f"{value}x{minutes - 1}")
        found.append({"series": series, "values": " ".join(values)})
    return found
