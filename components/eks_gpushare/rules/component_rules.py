"""The rules for a component that stands alone, which knows a part of an environment only.

Everything it is not told of (a network, a cluster, how the charts are) raises `UnreadError`, so
each check says what holds whatever that is. Places are those of the component's own arguments.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.arns import queue_of
from eks_gpushare.config.base import converted, known_fields, partial_model
from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.config.environment import CatalogAdditions, Charts, Environment, GpuStack
from eks_gpushare.config.pools import Pool
from eks_gpushare.config.workloads import Keda, Workload
from eks_gpushare.findings.finding import dotted
from eks_gpushare.rules import checks_of, pool_findings
from eks_gpushare.rules.context import Context, catalog_with
from eks_gpushare.rules.registry import Runs, Scope, until_unread
from eks_gpushare.rules.wake import WAKE
from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from eks_gpushare.config.base import Model
    from eks_gpushare.config.component_specs import (
        ClusterAutoscalerSpec,
        DevicePluginSpec,
        EfaDevicePluginSpec,
        EksClusterSpec,
        GpuOperatorSpec,
        GpuPoolSpec,
        KarpenterPoolSpec,
        KarpenterSpec,
        KedaSpec,
        NetworkSpec,
        ServedPool,
        SharedWorkloadSpec,
        ShareVerifierSpec,
        SystemNodesSpec,
        TenantsSpec,
    )
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.registry import Check

_SHARED = (
    *("provisioner", "instance_types", "sharing", "taints"),
    *("ami_family", "custom_ami", "bottlerocket", "gpus_on_request_only"),
)
"""What a manager knows of a pool, by default where it is not given. Of the rest it knows what it is
told."""


def check_pool(
    spec: GpuPoolSpec | KarpenterPoolSpec, subnets: int | None = None
) -> Iterator[Finding]:
    """Findings about one pool, wherever its nodes will be.

    Args:
        spec: The pool.
        subnets: How many subnets it is given. Default: that is not known yet.
    """
    name = known_fields(spec).get("pool", "pool")
    environment = _environment(spec, pools={name: spec}, cluster=_cluster_of(spec))
    ctx, found = _context(environment)
    ctx = ctx._replace(subnets=subnets)
    found += _run(ctx, Scope.TAGS)
    yield from found
    yield from _within(("pools", name), _run_pools(ctx))


def check_cluster(spec: EksClusterSpec) -> Iterator[Finding]:
    """Findings about a new cluster."""
    ctx, found = _context(_environment(spec, cluster=spec))
    yield from (*found, *_run(ctx, Scope.TAGS))
    yield from _within(("cluster",), _run(ctx, Scope.CLUSTER))


def check_network(spec: NetworkSpec) -> Iterator[Finding]:
    """Findings about a new network; its region is that of its first zone."""
    zones = known_fields(spec).get("zones", ())
    region = (zones[0][:-1] or "us-west-2") if zones else None
    ctx, found = _context(
        _environment(spec, cluster=partial_model(NewCluster), network=spec), region
    )
    yield from (*found, *_run(ctx, Scope.TAGS))
    yield from _within(("network",), _run(ctx, Scope.NETWORK))


def check_system_nodes(spec: SystemNodesSpec) -> Iterator[Finding]:
    """Findings about system nodes."""
    ctx, found = _context(_environment(spec, cluster=_cluster_of(spec), system=spec))
    yield from (*found, *_run(ctx, Scope.TAGS))
    yield from _within(("system",), _run(ctx, Scope.SYSTEM_NODES))


def check_device_plugin(
    spec: DevicePluginSpec, checked_before: Collection[str] = ()
) -> Iterator[Finding]:
    """Findings about the device plugin and the sharing of the pools it serves.

    Args:
        spec: The device plugin.
        checked_before: Names of pools that are right by themselves, whoever manages their GPUs.
    """
    stack = _some(known_fields(spec), "namespace")
    gpu_stack = partial_model(GpuStack, manager="devicePlugin", **stack)
    return _of_manager(spec, gpu_stack, "device_plugin", checked_before)


def check_gpu_operator(
    spec: GpuOperatorSpec, checked_before: Collection[str] = ()
) -> Iterator[Finding]:
    """Findings about the GPU Operator and the sharing of the pools it serves.

    Args:
        spec: The operator.
        checked_before: As for the device plugin.
    """
    stack = _some(known_fields(spec), "namespace", "mig_taint_remover_image")
    gpu_stack = partial_model(GpuStack, manager="gpuOperator", **stack)
    return _of_manager(spec, gpu_stack, "gpu_operator", checked_before)


def check_efa_device_plugin(spec: EfaDevicePluginSpec) -> Iterator[Finding]:
    """Findings about the EFA device plugin's chart."""
    known = known_fields(spec)
    parts: dict[str, Any] = {"gpu_stack": partial_model(GpuStack, efa_device_plugin=True)}
    if "chart" in known:
        parts["charts"] = partial_model(Charts, efa_device_plugin=known["chart"])
    if "pools" in known:
        pool = partial_model(Pool, efa=True, **_some(known, "taints"))
        parts["pools"] = dict.fromkeys(known["pools"], pool)
    ctx, found = _context(_environment(spec, **parts))
    yield from found
    for finding in _run(ctx, Scope.CHARTS):
        yield _of_chart(finding)


