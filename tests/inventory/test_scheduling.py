"""What keeps a pod off a node, one question at a time: yes, no, or not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.inventory.items import NodeTaint
from eks_gpushare.inventory.matching import is_tolerated, meets_requirements
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.scheduling import (
    Landing,
    is_extended,
    keeping_off,
    landing,
    lasting,
    with_extended_tolerations,
)
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

TAINT = NodeTaint("team", "5", "NoSchedule")
LABELS: Mapping[str, Any] = {"team": "ml", "size": "5", "word": "x5", "later": UNKNOWN}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _landing(spec: Any, *taints: NodeTaint) -> Landing:
    return landing(spec, taints, LABELS.get)


def _affinity(terms: Any) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}


def _terms(*expressions: Any) -> dict[str, Any]:
    return _affinity([{"matchExpressions": list(expressions)}])


@pytest.mark.parametrize(
    ("toleration", "verdict"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "team", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "team", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "team", "value": "5"}, True),
        ({"key": "team", "value": 5}, True),
        ({"key": "team", "operator": "Equal", "value": "5"}, True),
        ({"key": "team", "operator": "Equal", "value": "6"}, False),
        ({"key": "team"}, False),
        ({"key": "team", "operator": "exists"}, False),
        ({"key": "team", "operator": "In", "value": "5"}, False),
        # Alpha: where they fit, it hangs on the cluster.
        ({"key": "team", "operator": "Gt", "value": "4"}, None),
        ({"key": "team", "operator": "Gt", "value": "5"}, False),
        ({"key": "team", "operator": "Gt", "value": "6"}, False),
        ({"key": "team", "operator": "Lt", "value": "6"}, None),
        ({"key": "team", "operator": "Lt", "value": "5"}, False),
        ({"key": "team", "operator": "Lt", "value": "4"}, False),
        ({"key": "team", "operator": "Lt", "value": "many"}, False),
        ({"key": "team", "operator": "In", "value": "6"}, False),
        ({"key": UNKNOWN, "operator": "Exists"}, None),
        ({"key": "team", "operator": UNKNOWN}, None),
        ({"key": "team", "value": UNKNOWN}, None),
        ({"key": "team", "operator": "Exists", "value": UNKNOWN}, True),
        ({"key": "team", "operator": "Exists", "effect": UNKNOWN}, None),
        ({"key": "other", "operator": UNKNOWN}, False),
        (UNKNOWN, None),
    ],
)
def test_a_toleration_is_for_a_taint(toleration: Any, verdict: bool | None) -> None:
    assert is_tolerated(TAINT, [toleration]) is verdict


def test_the_value_of_a_taint_that_is_no_number_is_not_compared() -> None:
    word = NodeTaint("team", "ml", "NoSchedule")

    assert is_tolerated(word, [{"key": "team", "operator": "Gt", "value": "4"}]) is False


def test_one_toleration_of_several_is_enough() -> None:
    fits, other = {"operator": "Exists"}, {"key": "other", "operator": "Exists"}

    assert is_tolerated(TAINT, [other, UNKNOWN, fits]) is True
    assert is_tolerated(TAINT, [UNKNOWN, other]) is None
    assert is_tolerated(TAINT, UNKNOWN) is None
    assert is_tolerated(TAINT, None) is False


@pytest.mark.parametrize(
    ("expression", "verdict"),
    [
        (("team", "In", ["ml"]), True),
        (("team", "In", ["a", "ml"]), True),
        (("team", "In", ["a"]), False),
        (("team", "In", ["a", UNKNOWN]), None),
        (("team", "In", ["ml", UNKNOWN]), True),
        (("none", "In", ["a"]), False),
        (("none", "In", [UNKNOWN]), False),
        (("team", "NotIn", ["ml"]), False),
        (("team", "NotIn", ["a"]), True),
        (("team", "NotIn", [UNKNOWN]), None),
        (("none", "NotIn", ["a"]), True),
        (("team", "Exists", []), True),
        (("none", "Exists", []), False),
        (("team", "DoesNotExist", []), False),
        (("none", "DoesNotExist", []), True),
        (("size", "Gt", ["4"]), True),
        (("size", "Gt", ["5"]), False),
        (("size", "Gt", [4]), True),
        (("size", "Gt", ["6"]), False),
        (("size", "Lt", ["6"]), True),
        (("size", "Lt", ["5"]), False),
        (("size", "Lt", ["4"]), False),
        (("size", "Gt", ["4", "3"]), False),
        (("size", "Gt", []), False),
        (("size", "Gt", ["x"]), False),
        (("word", "Gt", ["4"]), False),
        (("none", "Lt", ["4"]), False),
        (("size", "Gt", [UNKNOWN]), None),
        (("later", "In", ["a"]), None),
        (("later", "Exists", []), None),
        (("team", "Equals", ["ml"]), None),
        (("team", UNKNOWN, ["a"]), None),
        ((UNKNOWN, "In", ["a"]), None),
        (("team", "In", UNKNOWN), None),
    ],
)
def test_an_expression_is_met(expression: tuple[Any, ...], verdict: bool | None) -> None:
    written = dict(zip(("key", "operator", "values"), expression, strict=True))

    assert _landing(_terms(written)).lands is verdict
    assert meets_requirements([written], LABELS.get) is verdict


def test_requirements_hold_all_together() -> None:
    fits, not_ = ({"key": key, "operator": "Exists"} for key in ("team", "none"))

    assert meets_requirements(UNKNOWN, LABELS.get) is None
    assert meets_requirements([], LABELS.get) is True
    assert meets_requirements([fits, not_], LABELS.get) is False
    assert meets_requirements([UNKNOWN, fits], LABELS.get) is None


ANY = {"key": "team", "operator": "Exists"}


@pytest.mark.parametrize(
    ("spec", "verdict", "words"),
    [
        ({}, True, ()),
        ({"nodeSelector": {"team": "ml"}}, True, ()),
        ({"nodeSelector": {"team": "a"}}, False, ("the label team=a",)),
        ({"nodeSelector": {"on": True}}, False, ("the label on=true",)),
        ({"nodeSelector": {"team": UNKNOWN}}, None, ()),
        ({"nodeSelector": {"none": UNKNOWN}}, False, ("the label none",)),
        ({"nodeSelector": UNKNOWN}, None, ()),
        ({"affinity": UNKNOWN}, None, ()),
        (UNKNOWN, None, ()),
        ({"affinity": {"nodeAffinity": {REQUIRED: None}}}, True, ()),
        (_affinity(UNKNOWN), None, ()),
        (_affinity([]), False, ("a node with none of no terms",)),
        (_affinity([{}]), False, ("a node with what an empty term says",)),
        (_affinity([{"matchExpressions": []}]), False, ("a node with what an empty term says",)),
        (_affinity([UNKNOWN]), None, ()),
        (_affinity([{"matchExpressions": UNKNOWN}]), None, ()),
        (_affinity([{"matchExpressions": [ANY], "matchFields": UNKNOWN}]), None, ()),
        (_affinity([{"matchExpressions": [ANY], "matchFields": [{}]}]), None, ()),
        (_affinity([{"matchFields": [{}]}]), None, ()),
        (_affinity([{}, {"matchExpressions": [ANY]}]), True, ()),
        (
            _terms({"key": "team", "operator": "In", "values": ["a"]}),
            False,
            ("a node with team=a",),
        ),
        (
            _terms({"key": "team", "operator": "In", "values": ["a", UNKNOWN, 1]}, ANY),
            None,
            (),
        ),
        (
            _affinity(
                [
                    {
                        "matchExpressions": [
                            {"key": "none", "operator": "In", "values": ["a", UNKNOWN]},
                            {"key": "none", "operator": "Exists"},
                        ]
                    },
                    {"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["9"]}]},
                ]
            ),
            False,
            ("a node with none in (a, ?) and none Exists or size Gt 9",),
        ),
    ],
)
def test_labels_that_are_wanted_are_said(
    spec: Any, verdict: bool | None, words: tuple[str, ...]
) -> None:
    found = _landing(spec)

    assert (found.lands, found.labels) == (verdict, words)
    assert (found.taints, found.unsure_of_taints) == ((), False)


def test_taints_that_are_not_known_leave_it_open() -> None:
    assert landing({}, UNKNOWN, LABELS.get) == Landing(unsure_of_taints=True)
    assert _landing({}, TAINT) == Landing(taints=(TAINT,))
    assert _landing({"tolerations": UNKNOWN}, TAINT) == Landing(unsure_of_taints=True)
    assert _landing({"tolerations": [{"operator": "Exists"}]}, TAINT) == Landing()


@pytest.mark.parametrize(
    ("key", "effect", "stays"),
    [
        ("team", "NoSchedule", True),
        ("team", "NoExecute", True),
        ("team", "PreferNoSchedule", False),
        ("node.kubernetes.io/not-ready", "NoSchedule", False),
        ("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule", False),
        ("node.cilium.io/agent-not-ready", "NoExecute", False),
    ],
)
def test_some_taints_keep_nobody_off_for_good(key: str, effect: str, stays: bool) -> None:
    assert bool(list(keeping_off([NodeTaint(key, "", effect)]))) is stays


def test_taints_that_nodes_join_with_are_lost() -> None:
    starting = NodeTaint("ignore-taint.cluster-autoscaler.kubernetes.io/x", "", "NoSchedule")

    assert lasting((TAINT, starting)) == (TAINT,)
    assert lasting(UNKNOWN) is UNKNOWN


def test_containers_come_with_their_places() -> None:
    spec = {"containers": [1, 2], "initContainers": [3]}

    assert list(containers(spec)) == [
        (("initContainers", 0), 3),
        (("containers", 0), 1),
        (("containers", 1), 2),
    ]


@pytest.mark.parametrize(
    ("name", "extended"),
    [
        ("nvidia.com/gpu", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("kubernetes.io/batch-cpu", False),
        ("attachable-volumes.node.kubernetes.io/x", False),
    ],
)
def test_extended_resources_have_a_domain_of_others(name: str, extended: bool) -> None:
    assert is_extended(name) is extended


def test_tolerations_are_added_for_each_extended_resource_once() -> None:
    resources = {
        "requests": {"cpu": 1, "nvidia.com/gpu": 1},
        "limits": {"nvidia.com/gpu": 1, "a.b/c": 1},
    }
    spec = {"containers": [{"resources": resources}], "tolerations": [{"key": "own"}]}
    added = [
        {"key": key, "operator": "Exists", "effect": "NoSchedule"}
        for key in ("nvidia.com/gpu", "a.b/c")
    ]

    assert with_extended_tolerations(spec) == {**spec, "tolerations": [{"key": "own"}, *added]}
    assert with_extended_tolerations({**spec, "tolerations": UNKNOWN})["tolerations"] is UNKNOWN
    assert with_extended_tolerations(UNKNOWN) is UNKNOWN
    assert with_extended_tolerations({}) == {}
    assert with_extended_tolerations(None) is None
