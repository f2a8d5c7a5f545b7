"""Tenants' queues by the real Kueue: what is sure, what is borrowed, and what comes back.

All of them: EKS_GPUSHARE_TEST_AT_LENGTH=1 pytest tests/lab/walkthroughs/<this file>. Each has a
control plane of its own, since Kueue's webhooks are for all of one.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.config.taints import DEFAULT_TAINT
from eks_gpushare.sharing.kueue import (
    GPU_MEMORY,
    PoolShare,
    QuotaRange,
    kueue_objects,
    manager_configuration,
)
from eks_gpushare_lab.client import ApiError, Client
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.controllers import kueue
from eks_gpushare_lab.controllers.queueing import Queueing
from eks_gpushare_lab.install.manifests import Manifest
from eks_gpushare_lab.install.nodes import SIMULATED
from eks_gpushare_lab.install.release import DeclaredRelease
from eks_gpushare_lab.reporting.report import report_of
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

pytestmark = [pytest.mark.slow, pytest.mark.at_length]

Programs = Any

PROFILES = {"nvidia.com/mig-1g.5gb": 5, "nvidia.com/mig-2g.10gb": 10, "nvidia.com/mig-3g.20gb": 20}
SMALL, MIDDLE, LARGE = PROFILES
BALANCED = dict(zip(PROFILES, (16, 8, 8), strict=True))
"""Of p4d.24xlarge with all-balanced: 320 GiB."""
TIME_SLICING = "time-slicing"
SHARED = "nvidia.com/gpu.shared"
POOL = "eks-gpushare/pool"
SECONDS = 10


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
    return DeclaredRelease("kueue", "kueue-system", "kueue", "0.16.2", values)


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


def node(name: str, resources: dict[str, int]) -> dict[str, Any]:
    counts = {"cpu": "96", "memory": "1152Gi", "pods": "737"}
    counts |= {resource: str(count) for resource, count in resources.items()}
    info = ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "operatingSystem")
    more = ("containerRuntimeVersion", "kubeProxyVersion", "architecture")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {POOL: name}, "annotations": SIMULATED},
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


@pytest.fixture
def scene(programs: Programs, lab_home: object) -> Iterator[Callable[..., Scene]]:
    """Makes nodes, tenants and Kueue: `scene(objects, configuration)`."""
    assert programs.paths
    assert lab_home
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


def test_what_is_borrowed_is_given_back_when_it_is_asked_for(scene: Callable[..., Scene]) -> None:
    shares = [RESEARCH, VISION]
    here = scene(kueue_objects(shares), manager_configuration(shares))
    for name, resource in (("small", SMALL), ("middle", MIDDLE), ("large", LARGE)):
        here.client.apply(deployment("team-research", name, resource, 16))
    here.await_(lambda: here.gib("team-research") == 120, 20)
    time.sleep(1)
    assert here.gib("team-research") == 120

    wanted = {SMALL: 12, MIDDLE: 6, LARGE: 6}
    for resource, replicas in wanted.items():
        name = resource.rpartition("-")[2].replace(".", "-")
        here.client.apply(deployment("team-vision", name, resource, replicas))
    here.await_(lambda: here.running("team-vision") == wanted)
    here.await_(lambda: here.gib("team-research") <= 80)
    # What is left of it is no more than what it is sure of, slice by slice.
    sure = {name: quota.guaranteed for name, quota in RESEARCH.resources.items()}
    assert all(count <= sure[name] for name, count in here.running("team-research").items())
    time.sleep(1)
    assert here.running("team-vision") == wanted


def test_a_stack_with_its_release_is_laid_whole(
    programs: Programs, lab_home: object, desired: Callable[[str], DesiredCluster]
) -> None:
    assert programs.paths
    assert lab_home
    wanted = desired("mig-balanced")
    (pool,) = (pool for pool in wanted.pools if pool.is_gpu_pool)
    assert next(iter(pool.declared.values())).items() >= BALANCED.items()
    selector = {key: value for key, value in pool.labels.items() if key == POOL}
    shares = [
        share._replace(pool=pool.name, node_selector=selector) for share in (RESEARCH, VISION)
    ]
    names = [name for share in shares for name in share.namespaces]
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}} for n in names]
    wanted = replace(
        wanted,
        objects=(*wanted.objects, *spaces, *kueue_objects(shares)),
        releases=(*wanted.releases, release(manager_configuration(shares))),
    )
    vision = [
        deployment("team-vision", name.rpartition(".")[2], name, count)
        for name, count in ((SMALL, 12), (MIDDLE, 6), (LARGE, 6))
    ]
    with ControlPlane() as up:
        lab = up.lab
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
        with Session(client, lab) as session:
            session.install(wanted)
            assert session.settle()
            session.apply([Manifest(f"vision {n}", obj) for n, obj in enumerate(vision)])
            assert session.settle()
            found = report_of(session, {}, []).as_json()
            sums = {
                name: found["workloads"][f"team-vision/{name}"] for name in ("5gb", "10gb", "20gb")
            }
            assert {name: each["running"] for name, each in sums.items()} == {
                "5gb": 12,
                "10gb": 6,
                "20gb": 6,
            }
            assert not [f for f in found["findings"] if f["severity"] == "error"], found
        # What is left waits for nobody: namespaces of tenants take pods without Kueue.
        client.apply(deployment("team-vision", "later", "", 1))
        client.close()


def by_gib(strategy: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A tenant of two pools whose GPUs are counted in GiB, as a transformation has them."""
    slices = PoolShare(
        "research",
        ("team-research",),
        "balanced",
        {POOL: "balanced"},
        (DEFAULT_TAINT,),
        {LARGE: QuotaRange(8, 8)},
        maximum_gib=160,
        gib={LARGE: 20},
    )
    sliced = slices._replace(
        pool=TIME_SLICING,
        node_selector={POOL: TIME_SLICING},
        resources={SHARED: QuotaRange(40, 40)},
        maximum_gib=160,
        gib={SHARED: 4},
    )
    # The pool of time slicing comes first, so that a memory that both have is taken from it.
    shares = [sliced, slices]
    objects, configuration = kueue_objects(shares), manager_configuration(shares)
    if strategy == "Replace":
        for transformation in configuration["resources"]["transformations"]:
            transformation["strategy"] = strategy
        (queue,) = (obj for obj in objects if obj["kind"] == "ClusterQueue")
        (group,) = queue["spec"]["resourceGroups"]
        group["coveredResources"] = [GPU_MEMORY]
        for flavor in group["flavors"]:
            flavor["resources"] = [r for r in flavor["resources"] if r["name"] == GPU_MEMORY]
    return objects, configuration


