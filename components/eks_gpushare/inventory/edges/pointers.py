"""Scalers, Services and budgets name pods that are there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.by_value import ByValue, together
from eks_gpushare.inventory.items import PART_OF_POD, SCALERS, Pointer, Release, Workload
from eks_gpushare.inventory.matching import selects
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import requests_of
from eks_gpushare.inventory.scheduling import said
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, may_be_same, pairs, text
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

NO_TARGET = rule_of("GPU1191")
NO_PODS = rule_of("GPU1192")
NO_PORT = rule_of("GPU1193")
TRIGGERS = rule_of("GPU1194")
_BUILT_IN = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")
_OF_PODS = (*SCALERS, "Service", "PodDisruptionBudget")
_OF_CONTROLLERS = frozenset(
    (
        *("job-name", "controller-uid", "batch.kubernetes.io/job-name"),
        *("statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"),
    )
)
"""Labels that controllers of Kubernetes give pods; those of others have names of their own."""
_OF_PEOPLE = "app.kubernetes.io/"
_ELECTED = ("leader", "master", "primary", "active")
"""Values of labels that a program gives the one of its pods that the others chose."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = frozenset(
    ("and", "or", "not", "in", "let", "nil", "true", "false", "matches", "contains", "if", "else")
)
"""Words of the formula's language that are no triggers: https://expr-lang.org (2026-11-22)."""
_MATCHERS = re.compile(r"""\{((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^{}"'])*)\}""")
_MATCHER = re.compile(r'([A-Za-z0-9_]+)\s*(=~|=)\s*(?:"([^"]*)"|\'([^\']*)\')')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`[^`]*`')
_OPENING = {")": "(", "]": "[", "}": "{"}


@edge(NO_TARGET, NO_PODS, NO_PORT, TRIGGERS)
def pointers(inventory: Inventory) -> Iterator[Judgement]:
    """Each against the workloads of its cluster and namespace."""
    for cluster in inventory.clusters():
        # Values of a chart say of its pods neither their labels nor their ports.
        workloads = _Workloads(
            [
                workload
                for workload in inventory.of(Workload, cluster)
                if workload.kind != PART_OF_POD
            ]
        )
        spaces = {release.namespace for release in inventory.of(Release, cluster)}
        every = inventory.of(Pointer, cluster)
        scalers = (each for each in every if each.kind in SCALERS)
        scaled = {text(at(each.spec, "scaleTargetRef", "name")) for each in scalers}
        for pointer in every:
            if pointer.kind not in _OF_PODS:
                continue
            if pointer.spec is UNKNOWN:
                rule = NO_TARGET if pointer.kind in SCALERS else NO_PODS
                yield NotSeen(rule, pointer.source, f"what {pointer.source.name} names")
                continue
            # A chart of the namespace may make the pods, or the workload.
            of_charts = any(may_be_same(space, pointer.namespace) for space in spaces)
            may_be_more = not inventory.complete or of_charts
            if pointer.kind in SCALERS:
                yield from _target(pointer, workloads, may_be_more=may_be_more)
                if not (of_charts or inventory.complete or UNKNOWN in scaled):
                    yield from _by_own_name(pointer, workloads, scaled)
                yield from _triggers(pointer)
            else:
                yield from _pods(pointer, workloads, may_be_more=may_be_more)


class _Workloads:
    """Workloads by how others name them."""

    def __init__(self, every: Sequence[Workload]) -> None:
        self.of_namespace = ByValue(every, lambda workload: [workload.namespace])
        self.called = ByValue(every, lambda workload: [workload.name])
        self.placed = ByValue(every, lambda each: [together(each.namespace, each.name)])
        self.labelled = ByValue(every, _labels)


def _labels(workload: Workload) -> list[Any]:
    """Namespace and labels of its pods as text, `UNKNOWN` where one of them may be any."""
    if has_unknown([workload.namespace, workload.labels]):
        return [UNKNOWN]
    space = str(workload.namespace)
    return [(space, key, text(value)) for key, value in pairs(workload.labels)]


def _target(pointer: Pointer, workloads: _Workloads, *, may_be_more: bool) -> Iterator[Judgement]:
    reference = at(pointer.spec, "scaleTargetRef")
    kind = text(at(reference, "kind"))
    if kind == "" and pointer.kind == "ScaledObject":
        kind = "Deployment"  # KEDA's default
    name = at(reference, "name")
    if UNKNOWN in (kind, name):
        yield NotSeen(NO_TARGET, pointer.source, f"the target of {pointer.source.name}")
        return
    if name is None or kind not in _BUILT_IN:
        return
    there = workloads.placed.may_have(together(pointer.namespace, name))
    if any(
        workload.kind == kind
        and may_be_same(workload.namespace, pointer.namespace)
        and may_be_same(workload.name, name)
        for workload in there
    ):
        return
    alike = [workload for workload in workloads.called.may_have(name) if workload.kind in _BUILT_IN]
    near = [workload for workload in alike if workload.name is not UNKNOWN]
    if may_be_more and not near:
        return
    if near and near[0].kind != kind:
        but = f"{name} is a {near[0].kind}"
    elif near:
        but = f"{name} is in the namespace {near[0].namespace}, not in {pointer.namespace}"
    else:
        but = f"the workloads of {pointer.namespace} are {_listed(workloads, pointer)}"
    yield Problem(
        NO_TARGET,
        pointer.source,
        ("spec", "scaleTargetRef", "kind" if near and near[0].kind != kind else "name"),
        f"{at_start(pointer.source.name)} scales the {kind} {name}, which is not there: {but}.",
        "Name the workload by its kind and name, and stand in its namespace.",
        _severity(near, kind) if may_be_more else None,
    )


def _by_own_name(
    pointer: Pointer, workloads: _Workloads, scaled: AbstractSet[Any]
) -> Iterator[Problem]:
    """A scaler that is called as the workload with GPUs beside it, and names another like it.

    That other may be in further files; of both there, one would be called after its own. Of a chart
    conditions may make it, and a guide shows a part.
    """
    target = at(pointer.spec, "scaleTargetRef")
    kind, name, own = text(at(target, "kind")) or "Deployment", at(target, "name"), pointer.name
    if not (isinstance(name, str) and isinstance(own, str)) or any(workloads.called.may_have(name)):
        return
    if is_guide(pointer.source.file) or "/templates/" in f"/{pointer.source.file}":
        return
    there = workloads.placed.may_have(together(pointer.namespace, own))
    is_near = name.startswith(f"{own}-") or own.startswith(f"{name}-")
    if len(there) != 1 or not is_near or own in scaled or pointer.namespace is UNKNOWN:
        return
    workload = there[0]
    is_it = (workload.namespace, workload.name, workload.kind) == (pointer.namespace, own, kind)
    if is_it and workload.source.folder == pointer.source.folder and any(requests_of(workload)):
        yield Problem(
            NO_TARGET,
            pointer.source,
            ("spec", "scaleTargetRef", "name"),
            f"{at_start(pointer.source.name)} scales the {kind} {name}, which is not here, and not "
            f"{workload.source.name} beside it.",
            f"Name {own}, if that was meant.",
            "warning",
        )


def _severity(near: Sequence[Workload], kind: Any) -> Severity:
    """Of what may stand elsewhere: one of that kind is more likely to than another of its name."""
    return "warning" if near[0].kind != kind else "info"


def _listed(workloads: _Workloads, pointer: Pointer) -> str:
    here = workloads.of_namespace.may_have(pointer.namespace)
    found = [
        f"{workload.kind} {workload.name}"
        for workload in here
        if workload.namespace == pointer.namespace
    ]
    return ", ".join(found) or "none"


def _triggers(pointer: Pointer) -> Iterator[Judgement]:
    triggers = at(pointer.spec, "triggers")
    if pointer.kind != "ScaledObject" or triggers is UNKNOWN:
        return
    target = text(at(pointer.spec, "scaleTargetRef", "name"))
    for index, trigger in enumerate(items(triggers)):
        query = at(trigger, "metadata", "query")
        if at(trigger, "type") != "prometheus" or not isinstance(query, str):
            continue
        place = ("spec", "triggers", index, "metadata", "query")
        if problem := unbalanced(query):
            yield Problem(
                TRIGGERS,
                pointer.source,
                place,
                f"The query of trigger {index} of {pointer.source.name} is no PromQL: {problem}.",
                "Close what is opened, and open what is closed.",
            )
        for space in sorted(_other_namespaces(query, str(target), pointer.namespace)):
            yield Problem(
                TRIGGERS,
                pointer.source,
                place,
                f"The query of trigger {index} of {pointer.source.name} asks for pods of {target} "
                f"in the namespace {space}, and they are in {pointer.namespace}.",
                f'Write namespace="{pointer.namespace}" in the query.',
            )
    yield from _formula(pointer, items(triggers))


def unbalanced(query: str) -> str:
    """What is wrong with the brackets of a PromQL query; no text if nothing is."""
    opened: list[str] = []
    bare = re.sub(r"#[^\n]*", "", _QUOTED.sub("", query))  # with comments
    for name in bare:
        if name in "([{":
            opened.append(name)
        elif name in _OPENING and (not opened or opened.pop() != _OPENING[name]):
            return f"a {name} closes nothing"
    return f"a {opened[-1]} is not closed" if opened else ""


def _other_namespaces(query: str, target: str, own: Any) -> set[str]:
    """Namespaces in which a query looks for pods of the target, and which are not its own."""
    found: set[str] = set()
    for selector in _MATCHERS.findall(query):
        given = {
            key.removeprefix("exported_"): (how, one or other)
            for key, how, one, other in _MATCHER.findall(selector)
        }
        how, space = given.get("namespace", ("", ""))
        _, pod = given.get("pod", ("", ""))
        is_other = how == "=" and bool(space) and own is not UNKNOWN and space != own
        if is_other and target and (pod == target or pod.startswith(f"{target}-")):
            found.add(space)
    return found


def _formula(pointer: Pointer, triggers: Sequence[Any]) -> Iterator[Problem]:
    modifiers = at(pointer.spec, "advanced", "scalingModifiers")
    formula = at(modifiers, "formula")
    if not isinstance(formula, str) or has_unknown([at(trigger, "name") for trigger in triggers]):
        return
    named = {str(at(trigger, "name")) for trigger in triggers}
    bare = _QUOTED.sub("", formula)
    used = {
        match.group()
        for match in _NAME.finditer(bare)
        if not bare[match.end() :].lstrip().startswith("(")  # of a function
        and not (match.start() and bare[match.start() - 1] in ".$0123456789")
    }
    for name in sorted(used - named - _WORDS):
        yield Problem(
            TRIGGERS,
            pointer.source,
            ("spec", "advanced", "scalingModifiers", "formula"),
            f"The formula of {pointer.source.name} has {name}, and its triggers are "
            f"{', '.join(sorted(named - {'None'})) or 'without names'}.",
            "Give a trigger that name, or correct the formula.",
        )


def _pods(pointer: Pointer, workloads: _Workloads, *, may_be_more: bool) -> Iterator[Judgement]:
    of_service = pointer.kind == "Service"
    selector = at(pointer.spec, "selector")
    selector = {"matchLabels": selector} if of_service and pairs(selector) else selector
    if has_unknown(selector):
        yield NotSeen(NO_PODS, pointer.source, f"the selector of {pointer.source.name}")
        return
    named = pairs(at(selector, "matchLabels"))
    if not named and not at(selector, "matchExpressions"):
        return
    key, value = next(iter(named), (None, None))
    known = key is not None and pointer.namespace is not UNKNOWN
    wanted = (str(pointer.namespace), key, text(value)) if known else UNKNOWN
    matched = [
        workload
        for workload in workloads.labelled.may_have(wanted)
        if may_be_same(workload.namespace, pointer.namespace)
        and selects(selector, workload.labels) is not False
    ]
    if not matched:
        here = workloads.of_namespace.may_have(pointer.namespace)
        # What bears its name is what it means, whatever else there may be.
        near = [workload for workload in here if workload.name not in ("", UNKNOWN, None)]
        near = [workload for workload in near if workload.name == pointer.name]
        if any(_is_labelled(workload, selector) for workload in here):
            return
        elsewhere = [
            workload
            for workload in workloads.labelled.may_have(UNKNOWN)
            if workload.labels is not UNKNOWN and selects(selector, workload.labels) is not False
        ]
        if near or ((here or elsewhere) and not may_be_more):
            yield _selects_none(pointer, selector, near or elsewhere)
    elif of_service:
        yield from _ports(pointer, matched)


def _is_labelled(workload: Workload, selector: Any) -> bool:
    """Whether a controller may give pods a label that is selected, which their template has not."""
    own = {key for key, _ in pairs(workload.labels)}
    chosen = pairs(at(selector, "matchLabels"))
    if any(key not in own and str(text(value)).lower() in _ELECTED for key, value in chosen):
        return True
    keys = [key for key in _selected_keys(selector) if key not in own]
    if workload.kind in (*_BUILT_IN, "DaemonSet", "Pod"):
        return any(key in _OF_CONTROLLERS for key in keys)
    return any("/" in key and not key.startswith(_OF_PEOPLE) for key in keys) or any(
        key in _OF_CONTROLLERS for key in keys
    )


def _selected_keys(selector: Any) -> list[str]:
    asked = (str(at(one, "key")) for one in items(at(selector, "matchExpressions")))
    return [*(key for key, _ in pairs(at(selector, "matchLabels"))), *asked]


def _selects_none(pointer: Pointer, selector: Any, near: Sequence[Workload]) -> Problem:
    named = pairs(at(selector, "matchLabels"))
    expressions = items(at(selector, "matchExpressions"))
    wanted = ", ".join((*(f"{key}={text(value)}" for key, value in named), *map(said, expressions)))
    under = () if pointer.kind == "Service" else ("matchLabels" if named else "matchExpressions",)
    but = ""
    if near and near[0].namespace != pointer.namespace:
        but = f" Those of {near[0].source.name} are in the namespace {near[0].namespace}."
    elif near:
        have = ", ".join(f"{key}={text(value)}" for key, value in pairs(near[0].labels)) or "none"
        but = f" Those of {near[0].source.name} have {have}."
    return Problem(
        NO_PODS,
        pointer.source,
        ("spec", "selector", *under),
        f"{at_start(pointer.source.name)} selects pods with {wanted}, and no workload of its "
        f"namespace has such.{but}",
        "Select labels that the pods have, in their namespace.",
    )


def _ports(pointer: Pointer, matched: Sequence[Workload]) -> Iterator[Problem]:
    named: set[Any] = set()
    for workload in matched:
        parts = [at(workload.spec, key) for key in ("containers", "initContainers")]
        if workload.labels is UNKNOWN or has_unknown(parts):
            return
        for _, container in containers(workload.spec):
            named |= {text(at(item, "name")) for item in items(at(container, "ports"))}
    for index, port in enumerate(items(at(pointer.spec, "ports"))):
        wanted = at(port, "targetPort")
        is_name = isinstance(wanted, str) and not (wanted.isascii() and wanted.isdecimal())
        if is_name and wanted not in named:
            known = ", ".join(sorted(str(name) for name in named if name)) or "none"
            yield Problem(
                NO_PORT,
                pointer.source,
                ("spec", "ports", index, "targetPort"),
                f"{at_start(pointer.source.name)} sends to the port {wanted} of its pods, whose "
                f"ports have the names {known}.",
                "Name one of those, or give the container's port that name.",
            )
