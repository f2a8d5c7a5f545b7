"""Small parts of reading a cluster: times, kinds, whose cluster it is, and a map of shares."""

from __future__ import annotations

import copy
import ctypes
import os
import signal
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.live.test_faults import (
    GPU,
    HEALTHY,
    NOW,
    STACK,
    deployment,
    gpu_node,
    objects_of,
    plugin_pod,
    shares,
    without,
)

from eks_gpushare.live import die_with_parent
from eks_gpushare.live.connection import CannotLookError
from eks_gpushare.live.held_shares import capacity_of, held_shares
from eks_gpushare.live.kinds import LISTED, cluster_role
from eks_gpushare.live.nodes import CAPACITY_LABELS, gpu_nodes_of
from eks_gpushare.live.objects import moment, name_of, namespace_of, newest_time
from eks_gpushare.live.same_cluster import refuse_another_cluster
from eks_gpushare.live.share_map import share_map_of
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.live.test_faults import Cluster

    from eks_gpushare.reports.share_map import ShareMap

THEN = datetime(2026, 11, 26, 18, 2, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("time", "then"),
    [
        ("2026-11-26T18:02:07Z", THEN),
        ("2026-11-26T18:02:07", THEN),
        ("2026-11-26T20:02:07+02:00", THEN),
        ("of no day", None),
        (1, None),
        (None, None),
    ],
)
def test_a_time_is_one_of_kubernetes(time: object, then: datetime | None) -> None:
    assert moment(time) == then
    since = objects_of([]).seconds_since(time)
    assert since == (None if then is None else (NOW - then).total_seconds())


def test_the_newest_time_is_about_that_of_a_dump() -> None:
    given = {
        "metadata": {"creationTimestamp": "2026-11-26T18:00:00Z"},
        "status": {"conditions": [{"lastHeartbeatTime": "2026-11-26T18:02:07Z"}]},
    }

    assert newest_time([given, {}]) == THEN
    assert newest_time([{}]) is None
    assert (name_of({}), namespace_of({})) == ("", "")


def test_each_kind_has_its_path_and_its_right() -> None:
    paths = {listed.kind: listed.path("v1") for listed in LISTED}

    assert paths["Pod"] == "/api/v1/pods"
    assert paths["NodePool"] == "/apis/karpenter.sh/v1/nodepools"
    rules: Any = cluster_role("reader")["rules"]
    assert sum(len(rule["resources"]) for rule in rules) == len(
        {(each.group, each.plural) for each in LISTED}
    )


def without_config(cluster: list[Any]) -> list[Any]:
    return [each for each in cluster if each["kind"] != "ConfigMap"]


def relabelled() -> Cluster:
    """The cluster with its nodes in a pool of another name."""
    cluster: Cluster = copy.deepcopy(HEALTHY)
    found = gpu_node(cluster)["metadata"]["labels"]
    for key in [key for key in found if "nodegroup" in key or "eks-gpushare" in key]:
        del found[key]
    found.pop("nvidia.com/device-plugin.config", None)
    return cluster


def test_a_cluster_is_the_stack_s_by_its_pools_or_by_its_configuration() -> None:
    def look(cluster: list[Any], stack: Any = STACK) -> None:
        objects = objects_of(cluster)
        refuse_another_cluster(objects, stack, gpu_nodes_of(objects, stack.plans))

    look(HEALTHY)
    look(without_config(HEALTHY))
    look(relabelled())
    look(without_config(relabelled()), replace(STACK, plans={}))
    with pytest.raises(CannotLookError, match=r"those of the cluster g6\.12xlarge"):
        look(without_config(relabelled()))
    with pytest.raises(CannotLookError, match="those of the cluster none with GPUs"):
        look([])


def test_shares_are_held_by_pods_of_pools_of_the_stack() -> None:
    found = held_shares(objects_of(HEALTHY), STACK)
    assert found.nodes is not None
    assert len(found.nodes) == 1
    assert found.notes == ()
    with pytest.raises(CannotLookError, match="a cluster: forbidden"):
        held_shares(objects_of(HEALTHY, Pod="forbidden"), STACK)
    others = held_shares(objects_of(relabelled()), STACK)
    assert others.nodes == ()
    assert len(others.notes) == 1


