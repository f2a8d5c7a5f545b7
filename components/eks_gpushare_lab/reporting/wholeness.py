"""Whether the workloads that were applied run whole, and if not, by how much and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab import rules
from eks_gpushare_lab.observing.workloads import JOBS, at_once, outcomes
from eks_gpushare_lab.reporting.waiting import why_short

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.live.pods import PodOwner
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.session import Session


@dataclass(frozen=True, slots=True)
class Short:
    """A workload that does not run whole."""

    workload: PodOwner
    """Which."""
    running: int
    """Pods that run, or have ended well where they are to end."""
    wanted: int
    """Pods that were to."""
    why: Sequence[str]
    """Why the others do not."""
    fix: str
    """What to do about it."""

    def as_json(self) -> dict[str, Any]:
        """The numbers and reasons as JSON data."""
        return {
            "kind": self.workload.kind,
            "running": self.running,
            "wanted": self.wanted,
            "why": list(self.why),
        }

    def finding(self) -> Finding:
        """The same as a finding."""
        counted = f"{self.running} of {self.wanted} pods of the {self.workload.kind} run"
        message = _sentence(counted, self.why)
        return rules.NOT_WHOLE.finding(("workloads", str(self.workload)), message, self.fix)


def short_of(session: Session, expected: Collection[PodOwner]) -> list[Short]:
    """The workloads that were applied and do not run whole, but those with an expectation."""
    found = []
    for workload in session.applied:
        if workload in expected:
            continue
        running, wanted, waiting = _extent(session, workload)
        if running >= wanted and not waiting:
            continue
        why, fix = why_short(session, workload)
        if running >= wanted:  # those of before an edit run, and the new ones do not
            why = [f"{waiting} newer ones wait", *why]
        found.append(Short(workload, running, wanted, why, fix))
    return found


def reaches_none(session: Session, expected: Collection[PodOwner]) -> Iterator[Finding]:
    """DaemonSets that were applied and have no node to run on: that is no error to anybody."""
    for workload in session.applied:
        if workload.kind != "DaemonSet" or workload in expected:
            continue
        if session.replicas(workload) != 0:
            continue
        said = "The DaemonSet reaches no node, so it wants 0 pods"
        message = _sentence(said, why_short(session, workload)[0])
        fix = (
            "Let its node selector, affinity and tolerations fit the nodes it is meant for, or say "
            "that this is meant: --expect NAME=0."
        )
        yield rules.REACHES_NO_NODE.finding(("workloads", str(workload)), message, fix)


def _extent(session: Session, workload: PodOwner) -> tuple[int, int, int]:
    """Pods that run or have ended well, pods that are wanted, and pods that wait."""
    observer = session.observer
    running, waiting = observer.running(workload), observer.waiting(workload)
    if workload.kind in JOBS:
        return _of_job(session.job_of(workload), running, waiting, observer.ended(workload))
    if workload.kind == "Pod":
        return running + observer.ended(workload), 1, waiting
    return running, session.replicas(workload) or 0, waiting


def _of_job(job: Object | None, running: int, waiting: int, ended: int) -> tuple[int, int, int]:
    """Of a Job those that it wants at once, on top of those that have succeeded."""
    if job is None or job["spec"].get("suspend"):  # a CronJob that nobody starts, or a Job
        return 0, 0, 0
    status = job.get("status") or {}
    succeeded = max(ended, int(status.get("succeeded", 0)))
    ended_as = outcomes(job)
    if "Complete" in ended_as:
        return succeeded, succeeded, 0
    wanted = succeeded + at_once(job, succeeded)
    if "Failed" in ended_as:
        return succeeded, max(succeeded + 1, wanted), waiting
    return min(wanted, succeeded + running), wanted, waiting


def _sentence(said: str, why: Sequence[str]) -> str:
    reasons = "; ".join(reason.rstrip(".") for reason in why)
    return f"{said}: {reasons}." if reasons else f"{said}."
