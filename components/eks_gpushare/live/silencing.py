"""Comments of a stack's file that let findings of its cluster be.

They are those that `check` knows (`stack_file.silencing`). A cluster has no lines: a comment within
a pool's block is about that pool, and one elsewhere about the whole cluster. What follows from a
cause that is let be is known with it. Errors may be let be too: nothing refuses a running cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.facts.index import names_of
from eks_gpushare.facts.names import is_meant
from eks_gpushare.live.faults import pool_of_mark

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from eks_gpushare.findings.silenced import Silence
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.live.faults import Cause, ClusterFault
    from eks_gpushare.live.nodes import LiveNode


class SilencedCause(NamedTuple):
    """A cause that a comment lets be."""

    cause: Cause
    silence: Silence

    def as_json(self) -> dict[str, Any]:
        """As `verify --json` prints it."""
        code = self.cause.fault.finding.code
        told = {"until": str(self.silence.until), "reason": self.silence.reason}
        return {**self.cause.as_json(), "names": sorted(names_of(code)), **told}


def without_silenced(
    causes: Sequence[Cause], stack: Stack | None, nodes: Sequence[LiveNode], today: date
) -> tuple[list[Cause], tuple[SilencedCause, ...]]:
    """The causes that count, and those that comments let be.

    Args:
        causes: All causes.
        stack: Whose file has the comments; None where there is none.
        nodes: The cluster's nodes with GPUs.
        today: What last days are compared with.
    """
    given = [one for one in (stack.silences if stack else ()) if one.silence.holds(today)]
    if not given:
        return list(causes), ()
    pool_of = {node.name: node.pool for node in nodes}
    kept: list[Cause] = []
    away: list[SilencedCause] = []
    for cause in causes:
        meant = [one for one in given if is_meant(cause.fault.finding.code, one.silence.names)]
        by_pool = {one.pool: one.silence for one in reversed(meant)}
        of_all, pools = by_pool.get(None), _pools(cause.fault, pool_of)
        holding = [by_pool.get(pool, of_all) for pool in sorted(pools)] or [of_all]
        first = holding[0]
        if first is None or None in holding:
            kept.append(cause)
        else:
            away.append(SilencedCause(cause, first))
    return kept, tuple(away)


def _pools(fault: ClusterFault, pool_of: Mapping[str, str]) -> set[str]:
    """The pools that a fault is about: by its place, else by its nodes."""
    match fault.finding.at:
        case ("pools", str(name), *_):
            return {name}
    return {pool_of.get(name) or pool_of_mark(name) for name in fault.nodes}