@pytest.mark.parametrize(
    ("told", "way"),
    [
        ("on-demand", "onDemand"),
        ("ON_DEMAND", "onDemand"),
        ("spot", "spot"),
        ("CAPACITY_BLOCK", "capacityBlock"),
        ("", None),
        ("other", None),
    ],
)
def test_a_capacity_type_is_one_of_karpenter_or_of_eks(told: str, way: str | None) -> None:
    assert capacity_of(told) == way


@pytest.mark.parametrize("label", CAPACITY_LABELS)
def test_a_node_is_bought_as_one_of_its_labels_says(label: str) -> None:
    cluster: Cluster = copy.deepcopy(HEALTHY)
    labels = gpu_node(cluster)["metadata"]["labels"]
    for each in CAPACITY_LABELS:
        labels.pop(each, None)
    (unknown,) = held_shares(objects_of(cluster), STACK).nodes or ()
    labels[label] = "spot"
    (known,) = held_shares(objects_of(cluster), STACK).nodes or ()

    assert unknown.capacity is None
    assert known.capacity == "spot"


def the_map(cluster: list[Any], *, with_stack: bool = True, **unread: str) -> ShareMap:
    return share_map_of(verdict_of(objects_of(cluster, **unread), STACK if with_stack else None))


def broken(*, also: bool = False) -> Cluster:
    cluster: Cluster = copy.deepcopy(HEALTHY)
    shares(cluster, 16)
    if also:
        cluster.append(deployment("a", "exceeded quota: one."))
    return cluster


def test_a_map_is_of_the_stack_or_else_of_the_cluster() -> None:
    assert the_map(HEALTHY).subject == STACK.name
    assert the_map(HEALTHY, with_stack=False).subject == objects_of(HEALTHY).whence


def test_a_map_says_how_it_stands() -> None:
    assert the_map(HEALTHY).summary == "as declared"
    assert the_map(HEALTHY, with_stack=False).summary == "nothing is wrong"
    assert the_map(broken()).summary == "1 cause of errors"
    assert the_map(broken(also=True)).summary == "2 causes of errors"
    assert the_map(HEALTHY, ResourceQuota="forbidden").summary == "as declared as far as is known"


def test_a_map_tells_what_follows_in_short() -> None:
    cluster: Cluster = copy.deepcopy(HEALTHY)
    without(cluster, plugin_pod(cluster))
    gpu_node(cluster)["status"]["allocatable"].pop(GPU)
    (follows,) = [cause.follows for cause in the_map(cluster).causes if cause.follows]

    assert follows == ("gpu-0: it advertises nothing instead of 40 nvidia.com/gpu.",)


LIBC = ctypes.CDLL(None)
OF_PARENT, TOLD = 1, 2  # PR_SET_PDEATHSIG and PR_GET_PDEATHSIG of linux/prctl.h


@pytest.fixture
def become(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[Any]]]:
    """`become(parent, *command)`: all but the program's start, and what would be started."""
    before = ctypes.c_int()
    LIBC.prctl(TOLD, ctypes.byref(before))

    def start(parent: int, *command: str) -> list[Any]:
        started: list[Any] = []
        monkeypatch.setattr(sys, "argv", [die_with_parent.__file__, str(parent), *command])
        with monkeypatch.context() as here:
            here.setattr(os, "execv", lambda *words: started.append(words))
            die_with_parent.main()
        return started

    yield start
    LIBC.prctl(OF_PARENT, before)


def test_a_program_is_started_once_the_kernel_has_tied_it(become: Callable[..., list[Any]]) -> None:
    tied = ctypes.c_int()
    started = become(os.getppid(), "/bin/echo", "a", "b")
    LIBC.prctl(TOLD, ctypes.byref(tied))

    assert tied.value == signal.SIGKILL
    assert started == [("/bin/echo", ["/bin/echo", "a", "b"])]


def test_nothing_is_started_for_a_parent_that_has_gone(become: Callable[..., list[Any]]) -> None:
    with pytest.raises(SystemExit, match=r"^the parent has gone$"):
        become(0, "/bin/echo", "a")


@pytest.mark.usefixtures("become")
def test_a_program_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [die_with_parent.__file__, str(os.getppid()), "/not/there", "a"]
    monkeypatch.setattr(sys, "argv", words)

    with pytest.raises(SystemExit, match=r"^/not/there cannot be run: No such file or directory$"):
        die_with_parent.main()
