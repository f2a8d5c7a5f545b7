"""DaemonSets for GPUs are held against the taints and labels of GPU nodes."""

from __future__ import annotations

from dataclasses import replace
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
    operator,
    plugin,
    problems,
    said,
)
from inventory_of import nodes as any_nodes

from eks_gpushare.inventory.edges import daemonsets
from eks_gpushare.inventory.problem import Edit
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item, NodeSet


def nodes(*types: str, **more: Any) -> NodeSet:
    """Of a Kubernetes whose nodes do not label themselves."""
    more.setdefault("kubernetes", "1.34")
    return any_nodes(*types, **more)


GFD = {"gfd": {"enabled": True}}
ANY = [{"operator": "Exists"}]
BY_VENDOR: dict[str, Any] = {
    "worker": {"config": {"sources": {"pci": {"deviceLabelFields": ["vendor"]}}}}
}
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
        (nodes(taints=[USUAL]), plugin(), chart("node-feature-discovery", BY_VENDOR)),
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
        nodes(taints=[USUAL, ("team", "ml", "PreferNoSchedule")], labels=PRESENT),
        plugin(GFD),
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
        chart("node-feature-discovery", {"worker": {**BY_VENDOR["worker"], "tolerations": ANY}}),
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
    # The chart that could bring feature discovery is here, and leaves it out.
    assert (found.rule, found.severity) == (daemonsets.UNLABELLED, "warning")
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


NODES = "the node group gpu"
CHARTS = "the Release nvidia-device-plugin"
OPERANDS = "nvidia.com/gpu.deploy.operands"
REPLACED = ", where a list takes the place of the chart's own"
OR_BY_HAND = ", or give the nodes the label nvidia.com/gpu.present=true."
OF_TEAM = "{key: team, operator: Exists}"
UNKNOWN_AMI = nodes(ami=UNKNOWN, taints=[TEAM], labels=PRESENT)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ((nodes(taints=UNKNOWN), plugin({**GFD, "tolerations": ANY})), f"the taints of {NODES}"),
        (
            (nodes(taints=UNKNOWN, labels=PRESENT), plugin()),
            f"the taints of {NODES}",
        ),
        (
            (nodes(taints=[TEAM]), plugin({**GFD, "tolerations": ANY, **worker(UNKNOWN)})),
            f"the tolerations of the NFD worker of {CHARTS}",
        ),
        (
            (
                nodes(taints=[TEAM], labels=PRESENT),
                plugin({"tolerations": [ANY_GPU_TAINT, UNKNOWN]}),
            ),
            f"the tolerations of the device plugin of {CHARTS}",
        ),
        (
            (nodes(), plugin({**GFD, "nfd": {"enabled": UNKNOWN}})),
            f"whether the NFD worker of {CHARTS} is there",
        ),
        (
            (
                nodes(taints=[TEAM]),
                plugin({**GFD, "tolerations": ANY}),
                chart("node-feature-discovery", {"worker": {"tolerations": UNKNOWN}}),
            ),
            "the tolerations of the NFD worker of the Release node-feature-discovery",
        ),
        ((nodes(labels={OPERANDS: UNKNOWN}), operator()), f"the labels of {NODES}"),
    ],
)
def test_what_the_plugin_hangs_on_is_named(items: tuple[Item, ...], expected: str) -> None:
    assert said(daemonsets.plugin_reaches, *items) == [("?GPU1100", expected)]


@pytest.mark.parametrize(
    "items",
    [
        # The plugin's own chart does not go by that label.
        (nodes(labels={**PRESENT, OPERANDS: UNKNOWN}), plugin()),
        (nodes(labels=UNKNOWN),),
        (nodes(labels={OPERANDS: "false"}),),
        (nodes(labels={OPERANDS: "false"}), operator()),
        (nodes(taints=[TEAM]), daemon_set("fluent-bit:1"), daemon_set(NVIDIAS, tolerations=ANY)),
        # One of two is enough.
        (
            nodes(taints=[TEAM]),
            plugin({**GFD, "tolerations": ANY, **worker(UNKNOWN)}),
            chart("node-feature-discovery", {"worker": {"tolerations": ANY}}),
        ),
        (
            nodes(taints=[TEAM]),
            plugin({**GFD, "tolerations": ANY, "nfd": {"enabled": UNKNOWN}}),
            chart("node-feature-discovery", {"worker": {"tolerations": ANY}}),
        ),
        # AWS gives the label, whatever its value.
        (nodes(labels=PRESENT), plugin({"nodeSelector": {"topology.kubernetes.io/zone": "a"}})),
    ],
)
def test_nothing_is_said_where_nothing_hangs_on_it(items: tuple[Item, ...]) -> None:
    assert said(daemonsets.plugin_reaches, *items) == []


