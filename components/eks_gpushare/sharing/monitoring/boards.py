"""Four boards for Grafana: the fleet, a pool, a tenant, and the GPUs of a node.

They ask the series that the rules record. What of a pod is not measured stands on the board of
pools in words, from the table of `metrics.py`, and no panel shows it.

Source of the form: https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.sharing.metrics import QUANTITIES, measured
from eks_gpushare.sharing.monitoring.promql import by_node

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.sharing.metrics import MeasuredShare
    from eks_gpushare.sharing.plan import PoolPlan

SIDECAR_LABEL: Final = {"grafana_dashboard": "1"}
"""Label of ConfigMaps by which the sidecar of Grafana's chart finds boards."""
_SCHEMA: Final = 39
_WIDTH: Final = 24
_HALF: Final = 12
_HEIGHT: Final = 8
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_MOST_PODS: Final = 20
_MOST_UNITS: Final = 40
"""MIG makes 56 instances of a node: more lines than these nobody tells apart."""
_LEVELS: Final = {"pod": "pod", "instance": "instance", "device": "GPU", "nothing": "-"}


class BoardPanel(NamedTuple):
    """One picture of a board."""

    title: str
    queries: tuple[tuple[str, str], ...]
    """Each query, and what its series are called."""
    unit: str = "short"
    """As Grafana names units."""
    about: str = ""
    """What it means, where the title does not say it."""


class Board(NamedTuple):
    """One board."""

    name: str
    """Of its file, and of it in addresses."""
    title: str
    variables: tuple[tuple[str, str], ...]
    """Names of what is chosen above it, and what there is to choose from."""
    panels: tuple[BoardPanel, ...]

    @property
    def queries(self) -> list[str]:
        """All that it asks."""
        choices = [query for _, query in self.variables]
        return [*choices, *(query for panel in self.panels for query, _ in panel.queries)]


def boards() -> tuple[Board, ...]:
    """All boards."""
    return _FLEET, _POOL, _TENANT, _GPU


def boards_json(plans: Mapping[str, PoolPlan]) -> dict[str, dict[str, Any]]:
    """All boards as Grafana reads them, by their names.

    Args:
        plans: The plans of the pools by name, of which the board of pools says what is measured.
    """
    table = _honesty(measured(plans))
    return {board.name: _document(board, table if board is _POOL else None) for board in boards()}


def _document(board: Board, table: str | None) -> dict[str, Any]:
    variables = [
        {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
        *(_variable(name, query) for name, query in board.variables),
    ]
    panels = [_panel(panel, index) for index, panel in enumerate(board.panels)]
    if table is not None:
        below = (len(panels) + 1) // 2 * _HEIGHT
        panels.append(
            {
                "id": len(panels) + 1,
                "type": "text",
                "title": "Of whom numbers are",
                "gridPos": {"x": 0, "y": below, "w": _WIDTH, "h": _HEIGHT},
                "options": {"mode": "markdown", "content": table},
            }
        )
    return {
        "uid": f"eks-gpushare-{board.name}",
        "title": board.title,
        "tags": ["eks-gpushare", "gpu"],
        "schemaVersion": _SCHEMA,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": variables},
        "panels": panels,
    }


def _variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": name,
        "type": "query",
        "datasource": dict(_SOURCE),
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        "includeAll": False,
        "multi": False,
    }


def _panel(panel: BoardPanel, index: int) -> dict[str, Any]:
    return {
        "id": index + 1,
        "type": "timeseries",
        "title": panel.title,
        **({"description": panel.about} if panel.about else {}),
        "datasource": dict(_SOURCE),
        "gridPos": {
            "x": index % 2 * _HALF,
            "y": index // 2 * _HEIGHT,
            "w": _HALF,
            "h": _HEIGHT,
        },
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "datasource": dict(_SOURCE),
                "expr": query,
                "legendFormat": called,
            }
            for number, (query, called) in enumerate(panel.queries)
        ],
    }


