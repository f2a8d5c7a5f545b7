"""Autoscalers of workloads know where to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import EnforcementLevel, Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.readers.values import walk
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.charts import charts_of
from gpushare_policies.reading.objects import Kind, KubernetesObject
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import count, mappings, text
from gpushare_policies.rule import ResourcePolicy, number
from gpushare_policies.tokens import CHART_V4, RELEASE
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pulumi_policy import ResourceValidationArgs

    from gpushare_policies.reading.charts import InstalledChart

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
    spec, effect = at(subject.object.body, "spec"), f"KEDA makes up to {_KEDA_DEFAULT} pods"
    least, most = at(spec, "minReplicaCount"), at(spec, "maxReplicaCount")
    yield from _judged(subject, "maxReplicaCount", least, most, effect)


def _autoscaler(subject: Subject) -> Iterator[str | Unjudged]:
    spec = at(subject.object.body, "spec")
    yield from _judged(subject, "maxReplicas", at(spec, "minReplicas"), at(spec, "maxReplicas"))


_HTTP_DEFAULT = 100
"""Of `replicas.max`: https://github.com/kedacore/http-add-on/blob/main/docs/ref/v0.10.0/http_scaled_object.md"""


def _of_requests(subject: Subject) -> Iterator[str | Unjudged]:
    """KEDA's scaler by requests, which makes a ScaledObject of its own."""
    replicas = at(subject.object.body, "spec", "replicas")
    effect = f"KEDA makes up to {_HTTP_DEFAULT} pods"
    yield from _judged(subject, "replicas.max", at(replicas, "min"), at(replicas, "max"), effect)


_LIKE_KUBERNETES = (
    Kind("autoscaling", "HorizontalPodAutoscaler"),
    Kind("actions.summerwind.dev", "HorizontalRunnerAutoscaler"),
    Kind("autoscaling.aibrix.ai", "PodAutoscaler"),
    Kind("datadoghq.com", "WatermarkPodAutoscaler"),
)
"""Kinds that have Kubernetes' `minReplicas` and `maxReplicas`."""
_MAX_SCALE = "autoscaling.knative.dev/max-scale"


def _knative(subject: Subject) -> Iterator[str | Unjudged]:
    """https://knative.dev/docs/serving/autoscaling/scale-bounds/ (2026-11-28): 0 is no limit."""
    template = at(subject.object.body, "spec", "template")
    annotations = template if template is UNKNOWN else at(template, "metadata", "annotations")
    if annotations is UNKNOWN:
        yield Unjudged("annotations of the template")
        return
    given = at(annotations, _MAX_SCALE) or at(annotations, "autoscaling.knative.dev/maxScale")
    if given is UNKNOWN:
        yield Unjudged(_MAX_SCALE)
    elif count(given) in (None, 0):
        if not subject.object.patch:
            yield _no_most(subject, f"annotation {_MAX_SCALE}", "Knative makes any number of pods")
    else:
        yield from _judged(subject, _MAX_SCALE, None, given)


_MODE = "serving.kserve.io/deploymentMode"


def _kserve(subject: Subject) -> Iterator[str | Unjudged]:
    """Knative's pods for a model; where KServe makes a Deployment, the least is the most."""
    annotations = at(subject.object.body, "metadata", "annotations")
    by_itself = text(at(annotations, _MODE), "Serverless") == "Serverless"
    for part in ("predictor", "transformer", "explainer"):
        spec = at(subject.object.body, "spec", part)
        given = at(spec, "maxReplicas")
        if UNKNOWN in (spec, given):
            yield Unjudged(f"{part}.maxReplicas")
        elif spec is not None and given in (None, 0):
            if by_itself and not subject.object.patch:
                key = f"{part}.maxReplicas"
                yield _no_most(subject, key, "Knative makes any number of pods")
        else:
            yield from _judged(subject, f"{part}.maxReplicas", at(spec, "minReplicas"), given)


def _ray(subject: Subject) -> Iterator[str | Unjudged]:
    """Groups of workers of KubeRay, whose most is 2147483647 where none is given.

    https://github.com/ray-project/kuberay/blob/master/docs/reference/api.md
    """
    spec = at(subject.object.body, "spec")
    for holder in (spec, at(spec, "rayClusterSpec"), at(spec, "rayClusterConfig")):
        if at(holder, "enableInTreeAutoscaling") is not True:
            continue
        for _, group in mappings(at(holder, "workerGroupSpecs")):
            key = f"maxReplicas of the group {text(group.get('groupName'))}"
            effect, most = "Ray makes any number of pods", group.get("maxReplicas")
            yield from _judged(subject, key, group.get("minReplicas"), most, effect)


