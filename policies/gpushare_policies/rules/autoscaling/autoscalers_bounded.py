"""Autoscalers of workloads know where to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import count
from gpushare_policies.rule import ResourcePolicy, Unjudged, number
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEDA_DEFAULT = 100
"""`maxReplicaCount` where a ScaledObject or a ScaledJob has none:
https://keda.sh/docs/2.18/reference/scaledobject-spec/ and .../scaledjob-spec/"""

MOST_REPLICAS = number(
    "mostReplicas", 100, "Most pods that an autoscaler may make of one workload.", minimum=1
)

_SET_MOST = (
    "Set `maxReplicaCount` of the ScaledObject or ScaledJob, or `maxReplicas` of the autoscaler."
)
_BOUND = Fix("Set `workloads.<workload>.replicas.max` in the stack file.", _SET_MOST, _SET_MOST)


def _scaled_object(subject: Subject) -> Iterator[str | Unjudged]:
    spec = at(subject.object.body, "spec")
    given = at(spec, "maxReplicaCount")
    if given is UNKNOWN:
        yield Unjudged("maxReplicaCount")
    elif given is None and not subject.object.patch:
        yield (
            f"{subject.opening} has no maxReplicaCount, so KEDA makes up to {_KEDA_DEFAULT} pods. "
            f"It must have one, for GPU nodes follow the pods. {_BOUND.of(subject.args.urn)}"
        )
    else:
        yield from _judged(subject, "maxReplicaCount", at(spec, "minReplicaCount"), given)


def _autoscaler(subject: Subject) -> Iterator[str | Unjudged]:
    spec = at(subject.object.body, "spec")
    given = at(spec, "maxReplicas")
    if given is UNKNOWN:
        yield Unjudged("maxReplicas")
    else:
        yield from _judged(subject, "maxReplicas", at(spec, "minReplicas"), given)


def _judged(subject: Subject, key: str, least: object, most: object) -> Iterator[str | Unjudged]:
    allowed, given, lowest = MOST_REPLICAS.of(subject.args), count(most), count(least)
    if given is None:
        return
    if given > allowed:
        yield (
            f"{subject.opening} has {key} {given}. It must be at most {allowed}, for GPU nodes "
            f"follow the pods. {_BOUND.of(subject.args.urn)}"
        )
    if lowest is UNKNOWN:
        yield Unjudged("the least number of pods")
    elif lowest is not None and lowest > given:
        yield (
            f"{subject.opening} has {key} {given}, and wants at least {lowest} pods. The most "
            f"must not be below the least, or the autoscaler does nothing. "
            f"{_BOUND.of(subject.args.urn)}"
        )


AUTOSCALERS_BOUNDED = ResourcePolicy(
    "autoscalers-bounded",
    "Autoscalers of pods must have a most that somebody chose.",
    checks=ObjectChecks(
        {
            Kind("keda.sh", "ScaledObject"): _scaled_object,
            Kind("keda.sh", "ScaledJob"): _scaled_object,
            Kind("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
        }
    ),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.MEDIUM,
    fix=_BOUND,
    settings=(MOST_REPLICAS,),
)
