"""Priorities of pods with GPUs: what the API server takes, and whom they must not push aside.

No class can stand above the system's two, since the API server takes values up to 10^9 alone. What
can stand below a tenant's pods is what the node needs to hand out GPUs: a device plugin that was
written out without a class has priority 0, and gives way to whoever has more and preempts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.daemons import TITLES, daemons
from eks_gpushare.inventory.items import PART_OF_POD, Pointer, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.values import at, text
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.daemons import Daemon
    from eks_gpushare.inventory.inventory import Inventory

NOT_TAKEN: Final = rule_of("GPU1270")
ABOVE_DAEMONS: Final = rule_of("GPU1271")
_HIGHEST: Final = 1_000_000_000
_RESERVED: Final = "system-"
_SYSTEM: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_NEEDED: Final = ("plugin", "mps")
"""Without these on a node its GPUs are gone, or nobody on them gets a turn."""


class _Priority(NamedTuple):
    """Of pods."""

    value: int
    preempts: bool
    called: str
    """The class by its name, or that there is none."""


@edge(NOT_TAKEN)
def classes_are_taken(inventory: Inventory) -> Iterator[Problem]:
    """Each by itself, as the API server validates it."""
    for each in inventory.of(Pointer):
        value, name = at(each.spec, "value"), each.name
        if each.kind != "PriorityClass" or not isinstance(name, str) or name in _SYSTEM:
            continue
        if name.startswith(_RESERVED):
            message = f"begins with {_RESERVED}, which only the system's own two may"
            place: FieldPath = ("metadata", "name")
            fix = "Give it another name, there and in the pods that name it."
        elif isinstance(value, int) and value > _HIGHEST:
            message = f"has the value {value}, and {_HIGHEST} is the highest that there may be"
            place, fix = ("value",), f"Lower it to {_HIGHEST} or less."
        else:
            continue
        message = f"{at_start(each.source.name)} {message}: the API server refuses it."
        yield Problem(NOT_TAKEN, each.source, place, message, fix)


@edge(ABOVE_DAEMONS)
def daemons_stay(inventory: Inventory) -> Iterator[Problem]:
    """Pods that ask for GPUs, against the DaemonSets that hand these out and are written out."""
    for cluster in inventory.clusters():
        classes = _classes(inventory, cluster)
        needed = [each for each in daemons(inventory, cluster) if each.role in _NEEDED]
        known = [
            (daemon, found)
            for daemon in needed
            # What a chart says of it is not read: its default is the highest.
            if isinstance(daemon.item, Workload)
            and (found := _of(daemon.spec, classes)) is not None
        ]
        # Of several it is not known which one serves the nodes of whom.
        if len(known) < len(needed) or not known:
            continue
        daemon, below = max(known, key=lambda each: each[1].value)
        for workload, _ in gpu_workloads(inventory, cluster):
            above = _of(workload.spec, classes)
            if workload.kind == PART_OF_POD or above is None or not above.preempts:
                continue
            if above.value > below.value:
                yield _pushed_aside(workload, above, daemon, below)


def _classes(inventory: Inventory, cluster: str) -> dict[str, Any]:
    """What is known of classes by name; `""` is that of pods without one."""
    own = {
        str(each.name): each.spec
        for each in inventory.of(Pointer, cluster)
        if each.kind == "PriorityClass"
    }
    classes = own | {name: {"value": value} for name, value in _SYSTEM.items()}
    # One for everybody else is that of pods without a class.
    if not any(at(each, "globalDefault") for each in own.values()):
        classes[""] = {"value": 0}
    return classes


def _of(spec: Any, classes: Mapping[str, Any]) -> _Priority | None:
    """The priority of pods; None where it is not known, as of a class that is not here."""
    name = text(at(spec, "priorityClassName"))
    found = classes.get(name)
    value = at(found, "value")
    if not isinstance(value, int):
        return None
    policies = (at(spec, "preemptionPolicy"), at(found, "preemptionPolicy"))
    return _Priority(value, "Never" not in policies, name or "no class")


def _pushed_aside(
    workload: Workload, above: _Priority, daemon: Daemon, below: _Priority
) -> Problem:
    return Problem(
        ABOVE_DAEMONS,
        workload.source,
        (*workload.spec_path, "priorityClassName"),
        f"{at_start(workload.source.name)} has the class {above.called} with the priority "
        f"{above.value}, and {daemon.title} {below.value} with {below.called}: where a node is "
        f"full, {TITLES[daemon.role]} gives way to it, and the node's GPUs go with it.",
        f"Write `priorityClassName: system-node-critical` in {daemon.source.name}, or "
        f"`preemptionPolicy: Never` in the class {above.called}.",
    )