def _spark(subject: Subject) -> Iterator[str | Unjudged]:
    """Executors, whose most is infinity where none is given.

    https://spark.apache.org/docs/latest/configuration.html#dynamic-allocation
    """
    spec = at(subject.object.body, "spec")
    for holder in (spec, at(spec, "template")):
        told = at(holder, "dynamicAllocation")
        if at(told, "enabled") is True:
            least, most = at(told, "minExecutors"), at(told, "maxExecutors")
            if most is None:
                most = at(holder, "sparkConf", "spark.dynamicAllocation.maxExecutors")
            effect = "Spark makes any number of executors"
            yield from _judged(subject, "dynamicAllocation.maxExecutors", least, most, effect)


def _runners(subject: Subject) -> Iterator[str | Unjudged]:
    """GitHub's runners, of which there are as many as jobs where nothing limits them.

    https://docs.github.com/en/actions/reference/runners/actions-runner-controller (2026-11-29)
    """
    spec = at(subject.object.body, "spec")
    yield from _judged(
        subject, "maxRunners", at(spec, "minRunners"), at(spec, "maxRunners"), _ANY_RUNNERS
    )


_ANY_RUNNERS = "GitHub's controller makes a pod of each job"
_RUNNER_CHART = "gha-runner-scale-set"


def _runner_chart(args: ResourceValidationArgs) -> Iterator[str | Unjudged]:
    """The chart that makes such a set, with its values of the same names."""
    for chart in charts_of(args.props):
        if chart.name == _RUNNER_CHART:
            made = KubernetesObject(_RUNNER_SET, "v1alpha1", {"spec": chart.values})
            yield from _runners(Subject(made, args))


_MOST_KEYS = ("maxReplicas", "maxReplicaCount")


def _by_shape(subject: Subject) -> Iterator[str | Unjudged]:
    """Of kinds and charts of anybody, where they have a most by the names that autoscalers use."""
    for path, holder in walk(subject.object.body):
        allowed = MOST_REPLICAS.of(subject.args)
        for key in _MOST_KEYS if holder.get("enabled") is not False else ():
            most = count(holder.get(key))
            if isinstance(most, int) and most > allowed:
                place = ".".join(map(str, (*path, key)))
                yield from _judged(subject, place, None, most)


def _chart(args: ResourceValidationArgs) -> Iterator[str | Unjudged]:
    yield from _runner_chart(args)
    for chart in charts_of(args.props):
        made = KubernetesObject(_RELEASE, "v3", {"metadata": {"name": args.name}, **_known(chart)})
        yield from _by_shape(Subject(made, args))


def _known(chart: InstalledChart) -> dict[str, Any]:
    return {"values": chart.values} if isinstance(chart.values, dict) else {}


_RELEASE = Kind("helm.sh", "Release")
_RUNNER_SET = Kind("actions.github.com", "AutoscalingRunnerSet")


def _model(subject: Subject) -> Iterator[str | Unjudged]:
    """Of KubeAI, where no most is no limit: https://www.kubeai.org/reference/kubernetes-api/."""
    spec = at(subject.object.body, "spec")
    if at(spec, "autoscalingDisabled") is not True:
        least, most = at(spec, "minReplicas"), at(spec, "maxReplicas")
        yield from _judged(subject, "maxReplicas", least, most, "KubeAI makes any number of pods")


def _no_most(subject: Subject, key: str, effect: str) -> str:
    return (
        f"{subject.opening} has no {key}, so {effect}. It must have one, for GPU nodes follow the "
        f"pods. {_BOUND.of(subject.args.urn)}"
    )


def _judged(
    subject: Subject, key: str, least: object, most: object, effect: str = ""
) -> Iterator[str | Unjudged]:
    """A most that is not known, missing, too high or below the least.

    Args:
        subject: The autoscaler.
        key: Where it has the most.
        least: Fewest pods.
        most: Most pods.
        effect: What it does without one; empty where the API server asks for it.
    """
    if most is UNKNOWN:
        yield Unjudged(key)
        return
    if most is None and effect and not subject.object.patch:
        yield _no_most(subject, key, effect)
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
    "What makes more pods must have a most of them that somebody chose.",
    checks=ObjectChecks(
        {
            Kind("keda.sh", "ScaledObject"): _scaled_object,
            Kind("keda.sh", "ScaledJob"): _scaled_object,
            Kind("http.keda.sh", "HTTPScaledObject"): _of_requests,
            Kind("serving.knative.dev", "Service"): _knative,
            Kind("serving.knative.dev", "Configuration"): _knative,
            Kind("serving.kserve.io", "InferenceService"): _kserve,
            Kind("sparkoperator.k8s.io", "SparkApplication"): _spark,
            Kind("sparkoperator.k8s.io", "ScheduledSparkApplication"): _spark,
            _RUNNER_SET: _runners,
            **dict.fromkeys(_LIKE_KUBERNETES, _autoscaler),
            Kind("kubeai.org", "Model"): _model,
            **{Kind("ray.io", kind): _ray for kind in ("RayCluster", "RayJob", "RayService")},
        },
        {RELEASE: _chart, CHART_V4: _chart},
        theirs=_by_shape,
    ),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.MEDIUM,
    fix=_BOUND,
    settings=(MOST_REPLICAS,),
)
