"""A verdict as metrics, in the text format of Prometheus 0.0.4, which agents and gateways take."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from eks_gpushare.live.verdict import ClusterVerdict

_PREFIX: Final = "gpushare"
_NO_POOL: Final = ""
_ESCAPED: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

_Sample = tuple["Mapping[str, str]", float]


def metrics(verdict: ClusterVerdict, at: datetime, interval: float | None = None) -> str:
    """The metrics of a verdict.

    Nodes and pods are no labels: series stay as many as there are pools, resources and codes.

    Args:
        verdict: The verdict.
        at: When the cluster was read.
        interval: Seconds from look to look, where somebody looks again and again.
    """
    shares = [
        ({"pool": row.pool, "resource": row.resource}, row) for row in verdict.pools if row.resource
    ]
    families: list[tuple[str, str, Iterable[_Sample]]] = [
        (
            f"{_PREFIX}_declared",
            "Shares that the stack declares of the nodes that are there.",
            [(labels, row.declared) for labels, row in shares if row.declared is not None],
        ),
        (
            f"{_PREFIX}_advertised",
            "Shares that nodes advertise.",
            [(labels, row.advertised) for labels, row in shares],
        ),
        (
            f"{_PREFIX}_used",
            "Shares that pods on nodes have asked for.",
            [(labels, row.used) for labels, row in shares],
        ),
        (
            f"{_PREFIX}_waiting_pods",
            "Pods that wait for a resource, of whichever pool.",
            [({"resource": name}, count) for name, count in _waiting(verdict).items()],
        ),
        (
            f"{_PREFIX}_check_failed",
            "Causes that were found, by code and pool.",
            _failed(verdict),
        ),
        (
            f"{_PREFIX}_check_unknown",
            "1 of a kind of objects that could not be read.",
            [({"kind": kind}, 1) for kind in verdict.unknown],
        ),
        (
            f"{_PREFIX}_verify_last_success_timestamp_seconds",
            "When the cluster was last read to its end.",
            [({}, round(at.timestamp(), 3))],
        ),
        (
            f"{_PREFIX}_verify_interval_seconds",
            "How often the cluster is read.",
            [({}, interval)] if interval is not None else [],
        ),
    ]
    return "".join(line for family in families for line in _family(*family))


def _family(name: str, about: str, samples: Iterable[_Sample]) -> Iterator[str]:
    yield f"# HELP {name} {about}\n# TYPE {name} gauge\n"
    for labels, value in samples:
        told = ",".join(f'{key}="{text.translate(_ESCAPED)}"' for key, text in labels.items())
        yield f"{name}{f'{{{told}}}' if told else ''} {value:.15g}\n"


def _waiting(verdict: ClusterVerdict) -> dict[str, int]:
    """Pods that wait, once for each resource: the rows of pools have the number of all."""
    return {row.resource: row.waiting for row in verdict.pools if row.resource}


def _failed(verdict: ClusterVerdict) -> Iterator[_Sample]:
    found: Counter[tuple[str, str, str]] = Counter()
    for cause in verdict.causes:
        finding = cause.fault.finding
        is_of_pool = len(finding.at) > 1 and finding.at[0] == "pools"
        pool = str(finding.at[1]) if is_of_pool else _NO_POOL
        found[finding.code, finding.severity, pool] += 1
    for (code, severity, pool), count in sorted(found.items()):
        yield {"code": code, "severity": severity, "pool": pool}, count
