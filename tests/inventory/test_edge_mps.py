"""MPS: who may share, on which GPUs, and what its daemon and pods need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import (
    GPU,
    PRESENT,
    codes,
    config_map,
    nodes,
    operator,
    plugin,
    pods,
    problems,
    said,
)

from eks_gpushare.inventory.edges import mps as mps_edge
from eks_gpushare.inventory.edges.mps import users_of
from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

SHM = "/dev/shm"  # noqa: S108  (a place in a container)
GFD = {"gfd": {"enabled": True}}


def mps(replicas: Any = 4, **more: Any) -> dict[str, Any]:
    block = {"resources": [{"name": GPU, "replicas": replicas}]}
    return {"config": {"map": {"default": {"sharing": {"mps": block}}}}, **more}


def as_user(user: Any, name: str = "app", **more: Any) -> Item:
    return pods({GPU: 1}, name=name, securityContext={"runAsUser": user}, **more)


def mounting(path: str) -> Item:
    resources = {"limits": {GPU: 1}}
    mounts = [{"name": "memory", "mountPath": path}]
    container = {"name": "main", "resources": resources, "volumeMounts": mounts}
    return pods(spec={"containers": [container]})


POOL = nodes(labels=PRESENT)
DAEMON = plugin(mps(**GFD))
SLICED = plugin(
    {"config": {"map": {"a": {"sharing": {"timeSlicing": {"resources": [
        {"name": GPU, "replicas": 4}]}}}}}}
)  # fmt: skip

BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "two users": ("GPU1170", (POOL, DAEMON, as_user(0), as_user(1000, "b"))),
    "two of three": ("GPU1170", (POOL, DAEMON, as_user(5), as_user(5, "b"), as_user(6, "c"))),
    "no feature discovery": ("GPU1171", (POOL, plugin(mps()))),
    "MIG devices": (
        "GPU1172",
        (
            nodes("p4d.24xlarge", labels=PRESENT, user_data='MIG_LAYOUT="*=19:0"'),
            plugin(mps(**GFD, migStrategy="single")),
        ),
    ),
    "more than MPS takes": ("GPU1173", (POOL, plugin(mps(49, **GFD)))),
    "more than a V100 takes": (
        "GPU1173",
        (nodes("p3.2xlarge", labels=PRESENT), plugin(mps(17, **GFD))),
    ),
    "shared memory of its own": ("GPU1174", (POOL, DAEMON, mounting(SHM))),
    "with a slash": ("GPU1174", (POOL, DAEMON, mounting(f"{SHM}/"))),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "one user": (POOL, DAEMON, as_user(1000), as_user(1000, "b")),
    "users by time slicing": (POOL, SLICED, as_user(0), as_user(1000, "b")),
    "users on pools of their own": (
        nodes(labels={**PRESENT, "pool": "a"}, name="a"),
        nodes(labels={**PRESENT, "pool": "b"}, name="b"),
        DAEMON,
        as_user(0, nodeSelector={"pool": "a"}),
        as_user(1000, "b", nodeSelector={"pool": "b"}),
    ),
    "users that images decide": (POOL, DAEMON, as_user(0), pods({GPU: 1})),
    "a user that is not known": (POOL, DAEMON, as_user(0), as_user(UNKNOWN, "b")),
    "a label by hand": (
        nodes(labels={**PRESENT, "nvidia.com/mps.capable": "true"}),
        plugin(mps()),
    ),
    "the operator brings feature discovery": (
        POOL,
        operator(
            {
                "mig": {"strategy": ""},
                "devicePlugin": {"config": {"name": "x", "default": "default", "data": {
                    "default": {"sharing": {"mps": {"resources": [
                        {"name": GPU, "replicas": 4}]}}}}}},
            }
        ),
    ),
    "as many as MPS takes": (POOL, plugin(mps(48, **GFD))),
    "as many as a V100 takes": (
        nodes("p3.2xlarge", labels=PRESENT),
        plugin(mps(16, **GFD)),
    ),
    "a volume elsewhere": (POOL, DAEMON, mounting("/data")),
    "shared memory by time slicing": (POOL, SLICED, mounting(SHM)),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_what_does_not_go_with_mps_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_what_does_is_not(case: str) -> None:
    assert codes(*RIGHT[case]) == []


def test_a_user_of_containers_counts() -> None:
    resources = {"limits": {GPU: 1}}
    one = {"name": "a", "resources": resources, "securityContext": {"runAsUser": 7}}
    spec = {"securityContext": {"runAsUser": 0}, "containers": [one]}
    (found,) = problems(POOL, DAEMON, as_user(0), pods(spec=spec, name="b"))

    assert found.message == (
        "The Deployment b runs as user 7 and the Deployment app as 0; both share GPUs by MPS on "
        "the node group gpu, where one of the two is served at a time."
    )


def test_mig_devices_that_nobody_hands_out_are_no_devices_of_mps() -> None:
    cut = nodes("p4d.24xlarge", labels=PRESENT, user_data='MIG_LAYOUT="*=19:0"')

    assert codes(cut, plugin(mps(**GFD))) == ["GPU1134"]
    assert (
        codes(nodes("p4d.24xlarge", labels=PRESENT), plugin(mps(**GFD, migStrategy="single"))) == []
    )


ASKS = {"resources": {"limits": {GPU: 1}}, "image": "app:1"}


def runs_as(user: Any = None, **more: Any) -> dict[str, Any]:
    return {**ASKS, "securityContext": {} if user is None else {"runAsUser": user}, **more}


@pytest.mark.parametrize(
    ("spec", "users"),
    [
        ({"containers": [runs_as()], "securityContext": {"runAsUser": 5}}, ["5"]),
        ({"containers": [runs_as(7)]}, ["7"]),
        ({"containers": [runs_as(7), runs_as()]}, ["7", "0"]),
        ({"containers": [runs_as(7), {"securityContext": {"runAsUser": 8}}]}, ["7"]),
        ({"containers": [runs_as(5), runs_as()], "securityContext": {"runAsUser": 5}}, ["5", "5"]),
        (
            {
                "containers": [runs_as()],
                "initContainers": [runs_as(0)],
                "securityContext": {"runAsUser": 5},
            },
            ["5"],
        ),
        ({"containers": [runs_as()], "securityContext": {"runAsNonRoot": True}}, ["app:1"]),
        ({"containers": [runs_as()], "securityContext": {"runAsNonRoot": False}}, ["0"]),
        ({"containers": [runs_as(UNKNOWN)]}, None),
        ({"containers": [runs_as(image=UNKNOWN)]}, None),
        ({"containers": []}, None),
        ({"containers": [{}]}, None),
        ({}, None),
    ],
)
def test_the_users_of_a_pod_are_those_of_what_asks_for_gpus(
    spec: Any, users: list[str] | None
) -> None:
    workload = pods(spec=spec)
    assert isinstance(workload, Workload)

    assert users_of(workload) == users


def test_who_sets_no_user_is_taken_for_root() -> None:
    """As the lab takes it: images are root's unless they say otherwise."""
    unset = pods({GPU: 1}, name="b")

    assert codes(POOL, DAEMON, as_user(0), unset) == []
    assert codes(POOL, DAEMON, unset, pods({GPU: 1}, name="c")) == []
    (found,) = problems(POOL, DAEMON, as_user(1000), unset)
    assert found.message == (
        "The Deployment b runs as user 0 and the Deployment app as 1000; both share GPUs by MPS on "
        "the node group gpu, where one of the two is served at a time. Where no runAsUser is set, "
        "the image decides; root is assumed."
    )


