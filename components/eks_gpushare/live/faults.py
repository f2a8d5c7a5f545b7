"""What is wrong with a running cluster: which link is broken, of which nodes or pods."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.facts.vcpus import VCPU_QUOTA
from eks_gpushare.inventory.edges.amounts import SEVERAL_SHARES, TOO_MANY
from eks_gpushare.inventory.edges.configs import MAP_UNUSED
from eks_gpushare.inventory.edges.mounts import MOUNT_MISSING
from eks_gpushare.live.nodes import counted_names
from eks_gpushare.live.rules import (
    CONFIG_MAP_DIFFERS,
    HELD_BY_NOTHING,
    LABELS_NOT_RENEWED,
    NEVER_INITIALISED,
    NODE_GROUP_UNSOUND,
    NODES_MISSING,
    SHARES_TAKEN,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.findings.finding import Finding, Severity
    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.pods import PodOwner


def pool_mark(pool: str) -> str:
    """What stands among a fault's nodes for those of a pool that are not there."""
    return f"{_MARK}{pool}"


def pool_of_mark(mark: str) -> str:
    """The pool that such a mark stands for."""
    return mark.removeprefix(_MARK)


class Link(Enum):
    """A link of the chain from a node to a pod on its share, in the order in which they break."""

    NODE = "node"
    """The machine: it is there, ready and sound."""
    TAINTS = "taints"
    """Its taints are those of its pool."""
    LABELS = "labels"
    """Its labels are those of its pool."""
    PLACEMENT = "placement"
    """DaemonSets may be on it."""
    CONFIGURATION = "configuration"
    """What they read is there, and is what was meant."""
    MIG = "mig"
    """Its GPUs are cut as was meant."""
    PROGRAMS = "programs"
    """The pods of the DaemonSets run."""
    SHARES = "shares"
    """It advertises what was meant."""
    PODS = "pods"
    """Pods get their shares."""


_LEADS_TO: Final[Mapping[Link, frozenset[Link]]] = {
    Link.NODE: frozenset({Link.PROGRAMS, Link.SHARES, Link.PODS}),
    Link.TAINTS: frozenset({Link.PLACEMENT, Link.PROGRAMS, Link.PODS}),
    Link.LABELS: frozenset(
        {Link.PLACEMENT, Link.CONFIGURATION, Link.MIG, Link.PROGRAMS, Link.SHARES, Link.PODS}
    ),
    Link.PLACEMENT: frozenset({Link.CONFIGURATION, Link.PROGRAMS, Link.SHARES}),
    Link.CONFIGURATION: frozenset({Link.PROGRAMS, Link.SHARES}),
    Link.MIG: frozenset({Link.PROGRAMS, Link.SHARES}),
    Link.PROGRAMS: frozenset({Link.SHARES}),
    Link.SHARES: frozenset({Link.PODS}),
    Link.PODS: frozenset(),
}
"""What breaks at once where a link is broken."""
_MARK: Final = "pools."
_WHY_NO_NODES: Final = frozenset((NODE_GROUP_UNSOUND.id, NEVER_INITIALISED.id, VCPU_QUOTA.id))
_OF_RENAMED: Final = frozenset(((MOUNT_MISSING.id, MAP_UNUSED.id),))
"""What is found of a ConfigMap that has been given another name: nobody has it, nobody reads it."""
_ORDER: Final = {link: number for number, link in enumerate(Link)}


@dataclass(frozen=True, slots=True)
class ClusterFault:
    """One thing that is wrong."""

    finding: Finding
    link: Link
    nodes: frozenset[str] = frozenset()
    """Nodes that it is about; of pods, those on which they would be."""
    owner: PodOwner | None = None
    """What makes the pods that it is about."""
    evidence: tuple[str, ...] = ()
    """What shows it: fields of objects, who wrote them and when."""
    is_cause_only: bool = False
    """Whether it never follows from something else."""
    names: tuple[str, ...] = ()
    """What is wrong, such as a taint, where a fault of workloads that follows from it names it."""
    in_short: str = ""
    """How it is told where it follows from another. Default: its first sentence."""
    gist: str = ""
    """Its words without the object's name: of those that say the same of several, one is told."""
    explains_nothing: bool = False
    """Whether nodes give out their shares all the same."""
    wants_any: bool = False
    """Whether it is of pods whose nodes advertise nothing at all, whatever they ask for."""

    parts: tuple[str, ...] = ()
    """What a fault of pods names, all of it, that follows from this one of an object; of one that
    is about nodes too, whatever names it."""

    def as_json(self) -> dict[str, Any]:
        """As `verify --json` prints it."""
        return {
            **self.finding.as_json(),
            "nodes": sorted(self.nodes),
            "evidence": list(self.evidence),
        }

    def leads_to(self, other: ClusterFault) -> bool:
        """Whether another fault, which is not before it in the chain, is what comes of this one."""
        if self.gist and (self.finding.code, self.gist) == (other.finding.code, other.gist):
            return True
        if self.parts and (not self.nodes or self._is_named_by(other)):
            return self._is_named_by(other) and (other.link is Link.PODS or bool(self.nodes))
        if other.is_cause_only:
            if self._asks_for_too_much(other):
                return True
            said = other.finding.message
            about = any(name in said for name in self.names)
            return about and not self.nodes.isdisjoint(other.nodes)
        if self.is_cause_only and self.owner is not None:
            return other.owner == self.owner and other.link is Link.PODS
        return self._breaks(other)

    def _is_named_by(self, other: ClusterFault) -> bool:
        said = f"{other.finding.path} {other.finding.message}"
        return all(part in said for part in self.parts)

    def _asks_for_too_much(self, other: ClusterFault) -> bool:
        """Whether both say of one workload that a pod asks for more than it can get."""
        codes = self.finding.code, other.finding.code
        same = self.owner is not None and self.owner == other.owner
        return same and codes == (SEVERAL_SHARES.id, TOO_MANY.id)

    def _breaks(self, other: ClusterFault) -> bool:
        """Whether its link is one that the other's hangs on, of the same nodes."""
        if self.explains_nothing:
            return False
        if other.link is self.link:
            return _is_worse(self, other) and bool(other.nodes) and other.nodes <= self.nodes
        leads_to = _LEADS_TO[self.link]
        if other.link not in leads_to and not (other.wants_any and Link.SHARES in leads_to):
            return False
        if other.link is Link.PODS:
            return not self.nodes.isdisjoint(other.nodes)
        return bool(other.nodes) and other.nodes <= self.nodes


