"""What the components of one program say of the same pools: each is declared once, and served.

A program registers components one by one, and nobody tells a component which is the last. So the
later of two that disagree is refused, whichever that is. Of clusters, a component knows names at
best: where a program may have several, nothing is compared.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import SETTINGS

from eks_gpushare.config.base import converted
from eks_gpushare.config.pools import Pool
from eks_gpushare.config.sharing import Mig
from eks_gpushare.findings.finding import dotted
from eks_gpushare.sharing.bottlerocket import served_by_chart
from eks_gpushare.sharing.resources import mig_strategy, renames
from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.component_specs import ServedPool
    from eks_gpushare.findings.finding import FieldPath, Finding

RUN: ContextVar[object | None] = ContextVar("eks_gpushare_run", default=None)
"""What tells one run of a program from another, where a process makes components for several.
Default: the monitor, of which a program that runs itself has one."""

_ONCE = "Declare the pool once: give served, such as [pool.served], in place of pools."


class _Declared(NamedTuple):
    """A pool as a component says it."""

    called: str
    """The component."""
    pool: Pool


@dataclass(slots=True)
class _Run:
    """What the components of a run have said so far."""

    clusters: set[str] = field(default_factory=set)
    pools: dict[str, _Declared] = field(default_factory=dict)
    managers: dict[str, Mapping[str, Pool]] = field(default_factory=dict)
    """Pools that each manager serves."""


_RUNS: WeakKeyDictionary[object, _Run] = WeakKeyDictionary()


def _run() -> _Run:
    at = RUN.get() or SETTINGS.monitor
    if at is None or isinstance(at, MockMonitor):  # tests may make the same component many times
        return _Run()
    return _RUNS.setdefault(at, _Run())


def note_cluster(name: object) -> None:
    """Note that the program has a cluster of this name; one that is an output counts for none."""
    if isinstance(name, str):
        _run().clusters.add(name)


def disagreements_of_pool(pool: ServedPool) -> Iterator[Finding]:
    """What the managers that are there already say otherwise of a pool."""
    run = _run()
    if len(run.clusters) > 1:
        return
    declared = converted(Pool, pool)
    for called, served in run.managers.items():
        if pool.name in served:
            yield from _otherwise(declared, ("sharing",), called, served[pool.name])
        elif served_by_chart(declared):
            yield shape_rules.NOT_ALLOWED.finding(
                ("pool",),
                f"{called} of this program does not serve the pool: its nodes would have no device "
                "plugin, and advertise no GPU.",
                "Add the pool's served to the list there.",
            )


def declare_pool(called: str, pool: ServedPool) -> None:
    """Note what a pool is, which was found to be right."""
    _run().pools[pool.name] = _Declared(called, converted(Pool, pool))


def disagreements_of_manager(
    served: Mapping[str, tuple[FieldPath, Pool]],
) -> Iterator[Finding]:
    """What a manager says otherwise than the pools that are there already.

    Args:
        served: Its pools by name, each with the argument that has it.
    """
    run = _run()
    if len(run.clusters) > 1:
        return
    for name, (at, pool) in served.items():
        if name in run.pools:
            yield from _otherwise(pool, (*at, "sharing"), *run.pools[name])
    for name, (called, pool) in run.pools.items():
        if name not in served and served_by_chart(pool):
            yield shape_rules.NOT_ALLOWED.finding(
                ("served",),
                f"{called} of this program is not among the pools: its nodes would have no device "
                "plugin, and advertise no GPU.",
                "Add its served to the list.",
            )


def declare_manager(called: str, served: Mapping[str, Pool]) -> None:
    """Note which pools a manager serves."""
    _run().managers[called] = dict(served)


def _otherwise(mine: Pool, at: FieldPath, called: str, theirs: Pool) -> Iterator[Finding]:
    """The first thing that two declarations of one pool's sharing say differently."""
    here, there = _sharing(mine), _sharing(theirs)
    for key in dict.fromkeys([*here, *there]):
        if here.get(key) != there.get(key):
            place = (*at, key)
            yield shape_rules.NOT_ALLOWED.finding(
                place,
                f"{_said(here.get(key))} here, and {_said(there.get(key))} by {called}: what pods "
                f"are planned by is not what {dotted(place[-2:])} makes nodes advertise.",
                _ONCE,
            )
            return


def _said(value: object) -> str:
    return (
        "not given"
        if value is None
        else str(value).lower()
        if value in (True, False)
        else str(value)
    )


def _sharing(pool: Pool) -> dict[str, Any]:
    """How GPUs are shared, defaults too: they differ by who makes the nodes."""
    found = pool.sharing.model_dump(mode="json")
    if isinstance(pool.sharing, Mig):
        found["strategy"] = mig_strategy(pool.sharing, pool)
        if found.get("time_slicing"):
            found["time_slicing"]["rename"] = renames(pool)
    elif "rename" in found:
        found["rename"] = renames(pool)
    return found
