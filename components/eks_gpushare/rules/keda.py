"""Rules about KEDA, and where it asks for the use of GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eks_gpushare.catalog.arns import partition_of_arn, workspace_of
from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.documents.addresses import server_address, store_fault
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.charts import IDLE_CHART
from eks_gpushare.rules.names import own_namespace_fault, subdomain_fault
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.exporter import prometheus_of
from eks_gpushare.sharing.workloads import is_set_by_keda

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    elif (fault := store_fault(url)) is not None:
        yield PROMETHEUS.finding(at, *fault)


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
    keda, asked = _keda(ctx), prometheus_of(ctx.environment)
    if keda is None or asked is None or asked.url is not None:
        return
    block = "keda" if keda.prometheus is not None else "observability"
    at = (block, "prometheus", "workspaceArn")
    if asked.workspace_arn is None:
        at = (block, "prometheus", "install")
        # Whether a stack may make a workspace for its cluster says GPU989.
        if not ctx.in_aws or keda.prometheus is not None:
            return
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
            "Set keda: {install: true}; or give keda.prometheus url with authentication: the name "
            "of a ClusterTriggerAuthentication.",
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
