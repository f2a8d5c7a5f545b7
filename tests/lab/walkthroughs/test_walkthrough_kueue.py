"""Tenants' queues by the real Kueue: what is sure, what is borrowed, and what comes back.

All of them: EKS_GPUSHARE_TEST_AT_LENGTH=1 pytest tests/lab/walkthroughs/<this file>. Each has a
control plane of its own, since Kueue's webhooks are for all of one.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from queue_scene import (
    BALANCED,
    LARGE,
    MIDDLE,
    POOL,
    RESEARCH,
    SHARED,
    SMALL,
    TIME_SLICING,
    VISION,
    WANTED,
    Scene,
    borrow,
    deployment,
    reclaim,
    release,
    scenes,
)

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
from eks_gpushare_lab.install.manifests import Manifest
from eks_gpushare_lab.reporting.report import report_of
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

pytestmark = [pytest.mark.slow, pytest.mark.at_length]

Programs = Any


@pytest.fixture
def scene(programs: Programs, lab_home: object) -> Iterator[Callable[..., Scene]]:
    """Makes nodes, tenants and Kueue: `scene(objects, configuration)`."""
    assert programs.paths
    assert lab_home
    with scenes() as make:
        yield make


def test_what_is_borrowed_is_given_back_when_it_is_asked_for(scene: Callable[..., Scene]) -> None:
    shares = [RESEARCH, VISION]
    here = scene(kueue_objects(shares), manager_configuration(shares))
    borrow(here)
    time.sleep(1)
    assert here.gib("team-research") == 120

    reclaim(here)
    here.await_(lambda: here.gib("team-research") <= 80)
    # What is left of it is no more than what it is sure of, slice by slice.
    sure = {name: quota.guaranteed for name, quota in RESEARCH.resources.items()}
    assert all(count <= sure[name] for name, count in here.running("team-research").items())
    time.sleep(1)
    assert here.running("team-vision") == WANTED


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


def bare(given: dict[str, Any]) -> dict[str, Any]:
    """A pod of a Deployment by itself: nobody makes another in its place."""
    metadata = {**given["metadata"], **given["spec"]["template"]["metadata"]}
    spec = given["spec"]["template"]["spec"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_the_lab_is_not_at_rest_while_kueue_has_something_to_do(
    scene: Callable[..., Scene],
) -> None:
    shares = [RESEARCH._replace(maximum_gib=None), VISION._replace(maximum_gib=None)]
    here = scene(kueue_objects(shares), manager_configuration(shares))
    pods = "/api/v1/namespaces/team-research/pods"
    with Session(here.client) as session:
        session.queueing = here.queueing
        made = [bare(deployment("team-research", f"first-{n}", LARGE, 1)) for n in range(8)]
        session.apply([Manifest(pod["metadata"]["name"], pod) for pod in made])
        assert session.settle()
        session.apply([Manifest("second", deployment("team-research", "second", LARGE, 2))])
        assert session.settle()
        assert here.running("team-research") == {LARGE: 8}

        # It does not see that pods end, as on a machine that has no time for it.
        process = here.queueing.pid
        assert process
        os.kill(process, signal.SIGSTOP)
        try:
            for pod in made[:2]:
                path = f"{pods}/{pod['metadata']['name']}/status"
                here.client.patch(path, {"status": {"phase": "Succeeded"}})
            assert not session.settle(longest=8)
        finally:
            os.kill(process, signal.SIGCONT)
        assert session.settle()
        waiting = here.client.list(pods, labelSelector="app=second")[0]
        assert {pod["status"]["phase"] for pod in waiting} == {"Running"}


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


def test_who_borrows_one_kind_gets_back_what_it_is_sure_of_of_another(
    scene: Callable[..., Scene],
) -> None:
    """Also from who has more priority: Kueue before 0.16.3 weighed what both had borrowed."""
    none, every = QuotaRange(0, 0), QuotaRange(0, 8)
    low = RESEARCH._replace(
        resources={SMALL: none, MIDDLE: QuotaRange(2, 8), LARGE: every},
        maximum_gib=None,
        priority="low",
    )
    high = VISION._replace(
        resources={SMALL: none, MIDDLE: every, LARGE: every}, maximum_gib=None, priority="high"
    )
    free = {"balanced": {MIDDLE: 6, LARGE: 8}}
    here = scene(kueue_objects([low, high], free), manager_configuration([low, high]))
    here.client.apply(deployment("team-research", "large", LARGE, 8))
    here.await_(lambda: here.running("team-research") == {LARGE: 8})
    here.client.apply(deployment("team-vision", "middle", MIDDLE, 8))
    here.await_(lambda: here.running("team-vision") == {MIDDLE: 8})

    here.client.apply(deployment("team-research", "middle", MIDDLE, 2))
    here.await_(lambda: here.running("team-research") == {LARGE: 8, MIDDLE: 2})


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
