"""A verdict as a map of shares, with the causes of what is wrong beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.reports.share_map import MapCause, ShareMap, map_cause

if TYPE_CHECKING:
    from eks_gpushare.live.faults import Cause
    from eks_gpushare.live.verdict import ClusterVerdict


def share_map_of(verdict: ClusterVerdict) -> ShareMap:
    """The map of a cluster."""
    wrong = sum(cause.fault.finding.severity == "error" for cause in verdict.causes)
    said = "as declared" if verdict.stack else "nothing is wrong"
    if wrong:
        said = f"{wrong} cause{'' if wrong == 1 else 's'} of errors"
    return ShareMap(
        "GPU shares",
        verdict.stack or verdict.whence,
        f"{verdict.whence}, read at {verdict.at:%Y-%m-%d %H:%M:%S} UTC",
        said + (" as far as is known" if verdict.unknown else ""),
        verdict.drawn,
        tuple(_cause(cause) for cause in verdict.causes),
        tuple(f"{kind}: {why}" for kind, why in verdict.unknown.items()),
    )


def _cause(cause: Cause) -> MapCause:
    follows = (fault.in_short or fault.finding.message for fault in cause.follows)
    return map_cause(cause.fault.finding, cause.fault.evidence, tuple(follows))
