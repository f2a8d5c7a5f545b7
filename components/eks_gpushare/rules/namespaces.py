"""Rules about the namespaces that a stack makes, for what runs in its cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.config.observability import PROMETHEUS_NAMESPACE
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing import warm_room
from eks_gpushare.sharing.kueue import NAMESPACE as KUEUE_NAMESPACE
from eks_gpushare.sharing.tenant_admission import PARAMETERS_NAMESPACE
from eks_gpushare.sharing.verifier import verifier_namespace
from eks_gpushare.sharing.workloads import DEFAULT_NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.observability import Observability
    from eks_gpushare.config.tenants import Tenant
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

MADE_TWICE = Rule(
    "GPU735",
    "error",
    "A namespace is made for one thing.",
    "The second Namespace of the name cannot be made: the update ends there.",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/",
    not_alone="A component knows no namespace but its own.",
)

_OF_MANAGERS = {"devicePlugin": "nvidia-device-plugin", "gpuOperator": "gpu-operator"}
_THERE = ("kube-system", "default")
_MOVE = "Use another one."
_OR_LEAVE = "Use another one, or set createNamespace: false."
_WORKLOADS = "workloads"
_TENANT = "the tenant "


@check(Scope.ENVIRONMENT, MADE_TWICE)
def made_once(ctx: Context) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for at, namespace, what in _made(ctx.environment):
        if namespace in seen and at is not None:
            fix = _OR_LEAVE if at[0] == "workloads" else _MOVE
            message = f"{namespace} is made for {seen[namespace]} already."
            yield MADE_TWICE.finding(at, message, fix)
        seen.setdefault(namespace, what)
    for name, tenant in (ctx.environment.tenants or {}).items():
        for index, namespace in enumerate(tenant.existing_namespaces):
            made = seen.get(namespace, _WORKLOADS)
            # What two tenants name, and what workloads are put into, are other rules'.
            if made == _WORKLOADS or made.startswith(_TENANT):
                continue
            message = f"{namespace} is made by this stack, for {made}, and is no tenant's."
            place: FieldPath = ("tenants", name, "existingNamespaces", index)
            yield MADE_TWICE.finding(place, message, "Name one that others make.")


def _made(environment: Environment) -> Iterator[tuple[FieldPath | None, str, str]]:
    """Namespaces with the key that names each, if it has no other rule, and what they are for."""
    if any(pool.warm is not None for pool in environment.pools.values()):
        yield None, warm_room.NAMESPACE, "warm room"
    stack, karpenter = environment.gpu_stack, environment.karpenter
    of_stack = stack.namespace or _OF_MANAGERS[stack.manager]
    yield ("gpuStack", "namespace"), of_stack, "the GPU stack"
    if karpenter is not None and karpenter.install and karpenter.namespace not in _THERE:
        yield ("karpenter", "namespace"), karpenter.namespace, "Karpenter"
    if environment.keda is not None and environment.keda.install:
        yield ("keda", "namespace"), environment.keda.namespace, "KEDA"
    if environment.verifier is not None:
        namespace = verifier_namespace(environment.verifier)
        yield ("verifier", "namespace"), namespace, "what looks at the cluster"
    yield from _of_metrics(environment.observability)
    autoscaler = environment.cluster_autoscaler
    if autoscaler is not None and autoscaler.namespace not in _THERE:
        yield None, autoscaler.namespace, "Cluster Autoscaler"
    yield from _of_tenants(environment.tenants or {})
    own = {space for each in (environment.tenants or {}).values() for space in each.every_namespace}
    for name, workload in (environment.workloads or {}).items():
        namespace = workload.namespace
        if not workload.create_namespace or namespace in {DEFAULT_NAMESPACE, *own}:
            continue
        own.add(namespace)
        yield ("workloads", name, "namespace"), namespace, _WORKLOADS


def _of_metrics(block: Observability | None) -> Iterator[tuple[FieldPath | None, str, str]]:
    if block is None or block.metrics == "none":
        return
    yield ("observability", "namespace"), block.namespace, "metrics"
    if block.prometheus is not None and block.prometheus.install:
        yield None, PROMETHEUS_NAMESPACE, "Prometheus"


def _of_tenants(tenants: Mapping[str, Tenant]) -> Iterator[tuple[FieldPath | None, str, str]]:
    """Those of tenants, and of what holds their pods to their contracts."""
    if any(tenant.queue for tenant in tenants.values()):
        yield None, KUEUE_NAMESPACE, "Kueue"
    if any(tenant.admission for tenant in tenants.values()):
        yield None, PARAMETERS_NAMESPACE, "what tenants may"
    own: set[str] = set()
    for name, tenant in tenants.items():
        for index, namespace in enumerate(tenant.namespaces):
            if namespace not in own:  # twice among them is another rule's
                yield ("tenants", name, "namespaces", index), namespace, f"{_TENANT}{name}"
            own.add(namespace)
