"""`eks-gpushare lab run`: a stack on the lab, with workloads, to the numbers that come out."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from eks_gpushare.cli.streams import print_json
from eks_gpushare.program.preview import locate, preview
from eks_gpushare.stack_file.project import ProjectError
from eks_gpushare_lab import rules
from eks_gpushare_lab.binaries.progress import say
from eks_gpushare_lab.client import ApiError, Client
from eks_gpushare_lab.cloud.settings import CloudSettings
from eks_gpushare_lab.control_plane import state
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.controllers.running import running
from eks_gpushare_lab.engine import tools
from eks_gpushare_lab.engine.derived import derived
from eks_gpushare_lab.engine.engine import Engine
from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.install import manifests
from eks_gpushare_lab.install.desired_cluster import desired_cluster
from eks_gpushare_lab.observing.workloads import SCALABLE
from eks_gpushare_lab.reporting.idle import until_idle
from eks_gpushare_lab.reporting.report import RunReport, ScalingStep, report_of
from eks_gpushare_lab.reporting.scaling import pool_reports
from eks_gpushare_lab.session import STEADY_SECONDS, NoWorkloadError, Session
from eks_gpushare_lab.simulated_node.load import GPU_DEMAND

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.program.preview import Preview
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.controllers.running import Running
    from eks_gpushare_lab.engine.tools import Tools
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster
    from eks_gpushare_lab.install.manifests import Manifest

FINE, FOUND, WRONG_USAGE = 0, 1, 2

_FOLLOW = {rules.NOT_REACHED.id, rules.DIFFERS.id, rules.NOT_REFERRED_TO.id}
"""What goes without saying where the engine did not install the stack."""


def run(options: argparse.Namespace) -> int:
    """Install a stack on the lab that is up, or on one for this run, and report.

    Args:
        options: of the command line: stack, program, apply, scale, expect, expect_nodes,
            until_steady, until_idle, engine, nvidia, json.

    Returns:
        0 if all is well, 1 with error findings, 2 for what cannot be read.

    Raises:
        NoEngineError: If the engine is wanted and not there; nothing has been started then.
        LabError: If there is no control plane to be had.
    """
    for option in ("expect", "expect_nodes"):
        twice = _expected_twice(_pairs(options, option))
        if twice:
            flag = option.replace("_", "-")
            sys.stderr.write(f"eks-gpushare: --{flag} says two numbers of {twice}\n")
            return WRONG_USAGE
    if getattr(options, "nvidia", None) is not None:
        from eks_gpushare_lab.nvidia.mounts import check_namespaces

        check_namespaces()  # before anything is started
    engine = tools.find() if options.engine else None
    try:
        given, unreadable = manifests.read(list(options.apply or ()))
        if unreadable:  # before anything is started; what is wrong with the stack is told after
            return _refuse(unreadable, options)
        previewed = _previewed(options)
    except OSError as error:
        sys.stderr.write(f"eks-gpushare: {error.filename} cannot be read: {error.strerror}\n")
        return WRONG_USAGE
    except ProjectError as error:
        sys.stderr.write(f"eks-gpushare: {error}\n")
        return WRONG_USAGE
    if previewed.recording is None or not previewed.ok:
        report = RunReport(findings=tuple(_why_stopped(previewed)))
    else:
        with control_plane() as lab:
            try:
                report = _on(lab, previewed, given, options, engine)
            except (OSError, ApiError) as error:
                raise LabError(f"the run stopped: {error}; see the logs in {lab.logs}") from error
    _print(report, options)
    if not previewed.report.readable:
        return WRONG_USAGE
    return FINE if report.ok else FOUND


def _previewed(options: argparse.Namespace) -> Preview:
    """The program's run with made-up answers, or where it does not bear them, with none."""
    where = locate(options.stack, options.program)
    made_up = preview(*where, known=True)
    if made_up.recording is None or made_up.recording.error is None:
        return made_up
    plainly = preview(*where)
    stopped = plainly.recording is None or plainly.recording.error is not None
    return made_up if stopped else plainly


def _unknown(desired: DesiredCluster) -> Iterator[Finding]:
    fix = "Nothing, if it does not matter here; else give it a value in the program."
    for name in desired.unknown:
        yield rules.NOT_KNOWN.finding(("program",), name, fix)


@contextmanager
def control_plane() -> Iterator[Lab]:
    """The lab that is up, or else one that lives as long as the block."""
    lab, alive = state.find()
    if lab is not None and alive and lab.phase == "ready":
        yield lab
        return
    with ControlPlane() as started:
        yield started.lab


