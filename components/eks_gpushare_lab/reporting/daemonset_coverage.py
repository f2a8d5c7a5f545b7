"""Which nodes the DaemonSets of NVIDIA's charts reach, and what keeps them off the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eks_gpushare.catalog import Catalog
from eks_gpushare.live.placement import mismatches, untolerated
from eks_gpushare.live.pods import RUNNING, state_of
from eks_gpushare.live.refusals import refusals_of, why_no_pod
from eks_gpushare_lab import rules
from eks_gpushare_lab.observing.observer import workload_of
from eks_gpushare_lab.reporting.machines import serves_itself
from eks_gpushare_lab.simulated_node import efa
from eks_gpushare_lab.simulated_node.pods import (
    DISCOVERY,
    EFA_PLUGIN,
    MPS_DAEMON,
    PLUGIN,
    is_alive,
)
from eks_gpushare_lab.simulated_node.pods import role_of as role_on_node

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.install.nodes import LabNode
    from eks_gpushare_lab.session import Session

_WORKER = "nfd-worker"
_ROLES = (PLUGIN, DISCOVERY, MPS_DAEMON, _WORKER, EFA_PLUGIN)
_TITLES = {
    EFA_PLUGIN: "the EFA device plugin",
    PLUGIN: "the device plugin",
    DISCOVERY: "GPU feature discovery",
    MPS_DAEMON: "the MPS control daemon",
    _WORKER: "the worker of node feature discovery",
}
_NEEDED = {
    PLUGIN: "nothing advertises its GPUs",
    DISCOVERY: "it gets no labels about its GPUs, and MPS never starts",
}


@dataclass(slots=True)
class PoolCoverage:
    """How many nodes of one pool a DaemonSet reaches."""

    nodes: int = 0
    """Nodes of the pool."""
    desired: int = 0
    """Nodes that have a pod of it."""
    ready: int = 0
    """Nodes whose pod runs."""

    def as_json(self) -> dict[str, int]:
        """The counts as JSON data."""
        return {"nodes": self.nodes, "desired": self.desired, "ready": self.ready}


@dataclass(slots=True)
class Coverage:
    """Where one DaemonSet is."""

    name: str
    """Namespace and name."""
    role: str
    """What it runs; `""` for one that is not NVIDIA's."""
    daemon_set: Object
    """The DaemonSet."""
    pools: dict[str, PoolCoverage] = field(default_factory=dict)
    """By pool."""

    @property
    def template(self) -> Object:
        """Spec of its pods."""
        spec: Object = self.daemon_set["spec"]["template"]["spec"]
        return spec

    def as_json(self) -> dict[str, object]:
        """The counts as JSON data."""
        pools = {name: in_pool.as_json() for name, in_pool in self.pools.items()}
        return {
            "desired": sum(pool.desired for pool in self.pools.values()),
            "ready": sum(pool.ready for pool in self.pools.values()),
            "pools": pools,
        }


def role_of(spec: Object) -> str:
    """What pods of a spec run: a command of NVIDIA's or NFD's, or `""`."""
    found = role_on_node(spec)
    return found if found in _ROLES else ""


def coverage_of(session: Session) -> list[Coverage]:
    """Every DaemonSet of the lab."""
    pods: dict[tuple[str, str], dict[str, Object]] = {}
    for pod in session.watches.pods.all():
        made_by = workload_of(pod)
        node = pod["spec"].get("nodeName")
        if made_by.kind == "DaemonSet" and node:
            pods.setdefault((made_by.namespace, made_by.name), {})[node] = pod
    found = []
    for daemon_set in session.watches.daemon_sets.all():
        namespace, name = daemon_set["metadata"]["namespace"], daemon_set["metadata"]["name"]
        template = daemon_set["spec"]["template"]["spec"]
        coverage = Coverage(f"{namespace}/{name}", role_of(template), daemon_set)
        there = pods.get((namespace, name), {})
        for node in session.nodes:
            in_pool = coverage.pools.setdefault(node.pool, PoolCoverage())
            in_pool.nodes += 1
            in_pool.desired += node.name in there
            in_pool.ready += node.name in there and state_of(there[node.name]) == RUNNING
        found.append(coverage)
    return sorted(found, key=lambda coverage: coverage.name)


def coverage_findings(session: Session, coverages: Sequence[Coverage]) -> Iterator[Finding]:
    """Pools that a DaemonSet they need does not reach."""
    yield from _without_efa(session, coverages)
    yield from _foreign(session, coverages)
    pools: dict[str, LabNode] = {}
    for node in session.nodes:
        if node.declared and node.joins and not serves_itself(node.object):
            pools.setdefault(node.pool, node)
    for pool in pools:
        for role, harm in _NEEDED.items():
            of_role = [coverage for coverage in coverages if coverage.role == role]
            if not of_role and role == PLUGIN:
                message = f"No DaemonSet runs a device plugin, so {harm}."
                fix = "Install NVIDIA's chart for the pool."
                yield rules.NOT_REACHED.finding(("pools", pool), message, fix)
            for coverage in of_role:
                yield from _missed(session, pool, coverage, harm, coverages)