def check_karpenter(spec: KarpenterSpec) -> Iterator[Finding]:
    """Findings about Karpenter's charts, and what all its nodes have in common."""
    known = known_fields(spec)
    charts = {
        name: known[key]
        for name, key in (("karpenter", "chart"), ("karpenter_crd", "crd_chart"))
        if key in known
    }
    parts: dict[str, Any] = {"karpenter": spec, "pools": {}}
    if charts:
        parts["charts"] = partial_model(Charts, **charts)
    ctx, found = _context(_environment(spec, **parts))
    yield from (*found, *_run(ctx, Scope.TAGS))
    for scope in (Scope.CHARTS, Scope.KARPENTER):
        for finding in _run(ctx, scope):
            yield _of_karpenter(finding)


def check_karpenter_pool(spec: KarpenterPoolSpec) -> Iterator[Finding]:
    """Findings about one pool of Karpenter's, wherever its nodes will be."""
    for finding in check_pool(spec):
        yield finding if finding.at else replace(finding, at=("pool",), path="pool")


def check_cluster_autoscaler(spec: ClusterAutoscalerSpec) -> Iterator[Finding]:
    """Findings about Cluster Autoscaler and its chart."""
    known = known_fields(spec)
    parts: dict[str, Any] = {"cluster_autoscaler": spec, "cluster": _cluster_of(spec)}
    if "chart" in known:
        parts["charts"] = partial_model(Charts, cluster_autoscaler=known["chart"])
    if "pools" in known:
        pool = partial_model(Pool, provisioner="managedNodeGroup", scaled_by="autoscaler")
        parts["pools"] = dict.fromkeys(known["pools"], pool)
    ctx, found = _context(_environment(spec, **parts))
    yield from (*found, *_run(ctx, Scope.TAGS))
    for finding in _within(("clusterAutoscaler",), _run(ctx, Scope.CHARTS)):
        yield _of_chart(finding) if finding.at[:1] == ("charts",) else finding


def check_shared_workload(spec: SharedWorkloadSpec) -> Iterator[Finding]:
    """Findings about a workload and the pools that it runs on."""
    known = known_fields(spec)
    name: str = known.get("name", "workload")
    parts: dict[str, Any] = {}
    own = _some(known, *Workload.model_fields)
    if "served" in known:
        served = {pool.name: pool for pool in known["served"]}
        own |= {"pool": None, "pools": tuple(pool.name for pool in known["served"])}
        parts["pools"] = {pool: converted(Pool, item) for pool, item in served.items()}
        parts["catalog"] = _catalog_of(served.values())
    parts["workloads"] = {name: partial_model(Workload, **own)}
    if "prometheus" in known:
        asked = known["prometheus"]
        parts["keda"] = asked and partial_model(Keda, prometheus=asked)
    # How many nodes they have, pools that are handed over do not say.
    ctx, found = _context(_environment(spec, **parts), nodes_elsewhere=True)
    yield from found
    for finding in (*_run(ctx, Scope.WORKLOADS), *_run(ctx, Scope.KEDA)):
        for block in (("workloads", name), ("keda",)):
            if finding.at[: len(block)] == block:
                yield from map(_of_served, _within(block, [finding]))