def _on(
    lab: Lab,
    previewed: Preview,
    given: Sequence[Manifest],
    options: argparse.Namespace,
    with_tools: Tools | None,
) -> RunReport:
    """Run on a lab that is ready."""
    if previewed.recording is None:
        return RunReport()
    desired = desired_cluster(previewed.recording, previewed.project.program)
    engine = None
    if with_tools is not None:
        text, desired, found = derived(previewed, desired, lab)
        if found:
            return RunReport(findings=tuple(found))
        engine = Engine(with_tools, previewed.project, text, lab.directory)
    client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
    applied = [manifest.object for manifest in given]
    settings = CloudSettings().with_options(getattr(options, "cloud", None) or ())
    with (
        running(
            lab, client, previewed.recording, desired, applied=applied, settings=settings
        ) as controllers,
        Session(client, lab) as session,
    ):
        if engine is not None:
            return _run_engine(session, desired, engine, given, options, lab)
        with _live_table(session, options) as (show, tell):
            session.install(controllers.desired)
            controllers.await_pools(client)
            found, steps = _use(session, given, options, show, controllers)
            found = [*_unknown(desired), *found, *controllers.findings()]
            report = _seen(session, dict(_pairs(options, "expect")), found, options)
            report = replace(report, steps=steps)
            report = _held(session, report, options, lab, tell)
            return _idle(session, report, options, show, tell, controllers)


def _run_engine(
    session: Session,
    desired: DesiredCluster,
    engine: Engine,
    given: Sequence[Manifest],
    options: argparse.Namespace,
    lab: Lab,
) -> RunReport:
    found: list[Finding] = []
    steps: Sequence[ScalingStep] = ()
    expected = dict(_pairs(options, "expect"))
    with _live_table(session, options) as (show, tell):
        session.install(desired, lambda: engine.up(show, tell))
        if engine.findings:
            # What was to run on it is not tried: it would only tell of the same once more.
            given, expected = (), {}
            session.settle(STEADY_SECONDS, show=show)
        else:
            found, steps = _use(session, given, options, show)
        report = _seen(session, expected, [*engine.findings, *found], options)
        report = replace(report, steps=steps)
        if not engine.findings:
            report = _held(session, report, options, lab, tell)
            report = _idle(session, report, options, show, tell)
    shown = report.findings
    if engine.findings:
        shown = [finding for finding in shown if finding.code not in _FOLLOW]
    return replace(report, findings=shown, engine=engine.as_json())


def _seen(
    session: Session,
    expected: Mapping[str, int],
    found: Sequence[Finding],
    options: argparse.Namespace,
) -> RunReport:
    return report_of(session, expected, found, dict(_pairs(options, "expect_nodes")))


def _held(
    session: Session,
    report: RunReport,
    options: argparse.Namespace,
    lab: Lab,
    tell: Callable[[str], object],
) -> RunReport:
    """Hold the simulated nodes against NVIDIA's own programs, if a folder of them is given."""
    folder = getattr(options, "nvidia", None)
    if folder is None:
        return report
    from eks_gpushare_lab.nvidia.holding import hold

    held = hold(session, folder, lab.directory, tell)
    found = (finding for pool in held for finding in pool.findings())
    return replace(report, held=held, findings=(*report.findings, *found))


def _idle(
    session: Session,
    report: RunReport,
    options: argparse.Namespace,
    show: Callable[[], object],
    tell: Callable[[str], object],
    controllers: Running | None = None,
) -> RunReport:
    """Wait for idle pools, if that was asked for; the rest of the report is from before."""
    if not getattr(options, "until_idle", False):
        return report
    sooner = list(controllers.see_nodes()) if controllers is not None else []
    idle, found = until_idle(session, show=show, tell=tell)
    found = [*sooner, *found]
    later = pool_reports(session)
    pools = {
        name: replace(pool, nodes=later[name].nodes, most=later[name].most)
        for name, pool in report.pools.items()
        if name in later
    }
    findings = tuple(dict.fromkeys((*report.findings, *found)))
    return replace(report, pools=pools, idle=idle, findings=findings)


