"""What each tenant has of a lab, and why it has no more: read from what the API server holds."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.live.pods import PENDING, RUNNING, requested, state_of
from eks_gpushare.sharing.tenants import TENANT_LABEL
from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.install.desired_cluster import PRICE
from eks_gpushare_lab.observing.queues import GROUP, borrowed, in_queue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.session import Session

_PREFIX = "nvidia.com/"
_BY = (
    (re.compile(r"ValidatingAdmissionPolicy '([^']+)'"), "the policy {}"),
    (re.compile(r"exceeded quota: ([^,\s]+)"), "the quota {}"),
    (re.compile(r'violates PodSecurity "([^"]+)"'), "Pod Security {}"),
    (re.compile(r'admission webhook "([^"]+)"'), "the webhook {}"),
)
"""How messages of the API server name who refused, and what that is."""
_UNNAMED = "the API server"


@dataclass(frozen=True, slots=True)
class TenantReport:
    """What a tenant has at a moment."""

    namespaces: tuple[str, ...]
    """Its namespaces."""
    running: int
    """Pods that run."""
    has: Mapping[str, int]
    """Shares that its pods hold, by resource."""
    borrowed: Mapping[str, int]
    """Of these, what others leave it and may want back."""
    waiting: Mapping[str, int] = field(default_factory=dict)
    """Pods that a queue holds back, by Kueue's reason."""
    reclaimed: Mapping[str, int] = field(default_factory=dict)
    """Pods that ended since others wanted back what they had lent, by Kueue's reason."""
    refused: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What was said of pods that were not taken, by who said it."""
    usd_per_hour: float | None = None
    """What it is sure of costs on demand; None where that is not known."""

    def as_json(self) -> dict[str, Any]:
        """It as JSON data."""
        return {
            "namespaces": list(self.namespaces),
            "running": self.running,
            "has": dict(self.has),
            "borrowed": dict(self.borrowed),
            "waiting": dict(self.waiting),
            "reclaimed": dict(self.reclaimed),
            "refused": {by: list(said) for by, said in self.refused.items()},
            "usdPerHour": self.usd_per_hour,
        }

    def lines(self) -> list[str]:
        """It as lines for people."""
        has = _listed(self.has) or "no shares"
        lent = f", of which {_listed(self.borrowed)} borrowed" if self.borrowed else ""
        paid = [] if self.usd_per_hour is None else [f"{self.usd_per_hour} $/hour for what is sure"]
        return [
            f"{self.running} running with {has}{lent}",
            *paid,
            *(f"{_pods(count)} waiting: {why}" for why, count in self.waiting.items()),
            *(f"{_pods(count)} gave way: {why}" for why, count in self.reclaimed.items()),
            *(f"refused by {by}: {text}" for by, said in self.refused.items() for text in said),
        ]


def tenant_reports(session: Session) -> dict[str, TenantReport]:
    """What each tenant has, by its name; nothing where no namespace is of one."""
    spaces: dict[str, list[str]] = {}
    prices: dict[str, float] = {}
    for metadata in (each["metadata"] for each in _all(session, "/api/v1/namespaces")):
        name = (metadata.get("labels") or {}).get(TENANT_LABEL)
        if name:
            spaces.setdefault(name, []).append(metadata["name"])
            if noted := (metadata.get("annotations") or {}).get(PRICE):
                prices[name] = float(noted)
    return {
        name: replace(_report(session, tuple(sorted(own))), usd_per_hour=prices.get(name))
        for name, own in sorted(spaces.items())
    }


def _report(session: Session, spaces: tuple[str, ...]) -> TenantReport:
    pods = [pod for pod in session.watches.pods.all() if pod["metadata"]["namespace"] in spaces]
    running = [pod for pod in pods if state_of(pod) == RUNNING]
    has: Counter[str] = Counter()
    for pod in running:
        for name, amount in requested(pod["spec"]).items():
            if name.startswith(_PREFIX):
                has[name] += int(amount)
    held = (in_queue(pod, session.client.get) for pod in pods if state_of(pod) == PENDING)
    waiting = Counter(each.what.removeprefix("Kueue: ") for each in held if each is not None)
    return TenantReport(
        spaces,
        len(running),
        dict(has),
        borrowed(_queues(session, spaces)),
        dict(waiting),
        dict(_reclaimed(session, spaces)),
        _refused(session, spaces),
    )


def _queues(session: Session, spaces: Iterable[str]) -> list[Object]:
    """The ClusterQueues that queues of namespaces lead to."""
    names = {
        queue["spec"]["clusterQueue"]
        for space in spaces
        for queue in _all(session, f"{GROUP}/namespaces/{space}/localqueues")
    }
    every = _all(session, f"{GROUP}/clusterqueues") if names else []
    return [queue for queue in every if queue["metadata"]["name"] in names]


def _reclaimed(session: Session, spaces: Iterable[str]) -> Counter[str]:
    """Events by which Kueue tells that it took pods back."""
    said: Counter[str] = Counter()
    for space in spaces:
        path = f"/api/v1/namespaces/{space}/events"
        for event in _all(session, path, fieldSelector="reason=Preempted"):
            of_queue = (event.get("involvedObject") or {}).get("kind") == "Workload"
            _, _, why = str(event.get("message", "")).partition(" due to ")
            if of_queue and why:
                said[why.partition(";")[0]] += int(event.get("count") or 1)
    return said


def _refused(session: Session, spaces: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for event in session.watches.refusals.all():
        if event["metadata"].get("namespace") not in spaces:
            continue
        message = str(event.get("message", ""))
        for pattern, words in _BY:
            if (named := pattern.search(message)) is not None:
                by = words.format(named[1])
                break
        else:
            by = _UNNAMED
        found.setdefault(by, {})[_reason(message)] = None
    return {by: tuple(said) for by, said in found.items()}


def _reason(message: str) -> str:
    """A refusal without the names of the pod and of who refused."""
    for mark in (" denied request: ", "exceeded quota: ", "violates PodSecurity "):
        _, found, rest = message.partition(mark)
        if found:
            return rest.strip()
    return message.partition(": ")[2].strip() or message


def _all(session: Session, path: str, **query: str) -> list[Object]:
    """Objects of a kind, none where the cluster does not know it."""
    try:
        return session.client.list(path, **query)[0]
    except ApiError as error:
        if error.status == 404:  # noqa: PLR2004  (not found)
            return []
        raise


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name.removeprefix(_PREFIX)}" for name, count in counts.items())


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"
