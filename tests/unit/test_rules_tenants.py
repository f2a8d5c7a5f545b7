"""Rules about tenants, on both sides of each."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import findings, fixes

ROLE = "arn:aws:iam::111122223333:role/Team"
SHARED = {
    "instanceTypes": ["g6.2xlarge"],
    "nodes": {"min": 1, "desired": 1, "max": 1},
    "sharing": {"mode": "timeSlicing", "replicas": 4, "rename": True},
}
MPS = {**SHARED, "sharing": {"mode": "mps", "replicas": 4}}
WHOLE = {**SHARED, "sharing": {"mode": "exclusive"}}
SLICES = {
    **SHARED,
    "instanceTypes": ["p4d.24xlarge"],
    "sharing": {"mode": "mig", "layout": "all-1g.5gb"},
}
TURNS = {
    **SLICES,
    "sharing": {**SLICES["sharing"], "timeSlicing": {"replicas": 2}},  # type: ignore[dict-item]
}


def tenant(shares: int = 1, space: str = "a", pool: str = "gpu", **more: Any) -> dict[str, Any]:
    return {
        "namespaces": [space],
        "pools": {pool: {"guaranteed": {"shares": shares}}},
        **more,
    }


def told(code: str, tenants: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    given = {"pools": {"gpu": SHARED}, **more, "tenants": tenants}
    return [(path, message) for path, message in findings(given, code)]


def paths(code: str, tenants: dict[str, Any], **more: Any) -> list[str]:
    return [path for path, _ in told(code, tenants, **more)]


def test_a_contract_without_fault() -> None:
    for number in range(870, 879):
        assert told(f"GPU{number}", {"a": tenant(4, admins=[ROLE])}) == []


@pytest.mark.parametrize(
    ("contract", "path", "message"),
    [
        ({"pools": {}}, "tenants.a.pools", "a has nothing of any pool."),
        (
            {"pools": {"other": {"guaranteed": {"shares": 1}}}},
            "tenants.a.pools.other",
            "There is no pool other.",
        ),
        (
            {"pools": {"gpu": {"guaranteed": {}}}},
            "tenants.a.pools.gpu.guaranteed",
            "None of the units is given, and one says how much it is.",
        ),
        (
            {"pools": {"gpu": {"guaranteed": {"shares": 1, "gpus": 1}}}},
            "tenants.a.pools.gpu.guaranteed",
            "shares and gpus are given, and one says how much it is.",
        ),
        (
            {"pools": {"gpu": {"guaranteed": {"gpus": 0.3}}}},
            "tenants.a.pools.gpu.guaranteed.gpus",
            "0.3 GPUs of gpu are no whole number of its shares.",
        ),
    ],
)
def test_amounts_that_are_none(contract: dict[str, Any], path: str, message: str) -> None:
    assert told("GPU870", {"a": {**tenant(), **contract}}) == [(path, message)]


def test_a_tenant_s_name_is_a_label() -> None:
    assert paths("GPU870", {"a b": tenant()}) == ['tenants["a b"]']


@pytest.mark.parametrize(
    ("pool", "isolation", "is_refused"),
    [
        (SHARED, "none", False),
        (SHARED, "memory", True),
        (SHARED, "fault", True),
        (MPS, "none", False),
        (MPS, "memory", False),
        (MPS, "fault", True),
        (WHOLE, "fault", False),
        (SLICES, "fault", False),
        (TURNS, "memory", True),
        (TURNS, "none", False),
    ],
)
def test_what_a_class_takes_of_the_sharing_where_there_are_neighbours(
    pool: dict[str, Any], isolation: str, is_refused: bool
) -> None:
    alone = {"a": tenant(isolation=isolation)}
    two = {**alone, "b": tenant(space="b")}

    assert paths("GPU871", two, pools={"gpu": pool}) == ["tenants.a.isolation"] * is_refused
    assert paths("GPU871", alone, pools={"gpu": pool}) == []


def test_what_a_neighbour_does_is_said() -> None:
    pools = {"gpu": MPS}
    two = {"a": tenant(isolation="fault"), "b": tenant(space="b")}
    ((_, message),) = told("GPU871", two, pools=pools)

    assert message == (
        "On gpu pods of a share GPUs by MPS with those of b, and faults of neighbours reach them."
    )
    ((_, message),) = told("GPU871", {**two, "a": tenant(isolation="memory")})
    assert "by time slicing with those of b, and memory taken by neighbours" in message


def test_guarantees_add_up_to_what_there_is_at_most() -> None:
    two = {"a": tenant(2), "b": tenant(3, "b")}

    assert told("GPU872", {"a": tenant(2), "b": tenant(2, "b")}) == []
    assert told("GPU872", two) == [
        (
            "pools.gpu.nodes",
            "a, b are sure of 5 of nvidia.com/gpu.shared, and the pool has 4 at most.",
        )
    ]
    assert paths("GPU873", two) == []  # one finding for one cause


def test_what_an_autoscaler_has_to_start_is_promised() -> None:
    scaled = {**SHARED, "scaledBy": "autoscaler", "nodes": {"min": 1, "desired": 1, "max": 2}}
    more = {"pools": {"gpu": scaled}, "clusterAutoscaler": {}}

    assert paths("GPU873", {"a": tenant(4)}, **more) == []
    assert told("GPU873", {"a": tenant(5)}, **more) == [
        (
            "pools.gpu.nodes",
            "a is sure of 5 of nvidia.com/gpu.shared, and 4 are there before a node is started.",
        )
    ]
    assert paths("GPU872", {"a": tenant(9)}, **more) == ["pools.gpu.nodes"]


@pytest.mark.parametrize(
    ("pool", "key", "kept"),
    [
        ({"scaledBy": "stack"}, "nodes.desired", {"nodes": {"min": 1, "desired": 2, "max": 2}}),
        ({"scaledBy": "autoscaler"}, "nodes.min", {"nodes": {"min": 2, "desired": 2, "max": 2}}),
        ({"provisioner": "karpenter", "nodes": {"max": 2}}, "warm.nodes", {"warm": {"nodes": 2}}),
    ],
)
def test_what_is_promised_is_kept_by_the_key_that_is_named(
    pool: dict[str, Any], key: str, kept: dict[str, Any]
) -> None:
    less = {**SHARED, "nodes": {"min": 1, "desired": 1, "max": 2}, **pool}
    given = {"pools": {"gpu": less}, "clusterAutoscaler": {}, "tenants": {"a": tenant(8)}}
    more = {**given, "pools": {"gpu": {**less, **kept}}}

    (fix,) = fixes(given, "GPU873")
    assert key in fix
    assert findings(more, "GPU873") == []


def test_a_pool_without_a_limit_has_room_for_any_guarantee() -> None:
    endless = {
        "provisioner": "karpenter",
        "instanceTypes": ["g6.2xlarge"],
        "nodes": dict.fromkeys(("min", "desired", "max")),
        "karpenter": {"limits": {"cpu": "1000"}},
        "sharing": SHARED["sharing"],
    }

    assert paths("GPU872", {"a": tenant(400)}, pools={"gpu": endless}) == []


def test_one_name_in_two_pools() -> None:
    both = tenant()
    both["pools"]["more"] = {"guaranteed": {"shares": 1}}

    assert told("GPU874", {"a": both}, pools={"gpu": SHARED, "more": SHARED}) == [
        ("tenants.a.pools.more", "gpu and more both have nvidia.com/gpu.shared.")
    ]
    assert paths("GPU874", {"a": both}, pools={"gpu": SHARED, "more": WHOLE}) == []
    (fix,) = fixes({"pools": {"gpu": SHARED, "more": SHARED}, "tenants": {"a": both}}, "GPU874")
    assert fix.startswith("Give the shares of one of them another name")


def test_names_that_two_pools_have_alike_are_one_mistake() -> None:
    balanced = {**SLICES, "sharing": {"mode": "mig", "layout": "all-balanced"}}
    some = {"guaranteed": {"gpus": 1}}
    both = {"namespaces": ["a"], "pools": {"gpu": some, "more": some}}
    kinds = "nvidia.com/mig-1g.5gb, nvidia.com/mig-2g.10gb, nvidia.com/mig-3g.20gb"

    assert told("GPU874", {"a": both}, pools={"gpu": balanced, "more": balanced}) == [
        ("tenants.a.pools.more", f"gpu and more both have {kinds}.")
    ]


def test_a_name_that_is_borrowed_in_the_other_pool() -> None:
    """Of a maximum in GiB every kind may be borrowed; seen with the real Kueue as 6 of 4."""
    halves = {**SLICES, "sharing": {"mode": "mig", "layout": "all-3g.20gb"}}
    balanced = {**SLICES, "sharing": {"mode": "mig", "layout": "all-balanced"}}
    small = {"sharesOf": {"mig-1g.5gb": 1}}
    own = {"guaranteed": {"sharesOf": {"mig-3g.20gb": 1}}}

    def of(maximum: dict[str, Any]) -> dict[str, Any]:
        pools = {"gpu": own, "more": {"guaranteed": small, "maximum": maximum}}
        return {"a": {"namespaces": ["a"], "queue": True, "pools": pools}}

    pools = {"gpu": halves, "more": balanced}
    assert told("GPU874", of({"gpuMemoryGiB": 40}), pools=pools) == [
        ("tenants.a.pools.more", "gpu and more both have nvidia.com/mig-3g.20gb.")
    ]
    (fix,) = fixes({"pools": pools, "tenants": of({"gpuMemoryGiB": 40})}, "GPU874")
    assert fix == "Say a maximum in sharesOf, which leaves them out: in GiB it is of any mix."
    assert paths("GPU874", of({"gpuMemoryGiB": 15}), pools=pools) == []
    assert paths("GPU874", of({"sharesOf": {"mig-1g.5gb": 8}}), pools=pools) == []


@pytest.mark.parametrize("name", ["Team", "team_a", "a" * 64])
def test_a_tenant_whose_objects_could_not_be_named(name: str) -> None:
    assert paths("GPU870", {name: tenant()}) == [f"tenants.{name}"]


def test_a_cost_center_that_is_no_label() -> None:
    named = tenant(cost={"center": "Team A"})

    assert paths("GPU302", {"a": named}) == ["tenants.a.cost.center"]
    assert paths("GPU302", {"a": tenant(cost={"center": "4711"})}) == []


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ("kube-system", "kube-system is not a namespace for a tenant."),
        ("default", "default is not a namespace for a tenant."),
    ],
)
def test_namespaces_that_are_somebody_s(space: str, message: str) -> None:
    assert told("GPU875", {"a": tenant(space=space)}) == [("tenants.a.namespaces[0]", message)]


def test_a_namespace_is_of_one_tenant_and_a_tenant_has_one() -> None:
    assert told("GPU875", {"a": tenant(), "b": tenant()}) == [
        ("tenants.b.namespaces[0]", "a is a namespace of a.")
    ]
    assert paths("GPU875", {"a": tenant(namespaces=["a", "b"])}) == ["tenants.a.namespaces"]
    assert paths("GPU875", {"a": tenant(namespaces=[])}) == ["tenants.a.namespaces"]
    assert paths("GPU875", {"a": tenant(namespaces=["A"])}) == ["tenants.a.namespaces[0]"]


@pytest.mark.parametrize("cluster", [{"admins": [ROLE]}, {"namedAdmins": {"platform": ROLE}}])
def test_admins_are_of_a_tenant_alone(cluster: dict[str, Any]) -> None:
    message = f"{ROLE} is an admin of the whole cluster."

    assert told("GPU876", {"a": tenant(admins=[ROLE])}, cluster=cluster) == [
        ("tenants.a.admins[0]", message)
    ]
    assert paths("GPU876", {"a": tenant(admins=["me"])}) == ["tenants.a.admins[0]"]


def test_access_entries_are_of_eks() -> None:
    nothing = dict.fromkeys(("name", "version", "endpoint", "admins", "deletionProtection"))
    existing = {**nothing, "existing": {"kubeconfig": "kubeconfig.yaml"}}
    pool = {**SHARED, "provisioner": "existing", "nodes": None}
    more = {"cluster": existing, "network": None, "system": None, "pools": {"gpu": pool}}

    ((path, message),) = told("GPU876", {"a": tenant(admins=[ROLE])}, **more)
    assert (path, "access entries are EKS's" in message) == ("tenants.a.admins[0]", True)


def test_workloads_of_a_tenant_ask_for_its_shares_together() -> None:
    def model(replicas: int, space: str = "a") -> dict[str, Any]:
        image = "registry.example/model:1.2"
        return {"image": image, "pool": "gpu", "namespace": space, "replicas": {"min": replicas}}

    tenants = {"a": tenant(3)}
    assert paths("GPU877", tenants, workloads={"one": model(2), "two": model(1)}) == []
    assert paths("GPU877", tenants, workloads={"one": model(4, "elsewhere")}) == []
    assert told("GPU877", tenants, workloads={"one": model(2), "two": model(2)}) == [
        (
            "workloads.two.replicas.min",
            (
                "one, two may ask for 4 of nvidia.com/gpu.shared, and a, whose namespace a is, has "
                "3 on gpu."
            ),
        )
    ]


def borrowing(maximum: dict[str, Any], **more: Any) -> dict[str, Any]:
    part = {"guaranteed": {"shares": 2}, "maximum": maximum}
    return {"a": {"namespaces": ["a"], "queue": True, "pools": {"gpu": part}, **more}}


@pytest.mark.parametrize(
    ("maximum", "message"),
    [
        ({"shares": 2}, ""),
        ({"shares": 4}, ""),
        ({"shares": 1}, "It is less than the 2 of nvidia.com/gpu.shared that are guaranteed."),
        ({"shares": 5}, "It is 5 of nvidia.com/gpu.shared, and the pool has 4 at most."),
    ],
)
def test_what_a_tenant_may_have_at_most(maximum: dict[str, Any], message: str) -> None:
    wanted = [("tenants.a.pools.gpu.maximum", message)] if message else []

    assert told("GPU878", borrowing(maximum)) == wanted


def test_gib_at_most_are_of_any_mix() -> None:
    layout = {**SLICES, "sharing": {"mode": "mig", "layout": "all-balanced"}}

    def of(gib: int) -> dict[str, Any]:
        part = {"guaranteed": {"gpuMemoryGiB": 80}, "maximum": {"gpuMemoryGiB": gib}}
        return {"a": {"namespaces": ["a"], "queue": True, "pools": {"gpu": part}}}

    assert told("GPU878", of(120), pools={"gpu": layout}) == []
    assert told("GPU878", of(80), pools={"gpu": layout}) == []
    assert told("GPU878", of(79), pools={"gpu": layout}) == [
        ("tenants.a.pools.gpu.maximum", "It is less than the 80 GiB that are guaranteed.")
    ]
    assert told("GPU878", of(320), pools={"gpu": layout}) == []
    assert told("GPU878", of(321), pools={"gpu": layout}) == [
        ("tenants.a.pools.gpu.maximum", "It is 321 GiB, and the pool has 320 at most.")
    ]
    few = of(8)
    few["a"]["pools"]["gpu"]["guaranteed"] = {"gpuMemoryGiB": 7}
    rounded = "7 GiB are 1 mig-1g.5gb, 1 mig-2g.10gb, 1 mig-3g.20gb: 35 GiB"
    assert told("GPU878", few, pools={"gpu": layout}) == [
        (
            "tenants.a.pools.gpu.maximum",
            f"It is less than the 35 GiB that are guaranteed, in whole shares: {rounded}.",
        )
    ]
    assert paths("GPU870", borrowing({"gpuMemoryGiB": 9})) == [
        "tenants.a.pools.gpu.maximum.gpuMemoryGiB"
    ]


def test_a_quota_lends_nothing() -> None:
    message = "It may borrow, and a quota lends nothing."

    assert told("GPU878", borrowing({"shares": 4}, queue=False)) == [
        ("tenants.a.pools.gpu.maximum", message)
    ]


def test_a_tenant_with_a_queue_has_as_many_namespaces_as_it_likes() -> None:
    assert paths("GPU875", borrowing({"shares": 4}, namespaces=["a", "b"])) == []
    assert paths("GPU875", borrowing({"shares": 4}, namespaces=[])) == ["tenants.a.namespaces"]


def test_values_of_kueue_s_chart_that_undo_the_contract() -> None:
    undoing = "manageJobsWithoutQueueName: false"
    charts = {"kueue": {"values": {"managerConfig": {"controllerManagerConfigYaml": undoing}}}}

    ((path, message),) = told("GPU731", borrowing({"shares": 4}), charts=charts)
    assert path.startswith("charts.kueue.values.managerConfig")
    assert told("GPU731", {"a": tenant()}, charts=charts) == []  # it is not installed
    assert "beside what their tenant is sure of" in message


def test_a_workload_may_have_what_its_tenant_borrows() -> None:
    model = {"image": "registry.example/model:1.2", "pool": "gpu", "namespace": "a"}

    def of(replicas: int) -> list[str]:
        workloads = {"one": {**model, "replicas": {"min": replicas}}}
        return paths("GPU877", borrowing({"shares": 3}), workloads=workloads)

    assert of(3) == []
    assert of(4) == ["workloads.one.replicas.min"]


@pytest.mark.parametrize(
    ("space", "whose", "more"),
    [
        ("gpushare-verify", "what looks at the cluster", {"verifier": {"image": "verify:0.1.0"}}),
        ("scaling", "KEDA", {"keda": {"namespace": "scaling"}}),
        ("nvidia-device-plugin", "the GPU stack", {}),
        ("eks-gpushare-tenants", "what tenants may", {}),
    ],
)
def test_namespaces_that_the_stack_makes_for_something_else(
    space: str, whose: str, more: dict[str, Any]
) -> None:
    assert told("GPU735", {"a": tenant(space=space)}, **more) == [
        ("tenants.a.namespaces[0]", f"{space} is made for {whose} already.")
    ]


def test_the_namespace_of_kueue_is_taken_where_a_tenant_has_a_queue() -> None:
    queued = tenant(space="kueue-system", queue=True)

    assert paths("GPU735", {"a": queued}) == ["tenants.a.namespaces[0]"]
    assert paths("GPU735", {"a": tenant(space="kueue-system", admission=False)}) == []


def test_workloads_live_in_the_namespace_of_a_tenant() -> None:
    model = {"image": "registry.example/model:1.2", "pool": "gpu", "namespace": "a"}

    assert paths("GPU735", {"a": tenant()}, workloads={"one": model}) == []
    assert paths("GPU735", {"a": tenant(), "b": tenant()}) == []  # which GPU875 says


def test_a_workload_of_a_pool_that_its_tenant_has_nothing_of() -> None:
    model = {"image": "registry.example/model:1.2", "pool": "more", "namespace": "a"}
    pools = {"gpu": SHARED, "more": WHOLE}

    assert paths("GPU877", {"a": tenant()}, pools=pools, workloads={"one": model}) == [
        "workloads.one.replicas.min"
    ]


def test_a_kind_that_is_guaranteed_may_not_be_left_out_of_the_maximum() -> None:
    layout = {**SLICES, "sharing": {"mode": "mig", "layout": "all-balanced"}}
    part = {
        "guaranteed": {"sharesOf": {"mig-1g.5gb": 1, "mig-2g.10gb": 1}},
        "maximum": {"sharesOf": {"mig-1g.5gb": 2}},
    }
    given = {"a": {"namespaces": ["a"], "queue": True, "pools": {"gpu": part}}}

    assert told("GPU878", given, pools={"gpu": layout}) == [
        (
            "tenants.a.pools.gpu.maximum",
            "It is less than the 1 of nvidia.com/mig-2g.10gb that are guaranteed.",
        )
    ]


def of_others(*names: str, **more: Any) -> dict[str, Any]:
    return {**tenant(**more), "namespaces": [], "existingNamespaces": [*names]}


def test_a_namespace_may_be_there_already() -> None:
    assert told("GPU875", {"a": of_others("old")}) == []
    assert told("GPU875", {"a": of_others("old", "older", queue=True)}) == []


@pytest.mark.parametrize(
    ("tenants", "path", "message"),
    [
        (
            {"a": of_others("old", "older")},
            "tenants.a.namespaces",
            "a has 2 namespaces, and its contract is the quota of one.",
        ),
        (
            {"a": {**of_others("old"), "namespaces": ["a"]}},
            "tenants.a.namespaces",
            "a has 2 namespaces, and its contract is the quota of one.",
        ),
        (
            {"a": of_others()},
            "tenants.a.namespaces",
            "a has 0 namespaces, and its contract is the quota of one.",
        ),
        (
            {"a": tenant(space="old"), "b": of_others("old")},
            "tenants.b.existingNamespaces[0]",
            "old is a namespace of a.",
        ),
        (
            {"a": {**of_others("a", queue=True), "namespaces": ["a"]}},
            "tenants.a.existingNamespaces[0]",
            "a is named twice.",
        ),
    ],
)
def test_namespaces_are_a_tenant_s_own_whoever_makes_them(
    tenants: dict[str, Any], path: str, message: str
) -> None:
    assert told("GPU875", tenants) == [(path, message)]
