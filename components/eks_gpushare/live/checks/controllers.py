"""What Karpenter and KEDA say of their own objects: nodes that never come, workloads not scaled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.documents.go_bool import FALSE
from eks_gpushare.inventory.values import at, items
from eks_gpushare.live import rules
from eks_gpushare.live.checks.labelling import is_labelled_by
from eks_gpushare.live.checks.room import asked_of
from eks_gpushare.live.faults import ClusterFault, Link, pool_mark
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.live.pods import condition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object

_STEPS: Final = ("Launched", "Registered", "Initialized")
"""Conditions of a NodeClaim in the order in which they become true."""
_LAUNCH_SECONDS: Final = 15 * 60.0
"""After which Karpenter gives up a node that has not registered."""
_PER_POOL: Final = 3


_LABELLER: Final = "NFD's master"
_PROGRAMS: Final = {
    "karpenter/controller": "Karpenter",
    "cluster-autoscaler": "Cluster Autoscaler",
    "nvidia/gpu-operator": "the GPU Operator",
    "kedacore/keda": "KEDA",
    "kueue/kueue": "Kueue",
    "nfd/node-feature-discovery": _LABELLER,
}
"""How images of controllers end, without their tag, and what they are."""
_AUTOSCALERS: Final = ("Karpenter", "Cluster Autoscaler")
_FOLLOWS: Final = {"KEDA": ("KEDA cannot work",), "Kueue": ("kueue.x-k8s.io/",)}
"""What a fault says that comes of such a controller."""
_DOWN_SECONDS: Final = 300.0
_PAUSED: Final = "autoscaling.keda.sh/paused"
_PAUSES: Final = ("", "-replicas", "-scale-in", "-scale-out")
"""How annotations end that pause, each in a way of its own:
https://keda.sh/docs/2.20/concepts/scaling-deployments/#pausing-autoscaling."""


def controller_faults(
    objects: ClusterObjects, nodes: Sequence[LiveNode], scaled: Sequence[str]
) -> Iterator[ClusterFault]:
    """Controllers that have something to do with GPUs here, and of which no pod is ready.

    Args:
        objects: The cluster.
        nodes: Its nodes with GPUs.
        scaled: Pools to which an autoscaler may add nodes.
    """
    matters = {
        **dict.fromkeys(_AUTOSCALERS, bool(scaled)),
        "the GPU Operator": bool(nodes),
        "KEDA": any(_is_of_gpus(objects, each) for each in objects.of("ScaledObject")),
        "Kueue": bool(objects.of("ClusterQueue")),
        _LABELLER: any(is_labelled_by(node, "nfd") for node in nodes),
    }
    for given in objects.of("Deployment"):
        called = next(filter(matters.get, _programs_of(given)), None)
        down = _down(objects, given) if called else ""
        if called is None or not down:
            continue
        place = _place(given)
        finding = rules.CONTROLLER_DOWN.finding(
            ("controllers", place),
            f"{called[:1].upper()}{called[1:]} does not run: {down} of the Deployment {place}.",
            f"See kubectl describe deployment {_named(given)}, and the log of its pods.",
        )
        about = frozenset(map(pool_mark, scaled if called in _AUTOSCALERS else ()))
        yield ClusterFault(finding, Link.NODE, about, parts=_FOLLOWS.get(called, ()))


def _programs_of(given: Object) -> Iterator[str]:
    for container in items(at(given, "spec", "template", "spec", "containers")):
        image = str(at(container, "image") or "").partition("@")[0]
        place, _, name = image.rpartition("/")
        path = f"{place}/{name.partition(':')[0]}"
        for end, called in _PROGRAMS.items():
            # The same image collects what of nodes that are gone is left.
            if path.endswith(end) and (called != _LABELLER or "nfd-master" in str(container)):
                yield called


def _down(objects: ClusterObjects, given: Object) -> str:
    """Which pods there are of one that has none that is ready; empty of one that has."""
    if at(given, "spec", "replicas") == 0:
        return "no pods are asked for"
    available = condition(given, "Available")
    since = objects.seconds_since(at(available, "lastTransitionTime"))
    is_late = at(available, "status") == "False" and (since is None or since > _DOWN_SECONDS)
    return "no pod is ready" if is_late and not at(given, "status", "availableReplicas") else ""


def node_claim_faults(objects: ClusterObjects) -> Iterator[ClusterFault]:
    """NodeClaims of which no node has come within a quarter of an hour, by NodePool and reason."""
    groups: dict[tuple[str, str, str], list[Object]] = {}
    for claim in objects.of("NodeClaim"):
        age = objects.seconds_since(at(claim, "metadata", "creationTimestamp"))
        is_young = age is not None and age < _LAUNCH_SECONDS
        if is_young or at(claim, "metadata", "deletionTimestamp") is not None:
            continue
        lacking = next(
            (step for step in _STEPS if at(condition(claim, step), "status") != "True"), None
        )
        if lacking is not None:
            pool = str(at(claim, "metadata", "labels", "karpenter.sh/nodepool") or "")
            said = _message(condition(claim, lacking))
            groups.setdefault((pool, lacking, said), []).append(claim)
    for (pool, lacking, said), claims in groups.items():
        names = [name_of(claim) for claim in claims]
        count = len(names)
        which = f"{count} NodeClaim{'' if count == 1 else 's'}"
        are = "is" if count == 1 else "are"
        finding = rules.NEVER_INITIALISED.finding(
            ("nodePools", pool),
            f"{which} of the NodePool {pool} {are} not {lacking}{f': {said}' if said else ''}.",
            f"See kubectl describe nodeclaim {names[0]}. Capacity and rights keep it from being "
            "launched, its role or network from registering, and a resource that the node never "
            "advertises from being initialised.",
        )
        nodes = {str(at(claim, "status", "nodeName") or "") for claim in claims} - {""}
        about = frozenset({pool_mark(pool), *nodes})
        evidence = tuple(f"nodeclaim {name}" for name in names[:_PER_POOL])
        yield ClusterFault(finding, Link.NODE, about, evidence=evidence)


