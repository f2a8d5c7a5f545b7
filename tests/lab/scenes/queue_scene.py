"""Two tenants of one MIG pool on a control plane of their own, with the real Kueue."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.catalog import versions
from eks_gpushare.config.taints import DEFAULT_TAINT
from eks_gpushare.sharing.kueue import PoolShare, QuotaRange
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.controllers.queueing import Queueing
from eks_gpushare_lab.install.nodes import SIMULATED
from eks_gpushare_lab.install.release import DeclaredRelease

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PROFILES = {"nvidia.com/mig-1g.5gb": 5, "nvidia.com/mig-2g.10gb": 10, "nvidia.com/mig-3g.20gb": 20}
SMALL, MIDDLE, LARGE = PROFILES
BALANCED = dict(zip(PROFILES, (16, 8, 8), strict=True))
"""Of p4d.24xlarge with all-balanced: 320 GiB."""
TIME_SLICING = "time-slicing"
SHARED = "nvidia.com/gpu.shared"
POOL = "eks-gpushare/pool"
SECONDS = 60
"""How long something is waited for; how soon it comes is measured by benchmarks/tenants.py."""
WANTED = {SMALL: 12, MIDDLE: 6, LARGE: 6}
"""The 24 shares that vision is sure of."""


def share(tenant: str, counts: tuple[int, int, int], maximum_gib: int | None = None) -> PoolShare:
    quotas = zip(PROFILES, counts, BALANCED.values(), strict=True)
    return PoolShare(
        tenant,
        (f"team-{tenant}",),
        "balanced",
        {POOL: "balanced"},
        (DEFAULT_TAINT,),
        {name: QuotaRange(sure, most) for name, sure, most in quotas},
        maximum_gib=maximum_gib,
        gib=PROFILES,
    )


RESEARCH = share("research", (4, 2, 2), 120)
VISION = share("vision", (12, 6, 6))


def release(configuration: dict[str, Any]) -> DeclaredRelease:
    document = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "integrations": {"frameworks": ["batch/job", "pod", "deployment", "statefulset"]},
        **configuration,
    }
    text = yaml.safe_dump(document)
    values = {"managerConfig": {"controllerManagerConfigYaml": text}}
    return DeclaredRelease("kueue", "kueue-system", "kueue", versions.KUEUE.version, values)


def deployment(namespace: str, name: str, resource: str, replicas: int) -> dict[str, Any]:
    labels = {"app": name}
    container: dict[str, Any] = {
        "name": "main",
        "image": "cuda",
        "resources": {"requests": {"cpu": "100m"}, "limits": {resource: 1} if resource else {}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def node(
    name: str, resources: Mapping[str, int], labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    counts = {"cpu": "96", "memory": "1152Gi", "pods": "737"}
    counts |= {resource: str(count) for resource, count in resources.items()}
    info = ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "operatingSystem")
    more = ("containerRuntimeVersion", "kubeProxyVersion", "architecture")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": dict(labels or {POOL: name}),
            "annotations": SIMULATED,
        },
        "spec": {"taints": [DEFAULT_TAINT.model_dump()] if resources else []},
        "status": {
            "capacity": counts,
            "allocatable": counts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {"kubeletVersion": "v1.35.4", **dict.fromkeys((*info, *more), "")},
        },
    }


class Scene:
    """Two tenants on a control plane of their own, with Kueue."""

    def __init__(self, client: Client, queueing: Queueing) -> None:
        self.client, self.queueing = client, queueing

    def running(self, namespace: str) -> Counter[str]:
        """Devices of a namespace's pods that run."""
        pods = self.client.list(f"/api/v1/namespaces/{namespace}/pods")[0]
        return Counter(
            name
            for pod in pods
            if pod["status"].get("phase") == "Running"
            and not pod["metadata"].get("deletionTimestamp")
            for name in pod["spec"]["containers"][0]["resources"].get("limits", {})
        )

    def gib(self, namespace: str) -> int:
        return sum(count * PROFILES[name] for name, count in self.running(namespace).items())

    def await_(self, what: Callable[[], bool], seconds: float = SECONDS) -> float:
        """Seconds until something came true."""
        begun = time.monotonic()
        while not what():
            assert time.monotonic() < begun + seconds, self.told()
            time.sleep(0.05)
        return time.monotonic() - begun

    def told(self) -> str:
        """What Kueue says of its workloads, for a test that fails."""
        lines = []
        for workload in self.client.list("/apis/kueue.x-k8s.io/v1beta2/workloads")[0]:
            conditions = workload.get("status", {}).get("conditions") or ()
            said = {c["type"]: (c["status"], c.get("message")) for c in conditions}
            lines.append(f"{workload['metadata']['namespace']}: {json.dumps(said)}")
        return "\n".join(lines)

    def admitted(self, namespace: str) -> int:
        path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{namespace}/workloads"
        return sum(
            condition["type"] == "Admitted" and condition["status"] == "True"
            for workload in self.client.list(path)[0]
            for condition in workload.get("status", {}).get("conditions") or ()
        )


@contextmanager
def scenes() -> Iterator[Callable[..., Scene]]:
    """Makes nodes, tenants and Kueue: `make(objects, configuration)`."""
    started = []
    with ControlPlane() as up:
        lab = up.lab
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)

        def make(objects: list[dict[str, Any]], configuration: dict[str, Any]) -> Scene:
            queueing = Queueing(client, lab)
            started.append(queueing)
            queueing.start_for([], [release(configuration)])
            for name, counts in (
                ("balanced", BALANCED),
                (TIME_SLICING, {SHARED: 40}),
                ("system", {}),
            ):
                client.create(node(name, counts))
            for name in ("team-research", "team-vision", "elsewhere"):
                client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            for obj in objects:
                client.apply(obj)
            queueing.await_queues()
            return Scene(client, queueing)

        yield make
        for queueing in started:
            queueing.stop()
        client.close()


def borrow(here: Scene) -> None:
    """Research takes what vision leaves, up to its most."""
    for name, resource in (("small", SMALL), ("middle", MIDDLE), ("large", LARGE)):
        here.client.apply(deployment("team-research", name, resource, 16))
    here.await_(lambda: here.gib("team-research") == 120)


def reclaim(here: Scene) -> float:
    """Vision asks for what it is sure of: seconds until all of it runs."""
    begun = time.monotonic()
    for resource, replicas in WANTED.items():
        name = resource.rpartition("-")[2].replace(".", "-")
        here.client.apply(deployment("team-vision", name, resource, replicas))
    here.await_(lambda: here.running("team-vision") == WANTED)
    return time.monotonic() - begun
