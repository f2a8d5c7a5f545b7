"""What the checks of inventories say of a cluster: of which link, with what evidence, of whom."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.live.test_checks_alone import node_of
from tests.live.test_faults import (
    HEALTHY,
    ROOT,
    about,
    objects_of,
    pod,
    taint,
    verdict,
)

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.registry import Edge
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live import rules
from eks_gpushare.live.cluster_inventory import (
    ReadCluster,
    inventory_faults,
    read,
    with_unseen_layouts,
)
from eks_gpushare.live.faults import Link
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.live.test_faults import Cluster

    from eks_gpushare.live.nodes import LiveNode

CUT = {"nvidia.com/mig-1g.5gb": 7}


@pytest.fixture
def cluster() -> Cluster:
    found: Cluster = copy.deepcopy(HEALTHY)
    return found


def test_an_object_of_a_cluster_has_no_lines(cluster: Cluster) -> None:
    items = read(objects_of(cluster), {}).inventory.items

    assert {item.source.document.position(("spec", "a")) for item in items} == {Position(1, 1)}


def test_what_follows_from_a_taint_is_told_below_it_with_its_place(cluster: Cluster) -> None:
    taint(cluster, "other", "b", "PreferNoSchedule")
    taint(cluster, "team", "a")
    found = {
        cause.fault.finding.message: [(each.link, each.evidence) for each in cause.follows]
        for cause in verdict(cluster).causes
        if cause.fault.link is Link.TAINTS
    }

    declared = "which its pool does not declare."
    assert found[f"gpu-0: it has the taint other=b:PreferNoSchedule, {declared}"] == []
    of_team = found[f"gpu-0: it has the taint team=a:NoSchedule, {declared}"]
    assert of_team
    assert set(of_team) == {(Link.PLACEMENT, ("node gpu-0 spec.taints[2]",))}


def test_a_check_that_breaks_is_told_as_a_cause(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(_: Inventory) -> Any:
        raise KeyError("x")

    broken = Edge(EDGES[0].rules, look)
    monkeypatch.setattr("eks_gpushare.live.cluster_inventory.EDGES", (broken,))
    (found,) = inventory_faults(replace(read(objects_of(cluster), {}), judgements=[]), [])

    assert found.is_cause_only
    assert found.link is Link.PODS


@pytest.mark.parametrize(
    ("labels", "type_name", "names", "is_known"),
    [
        ({"karpenter.sh/nodepool": "gpu"}, "p4d.24xlarge", (), True),
        ({"karpenter.sh/nodepool": "other"}, "p4d.24xlarge", (), False),
        ({"karpenter.sh/nodepool": "gpu"}, "p4de.24xlarge", (), False),
        ({}, "p4d.24xlarge", ("gpu-0",), True),
        ({}, "p4d.24xlarge", ("gpu-1",), False),
        ({}, "p4de.24xlarge", ("gpu-1",), False),
    ],
)
def test_what_launches_a_cut_node_gives_out_what_the_node_does(
    labels: dict[str, str], type_name: str, names: tuple[str, ...], is_known: bool
) -> None:
    item = NodeSet(
        source=Source("the NodePool gpu"),
        name="gpu",
        provisioner="karpenter",
        instance_types=("p4d.24xlarge",),
    )
    node: LiveNode = node_of(labels=labels, type_name=type_name, advertised=CUT)
    cluster = ReadCluster(Inventory((item,)), nodes={"gpu": names})
    (found,) = with_unseen_layouts(cluster, [node]).inventory.items

    assert isinstance(found, NodeSet)
    assert found.advertised == ({"p4d.24xlarge": CUT} if is_known else None)


# --- rows, and nodes to come ---------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 2])
def test_pods_that_wait_are_counted(cluster: Cluster, count: int) -> None:
    cluster += [pod(f"waits-{number}") for number in range(count)]

    assert [row.waiting for row in verdict(cluster).pools] == [count]


@pytest.mark.parametrize(
    ("most", "code"),
    [(1, rules.LIMIT_REACHED.id), (2, rules.NOT_LAUNCHED.id), (None, rules.NOT_LAUNCHED.id)],
)
def test_nodes_of_the_pool_count_towards_its_limit(
    cluster: Cluster, tmp_path: Path, most: int | None, code: str
) -> None:
    given = yaml.safe_load((ROOT / "stacks/Pulumi.karpenter-time-slicing.yaml").read_text("utf-8"))
    pool = given["config"]["eks-gpushare:environment"]["pools"]["gpu"]
    del pool["karpenter"]["limits"]
    pool["nodes"] = {} if most is None else {"max": most}
    file = tmp_path / "Pulumi.some.yaml"
    file.write_text(yaml.safe_dump(given), encoding="utf-8")
    node = next(each for each in cluster if each["metadata"]["name"] == "gpu-0")
    node["status"]["allocatable"]["nvidia.com/gpu"] = "1"
    resource = "nvidia.com/gpu.shared"
    cluster += [pod("waits", resource=resource)]
    found = verdict_of(objects_of(cluster), read_stack(file))

    codes = {
        fault.finding.code for cause in found.causes for fault in (cause.fault, *cause.follows)
    }
    assert codes & {rules.LIMIT_REACHED.id, rules.NOT_LAUNCHED.id} == {code}


@pytest.mark.parametrize(
    ("used", "code"), [("999", rules.LIMIT_REACHED.id), ("9", rules.NOT_LAUNCHED.id)]
)
def test_a_limit_that_one_more_node_would_pass_is_reached(
    cluster: Cluster, used: str, code: str
) -> None:
    stack = read_stack(ROOT / "stacks/Pulumi.karpenter-time-slicing.yaml")
    given = about("NodePool", "karpenter.sh/v1", limits={"cpu": "1000"})
    given["metadata"] = {"name": "gpu"}
    given["status"] = {"resources": {"cpu": used}}
    cluster += [given, pod("waits", resource="nvidia.com/gpu.shared")]

    found = verdict_of(objects_of(cluster), stack)
    codes = {
        fault.finding.code for cause in found.causes for fault in (cause.fault, *cause.follows)
    }
    assert codes & {rules.LIMIT_REACHED.id, rules.NOT_LAUNCHED.id} == {code}
