"""A pool is described once: what it hands out, and what a manager makes of it."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import pulumi
import pytest
from tests.components.test_checked_once import counted_rules

from eks_gpushare.rules import checks_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

    from eks_gpushare import GpuPool

MANAGERS = ["DevicePlugin", "GpuOperator"]
SHARED = {"instance_types": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 4}}
MPS = {"instance_types": ["g6.2xlarge"], "sharing": {"mode": "mps", "replicas": 3}}
OWN_TYPE = {
    "vcpus": 8,
    "memory_mib": 32768,
    "arch": "amd64",
    "gpu": {"model": "A100", "count": 1, "memory_mib": 40960, "compute_capability": "8.0"},
}


def make_pool(name: str, keys: dict[str, Any]) -> GpuPool:
    import eks_gpushare

    given: Any = {"pool": name, "cluster_name": "demo", "cluster_subnet_ids": ["subnet-0a"], **keys}
    return eks_gpushare.GpuPool(name, given)


def manage(manager: str, args: dict[str, Any]) -> None:
    import pulumi_kubernetes

    import eks_gpushare

    provider = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
    getattr(eks_gpushare, manager)("demo", args, pulumi.ResourceOptions(providers=[provider]))


@pytest.fixture
def serve(record: Callable[..., Run]) -> Callable[..., Run]:
    """`serve(manager, pool={...})` makes the pools and a manager that takes what they hand out.

    `change` is done to the list of what they hand out, `more` are further arguments.
    """

    def run(
        manager: str,
        *,
        fails: bool = False,
        more: dict[str, Any] | None = None,
        change: Callable[[list[Any]], object] = list,
        **pools: dict[str, Any],
    ) -> Run:
        def program() -> None:
            served: Any = [make_pool(name, keys).served for name, keys in pools.items()]
            manage(manager, {"served": change(served), **(more or {})})

        return record(program, fails=fails)

    return run


@pytest.fixture
def described(record: Callable[..., Run]) -> Callable[..., Run]:
    """`described(manager, pool={...})` runs a manager that is told of the pools by hand."""

    def run(manager: str, **pools: dict[str, Any]) -> Run:
        return record(lambda: manage(manager, {"pools": pools}))

    return run


def of(manager: str, run: Run) -> list[Any]:
    """What a manager and its children register."""
    return [
        (each.urn, each.inputs)
        for each in sorted(run, key=lambda each: each.urn)
        if f":{manager}" in each.urn
    ]


@pytest.mark.parametrize("manager", MANAGERS)
def test_served_pools_are_the_same_as_pools_by_name(
    serve: Callable[..., Run], described: Callable[..., Run], manager: str
) -> None:
    """Nothing in the state changes for who goes over from the one to the other."""
    taint = {"key": "workload", "effect": "NoExecute"}
    pools = {"a": {**SHARED, "taints": [taint]}, "b": {**MPS, "nodes": {"max": 3}}}

    assert of(manager, serve(manager, **pools)) == of(manager, described(manager, **pools))


@pytest.mark.parametrize("manager", MANAGERS)
def test_served_pools_stand_beside_pools_that_others_make(
    serve: Callable[..., Run], described: Callable[..., Run], manager: str
) -> None:
    edge = {**SHARED, "provisioner": "existing"}

    both = serve(manager, a=MPS, more={"pools": {"edge": edge}})

    assert of(manager, both) == of(manager, described(manager, a=MPS, edge=edge))


def handed_out(record: Callable[..., Run], **keys: Any) -> Any:
    found: list[Any] = []
    record(lambda: found.append(make_pool("gpu", {**SHARED, **keys}).served))
    return found[0]


def test_a_pool_hands_out_what_was_given_of_what_concerns_a_manager(
    record: Callable[..., Run],
) -> None:
    assert handed_out(record, nodes={"max": 3}, root_volume_gib=500, labels={"a": "b"}) == {
        "name": "gpu",
        "instance_types": ["g6.2xlarge"],
        "sharing": {"mode": "timeSlicing", "replicas": 4},
    }


@pytest.mark.parametrize("manager", MANAGERS)
def test_a_pool_is_ruled_by_itself_and_not_by_its_manager(
    serve: Callable[..., Run], manager: str
) -> None:
    """But for the few checks whose answer depends on the manager."""
    with counted_rules() as runs:
        serve(manager, gpu=SHARED)

    by_manager = {each.look.__name__ for each in checks_of() if each.by_manager}
    again = {name for name, count in runs.items() if count > 1}
    assert again <= by_manager
    assert "custom_ami" in again
    assert runs["enough_replicas"] == 1


def one_replica(served: list[Any]) -> list[Any]:
    served[0]["sharing"]["replicas"] = 1
    return served


def one_replica_in_a_copy(served: list[Any]) -> list[Any]:
    return one_replica(copy.deepcopy(served))


def other_sharing(served: list[Any]) -> list[Any]:
    return [{**served[0], "sharing": {"mode": "timeSlicing", "replicas": 1}}]


@pytest.mark.parametrize("change", [one_replica, one_replica_in_a_copy, other_sharing])
@pytest.mark.parametrize("manager", MANAGERS)
def test_what_is_changed_about_a_served_pool_is_checked(
    serve: Callable[..., Run], manager: str, change: Callable[[list[Any]], object]
) -> None:
    error = serve(manager, gpu=SHARED, change=change, fails=True).error

    assert error == (
        f"{manager}: 1 argument is wrong:\n"
        "  served[0].sharing.replicas: 1 is less than 2; a GPU is shared by at least two pods. "
        'Set 2 or more, or "mode": "exclusive" for a pod per GPU. [GPU201]'
    )


COPIES: dict[str, Callable[[Any], Any]] = {
    "dict": dict,
    "method": lambda served: served.copy(),
    "shallow": copy.copy,
    "deep": copy.deepcopy,
    "union": lambda served: served | {},
    "pickle": lambda served: pickle.loads(pickle.dumps(served)),  # noqa: S301  (made here)
}


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_of_a_served_pool_is_checked(record: Callable[..., Run], way: str) -> None:
    served = handed_out(record)

    made = COPIES[way](served)
    with counted_rules() as runs:
        record(lambda: manage("DevicePlugin", {"served": [made]}))

    assert (made == served, type(made), runs["enough_replicas"]) == (True, dict, 1)


@pytest.mark.parametrize("manager", MANAGERS)
def test_a_served_pool_written_by_hand_is_validated(
    record: Callable[..., Run], manager: str
) -> None:
    by_hand = {"name": "gpu", "instance_type": ["g6.2xlarge"], "sharing": {"mode": "exclusive"}}

    error = record(lambda: manage(manager, {"served": [by_hand]}), fails=True).error

    assert [line.partition(": ")[0].strip() for line in error.splitlines()[1:]] == [
        "served[0].instance_type"  # which is the instance_types that are missing
    ]


@pytest.mark.parametrize("manager", MANAGERS)
def test_a_pool_that_is_served_twice_is_refused(serve: Callable[..., Run], manager: str) -> None:
    error = serve(manager, gpu=SHARED, change=lambda served: served * 2, fails=True).error

    assert error == (
        f"{manager}: 1 argument is wrong:\n"
        '  served[1].name: "gpu" is the name of served[0] already; every pool has its own. '
        "Give each pool once, and another name to one of two. [GPU002]"
    )


@pytest.mark.parametrize("manager", MANAGERS)
def test_a_name_in_served_and_in_pools_is_refused(serve: Callable[..., Run], manager: str) -> None:
    more = {"pools": {"gpu": {**SHARED, "provisioner": "existing"}}}

    error = serve(manager, gpu=SHARED, more=more, fails=True).error

    assert error == (
        f"{manager}: 1 argument is wrong:\n"
        '  served[0].name: "gpu" is the name of pools.gpu already; every pool has its own. '
        "Give each pool once, and another name to one of two. [GPU002]"
    )


@pytest.mark.parametrize("given", [{}, {"pools": {}}, {"served": []}, {"served": [], "pools": {}}])
@pytest.mark.parametrize("manager", MANAGERS)
def test_no_pool_at_all_is_refused(
    record: Callable[..., Run], manager: str, given: dict[str, Any]
) -> None:
    error = record(lambda: manage(manager, given), fails=True).error

    assert error == (
        f"{manager}: 1 argument is wrong:\n"
        "  served: No pool is given. "
        "Give served, such as [pool.served], or pools for nodes that others make. [GPU004]"
    )


@pytest.mark.parametrize("given", ["gpu", {"name": "gpu"}])
def test_served_is_a_list(record: Callable[..., Run], given: object) -> None:
    error = record(lambda: manage("DevicePlugin", {"served": given}), fails=True).error

    assert error.startswith("DevicePlugin: 1 argument is wrong:\n  served: ")
    assert "a list is expected" in error


def test_an_output_is_no_served_pool(record: Callable[..., Run]) -> None:
    def program() -> None:
        manage("DevicePlugin", {"served": pulumi.Output.from_input([SHARED])})

    error = record(program, fails=True).error

    assert "  served: An output is known too late" in error


def test_a_layout_of_mig_manager_is_refused_by_a_manager_that_has_none(
    serve: Callable[..., Run],
) -> None:
    """The pool by itself is right: who serves it decides."""
    sharing = {"mode": "mig", "layout": "all-1g.5gb", "apply": "migManager"}
    pool = {"instance_types": ["p4d.24xlarge"], "sharing": sharing}

    error = serve("DevicePlugin", gpu=pool, fails=True).error

    assert error == (
        "DevicePlugin: 1 argument is wrong:\n"
        "  served[0].sharing.apply: apply is migManager, but DevicePlugin brings no MIG manager. "
        'Use GpuOperator in its place, or "apply": "boot", by which the nodes make the layout '
        "themselves. [GPU270]"
    )
    assert "demo-mig-config" in {each.name for each in serve("GpuOperator", gpu=pool)}


def test_the_operator_s_plugin_on_served_bottlerocket_is_refused(
    serve: Callable[..., Run],
) -> None:
    chart = {"ami_family": "bottlerocket", "bottlerocket": {"device_plugin": "chart"}}

    error = serve("GpuOperator", gpu={**SHARED, **chart}, fails=True).error

    assert "  served[0].bottlerocket.device_plugin: The GPU Operator would bring" in error


def test_served_bottlerocket_with_a_plugin_of_its_own_is_left_alone(
    serve: Callable[..., Run],
) -> None:
    made = serve("DevicePlugin", a=SHARED, b={**SHARED, "ami_family": "bottlerocket"})

    assert set(made.inputs("ConfigMap")["data"]) == {"a", "default"}


def own(count: int = 1) -> dict[str, Any]:
    entry = {**OWN_TYPE, "gpu": {**OWN_TYPE["gpu"], "count": count}}  # type: ignore[dict-item]
    return {"instance_types": {"x1.large": entry}}


MIG_ON_TOP = {
    "instance_types": ["x1.large"],
    "sharing": {"mode": "mig", "layout": "all-1g.5gb", "time_slicing": {"replicas": 2}},
}


@pytest.mark.parametrize("manager", MANAGERS)
def test_what_a_pool_adds_to_the_catalog_goes_with_it(
    serve: Callable[..., Run], manager: str
) -> None:
    made = serve(manager, gpu={**MIG_ON_TOP, "catalog": own()})

    assert "nvidia.com/mig-1g.5gb" in made.inputs("ConfigMap")["data"]["gpu"]


def test_pools_may_add_the_same_to_the_catalog(serve: Callable[..., Run]) -> None:
    pool = {**MIG_ON_TOP, "catalog": own()}

    made = serve("DevicePlugin", a=pool, b=pool, more={"catalog": own()})

    assert set(made.inputs("ConfigMap")["data"]) == {"a", "b", "default"}


def test_catalogs_that_disagree_are_refused(serve: Callable[..., Run]) -> None:
    a, b = ({**MIG_ON_TOP, "catalog": own(count)} for count in (1, 8))

    error = serve("DevicePlugin", a=a, b=b, fails=True).error

    assert error == (
        "DevicePlugin: 1 argument is wrong:\n"
        '  served[1].catalog.instance_types["x1.large"]: x1.large is not the same here as in '
        "another catalog beside it. Give all pools of a manager, and the manager, the same "
        "catalog. [GPU006]"
    )


def test_a_wrong_entry_of_a_catalog_is_named_where_it_is(record: Callable[..., Run]) -> None:
    by_hand = {**SHARED, "name": "gpu", "catalog": {"instance_types": {"x1.large": {"vcpus": 2}}}}

    error = record(lambda: manage("DevicePlugin", {"served": [by_hand]}), fails=True).error

    assert '  served[0].catalog.instance_types["x1.large"]: x1.large is not in the' in error


def test_tolerations_of_a_pool_are_those_of_its_taints(gpu_pool: Callable[..., Run]) -> None:
    taints = [
        {"key": "nvidia.com/gpu", "effect": "NoSchedule"},
        {"key": "workload", "value": "training", "effect": "NoExecute"},
    ]

    assert gpu_pool(taints=taints, preview=False).one("GpuPool").outputs["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "workload", "operator": "Equal", "value": "training", "effect": "NoExecute"},
    ]


def test_a_pool_without_taints_needs_no_toleration(gpu_pool: Callable[..., Run]) -> None:
    assert gpu_pool(taints=[], preview=False).one("GpuPool").outputs["tolerations"] == []