def test_a_label_that_is_not_known_may_be_the_one_for_the_plugin() -> None:
    found = said(
        daemonsets.plugin_reaches,
        nodes(labels=UNKNOWN),
        daemon_set(NVIDIAS, nodeSelector={"pool": "gpu"}),
    )

    assert found == []


def test_a_daemon_set_whose_image_is_not_known_may_be_the_plugin() -> None:
    expected = [("?GPU1102", "what a DaemonSet runs, whose image is not known")]

    assert said(daemonsets.plugin_reaches, nodes(), daemon_set(UNKNOWN)) == expected  # type: ignore[arg-type]
    files = said(daemonsets.plugin_reaches, nodes(), daemon_set(UNKNOWN), complete=False)  # type: ignore[arg-type]
    assert files == []


def test_nodes_that_may_run_bottlerocket_may_have_a_plugin() -> None:
    of_ami = [("?GPU1102", f"the AMI of {NODES}")]
    items = (UNKNOWN_AMI, plugin())

    assert said(daemonsets.plugin_reaches, *items) == of_ami
    ((code, _),) = said(daemonsets.plugin_reaches, *items, complete=False)
    assert code == "GPU1100"
    unlabelled = (nodes(ami=UNKNOWN), plugin())
    assert said(daemonsets.plugin_reaches, *unlabelled, complete=False) == of_ami
    settings = nodes(ami=UNKNOWN, taints=[TEAM], labels=PRESENT, user_data="[settings]\n")
    assert said(daemonsets.plugin_reaches, settings, plugin()) == of_ami
    script = nodes(ami=UNKNOWN, taints=[TEAM], labels=PRESENT, user_data="#!/bin/bash\n")
    ((code, _),) = said(daemonsets.plugin_reaches, script, plugin())
    assert code == "GPU1100"


@pytest.mark.parametrize(
    ("items", "missing", "fix", "path"),
    [
        (
            (plugin(),),
            "NFD is not there",
            f"Set `gfd.enabled: true`, which brings NFD{OR_BY_HAND}",
            ("gfd", "enabled"),
        ),
        (
            (plugin({**GFD, "nfd": {"enabled": False}}),),
            "NFD is not there",
            f"Set `nfd.enabled: true`{OR_BY_HAND}",
            ("nfd", "enabled"),
        ),
        (
            (operator({"nfd": {"enabled": False}}),),
            "NFD is not there",
            "Set `nfd.enabled: true`.",
            ("nfd", "enabled"),
        ),
        (
            (daemon_set(NVIDIAS, nodeSelector=PRESENT),),
            "NFD is not there",
            f"Install NFD{OR_BY_HAND}",
            ("spec", "template", "spec"),
        ),
        (
            (
                daemon_set(NVIDIAS, nodeSelector=PRESENT),
                chart("node-feature-discovery", {"worker": {"nodeSelector": {"a": "b"}}}),
            ),
            "the NFD worker of the Release node-feature-discovery is for other nodes",
            (
                "Let the selectors of the NFD worker of the Release node-feature-discovery be for "
                f"them too{OR_BY_HAND}"
            ),
            ("spec", "template", "spec"),
        ),
        (
            (plugin({**GFD, "nfd": {"worker": {"nodeSelector": {"a": "b"}}}}),),
            f"the NFD worker of {CHARTS} is for other nodes",
            f"Let the selectors of the NFD worker of {CHARTS} be for them too{OR_BY_HAND}",
            (),
        ),
    ],
)
def test_what_labels_nodes_is_brought_by_what_is_missing(
    items: tuple[Item, ...], missing: str, fix: str, path: tuple[str, ...]
) -> None:
    (found,) = problems(nodes(), *items, of=[daemonsets.UNLABELLED])

    assert (found.fix, found.path) == (fix, path)
    assert f": {missing}, and the nodes" in found.message


