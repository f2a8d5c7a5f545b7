"""Nodes that agents of RKE2 and k3s, and Talos, register; and taints that keep NFD off."""

from __future__ import annotations

from typing import Any

import pytest
from linted import every, found

from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.readers.agents import AgentReader
from eks_gpushare.manifests.texts import read_texts

READER = AgentReader()


def nodes(text: str, file: str = "group_vars/gpu.yml") -> list[NodeSet]:
    (document,) = read_texts(text, file).documents
    found = READER.read(document).items if READER.matches(document) else []
    return [each for each in found if isinstance(each, NodeSet)]


MACHINE = """\
machine:
  kernel: {}
  nodeLabels: {a: true}
  nodeTaints: {c: 'd:NoSchedule', e: NoExecute}
"""


@pytest.mark.parametrize(
    ("text", "labels", "taints"),
    [
        ("node-label: [a=b, c]\n", {"a": "b", "c": ""}, []),
        ("node-label+: [a=b]\nnode-taint+: ['a:NoExecute']\n", {"a": "b"}, ["a:NoExecute"]),
        ("node-taint: ['a/b=c:NoSchedule', bad, ':NoSchedule']\n", {}, ["a/b=c:NoSchedule"]),
        ("rke2_config: {node-taint: ['a=b:NoSchedule'], token: x}\n", {}, ["a=b:NoSchedule"]),
        ("node-label: ['{{ a }}']\nnode-taint: ['a:NoSchedule']\n", UNKNOWN, ["a:NoSchedule"]),
        ("node-label: [a=b]\nnode-taint: ['{{ taint }}']\n", {"a": "b"}, UNKNOWN),
        (
            MACHINE,
            {"a": "true"},
            ["c=d:NoSchedule", "e:NoExecute"],
        ),
        ("machine: {kubelet: {}, nodeTaints: {a: NoSchedule}}\n", {}, ["a:NoSchedule"]),
        (
            "machine: {install: {}, nodeLabels: $ALL, nodeTaints: {a: NoSchedule}}\n",
            UNKNOWN,
            ["a:NoSchedule"],
        ),
    ],
)
def test_labels_and_taints_of_a_node(text: str, labels: Any, taints: Any) -> None:
    (only,) = nodes(text, "ansible/group_vars/gpu.yml")

    assert (only.provisioner, only.source.name) == ("byHand", "the node of group_vars/gpu.yml")
    assert only.labels == labels
    given = only.taints
    assert (given if given is UNKNOWN else [str(each) for each in given]) == taints


@pytest.mark.parametrize(
    "text",
    [
        "node-label: a=b\n",
        "machine: {nodeLabels: {a: b}}\n",
        "machine: {kernel: {}, nodeLabels: [a]}\n",
        "apiVersion: v1\nnode-label: [a=b]\n",
        "kind: Any\nnode-label: [a=b]\n",
        "- node-label\n",
        "deep: {deeper: {node-label: [a=b]}}\n",
    ],
)
def test_what_is_no_such_configuration(text: str) -> None:
    assert nodes(text) == []


