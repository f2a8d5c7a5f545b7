"""Karpenter's delays that are shorter in the lab, so that empty nodes go within a minute.

`consolidateAfter` of five minutes is right on EKS and a long time before a terminal. It is
shortened when nothing is to run any more and not as the objects are applied: how many nodes there
are is counted under the stack's own delay, and no node goes early because its pods come late here.

A node that Karpenter has in mind for a pod stays for twice `batchMaxDuration`, 10 s at least: 20 s
by default, far more than the second that a launch takes here.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eks_gpushare.documents.duration import seconds
from eks_gpushare_lab import rules
from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.controllers.shorter_times import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare_lab.client import Client, Object

NODE_POOLS = "/apis/karpenter.sh/v1/nodepools"
"""Path of NodePools."""

LONGEST_BATCH_SECONDS = 5.0
"""Longest that further pods are waited for: half of the least that a node is kept in mind.

Source: nominationWindow in pkg/controllers/state/statenode.go of sigs.k8s.io/karpenter v1.14.1.
"""

WHEN_IDLE = 10
"""How many times more consolidateAfter is divided than other times: nothing is counted any more."""

_LEAST = 1
_NOT_FOUND = 404
_BATCH_MAX, _BATCH_IDLE = "BATCH_MAX_DURATION", "BATCH_IDLE_DURATION"


@dataclass(frozen=True, slots=True)
class Shorter:
    """A NodePool that waits for less than its stack says."""

    pool: str
    """Its name."""
    given: str
    """consolidateAfter as it was applied."""
    here: str
    """The same from now on."""


def shorter(given: str, by: float) -> str:
    """A consolidateAfter divided: whole seconds, one at least. `Never` and no time at all stay.

    Args:
        given: such as 300s or 1h30m.
        by: how many times faster.
    """
    found = seconds(given)
    if by == 1 or found is None:
        return given
    made = max(_LEAST, round(found / by))
    return given if found <= made else f"{made}s"


def shorter_batches(environment: Mapping[str, str], by: float) -> dict[str, str]:
    """What of Karpenter's environment is other here.

    Args:
        environment: as the chart has it.
        by: how many times faster; 1 for as it is.
    """
    longest = seconds(environment.get(_BATCH_MAX, ""))
    idle = float(seconds(environment.get(_BATCH_IDLE, "")) or 0)
    if by == 1 or longest is None or longest <= LONGEST_BATCH_SECONDS:
        return {}
    made = max(LONGEST_BATCH_SECONDS, idle)  # a pause ends a batch, before its end as given
    return {_BATCH_MAX: f"{made:g}s"} if made < longest else {}


def shorten(client: Client, by: float) -> list[Shorter]:
    """Have Karpenter wait for less in every NodePool there is, and change nothing else of them.

    Args:
        client: the API server; it need not know NodePools.
        by: how many times faster other times pass; 1 for as they are.
    """
    found = []
    by = by if by == 1 else by * WHEN_IDLE
    for pool in _node_pools(client):
        name = pool["metadata"]["name"]
        given = str((pool["spec"].get("disruption") or {}).get("consolidateAfter") or "")
        here = shorter(given, by)
        if here == given:
            continue
        with suppress(ApiError):  # it is being deleted, or somebody's policy holds it
            change = {"spec": {"disruption": {"consolidateAfter": here}}}
            client.patch(f"{NODE_POOLS}/{name}", change)
            found.append(Shorter(name, given, here))
    return found


def _node_pools(client: Client) -> Sequence[Object]:
    try:
        return client.list(NODE_POOLS)[0]
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
        return []


def said_of(shortened: Iterable[Shorter]) -> Iterator[Finding]:
    """What is to be told of NodePools that wait for less."""
    several = [f"{shorter.pool} {shorter.here} instead of {shorter.given}" for shorter in shortened]
    if several:
        message = (
            "Once nothing was to run, Karpenter waits for less until it takes an empty node away: "
            f"consolidateAfter of {', '.join(several)}. Nodes were counted before that."
        )
        fix = f"Nothing; {VARIABLE}=1 has it as it is."
        yield rules.EMPTY_SOONER.finding(("objects", "NodePool"), message, fix)
