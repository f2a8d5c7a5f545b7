"""Alerts: what somebody has to look at, with the query that says so.

Each has a page under its name (docs/alerts.md). A query keeps the labels by which whoever is woken
finds the thing: pool, and node, GPU, namespace or tenant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.findings.pages import SITE
from eks_gpushare.sharing.monitoring.promql import NODE, by_node
from eks_gpushare.sharing.monitoring.xids import XID_CLASSES

if TYPE_CHECKING:
    from eks_gpushare.config.observability import AlertSettings, ServiceObjectives

PAGE: Final = f"{SITE}/alerts.html"
"""Where each alert is explained, under its name in small letters."""
_NODE_OF: Final = f"on (node) group_left (pool) {NODE}"
_SLOW: Final = 'clock_event=~"hw_slowdown|hw_thermal|hw_power_brake|sw_thermal"'
"""Clock events that are a fault of cooling or supply; a power cap is how GPUs are run."""


class Alert(NamedTuple):
    """Something that somebody has to look at."""

    name: str
    """As Alertmanager has it. A name may stand several times, with other labels."""
    needs: str
    """What a stack must have for it: shares; measured gpus, mig or shared ones; pools with a most
    number of nodes, or with limits of Karpenter's; tenants; a verifier with metrics."""
    expr: str
    """The query, of which every series is an alert."""
    lasting: str
    """How long it has to be so."""
    severity: str
    """critical, warning or info, unless the stack says otherwise."""
    summary: str
    """What is so, in one line, as a template of Prometheus."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels beside those of the query."""

    def as_json(self, settings: AlertSettings) -> dict[str, Any]:
        """The rule as Prometheus reads it.

        Args:
            settings: What the stack changes about alerts.
        """
        own = {"severity": settings.severity.get(self.name, self.severity)}
        page = settings.runbook if settings.runbook is not None else PAGE
        return {
            "alert": self.name,
            "expr": self.expr,
            "for": self.lasting,
            "labels": {**settings.labels, **dict(self.labels), **own},
            "annotations": {
                "summary": self.summary,
                "runbook_url": f"{page}#{self.name.lower()}",
            },
        }


def alerts(objectives: ServiceObjectives, verify_seconds: int) -> tuple[Alert, ...]:
    """Every alert there is.

    Args:
        objectives: What users are promised, by which burn rates are measured.
        verify_seconds: Seconds after which it is silence that nobody looked at the cluster.
    """
    return (
        *_OF_SHARES,
        *_OF_GPUS,
        *_xids(),
        *_OF_TENANTS,
        *_burning(objectives),
        Alert(
            "GpuVerifySilent",
            "verifier",
            f"time() - gpushare_verify_last_success_timestamp_seconds > {verify_seconds} "
            "or absent(gpushare_verify_last_success_timestamp_seconds)",
            "5m",
            "warning",
            "Nobody has looked whether the cluster is as declared since {{ $value }} s",
        ),
    )


ALERT_NAMES: Final = (
    *("GpuNodesUnknown", "GpuSharesExhausted", "GpuSharesDiffer", "GpuResourceGone"),
    "GpuNodeIdle",
    *("GpuPoolAtLimit", "GpuMigLayoutDrifted", "GpuUncorrectableErrors", "GpuRowRemapFailed"),
    *("GpuThrottled", "GpuMemoryNearlyFull", "GpuPodsUnmapped", "GpuExporterMissing"),
    *("GpuShareUnused", "GpuXid", "GpuTenantAtMaximum", "GpuGuaranteeNotMet"),
    *("GpuPodsSlow", "GpuSharesMissing", "GpuVerifySilent"),
)
"""Their names, for rules of stack files, which make no queries."""

_WAITED_FOR: Final = (
    "gpushare:share_pressure >= 1 and on (resource) sum by (resource) (gpushare:shares_waiting) > 0"
)
_HELD: Final = "sum by (node) (gpushare:node_shares_requested) > 0"

_DECLARED: Final = "gpushare:shares_declared > 0"
_ADVERTISED: Final = "gpushare:shares_advertised > 0"
_DIFFERENT: Final = (
    "gpushare:shares_advertised != on (pool, resource) gpushare:shares_declared "
    f"or ({_ADVERTISED} unless on (pool, resource) {_DECLARED}) "
    # A kind of which a node has none is no series; of a node that has no kind another alert tells.
    f"or (0 * ({_DECLARED} unless on (pool, resource) gpushare:shares_advertised) "
    f"and on (pool) {_ADVERTISED})"
)
"""Numbers that differ, kinds that are not declared, and declared ones that are not there."""

