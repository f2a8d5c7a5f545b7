"""What of an environment runs on its pools: warm room, KEDA and workloads.

Imported only where a stack has any of it.
"""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import Namespace
from pulumi_kubernetes.scheduling.v1 import PriorityClass

from eks_gpushare.aws.refs import ClusterRefs, WorkspaceRefs
from eks_gpushare.catalog.arns import queue_of
from eks_gpushare.config.base import converted
from eks_gpushare.config.component_specs import (
    EnvironmentSpec,
    KedaSpec,
    ServedPool,
    SharedWorkloadSpec,
)
from eks_gpushare.config.environment import Chart
from eks_gpushare.in_cluster.chart_parts import manifest_fields
from eks_gpushare.in_cluster.handed_namespaces import of_workloads
from eks_gpushare.in_cluster.namespace_aliases import from_tenants
from eks_gpushare.keda import Keda
from eks_gpushare.shared_workload import SharedWorkload
from eks_gpushare.sharing import warm_room
from eks_gpushare.sharing.exporter import prometheus_of
from eks_gpushare.sharing.plan import PoolPlan
from eks_gpushare.sharing.workloads import (
    CLASS_PREFIX,
    DEFAULT_NAMESPACE,
    PART_OF,
    PRIORITIES,
    class_of,
    is_scaled,
    pools_of,
    priority_class,
)

_DESCRIPTIONS = {
    "low": "Workloads that give way to all others.",
    "high": "Workloads before which others give way.",
}