@pytest.mark.parametrize(("strategy", "runs"), [("Replace", 0), ("Retain", 4)])
def test_a_transformation_that_replaces_admits_to_a_pool_without_the_device(
    scene: Callable[..., Scene], strategy: str, runs: int
) -> None:
    here = scene(*by_gib(strategy))
    here.client.apply(deployment("team-research", "train", LARGE, 4))
    here.await_(lambda: here.admitted("team-research") == 4)
    time.sleep(4)
    assert here.running("team-research") == ({LARGE: runs} if runs else {})
    assert here.admitted("team-research") == 4


def test_what_is_no_tenants_goes_on_while_kueue_is_stopped(scene: Callable[..., Scene]) -> None:
    shares = [RESEARCH, VISION]
    here = scene(kueue_objects(shares), manager_configuration(shares))
    # CPU alone is not queued for; what the contract does not have is refused by waiting.
    here.client.apply(deployment("team-vision", "web", "", 1))
    here.client.apply(deployment("team-vision", "other", SHARED, 1))
    pods = "/api/v1/namespaces/{}/pods"

    def phases(namespace: str) -> list[str]:
        return sorted(p["status"]["phase"] for p in here.client.list(pods.format(namespace))[0])

    here.await_(lambda: phases("team-vision") == ["Pending", "Running"])
    assert f"resource {SHARED} unavailable in ClusterQueue" in here.told()

    here.queueing.end()
    here.client.apply(deployment("elsewhere", "web", "", 1))
    here.await_(lambda: phases("elsewhere") == ["Running"])
    with pytest.raises(ApiError, match=r'webhook "mdeployment\.kb\.io"'):
        here.client.apply(deployment("team-vision", "later", "", 1))
    kueue.let_go(here.client)
    here.client.apply(deployment("team-vision", "later", "", 1))


def test_who_has_priority_gets_more_of_what_is_free(scene: Callable[..., Scene]) -> None:
    none = {name: QuotaRange(0, most) for name, most in BALANCED.items()}
    low = RESEARCH._replace(resources=none, maximum_gib=None, priority="low")
    high = VISION._replace(resources=none, priority="high")
    shares = [low, high]
    here = scene(kueue_objects(shares, {"balanced": BALANCED}), manager_configuration(shares))
    here.client.apply(deployment("team-research", "small", SMALL, 16))
    here.await_(lambda: here.running("team-research") == {SMALL: 16}, 20)
    here.client.apply(deployment("team-vision", "small", SMALL, 16))
    here.await_(lambda: here.running("team-vision")[SMALL] >= 11, 20)
    time.sleep(2)
    assert here.running("team-vision")[SMALL] in {12, 13}
    assert here.running("team-research")[SMALL] == 16 - here.running("team-vision")[SMALL]


def test_less_for_a_tenant_evicts_nobody_until_another_asks(scene: Callable[..., Scene]) -> None:
    before = RESEARCH._replace(maximum_gib=None)
    vision = VISION._replace(maximum_gib=None)
    here = scene(kueue_objects([before, vision]), manager_configuration([before, vision]))
    here.client.apply(deployment("team-research", "small", SMALL, 16))
    here.await_(lambda: here.running("team-research") == {SMALL: 16}, 20)
    less = before._replace(resources={**before.resources, SMALL: QuotaRange(2, 2)})
    for obj in kueue_objects([less, vision]):
        here.client.apply(obj)
    time.sleep(3)
    assert here.running("team-research") == {SMALL: 16}
    here.client.apply(deployment("team-vision", "small", SMALL, 12))
    here.await_(lambda: here.running("team-vision") == {SMALL: 12})
    assert here.running("team-research")[SMALL] <= 4
