"""Rules about names, labels and taints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eks_gpushare.config.sharing import Mig
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.device_plugin_config import DEFAULT_KEY
from eks_gpushare.sharing.labels import (
    DERIVED_LABELS,
    KUBELET_LABELS,
    OWNED_PREFIXES,
    kubelet_may_set,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_LABELS = "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/"
_TAINTS = "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/"

OWNED_LABEL = Rule(
    "GPU301",
    "error",
    "A pool sets no label that NVIDIA's components or this project set.",
    "GPU feature discovery takes such a label over, with another value than the one selected on.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/732",
)
BAD_LABEL = Rule(
    "GPU302",
    "error",
    "A label is one that Kubernetes and EKS accept.",
    "EKS refuses the node group, the API server the namespace, or the kubelet to register with it.",
    _LABELS,
)
BAD_TAINT = Rule(
    "GPU304",
    "error",
    "A taint is one that Kubernetes accepts.",
    "EKS refuses the node group.",
    _TAINTS,
)
TAINT_TWICE = Rule(
    "GPU305",
    "error",
    "Key and effect of a taint stand once in a pool.",
    "Kubernetes refuses a node with two taints of one key and effect.",
    _TAINTS,
)
NO_TAINT = rule_of("GPU306")
BAD_POOL_NAME = Rule(
    "GPU307",
    "error",
    "A pool's name is short, lower-case and a valid label value.",
    "It becomes a key of a ConfigMap, a node label and the prefix of AWS names.",
    _LABELS,
)
BAD_CLUSTER_NAME = Rule(
    "GPU308",
    "error",
    "A cluster's name is one that EKS accepts.",
    "EKS refuses the cluster.",
    "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html",
)
BAD_NAMESPACE = Rule(
    "GPU311",
    "error",
    "The namespace of the GPU stack is its own and a valid name.",
    "The chart refuses `default`, and Kubernetes refuses other characters.",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/",
)


_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_CLUSTER = re.compile(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}")
_LONGEST_NAME = 63
_LONGEST_PREFIX = 253
_LONGEST_POOL = 28
_MOST_TAINTS = 50
_RESERVED_PREFIXES = ("eks.amazonaws.com", "alpha.eksctl.io")


@check(Scope.POOL, OWNED_LABEL, BAD_LABEL)
def pool_labels(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    for key, value in pool.labels.items():
        at = ("pools", name, "labels", key)
        if owner := _owner(key):
            yield OWNED_LABEL.finding(
                at,
                f"{key} is set by {owner}.",
                "Use a label of your own; eks-gpushare/pool names the pool.",
            )
        elif fault := (
            key_fault(key) or value_fault(value) or _reserved(key) or _eks_fault(pool, key, value)
        ):
            yield BAD_LABEL.finding(at, fault, "Change or remove the label.")


def _owner(key: str) -> str | None:
    if key in DERIVED_LABELS:
        return "this project"
    if key.startswith(OWNED_PREFIXES):
        return "GPU feature discovery, NFD or the GPU Operator"
    return None


def _reserved(key: str) -> str | None:
    prefix = key.rpartition("/")[0]
    if prefix in _RESERVED_PREFIXES or prefix.endswith(".eks.amazonaws.com"):
        return f"{prefix} is reserved for EKS."
    if not kubelet_may_set(key):
        return f"A kubelet may not set {key}: {prefix} is reserved for Kubernetes."
    if key in KUBELET_LABELS:
        return f"{key} is set by the kubelet."
    return None


def _eks_fault(pool: Pool, key: str, value: str = "any") -> str | None:
    """Why a label or the key of a taint is not one for a node group, which Kubernetes would take.

    https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateLabelsPayload.html
    """
    if pool.provisioner != "managedNodeGroup":
        return None
    if len(key) > _LONGEST_NAME:
        return f"{key} has {len(key)} characters; EKS takes {_LONGEST_NAME}, with what is before /."
    return None if value else f"{key} has no value, and EKS takes no such label."


def key_fault(key: str) -> str | None:
    """Why a label or taint key is not one, or None."""
    prefix, slash, name = key.rpartition("/")
    if slash and not (_DNS_SUBDOMAIN.fullmatch(prefix) and len(prefix) <= _LONGEST_PREFIX):
        return f'"{prefix}" before the / is not a DNS name in lower case.'
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        return (
            f'"{name}" is not 1 to 63 letters, digits, -, _ and . with a letter or digit at both '
            "ends."
        )
    return None


def value_fault(value: str) -> str | None:
    """Why a label or taint value is not one, or None."""
    if value and (not _NAME.fullmatch(value) or len(value) > _LONGEST_NAME):
        return (
            f'The value "{value}" is not up to 63 letters, digits, -, _ and . with a letter or '
            "digit at both ends."
        )
    return None


def subdomain_fault(name: str) -> str | None:
    """Why the name of an object is not one, or None."""
    if _DNS_SUBDOMAIN.fullmatch(name) and len(name) <= _LONGEST_PREFIX:
        return None
    return f'"{name}" is not lower-case letters, digits, - and . with none of them last.'


@check(Scope.POOL, BAD_TAINT, TAINT_TWICE, NO_TAINT)
def pool_taints(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(pool.taints):
        at = ("pools", name, "taints", index)
        if fault := (
            key_fault(taint.key) or value_fault(taint.value) or _eks_fault(pool, taint.key)
        ):
            fix = 'Write it like {key: nvidia.com/gpu, value: "true", effect: NoSchedule}.'
            yield BAD_TAINT.finding(at, fault, fix)
        if (taint.key, taint.effect) in seen:
            yield TAINT_TWICE.finding(
                at,
                f"{taint.key} with {taint.effect} stands twice.",
                "Remove one of the two.",
            )
        seen.add((taint.key, taint.effect))
    startup = _startup_taints(pool)
    if len(pool.taints) + startup > _MOST_TAINTS:
        more = " and the one of nodes that wait for MIG" if startup else ""
        message = f"{len(pool.taints)} taints{more} are more than the {_MOST_TAINTS} EKS takes."
        yield BAD_TAINT.finding(("pools", name, "taints"), message, "Remove some.")
    open_to_all = pool.provisioner != "existing" and not any(
        taint.effect in {"NoSchedule", "NoExecute"} for taint in pool.taints
    )
    # Of a pool that tenants share GPU892 says it, and what it means for them.
    if open_to_all and name not in ctx.pools_of_tenants:
        yield NO_TAINT.finding(
            ("pools", name, "taints"),
            "No taint keeps pods without a GPU request away from these nodes.",
            "Remove the key to get nvidia.com/gpu=true:NoSchedule.",
        )


def _startup_taints(pool: Pool) -> int:
    """How many taints the nodes join with besides the pool's own."""
    if not isinstance(pool.sharing, Mig):
        return 0
    from eks_gpushare.sharing.mig_manager import startup_taints

    return len(startup_taints(pool))


