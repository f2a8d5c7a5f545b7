"""Looking things up by an index finds what asking each of them finds."""

from __future__ import annotations

import random
from typing import Any

from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import ConfigMap, Namespace, NodeSet, NodeTaint, Provisioner
from eks_gpushare.inventory.label_index import LabelIndex
from eks_gpushare.inventory.nodes import NodeKind
from eks_gpushare.inventory.scheduling import landing
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import PartlyKnown

KEYS = ("pool", "team", "kubernetes.io/os", "topology.kubernetes.io/zone", "eks-gpushare/pool")
VALUES = ("a", "b", "linux", "1")


def _value(dice: random.Random) -> Any:
    return dice.choice([*VALUES, True, 1, UNKNOWN])


def _kind(dice: random.Random) -> NodeKind:
    labels: Any = {key: _value(dice) for key in dice.sample(KEYS, dice.randrange(3))}
    if dice.random() < 0.2:
        labels = dice.choice([UNKNOWN, PartlyKnown(labels)])
    taints = (NodeTaint("nvidia.com/gpu", "", "NoSchedule"),) if dice.random() < 0.5 else ()
    provisioner: Provisioner = dice.choice(("managed", "karpenter", "byHand", "selfManaged"))
    nodes = NodeSet(
        source=Source("the nodes"),
        name=dice.choice(VALUES),
        provisioner=provisioner,
        labels=labels,
        taints=taints,
        ami=dice.choice(("", "AL2_x86_64_GPU")),
        user_data=dice.choice(("", UNKNOWN)),
    )
    return NodeKind(nodes, None, {"team": frozenset("a")} if dice.random() < 0.3 else {})


def _expression(dice: random.Random) -> Any:
    operator = dice.choice(["In", "In", "In", "NotIn", "Exists", "DoesNotExist", UNKNOWN])
    values = [_value(dice) for _ in range(dice.randrange(3))]
    return {"key": dice.choice(KEYS), "operator": operator, "values": values}


def _terms(dice: random.Random) -> Any:
    return [
        {"matchExpressions": [_expression(dice) for _ in range(dice.randrange(3))]}
        for _ in range(dice.randrange(3))
    ]


def _spec(dice: random.Random) -> Any:
    spec: dict[str, Any] = {}
    if dice.random() < 0.7:
        spec["nodeSelector"] = {key: _value(dice) for key in dice.sample(KEYS, dice.randrange(3))}
    if dice.random() < 0.5:
        required = dice.choice([{"nodeSelectorTerms": _terms(dice)}, {}, UNKNOWN])
        key = "requiredDuringSchedulingIgnoredDuringExecution"
        spec["affinity"] = {"nodeAffinity": {key: required}}
    return UNKNOWN if dice.random() < 0.05 else spec


def test_whoever_is_left_out_by_an_index_lacks_a_label() -> None:
    dice = random.Random(22)  # noqa: S311  (nothing secret)
    for _ in range(3000):
        kinds = [_kind(dice) for _ in range(dice.randrange(1, 8))]
        spec = _spec(dice)
        index = LabelIndex(kinds)
        lacking = [len(landing(spec, (), kind.label).labels) for kind in kinds]
        meeting, near = index.meeting(spec), index.meeting_any(spec)

        outside = [n for at, n in enumerate(lacking) if meeting is not None and at not in meeting]
        far = [n for at, n in enumerate(lacking) if near is not None and at not in near]

        assert 0 not in outside, (spec, kinds)
        assert len({*far}) < 2, (spec, kinds)
        assert not far or max(far) == max(lacking), (spec, kinds)


def test_an_index_leaves_most_out() -> None:
    """Or it would be right and of no use."""
    source = Source("the nodes")
    kinds = [
        NodeKind(
            NodeSet(source=source, name="n", provisioner="managed", labels={"pool": str(n)}), None
        )
        for n in range(100)
    ]
    index = LabelIndex(kinds)
    terms = [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["7", "8"]}]}]

    assert index.meeting({"nodeSelector": {"pool": "7"}}) == frozenset({7})
    assert index.meeting_terms(terms) == frozenset({7, 8})
    assert index.having({"pool": "7", "kubernetes.io/os": "linux"}) == [7]


def test_items_are_found_by_kind_and_cluster_in_their_order() -> None:
    source = Source("x")
    items = [
        (ConfigMap, Namespace)[number % 2](source=source, name=str(number), cluster=cluster)
        for number, cluster in enumerate("aabba")
    ]
    inventory = Inventory(tuple(items))

    assert [each.name for each in inventory.of(ConfigMap)] == ["0", "2", "4"]
    assert [each.name for each in inventory.of(ConfigMap, "a")] == ["0", "4"]
    assert inventory.of(NodeSet) == ()