def test_containers_of_two_users_are_told_of() -> None:
    spec = {"containers": [runs_as(7, name="a"), runs_as(8, name="b")]}
    (found,) = problems(POOL, DAEMON, pods(spec=spec))

    assert found.rule.id == "GPU1170"
    assert "run as user 7 and user 8; they share GPUs by MPS" in found.message


def written_out(*command: str, root: str = "/run/nvidia/mps") -> Item:
    container = {
        "name": "main",
        "image": "nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
        "command": list(command),
        "args": ["--config-file=/config/config.yaml", f"--mps-root={root}"],
        "volumeMounts": [{"name": "config", "mountPath": "/config"}],
    }
    volumes = [{"name": "config", "configMap": {"name": "shares"}}]
    spec = {"containers": [container], "volumes": volumes, "tolerations": [{"operator": "Exists"}]}
    return pods(kind="DaemonSet", name=command[0], namespace="kube-system", spec=spec)


def test_a_plugin_that_is_written_out_needs_the_daemon_beside_it() -> None:
    config = f"version: v1\nsharing: {{mps: {{resources: [{{name: {GPU}, replicas: 4}}]}}}}\n"
    alone = POOL, config_map("shares", {"config.yaml": config}), written_out("nvidia-device-plugin")

    assert said(mps_edge.nodes_with_mps, *alone) == [
        (
            "GPU1171",
            "The node group gpu is to share GPUs by MPS, and no MPS control daemon is here.",
        )
    ]
    assert said(mps_edge.nodes_with_mps, *alone, written_out("mps-control-daemon")) == []
    lost = *alone[:2], written_out("nvidia-device-plugin", root="")
    ((code, message),) = said(mps_edge.nodes_with_mps, *lost, written_out("mps-control-daemon"))
    assert code == "GPU1171"
    assert message.startswith("The device plugin of the DaemonSet nvidia-device-plugin shares")


