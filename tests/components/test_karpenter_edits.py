"""What an edit does to nodes of Karpenter's: they drift and are replaced, or nothing happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.program.edits import edits

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

    from eks_gpushare.program.edits import Consequence

POOL: dict[str, Any] = {
    "provisioner": "karpenter",
    "nodes": {"max": 4},
    "instance_types": ["g6.2xlarge", "g6.4xlarge"],
    "ami_version": "1.35.8-20260930",
    "sharing": {"mode": "timeSlicing", "replicas": 4},
}
STATIC = {**POOL, "nodes": {"desired": 3, "max": 4}, "karpenter": {"static": True}}
DRIFTS = "its nodes drift: Karpenter starts new ones and drains the old ones, at most {} at a time"
FEWER = (
    "nodes that are no longer among g6.4xlarge drift: Karpenter starts others and drains them, at "
    "most 10% of them at a time"
)
COUNTS = (
    "Karpenter counts nvidia.com/gpu.shared: 10 on a new node in place of nvidia.com/gpu.shared: "
    "4; no node that runs is touched by that"
)
TENTH = DRIFTS.format("10% of them")


@pytest.fixture(scope="module")
def known(record: Callable[..., Run]) -> Callable[..., Run]:
    """`known(pools, **more)`: an environment with these pools, each made once."""
    made: dict[str, Run] = {}

    def of(pools: dict[str, Any], **more: Any) -> Run:
        key = repr((pools, more))
        if key not in made:

            def program() -> None:
                import eks_gpushare

                args: Any = {
                    "cluster": {"name": "demo", "version": "1.35"},
                    "network": {"zones": ["us-west-2a", "us-west-2b"]},
                    "pools": pools,
                    "region": "us-west-2",
                    **more,
                }
                given: Any = {key: each for key, each in args.items() if each is not None}
                eks_gpushare.GpuSharingEnvironment("demo", given)

            made[key] = record(program, preview=False)
        return made[key]

    return of


@pytest.fixture(scope="module")
def pool(record: Callable[..., Run]) -> Callable[[dict[str, Any]], Run]:
    """`pool(args)`: a pool alone, each made once."""
    made: dict[str, Run] = {}
    wires = {
        "pool": "gpu",
        "node_role_name": "gpu-nodes",
        "cluster_subnet_ids": ["subnet-0a"],
        "security_group_ids": ["sg-cluster"],
        "version": "1.35",
    }

    def of(args: dict[str, Any]) -> Run:
        def program() -> None:
            import pulumi
            import pulumi_kubernetes

            from eks_gpushare import KarpenterPool

            provider = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
            given: Any = {**wires, **args}
            KarpenterPool("demo-gpu", given, pulumi.ResourceOptions(providers=[provider]))

        if repr(args) not in made:
            made[repr(args)] = record(program, preview=False)
        return made[repr(args)]

    return of


def of_nodes(
    found: list[Consequence], name: str = "demo-gpu"
) -> list[tuple[str, tuple[str, ...], str]]:
    return [
        (each.effect, each.because, each.message.partition(": ")[2].partition(" (")[0].rstrip("."))
        for each in found
        if each.name == name and each.effect != "request"
    ]


CASES: list[tuple[dict[str, Any], list[tuple[str, tuple[str, ...], str]]]] = [
    ({}, []),
    ({"ami_version": "1.35.7-20260901"}, [("roll", ("amiSelectorTerms",), TENTH)]),
    ({"root_volume_gib": 300}, [("roll", ("blockDeviceMappings",), TENTH)]),
    ({"kubelet": {"maxPods": 50}}, [("roll", ("kubelet",), TENTH)]),
    ({"metadata_hop_limit": 2}, [("roll", ("metadataOptions",), TENTH)]),
    (
        {"user_data": [{"content_type": "text/x-shellscript", "content": "#!/bin/sh\ntrue\n"}]},
        [("roll", ("userData",), TENTH)],
    ),
    ({"labels": {"tier": "gpu"}}, [("roll", ("labels",), TENTH)]),
    (
        {"taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoExecute"}]},
        [("roll", ("taints",), TENTH)],
    ),
    ({"karpenter": {"expire_after": "24h"}}, [("roll", ("expireAfter",), TENTH)]),
    (
        {"karpenter": {"termination_grace_period": "24h"}},
        [("roll", ("terminationGracePeriod",), TENTH)],
    ),
    # The budget is that of the edit itself: Karpenter reads it with the rest.
    (
        {"root_volume_gib": 300, "karpenter": {"budgets": [{"nodes": 1}]}},
        [("roll", ("blockDeviceMappings",), DRIFTS.format("1"))],
    ),
    (
        {"karpenter": {"weight": 10}},
        [("update", ("weight",), "it changes in place; no node is touched")],
    ),
    (
        {"karpenter": {"consolidate_after": "10m"}},
        [("update", ("disruption",), "it changes in place; no node is touched")],
    ),
    ({"nodes": {"max": 6}}, [("update", ("limits",), "it changes in place; no node is touched")]),
    (
        {"nodes": {"max": 2}},
        [
            (
                "update",
                ("limits",),
                "Karpenter starts no node above the new limits; those that run stay",
            )
        ],
    ),
    # A type more drifts nobody; one less drifts the nodes that are of it.
    (
        {"instance_types": ["g6.2xlarge", "g6.4xlarge", "g6.8xlarge"]},
        [
            (
                "update",
                ("node.kubernetes.io/instance-type",),
                "it changes in place; no node is touched",
            )
        ],
    ),
    (
        {"instance_types": ["g6.4xlarge"]},
        [
            (
                "roll",
                ("node.kubernetes.io/instance-type",),
                FEWER,
            )
        ],
    ),
    # Their order says nothing.
    ({"instance_types": ["g6.4xlarge", "g6.2xlarge"]}, []),
]


@pytest.mark.parametrize(("changes", "expected"), CASES)
def test_what_an_edit_of_a_pool_does_to_its_nodes(
    pool: Callable[[dict[str, Any]], Run],
    changes: dict[str, Any],
    expected: list[tuple[str, tuple[str, ...], str]],
) -> None:
    before, after = pool(POOL), pool({**POOL, **changes})

    assert of_nodes(edits(before.recording, after.recording)) == expected


def test_replicas_change_what_karpenter_believes_and_no_node(
    pool: Callable[[dict[str, Any]], Run],
) -> None:
    sharing = {"mode": "timeSlicing", "replicas": 10}
    before, after = pool(POOL), pool({**POOL, "sharing": sharing})
    found = of_nodes(edits(before.recording, after.recording))

    assert {effect for effect, _, _ in found} == {"update"}
    assert found[0] == (
        "update",
        ("g6.2xlarge",),
        COUNTS,
    )


BUDGETS = [
    ([{"nodes": "0"}], "once its budgets let any go, which they do at no time"),
    ([{"nodes": 2, "reasons": ["Drifted"]}], "at most 2 at a time"),
    ([{"nodes": 2, "reasons": ["Empty"]}], "as many at a time as there are"),
    (
        [{"nodes": 1}, {"nodes": 0, "schedule": "0 9 * * 1-5", "duration": "8h"}],
        "at most 1 at a time and none from 0 9 * * 1-5 UTC for 8h",
    ),
]


@pytest.mark.parametrize(("budgets", "says"), BUDGETS)
def test_how_many_at_a_time(
    pool: Callable[[dict[str, Any]], Run], budgets: list[dict[str, Any]], says: str
) -> None:
    kept = {**POOL, "karpenter": {"budgets": budgets}}
    found = edits(pool(kept).recording, pool({**kept, "root_volume_gib": 300}).recording)

    assert of_nodes(found)[0][2].endswith(f"drains the old ones, {says}")


@pytest.mark.parametrize(
    ("desired", "effect", "says"),
    [
        (
            1,
            "terminate",
            "Karpenter keeps 1 in place of 3 nodes: 2 are drained, and ended with their pods",
        ),
        (4, "update", "Karpenter keeps 4 in place of 3 nodes; none that runs is touched"),
    ],
)
def test_a_static_pool_is_scaled(
    pool: Callable[[dict[str, Any]], Run], desired: int, effect: str, says: str
) -> None:
    after = {**STATIC, "nodes": {"desired": desired, "max": 4}}
    found = edits(pool(STATIC).recording, pool(after).recording)

    assert of_nodes(found) == [(effect, ("replicas",), says)]


def test_a_pool_comes_with_karpenter_and_goes_with_it(known: Callable[..., Run]) -> None:
    group = {**POOL, "provisioner": "managedNodeGroup", "nodes": {"desired": 1, "max": 1}}
    without, with_it = known({"group": group}), known({"group": group, "gpu": POOL})

    came = edits(without.recording, with_it.recording)
    assert [
        (e.name, e.effect) for e in came if "group" not in e.name and e.effect != "restart"
    ] == [
        ("demo-karpenter", "create"),
        ("demo-gpu", "create"),
    ]
    went = edits(with_it.recording, without.recording)
    assert {(e.name, e.effect) for e in went if e.effect == "delete"} == {
        ("demo-karpenter", "delete"),
        ("demo-gpu", "delete"),
    }


def test_more_copies_restart_karpenter_alone(known: Callable[..., Run]) -> None:
    found = edits(
        known({"gpu": POOL}).recording, known({"gpu": POOL}, karpenter={"replicas": 1}).recording
    )

    assert [(e.name, e.effect, e.message) for e in found] == [
        (
            "demo-karpenter-release",
            "restart",
            "demo-karpenter-release: Karpenter's controller restarts; no node is touched (values).",
        )
    ]


def test_another_namespace_moves_karpenter_and_keeps_the_definitions(
    known: Callable[..., Run],
) -> None:
    after = known({"gpu": POOL}, karpenter={"namespace": "karpenter"})
    found = edits(known({"gpu": POOL}).recording, after.recording)

    assert [(each.name, each.effect) for each in found] == [("demo-karpenter-release", "replace")]


def test_another_node_role_is_another_for_every_node(known: Callable[..., Run]) -> None:
    role = "arn:aws:iam::111122223333:role/gpu-nodes"
    after = known({"gpu": POOL}, karpenter={"node_role": role})
    found = edits(known({"gpu": POOL}).recording, after.recording)

    assert of_nodes(found) == [("roll", ("role",), TENTH)]


FACTS: dict[str, Any] = {
    "arn": "arn:aws:eks:us-west-2:111122223333:cluster/there",
    "endpoint": "https://ABCDEF.gr7.us-west-2.eks.amazonaws.com",
    "certificate_authority": "Q0E=",
    "version": "1.35",
    "vpc_id": "vpc-there",
    "subnet_ids": ["subnet-1", "subnet-2"],
    "security_group_id": "sg-there",
    "service_cidr": "172.20.0.0/16",
}


def test_another_path_of_roles_replaces_nodes_whoever_makes_them(
    known: Callable[..., Run],
) -> None:
    there = {"cluster": {"existing": {"name": "there"}}, "network": None, "cluster_facts": FACTS}
    group = {**POOL, "provisioner": "managedNodeGroup", "nodes": {"desired": 1, "max": 1}}
    pools = {"gpu": POOL, "group": {**group, "instance_types": ["g6.2xlarge"]}}
    before, after = known(pools, **there), known(pools, **there, iam={"path": "/team/"})
    found = edits(before.recording, after.recording)

    assert of_nodes(found) == [("roll", ("role",), TENTH)]
    assert [each[:2] for each in of_nodes(found, "demo-group")] == [("replace", ("nodeRoleArn",))]


def test_another_version_of_the_cluster_is_another_image_for_karpenters_nodes(
    known: Callable[..., Run],
) -> None:
    # Both releases are of one day, and so is the alias: it stands for another image all the same.
    newer = {"gpu": {**POOL, "ami_version": "1.36.4-20260930"}}
    after = known(newer, cluster={"name": "demo", "version": "1.36"})
    found = edits(known({"gpu": POOL}).recording, after.recording)

    assert of_nodes(found) == [("roll", ("cluster.version",), TENTH)]


SAVING = {"consolidation_policy": "WhenEmptyOrUnderutilized", "consolidate_after": "10m"}
SHUT = {"budgets": [{"nodes": 0}]}


@pytest.mark.parametrize(
    ("before", "after", "because"),
    [
        ({}, SAVING, "disruption.consolidationPolicy"),
        (SAVING, {**SAVING, "consolidate_after": "1m"}, "disruption.consolidateAfter"),
        ({**SAVING, "consolidate_after": "Never"}, SAVING, "disruption.consolidateAfter"),
        (SHUT, {}, "disruption.budgets"),
        (SHUT, {"budgets": [{"nodes": 0, "reasons": ["Empty"]}]}, "disruption.budgets"),
        (SAVING, {}, None),
        ({**SAVING, "consolidate_after": "1m"}, SAVING, None),
        ({}, SHUT, None),
    ],
)
def test_settings_by_which_karpenter_evicts_pods_that_it_let_be(
    pool: Callable[[dict[str, Any]], Run],
    before: dict[str, Any],
    after: dict[str, Any],
    because: str | None,
) -> None:
    was, now = ({**POOL, "karpenter": each} for each in (before, after))
    found = of_nodes(edits(pool(was).recording, pool(now).recording))

    if because is None:
        assert [each[:2] for each in found] == [("update", ("disruption",))]
    else:
        assert [each[:2] for each in found] == [("evict", (because,))]
        assert "evicts the pods on them" in found[0][2]
