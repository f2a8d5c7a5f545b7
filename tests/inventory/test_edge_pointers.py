"""Scalers, Services and budgets name what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import chart, codes, nodes, problems

from eks_gpushare.inventory.edges.pointers import NO_PODS, NO_PORT, NO_TARGET, TRIGGERS, unbalanced
from eks_gpushare.inventory.items import PART_OF_POD, Pointer, Workload
from eks_gpushare.inventory.source import UNKNOWN, Source

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

LABELS = {"app": "model"}
QUERY = 'avg(DCGM_FI_DEV_GPU_UTIL{namespace="default",pod=~"model-[a-z0-9]{5}"}) or vector(0)'


def work(kind: str = "Deployment", name: Any = "model", **more: Any) -> Workload:
    container = {"name": "main", "image": "busybox:1.37", "ports": [{"name": "http"}]}
    more.setdefault("labels", LABELS)
    more.setdefault("spec", {"containers": [container]})
    return Workload(source=Source(f"the {kind} {name}"), kind=kind, name=name, **more)


def pointer(kind: str, spec: Any, name: Any = "model", **more: Any) -> Pointer:
    return Pointer(source=Source(f"the {kind} {name}"), kind=kind, name=name, spec=spec, **more)


def scaler(name: Any = "model", query: str = QUERY, formula: str = "", **more: Any) -> Pointer:
    spec: dict[str, Any] = {
        "scaleTargetRef": {"name": name, **more.pop("reference", {})},
        "triggers": [
            {"type": "prometheus", "name": "busy", "metadata": {"query": query}},
            {"type": "cron", "name": "hours", "metadata": {}},
        ],
    }
    if formula:
        spec["advanced"] = {"scalingModifiers": {"formula": formula}}
    return pointer("ScaledObject", spec, **more)


def hpa(kind: Any = "Deployment", name: Any = "model", own: Any = "model") -> Pointer:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name}
    return pointer("HorizontalPodAutoscaler", {"scaleTargetRef": reference}, own)


def service(selector: Any = None, port: Any = "http", **more: Any) -> Pointer:
    spec = {"selector": LABELS if selector is None else selector}
    return pointer("Service", {**spec, "ports": [{"port": 80, "targetPort": port}]}, **more)


def budget(labels: Any, **more: Any) -> Pointer:
    return pointer("PodDisruptionBudget", {"selector": {"matchLabels": labels, **more}})


def other(query: str) -> Pointer:
    return scaler(query=query)


PART = work(PART_OF_POD, UNKNOWN, labels=UNKNOWN, namespace=UNKNOWN, replicas=UNKNOWN, spec={})
BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "a target of another name": ("GPU1191", (work(), scaler("models"))),
    "a target of another kind": ("GPU1191", (work("StatefulSet"), scaler())),
    "a target in another namespace": ("GPU1191", (work(namespace="models"), scaler())),
    "an HPA's target": ("GPU1191", (work(), hpa("StatefulSet"))),
    "no workload at all": ("GPU1191", (nodes("m5.large"), hpa())),
    "a Service of other labels": ("GPU1192", (work(), service({"app": "modle"}))),
    "a Service of one label more": ("GPU1192", (work(), service({**LABELS, "tier": "web"}))),
    "a Service of another namespace": (
        "GPU1192",
        (work(namespace="a"), work(name="b", labels={}), service()),
    ),
    "a budget of other labels": ("GPU1192", (work(), budget({"app": "other"}))),
    "a budget of other values": (
        "GPU1192",
        (work(), budget({}, matchExpressions=[{"key": "app", "operator": "In", "values": ["a"]}])),
    ),
    "a budget that leaves its pods out": (
        "GPU1192",
        (work(), budget(LABELS, matchExpressions=[{"key": "tier", "operator": "Exists"}])),
    ),
    "a Service beside values with parts of pods": (
        "GPU1192",
        (PART, work(), service({"app": "x"})),
    ),
    "a port of no container": ("GPU1193", (work(), service(port="web"))),
    "another namespace in a query": ("GPU1194", (work(), other(QUERY.replace("default", "prod")))),
    "of pods that are exported": (
        "GPU1194",
        (work(), other('sum(up{exported_namespace="prod", exported_pod=~"model-.+"})')),
    ),
    "a bracket that is not closed": ("GPU1194", (work(), other("sum(rate(up[1m])"))),
    "a bracket too many": ("GPU1194", (work(), other("sum(up))"))),
    "brackets that cross": ("GPU1194", (work(), other("sum(rate(up[1m)])"))),
    "a formula with a trigger that is not there": ("GPU1194", (work(), scaler(formula="load + 1"))),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "by its name": (work(), scaler()),
    "by kind and name": (work("StatefulSet"), scaler(reference={"kind": "StatefulSet"})),
    "somebody's own kind": (scaler(reference={"kind": "InferenceService", "apiVersion": "a/v1"}),),
    "a chart may make it": (chart("model", namespace="default"), scaler(), service(), hpa()),
    "all of it": (work(), scaler(formula="busy > 0 ? max([hours, 2]) : 0"), hpa(), service()),
    "a port by number": (work(), service(port=8080), service(port="8080")),
    "no port named": (work(), service(port=None)),
    "a Service without a selector": (work(), service({})),
    "labels of several": (work(labels={**LABELS, "tier": "web"}), service(), budget(LABELS)),
    "expressions": (
        work(),
        budget({}, matchExpressions=[{"key": "app", "operator": "In", "values": ["model", "a"]}]),
    ),
    "an expression on what a controller adds": (
        work("LeaderWorkerSet"),
        budget({}, matchExpressions=[{"key": "lws.sigs.k8s.io/name", "operator": "Exists"}]),
    ),
    "a query of other pods": (work(), other('sum(up{namespace="ingress",pod=~"nginx-.*"})')),
    "brackets in texts": (work(), other('sum(up{pod=~"a(b|c"}) # (')),
    "words and functions of the language": (
        work(),
        scaler(formula='not (busy > 1e3 and hours in [1, 2]) ? ceil(busy / 2) : "busy" == "x"'),
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_points_nowhere_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_there_is_not(case: str) -> None:
    assert codes(*RIGHT[case]) == []


ASKING = {"containers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ((work(spec=ASKING), scaler("model-worker")), ["warning"]),
        ((work(name="model-a", spec=ASKING), hpa(name="model", own="model-a")), ["warning"]),
        ((work(spec=ASKING), hpa(name="model-worker")), ["warning"]),
        ((work(), scaler("model-worker")), []),
        ((work(spec=ASKING), scaler("other")), []),
        ((work(spec=ASKING), scaler("models")), []),
        ((work("StatefulSet", spec=ASKING), scaler("model-worker")), []),
        ((work(spec=ASKING, namespace=UNKNOWN), scaler("model-worker")), []),
        ((work(spec=ASKING), work(name="model-worker"), scaler("model-worker")), []),
        ((work(spec=ASKING), work(name=UNKNOWN), scaler("model-worker")), []),
        ((work(spec=ASKING), chart("model", namespace="default"), scaler("model-worker")), []),
        ((work(spec=ASKING), scaler("model-worker"), hpa(own="b")), []),
        ((work(spec=ASKING), scaler("model-worker"), hpa(name=UNKNOWN, own="b")), []),
        ((work(spec=ASKING), scaler("model-worker"), hpa(name="c", own="b")), ["warning"]),
        ((work(spec=ASKING), work("InferenceService"), scaler("model-predictor")), []),
        ((work(spec=ASKING), hpa(UNKNOWN, "model-worker")), []),
        ((work(spec=ASKING), hpa(name="model-worker", own=UNKNOWN)), []),
        ((work(spec=ASKING, namespace=UNKNOWN), scaler("model-worker", namespace=UNKNOWN)), []),
    ],
)
def test_a_scaler_that_is_called_as_a_workload_may_mean_it(
    items: tuple[Item, ...], expected: list[Any]
) -> None:
    given = [each for each in problems(*items, complete=False) if each.rule is NO_TARGET]

    assert [each.severity for each in given] == expected


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ((scaler(),), []),
        ((work("StatefulSet"), scaler()), ["warning"]),
        ((work(namespace="models"), scaler()), ["info"]),
        ((work(name="other", labels={"app": "x"}), service()), []),
        ((work(), service({"app": "x"})), [None]),
    ],
)
def test_of_files_only_what_is_near_is_said(items: tuple[Item, ...], expected: list[Any]) -> None:
    assert [each.severity for each in problems(*items, complete=False)] == expected


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ((work(), pointer("ScaledObject", UNKNOWN)), NO_TARGET.id),
        ((work(), pointer("Service", UNKNOWN)), NO_PODS.id),
        ((work(), scaler(UNKNOWN)), NO_TARGET.id),
        ((work(), service({"app": UNKNOWN})), NO_PODS.id),
    ],
)
def test_what_is_not_known_is_said(items: tuple[Item, ...], code: str) -> None:
    assert codes(*items) == [f"?{code}"]


@pytest.mark.parametrize(
    "items",
    [
        (work(name=UNKNOWN), scaler("models")),
        (work(namespace=UNKNOWN), scaler()),
        (work(labels=UNKNOWN), service({"app": "x"})),
        (work(spec=UNKNOWN), service(port="web")),
        (work(labels=UNKNOWN), service(port="web")),
        (chart("model", namespace=UNKNOWN), scaler("models")),
    ],
)
def test_what_may_be_there_is_not_missed(items: tuple[Item, ...]) -> None:
    assert not {NO_TARGET.id, NO_PODS.id, NO_PORT.id} & set(codes(*items))


def test_messages_say_what_is_there() -> None:
    kind, name = problems(work("StatefulSet"), scaler()), problems(work(), scaler("models"))
    space = problems(work(namespace="models"), scaler())

    assert "model is a StatefulSet" in kind[0].message
    assert "the workloads of default are Deployment model" in name[0].message
    assert "in the namespace models, not in default" in space[0].message
    assert [each.path[-1] for each in (*kind, *name)] == ["kind", "name"]
    assert problems(work(), scaler(formula="load"))[0].rule is TRIGGERS


def test_brackets_of_queries() -> None:
    assert unbalanced("sum(rate(x[5m]))") == ""
    assert unbalanced("sum(x") == "a ( is not closed"
    assert unbalanced("x]") == "a ] closes nothing"


@pytest.mark.parametrize(
    ("triggers", "names"),
    [
        ([{"type": "cron", "name": "b"}, {"type": "cron", "name": "a"}], "a, b"),
        ([{"type": "cron", "name": "a"}, {"type": "cron"}], "a"),
        ([{"type": "cron"}], "without names"),
    ],
)
def test_names_of_triggers_are_listed(triggers: list[dict[str, str]], names: str) -> None:
    modifiers = {"scalingModifiers": {"formula": "busy + 1"}}
    spec = {"scaleTargetRef": {"name": "model"}, "triggers": triggers, "advanced": modifiers}
    (found,) = problems(work(), pointer("ScaledObject", spec))

    assert found.message == (
        f"The formula of the ScaledObject model has busy, and its triggers are {names}."
    )


@pytest.mark.parametrize(
    ("labels", "have"),
    [({"b": "c", "a": True}, "b=c, a=true"), ({}, "none")],
)
def test_labels_that_pods_of_that_name_have_are_listed(labels: Any, have: str) -> None:
    (found,) = problems(work(labels=labels), service({"app": "modle"}))

    assert found.message.endswith(
        f"no workload of its namespace has such. Those of the Deployment model have {have}."
    )


@pytest.mark.parametrize(
    ("ports", "names"),
    [([{"name": "b"}, {"name": "a"}, {"containerPort": 80}], "a, b"), ([{}], "none")],
)
def test_names_of_ports_are_listed(ports: Any, names: str) -> None:
    spec = {"containers": [{"name": "main", "ports": ports}]}
    (found,) = problems(work(spec=spec), service(port="web"))

    assert found.message == (
        f"The Service model sends to the port web of its pods, whose ports have the names {names}."
    )


@pytest.mark.parametrize(
    "given",
    [
        pointer(
            "HorizontalPodAutoscaler",
            {
                "scaleTargetRef": {"kind": "Deployment", "name": "model"},
                "triggers": [{"type": "prometheus", "metadata": {"query": "("}}],
            },
        ),
        pointer(
            "ScaledObject",
            {
                "scaleTargetRef": {"name": "model"},
                "triggers": UNKNOWN,
                "advanced": {"scalingModifiers": {"formula": "busy + 1"}},
            },
        ),
        pointer(
            "ScaledObject",
            {
                "scaleTargetRef": {"name": "model"},
                "triggers": [
                    {"type": "cron", "metadata": {"query": "("}},
                    {"type": "prometheus", "metadata": {"query": UNKNOWN}},
                    {"type": "prometheus", "metadata": {}},
                ],
            },
        ),
    ],
)
def test_what_is_no_trigger_with_a_query_is_not_judged(given: Pointer) -> None:
    assert codes(work(), given) == []
