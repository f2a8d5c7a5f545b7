"""DaemonSets for GPUs are held against the taints and labels of GPU nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import (
    ANY_GPU_TAINT,
    GPU,
    PRESENT,
    USUAL,
    chart,
    codes,
    daemon_set,
    nodes,
    operator,
    plugin,
    problems,
)

from eks_gpushare.inventory.edges import daemonsets
from eks_gpushare.inventory.problem import Edit
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

GFD = {"gfd": {"enabled": True}}
ANY = [{"operator": "Exists"}]
TEAM = ("team", "ml", "NoSchedule")
NVIDIAS = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"


def worker(tolerations: Any, key: str = "nfd") -> dict[str, Any]:
    return {key: {"worker": {"tolerations": tolerations}}}


def terms(*expressions: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "the usual taint and the chart's NFD": ("GPU1100", (nodes(taints=[USUAL]), plugin(GFD))),
    "the same taint to go at once": (
        "GPU1100",
        (nodes(taints=[(GPU, "true", "NoExecute")]), plugin({**GFD, **worker(ANY)})),
    ),
    "without a value": ("GPU1100", (nodes(taints=[(GPU, "", "NoSchedule")]), plugin(GFD))),
    "a taint of a team": ("GPU1100", (nodes(taints=[TEAM], labels=PRESENT), plugin())),
    "a list takes the place of the chart's": (
        "GPU1100",
        (nodes(taints=[USUAL], labels=PRESENT), plugin({"tolerations": []})),
    ),
    "no list at all": (
        "GPU1100",
        (nodes(taints=[USUAL], labels=PRESENT), plugin({"tolerations": None})),
    ),
    "another value": (
        "GPU1100",
        (
            nodes(taints=[USUAL], labels=PRESENT),
            plugin({"tolerations": [{"key": GPU, "value": "present", "effect": "NoSchedule"}]}),
        ),
    ),
    "the operator and a taint of a team": ("GPU1100", (nodes(taints=[TEAM]), operator())),
    "only the operands know it": (
        "GPU1100",
        (nodes(taints=[TEAM]), operator({"daemonsets": {"tolerations": ANY}})),
    ),
    "only the operator's NFD knows it": (
        "GPU1100",
        (nodes(taints=[TEAM]), operator(worker(ANY, "node-feature-discovery"))),
    ),
    "the operator's values in the plugin's words": (
        "GPU1100",
        (nodes(taints=[TEAM]), operator({"tolerations": ANY, **worker(ANY)})),
    ),
    "NFD by a chart of its own, which tolerates nothing": (
        "GPU1100",
        (nodes(taints=[USUAL]), plugin(), chart("node-feature-discovery")),
    ),
    "a plugin written out": (
        "GPU1100",
        (nodes(taints=[TEAM]), daemon_set(NVIDIAS, tolerations=[ANY_GPU_TAINT])),
    ),
    "one of two node groups": (
        "GPU1100",
        (nodes(labels=PRESENT), nodes(name="b", taints=[TEAM], labels=PRESENT), plugin()),
    ),
    "nobody labels the nodes": ("GPU1101", (nodes(), plugin())),
    "NFD is switched off": (
        "GPU1101",
        (nodes(), plugin({**GFD, "nfd": {"enabled": False}})),
    ),
    "NFD of the operator is switched off": (
        "GPU1101",
        (nodes(labels=PRESENT), operator({"nfd": {"enabled": False}})),
    ),
    "NFD is for other nodes": (
        "GPU1101",
        (nodes(), plugin({**GFD, "nfd": {"worker": {"nodeSelector": {"a": "b"}}}})),
    ),
    "no plugin": ("GPU1102", (nodes(),)),
    "the plugin is switched off": (
        "GPU1102",
        (nodes(labels=PRESENT), plugin({"devicePlugin": {"enabled": False}})),
    ),
    "a selector for other nodes": (
        "GPU1102",
        (nodes(labels=PRESENT), plugin({"nodeSelector": {"pool": "other"}})),
    ),
    "an affinity for other nodes": (
        "GPU1102",
        (
            nodes(labels={**PRESENT, "pool": "gpu"}),
            plugin({"affinity": terms({"key": "pool", "operator": "In", "values": ["cpu"]})}),
        ),
    ),
    "a label that says there is none": (
        "GPU1101",
        (nodes(labels={"nvidia.com/gpu.present": "false"}), plugin()),
    ),
    "an exporter that tolerates nothing": (
        "GPU1103",
        (nodes(taints=[USUAL], labels=PRESENT), plugin(), chart("dcgm-exporter")),
    ),
    "feature discovery written out": (
        "GPU1103",
        (
            nodes(taints=[USUAL], labels=PRESENT),
            plugin(),
            daemon_set("nvcr.io/nvidia/gpu-feature-discovery:v0.9.0"),
        ),
    ),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "the value that the chart means": (nodes(taints=[(GPU, "present", "NoSchedule")]), plugin(GFD)),
    "no taint": (nodes(), plugin(GFD)),
    "NFD's worker tolerates all": (nodes(taints=[USUAL]), plugin({**GFD, **worker(ANY)})),
    "NFD's worker tolerates the key": (
        nodes(taints=[USUAL]),
        plugin({**GFD, **worker([{"key": GPU, "operator": "Exists"}])}),
    ),
    "the label does without NFD": (nodes(taints=[USUAL], labels=PRESENT), plugin(GFD)),
    "a taint that prefers": (
        nodes(taints=[("team", "ml", "PreferNoSchedule")], labels=PRESENT),
        plugin(),
    ),
    "taints that pass by themselves": (
        nodes(
            taints=[
                ("node.kubernetes.io/not-ready", "", "NoSchedule"),
                ("node.cilium.io/agent-not-ready", "true", "NoExecute"),
            ],
            labels=PRESENT,
        ),
        plugin(),
    ),
    "the operator by its defaults": (nodes(taints=[USUAL]), operator()),
    "the operator leaves an empty list": (
        nodes(taints=[USUAL]),
        operator({"daemonsets": {"tolerations": []}}),
    ),
    "the operator and both lists": (
        nodes(taints=[TEAM]),
        operator({"daemonsets": {"tolerations": ANY}, **worker(ANY, "node-feature-discovery")}),
    ),
    "no affinity at all": (nodes(taints=[USUAL]), plugin({"affinity": None})),
    "an affinity of one's own": (
        nodes(taints=[USUAL], labels={"pool": "gpu"}),
        plugin({"affinity": terms({"key": "pool", "operator": "In", "values": ["gpu"]})}),
    ),
    "NFD by a chart of its own": (
        nodes(taints=[USUAL]),
        plugin(),
        chart("node-feature-discovery", {"worker": {"tolerations": ANY}}),
    ),
    "nodes without a GPU": (nodes("m5.large", taints=[TEAM]), plugin()),
    "a plugin written out that tolerates it": (
        nodes(taints=[USUAL]),
        daemon_set(NVIDIAS, tolerations=[ANY_GPU_TAINT]),
    ),
    "Bottlerocket has its own": (nodes(taints=[TEAM], ami="BOTTLEROCKET_x86_64_NVIDIA"),),
    "Auto Mode has its own": (nodes(taints=[TEAM], provisioner="autoMode"),),
    "an exporter that tolerates it": (
        nodes(taints=[USUAL], labels=PRESENT),
        plugin(),
        chart("dcgm-exporter", {"tolerations": ANY}),
    ),
    "an exporter for other nodes": (
        nodes(taints=[USUAL], labels=PRESENT),
        plugin(),
        chart("dcgm-exporter", {"nodeSelector": {"pool": "other"}}),
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_does_not_reach_the_nodes_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_what_reaches_the_nodes_is_not(case: str) -> None:
    assert codes(*RIGHT[case]) == []


def test_the_message_names_daemon_taint_and_nodes() -> None:
    (found,) = problems(nodes(taints=[USUAL]), plugin(GFD))

    assert found.message == (
        "The NFD worker of the Release nvidia-device-plugin does not tolerate the taint "
        "nvidia.com/gpu=true:NoSchedule of the node group gpu. It must: nodes without NFD's labels "
        "get no pod of the device plugin, and advertise no GPU."
    )
    assert found.fix == (
        "Add {key: nvidia.com/gpu, operator: Exists} to `nfd.worker.tolerations`, where a list "
        "takes the place of the chart's own, or give the nodes the label "
        "nvidia.com/gpu.present=true."
    )
    assert found.path == ("nfd", "worker", "tolerations")


def test_the_edit_keeps_what_the_chart_has() -> None:
    (found,) = problems(nodes(taints=[TEAM], labels=PRESENT), plugin())

    assert found.edits == (
        Edit(
            "set",
            ("tolerations",),
            [
                {"key": "CriticalAddonsOnly", "operator": "Exists"},
                ANY_GPU_TAINT,
                {"key": "team", "operator": "Exists"},
            ],
        ),
    )


def test_the_edit_adds_to_a_list_that_is_written() -> None:
    values = {"tolerations": [ANY_GPU_TAINT]}
    (found,) = problems(nodes(taints=[TEAM], labels=PRESENT), plugin(values))

    added = {"key": "team", "operator": "Exists"}
    assert found.edits == (Edit("append", ("tolerations",), added),)


def test_a_value_that_stands_elsewhere_is_pointed_at_there() -> None:
    values = {"nfd": {"worker": {"tolerations": []}}, **GFD}
    paths = {("nfd",): ("spec", "values", "nfd")}
    (found,) = problems(nodes(taints=[USUAL]), plugin(values, paths=paths))

    assert found.path == ("spec", "values", "nfd", "worker", "tolerations")


def test_another_cluster_is_not_looked_at() -> None:
    assert codes(nodes(cluster="a"), plugin(GFD, cluster="b")) == ["GPU1102"]
    assert codes(nodes(cluster="a"), plugin(GFD, cluster="a")) == []


def test_of_files_what_is_missing_may_stand_in_others() -> None:
    assert codes(nodes(), complete=False) == []
    (found,) = problems(nodes(), plugin(), complete=False)
    assert (found.rule, found.severity) == (daemonsets.UNLABELLED, "info")
    (found,) = problems(nodes(taints=[USUAL]), plugin(GFD), complete=False)
    assert (found.rule, found.severity) == (daemonsets.KEPT_OUT, None)


@pytest.mark.parametrize(
    "items",
    [
        (nodes(taints=[]), plugin(UNKNOWN)),
        (nodes(taints=[USUAL]), plugin({**GFD, **worker(UNKNOWN)})),
        (nodes(taints=[USUAL], labels=PRESENT), plugin({"tolerations": UNKNOWN})),
        (nodes(taints=[USUAL], labels=PRESENT), plugin({"tolerations": [UNKNOWN]})),
    ],
)
def test_what_is_not_known_is_said(items: tuple[Item, ...]) -> None:
    assert "?GPU1100" in codes(*items)