def _of_served(found: Finding) -> Finding:
    """What a stack file says by names of pools, a workload is given the pools for."""
    if found.at[:1] not in {("pool",), ("pools",)}:
        return found
    at = ("served", *found.at[1:])
    return replace(found, at=at, path=dotted(at))


def _catalog_of(served: Iterable[ServedPool]) -> CatalogAdditions:
    """What pools add to the catalog, all together."""
    blocks: dict[str, Any] = {name: {} for name in CatalogAdditions.model_fields}
    for pool in served:
        for name, block in blocks.items():
            block.update(getattr(pool.catalog, name))
    return CatalogAdditions.model_construct(**blocks)


def check_keda(spec: KedaSpec, *, has_cluster: bool) -> Iterator[Finding]:
    """Findings about KEDA that stands alone.

    Args:
        spec: KEDA.
        has_cluster: Whether it is told the name of an EKS cluster.
    """
    known = known_fields(spec)
    parts: dict[str, Any] = {"keda": spec}
    if "chart" in known:
        parts["charts"] = partial_model(Charts, keda=known["chart"])
    ctx, found = _context(_environment(spec, **parts))
    yield from (*found, *_run(ctx, Scope.TAGS))
    yield from _within(("keda",), _run(ctx, Scope.KEDA))
    for each in _run(ctx, Scope.CHARTS):
        yield _of_chart(each)
    for index, given in enumerate(known.get("queues") or ()):
        queue = queue_of(given)
        if queue is None or queue.arn != given:
            message = f'"{given}" is not the ARN of a queue of SQS.'
            fix = "Write it like arn:aws:sqs:us-west-2:111122223333:jobs."
            yield WAKE.finding(("queues", index), message, fix)
    prometheus = known.get("prometheus")
    workspace = prometheus is not None and prometheus.workspace_arn is not None
    if (workspace or known.get("queues")) and not has_cluster:
        what = "the workspace" if workspace else "the queues"
        yield shape_rules.MISSING_KEY.finding(
            ("cluster_name",),
            f"Its operator gets a role for {what}, which is of one cluster.",
            "Give the name of the EKS cluster.",
        )


def check_tenants(spec: TenantsSpec, *, has_cluster: bool) -> Iterator[Finding]:
    """Findings about tenants and the pools that they share.

    Args:
        spec: The tenants.
        has_cluster: Whether they are told the name of an EKS cluster.
    """
    known = known_fields(spec)
    parts = {**_some(known, "tenants", "pools"), "cluster": _cluster_of(spec)}
    ctx, found = _context(_environment(spec, **parts), known.get("region"))
    yield from (*found, *_run(ctx, Scope.TAGS))
    yield from _run(ctx, Scope.TENANTS)
    yield from _within(("cluster",), _run(ctx, Scope.CLUSTER))
    # What is merely worth knowing about a pool is said where its nodes are made.
    yield from (finding for finding in _run_pools(ctx) if finding.severity == "error")
    if not has_cluster and any(given.admins for given in known.get("tenants", {}).values()):
        yield shape_rules.MISSING_KEY.finding(
            ("cluster_name",),
            "Admins get access entries, which are of one cluster.",
            "Give the name of the EKS cluster.",
        )


def check_share_verifier(spec: ShareVerifierSpec) -> Iterator[Finding]:
    """Findings about what looks at the cluster."""
    ctx, found = _context(_environment(spec, verifier=spec))
    yield from found
    yield from _within(("verifier",), _run(ctx, Scope.VERIFIER))