@check(Scope.POOL, BAD_POOL_NAME)
def pool_name(_: Context, name: str, __: Pool) -> Iterator[Finding]:
    if name == DEFAULT_KEY:
        yield BAD_POOL_NAME.finding(
            ("pools", name),
            f'"{DEFAULT_KEY}" is the name of the configuration for nodes of no pool.',
            "Give the pool another name, such as gpu.",
        )
    elif not _DNS_LABEL.fullmatch(name) or len(name) > _LONGEST_POOL:
        yield BAD_POOL_NAME.finding(
            ("pools", name),
            f'"{name}" is not 1 to {_LONGEST_POOL} lower-case letters, digits and -, with a letter '
            "or digit at both ends.",
            "Rename the pool.",
        )


@check(Scope.CLUSTER, BAD_CLUSTER_NAME)
def cluster_name(ctx: Context) -> Iterator[Finding]:
    new, named = ctx.new_cluster, ctx.named_cluster
    at: FieldPath = ("cluster", "name") if new else ("cluster", "existing", "name")
    name = new.name if new else named.name if named else None
    if name is not None and not _CLUSTER.fullmatch(name):
        yield BAD_CLUSTER_NAME.finding(
            at,
            f'"{name}" is not 1 to 100 letters, digits, - and _, starting with a letter or digit.',
            "Rename the cluster.",
        )


@check(Scope.CHARTS, BAD_NAMESPACE)
def namespace(ctx: Context) -> Iterator[Finding]:
    given = ctx.environment.gpu_stack.namespace
    if given is None:
        return
    at = ("gpuStack", "namespace")
    if (fault := own_namespace_fault(given, "the GPU stack", "nvidia-device-plugin")) is not None:
        yield BAD_NAMESPACE.finding(at, *fault)


def own_namespace_fault(given: str, whose: str, example: str) -> tuple[str, str] | None:
    """What is wrong with a namespace that is made for one thing, and what to do; None if it is one.

    Args:
        given: Its name.
        whose: What it is for.
        example: What it may be called.
    """
    if given in {"default", "kube-system", "kube-public", "kube-node-lease"}:
        return f"{given} is not a namespace for {whose}.", f"Use one of its own, such as {example}."
    return namespace_name_fault(given)


def namespace_name_fault(given: str) -> tuple[str, str] | None:
    """Why a text is not the name of a namespace, and what to do; None if it is one."""
    if not _DNS_LABEL.fullmatch(given) or len(given) > _LONGEST_NAME:
        what = "lower-case letters, digits and -, starting and ending with a letter or digit"
        return f'"{given}" is not 1 to {_LONGEST_NAME} {what}.', "Correct the name."
    return None
