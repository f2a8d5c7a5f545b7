"""What a run on the lab has found, as data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.findings.finding import Finding, has_errors
from eks_gpushare.live.pods import PodOwner, used_by_node
from eks_gpushare_lab import rules
from eks_gpushare_lab.observing.workloads import JOBS
from eks_gpushare_lab.reporting.agreements import agreement_findings, expected_nodes
from eks_gpushare_lab.reporting.comparing import (
    advertised_by,
    comparison_findings,
    trouble_findings,
    unread_findings,
)
from eks_gpushare_lab.reporting.daemonset_coverage import coverage_findings, coverage_of
from eks_gpushare_lab.reporting.machines import machine_findings
from eks_gpushare_lab.reporting.scaling import pool_reports
from eks_gpushare_lab.reporting.tenants import tenant_reports
from eks_gpushare_lab.reporting.unproven_mig import UnprovenMig, unproven_mig
from eks_gpushare_lab.reporting.waiting import reasons_of, uncreated_findings, waiting_findings
from eks_gpushare_lab.reporting.wholeness import reaches_none, short_of
from eks_gpushare_lab.session import NoWorkloadError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare_lab.nvidia.holding import Held
    from eks_gpushare_lab.reporting.daemonset_coverage import Coverage
    from eks_gpushare_lab.reporting.idle import IdleHistory
    from eks_gpushare_lab.reporting.scaling import PoolReport
    from eks_gpushare_lab.reporting.tenants import TenantReport
    from eks_gpushare_lab.reporting.wholeness import Short
    from eks_gpushare_lab.session import Session

_FOLLOW_NO_CHART = {
    rules.NOT_REACHED.id,
    rules.DIFFERS.id,
    rules.NOT_REFERRED_TO.id,
    rules.NOT_ADVERTISED.id,
    rules.MIG_NOT_MANAGED.id,
    rules.TAINT_STAYS.id,
    rules.NOT_WHOLE.id,
}
"""What goes without saying where a chart is missing that the lab knows in other versions only."""
_ENDING = ("Pod", *JOBS)
_OF_WORKLOADS = {
    rules.NOT_CREATED.id,
    rules.NOT_ADMITTED.id,
    rules.NOT_ADVERTISED.id,
    rules.MPS_OTHER_USER.id,
}


@dataclass(frozen=True, slots=True)
class NodeShares:
    """The shares of one node."""

    name: str
    """The node."""
    pool: str
    """Its pool."""
    declared: Mapping[str, int]
    """What the pool declares."""
    advertised: Mapping[str, int]
    """What the node gives out."""
    used: Mapping[str, int]
    """What pods on it have asked for; more than advertised after shares were taken away."""

    def free(self) -> dict[str, int]:
        """What is left, by resource."""
        return {name: max(0, n - self.used.get(name, 0)) for name, n in self.advertised.items()}

    def as_json(self) -> dict[str, Any]:
        """The shares as JSON data."""
        return {
            "pool": self.pool,
            "declared": dict(self.declared),
            "advertised": dict(self.advertised),
            "used": dict(self.used),
            "free": self.free(),
        }


@dataclass(frozen=True, slots=True)
class Counts:
    """The pods of one workload."""

    workload: PodOwner
    """Whose."""
    desired: int | None
    """How many it wants; None for a Job."""
    running: int
    """How many run."""
    pending: int
    """How many wait: for a node, or for their containers."""
    peak: int
    """The most that ran at once."""
    reasons: Sequence[str] = ()
    """Why the others do not run."""
    scaled: Sequence[tuple[float, int]] = ()
    """Pods that KEDA gave it, each number with the seconds since the first."""

    def as_json(self) -> dict[str, Any]:
        """The counts as JSON data."""
        scaled = [{"seconds": round(at, 1), "replicas": n} for at, n in self.scaled]
        return {
            "kind": self.workload.kind,
            "desired": self.desired,
            "running": self.running,
            "pending": self.pending,
            "peak": self.peak,
            "reasons": list(self.reasons),
            **({"scaled": scaled} if scaled else {}),
        }


@dataclass(frozen=True, slots=True)
class ScalingStep:
    """What was there when nothing moved after workloads had been scaled."""

    scaled: Mapping[str, int]
    """Pods that were asked for, by the name of the workload as it was given."""
    running: Mapping[str, int]
    """Pods that ran, by the same names."""
    nodes: Mapping[str, int]
    """Nodes that were there, by GPU pool."""

    def as_json(self) -> dict[str, Any]:
        """The numbers as JSON data."""
        return {
            "scaled": dict(self.scaled),
            "running": dict(self.running),
            "nodes": dict(self.nodes),
        }


@dataclass(frozen=True, slots=True)
class RunReport:
    """What one run found."""

    nodes: Sequence[NodeShares] = ()
    """Every node of the stack."""
    workloads: Mapping[str, Counts] = field(default_factory=dict)
    """Workloads by namespace and name."""
    daemon_sets: Sequence[Coverage] = ()
    """DaemonSets and how far they each."""
    findings: Sequence[Finding] = ()
    """What is wrong."""
    short: Sequence[Short] = ()
    """Workloads that were applied and do not run whole."""
    unproven: Sequence[UnprovenMig] = ()
    """Boards whose MIG this run does not prove, whatever it found."""
    engine: Mapping[str, Any] | None = None
    """What the Pulumi engine did, if it installed the stack."""
    pools: Mapping[str, PoolReport] = field(default_factory=dict)
    """GPU pools by name: every node that came and went, and what it costs."""
    steps: Sequence[ScalingStep] = ()
    """What was there after each step of scaling."""
    idle: IdleHistory | None = None
    """How the pools became idle, if that was waited for."""
    held: Sequence[Held] | None = None
    """What NVIDIA's own programs make of a node of each pool, if they were run."""
    tenants: Mapping[str, TenantReport] = field(default_factory=dict)
    """Tenants by name: what each has, and why no more."""

    @property
    def ok(self) -> bool:
        """Whether there is no error among the findings."""
        return not has_errors(self.findings)

    def as_json(self) -> dict[str, Any]:
        """The report as `lab run --json` prints it."""
        return {
            "pools": {name: pool.as_json() for name, pool in self.pools.items()},
            "nodes": {node.name: node.as_json() for node in self.nodes},
            "workloads": {name: counts.as_json() for name, counts in self.workloads.items()},
            "short": {str(short.workload): short.as_json() for short in self.short},
            "daemonsets": {coverage.name: coverage.as_json() for coverage in self.daemon_sets},
            "findings": [finding.as_json() for finding in self.findings],
            "unprovenMig": [unproven.as_json() for unproven in self.unproven],
            **({} if self.engine is None else {"engine": dict(self.engine)}),
            **({"steps": [step.as_json() for step in self.steps]} if self.steps else {}),
            **({} if self.idle is None else {"idle": self.idle.as_json()}),
            **({} if self.held is None else {"nvidia": {h.pool: h.as_json() for h in self.held}}),
            **self._of_tenants(),
        }

    def _of_tenants(self) -> dict[str, Any]:
        """Left out where there are none."""
        found = {name: tenant.as_json() for name, tenant in self.tenants.items()}
        return {"tenants": found} if found else {}


