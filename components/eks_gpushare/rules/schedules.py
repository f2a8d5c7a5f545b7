"""Rules about what comes and goes by the time: workloads and warm room."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from eks_gpushare.documents.cron import cron_fault
from eks_gpushare.documents.windows import (
    ZonedWindow,
    is_guessed,
    skipped,
    window_fault,
    zone_fault,
)
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.workloads import is_scaled, is_stopped_by_queue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.config.windows import Window
    from eks_gpushare.config.workloads import Workload
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_CRON = "https://keda.sh/docs/2.20/scalers/cron/"
_HPA = (
    "https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#algorithm-details"
)

NO_KEDA = Rule(
    "GPU853",
    "error",
    "Where something comes and goes by the time or by a queue, KEDA is there to see to it.",
    "The API server refuses the ScaledObject, and the number of pods stays what it is.",
    _CRON,
)
WINDOW = Rule(
    "GPU854",
    "error",
    "The starts and ends of a window are schedules that take turns.",
    "KEDA looks at which of the two falls next. A second end in a row opens the window for all of "
    "the time before it: with a start on weekdays and an end every day, pods run, and nodes are "
    "paid, from Friday to Sunday. A start that never falls opens it for ever.",
    "https://github.com/kedacore/keda/blob/v2.20.2/pkg/scalers/cron_scaler.go",
)
TIME_ZONE = Rule(
    "GPU855",
    "error",
    "The time zone of a window is one of the IANA database.",
    "KEDA cannot tell what time it is there: the ScaledObject has an error for its trigger, and "
    "nothing comes or goes.",
    "https://www.iana.org/time-zones",
)
SKIPPED = Rule(
    "GPU856",
    "warning",
    "No window starts or ends in the hour that clocks leave out when summer time begins.",
    "KEDA leaves it out as well: without that start the window is open since the end before, and "
    "without that end it is closed until the next one.",
    "https://github.com/robfig/cron/blob/v3.0.1/doc.go",
)
COUNTS = Rule(
    "GPU857",
    "error",
    "A window has more pods than there are outside of it, and no more than there may be.",
    "It does nothing, or KEDA refuses the ScaledObject; and what has no pods at all is never "
    "started.",
    _CRON,
)
WITHIN_A_TENTH = Rule(
    "GPU858",
    "warning",
    "Numbers of pods that follow each other by the time differ by more than a tenth.",
    "A HorizontalPodAutoscaler leaves differences of a tenth alone: the number stays what it was.",
    _HPA,
)
_TENTH = 0.1
_INSTALL_ZONES = (
    "Run pip install tzdata, or install the system's package of that name. KEDA has zones of its "
    "own."
)
_EXAMPLE = '{start: "0 8 * * 1-5", end: "0 18 * * 1-5"}'


def _workloads(ctx: Context) -> dict[str, tuple[Workload, Sequence[Window]]]:
    given = (ctx.environment.workloads or {}).items()
    return {name: (each, each.schedule) for name, each in given if each.schedule is not None}


@check(Scope.ENVIRONMENT, NO_KEDA)
def keda_is_there(ctx: Context) -> Iterator[Finding]:
    if ctx.environment.keda is not None:
        return
    pools = ctx.environment.pools.items()
    warm = {name: pool.warm for name, pool in pools if pool.warm is not None}
    at: list[FieldPath] = [("workloads", name, "schedule") for name in _workloads(ctx)]
    at += [("pools", name, "warm", "schedule") for name, room in warm.items() if room.schedule]
    for path in at:
        what = "workload" if path[0] == "workloads" else "warm room of the pool"
        message = f"The {what} {path[1]} follows a schedule, and the stack has no KEDA."
        fix = "Add keda: {}, or keda: {install: false} where the cluster has one."
        yield NO_KEDA.finding(path, message, fix)
    for name, workload in (ctx.environment.workloads or {}).items():
        if is_stopped_by_queue(workload):
            message = f"A queue starts and stops the workload {name}, and the stack has no KEDA."
            fix = "Add keda: {}, whose operator then may read how long the queue is."
            yield NO_KEDA.finding(("workloads", name, "wake", "queue"), message, fix)


@check(Scope.WORKLOADS, WINDOW, TIME_ZONE, SKIPPED)
def windows_of_workloads(ctx: Context) -> Iterator[Finding]:
    for name, (_, windows) in _workloads(ctx).items():
        yield from _windows(("workloads", name, "schedule"), windows)


@check(Scope.POOL, WINDOW, TIME_ZONE, SKIPPED)
def windows_of_pools(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    del ctx
    if pool.warm is not None and pool.warm.schedule is not None:
        yield from _windows(("pools", name, "warm", "schedule"), pool.warm.schedule)


def _windows(at: FieldPath, windows: Sequence[Window]) -> Iterator[Finding]:
    if not windows:
        message = "The schedule has no windows."
        yield WINDOW.finding(at, message, f"Add one, such as {_EXAMPLE}, or remove the key.")
    for index, window in enumerate(windows):
        here: FieldPath = (*at, index)
        wrong = list(_window(here, window))
        yield from wrong
        if fault := zone_fault(window.time_zone):
            message = f'"{window.time_zone}" is no time zone.'
            yield TIME_ZONE.finding((*here, "timeZone"), message, fault)
        elif is_guessed(window.time_zone):
            message = (
                f"Python finds no time zones here: whether there is one called {window.time_zone}, "
                "and when its clocks change, is not checked, and hours are those of UTC."
            )
            yield SKIPPED.finding((*here, "timeZone"), message, _INSTALL_ZONES)
        elif not wrong and (
            event := skipped(ZonedWindow(window.start, window.end, window.time_zone))
        ):
            message = f"There is no such time for the {event}, in {window.time_zone}."
            fix = "Take a time before or after the hour that is left out."
            yield SKIPPED.finding(here, message, fix)


def _window(at: FieldPath, window: Window) -> Iterator[Finding]:
    given = {"start": window.start, "end": window.end}
    faults = {key: fault for key, text in given.items() if (fault := _schedule_fault(text))}
    for key, fault in faults.items():
        message = f'"{given[key]}" is no schedule: {fault}.'
        yield WINDOW.finding((*at, key), message, f"Write five fields, as in {_EXAMPLE}.")
    if faults:
        return
    if window.start == window.end:
        message = f"start and end are the same, {window.start}."
        fix = "Give them different times; for what is always there, give no schedule."
        yield WINDOW.finding(at, message, fix)
    elif fault := window_fault(window.start, window.end):
        fix = (
            f"Let each start have an end of its own, at another minute, as in {_EXAMPLE}; of "
            "windows that do not, make two."
        )
        yield WINDOW.finding(at, f"The window is not as it is written: {fault}.", fix)


def _schedule_fault(text: str) -> str | None:
    """Why KEDA takes a text for no schedule; it is stricter than others that read cron."""
    if text.startswith("@"):
        return "KEDA knows no words such as @daily"
    if text.startswith(("TZ=", "CRON_TZ=")):
        return "the time zone has a key of its own, timeZone"
    return cron_fault(text)


@check(Scope.WORKLOADS, COUNTS, WITHIN_A_TENTH)
def counts(ctx: Context) -> Iterator[Finding]:
    for name, workload in (ctx.environment.workloads or {}).items():
        at: FieldPath = ("workloads", name)
        yield from _none_outside(at, workload)
        follows, low, most = is_scaled(workload), workload.replicas.min, workload.replicas.max
        windows = workload.schedule or ()
        for index, window in enumerate(windows):
            here: FieldPath = (*at, "schedule", index, "replicas")
            if window.replicas <= low and not workload.auto_stop:
                message = f"The window has {window.replicas} pods, and there are {low} without it."
                fix = f"Give it more than {low}, or set replicas.min to less; 0 is none."
                yield COUNTS.finding(here, message, fix)
            elif follows and most is not None and window.replicas > most:
                message = f"The window has {window.replicas} pods, and replicas.max is {most}."
                yield COUNTS.finding(here, message, "Give it less, or set replicas.max to more.")
        if not follows:
            numbers = sorted({low, *(window.replicas for window in windows)})
            yield from _close(at, numbers)


def _none_outside(at: FieldPath, workload: Workload) -> Iterator[Finding]:
    if workload.replicas.min:
        return
    here: FieldPath = (*at, "replicas", "min")
    if workload.auto_stop or is_scaled(workload):
        message = "Nothing is measured of no pods, so that their number cannot follow it."
        if is_stopped_by_queue(workload):
            message = "A queue starts as many pods as there are at least, and that is none."
        fix = (
            "Set min to 1 or more. To have none while nothing is asked of it, set autoStop: true "
            "with wake."
        )
        yield COUNTS.finding(here, message, fix)
    elif not workload.schedule:
        message = "The workload has no pods, and nothing is said of when it has some."
        yield COUNTS.finding(here, message, "Add schedule, or set min to 1 or more.")


def _close(at: FieldPath, numbers: list[int]) -> Iterator[Finding]:
    for less, more in itertools.pairwise(numbers):
        if more - less <= _TENTH * more:
            message = f"Between {less} and {more} pods there is a tenth at most."
            fix = "Let them differ by more, or be the same."
            yield WITHIN_A_TENTH.finding((*at, "schedule"), message, fix)