TALOS = "machine:\n  kernel: {modules: [{name: nvidia}]}\n  nodeLabels:\n    LABELS\n"
INSTALL = "helm upgrade -i plugin nvdp/nvidia-device-plugin --version 0.17.1 -f values.yaml\n"
BARE = "gpu.present: 'true'"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: work, namespace: a}
spec: {nodeSelector: {gpu.present: 'true'}, containers: [{name: a, image: a:1}]}
"""
NFD_OF_ITS_OWN = "helm upgrade -i nfd nfd/node-feature-discovery\n"


def labelled(
    agent: str, install: str = INSTALL, values: str = "{}\n", pod: str = "", file: str = "gpu.yaml"
) -> list[Any]:
    files = {"up.sh": install, "values.yaml": values, "pod.yaml": pod, file: agent}
    told = every(files.items())
    return [
        each
        for each in told
        if each.code == "GPU1101" and "has the label gpu.present" in each.message
    ]


@pytest.mark.parametrize(
    ("labels", "count"),
    [
        (BARE, 1),
        ("nvidia.com/gpu.present: 'true'", 0),
        ("{gpu.present: 'true', nvidia.com/gpu.present: 'true'}", 0),
        ("{gpu.present: 'true', feature.node.kubernetes.io/pci-10de.present: 'true'}", 0),
        ("gpu: 'true'", 0),
        ("$ALL", 0),
    ],
)
def test_a_label_without_what_nvidias_begin_with(labels: str, count: int) -> None:
    told = labelled(TALOS.replace("LABELS", labels))

    assert [(each.severity, each.path) for each in told] == (
        [("warning", 'machine.nodeLabels["gpu.present"]')] * count
    )
    assert all(
        each.message.endswith(
            "gpu.yaml has the label gpu.present, and the chart of the device plugin goes by "
            "nvidia.com/gpu.present: without it, or NFD, it puts no pod there."
        )
        and each.fix == "Write nvidia.com/gpu.present."
        for each in told
    )


@pytest.mark.parametrize(
    ("agent", "place"),
    [
        ("node-label:\n- rack=1\n- gpu.present=true\n", "node-label[1]"),
        ("a:\n  node-label+: [gpu.present=true]\n", "a.node-label+[0]"),
    ],
)
def test_where_the_label_is_written(agent: str, place: str) -> None:
    (only,) = labelled(agent)

    assert only.path == place


@pytest.mark.parametrize(
    ("install", "values", "pod", "count"),
    [
        ("", "{}\n", "", 0),
        ("helm install gpu-operator nvidia/gpu-operator -f values.yaml\n", "{}\n", "", 0),
        (INSTALL + NFD_OF_ITS_OWN, "{}\n", "", 0),
        (INSTALL.replace("0.17.1", "0.14.5"), "{}\n", "", 0),
        (INSTALL, "gfd: {enabled: true}\n", "", 0),  # which brings NFD
        (INSTALL, "affinity: {nodeAffinity: null}\n", "", 0),
        (INSTALL, "affinity: $OURS\n", "", 0),
        (INSTALL, "nodeSelector: {gpu.present: 'true'}\n", "", 0),
        (INSTALL + "helm install dcgm gpu-helm-charts/dcgm-exporter\n", "{}\n", "", 1),
        (INSTALL, "{}\n", POD, 0),
        (INSTALL, "{}\n", POD.replace("gpu.present", "nvidia.com/gpu.present"), 1),
        (INSTALL + "list | xargs -n1 label nvidia.com/gpu.present=true\n", "{}\n", "", 0),
    ],
)
def test_it_is_told_beside_a_chart_that_goes_by_the_label(
    install: str, values: str, pod: str, count: int
) -> None:
    assert len(labelled(TALOS.replace("LABELS", BARE), install, values, pod)) == count


TAINT = "node-taint: ['nvidia.com/gpu=reserved:NoSchedule']\n"
FOUND = "gfd: {enabled: true}\n"


def said(agent: str, values: str = FOUND, more: str = "", **named: str) -> list[Any]:
    files = {
        "values.yaml": values,
        "install.sh": INSTALL + more,
        "config.yaml": agent,
        **{name.replace("__", "."): text for name, text in named.items()},
    }
    told = found(files.items())
    assert "GPU012" not in {each.code for each in told}
    return [each for each in told if each.code == "GPU1100"]


def test_a_taint_of_another_value_keeps_the_charts_nfd_off() -> None:
    (only,) = said(TAINT)

    assert (only.severity, only.path) == ("warning", "nfd.worker.tolerations")
    assert only.message == (
        "The NFD worker of the release of nvidia-device-plugin does not tolerate the taint "
        "nvidia.com/gpu=reserved:NoSchedule of the node of config.yaml. It must: nodes without "
        "NFD's labels get no pod of the device plugin, and advertise no GPU."
    )
    assert only.fix == (
        "Add {key: nvidia.com/gpu, operator: Exists} to `nfd.worker.tolerations`, where a list "
        "takes the place of the chart's own, or give the nodes the label nvidia.com/gpu.present"
        "=true."
    )


LABELLED = "node-label: [nvidia.com/gpu.present=true]\n"
OTHER = "helm upgrade -i nfd nfd/node-feature-discovery\n"
BY_HAND = "kubectl taint node box nvidia.com/gpu=reserved:NoSchedule\n"
TOLERATES = "nfd: {worker: {tolerations: [{operator: Exists}]}}\n"


@pytest.mark.parametrize(
    ("agent", "values", "more", "count"),
    [
        (TAINT.replace("reserved", "present"), FOUND, "", 0),
        (TAINT.replace("NoSchedule", "PreferNoSchedule"), FOUND, "", 0),
        (TAINT.replace("nvidia.com/gpu", "team"), FOUND, "", 0),
        (TAINT.replace("'nvidia", "'{{ prefix }}nvidia"), FOUND, "", 0),
        (TAINT.replace("]", ", 'nvidia.com/gpu=reserved:NoSchedule']"), FOUND, "", 1),
        (TAINT, "{}\n", "", 0),
        (TAINT, "gfd: {enabled: $FOUND}\n", "", 0),
        (TAINT, FOUND + TOLERATES, "", 0),
        (TAINT, FOUND + "nfd: {worker: {tolerations: $OURS}}\n", "", 0),
        (TAINT, FOUND + "affinity: {nodeAffinity: {}}\n", "", 0),
        (TAINT + LABELLED, FOUND, "", 0),
        (TAINT + "node-label: ['{{ ours }}']\n", FOUND, "", 0),
        (TAINT, FOUND, OTHER, 0),
        (TAINT, FOUND, INSTALL.replace("-i plugin", "-i second"), 0),
        ("{}\n", FOUND, BY_HAND, 1),
        (TAINT, FOUND, BY_HAND, 1),
    ],
)
def test_when_it_is_told(agent: str, values: str, more: str, count: int) -> None:
    assert len(said(agent, values, more)) == count


def test_of_the_operator_and_of_declared_nodes_others_tell() -> None:
    group = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: a, region: us-east-1}
managedNodeGroups: [{name: gpu, instanceType: g5.xlarge}]
"""

    assert "config.yaml" not in str(said(TAINT, group__yaml=group))
    assert said(TAINT, install__sh="helm install gpu-operator nvidia/gpu-operator\n") == []


def test_neither_of_a_guides_nodes_nor_of_its_charts() -> None:
    guide = f"# Taints\n```sh\n{BY_HAND}```\n"
    inline = INSTALL.replace("-f values.yaml", "--set gfd.enabled=true")
    shown = f"# The chart\n```sh\n{inline}```\n"

    assert said("{}\n", README__md=guide) == []
    assert said(TAINT, "{}\n", install__sh="", README__md=shown) == []
    assert len(said(TAINT, "{}\n", install__sh=inline)) == 1


def test_the_operators_own_nfd_is_another() -> None:
    values = "node-feature-discovery: {worker: {tolerations: [{key: other}]}}\n"
    install = "helm install gpu-operator nvidia/gpu-operator --version v25.3.4 -f values.yaml\n"

    assert said(TAINT, values, install__sh=install) == []


def test_values_of_charts_are_read_beside_a_node() -> None:
    values = "gpu-operator: {toolkit: {enabled: 'false'}}\nnode: {node-label: [a=b]}\n"

    assert [each.path for each in found([("values.yaml", values)])] == [
        "gpu-operator.toolkit.enabled"
    ]