def counts_of(session: Session, *, reasons: bool = True) -> dict[str, Counts]:
    """The pods of every workload; those of one name in one namespace are told apart by kind."""
    found: dict[str, Counts] = {}
    for workload in session.workloads():
        key = str(workload) if str(workload) not in found else f"{workload} ({workload.kind})"
        found[key] = Counts(
            workload=workload,
            desired=session.replicas(workload) if reasons else session.applied.get(workload),
            running=session.observer.running(workload),
            pending=session.observer.waiting(workload),
            peak=session.observer.peaks[workload],
            reasons=reasons_of(session, workload) if reasons else (),
            scaled=session.by_use.steps(workload),
        )
    return found


def shares_of(session: Session) -> list[NodeShares]:
    """The shares of every node of the stack."""
    used = used_by_node(session.watches.pods.all())
    return [
        NodeShares(
            node.name,
            node.pool,
            node.declared,
            advertised_by(session.watches.nodes.get(node.name)),
            used.get(node.name, {}),
        )
        for node in session.nodes
    ]


def report_of(
    session: Session,
    expected: Mapping[str, int],
    before: Sequence[Finding],
    nodes: Mapping[str, int] | None = None,
) -> RunReport:
    """Look at a lab that has come to rest.

    Args:
        session: the lab.
        expected: pods that are to run, by name of the workload.
        before: findings from before the lab was there.
        nodes: nodes that pools are to have, by name of the pool.
    """
    coverages = coverage_of(session)
    workloads = counts_of(session)
    found_as = {name: _found(session, name) for name in expected}
    met = [
        workload
        for name, workload in found_as.items()
        if workload is not None and _running(session, workload) == expected[name]
    ]
    told = set(filter(None, found_as.values()))
    short = short_of(session, told)
    found = [
        *before,
        *session.findings,
        *_unsteady(session),
        *machine_findings(session),
        *coverage_findings(session, coverages),
        *trouble_findings(session),
        *comparison_findings(session, coverages),
        *unread_findings(session),
        *_of_daemon_sets(session, coverages),
        *_of_workloads(session, met),
        *_unmet(session, expected),
        *expected_nodes(session, nodes or {}),
        *agreement_findings(session, met),
        *(each.finding() for each in short),
        *reaches_none(session, told),
    ]
    if any(
        finding.code == rules.UNKNOWN_CHART.id and finding.severity == "error" for finding in found
    ):
        found = [finding for finding in found if finding.code not in _FOLLOW_NO_CHART]
    return RunReport(
        shares_of(session),
        workloads,
        coverages,
        tuple(dict.fromkeys(found)),
        short,
        unproven_mig(session),
        pools=pool_reports(session),
        tenants=tenant_reports(session),
    )


