"""What is not known is said for the checks that would have needed it, and for no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import (
    GPU,
    PRESENT,
    chart,
    config_map,
    namespace,
    nodes,
    operator,
    overlay,
    plugin,
    pods,
    quota,
)

from eks_gpushare.inventory.edges.unseen import unseen
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.problem import NotSeen
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

LABEL = "nvidia.com/mig.config"
MIXED = {"mig": {"strategy": "mixed"}}
ON = {"tolerations": [{"operator": "Exists"}]}
POD = pods({GPU: 1})
LABELS = "the labels of the node group gpu"
VALUES = "the values of the Release nvidia-device-plugin"
HIDDEN = nodes(labels=UNKNOWN)
SEEN = nodes(labels=PRESENT)


def of(name: str, isolation: Any = "isolated") -> Item:
    labels = {"eks-gpushare.io__tenant": name, "eks-gpushare.io__isolation": isolation}
    return namespace(name, **labels)


def as_user(user: Any, name: str) -> Item:
    return pods({GPU: 1}, name=name, securityContext={"runAsUser": user})


def configured(data: Any, **more: Any) -> tuple[Item, Item]:
    return plugin({"config": {"name": "sharing"}, **ON}), config_map("sharing", data, **more)


CASES: dict[str, tuple[list[str], tuple[Item, ...]]] = {
    # Nodes, and what hangs on what they advertise.
    "labels, and nothing that needs them": ([], (HIDDEN,)),
    "labels, and pods": ([f"GPU1110: {LABELS}"], (HIDDEN, POD)),
    "labels, of two types, are said once": (
        [f"GPU1110: {LABELS}"],
        (nodes("g5.xlarge", "g6.xlarge", labels=UNKNOWN), POD),
    ),
    "one label of many": (
        [f"GPU1110: {LABELS}"],
        (nodes(labels={**PRESENT, "pool": UNKNOWN}), POD),
    ),
    "labels, where a plan says what nodes have": (
        [],
        (nodes(labels=UNKNOWN, advertised={"g5.xlarge": {GPU: 4}}), POD),
    ),
    "labels, and a quota of GPUs": (
        [f"GPU1150: {LABELS}"],
        (HIDDEN, quota({GPU: 4, "cpu": 1})),
    ),
    "labels, and a quota of something else": ([], (HIDDEN, quota({"cpu": 4}))),
    "labels, and two workloads beside an isolated tenant": (
        [f"GPU1110: {LABELS}", f"GPU1160: {LABELS}"],
        (HIDDEN, POD, POD, of("a")),
    ),
    "labels, and one of two tenants isolated": (
        [f"GPU1110: {LABELS}", f"GPU1160: {LABELS}"],
        (HIDDEN, POD, POD, of("b", "no"), of("a")),
    ),
    "labels, and one workload beside an isolated tenant": (
        [f"GPU1110: {LABELS}"],
        (HIDDEN, POD, of("a")),
    ),
    "labels, and nobody isolated": (
        [f"GPU1110: {LABELS}"],
        (HIDDEN, POD, POD, of("a", "no"), of("b", "no")),
    ),
    "labels, and two users": (
        [f"GPU1110: {LABELS}", f"GPU1170: {LABELS}"],
        (HIDDEN, as_user(1, "a"), as_user(2, "b")),
    ),
    "labels, and the third user is another": (
        [f"GPU1110: {LABELS}", f"GPU1170: {LABELS}"],
        (HIDDEN, as_user(1, "a"), as_user(1, "b"), as_user(2, "c")),
    ),
    "labels, and one user": (
        [f"GPU1110: {LABELS}"],
        (HIDDEN, as_user(1, "a"), as_user(1, "b")),
    ),
    "labels, and a user that images decide, who is taken for root": (
        [f"GPU1110: {LABELS}", f"GPU1170: {LABELS}"],
        (HIDDEN, as_user(1, "a"), POD, as_user(UNKNOWN, "c")),
    ),
    "labels, and root twice": ([f"GPU1110: {LABELS}"], (HIDDEN, as_user(0, "a"), POD)),
    "labels, and an overlay of Karpenter": (
        [f"GPU1140: {LABELS}"],
        (nodes(labels=UNKNOWN, provisioner="karpenter"), overlay({GPU: 4})),
    ),
    "labels, and an overlay of another cluster": (
        [],
        (nodes(labels=UNKNOWN, provisioner="karpenter"), overlay({GPU: 4}, cluster="b")),
    ),
    "labels of Karpenter's nodes, and no overlay": (
        [],
        (nodes(labels=UNKNOWN, provisioner="karpenter"),),
    ),
    "labels, and an overlay that is for others": ([], (HIDDEN, overlay({GPU: 4}))),
    "labels, and tags for Cluster Autoscaler": (
        [f"GPU1140: {LABELS}"],
        (nodes(labels=UNKNOWN, promised={GPU: "4"}),),
    ),
    "types": (
        ["GPU1110: the instance types of the node group gpu"],
        (nodes(instance_types=UNKNOWN, labels=PRESENT), POD),
    ),
    "types, and no sign of GPUs": (
        ["GPU1110: the instance types of the node group gpu"],
        (nodes(instance_types=UNKNOWN), POD),
    ),
    "types, and no sign of GPUs, beside a plugin": (
        [
            "GPU1100: the instance types of the node group gpu",
            "GPU1110: the instance types of the node group gpu",
        ],
        (nodes(instance_types=UNKNOWN), plugin(ON), POD),
    ),
    "types, and no sign of GPUs, beside an exporter": (
        ["GPU1110: the instance types of the node group gpu"],
        (nodes(instance_types=UNKNOWN), chart("dcgm-exporter"), POD),
    ),
    "types of nodes that nothing needs": ([], (nodes(instance_types=UNKNOWN),)),
    # Values of charts and their ConfigMaps.
    "values": (
        [f"GPU1110: {VALUES}", f"GPU1122: {VALUES}", f"GPU1173: {VALUES}"],
        (SEEN, plugin(UNKNOWN), POD),
    ),
    "the configuration in the values": (
        [f"GPU1110: {VALUES}", f"GPU1122: {VALUES}", f"GPU1173: {VALUES}"],
        (SEEN, plugin({"config": UNKNOWN, **ON}), POD),
    ),
    "the strategy, which leaves the keys known": (
        [f"GPU1110: {VALUES}", f"GPU1173: {VALUES}"],
        (SEEN, plugin({"migStrategy": UNKNOWN, **ON}), POD),
    ),
    "a value that nothing here needs": ([], (SEEN, plugin({"image": UNKNOWN, **ON}), POD)),
    "a ConfigMap": (
        [
            "GPU1110: the ConfigMap sharing of the Release nvidia-device-plugin",
            "GPU1122: the ConfigMap sharing of the Release nvidia-device-plugin",
            "GPU1173: the ConfigMap sharing of the Release nvidia-device-plugin",
        ],
        (SEEN, *configured(UNKNOWN), POD),
    ),
    "one document of it": (
        [
            "GPU1110: the ConfigMap sharing of the Release nvidia-device-plugin",
            "GPU1173: the ConfigMap sharing of the Release nvidia-device-plugin",
        ],
        (SEEN, *configured({"a": UNKNOWN}), POD),
    ),
    "another ConfigMap": (
        [],
        (SEEN, *configured({"a": "version: v1"}), config_map("other", UNKNOWN), POD),
    ),
    "the name of a ConfigMap": (
        [
            "GPU1110: the ConfigMap sharing of the Release nvidia-device-plugin",
            "GPU1122: the ConfigMap sharing of the Release nvidia-device-plugin",
            "GPU1173: the ConfigMap sharing of the Release nvidia-device-plugin",
        ],
        (SEEN, plugin({"config": {"name": "sharing"}, **ON}), config_map(UNKNOWN, {}), POD),
    ),
    "the name of a ConfigMap, and values that name none": (
        [],
        (SEEN, plugin(ON), config_map(UNKNOWN, {}), POD),
    ),
    "where a chart puts its DaemonSets": (
        ["GPU1100: where the Release nvidia-device-plugin puts its DaemonSets"],
        (SEEN, plugin({**ON, "nodeSelector": {"pool": UNKNOWN}})),
    ),
    "where it puts the worker of NFD": (
        ["GPU1100: where the Release nvidia-device-plugin puts its DaemonSets"],
        (SEEN, plugin({**ON, "nfd": {"worker": UNKNOWN}})),
    ),
    "where an exporter goes is its own": (
        [],
        (SEEN, chart("dcgm-exporter", {"affinity": UNKNOWN})),
    ),
    "values of one of two exporters": (
        ["GPU1187: the values of the Release dcgm-exporter"],
        (SEEN, operator(MIXED), chart("dcgm-exporter", {"image": UNKNOWN})),
    ),
    "values of the only exporter": ([], (SEEN, chart("dcgm-exporter", {"image": UNKNOWN}))),
    "values of an exporter beside another chart": (
        [],
        (SEEN, chart("karpenter", UNKNOWN), chart("dcgm-exporter", {"image": UNKNOWN})),
    ),
    # MIG.
    "user data, which may cut GPUs": (
        [
            "GPU1110: the user data of the node group gpu",
            "GPU1130: the user data of the node group gpu",
        ],
        (
            nodes("p4d.24xlarge", labels=PRESENT, user_data=UNKNOWN),
            plugin({"migStrategy": "mixed", **ON}),
            POD,
        ),
    ),
    "user data, where no plugin looks for devices of MIG": (
        [],
        (nodes("p4d.24xlarge", labels=PRESENT, user_data=UNKNOWN), plugin(ON), POD),
    ),
    "user data beside a label, which says how they are cut": (
        [],
        (
            nodes("p4d.24xlarge", labels={**PRESENT, LABEL: "all-1g.5gb"}, user_data=UNKNOWN),
            operator(MIXED),
        ),
    ),
    "the label of a layout, and a MIG manager": (
        [f"GPU1100: {LABELS}", f"GPU1122: {LABELS}", f"GPU1130: {LABELS}"],
        (nodes("p4d.24xlarge", labels={**PRESENT, LABEL: UNKNOWN}), operator(MIXED)),
    ),
    "the label of a layout, and no MIG manager": (
        [f"GPU1100: {LABELS}", f"GPU1122: {LABELS}"],
        (nodes("p4d.24xlarge", labels={**PRESENT, LABEL: UNKNOWN}), plugin(ON)),
    ),
    "types with a label of a layout": (
        ["GPU1130: the instance types of the node group gpu"],
        (nodes(instance_types=UNKNOWN, labels={**PRESENT, LABEL: "all-1g.5gb"}), operator(MIXED)),
    ),
    "types without a label of a layout": (
        [],
        (nodes(instance_types=UNKNOWN, labels=PRESENT), operator(MIXED)),
    ),
    "another label, and a layout that is known not to fit": (
        [f"GPU1100: {LABELS}", f"GPU1122: {LABELS}"],
        (
            nodes("g5.xlarge", labels={**PRESENT, LABEL: "all-1g.5gb", "a": UNKNOWN}),
            operator(MIXED),
        ),
    ),
    "user data, where the layout is known not to fit": (
        [],
        (
            nodes("g5.xlarge", labels={**PRESENT, LABEL: "all-1g.5gb"}, user_data=UNKNOWN),
            operator(MIXED),
        ),
    ),
    "user data beside a label, and two plugins": (
        [],
        (
            nodes("p4d.24xlarge", labels={**PRESENT, LABEL: "all-1g.5gb"}, user_data=UNKNOWN),
            operator(MIXED),
            plugin(ON),
            POD,
        ),
    ),
    "another label, and layouts of one's own": (
        [f"GPU1100: {LABELS}", f"GPU1122: {LABELS}"],
        (
            nodes("p4d.24xlarge", labels={**PRESENT, LABEL: "half", "a": UNKNOWN}),
            operator({**MIXED, "migManager": {"config": {"name": "layouts"}}}),
            config_map("layouts", UNKNOWN),
        ),
    ),
    "the name of a ConfigMap, and two plugins that name none": (
        [],
        (SEEN, plugin(ON), plugin(ON, name="b"), config_map(UNKNOWN, {}), POD),
    ),
    # Nodes, and what keeps DaemonSets off them.
    "the most of nodes, and a quota": (
        ["GPU1151: how many nodes the node group gpu may have"],
        (nodes(labels=PRESENT, most=UNKNOWN), quota({GPU: 4}), plugin(ON)),
    ),
    "the most of nodes, and no quota": ([], (nodes(labels=PRESENT, most=UNKNOWN), plugin(ON))),
    "labels beside a plugin": (
        [f"GPU1100: {LABELS}", f"GPU1122: {LABELS}"],
        (HIDDEN, plugin(ON)),
    ),
    "labels of nodes that bring their own": (
        [],
        (nodes(labels=UNKNOWN, provisioner="autoMode"), plugin(ON)),
    ),
    "labels beside two plugins": (
        [
            f"GPU1100: {LABELS}",
            f"GPU1122: {LABELS}",
            f"GPU1173: {LABELS}",
            "GPU1185: the labels and taints of the node group gpu",
        ],
        (HIDDEN, plugin(ON), plugin(ON, name="b")),
    ),
    "taints beside two plugins": (
        ["GPU1185: the labels and taints of the node group gpu"],
        (nodes(labels=PRESENT, taints=UNKNOWN), plugin(ON), plugin(ON, name="b")),
    ),
    "taints beside one": ([], (nodes(labels=PRESENT, taints=UNKNOWN), plugin(ON))),
    # Pods.
    "what pods ask for": (
        ["GPU1110: what the Deployment app asks for"],
        (SEEN, pods(spec=UNKNOWN)),
    ),
    "one of the containers": (
        ["GPU1110: what the Deployment app asks for"],
        (SEEN, pods(spec={"containers": [{"name": "a"}, UNKNOWN]})),
    ),
    "the containers": (
        ["GPU1110: what the Deployment app asks for"],
        (SEEN, pods(spec={"containers": UNKNOWN})),
    ),
    "the limits of the second container": (
        ["GPU1110: what the Deployment app asks for"],
        (SEEN, pods(spec={"containers": [{"name": "a"}, {"resources": {"limits": UNKNOWN}}]})),
    ),
    "the requests": (
        ["GPU1110: what the Deployment app asks for"],
        (SEEN, pods(spec={"containers": [{"resources": {"requests": UNKNOWN}}]})),
    ),
    "something else of the pods": ([], (SEEN, pods({"cpu": 1}, volumes=UNKNOWN))),
    "what a DaemonSet asks for": ([], (SEEN, pods(spec=UNKNOWN, kind="DaemonSet"))),
    # Tenants.
    "the labels of a namespace beside an isolated one": (
        ["GPU1160: the labels of the Namespace b"],
        (SEEN, of("a"), namespace("b", team=UNKNOWN)),
    ),
    "the name of a namespace beside an isolated one": (
        ["GPU1160: the labels of the Namespace Unknown.UNKNOWN"],
        (SEEN, of("a"), namespace(UNKNOWN, team="b")),
    ),
    "the labels of a namespace, and nobody isolated": (
        [],
        (SEEN, of("a", "no"), namespace("b", team=UNKNOWN)),
    ),
    "the namespace of pods": (
        ["GPU1160: the namespace of the Deployment app"],
        (SEEN, of("a"), pods({GPU: 1}, namespace=UNKNOWN)),
    ),
    "the nodes that pods select": (
        ["GPU1160: which nodes the Deployment app selects"],
        (SEEN, of("a"), pods({GPU: 1}, nodeSelector={"pool": UNKNOWN})),
    ),
    "the tolerations of pods": ([], (SEEN, of("a"), pods({GPU: 1}, tolerations=UNKNOWN))),
    # Quotas.
    "what a quota allows of GPUs": (
        ["GPU1150: how many of nvidia.com/gpu the ResourceQuota team allows"],
        (SEEN, quota({GPU: UNKNOWN, "cpu": UNKNOWN})),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_known_is_said_where_something_hangs_on_it(case: str) -> None:
    said, items = CASES[case]
    found = list(unseen.look(Inventory(items, complete=True)))

    assert all(isinstance(each, NotSeen) for each in found)
    assert (
        sorted(f"{each.rule.id}: {each.what}" for each in found if isinstance(each, NotSeen))
        == said
    )


def test_of_files_without_nodes_nothing_is_said_of_pods() -> None:
    items = (pods(spec=UNKNOWN), nodes("m5.large"))

    assert list(unseen.look(Inventory(items, complete=False))) == []
    assert [each.rule.id for each in unseen.look(Inventory(items, complete=True))] == ["GPU1110"]
    assert [each.rule.id for each in unseen.look(Inventory((*items, SEEN)))] == ["GPU1110"]