def _of_manager(
    spec: DevicePluginSpec | GpuOperatorSpec,
    gpu_stack: GpuStack,
    chart: str,
    checked_before: Collection[str],
) -> Iterator[Finding]:
    known = known_fields(spec)
    own = {chart: known["chart"]} if "chart" in known else {}
    parts: dict[str, Any] = {
        "gpu_stack": gpu_stack,
        "charts": Charts.model_construct(**own) if own else partial_model(Charts),
    }
    if "pools" in known:
        parts["pools"] = {name: _shared(pool) for name, pool in known["pools"].items()}
    ctx, found = _context(_environment(spec, **parts), nodes_elsewhere=True)
    yield from found
    for finding in _run(ctx, Scope.CHARTS):
        yield _of_chart(finding)
    # What is merely worth knowing about a pool is said where its nodes are made.
    of_pools = _run_pools(ctx, checked_before)
    yield from (finding for finding in of_pools if finding.severity == "error")


def _shared(pool: Pool) -> Pool:
    """What a manager knows of a pool."""
    known = known_fields(pool)
    return partial_model(
        Pool, **{key: known[key] for key in {*_SHARED, *pool.model_fields_set} if key in known}
    )


def _some(known: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: known[name] for name in names if name in known}


def _cluster_of(
    spec: GpuPoolSpec | KarpenterPoolSpec | SystemNodesSpec | ClusterAutoscalerSpec | TenantsSpec,
) -> NewCluster:
    """The cluster of nodes: of it they know the version, if that."""
    version = known_fields(spec).get("version")
    return partial_model(NewCluster, **({"version": version} if version else {}))


def _environment(spec: Model, **parts: Any) -> Environment:
    """What a component knows of an environment: itself, its tags and its catalog."""
    common = _some(known_fields(spec), "tags", "catalog", "iam")
    if "catalog" not in type(spec).model_fields:  # it is the package's own
        common["catalog"] = Environment.model_fields["catalog"].get_default()
    return partial_model(Environment, **{"observability": None, **common, **parts})


def _context(
    environment: Environment, region: str | None = None, *, nodes_elsewhere: bool = False
) -> tuple[Context, list[Finding]]:
    """What checks see, and what is wrong with the catalog."""
    found: list[Finding] = []
    catalog = catalog_with(environment, region, found)
    today = date.today()  # noqa: DTZ011  (support ends on a calendar day)
    ctx = Context(environment, catalog, region, today, nodes_elsewhere=nodes_elsewhere)
    return ctx, found


def _checks(ctx: Context) -> Iterator[Check[...]]:
    """The checks that run for a component alone."""
    return (check for check in checks_of(ctx.environment) if check.runs is not Runs.IN_STACKS)


def _run(ctx: Context, scope: Scope) -> Iterator[Finding]:
    for check in _checks(ctx):
        if check.scope is scope:
            yield from check(ctx)


def _run_pools(ctx: Context, checked_before: Collection[str] = ()) -> Iterator[Finding]:
    return until_unread(pool_findings, _checks(ctx), ctx, checked_before)


def _within(block: FieldPath, found: Iterable[Finding]) -> Iterator[Finding]:
    """The findings with their places below the block itself."""
    for finding in dict.fromkeys(found):
        at = finding.at[len(block) :] if finding.at[: len(block)] == block else finding.at
        yield replace(finding, at=at, path=dotted(at))


def _of_karpenter(found: Finding) -> Finding:
    """What is `charts.karpenter`, `charts.karpenterCrd` and `karpenter` in a stack file."""
    chart = {"karpenter": "chart", "karpenterCrd": "crd_chart"}
    at = found.at
    if at[:1] == ("charts",) and len(at) > 1:
        at = (chart.get(str(at[1]), at[1]), *at[2:])
    elif at[:1] == ("karpenter",):
        at = at[1:]
    return replace(found, at=at, path=dotted(at))


def _of_chart(found: Finding) -> Finding:
    """What is `charts.devicePlugin` and `gpuStack.namespace` in a stack file has no block here."""
    if not found.at or found.at[0] == "pools":
        return found
    cut = ("chart", *found.at[2:]) if found.at[0] == "charts" else found.at[1:]
    return replace(found, at=cut, path=dotted(cut))
