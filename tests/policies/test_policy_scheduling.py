"""Taints that keep the GPU stack away, held against what Helm renders of the real charts.

With `helm` on PATH and EKS_GPUSHARE_TEST_CHARTS naming a folder that has the charts in
`gpu-operator` and `nvidia-device-plugin`, every case is rendered, and what its DaemonSets say
decides whether the plugin gets onto the node.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from pulumi_policy.proxy import UNKNOWN_OBJECT_VALUE, UnknownValueError

from eks_gpushare.inventory.items import NodeTaint
from eks_gpushare.inventory.matching import is_tolerated
from gpushare_policies.reading.charts import chart_name
from gpushare_policies.rule import NotJudgedError
from gpushare_policies.rules.sharing.edges import EDGES
from gpushare_policies.tokens import (
    AWS_CLUSTER,
    CHART_V4,
    MANAGED_NODE_GROUP,
    NODE_GROUP,
    RELEASE,
    SCALING_GROUPS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pulumi_policy import PolicyResource

(RULE,) = (each for each in EDGES if each.name == "gpu-stack-tolerates-taints")

PLUGIN, OPERATOR = "nvidia-device-plugin", "gpu-operator"
GFD = {"gfd": {"enabled": True}}
USUAL = ("nvidia.com/gpu", "true", "NO_SCHEDULE")
PRESENT = {"nvidia.com/gpu.present": "true"}
ANY = [{"operator": "Exists"}]
GPU = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
TEAM = ("team", "ml", "NO_SCHEDULE")
TEAM_TOLERATED = [{"key": "team", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}]
HERE = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["gpu"]}]}
ELSEWHERE = {"matchExpressions": [{"key": "pool", "operator": "NotIn", "values": ["gpu"]}]}


def affinity(*terms: Any) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def worker(tolerations: object) -> dict[str, Any]:
    return {"nfd": {"worker": {"tolerations": tolerations}}}


# Chart, values, labels, taints, and what the rule says: None, the NFD worker, the plugin, or that
# nothing labels the nodes.
CASES: dict[str, tuple[str, Any, Mapping[str, str], Sequence[tuple[str, str, str]], str | None]] = {
    "the usual taint keeps NFD away": (PLUGIN, GFD, {}, [USUAL], "NFD"),
    "the taint that the chart knows": (
        PLUGIN,
        GFD,
        {},
        [("nvidia.com/gpu", "present", "NO_SCHEDULE")],
        None,
    ),
    "a label set by hand does without NFD": (PLUGIN, GFD, PRESENT, [USUAL], None),
    "the same without GFD": (PLUGIN, {}, PRESENT, [USUAL], None),
    "a label that says no": (PLUGIN, GFD, {"nvidia.com/gpu.present": "false"}, [USUAL], "NFD"),
    "no taint": (PLUGIN, GFD, {}, [], None),
    "neither NFD nor label": (PLUGIN, {}, {}, [], "Nothing"),
    "NFD is turned off": (PLUGIN, {**GFD, "nfd": {"enabled": False}}, {}, [], "Nothing"),
    "NFD without GFD": (PLUGIN, {"nfd": {"enabled": True}}, {}, [USUAL], "NFD"),
    "NFD tolerates everything": (PLUGIN, {**GFD, **worker(ANY)}, {}, [USUAL], None),
    "NFD tolerates the key": (PLUGIN, {**GFD, **worker(GPU)}, {}, [USUAL], None),
    "NFD tolerates nothing": (PLUGIN, {**GFD, **worker([])}, {}, [USUAL], "NFD"),
    "NFD's tolerations are taken away": (PLUGIN, {**GFD, **worker(None)}, {}, [USUAL], "NFD"),
    "NFD tolerates another effect": (
        PLUGIN,
        {**GFD, **worker([{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}])},
        {},
        [USUAL],
        "NFD",
    ),
    "a taint of a team": (PLUGIN, {**GFD, **worker(ANY)}, {}, [TEAM], "plugin"),
    "a taint of a team tolerated by both": (
        PLUGIN,
        {**GFD, "tolerations": TEAM_TOLERATED, **worker(TEAM_TOLERATED)},
        {},
        [TEAM],
        None,
    ),
    "a list takes the place of the chart's": (
        PLUGIN,
        {**GFD, "tolerations": TEAM_TOLERATED, **worker(ANY)},
        {},
        [USUAL],
        "plugin",
    ),
    "a taint that evicts": (
        PLUGIN,
        {**GFD, **worker(ANY)},
        {},
        [(*USUAL[:2], "NO_EXECUTE")],
        "plugin",
    ),
    "a taint that only prefers": (PLUGIN, GFD, {}, [("x", "", "PREFER_NO_SCHEDULE")], None),
    "the plugin goes where a label of ours is": (
        PLUGIN,
        {"affinity": affinity(HERE)},
        {"pool": "gpu"},
        [USUAL],
        None,
    ),
    "the plugin goes anywhere": (PLUGIN, {"affinity": None}, {}, [USUAL], None),
    "an empty affinity leaves the chart's": (PLUGIN, {**GFD, "affinity": {}}, {}, [USUAL], "NFD"),
    "the operator's own taint": (OPERATOR, {}, {}, [USUAL], None),
    "the operator and a team": (OPERATOR, {}, {}, [TEAM], "plugin"),
    "the operator's operands alone": (
        OPERATOR,
        {"daemonsets": {"tolerations": ANY}},
        {},
        [TEAM],
        "NFD",
    ),
    "the operator and a label by hand": (
        OPERATOR,
        {"daemonsets": {"tolerations": ANY}},
        PRESENT,
        [TEAM],
        "NFD",
    ),
    "the operator whole": (
        OPERATOR,
        {
            "daemonsets": {"tolerations": ANY},
            "node-feature-discovery": {"worker": {"tolerations": ANY}},
        },
        {},
        [TEAM],
        None,
    ),
    "taints that pass by themselves": (
        PLUGIN,
        GFD,
        {},
        [
            ("node.kubernetes.io/not-ready", "", "NO_SCHEDULE"),
            ("node.cilium.io/agent-not-ready", "true", "NO_EXECUTE"),
        ],
        None,
    ),
}
_BY_ITSELF = "taints that pass by themselves"
SAID = {
    "NFD": "The NFD worker of ",
    "plugin": "The device plugin of ",
    "Nothing": "Nothing labels ",
}


def taints(given: Sequence[tuple[str, str, str]]) -> list[dict[str, str]]:
    return [{"key": key, "value": value, "effect": effect} for key, value, effect in given]


@pytest.fixture
def stack(resource: Callable[..., PolicyResource]) -> Callable[..., list[PolicyResource]]:
    """`stack(chart, values, labels, taints)` is a cluster with GPU nodes and a Release."""

    def make(
        chart: str,
        values: object,
        labels: Mapping[str, str],
        of_nodes: Sequence[tuple[str, str, str]],
        **changes: object,
    ) -> list[PolicyResource]:
        nodes = {"instanceTypes": ["g5.xlarge"], "labels": labels, "taints": taints(of_nodes)}
        return [
            resource(AWS_CLUSTER, "cluster", {"version": "1.34"}),
            resource(NODE_GROUP, "nodes", nodes),
            resource(RELEASE, "plugin", {"chart": chart, "values": values, **changes}),
        ]

    return make


@pytest.mark.parametrize("case", CASES)
def test_taints_are_held_against_what_the_gpu_stack_tolerates(
    case: str,
    stack: Callable[..., list[PolicyResource]],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    *given, expected = CASES[case]
    found = stack_violations(RULE, stack(*given))

    assert [name for name, _ in found] == ([] if expected is None else ["plugin"])
    if expected is not None:
        assert found[0][1].startswith(SAID[expected])


def test_the_message_says_what_to_set(
    stack: Callable[..., list[PolicyResource]],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    found = stack_violations(RULE, stack(PLUGIN, GFD, {}, [USUAL]))

    assert found == [
        (
            "plugin",
            (
                "The NFD worker of the Release plugin does not tolerate the taint "
                "nvidia.com/gpu=true:NoSchedule of the node group nodes. It must: nodes without "
                "NFD's labels get no pod of the device plugin, and advertise no GPU. Add "
                "{key: nvidia.com/gpu, operator: Exists} to `nfd.worker.tolerations`, where a list "
                "takes the place of the chart's own, or give the nodes the label "
                "nvidia.com/gpu.present=true."
            ),
        )
    ]


@pytest.mark.parametrize("token", [RELEASE, CHART_V4])
@pytest.mark.parametrize("nodes", [NODE_GROUP, MANAGED_NODE_GROUP, *SCALING_GROUPS])
def test_each_kind_of_release_and_of_node_group_is_judged(
    token: str,
    nodes: str,
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    props: dict[str, Any] = {"instanceTypes": ["g5.xlarge"], "taints": taints([USUAL])}
    if nodes in SCALING_GROUPS:
        by_key = {"nvidia.com/gpu": {"value": "true", "effect": "NoSchedule"}}
        props = {"instanceType": "g5.xlarge", "taints": by_key}
    chart = {"chart": "./charts/nvidia-device-plugin-0.20.0.tgz", "values": GFD}
    resources = [resource(nodes, "nodes", props), resource(token, "plugin", chart)]
    cluster = resource(AWS_CLUSTER, "cluster", {"version": "1.34"})

    assert len(stack_violations(RULE, [cluster, *resources])) == 1


@pytest.mark.parametrize(
    ("of_cluster", "of_nodes", "judged"),
    [
        ({"version": "1.34"}, {}, True),
        ({"version": "1.35"}, {}, False),
        ({"version": "1.35"}, {"version": "1.34"}, True),
        ({"version": "1.35"}, {"amiType": "AL2_x86_64_GPU"}, True),
        ({}, {}, False),
    ],
)
def test_from_kubernetes_1_35_on_nodes_may_label_themselves(
    of_cluster: Mapping[str, str],
    of_nodes: Mapping[str, str],
    judged: bool,
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    nodes = {"instanceTypes": ["g5.xlarge"], "taints": taints([USUAL]), **of_nodes}
    resources = [
        resource(AWS_CLUSTER, "cluster", of_cluster),
        resource(NODE_GROUP, "nodes", nodes),
        resource(RELEASE, "plugin", {"chart": PLUGIN, "values": GFD}),
    ]
    if judged:
        assert [name for name, _ in stack_violations(RULE, resources)] == ["plugin"]
    else:
        with pytest.raises(NotJudgedError):
            stack_violations(RULE, resources)


def test_one_plugin_that_serves_the_nodes_is_enough(
    stack: Callable[..., list[PolicyResource]],
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    other = resource(RELEASE, "other", {"chart": PLUGIN, "values": {**GFD, **worker(ANY)}})

    assert stack_violations(RULE, [*stack(PLUGIN, GFD, {}, [USUAL]), other]) == []


@pytest.mark.parametrize(
    "values",
    [
        {**GFD, "nodeSelector": {"pool": "other"}},
        {**GFD, "affinity": affinity(ELSEWHERE)},
    ],
)
def test_a_plugin_for_other_nodes_is_not_judged(
    values: object,
    stack: Callable[..., list[PolicyResource]],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = stack(PLUGIN, values, {"pool": "gpu"}, [USUAL])

    assert stack_violations(RULE, resources) == []


def test_nodes_without_a_gpu_are_not_judged(
    stack: Callable[..., list[PolicyResource]],
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    cluster, _, release = stack(PLUGIN, GFD, {}, [])
    props = {"instanceTypes": ["t3.large"], "taints": taints([TEAM])}
    nodes = resource(NODE_GROUP, "system", props)

    assert stack_violations(RULE, [cluster, nodes, release]) == []


def test_labels_may_come_from_what_was_there_before(
    stack: Callable[..., list[PolicyResource]],
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    cluster, *others = stack(PLUGIN, {}, {}, [])
    nfd = resource(RELEASE, "nfd", {"chart": "node-feature-discovery", "values": {}})

    with pytest.raises(UnknownValueError):
        stack_violations(RULE, others)
    assert stack_violations(RULE, [cluster, nfd, *others]) == []


@pytest.mark.parametrize("chart", ["karpenter", "aws-efa-k8s-device-plugin", "gpu-exporter"])
def test_another_chart_is_not_judged(
    chart: str,
    stack: Callable[..., list[PolicyResource]],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    assert stack_violations(RULE, stack(chart, {}, {}, [TEAM])) == []


def test_values_that_are_not_known_yet_are_not_judged(
    stack: Callable[..., list[PolicyResource]],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = stack(PLUGIN, UNKNOWN_OBJECT_VALUE, {}, [USUAL])

    with pytest.raises(UnknownValueError):
        stack_violations(RULE, resources)


def test_values_in_files_that_are_not_here_are_said_not_to_be_seen(
    stack: Callable[..., list[PolicyResource]],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = stack(PLUGIN, GFD, {}, [USUAL], valueYamlFiles=["values.yaml"])

    with pytest.raises(UnknownValueError) as said:
        stack_violations(RULE, resources)
    assert "could not be judged" in said.value.message


def test_values_in_files_that_are_here_are_read(
    stack: Callable[..., list[PolicyResource]],
    stack_violations: Callable[..., list[tuple[str, str]]],
    tmp_path: Path,
) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(worker(ANY)), encoding="utf-8")
    resources = stack(PLUGIN, GFD, {}, [USUAL], valueYamlFiles=[str(file)])
    assert stack_violations(RULE, resources) == []

    file.write_text(json.dumps(worker([])), encoding="utf-8")
    resources = stack(PLUGIN, GFD, {}, [USUAL], valueYamlFiles=[str(file)])
    assert len(stack_violations(RULE, resources)) == 1


@pytest.mark.parametrize(
    ("name", "chart"),
    [
        ("nvidia-device-plugin", PLUGIN),
        ("nvdp/nvidia-device-plugin", PLUGIN),
        ("./charts/nvidia-device-plugin-0.20.0.tgz", PLUGIN),
        ("oci://registry.example/nvidia/gpu-operator/", OPERATOR),
        ("karpenter", "karpenter"),
        ("nvidia-device-plugin-0.20.0-rc.1.tar.gz", PLUGIN),
        ("https://charts.example/a/gpu-operator-v26.7.0.tgz?x=y", OPERATOR),
        ("oci://registry.example:5000/gpu-operator:v26.7.0", OPERATOR),
        ("oci://registry.example/nvidia-device-plugin@sha256:0a1b", PLUGIN),
    ],
)
def test_a_chart_is_known_by_its_name(name: str, chart: str) -> None:
    assert chart_name(name) == chart


@pytest.fixture(scope="module")
def charts() -> Path:
    """The folder of the real charts."""
    folder = os.environ.get("EKS_GPUSHARE_TEST_CHARTS")
    if not folder or shutil.which("helm") is None:
        pytest.skip("no helm, or EKS_GPUSHARE_TEST_CHARTS names no charts; this file says more")
    return Path(folder)


@pytest.mark.parametrize("case", [case for case in CASES if case != _BY_ITSELF])
def test_the_rendered_charts_decide_the_same(case: str, charts: Path) -> None:
    chart, values, labels, of_nodes, expected = CASES[case]
    command = ["helm", "template", "x", str(charts / chart), "--namespace", "gpu", "--values", "-"]
    made = subprocess.run(
        command, input=json.dumps(values), capture_output=True, check=True, text=True
    )
    sets = [each for each in yaml.safe_load_all(made.stdout) if each]

    assert _reaches(sets, chart, dict(labels), of_nodes) is (expected is None)


def _reaches(
    objects: Sequence[Any],
    chart: str,
    labels: dict[str, str],
    of_nodes: Sequence[tuple[str, str, str]],
) -> bool:
    """Whether the plugin gets onto a node, by the pods that were rendered."""
    pods = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]
        for each in objects
        if each["kind"] == "DaemonSet"
    }
    nfd = next((pod for name, pod in pods.items() if "discovery-worker" in name), None)
    if nfd is not None and _lands(nfd, labels, of_nodes):
        labels["feature.node.kubernetes.io/pci-10de.present"] = "true"
    if chart == OPERATOR:  # which makes the plugin's DaemonSet itself, of its custom resource
        (policy,) = [each for each in objects if each["kind"] == "ClusterPolicy"]
        pod = {"tolerations": policy["spec"]["daemonsets"].get("tolerations")}
        found = "feature.node.kubernetes.io/pci-10de.present" in labels
        return found and _lands(pod, labels, of_nodes)
    return _lands(pods["x-nvidia-device-plugin"], labels, of_nodes)


def _lands(
    pod: Mapping[str, Any], labels: Mapping[str, str], of_nodes: Sequence[tuple[str, str, str]]
) -> bool:
    hard = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute"}
    kept = [
        NodeTaint(key, value, hard[effect]) for key, value, effect in of_nodes if effect in hard
    ]
    if not all(is_tolerated(taint, pod.get("tolerations") or []) for taint in kept):
        return False
    node = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(
        all(labels.get(each["key"]) in each["values"] for each in term["matchExpressions"])
        for term in required["nodeSelectorTerms"]
    )


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "a", "operator": "Exists"}, True),
        ({"key": "a", "value": "b"}, True),
        ({"key": "a", "value": "b", "effect": "NoSchedule"}, True),
        ({"key": "a", "value": "c"}, False),
        ({"key": "a"}, False),
        ({"key": "b", "operator": "Exists"}, False),
        ({"key": "a", "operator": "Exists", "effect": "NoExecute"}, False),
        ({}, False),
    ],
)
def test_a_toleration_is_read_as_kubernetes_reads_it(
    toleration: dict[str, str], tolerated: bool
) -> None:
    assert is_tolerated(NodeTaint("a", "b", "NoSchedule"), [toleration]) is tolerated