class WorkloadParts:
    """Warm room, KEDA and workloads, in the order in which they need each other."""

    def __init__(
        self,
        name: str,
        spec: EnvironmentSpec,
        refs: ClusterRefs,
        roles: Mapping[str, Any],
        child: pulumi.ResourceOptions,
        workspace: WorkspaceRefs | None,
    ) -> None:
        """Take what they are made of.

        Args:
            name: Name of the environment.
            spec: The environment.
            refs: Its cluster.
            roles: What every component that makes roles is told.
            child: Options that name the parent.
            workspace: The workspace that the stack makes for its metrics.
        """
        asked = prometheus_of(spec)
        follows = asked is not None and asked.url is None and asked.workspace_arn is None
        self._workspace = workspace if follows else None
        self._name, self._spec, self._refs, self._roles = name, spec, refs, dict(roles)
        self._child = child

    def register(
        self,
        plans: Mapping[str, PoolPlan],
        system: list[pulumi.Resource],
        everything: list[pulumi.Resource],
    ) -> list[pulumi.Resource]:
        """Register all of it.

        Args:
            plans: The plans of the pools by name.
            system: What has to be there before a pod without a GPU runs.
            everything: What has to be there before one with a GPU does, the former included.

        Returns:
            What was registered.
        """
        keda = self._keda(system)
        scaler: list[pulumi.Resource] = [each.release for each in keda]
        warm = self._warm_room(plans, everything, keda)
        return [*keda, *warm, *self._workloads([*everything, *keda, *warm], scaler)]

    def _options(self, after: list[pulumi.Resource]) -> pulumi.ResourceOptions:
        wired = pulumi.ResourceOptions(provider=self._refs.provider, depends_on=after)
        return pulumi.ResourceOptions.merge(self._child, wired)

    def _keda(self, after: list[pulumi.Resource]) -> list[Keda]:
        given = self._spec.keda
        if given is None or not given.install:
            return []
        chart = self._spec.charts.keda or Chart.model_construct()
        more: dict[str, Any] = {
            "chart": chart,
            "queues": self._queues(),
            "tags": dict(self._spec.tags),
        }
        if (prometheus := prometheus_of(self._spec)) is not None:
            more["prometheus"] = prometheus
        spec = converted(KedaSpec, given, **more, **self._roles)
        wired = pulumi.ResourceOptions(providers=[self._refs.provider], depends_on=after)
        opts = pulumi.ResourceOptions.merge(self._child, wired)
        return [
            Keda._from_spec(
                f"{self._name}-keda", spec, self._refs.cluster_name, opts, self._workspace
            )
        ]

    def _queues(self) -> tuple[str, ...] | None:
        """What wakes workloads, each queue once; None where none does."""
        wakes = (workload.wake for workload in (self._spec.workloads or {}).values())
        queues = (queue_of(wake.queue) for wake in wakes if wake is not None and wake.queue)
        return tuple(dict.fromkeys(queue.arn for queue in queues if queue is not None)) or None

    def _warm_room(
        self,
        plans: Mapping[str, PoolPlan],
        after: list[pulumi.Resource],
        keda: list[Keda],
    ) -> list[pulumi.Resource]:
        wanted = {name: warm_room.placeholders(plan) for name, plan in plans.items()}
        if not any(wanted.values()):
            return []
        role, opts = f"{self._name}-warm-room", self._options(after)
        document = warm_room.placeholder_class()
        made: list[pulumi.Resource] = [
            Namespace(role, metadata=warm_room.namespace()["metadata"], opts=opts),
            PriorityClass(role, **manifest_fields(document), opts=opts),
        ]
        made += (
            Deployment(
                f"{role}-{pool}-{kept}", **manifest_fields(each), opts=self._options(made[:2])
            )
            for pool, kinds in wanted.items()
            for kept, each in kinds.items()
        )
        # Each goes with the definition of its kind, which goes with KEDA's release.
        scaled = pulumi.ResourceOptions(replace_with=[installed.release for installed in keda])
        scaled = pulumi.ResourceOptions.merge(self._options([*made, *keda]), scaled)
        return [
            *made,
            *(
                CustomResource(
                    f"{role}-{pool}-{kept}-schedule",
                    api_version=each["apiVersion"],
                    kind=each["kind"],
                    metadata=each["metadata"],
                    spec=each["spec"],
                    opts=scaled,
                )
                for pool, plan in plans.items()
                for kept, each in warm_room.schedules(plan).items()
            ),
        ]

    def _once_a_tenants(self, namespace: str) -> pulumi.ResourceOptions:
        parent = self._child.parent
        aliases = [] if parent is None else from_tenants(parent, self._name, namespace)
        return pulumi.ResourceOptions(aliases=aliases)

    def _workloads(
        self, after: list[pulumi.Resource], scaler: list[pulumi.Resource]
    ) -> list[pulumi.Resource]:
        workloads = self._spec.workloads or {}
        opts = self._options(after)
        own = {
            called
            for tenant in (self._spec.tenants or {}).values()
            for called in tenant.every_namespace
        }
        namespaces = dict.fromkeys(
            workload.namespace
            for workload in workloads.values()
            if workload.create_namespace and workload.namespace not in {DEFAULT_NAMESPACE, *own}
        )
        # Baseline lets pods with GPUs be, and nothing of the node into them.
        labels = {"pod-security.kubernetes.io/enforce": "baseline", **PART_OF}
        made: list[pulumi.Resource] = [
            Namespace(
                of_workloads(self._name, called),
                metadata={"name": called, "labels": labels},
                opts=pulumi.ResourceOptions.merge(opts, self._once_a_tenants(called)),
            )
            for called in namespaces
        ]
        asked = {workload.priority for workload in workloads.values()}
        made += [
            PriorityClass(
                f"{self._name}-priority-{priority}",
                **manifest_fields(
                    priority_class(f"{CLASS_PREFIX}{priority}", value, _DESCRIPTIONS[priority])
                ),
                opts=opts,
            )
            for priority, value in PRIORITIES.items()
            if priority in asked
        ]
        return [
            *made,
            *(
                self._workload(name, workload, [*after, *made], scaler)
                for name, workload in workloads.items()
            ),
        ]

    def _workload(
        self,
        name: str,
        given: Any,
        after: list[pulumi.Resource],
        scaler: list[pulumi.Resource],
    ) -> SharedWorkload:
        catalog = self._spec.catalog
        served = tuple(
            converted(ServedPool, self._spec.pools[pool], name=pool, catalog=catalog)
            for pool in pools_of(given)
        )
        keda = self._spec.keda
        own: dict[str, Any] = {"name": name, "served": served}
        if keda is not None and is_scaled(given):
            own["prometheus"] = prometheus_of(self._spec)
        if given.priority is not None:
            own["priority"] = class_of(given.priority)
        spec = converted(SharedWorkloadSpec, given, **own)
        wired = pulumi.ResourceOptions(providers=[self._refs.provider], depends_on=after)
        opts = pulumi.ResourceOptions.merge(self._child, wired)
        return SharedWorkload._from_spec(
            f"{self._name}-workload-{name}", spec, opts, scaler, self._workspace
        )
