"""Pools, nodes and shares as they are or will be, for a picture of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.findings.pages import page_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eks_gpushare.findings.finding import Finding, Severity


class HeldShares(NamedTuple):
    """Shares that one pod has, or the pods of a workload that is yet to come."""

    owner: str
    """What made the pod: `team-a/chat`."""
    pod: str
    """Its name; empty of pods that are yet to come."""
    shares: int


@dataclass(frozen=True, slots=True)
class MapShares:
    """The shares of one resource of a node."""

    resource: str
    advertised: int
    declared: int | None = None
    """None where nothing says how many there should be."""
    held: tuple[HeldShares, ...] = ()

    @property
    def used(self) -> int:
        """Shares that pods have."""
        return sum(held.shares for held in self.held)

    @property
    def free(self) -> int:
        """Shares that a pod could have."""
        return max(self.advertised - self.used, 0)

    @property
    def lost(self) -> int:
        """Shares that are declared and not advertised."""
        return max((self.declared or 0) - self.advertised, 0)


@dataclass(frozen=True, slots=True)
class MapNode:
    """A node, or several that are alike."""

    names: tuple[str, ...]
    type_name: str
    gpus: int | None
    """None where the type is not known."""
    usd_per_hour: float | None
    """Of one node by list; None where it is not known."""
    shares: tuple[MapShares, ...]
    state: str = ""
    """What is wrong with it as a node; empty where nothing is."""

    @property
    def is_broken(self) -> bool:
        """Whether there is less of it than there should be."""
        return bool(self.state) or any(shares.lost for shares in self.shares)


@dataclass(frozen=True, slots=True)
class MapPool:
    """A pool with its nodes."""

    name: str
    nodes: tuple[MapNode, ...]

    @property
    def count(self) -> int:
        """How many nodes it has."""
        return sum(len(node.names) for node in self.nodes)

    @property
    def usd_per_hour(self) -> float | None:
        """What its nodes cost; None where that of one is not known."""
        return total((node.usd_per_hour, len(node.names)) for node in self.nodes)

    def shares(self) -> tuple[MapShares, ...]:
        """All shares of its nodes together, by resource."""
        found: dict[str, list[MapShares]] = {}
        for node in self.nodes:
            for shares in node.shares:
                found.setdefault(shares.resource, []).extend([shares] * len(node.names))
        return tuple(_together(name, found[name]) for name in sorted(found))


@dataclass(frozen=True, slots=True)
class MapCause:
    """One thing that is wrong, with what comes of it."""

    severity: Severity
    code: str
    address: str
    """Where it is explained."""
    place: str
    message: str
    fix: str
    evidence: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()


def map_cause(
    finding: Finding, evidence: tuple[str, ...] = (), follows: tuple[str, ...] = ()
) -> MapCause:
    """A finding as the map has it.

    Args:
        finding: The finding.
        evidence: What shows it.
        follows: What comes of it.
    """
    return MapCause(
        finding.severity,
        finding.code,
        page_of(finding.code),
        finding.path,
        finding.message,
        finding.fix,
        evidence,
        follows,
    )


@dataclass(frozen=True, slots=True)
class ShareMap:
    """All that the picture shows."""

    title: str
    subject: str
    """The cluster or stack."""
    moment: str
    """When it was so; empty of what will be."""
    summary: str
    """The verdict in a line."""
    pools: tuple[MapPool, ...]
    causes: tuple[MapCause, ...] = ()
    notes: tuple[str, ...] = ()


def total(prices: Iterable[tuple[float | None, int]]) -> float | None:
    """The sum of prices, each so many times; None where one is not known."""
    found = 0.0
    for price, count in prices:
        if price is None:
            return None
        found += price * count
    return found


def _together(resource: str, each: Sequence[MapShares]) -> MapShares:
    declared = [shares.declared for shares in each]
    return MapShares(
        resource,
        sum(shares.advertised for shares in each),
        None if None in declared else sum(filter(None, declared)),
        tuple(held for shares in each for held in shares.held),
    )