_OF_SHARES: Final = (
    Alert(
        "GpuNodesUnknown",
        "shares",
        # Every node of EKS has it, also where all pools are at zero.
        'absent(kube_node_labels{label_node_kubernetes_io_instance_type!=""})',
        "15m",
        "critical",
        "kube-state-metrics is not scraped or tells no labels of nodes: no other rule has anything "
        "to say",
    ),
    Alert(
        "GpuSharesExhausted",
        "shares",
        _WAITED_FOR,
        "10m",
        "warning",
        "All {{ $labels.resource }} of {{ $labels.pool }} are taken, and pods wait for one",
    ),
    Alert(
        "GpuSharesDiffer",
        "shares",
        _DIFFERENT,
        "15m",
        "critical",
        "{{ $labels.pool }} advertises {{ $value }} {{ $labels.resource }} and declares another "
        "number",
    ),
    Alert(
        "GpuResourceGone",
        "shares",
        f"{NODE} unless on (node) gpushare:node_shares_advertised > 0",
        "15m",
        "critical",
        "{{ $labels.node }} of {{ $labels.pool }} advertises no share of a GPU",
    ),
    Alert(
        "GpuNodeIdle",
        "shares",
        f"{NODE} unless on (node) {_HELD}",
        "1h",
        "info",
        "No pod on {{ $labels.node }} of {{ $labels.pool }} has asked for a share for an hour",
    ),
    Alert(
        "GpuPoolAtLimit",
        "most",
        "sum by (pool) (gpushare:nodes) >= on (pool) gpushare:nodes_max "
        f"and on (pool) ({_WAITED_FOR})",
        "10m",
        "warning",
        "{{ $labels.pool }} has all {{ $value }} nodes that it may have, and pods wait",
    ),
    Alert(
        "GpuPoolAtLimit",
        "limits",
        "max by (pool, resource_type) (label_replace(karpenter_nodepools_usage / on (nodepool, "
        'resource_type) karpenter_nodepools_limit, "pool", "$1", "nodepool", "(.+)")) >= 0.9 '
        f"and on (pool) ({_WAITED_FOR})",
        "10m",
        "warning",
        "The NodePool {{ $labels.pool }} is at its limit of {{ $labels.resource_type }}, and pods "
        "wait",
        (("limit", "karpenter"),),
    ),
)
_GPU_OF: Final = "GPU {{ $labels.gpu }} of {{ $labels.node }} in {{ $labels.pool }}"


def _on_gpus(query: str, *labels: str) -> str:
    """One value for each GPU and the given labels, with its pool."""
    return f"max by ({', '.join(('node', 'gpu', *labels))}) ({query}) * {_NODE_OF}"


def _increased(metric: str) -> str:
    return f"({_on_gpus(by_node(f'increase({metric}[15m])'))} > 0)"


_OF_GPUS: Final = (
    Alert(
        "GpuMigLayoutDrifted",
        "mig",
        "gpushare:mig_instances != on (pool, instance_type) group_left () "
        "gpushare:mig_instances_per_node or max by (node) (kube_node_labels"
        '{label_eks_gpushare_mig="failed"} or kube_node_labels'
        f'{{label_nvidia_com_mig_config_state="failed"}}) * {_NODE_OF}',
        "10m",
        "critical",
        "{{ $labels.node }} of {{ $labels.pool }} has another MIG layout than declared",
    ),
    Alert(
        "GpuUncorrectableErrors",
        "gpus",
        f"{_increased('DCGM_FI_DEV_ECC_DBE_VOL_TOTAL')} "
        f"or {_increased('DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS')}",
        "0s",
        "critical",
        f"Memory of {_GPU_OF} had errors that ECC could not correct",
    ),
    Alert(
        "GpuRowRemapFailed",
        "gpus",
        f"{_on_gpus(by_node('DCGM_FI_DEV_ROW_REMAP_FAILURE'))} > 0",
        "0s",
        "critical",
        f"{_GPU_OF} has no spare rows left for its memory: it is to be replaced",
    ),
    Alert(
        "GpuThrottled",
        "gpus",
        f"{_on_gpus(by_node('DCGM_EXP_CLOCK_EVENTS_COUNT', _SLOW), 'clock_event')} > 0",
        "10m",
        "warning",
        f"{_GPU_OF} is slowed down: {{{{ $labels.clock_event }}}}",
    ),
    Alert(
        "GpuMemoryNearlyFull",
        "shared",
        "gpushare:gpu_memory_ratio > 0.95 and on (pool) gpushare:pods_per_device > 1",
        "10m",
        "warning",
        f"Memory of {_GPU_OF}, which pods share, is used by {{{{ $value | humanizePercentage }}}}",
    ),
    Alert(
        "GpuPodsUnmapped",
        "shared",
        "sum by (node, pool) (gpushare:gpu_memory_used_mib) > 1024 "
        f"and on (node) {_HELD} "
        'and on (pool) gpushare:measured{quantity="memory",by="pod"} '
        "unless on (node) sum by (node) (gpushare:pod_memory_used_mib) > 0",
        "15m",
        "warning",
        "{{ $labels.node }} uses {{ $value }} MiB of GPU memory, and the exporter says 0 of every "
        "pod",
    ),
    Alert(
        "GpuExporterMissing",
        "gpus",
        f"{NODE} and on (pool) gpushare:measured unless on (node) gpushare:gpu_memory_used_mib",
        "10m",
        "warning",
        "Nothing measures the GPUs of {{ $labels.node }} in {{ $labels.pool }}",
    ),
    Alert(
        "GpuShareUnused",
        "gpus",
        "gpushare:pod_active_ratio < 0.01",
        "2h",
        "info",
        "{{ $labels.namespace }}/{{ $labels.pod }} has a share of {{ $labels.pool }} and has "
        "computed nothing for two hours",
    ),
)


