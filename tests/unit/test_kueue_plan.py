"""The flavors, queues and configuration of Kueue that tenants' contracts come to."""

from __future__ import annotations

from typing import Any

from eks_gpushare.config.queues import QueuePool
from eks_gpushare.config.taints import DEFAULT_TAINT
from eks_gpushare.sharing.kueue import (
    GPU_MEMORY,
    PoolShare,
    QuotaRange,
    kueue_objects,
    manager_configuration,
    unequal_memory,
    unguaranteed,
)

SMALL, LARGE, SHARED = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb", "nvidia.com/gpu.shared"
GIB = {SMALL: 5, LARGE: 20}
MIG = PoolShare(
    "research",
    ("team-a", "team-b"),
    "mig",
    {"eks-gpushare/pool": "mig"},
    (DEFAULT_TAINT,),
    {SMALL: QuotaRange(4, 16), LARGE: QuotaRange(2, 2)},
    gib=GIB,
)
SLICED = MIG._replace(
    pool="sliced",
    node_selector={"eks-gpushare/pool": "sliced"},
    taints=(),
    resources={SHARED: QuotaRange(10, 10)},
    gib={},
)
VISION = MIG._replace(tenant="vision", namespaces=("vision",))


def named(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = (o["spec"] for o in objects if (o["kind"], o["metadata"]["name"]) == (kind, name))
    return dict(found)


def quotas(queue: dict[str, Any]) -> dict[tuple[str, str], tuple[int, int | None]]:
    (group,) = queue["resourceGroups"]
    for flavor in group["flavors"]:
        # Kueue refuses a flavor that has another order.
        assert [each["name"] for each in flavor["resources"]] == group["coveredResources"]
    return {
        (flavor["name"], each["name"]): (each["nominalQuota"], each.get("borrowingLimit"))
        for flavor in group["flavors"]
        for each in flavor["resources"]
    }


def test_a_queue_has_every_resource_of_every_pool_in_one_group() -> None:
    objects = kueue_objects([MIG, SLICED])

    assert quotas(named(objects, "ClusterQueue", "research")) == {
        ("mig", SMALL): (4, 12),
        ("mig", LARGE): (2, 0),
        ("mig", SHARED): (0, 0),
        ("sliced", SMALL): (0, 0),
        ("sliced", LARGE): (0, 0),
        ("sliced", SHARED): (10, 0),
    }


def test_each_namespace_has_the_queue_that_is_taken_by_default() -> None:
    queues = [o for o in kueue_objects([MIG, SLICED]) if o["kind"] == "LocalQueue"]

    assert [(o["metadata"], o["spec"]) for o in queues] == [
        ({"name": "default", "namespace": space}, {"clusterQueue": "research"})
        for space in ("team-a", "team-b")
    ]


def test_flavors_say_how_to_get_onto_the_nodes() -> None:
    objects = kueue_objects([MIG, SLICED, VISION])
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}

    assert [o["metadata"]["name"] for o in objects if o["kind"] == "ResourceFlavor"] == [
        "mig",
        "sliced",
    ]
    assert named(objects, "ResourceFlavor", "mig") == {
        "nodeLabels": {"eks-gpushare/pool": "mig"},
        "tolerations": [toleration],
    }
    assert "tolerations" not in named(objects, "ResourceFlavor", "sliced")


def test_a_ceiling_counts_gib_beside_the_devices_and_replaces_nothing() -> None:
    shares = [MIG._replace(maximum_gib=120), VISION]
    objects = kueue_objects(shares)
    resources = manager_configuration(shares)["resources"]

    # Its own, not borrowed: whoever borrows one resource of a pod gets no other of it back.
    assert quotas(named(objects, "ClusterQueue", "research"))["mig", GPU_MEMORY] == (120, 0)
    assert quotas(named(objects, "ClusterQueue", "research"))["mig", SMALL] == (4, 12)
    # Who has no ceiling may have all that its counts come to.
    assert quotas(named(objects, "ClusterQueue", "vision"))["mig", GPU_MEMORY] == (120, 0)
    assert resources["transformations"] == [
        {"input": SMALL, "strategy": "Retain", "outputs": {GPU_MEMORY: 5}},
        {"input": LARGE, "strategy": "Retain", "outputs": {GPU_MEMORY: 20}},
    ]


def test_without_a_ceiling_nothing_is_transformed() -> None:
    configuration = manager_configuration([MIG, SLICED])

    assert "transformations" not in configuration["resources"]
    assert "fairSharing" not in configuration
    assert {"cpu", "memory"} <= set(configuration["resources"]["excludeResourcePrefixes"])
    (selected,) = configuration["managedJobsNamespaceSelector"]["matchExpressions"]
    assert selected["values"] == ["team-a", "team-b"]


def test_priorities_weigh_only_where_they_differ() -> None:
    shares = [MIG._replace(priority="high"), VISION]
    objects = kueue_objects(shares)

    assert "fairSharing" in manager_configuration(shares)
    assert named(objects, "ClusterQueue", "research")["fairSharing"] == {"weight": "4"}
    assert named(objects, "ClusterQueue", "vision")["fairSharing"] == {"weight": "2"}
    assert "fairSharing" not in named(kueue_objects([MIG, VISION]), "ClusterQueue", "vision")


def test_what_nobody_is_sure_of_is_the_cohorts() -> None:
    pools = {
        "mig": QueuePool(nodeSelector=MIG.node_selector, advertised={SMALL: 16, LARGE: 4}),
        "idle": QueuePool(nodeSelector={}, advertised={SHARED: 4}),
    }
    shares = [MIG._replace(maximum_gib=120), VISION]
    free = unguaranteed(pools, shares)

    assert free == {"mig": {SMALL: 8}}
    assert quotas(named(kueue_objects(shares, free), "Cohort", "eks-gpushare")) == {
        ("mig", SMALL): (8, None),
    }
    assert not [o for o in kueue_objects(shares) if o["kind"] == "Cohort"]


def test_a_resource_of_two_sizes_is_found() -> None:
    other = MIG._replace(pool="big", gib={SMALL: 10, LARGE: 20})

    assert unequal_memory([MIG, other]) == {SMALL: {"mig": 5, "big": 10}}
    assert unequal_memory([MIG, VISION]) == {}
