"""Of what must be on a node once there are not two: host engines of DCGM."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.chart_daemonsets import EXPORTER_CHART, OPERATOR_CHART, chart_of
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.daemons import Daemon, daemons
from eks_gpushare.inventory.items import (
    Release,
    Workload,
)
from eks_gpushare.inventory.matching import is_tolerated, never_meet
from eks_gpushare.inventory.node_agent import engine_tolerations
from eks_gpushare.inventory.nodes import NodeKind, declared_nodes
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.scheduling import keeping_off, lasting
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, switch, text
from eks_gpushare.inventory.ways import are_two_ways
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.sharing.node_monitoring import AGENT, ENGINE_ARCH, REMOTE_ENGINE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement

TWO_ENGINES = rule_of("GPU1187")
_ENGINE_IMAGE = re.compile(r"(?:.*/)?dcgm(?:[:@].*)?")


@edge(TWO_ENGINES)
def engines(inventory: Inventory) -> Iterator[Judgement]:
    """Exporters that start an engine each, the operator's own, and that of EKS's agent."""
    for cluster in inventory.clusters():
        kinds = [kind for kind in declared_nodes(inventory, cluster) if not kind.serves_itself]
        found: list[tuple[Item, str]] = [
            (release, what)
            for release in _of_one_operator(inventory.of(Release, cluster))
            for what in _engines_of(release, kinds)
        ]
        found += [
            (daemon.item, "the DCGM exporter")
            for daemon in daemons(inventory, cluster)
            if daemon.role == "exporter"
            and isinstance(daemon.item, Workload)
            and _starts_one(daemon)
        ]
        found += [
            (workload, "DCGM")
            for workload in inventory.of(Workload, cluster)
            if workload.kind == "DaemonSet" and _runs_one(workload.spec)
        ]
        meeting = (
            pair
            for pair in combinations(found, 2)
            if _are_at_once(*(item.source.condition for item, _ in pair))
            and not never_meet(*(getattr(item, "spec", None) for item, _ in pair))
            and not are_two_ways(*(item for item, _ in pair))
        )
        pair = next(meeting, None)
        if pair is None or (not kinds and inventory.complete):
            continue
        (one, first), (other, second) = pair
        yield Problem(
            TWO_ENGINES,
            other.source,
            (),
            f"{at_start(second)} of {other.source.name} and {first} of {one.source.name} each run "
            "a host engine of DCGM on the nodes with GPUs.",
            f"Switch one of them off, or let the exporter use the other's by {REMOTE_ENGINE}.",
            None if kinds or inventory.complete else _as_certain(one, other),
        )


def _are_at_once(one: str | None, other: str | None) -> bool:
    return one is not None and one == other  # of two conditions one may be the other's


def _of_one_operator(releases: Sequence[Release]) -> Iterator[Release]:
    """Releases, without ClusterPolicies beside the operator's chart, which makes one, or another.

    The operator goes by one ClusterPolicy.
    """
    operators = [release for release in releases if chart_of(release.chart) == OPERATOR_CHART]
    policies = [release for release in operators if release.source.path[-1:] == ("spec",)]
    left_out = {id(each) for each in policies[len(policies) == len(operators) :]}
    yield from (release for release in releases if id(release) not in left_out)


def _as_certain(*items: Item) -> Severity | None:
    """A note, where a chart is only known by values that nothing says are installed."""
    loose = any(isinstance(item, Release) and item.name in ("", UNKNOWN) for item in items)
    return "info" if loose else None


def _engines_of(release: Release, kinds: Sequence[NodeKind]) -> Iterator[str]:
    chart = release.chart.rpartition("/")[2]
    if release.values is UNKNOWN:
        return
    if chart_of(chart) == EXPORTER_CHART:
        arguments = [str(text(item)) for item in items(at(release.values, "arguments"))]
        if not _uses_other(at(release.values, "extraEnv")) and "-r" not in arguments:
            yield "the DCGM exporter"
    elif chart_of(chart) == OPERATOR_CHART:
        if (own := engine_of_operator(release.values)) is not None:
            yield own
    elif chart.startswith(AGENT) and (not kinds or any(_is_on(release, kind) for kind in kinds)):
        yield "the node monitoring agent"


def engine_of_operator(values: Any) -> str | None:
    """What of the GPU Operator starts an engine, by the values of its chart; None if nothing does.

    With an engine of its own, the operator's exporter uses that one.
    """
    if switch(at(values, "dcgm", "enabled")) is True:
        return "DCGM"
    exporter = at(values, "dcgmExporter")
    exports = at(exporter, "enabled") in (None, True, "true")
    return "the DCGM exporter" if exports and not _uses_other(at(exporter, "env")) else None


def _is_on(agent: Release, kind: NodeKind) -> bool:
    """Whether the engine of EKS's agent runs on nodes: of one architecture, and as they taint."""
    taints, tolerations = lasting(kind.nodes.taints), engine_tolerations(agent)
    if taints is UNKNOWN or (kind.type is not None and kind.type.arch != ENGINE_ARCH):
        return False
    return all(is_tolerated(taint, tolerations) for taint in keeping_off(taints))


def _starts_one(exporter: Daemon) -> bool:
    """Whether a DaemonSet that is written out has the engine within, as it has untold."""
    for container in items(at(exporter.spec, "containers")):
        given = [*items(at(container, "command")), *items(at(container, "args"))]
        if _uses_other(at(container, "env")) or UNKNOWN in given:
            return False
        words = [word for argument in given for word in str(argument).split()]
        if any(word.startswith(("-r", "--remote-hostengine-info")) for word in words):
            return False
    return True


def _runs_one(spec: object) -> bool:
    """Whether pods are the engine itself: NVIDIA's image of it, or the program by its name."""
    return any(
        _ENGINE_IMAGE.fullmatch(str(at(container, "image")))
        or any("nv-hostengine" in str(word) for word in items(at(container, "command")))
        for container in items(at(spec, "containers"))
    )


def _uses_other(env: object) -> bool:
    return any(at(item, "name") == REMOTE_ENGINE for item in items(env)) or has_unknown(env)