def _of_daemon_sets(session: Session, coverages: Sequence[Coverage]) -> Iterator[Finding]:
    for coverage in coverages:
        namespace, _, name = coverage.name.partition("/")
        workload = PodOwner(namespace, "DaemonSet", name)
        yield from uncreated_findings(session, workload, ("daemonsets", coverage.name))


def _of_workloads(session: Session, met: Sequence[PodOwner]) -> Iterator[Finding]:
    """What keeps pods from running; no error where so many were expected to run as do."""
    for workload in session.workloads():
        wanted = workload in met
        for finding in waiting_findings(session, workload):
            if workload.kind == "DaemonSet" and finding.code == rules.NOT_CREATED.id:
                continue  # told of every DaemonSet already
            known = wanted and finding.code in _OF_WORKLOADS
            yield replace(finding, severity="warning") if known else finding


def _found(session: Session, name: str) -> PodOwner | None:
    try:
        return session.find(name)
    except NoWorkloadError:
        return None


def _running(session: Session, workload: PodOwner) -> int:
    """Pods that run, and those that have ended well where that is what they are for."""
    ended = session.observer.ended(workload) if workload.kind in _ENDING else 0
    return session.observer.running(workload) + ended


def _unmet(session: Session, expected: Mapping[str, int]) -> Iterator[Finding]:
    for name, number in expected.items():
        try:
            workload = session.find(name)
        except NoWorkloadError as error:
            fix = "Name one of them, or apply its manifest."
            yield rules.NOT_AS_EXPECTED.finding(("workloads", name), str(error), fix)
            continue
        running = _running(session, workload)
        if running != number:
            message = f"{number} pods were expected to run, and {running} do."
            fix = "See the reasons of the workload."
            yield rules.NOT_AS_EXPECTED.finding(("workloads", str(workload)), message, fix)


def _unsteady(session: Session) -> Iterator[Finding]:
    if not session.steady and not session.scaling.endless:  # which is told by what it does
        message = "Something still moves: pods come and go, or are on their way."
        fix = "See which workload fails again and again, or wait longer: --until-steady."
        yield rules.NOT_STEADY.finding(("lab",), message, fix)