def _use(
    session: Session,
    given: Sequence[Manifest],
    options: argparse.Namespace,
    show: Callable[[], object],
    controllers: Running | None = None,
) -> tuple[list[Finding], Sequence[ScalingStep]]:
    """Apply and scale what the command line says, each time until nothing moves."""
    seconds = options.until_steady or STEADY_SECONDS
    found: list[Finding] = []
    steps = []
    missing = list(_loaded(session, getattr(options, "load", None) or ()))
    session.settle(STEADY_SECONDS, show=show)
    if given:
        session.apply(given)
        missing = list(_loaded(session, missing))
        session.settle(seconds, show=show)
    found += (_not_there(name, error) for name, _, error in missing)
    for step in _steps(_pairs(options, "scale")):
        found += controllers.see_nodes() if controllers is not None else ()
        for name, replicas in step.items():
            try:
                session.scale(name, replicas)
            except NoWorkloadError as error:
                found.append(_not_there(name, str(error)))
        session.settle(seconds, show=show)
        steps.append(ScalingStep(step, _running(session, step), session.scaling.nodes_now()))
    return found, steps


def _loaded(session: Session, loads: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, str, str]]:
    """Put loads on workloads; those that are not there come back, with the reason."""
    for name, load, *_ in loads:
        try:
            load_on(session, name, load)
        except NoWorkloadError as error:
            yield name, load, str(error)


def load_on(session: Session, name: str, text: str) -> None:
    """Say how much of a GPU the pods of a workload use together.

    Raises:
        NoWorkloadError: If there is none of that name, or several.
    """
    workload = session.find(name, SCALABLE)
    path = SCALABLE[workload.kind].format(workload.namespace, workload.name)
    session.client.patch(path, {"metadata": {"annotations": {GPU_DEMAND: text}}})
    session.touch()


def _not_there(name: str, error: str) -> Finding:
    fix = "Name one of them, or apply its manifest."
    return rules.NOT_AS_EXPECTED.finding(("workloads", name), error, fix)


def _steps(scaled: Sequence[tuple[str, int]]) -> Iterator[dict[str, int]]:
    """Workloads that are scaled together; one that is named again begins the next step."""
    step: dict[str, int] = {}
    for name, replicas in scaled:
        if name in step:
            yield step
            step = {}
        step[name] = replicas
    if step:
        yield step


def _running(session: Session, names: Iterable[str]) -> dict[str, int]:
    """Pods that run of workloads by name, without those that are not there."""
    found = {}
    for name in names:
        with suppress(NoWorkloadError):
            found[name] = session.observer.running(session.find(name))
    return found


@contextmanager
def _live_table(
    session: Session, options: argparse.Namespace
) -> Iterator[tuple[Callable[[], object], Callable[[str], object]]]:
    """What to call for the table to follow the lab, and to say something meanwhile."""
    if options.json or not sys.stdout.isatty():
        yield lambda: None, say
        return
    from eks_gpushare_lab.reporting import tables

    console = tables.make_console()
    shown, show = tables.live(console, session)
    with shown:
        yield show, lambda text: console.print(text, highlight=False, markup=False)


def _print(report: RunReport, options: argparse.Namespace) -> None:
    if options.json:
        print_json(report.as_json())
        return
    from eks_gpushare_lab.reporting import tables

    console = tables.make_console()
    if report.nodes or report.pools:
        tables.print_report(console, report)
    else:
        tables.print_findings(console, report.findings)


def _expected_twice(given: Sequence[tuple[str, int]]) -> str:
    """A name of which two numbers are expected; `""` if there is none."""
    counted = Counter(name for name, _ in dict.fromkeys(given))
    return next((name for name, times in counted.items() if times > 1), "")


def _refuse(unreadable: Sequence[Finding], options: argparse.Namespace) -> int:
    """Say what of the command line's files cannot be read."""
    if options.json:
        _print(RunReport(findings=tuple(unreadable)), options)
    else:
        for finding in unreadable:
            sys.stderr.write(f"eks-gpushare: {finding.message.removesuffix('.')}\n")
    return WRONG_USAGE


def _why_stopped(previewed: Preview) -> Iterator[Finding]:
    yield from previewed.findings
    recording = previewed.recording
    if recording is not None and recording.error is not None:
        fix = "Fix the program; `eks-gpushare preview` shows the same."
        message = f"The program stopped: {recording.error}"
        yield rules.PROGRAM_STOPPED.finding((), message, fix)


def _pairs(options: argparse.Namespace, option: str) -> list[tuple[str, int]]:
    """The names and numbers of an option that may be given several times."""
    return list(map(_pair, getattr(options, option, None) or ()))


def _pair(given: str | tuple[str, int]) -> tuple[str, int]:
    """A name and a number, also as the text NAME=N."""
    if isinstance(given, str):
        name, _, number = given.rpartition("=")
        return name, int(number)
    return given