def _foreign(session: Session, coverages: Sequence[Coverage]) -> Iterator[Finding]:
    """GPU nodes that no pool of ours declares, where the program's device plugin reaches none."""
    plugins = [coverage for coverage in coverages if coverage.role == PLUGIN]
    pools = {
        node.pool
        for node in session.nodes
        if node.joins and not node.declared and _has_gpus(node) and not serves_itself(node.object)
    }
    for pool in sorted(pools) if plugins else ():
        nearest = max(plugins, key=lambda coverage: coverage.pools[pool].desired)
        yield from _missed(session, pool, nearest, _NEEDED[PLUGIN], coverages)


def _has_gpus(node: LabNode) -> bool:
    found = Catalog().find(node.instance_type)
    return found is not None and found.gpu_count > 0


def _without_efa(session: Session, coverages: Sequence[Coverage]) -> Iterator[Finding]:
    """Pools with EFA that its plugin does not reach, whatever the OS brings for GPUs."""
    harm = "it gives out no EFA interface"
    wanting = {n.pool: n for n in session.nodes if n.joins and n.declared.get(efa.RESOURCE)}
    for pool in wanting:
        of_role = [coverage for coverage in coverages if coverage.role == EFA_PLUGIN]
        if not of_role:
            message = f"No DaemonSet runs an EFA device plugin, so {harm}."
            yield rules.NOT_REACHED.finding(("pools", pool), message, "Install AWS's chart for it.")
        for coverage in of_role:
            yield from _missed(session, pool, coverage, harm)


def _missed(
    session: Session,
    pool: str,
    coverage: Coverage,
    harm: str,
    others: Sequence[Coverage] = (),
) -> Iterator[Finding]:
    in_pool = coverage.pools[pool]
    if in_pool.desired >= in_pool.nodes:
        return
    names = [node.name for node in session.nodes if node.pool == pool]
    missed = [name for name in names if not _has_pod(session, coverage, name)]
    node = session.watches.nodes.get(missed[0]) if missed else None
    if node is None:
        return
    why = why_not(session, coverage, node)
    count = f"{in_pool.desired} of {in_pool.nodes} nodes"
    title = _TITLES[coverage.role]
    message = f"{title[0].upper()}{title[1:]} ({coverage.name}) reaches {count}, so {harm}. {why}"
    fix = _fix(coverage, node)
    worker = _worker_that_misses(session, others, node) if "affinity" in why else None
    if worker is not None:
        taint = untolerated(worker.template, node)[0]
        message = (
            f"{message} Such labels come from {_TITLES[_WORKER]} ({worker.name}), which does not "
            f"tolerate the taint {taint} and is not there either."
        )
        fix = (
            f"Add a toleration for {taint} to the worker too (nfd.worker.tolerations in the values "
            "of NVIDIA's charts), or give the nodes the label nvidia.com/gpu.present=true."
        )
    yield rules.NOT_REACHED.finding(("pools", pool), message, fix)


def _worker_that_misses(
    session: Session, coverages: Sequence[Coverage], node: Object
) -> Coverage | None:
    """The worker that would label a node, if taints keep every one off it."""
    name = node["metadata"]["name"]
    workers = [coverage for coverage in coverages if coverage.role == _WORKER]
    if any(_has_pod(session, worker, name) for worker in workers):
        return None
    return next((worker for worker in workers if untolerated(worker.template, node)), None)


def why_not(session: Session, coverage: Coverage, node: Object) -> str:
    """Why a DaemonSet has no pod on a node, as a sentence."""
    name = node["metadata"]["name"]
    reasons = why_no_pod(coverage.daemon_set, node, refusals_of(session.watches))
    return f"On {name}: {'; '.join(reasons)}."


def _fix(coverage: Coverage, node: Object) -> str:
    values = "the chart's values"
    taints = untolerated(coverage.template, node)
    if taints and mismatches(coverage.template, node):
        return f"Add the toleration and fix the affinity in {values}."
    if taints:
        return f"Add a toleration for {taints[0]} to {values}; a given list replaces the default."
    return f"Let the node selector and affinity in {values} match the labels of the pool's nodes."


def _has_pod(session: Session, coverage: Coverage, node: str) -> bool:
    namespace, _, name = coverage.name.partition("/")
    for pod in session.watches.pods.all():
        made_by = workload_of(pod)
        if made_by == (namespace, "DaemonSet", name) and pod["spec"].get("nodeName") == node:
            return is_alive(pod) or pod["status"].get("phase") == "Pending"
    return False