def _xids() -> tuple[Alert, ...]:
    return tuple(
        Alert(
            "GpuXid",
            "gpus",
            f"{_on_gpus(_xid_series('|'.join(map(str, kind.numbers))), 'xid')} > 0",
            "0s",
            kind.severity,
            f"XID {{{{ $labels.xid }}}} on {_GPU_OF}: {kind.about}",
            (("class", kind.name),),
        )
        for kind in XID_CLASSES
    )


def _xid_series(numbers: str) -> str:
    """The counter, whose label is `xid` up to 4.5.3-4.8.2 and `err_code` in later ones."""
    metric = "DCGM_EXP_XID_ERRORS_COUNT"
    later = by_node(metric, f'err_code=~"{numbers}"')
    renamed = f'label_replace({later}, "xid", "$1", "err_code", "(.+)")'
    now = by_node(metric, f'xid=~"{numbers}"')
    return f"{now} or {renamed}"


_OF_TENANTS: Final = (
    Alert(
        "GpuTenantAtMaximum",
        "tenants",
        "gpushare:tenant_shares_requested >= on (tenant, pool, resource) gpushare:tenant_maximum",
        "30m",
        "info",
        "{{ $labels.tenant }} has all {{ $value }} {{ $labels.resource }} of {{ $labels.pool }} "
        "that it may have",
    ),
    Alert(
        "GpuGuaranteeNotMet",
        "tenants",
        "gpushare:tenant_shares_requested < on (tenant, pool, resource) gpushare:tenant_guaranteed "
        "and on (tenant, resource) gpushare:tenant_shares_waiting > 0",
        "15m",
        "critical",
        "{{ $labels.tenant }} has {{ $value }} {{ $labels.resource }} of {{ $labels.pool }}, is "
        "sure of more, and its pods wait",
    ),
)


_PERCENT: Final = "{{ $value | humanizePercentage }}"


def _burning(objectives: ServiceObjectives) -> tuple[Alert, ...]:
    """Alerts on how fast an error budget of 30 days is used up.

    Windows and rates are those of Google's SRE workbook, chapter 5, "Multiwindow, Multi-Burn-Rate
    Alerts": 2 % of the budget in an hour wakes somebody, 5 % in six hours is for the day.
    """
    seconds = objectives.scheduling_seconds
    budget = (100 - objectives.availability) / 100
    return tuple(
        Alert(
            name,
            "shares",
            f"avg_over_time({series}[{long}]) > {rate * budget:.10g} "
            f"and avg_over_time({series}[{short}]) > {rate * budget:.10g}",
            lasting,
            severity,
            summary,
            (("window", long),),
        )
        for name, series, summary in (
            (
                "GpuPodsSlow",
                "gpushare:pods_slow_ratio",
                f"{_PERCENT} of pods with shares wait longer than {seconds} s for a node",
            ),
            (
                "GpuSharesMissing",
                "gpushare:shares_missing_ratio",
                f"{{{{ $labels.pool }}}} lacks {_PERCENT} of its declared shares",
            ),
        )
        for long, short, rate, lasting, severity in (
            ("1h", "5m", 14.4, "2m", "critical"),
            ("6h", "30m", 6, "15m", "warning"),
        )
    )