def _message(found: Object | None) -> str:
    """What a condition says."""
    return str(at(found, "message") or at(found, "reason") or "").rstrip(".")


def scaled_object_faults(objects: ClusterObjects) -> Iterator[ClusterFault]:
    """ScaledObjects of workloads for GPUs that KEDA cannot work with, or scales by nothing."""
    for scaled in objects.of("ScaledObject"):
        found = _not_scaled(scaled) or _paused(scaled) or _by_some_triggers(scaled)
        if found is None or not _is_of_gpus(objects, scaled):
            continue
        rule, severity, said, fix = found
        fix = fix or f"See kubectl describe scaledobject {_named(scaled)}."
        finding = rule.finding(("scaledObjects", _place(scaled)), said, fix, severity)
        yield ClusterFault(finding, Link.PODS, is_cause_only=True)


class _Told(NamedTuple):
    """What is to be said of a ScaledObject."""

    rule: Rule
    severity: Severity | None
    message: str
    fix: str = ""


def _place(given: Object) -> str:
    return f"{namespace_of(given)}/{name_of(given)}"


def _called(scaled: Object, article: str = "the") -> str:
    return f"{article} ScaledObject {_place(scaled)}"


def _named(given: Object) -> str:
    """An object, as kubectl takes it."""
    return f"-n {namespace_of(given)} {name_of(given)}"


def _not_scaled(scaled: Object) -> _Told | None:
    ready = condition(scaled, "Ready")
    if at(ready, "status") != "False":
        return None
    return _Told(
        rules.NOT_SCALED, None, f"KEDA cannot work with {_called(scaled)}: {_message(ready)}."
    )


def _paused(scaled: Object) -> _Told | None:
    """What somebody has paused by annotations, which is a word and no fault; what it comes to."""
    given = at(scaled, "metadata", "annotations") or {}
    paused = {str(key)[len(_PAUSED) :]: str(given[key]) for key in given if _is_pause(key, given)}
    if not paused:
        return None
    if "-replicas" in paused:
        harm = f"its workload has {paused['-replicas']} pods, whatever waits"
    elif "" in paused:
        harm = "its workload keeps the pods and the shares that it has, whatever waits"
    elif "-scale-out" in paused:
        harm = "its workload gets no further pods, whatever waits"
    else:
        harm = "its workload gives no share back while it has nothing to do"
    told = ", ".join(f"{_PAUSED}{end}: {value}" for end, value in sorted(paused.items()))
    ends = " ".join(f"{_PAUSED}{end}-" for end in sorted(paused))
    return _Told(
        rules.NOT_SCALED_BY_TRIGGERS,
        "info",
        f"{_called(scaled, 'The')} is paused by {told}, so {harm}.",
        f"Once it shall be scaled again: kubectl annotate scaledobject {_named(scaled)} {ends}",
    )


def _is_pause(key: object, given: Mapping[str, object]) -> bool:
    """Whether an annotation pauses, as KEDA reads it: a number does, and all but false."""
    end = str(key).removeprefix(_PAUSED)
    if str(key) == end or end not in _PAUSES:
        return False
    value = str(given[str(key)])
    return value.isascii() and value.isdecimal() if end == "-replicas" else value not in FALSE


def _by_some_triggers(scaled: Object) -> _Told | None:
    """What KEDA says of triggers that it cannot read, where it goes on without them."""
    fallback, ready = condition(scaled, "Fallback"), condition(scaled, "Ready")
    failing = sorted(
        str(name)
        for name, health in (at(scaled, "status", "health") or {}).items()
        if at(health, "status") == "Failing"
    )
    which = f" ({', '.join(failing)})" if failing else ""
    if at(fallback, "status") == "True":
        count = at(scaled, "spec", "fallback", "replicas")
        has = "" if count is None else f" to {count} replicas"
        said = f"KEDA cannot read a trigger of {_called(scaled)}{which} and falls back{has}."
        return _Told(rules.NOT_SCALED_BY_TRIGGERS, None, said)
    if at(ready, "reason") == "PartialTriggerError":
        said = (
            f"KEDA scales {_called(scaled)} by some of its triggers only{which}: {_message(ready)}."
        )
        return _Told(rules.NOT_SCALED_BY_TRIGGERS, None, said)
    return None


def _is_of_gpus(objects: ClusterObjects, scaled: Object) -> bool:
    target = at(scaled, "spec", "scaleTargetRef")
    kind, name = str(at(target, "kind") or "Deployment"), at(target, "name")
    for workload in objects.of(kind):
        if name_of(workload) == name and namespace_of(workload) == namespace_of(scaled):
            spec = at(workload, "spec", "template", "spec")
            return isinstance(spec, dict) and bool(asked_of(spec))
    return False
