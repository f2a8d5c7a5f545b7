"""How texts become values, and objects pods: limits, places, and what is one and what many."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import nodes, pods

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.rules.terraform import node_group_rules
from eks_gpushare.lint.same_nodes import together
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.nodes import KubernetesComposer
from eks_gpushare.manifests.readers.lists import ListReader
from eks_gpushare.manifests.readers.pods import pod_labels, pod_places
from eks_gpushare.manifests.texts import read_texts
from eks_gpushare.stack_file.composer import MAX_DEPTH, find
from eks_gpushare.stack_file.yaml_problems import StopReadingError

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import NodeSet


def problems(text: str) -> list[str]:
    return [each.message for each in read_texts(text, "a.yaml").problems]


@pytest.mark.parametrize("opened", ["[]", "{}"])
def test_so_many_levels_are_followed(opened: str) -> None:
    first, last = opened[0], opened[1]
    step = first if first == "[" else f"{first}a: "
    deep = step * MAX_DEPTH + "b" + last * MAX_DEPTH
    first_level = "- " if first == "[" else "x:\n  "

    assert problems(deep) == []
    assert problems(f"{first_level}{deep}") == [f"more than {MAX_DEPTH} levels of nesting"]
    assert problems(f"- [b]\n- {deep}") == [f"more than {MAX_DEPTH} levels of nesting"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a", 1),
        ("[a, b]", 3),
        ("{a: b}", 3),
        ("[[a], [b]]", 5),
        ("- &x [a, b]\n- *x\n", 8),
        ("- &x {a: b}\n- *x\n", 8),
        ("- &x {a: [b]}\n- *x\n", 10),
        ("- &x {a: b}\n- {<<: *x}\n", 13),
    ],
)
def test_each_alias_counts_with_all_that_it_stands_for(text: str, count: int) -> None:
    KubernetesComposer(text, most=count).document()
    with pytest.raises(StopReadingError):
        KubernetesComposer(text, most=count - 1).document()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\na: 2\n", {"a": 2}),
        ("{<<: {b: 1}, <<: {b: 2, c: 3}}", {"b": 1, "c": 3}),
    ],
)
def test_what_stands_twice_counts_as_kubernetes_has_it(text: str, value: Any) -> None:
    (document,) = read_texts(text, "a.yaml").documents

    assert document.value == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x: 1\n---\na: 1\nb: 2\na: 3\n", "the key 'a' is already set on line 3"),
        ("{a: b}: c\n", "a key must be a string, and this one is a mapping"),
        ("[a]: c\n", "a key must be a string, and this one is a list"),
        ("a: *b\n", "the alias *b is not defined above"),
        ("a: &b [*b]\n", "the alias *b stands for a value it is part of"),
        ("a: {<<: b}\n", "the merge key << takes a mapping or a list of mappings"),
    ],
)
def test_what_is_wrong_with_a_text(text: str, message: str) -> None:
    assert problems(text) == [message]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true: a\n5: b\nno: c\nnull: d\n", {"true": "a", "5": "b", "false": "c", "null": "d"}),
        ("'<<': {a: b}\n", {"<<": {"a": "b"}}),
        ("x: &x {a: 1, b: 1}\nz: {b: 2, <<: *x}\n", {"x": {"a": 1, "b": 1}, "z": {"b": 2, "a": 1}}),
        ("- &a {k: 1}\n- &b {k: 2, l: 2}\n- {<<: [*a, *b]}\n",
            [{"k": 1}, {"k": 2, "l": 2}, {"k": 1, "l": 2}]),
        ("a: '5'\nb: ! 5\nc: !!str 5\n", {"a": "5", "b": 5, "c": "5"}),
    ],
)  # fmt: skip
def test_keys_and_merges(text: str, value: Any) -> None:
    (document,) = read_texts(text, "a.yaml").documents

    assert document.value == value


def test_an_ancestor_stands_for_what_is_not_there() -> None:
    root = KubernetesComposer("a: {b: [c]}\n").document()
    assert root is not None

    assert find(root, ("a", "b", 0))[1] == 3
    entry, depth = find(root, ("a", "x", "y"))
    assert (entry, depth) == (root.children["a"], 1)
    assert find(root, ("x",)) == (None, 0)


def node(kind: str = "Node", **more: Any) -> NodeSet:
    document = Document("a.yaml", {"kind": kind}, lambda _: Position(1, 1))
    made = nodes(provisioner="byHand", least=1, most=1, **more)
    return replace(made, source=Source("the node", document))


def test_nodes_that_differ_in_nothing_are_counted() -> None:
    own = {"kubernetes.io/hostname": "a", "topology.kubernetes.io/zone": "b"}
    other = node(labels={"team": "ml"})
    tainted = node(taints=[("a", "b", "NoSchedule")])
    found = together([node(), other, node(labels=own), pods(), tainted, node(), other])

    assert [getattr(each, "most", None) for each in found] == [3, 2, None, 1]
    assert [getattr(each, "least", None) for each in found] == [3, 2, None, 1]


@pytest.mark.parametrize(
    "each",
    [
        node(labels=UNKNOWN),
        node(taints=UNKNOWN),
        node("NodePool"),
        nodes(least=0, most=4),
        node(cluster="b"),
    ],
)
def test_what_may_differ_is_not(each: NodeSet) -> None:
    several = together([each, node(), each])

    assert len(several) == (2 if each.cluster else 3)
    assert each.cluster or sum(one is each for one in several) == 2


TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}


@pytest.mark.parametrize(
    ("kind", "value", "places"),
    [
        ("Pod", {}, [((), ("spec",), 1)]),
        ("PodTemplate", {}, [(("template",), ("template", "spec"), 0)]),
        (
            "Deployment",
            {"spec": {"replicas": "3"}},
            [(("spec", "template"), ("spec", "template", "spec"), 3)],
        ),
        ("StatefulSet", {}, [(("spec", "template"), ("spec", "template", "spec"), 1)]),
        ("DaemonSet", {}, [(("spec", "template"), ("spec", "template", "spec"), None)]),
        (
            "Job",
            {"spec": {"parallelism": 4, "replicas": 9, "template": {}}},
            [(("spec", "template"), ("spec", "template", "spec"), 4)],
        ),
        (
            "CronJob",
            {"spec": {"jobTemplate": {"spec": {"parallelism": UNKNOWN}}}},
            [
                (
                    ("spec", "jobTemplate", "spec", "template"),
                    ("spec", "jobTemplate", "spec", "template", "spec"),
                    UNKNOWN,
                )
            ],
        ),
        (
            "Job",
            {"spec": {"template": {}}},
            [(("spec", "template"), ("spec", "template", "spec"), 1)],
        ),
        ("Job", {}, []),
        (
            "CronJob",
            {"spec": {"jobTemplate": {"spec": {}}}},
            [
                (
                    ("spec", "jobTemplate", "spec", "template"),
                    ("spec", "jobTemplate", "spec", "template", "spec"),
                    1,
                )
            ],
        ),
        (
            "RayCluster",
            {"spec": {"groups": [{"replicas": 5, "template": TEMPLATE}]}},
            [(("spec", "groups", 0, "template"), ("spec", "groups", 0, "template", "spec"), 5)],
        ),
        (
            "MPIJob",
            {"spec": {"worker": {"numWorkers": 2, "template": TEMPLATE}}},
            [(("spec", "worker", "template"), ("spec", "worker", "template", "spec"), 2)],
        ),
        (
            "Service",
            {"spec": {"replicas": 7, "predictor": {"containers": [{"name": "a"}]}}},
            [(("spec", "predictor"), ("spec", "predictor"), 7)],
        ),
        (
            "Own",
            {"spec": {"a": {"replicas": 7, "b": {"c": TEMPLATE}}}},
            [(("spec", "a", "b", "c"), ("spec", "a", "b", "c", "spec"), 7)],
        ),
        ("Own", {"spec": {"c": TEMPLATE}}, [(("spec", "c"), ("spec", "c", "spec"), 1)]),
        (
            "Own",
            {"replicas": 9, "spec": {"replicas": "many", "c": TEMPLATE}},
            [(("spec", "c"), ("spec", "c", "spec"), 1)],
        ),
        ("Own", {"spec": {"x": {"containers": []}}}, []),
        ("Own", {"spec": {"x": {"containers": ["a"]}}}, []),
        ("Own", {"spec": {"x": {"containers": [{"name": "a"}, {"image": "b"}]}}}, []),
        ("Own", {"containers": [{"name": "a"}]}, []),
        ("Own", {"status": {"containers": [{"name": "a"}]}}, []),
    ],
)
def test_where_an_object_has_its_pods(kind: str, value: Any, places: list[Any]) -> None:
    assert [tuple(each) for each in pod_places(kind, value)] == places


def test_labels_of_pods() -> None:
    assert pod_labels({"spec": {"template": TEMPLATE}}, ("spec", "template")) == {"a": "b"}
    assert pod_labels({"metadata": UNKNOWN}, ()) is UNKNOWN
    assert pod_labels({}, ()) == {}


def listed(value: Any) -> Document:
    return Document("a.yaml", value, lambda path: Position(len(path) + 1, 1))


@pytest.mark.parametrize(
    "value",
    [
        {"apiVersion": "v1", "kind": "List"},
        {"apiVersion": "v1", "kind": "List", "items": "a"},
        {"apiVersion": "v1", "kind": "Pod", "items": []},
        {"kind": "List", "items": []},
        {"apiVersion": "v1", "kind": 5, "items": []},
        "List",
    ],
)
def test_what_is_no_list(value: Any) -> None:
    assert not ListReader().matches(listed(value))


def test_a_list_of_one_kind_does_not_repeat_it() -> None:
    of_pods = listed({"apiVersion": "v1", "kind": "PodList", "items": [{"a": 1}, 5, {"kind": "X"}]})
    mixed = listed({"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod"}]})

    assert ListReader().matches(of_pods)
    assert [each.value for each in ListReader().read(of_pods).inner] == [
        {"apiVersion": "v1", "kind": "Pod", "a": 1},
        {"apiVersion": "v1", "kind": "X"},
    ]
    assert [each.value for each in ListReader().read(mixed).inner] == [{"kind": "Pod"}]
    assert ListReader().read(of_pods).inner[1].position(()) == (3, 1)


@pytest.mark.parametrize(
    ("effect", "fix"),
    [
        ("Never", "Write NO_SCHEDULE."),
        ("no_execute", "Write NO_EXECUTE."),
        ("PreferNoSchedule", "Write PREFER_NO_SCHEDULE."),
        ("NO_SCHEDULE", None),
        (UNKNOWN, None),
    ],
)
def test_effects_of_terraform_are_those_of_eks(effect: Any, fix: str | None) -> None:
    found = list(node_group_rules(nodes(), {"taint": [{"effect": effect}, "text"]}))

    assert [each.fix for each in found if isinstance(each, Problem)] == ([fix] if fix else [])


@pytest.mark.parametrize(
    ("types", "ami", "count"),
    [
        (("g5.xlarge",), "AL2_x86_64_GPU", 1),
        (("m5.large", "g5.xlarge"), "AL2_x86_64_GPU", 1),
        (("m5.large",), "AL2_x86_64", 0),
        (("g5.xlarge",), "AL2023_x86_64_NVIDIA", 0),
        (UNKNOWN, "AL2_x86_64_GPU", 0),
        (("g5.xlarge",), UNKNOWN, 0),
    ],
)
def test_amazon_linux_2_of_terraform(types: Any, ami: Any, count: int) -> None:
    assert len(list(node_group_rules(nodes(instance_types=types, ami=ami), {}))) == count