@pytest.mark.parametrize(
    ("items", "fix", "edit"),
    [
        (
            (daemon_set(NVIDIAS, tolerations=[ANY_GPU_TAINT]),),
            f"Add {OF_TEAM} to `tolerations`.",
            "append",
        ),
        ((daemon_set(NVIDIAS),), f"Add {OF_TEAM} to `tolerations`.", "set"),
        ((plugin(),), f"Add {OF_TEAM} to `tolerations`{REPLACED}.", "set"),
        ((plugin({"tolerations": []}),), f"Add {OF_TEAM} to `tolerations`.", "set"),
        (
            (plugin({"tolerations": [ANY_GPU_TAINT]}),),
            f"Add {OF_TEAM} to `tolerations`.",
            "append",
        ),
        # To the chart of the operator an empty list is none.
        (
            (
                operator(
                    {"daemonsets": {"tolerations": []}, **worker(ANY, "node-feature-discovery")}
                ),
            ),
            f"Add {OF_TEAM} to `daemonsets.tolerations`{REPLACED}.",
            "set",
        ),
    ],
)
def test_a_list_is_added_to_or_takes_the_place_of_the_charts(
    items: tuple[Item, ...], fix: str, edit: str
) -> None:
    (found,) = problems(nodes(taints=[TEAM], labels=PRESENT), *items)

    assert found.fix == fix
    assert [each.kind for each in found.edits] == [edit]


def test_the_list_in_place_of_an_empty_one_keeps_what_the_operator_has() -> None:
    values = {"daemonsets": {"tolerations": []}, **worker(ANY, "node-feature-discovery")}
    (found,) = problems(nodes(taints=[TEAM, USUAL]), operator(values))

    (edit,) = found.edits
    assert ANY_GPU_TAINT in list(edit.value)


def test_an_exporter_is_not_missed_where_it_may_be_meant_for_others() -> None:
    pool = nodes(taints=[USUAL], labels=PRESENT)
    zone = {"nodeSelector": {"topology.kubernetes.io/zone": "a"}}

    assert said(daemonsets.others_reach, pool, chart("dcgm-exporter", zone)) == []
    of_auto_mode = nodes(taints=[USUAL], provisioner="autoMode")
    assert said(daemonsets.others_reach, of_auto_mode, chart("dcgm-exporter")) == []
    assert said(daemonsets.others_reach, pool, plugin(GFD), operator()) == []


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"kubernetes": ""}, ["?GPU1101"]),
        ({"kubernetes": UNKNOWN}, ["?GPU1101"]),
        ({"kubernetes": "1.34"}, ["GPU1101"]),
        ({"kubernetes": "1.35"}, []),
        ({"kubernetes": "1.35", "ami": ""}, ["?GPU1101"]),
        ({"kubernetes": "1.34", "ami": ""}, ["GPU1101"]),
        ({"kubernetes": "", "ami": "Ubuntu2204"}, ["GPU1101"]),
        ({"kubernetes": "", "ami": "al2023@latest", "provisioner": "karpenter"}, ["?GPU1101"]),
        ({"kubernetes": "", "ami": "al2023@v20260202", "provisioner": "karpenter"}, ["GPU1101"]),
        ({"kubernetes": "", "ami": "al2023@v20260203", "provisioner": "karpenter"}, ["?GPU1101"]),
        ({"kubernetes": "", "labels": {"nvidia.com/gpu.present": "false"}}, ["GPU1101"]),
    ],
)
def test_nodes_that_may_label_themselves_are_not_judged(
    more: dict[str, Any], expected: list[str]
) -> None:
    """https://github.com/awslabs/amazon-eks-ami/pull/2607."""
    found = codes(nodes(**more), plugin())

    assert [code for code in found if code.endswith("GPU1101")] == expected


def test_a_taint_that_keeps_discovery_off_may_not_matter_to_such_nodes() -> None:
    tolerant = plugin({"gfd": {"enabled": True}, "tolerations": [{"operator": "Exists"}]})
    tainted = nodes(taints=[USUAL], kubernetes="")

    assert "GPU1100" not in codes(tainted, tolerant)
    assert "GPU1100" in codes(replace(tainted, kubernetes="1.34"), tolerant)


def test_the_operator_goes_by_what_discovery_says() -> None:
    operator = chart("gpu-operator", {"nfd": {"enabled": False}, "driver": {"enabled": False}})

    assert "GPU1101" in codes(nodes(kubernetes=""), operator)
