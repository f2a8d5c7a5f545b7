"""Rules about the Cluster Autoscaler that a stack installs."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from eks_gpushare.config.base import known_fields
from eks_gpushare.documents.duration import seconds
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.charts import IDLE_CHART
from eks_gpushare.rules.names import namespace_name_fault
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.cluster_autoscaler import scaled_by_it
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

_TREE = "https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.36.1/cluster-autoscaler"
_ON_AWS = f"{_TREE}/cloudprovider/aws/README.md"
_FAQ = f"{_TREE}/FAQ.md"

NO_PRICES = Rule(
    "GPU780",
    "error",
    "The expander is one that works on AWS.",
    "Cluster Autoscaler's AWS provider knows no prices: with this expander it ends as it starts.",
    f"{_TREE}/expander/factory/expander_factory.go",
)
BAD_PRIORITIES = Rule(
    "GPU781",
    "error",
    "The priority expander knows a priority of every pool that it chooses among, and of no other.",
    "It takes no pool without a priority while there is one with, and without any it chooses by "
    "chance.",
    f"{_TREE}/expander/priority/readme.md",
)
BAD_DURATION = Rule(
    "GPU782",
    "error",
    "A duration of Cluster Autoscaler's is one that Go can read.",
    "With any other it ends as it starts, and no pool is scaled.",
    "https://pkg.go.dev/time#ParseDuration",
)
IDLE_AUTOSCALER = Rule(
    "GPU783",
    "warning",
    "Cluster Autoscaler has a pool to scale.",
    "It changes the size of no group that the stack decides about, so it is not installed.",
    _ON_AWS,
    not_alone="The component is given the pools.",
)
NOT_IN_AWS = Rule(
    "GPU784",
    "error",
    "Cluster Autoscaler scales node groups of an EKS cluster that is known by name.",
    "It needs an IAM role, and node groups, and with a kubeconfig alone nothing is made in AWS.",
    _ON_AWS,
    not_alone="The component is given the name of its cluster.",
)
NEVER_FEWER = Rule(
    "GPU788",
    "warning",
    "Nodes that are not needed can go.",
    "A node goes if less of it is in use than the threshold: below 0 there is nothing.",
    f"{_FAQ}#how-does-scale-down-work",
)
OTHER_AUTOSCALER = Rule(
    "GPU794",
    "info",
    "A cluster has one Cluster Autoscaler, and the add-on that gives it its role.",
    "A second one in kube-system waits for the other's lease, and without the add-on "
    "eks-pod-identity-agent it may do nothing.",
    "https://docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html",
    not_alone="The component is not told who made its cluster.",
)
BAD_NAMESPACE = Rule(
    "GPU797",
    "error",
    "The namespace of Cluster Autoscaler is kube-system, or a valid name of its own.",
    "Kubernetes refuses it, or it is made twice.",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names",
)

_BLOCK = "clusterAutoscaler"
_MEANT = re.compile(
    r"\s*(?:PT?)?([0-9]+(?:\.[0-9]+)?)\s*"
    r"(?:(?P<ms>ms|milli[a-z]*)|(?P<s>s|sec[a-z]*)|(?P<m>m|min[a-z]*)|(?P<h>h|hr[a-z]*|hour[a-z]*)"
    r"|(?P<d>d|day[a-z]*)|(?P<w>w|week[a-z]*))?\s*",
    re.ASCII | re.IGNORECASE,
)
_HOURS = {"d": 24, "w": 168}


@check(Scope.CHARTS, NO_PRICES, BAD_PRIORITIES)
def expander(ctx: Context) -> Iterator[Finding]:
    block = ctx.environment.cluster_autoscaler
    if block is None:
        return
    if block.expander == "price":
        yield NO_PRICES.finding(
            (_BLOCK, "expander"),
            "price asks the cloud provider for prices, and that of AWS has none.",
            "Use least-waste, or priority with the pools in the order of their prices.",
        )
    given, at = block.priorities, (_BLOCK, "priorities")
    if block.expander != "priority":
        if given is not None:
            yield BAD_PRIORITIES.finding(
                at,
                f"expander is {block.expander}, which looks at no priorities.",
                "Set expander: priority, or remove priorities.",
            )
        return
    scaled = _scaled(ctx)
    lacking = [name for name in scaled if name not in (given or {})]
    if lacking:
        yield BAD_PRIORITIES.finding(
            at,
            f"{', '.join(lacking)} {'has' if len(lacking) == 1 else 'have'} no priority.",
            f"Give each pool one, such as priorities: {{{lacking[0]}: 10}}; the greatest is first.",
        )
    for name in given or {}:
        if name not in scaled:
            near = similar(name, scaled)
            yield BAD_PRIORITIES.finding(
                (*at, name),
                f"{name} is no pool with scaledBy: autoscaler.",
                f"Did you mean {near}?" if near else "Remove it.",
            )


@check(Scope.CHARTS, BAD_DURATION, NEVER_FEWER)
def scale_down(ctx: Context) -> Iterator[Finding]:
    block = ctx.environment.cluster_autoscaler
    if block is None:
        return
    for key, given in (
        ("scaleDownAfter", block.scale_down_after),
        ("scaleDownDelayAfterAdd", block.scale_down_delay_after_add),
    ):
        if seconds(given) is None or given.startswith("-"):
            yield BAD_DURATION.finding(
                (_BLOCK, key),
                f'"{given}" is no duration: numbers with a unit each, ms, s, m or h.',
                f"Write it like {_as_duration(given)}.",
            )
    if block.utilization_threshold == 0:
        yield NEVER_FEWER.finding(
            (_BLOCK, "utilizationThreshold"),
            "No node is less in use than 0, so none is ever taken away, an empty one neither.",
            "Write 0.01 to take empty nodes away and no others, or set scaledBy: stack.",
        )


def _as_duration(given: str) -> str:
    """What may have been meant: `10m` for 10, `10 min` or `PT10M`; days have no unit."""
    found = _MEANT.fullmatch(given)
    number, unit = (found[1], found.lastgroup or "m") if found else ("", "")
    hours = _HOURS.get(unit)
    meant = f"{Decimal(number) * hours:f}h" if hours else f"{number}{unit}"
    return "10m or 1h30m" if seconds(meant) is None else meant


@check(Scope.ENVIRONMENT, IDLE_AUTOSCALER, NOT_IN_AWS, OTHER_AUTOSCALER, IDLE_CHART)
def place(ctx: Context) -> Iterator[Finding]:
    environment, at = ctx.environment, (_BLOCK,)
    if environment.cluster_autoscaler is None:
        if environment.charts.cluster_autoscaler is not None:
            yield IDLE_CHART.finding(
                ("charts", _BLOCK),
                "The stack does not ask for Cluster Autoscaler, so this chart is not installed.",
                "Remove the block, or add clusterAutoscaler: {}.",
            )
    elif not ctx.in_aws:
        yield NOT_IN_AWS.finding(
            at,
            "Of this cluster the stack knows a kubeconfig, and makes no node groups and no roles.",
            "Give the cluster by its name, existing: {name: ...}, or install Cluster Autoscaler "
            "in another way.",
        )
    elif not _scaled(ctx):
        yield IDLE_AUTOSCALER.finding(
            at,
            "No pool has scaledBy: autoscaler.",
            "Set it in the pools whose size is to follow the pods, or remove the block.",
        )
    elif ctx.named_cluster is not None:
        yield OTHER_AUTOSCALER.finding(
            at,
            "The stack installs Cluster Autoscaler into a cluster that was there before.",
            "See that it has the add-on eks-pod-identity-agent, and no other Cluster Autoscaler: "
            "with one, remove the block.",
        )


@check(Scope.CHARTS, BAD_NAMESPACE)
def autoscaler_namespace(ctx: Context) -> Iterator[Finding]:
    block = ctx.environment.cluster_autoscaler
    if block is None or block.namespace == "kube-system":
        return
    at, given = (_BLOCK, "namespace"), block.namespace
    if given in {"default", "kube-public", "kube-node-lease"}:
        yield BAD_NAMESPACE.finding(
            at,
            f"{given} is in every cluster, and cannot be made.",
            "Remove the key, or use a namespace of its own.",
        )
    elif (fault := namespace_name_fault(given)) is not None:
        yield BAD_NAMESPACE.finding(at, *fault)
    elif given in (others := _namespaces(ctx)):
        yield BAD_NAMESPACE.finding(
            at,
            f"{given} is made for {others[given]} already.",
            "Remove the key, or use a namespace of its own.",
        )


def _namespaces(ctx: Context) -> dict[str, str]:
    """Other namespaces that the stack makes, and for what."""
    known = known_fields(ctx.environment)
    stack, found = known.get("gpu_stack"), dict[str, str]()
    if stack is not None:
        made_by = {"devicePlugin": "nvidia-device-plugin", "gpuOperator": "gpu-operator"}
        found[stack.namespace or made_by[stack.manager]] = "the GPU stack"
    for key, what in (("karpenter", "Karpenter"), ("keda", "KEDA")):
        if known.get(key) is not None:
            found[known[key].namespace] = what
    return found


def _scaled(ctx: Context) -> list[str]:
    pools = ctx.environment.pools.items()
    return [name for name, pool in pools if scaled_by_it(pool)]
