"""Rules about KEDA, and where it asks for the use of GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.arns import partition_of_arn, workspace_of
from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.documents.addresses import server_address
from eks_gpushare.documents.helm import value_at
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.charts import IDLE_CHART
from eks_gpushare.rules.names import own_namespace_fault, subdomain_fault
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.bottlerocket import pools_of_chart
from eks_gpushare.sharing.exporter import (
    BY_PROCESS,
    RESOURCES,
    exporter_chart_values,
    followed_shares,
    has_own_exporter,
    prometheus_of,
    with_process_metrics,
)
from eks_gpushare.sharing.resources import replicas
from eks_gpushare.sharing.scaled_object import tells_pods_apart
from eks_gpushare.sharing.workloads import is_scaled, is_set_by_keda, pools_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.workloads import Keda, Prometheus, Workload
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_SCALER = "https://keda.sh/docs/2.20/scalers/prometheus/"

PROMETHEUS = Rule(
    "GPU833",
    "error",
    "KEDA asks one Prometheus, whose address or workspace is right.",
    "Its queries fail, so that the number of pods stays as it is whatever happens.",
    _SCALER,
)
WORKSPACE_ACCESS = Rule(
    "GPU834",
    "error",
    "KEDA gets a role for the workspace that it asks.",
    "Amazon Managed Service for Prometheus answers signed requests only, and Pod Identity is part "
    "of EKS.",
    "https://docs.aws.amazon.com/eks/latest/userguide/pod-identities.html",
)
PROMQL = Rule(
    "GPU843",
    "error",
    "PromQL that a stack gives can be put into a query.",
    "KEDA's query fails, so that the number of pods stays as it is whatever happens.",
    "https://prometheus.io/docs/prometheus/latest/querying/basics/",
)
OTHER_EXPORTER = Rule(
    "GPU844",
    "warning",
    "The exporter of this stack measures processes where it is said to.",
    "Of pods that share a GPU it has numbers of the whole GPU, or 0 for each: then workloads gain "
    "and lose pods by what others do. Of pods that ask for a renamed share it has none, unless it "
    "is told the name: then nothing is measured, and their number stays as it is.",
    "https://github.com/NVIDIA/dcgm-exporter/pull/594",
)
NO_EXPORTER = Rule(
    "GPU851",
    "error",
    "Something measures the GPUs whose use workloads follow.",
    "Without a DCGM exporter there is no number of their use: pods neither come nor go, and "
    "nothing says why.",
    "https://docs.nvidia.com/datacenter/dcgm/latest/gpu-telemetry/dcgm-exporter.html",
)
KEDA_IDLE = Rule(
    "GPU845",
    "info",
    "KEDA sets the number of pods of something.",
    "Nothing of this stack follows its use or a schedule; KEDA runs for what others bring.",
    _SCALER,
)
KEDA_NAMESPACE = Rule(
    "GPU846",
    "error",
    "The namespace of KEDA is its own and a valid name.",
    "The stack makes it and takes it away again.",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/",
)

_CLOSING = {")": "(", "]": "[", "}": "{"}


def _keda(ctx: Context) -> Keda | None:
    return ctx.environment.keda


@check(Scope.KEDA, PROMETHEUS)
def prometheus(ctx: Context) -> Iterator[Finding]:
    keda = _keda(ctx)
    if keda is None or keda.prometheus is None:
        return
    at: FieldPath = ("keda", "prometheus")
    given = keda.prometheus
    if (given.url is None) == (given.workspace_arn is None):
        message = "Neither url nor workspaceArn is given."
        if given.url is not None:
            message = "Both url and workspaceArn are given."
        fix = "Give the address of a Prometheus, or the ARN of a workspace of Amazon's."
        yield PROMETHEUS.finding(at, message, fix)
    elif given.url is not None:
        yield from _url((*at, "url"), given.url)
    else:
        yield from _workspace(ctx, at, given)
    if given.authentication is not None:
        yield from _authentication((*at, "authentication"), given)


def _url(at: FieldPath, url: str) -> Iterator[Finding]:
    parts = server_address(url)
    example = "Write it like http://prometheus.monitoring.svc:9090."
    if parts is None:
        yield PROMETHEUS.finding(at, f'"{url}" is not the address of a server.', example)
    elif parts.username is not None or parts.password is not None:
        message = "The address has a name or password in it, and stands in the cluster in plain."
        fix = "Make a ClusterTriggerAuthentication of KEDA's with it, and name that in "
        yield PROMETHEUS.finding(at, message, f"{fix}authentication.")
    elif parts.query or parts.fragment or "/api/v1" in parts.path:
        message = "KEDA adds /api/v1/query to the address."
        yield PROMETHEUS.finding(at, message, f"Leave that and what is behind it out. {example}")
    elif str(parts.hostname).startswith("aps-workspaces."):
        message = "The address is that of a workspace, which answers signed requests only."
        yield PROMETHEUS.finding(at, message, "Give workspaceArn in place of url.")


def _workspace(ctx: Context, at: FieldPath, given: Prometheus) -> Iterator[Finding]:
    arn = given.workspace_arn or ""
    if workspace_of(arn) is None:
        yield PROMETHEUS.finding(
            (*at, "workspaceArn"),
            f'"{arn}" is not the ARN of a workspace.',
            "Write it like arn:aws:aps:us-west-2:111122223333:workspace/ws-...",
        )
        return
    if ctx.region is not None:
        own, of_arn = partition_of(ctx.region).id, partition_of_arn(arn)
        if own != of_arn:
            message = f"The workspace is in the partition {of_arn}, and the stack in {own}."
            fix = "Name a workspace in the stack's partition."
            yield PROMETHEUS.finding((*at, "workspaceArn"), message, fix)


def _authentication(at: FieldPath, given: Prometheus) -> Iterator[Finding]:
    name = given.authentication or ""
    if given.workspace_arn is not None:
        message = "Requests to a workspace are signed, by a role that the stack makes."
        yield PROMETHEUS.finding(at, message, "Remove authentication.")
    elif subdomain_fault(name) is not None:
        message = f'"{name}" is not the name of a ClusterTriggerAuthentication.'
        yield PROMETHEUS.finding(at, message, "Write lower-case letters, digits, - and .")


@check(Scope.ENVIRONMENT, WORKSPACE_ACCESS)
def workspace_access(ctx: Context) -> Iterator[Finding]:
    keda = _keda(ctx)
    if keda is None or keda.prometheus is None or keda.prometheus.workspace_arn is None:
        return
    at = ("keda", "prometheus", "workspaceArn")
    if not ctx.in_aws:
        yield WORKSPACE_ACCESS.finding(
            at,
            "Of a cluster that is known by a kubeconfig nobody can say that it is one of EKS.",
            "Name the cluster: cluster: {existing: {name: ...}}; or give url.",
        )
    elif not keda.install:
        yield WORKSPACE_ACCESS.finding(
            at,
            "KEDA is installed by somebody else, and the stack gives its operator no role.",
            "Set install: true; or give url with authentication: the name of a "
            "ClusterTriggerAuthentication.",
        )


@check(Scope.WORKLOADS, PROMQL)
def queries(ctx: Context) -> Iterator[Finding]:
    for name, workload in (ctx.environment.workloads or {}).items():
        for key, query in _queries(workload).items():
            if fault := _fault(query):
                at: FieldPath = ("workloads", name, *key)
                fix = "Correct the query; Prometheus' own page shows what is wrong with one."
                yield PROMQL.finding(at, f"The query {fault}.", fix)


def _queries(workload: Workload) -> dict[tuple[str, ...], str]:
    given: dict[tuple[str, ...], str | None] = {
        ("useQuery",): workload.use_query,
        ("wake", "query"): workload.wake.query if workload.wake is not None else None,
    }
    return {key: query for key, query in given.items() if query is not None}


def _fault(query: str) -> str | None:
    """What keeps a text from being put between brackets; None if nothing does.

    It is no parser of PromQL: that is Prometheus' own.
    """
    bare, quoted = _without_texts(query)
    faults = (
        (not bare.strip(), "is empty"),
        (not quoted, "has a quotation mark that nothing closes"),
        ("#" in bare, "has a comment in it, which would hide what comes after"),
        (re.fullmatch(r"\s*[0-9.]+\s*", bare), "is a number, and not a vector"),
    )
    return next((fault for wrong, fault in faults if wrong), None) or _open_bracket(bare)


def _open_bracket(bare: str) -> str | None:
    opened: list[str] = []
    for letter in bare:
        if letter in _CLOSING.values():
            opened.append(letter)
        elif letter in _CLOSING and (not opened or opened.pop() != _CLOSING[letter]):
            return f"has a {letter} that nothing opens"
    return f"has a {opened[-1]} that nothing closes" if opened else None


def _without_texts(query: str) -> tuple[str, bool]:
    """The query without what stands in quotation marks, and whether all of these are closed."""
    bare = re.sub(r'"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\\n])*\'|`[^`]*`', '""', query)
    rest = bare.replace('""', " text ")
    return rest, not re.search(r"[\"'`]", rest)


@check(Scope.ENVIRONMENT, NO_EXPORTER, OTHER_EXPORTER)
def exporter(ctx: Context) -> Iterator[Finding]:
    """The GPU Operator brings one, and beside the device plugin it is asked for."""
    environment, asked = ctx.environment, prometheus_of(ctx.environment)
    if asked is None:
        return
    if not has_own_exporter(environment):
        yield from _no_exporter(ctx, asked)
    elif environment.gpu_stack.manager == "devicePlugin":
        pools, chart = pools_of_chart(environment.pools), environment.charts.dcgm_exporter
        if chart is not None and any(replicas(pool) > 1 for pool in pools.values()):
            values = exporter_chart_values(pools, ctx.catalog, chart.values)
            at = ("charts", "dcgmExporter", "values")
            fix = "Remove what they say otherwise."
            yield from _other_exporter(ctx, values, "extraEnv", at, fix)
    elif asked.process_metrics:
        values = with_process_metrics(environment, pools_of_chart(environment.pools), ctx.catalog)
        told = value_at(values, "dcgmExporter", {})
        at = ("keda", "prometheus", "processMetrics")
        fix = (
            "Remove what charts.gpuOperator.values.dcgmExporter says otherwise, or remove "
            "processMetrics."
        )
        yield from _other_exporter(ctx, told if isinstance(told, dict) else {}, "env", at, fix)


def _no_exporter(ctx: Context, given: Prometheus) -> Iterator[Finding]:
    if given.exporter is not None or given.process_metrics:
        return
    pools = ctx.environment.pools
    follows = [
        name
        for name, workload in (ctx.environment.workloads or {}).items()
        if is_scaled(workload) and workload.use_query is None
        # Of other pools GPU832 says that the exporter has to be another, too.
        if any(
            tells_pods_apart(pools[pool], workload.share, process_metrics=False)
            for pool in pools_of(workload)
            if pool in pools
        )
    ]
    if follows:
        manager = ctx.environment.gpu_stack.manager
        why, own = "brings none", "Set gpuStack: {dcgmExporter: true}."
        if manager == "gpuOperator":
            why, own = "is told not to run one", "Remove dcgmExporter.enabled from its values."
        yield NO_EXPORTER.finding(
            ("keda", "prometheus", "exporter"),
            f"The pods of {', '.join(follows)} follow the use of GPUs, which a DCGM exporter "
            f"measures, and {manager} {why}.",
            f"{own} Or set exporter: existing if somebody else runs one that this server scrapes, "
            "or useQuery in the workloads.",
        )


def _other_exporter(
    ctx: Context, values: Mapping[str, Any], key: str, at: FieldPath, fix: str
) -> Iterator[Finding]:
    """What an exporter of the stack's own lacks, as the values of its chart are in the end.

    Args:
        ctx: The stack.
        values: What the exporter is told.
        key: The key of its environment there.
        at: Where the stack says otherwise.
        fix: What to change.
    """
    env = values.get(key)
    variables = {
        variable.get("name"): variable
        for variable in (env if isinstance(env, list) else ())
        if isinstance(variable, dict)
    }
    lacking = [] if values.get("hostPID") is True else ["hostPID: true"]
    if str(variables.get(BY_PROCESS, {}).get("value")).lower() not in {"1", "t", "true"}:
        lacking.append(f'{BY_PROCESS}: "true" in {key}')
    follows = followed_shares(ctx.environment, ctx.catalog)
    lacking += _unlisted(follows, variables.get(RESOURCES, {}), key)
    if lacking:
        whose = "the GPU Operator" if key == "env" else "the stack"
        message = f"The exporter of {whose} runs without {' and '.join(lacking)}."
        yield OTHER_EXPORTER.finding(at, message, fix)


def _unlisted(shares: list[str], variable: Mapping[str, Any], key: str) -> list[str]:
    """What has to be added to the resources whose pods the exporter sees."""
    listed = {name.strip() for name in str(variable.get("value") or "").split(",")}
    unlisted = [share for share in shares if share not in listed]
    if not unlisted or "valueFrom" in variable:
        return []
    return [f"{', '.join(unlisted)} among {RESOURCES} in {key}"]


@check(Scope.KEDA, KEDA_NAMESPACE)
def keda_namespace(ctx: Context) -> Iterator[Finding]:
    keda = _keda(ctx)
    if keda is None or not keda.install:
        return
    if (fault := own_namespace_fault(keda.namespace, "KEDA", "keda")) is not None:
        yield KEDA_NAMESPACE.finding(("keda", "namespace"), *fault)


@check(Scope.ENVIRONMENT, KEDA_IDLE, IDLE_CHART)
def used(ctx: Context) -> Iterator[Finding]:
    keda = _keda(ctx)
    if keda is None or not keda.install:
        if ctx.environment.charts.keda is not None:
            yield IDLE_CHART.finding(
                ("charts", "keda"),
                "This stack installs no KEDA.",
                "Remove the block, or add keda.",
            )
        return
    workloads, pools = ctx.environment.workloads or {}, ctx.environment.pools
    scheduled = any(pool.warm is not None and pool.warm.schedule for pool in pools.values())
    if not scheduled and not any(map(is_set_by_keda, workloads.values())):
        yield KEDA_IDLE.finding(
            ("keda",),
            "Nothing of this stack follows its use or a schedule.",
            "Remove the block, unless others in the cluster use KEDA.",
        )