def _is_worse(one: ClusterFault, other: ClusterFault) -> bool:
    """Whether the one explains the other of the same link.

    One taint keeps off several programs, of which the plugin counts. What is wrong with a
    configuration that somebody changed comes of the change. Nodes are missing for what EKS or
    Karpenter says. Shares are taken by pods that do not run. Where the plugin is gone as well as
    what labels nodes, the plugin counts.
    """
    codes = one.finding.code, other.finding.code
    if one.link is Link.CONFIGURATION:
        return codes[0] == CONFIG_MAP_DIFFERS.id or codes in _OF_RENAMED
    if one.link is Link.PODS:
        return codes == (HELD_BY_NOTHING.id, SHARES_TAKEN.id)
    if one.link is Link.NODE:
        return codes[0] in _WHY_NO_NODES and codes[1] == NODES_MISSING.id
    if one.link is Link.PROGRAMS:
        return codes[0] != codes[1] and codes[1] == LABELS_NOT_RENEWED.id
    severities = (one.finding.severity, other.finding.severity)
    return one.link is Link.PLACEMENT and severities == ("error", "warning")


@lru_cache(maxsize=64)  # hundreds of workloads wait for the same shares of a thousand nodes
def gist_of_shares(asked: str, nodes: frozenset[str]) -> str:
    """The gist of workloads that wait for the same shares: one is told, the others below it."""
    return f"{asked} {sorted(nodes)}"


@dataclass(slots=True)
class Cause:
    """A fault with what comes of it."""

    fault: ClusterFault
    follows: list[ClusterFault]

    def as_json(self) -> dict[str, Any]:
        """As `verify --json` prints it."""
        return {**self.fault.as_json(), "follows": [fault.as_json() for fault in self.follows]}


def causes_of(faults: Iterable[ClusterFault]) -> list[Cause]:
    """The faults that follow from no other, each with all that follows from it.

    What may come of several is told below the one that it names, such as by a taint, else below
    the first of these in the order of the chain.
    """
    ordered = sorted(faults, key=_place_in_chain)
    above: dict[int, ClusterFault] = {}
    for number, fault in enumerate(ordered):
        before, said = ordered[:number], fault.finding.message
        named = (other for other in before if any(name in said for name in other.names))
        parent = next((other for other in chain(named, before) if other.leads_to(fault)), None)
        if parent is not None:
            above[id(fault)] = parent
    causes = {id(fault): Cause(fault, []) for fault in ordered if id(fault) not in above}
    for fault in ordered:
        top = fault
        while id(top) in above:
            top = above[id(top)]
        if top is not fault:
            causes[id(top)].follows.append(fault)
    return list(causes.values())


def _place_in_chain(fault: ClusterFault) -> tuple[int, bool, bool]:
    """Where it is in the chain; what can be a cause is before what only follows."""
    return _ORDER[fault.link], not fault.is_cause_only, fault.finding.severity != "error"


@dataclass(frozen=True, slots=True)
class NodeFault:
    """What is wrong with one node, in words that hold for others of its pool as well."""

    rule: Rule
    link: Link
    node: LiveNode
    what: str
    """The message without the node's name."""
    fix: str
    """`{node}` stands for the node's name."""
    evidence: str = ""
    severity: Severity | None = None
    names: tuple[str, ...] = ()
    """What is wrong, as a fault of workloads that follows from it names it."""
    in_short: str = ""
    """`what`, as it is told where it follows from another."""
    alike: str = ""
    """What is the same of nodes with one fault. Default: all its words, which may name a pod."""
    gist: str = ""
    """What it comes of, where several faults of a node come of the same: one of them is told."""
    explains_nothing: bool = False
    """Whether the node gives out its shares all the same."""


def folded(found: Iterable[NodeFault]) -> Iterator[ClusterFault]:
    """Faults of nodes, those that say the same of several nodes of a pool as one."""
    groups: dict[tuple[str, str, str], list[NodeFault]] = {}
    for each in found:
        groups.setdefault((each.rule.id, each.node.pool, each.alike or each.what), []).append(each)
    for group in groups.values():
        first = group[0]
        names = [each.node.name for each in group]
        finding = first.rule.finding(
            ("pools", first.node.pool, "nodes", first.node.name),
            f"{counted_names(names)}: {first.what}",
            first.fix.replace("{node}", first.node.name if len(names) == 1 else "NODE"),
            first.severity,
        )
        evidence = tuple(dict.fromkeys(each.evidence for each in group if each.evidence))[:3]
        yield ClusterFault(
            finding,
            first.link,
            frozenset(names),
            evidence=evidence,
            names=first.names,
            in_short=f"{counted_names(names)}: {first.in_short}" if first.in_short else "",
            gist=first.gist,
            explains_nothing=first.explains_nothing,
        )