def honesty_rows(shares: Iterable[MeasuredShare]) -> list[tuple[str, ...]]:
    """Of whom the numbers of each kind of share are, as rows: pool, share, quantities, why."""
    return [
        (
            share.pool,
            share.resource.removeprefix("nvidia.com/"),
            *(
                f"per {level}" if (level := share.level(q)) != "nothing" else "-"
                for q in QUANTITIES
            ),
            f"{share.why}{'; by the code of the exporter, not seen' if share.is_unproven else ''}",
        )
        for share in shares
    ]


def _honesty(shares: Sequence[MeasuredShare]) -> str:
    head = ("pool", "share", *QUANTITIES, "why")
    lines = (head, ("---",) * len(head), *honesty_rows(shares))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_FIRING: Final = 'ALERTS{alertname=~"Gpu.+",alertstate="firing"}'
_OF_NAMESPACES: Final = 'gpushare:namespace_shares_requested{pool="$pool"}'
_OF_TENANT: Final = '* on (namespace) group_left () gpushare:namespace_tenant{tenant="$tenant"}'
_XIDS: Final = by_node("DCGM_EXP_XID_ERRORS_COUNT")
_ON_NODE: Final = '* on (node) group_left () gpushare:node{node="$node"}'


def _by_pool(query: str) -> tuple[tuple[str, str], ...]:
    return ((f"sum by (pool) ({query})", "{{pool}}"),)


def _of_gpus(metric: str) -> tuple[tuple[str, str], ...]:
    """A metric of the exporter's for each GPU of a node, its own and no copy."""
    return ((f"max by (node, gpu) ({by_node(metric)}) {_ON_NODE}", "GPU {{gpu}}"),)


def _most_of_node(series: str) -> tuple[tuple[str, str], ...]:
    """Those GPUs and MIG instances of a node with the greatest values."""
    query = f'topk({_MOST_UNITS}, {series}{{node="$node"}})'
    return ((query, "GPU {{gpu}} {{GPU_I_ID}}"),)