def test_each_declaration_is_told_of_once() -> None:
    both = nodes("g5.xlarge", "g5.2xlarge", labels=PRESENT)
    more = pods({GPU: 1}, name="c", securityContext={"runAsUser": 9})

    assert [each.rule.id for each in problems(both, plugin(mps(49)))] == ["GPU1173", "GPU1171"]
    found = problems(both, DAEMON, as_user(0), as_user(1000, "b"), more)
    assert [each.rule.id for each in found] == ["GPU1170", "GPU1170"]


def test_of_files_feature_discovery_may_stand_in_others() -> None:
    (found,) = problems(POOL, plugin(mps()), complete=False)

    assert found.severity == "warning"
    assert said(mps_edge.nodes_with_mps, nodes(labels=UNKNOWN), plugin(mps())) == []


def cutting(
    default: Any = "all-1g.5gb", strategy: str = "single", sharing: str = "mps", on: Any = "true"
) -> Item:
    """The operator, whose MIG manager cuts nodes without a label, and whose plugin shares GPUs."""
    shared = {sharing: {"resources": [{"name": GPU, "replicas": 4}]}}
    configs = {"name": "x", "default": "a", "data": {"a": {"sharing": shared}}}
    manager = {"enabled": on, "config": {"default": default}}
    given = {"mig": {"strategy": strategy}, "devicePlugin": {"config": configs}}
    return operator({**given, "migManager": manager})


BY_DEFAULT = (
    "MIG manager of the Release gpu-operator cuts GPUs by the layout all-1g.5gb, and its device "
    "plugin shares them by MPS."
)


@pytest.mark.parametrize(
    ("items", "severities"),
    [
        ((cutting(),), ["warning"]),
        ((cutting(strategy="mixed"),), ["warning"]),
        ((cutting(strategy="none"),), []),
        ((cutting("all-disabled"),), []),
        ((cutting(""),), []),
        ((cutting(UNKNOWN),), []),
        ((cutting(None),), []),
        ((cutting(sharing="timeSlicing"),), []),
        ((cutting(on=False),), []),
        ((cutting(), operator(name="b")), []),
        ((operator(UNKNOWN),), []),
        ((cutting(), POOL), []),  # of nodes that are declared it is known what they have
    ],
)
def test_what_mig_manager_cuts_by_default_is_not_shared_by_mps(
    items: tuple[Item, ...], severities: list[str]
) -> None:
    found = problems(*items, of=[mps_edge.NOT_ON_MIG])

    assert [each.severity for each in found] == severities
    assert all(each.message == BY_DEFAULT for each in found)
    assert all(each.source.name == "the Release gpu-operator" for each in found)


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [
        ({"nvidia.com/mig.config": "all-1g.5gb", "nvidia.com/device-plugin.config": "a"}, True),
        ({"nvidia.com/mig.config": "all-disabled", "nvidia.com/device-plugin.config": "a"}, False),
        ({"nvidia.com/mig.config": "all-1g.5gb"}, False),  # another label may choose another
        ({"nvidia.com/device-plugin.config": "a"}, False),
    ],
)
def test_what_a_label_by_hand_cuts_is_not_shared_by_mps(
    labels: dict[str, str], wrong: bool
) -> None:
    by_hand = nodes(instance_types=(), provisioner="byHand", labels=labels)
    found = problems(cutting("all-disabled"), by_hand, of=[mps_edge.NOT_ON_MIG])

    assert [(each.severity, each.path, each.source.name) for each in found] == [
        (None, ("labels", "nvidia.com/mig.config"), "the node group gpu")
    ] * wrong