_MOST_TOLD: Final = f"Of MIG instances the {_MOST_UNITS} with the most."
_FLEET: Final = Board(
    "fleet",
    "GPU shares: fleet",
    (),
    (
        BoardPanel("Shares advertised", _by_pool("gpushare:shares_advertised")),
        BoardPanel("Shares asked for", _by_pool("gpushare:shares_requested")),
        BoardPanel(
            "Pressure",
            (("gpushare:share_pressure", "{{pool}} {{resource}}"),),
            "percentunit",
            "Shares asked for over shares advertised; at 100 % pods wait.",
        ),
        BoardPanel(
            "Shares waited for",
            (("sum by (resource) (gpushare:shares_waiting)", "{{resource}}"),),
            about="Of pods that are on no node, whichever pool will have them.",
        ),
        BoardPanel("Nodes", _by_pool("gpushare:nodes")),
        BoardPanel(
            "GPUs and MIG instances that are idle",
            (("gpushare:gpus_idle", "{{pool}}"),),
            about="Less than 1 % of the time in use for half an hour.",
        ),
        BoardPanel("USD an hour", (("gpushare:pool_usd_per_hour", "{{pool}}"),), "currencyUSD"),
        BoardPanel(
            "USD an hour that nobody asked for",
            (("gpushare:idle_usd_per_hour", "{{pool}}"),),
            "currencyUSD",
        ),
        BoardPanel(
            "Promises that are not kept",
            (
                ("gpushare:pods_slow_ratio", "pods that wait too long"),
                ("gpushare:shares_missing_ratio", "shares missing in {{pool}}"),
            ),
            "percentunit",
        ),
        BoardPanel(
            "Alerts that fire",
            (
                (
                    f"count by (alertname, severity) ({_FIRING})",
                    "{{alertname}} {{severity}}",
                ),
            ),
        ),
    ),
)
_POOL: Final = Board(
    "pool",
    "GPU shares: pool",
    (("pool", "label_values(gpushare:node, pool)"),),
    (
        BoardPanel(
            "Shares",
            (
                ('gpushare:shares_declared{pool="$pool"}', "declared {{resource}}"),
                ('gpushare:shares_advertised{pool="$pool"}', "advertised {{resource}}"),
                ('gpushare:shares_requested{pool="$pool"}', "asked for {{resource}}"),
            ),
        ),
        BoardPanel(
            "Shares by namespace",
            (
                (
                    f"topk({_MOST_PODS}, sum by (namespace) ({_OF_NAMESPACES}))",
                    "{{namespace}}",
                ),
            ),
        ),
        BoardPanel(
            "GPU memory in use",
            (
                ('avg(gpushare:gpu_memory_ratio{pool="$pool"})', "average"),
                ('max(gpushare:gpu_memory_ratio{pool="$pool"})', "fullest"),
            ),
            "percentunit",
        ),
        BoardPanel(
            "Time in which GPUs compute",
            (
                ('avg(gpushare:gpu_active_ratio{pool="$pool"})', "average"),
                ('max(gpushare:gpu_active_ratio{pool="$pool"})', "busiest"),
            ),
            "percentunit",
        ),
        BoardPanel(
            "GPU memory by pod",
            (
                (
                    f'topk({_MOST_PODS}, gpushare:pod_memory_used_mib{{pool="$pool"}})',
                    "{{namespace}}/{{pod}}",
                ),
            ),
            "mbytes",
            "Empty where the exporter cannot tell pods apart: see the table below.",
        ),
        BoardPanel(
            "Time in which pods compute",
            (
                (
                    f'topk({_MOST_PODS}, gpushare:pod_active_ratio{{pool="$pool"}})',
                    "{{namespace}}/{{pod}}",
                ),
            ),
            "percentunit",
            "Empty where the exporter cannot tell pods apart: see the table below.",
        ),
    ),
)
_TENANT: Final = Board(
    "tenant",
    "GPU shares: tenant",
    (("tenant", "label_values(gpushare:namespace_tenant, tenant)"),),
    (
        BoardPanel(
            "Shares",
            (
                ('gpushare:tenant_shares_requested{tenant="$tenant"}', "has {{pool}} {{resource}}"),
                (
                    'gpushare:tenant_guaranteed{tenant="$tenant"}',
                    "surely {{pool}} {{resource}}",
                ),
                ('gpushare:tenant_maximum{tenant="$tenant"}', "at most {{pool}} {{resource}}"),
            ),
        ),
        BoardPanel(
            "Shares waited for",
            (('gpushare:tenant_shares_waiting{tenant="$tenant"}', "{{resource}}"),),
        ),
        BoardPanel(
            "USD an hour",
            (('gpushare:tenant_usd_per_hour{tenant="$tenant"}', "{{pool}}"),),
            "currencyUSD",
            "Of the shares that its pods ask for.",
        ),
        BoardPanel(
            "GPU memory by pod",
            (
                (
                    f"topk({_MOST_PODS}, gpushare:pod_memory_used_mib {_OF_TENANT})",
                    "{{namespace}}/{{pod}}",
                ),
            ),
            "mbytes",
        ),
    ),
)
_GPU: Final = Board(
    "gpu",
    "GPU shares: GPUs of a node",
    (
        ("pool", "label_values(gpushare:node, pool)"),
        ("node", 'label_values(gpushare:node{pool="$pool"}, node)'),
    ),
    (
        BoardPanel(
            "Memory in use",
            _most_of_node("gpushare:gpu_memory_ratio"),
            "percentunit",
            _MOST_TOLD,
        ),
        BoardPanel(
            "Time in which it computes",
            _most_of_node("gpushare:gpu_active_ratio"),
            "percentunit",
            _MOST_TOLD,
        ),
        BoardPanel("Temperature", _of_gpus("DCGM_FI_DEV_GPU_TEMP"), "celsius"),
        BoardPanel("Power", _of_gpus("DCGM_FI_DEV_POWER_USAGE"), "watt"),
        BoardPanel("Clock", _of_gpus("DCGM_FI_DEV_SM_CLOCK"), "rotmhz"),
        BoardPanel(
            "Errors of the last five minutes by XID",
            (
                (
                    f"max by (node, gpu, xid, err_code) ({_XIDS}) {_ON_NODE} > 0",
                    "GPU {{gpu}} XID {{xid}}{{err_code}}",
                ),
            ),
        ),
    ),
)
EXPECTED_METRICS: Final = (
    *("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_SM_CLOCK"),
    *("DCGM_EXP_XID_ERRORS_COUNT", "ALERTS"),
)
"""What boards ask beside the series of the rules: the exporter's own, and Prometheus'."""
