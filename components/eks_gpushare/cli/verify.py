"""`eks-gpushare verify [STACK]`."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from typing import TYPE_CHECKING, NoReturn

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE
from eks_gpushare.cli.outputs import (
    HTML,
    Output,
    OutputUsageError,
    add_output_argument,
    html_output,
    outputs_of,
    write_outputs,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.cli.verify_watch import Listening
    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.live.aws_side import AwsSide
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.verdict import ClusterVerdict
    from eks_gpushare.reports.report import Report

_ROLE = "eks-gpushare-verify"
_PROMETHEUS = "prometheus"
_OFTEN = 30.0
"""Seconds between two looks of `--watch`: a list of a small cluster takes a third of one."""
_PARTS_OF_POD = 2
_PAUSE = 5.0
"""Seconds between two looks of `--wait`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `verify`."""
    parser.add_argument(
        "stack",
        nargs="?",
        metavar="STACK",
        help="name of a stack, or its file: what the cluster should be; without one, what is "
        "wrong with it whatever it should be",
    )
    parser.add_argument("--kubeconfig", metavar="FILE", help="as kubectl takes it")
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    parser.add_argument(
        "--from",
        dest="dumps",
        metavar="FILE",
        action="append",
        help="read what `kubectl get --output yaml` printed, or JSON of it, in place of a cluster; "
        "may be given several times, and - is standard input",
    )
    parser.add_argument(
        "--aws",
        action="store_true",
        help="ask AWS too, for the health of node groups and add-ons, insights and quotas, with "
        "the credentials of the environment",
    )
    parser.add_argument(
        "--cluster", metavar="NAME", help="name in EKS, for --aws (default: that of the stack)"
    )
    parser.add_argument(
        "--region", metavar="REGION", help="for --aws (default: that of the stack, or AWS's own)"
    )
    parser.add_argument("--namespace", "-n", metavar="NS", help="speak of pods of this one only")
    parser.add_argument("--pool", metavar="NAME", help="speak of nodes of this pool only")
    parser.add_argument(
        "--pod",
        metavar="NS/NAME",
        type=_pod,
        help="say of one pod why it does not run, and nothing else",
    )
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=_seconds,
        default=0.0,
        help="look again for so long until all is as declared, such as after pulumi up",
    )
    parser.add_argument(
        "--watch",
        metavar="SECONDS",
        type=_seconds,
        nargs="?",
        const=_OFTEN,
        help="look again every so many seconds until it is interrupted, and show the last verdict "
        f"(default: {_OFTEN:.0f})",
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        type=_listening,
        help="with --watch, serve the metrics of --output prometheus there under /metrics, and "
        "/healthz; :9464 is all addresses",
    )
    parser.add_argument(
        "--push",
        metavar="URL",
        type=_gateway,
        help="put these metrics into a Pushgateway too",
    )
    parser.add_argument(
        "--push-as",
        metavar="NAME",
        type=_instance,
        help="with --push, the instance whose metrics they are, where several push to one "
        "Pushgateway, such as the name of the cluster",
    )
    parser.add_argument(
        "--interval",
        metavar="SECONDS",
        type=_seconds,
        help="how often somebody makes this look, for the metrics (default: as --watch says)",
    )
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning"),
        default="error",
        help="the least severity that ends with 1 (default: error)",
    )
    parser.add_argument(
        "--rbac", action="store_true", help="print the ClusterRole that verify needs, and end"
    )
    parser.add_argument(
        "--events",
        action="store_true",
        help="tell causes as Events too, on the objects that they are about: the only thing it "
        "writes; with --rbac, the rights for that as well",
    )
    parser.add_argument(
        "--html", metavar="FILE", help="write a page with a map of nodes, shares and pods too"
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="errors and warnings only")
    add_output_argument(parser, _PROMETHEUS)


def _seconds(given: str) -> float:
    if not given.isascii() or not given.isdecimal():
        raise argparse.ArgumentTypeError(f"{given!r} is no number of seconds such as 600")
    return float(given)


def _pod(given: str) -> str:
    parts = given.split("/")
    if not all(parts) or len(parts) > _PARTS_OF_POD:
        said = f"{given!r} names no pod: write NAMESPACE/NAME, or NAME of one in default"
        raise argparse.ArgumentTypeError(said)
    return given


def _listening(given: str) -> Listening:
    from eks_gpushare.cli.verify_watch import listening  # for whoever gives it

    return listening(given)


def _instance(given: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", given):
        raise argparse.ArgumentTypeError(
            f"{given!r} is no name of an instance: letters, digits, dots and dashes"
        )
    return given


def _gateway(given: str) -> str:
    from eks_gpushare.cli.verify_watch import gateway  # for whoever gives it

    return gateway(given)


def run(options: argparse.Namespace) -> int:
    """Look at the cluster and print what is wrong."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if options.rbac:
        return _print_role(events=options.events)
    try:
        outputs = (*outputs_of(options), *html_output(options.html))
        _refuse_what_contradicts(options, outputs)
    except OutputUsageError as error:
        return _cannot(str(error))
    from eks_gpushare.cli.given_stack import StackRefusedError, refuse
    from eks_gpushare.lint.stack_side import StackUnusableError
    from eks_gpushare.live.connection import CannotLookError

    try:
        stack = _stack(options.stack) if options.stack else None
        if options.watch is not None:
            _watch(options, stack)
        verdict = _verdict(options, stack)
    except (CannotLookError, StackUnusableError) as error:
        return _cannot(str(error))
    except StackRefusedError as error:
        refuse(error.report, as_json=Output("json") in outputs)
        return WRONG_USAGE  # the cluster was not looked at: 1 is of what is wrong there
    from eks_gpushare.cli.verify_text import print_verdict

    written = write_outputs(
        outputs,
        text=lambda: print_verdict(verdict, quiet=options.quiet),
        document=verdict.as_json,
        reports=lambda: [_report(verdict, quiet=options.quiet)],
        own={
            _PROMETHEUS: lambda: _metrics(verdict, options.interval),
            HTML: lambda: _page(verdict),
        },
    )
    if options.push is not None and (fault := _pushed(verdict, options)) is not None:
        _cannot(fault)
        written = False
    if not written:
        return WRONG_USAGE
    return FINE if verdict.ok(options.fail_on) else FOUND


def _refuse_what_contradicts(options: argparse.Namespace, outputs: Sequence[Output]) -> None:
    """Refuse options of which one is for a cluster and the other for a file, or for one look.

    Raises:
        OutputUsageError: If there are such.
    """
    of_cluster = ("kubeconfig", "context", "wait", "watch", "events")
    if options.dumps and any(getattr(options, name) for name in of_cluster):
        given = "--kubeconfig, --context, --wait, --watch and --events"
        raise OutputUsageError(f"--from reads files: {given} are for a cluster")
    if options.push_as is not None and options.push is None:
        raise OutputUsageError("--push-as says whose metrics are pushed: give --push too")
    if options.watch is None:
        if options.listen is not None:
            raise OutputUsageError("--listen serves what --watch sees: give --watch too")
    elif tuple(outputs) not in {(Output("text"),), (Output("json"),)}:
        raise OutputUsageError(
            "--watch shows text, or JSON by the line: another format is for a single look, such as "
            "by cron"
        )
    elif options.interval is not None:
        raise OutputUsageError("--watch says how often it looks: leave --interval away")
    elif options.push is not None:
        raise OutputUsageError("--push is for a single look, such as by cron: serve by --listen")


def _metrics(verdict: ClusterVerdict, interval: float | None) -> str:
    from eks_gpushare.live.metrics import metrics

    return metrics(verdict, verdict.at, interval)


def _pushed(verdict: ClusterVerdict, options: argparse.Namespace) -> str | None:
    from eks_gpushare.cli.verify_watch import push

    return push(_metrics(verdict, options.interval), options.push, options.push_as)


def _page(verdict: ClusterVerdict) -> str:
    from eks_gpushare.live.share_map import share_map_of
    from eks_gpushare.reports.share_page import share_page

    return share_page(share_map_of(verdict))


def _print_role(*, events: bool) -> int:
    from eks_gpushare.live.kinds import cluster_role

    sys.stdout.write(json.dumps(cluster_role(_ROLE, events=events), indent=2) + "\n")
    return FINE


def _cannot(message: str) -> int:
    from eks_gpushare.findings.text import printable

    print(f"eks-gpushare: {printable(message)}", file=sys.stderr)
    return WRONG_USAGE


def _stack(given: str) -> Stack:
    """The stack.

    Raises:
        StackUnusableError: If it cannot be used.
        StackRefusedError: If it has errors, so that nothing is declared.
    """
    from eks_gpushare.cli.given_stack import StackRefusedError
    from eks_gpushare.lint.stack_side import read_stack, stack_file_of

    stack = read_stack(stack_file_of(given))
    if stack.errors:
        raise StackRefusedError(stack.report)
    return stack


def _watch(options: argparse.Namespace, stack: Stack | None) -> NoReturn:
    """Tell one verdict after the other until somebody interrupts.

    Raises:
        CannotLookError: If metrics cannot be served where they should be.
    """
    from eks_gpushare.cli.verify_text import print_verdict
    from eks_gpushare.cli.verify_watch import WatchOptions, watch

    watch(
        lambda: _verdict(options, stack),
        WatchOptions(
            options.watch,
            lambda verdict: print_verdict(verdict, quiet=options.quiet),
            as_json=outputs_of(options) == (Output("json"),),
            listening=options.listen,
        ),
    )


def _verdict(options: argparse.Namespace, stack: Stack | None) -> ClusterVerdict:
    from eks_gpushare.live.connection import CannotLookError
    from eks_gpushare.live.one_pod import of_pod
    from eks_gpushare.live.verdict import verdict_of

    def judged(objects: ClusterObjects) -> ClusterVerdict:
        aws = _aws(options, stack) if options.aws else None
        about = {"namespace": options.namespace, "pool": options.pool}
        found = verdict_of(objects, stack, aws=aws, **about, drawn=options.html is not None)
        return found if options.pod is None else of_pod(found, objects, options.pod)

    if options.dumps:
        from eks_gpushare.live.dumps import read_dumps

        try:
            return judged(read_dumps(options.dumps))
        except RecursionError:
            named = ", ".join(options.dumps)
            raise CannotLookError(f"{named} cannot be read: it is nested too deeply.") from None
    from eks_gpushare.live.connection import api_server, event_server
    from eks_gpushare.live.events import told_as_events
    from eks_gpushare.live.listing import read_cluster

    until = time.monotonic() + options.wait
    fails_on: Severity = options.fail_on
    tenants = bool(stack and stack.environment and stack.environment.tenants)
    while True:
        # Another kubectl each time: the last may have ended, or its login have expired.
        with api_server(options.kubeconfig, options.context) as server:
            left = until - time.monotonic()
            try:
                objects = read_cluster(server, tenants=tenants)
                verdict = judged(objects)
            except CannotLookError:
                if left <= 0:
                    raise
            else:
                if left <= 0 or (verdict.ok(fails_on) and not verdict.joining):
                    if not options.events:
                        return verdict
                    writing = event_server(options.kubeconfig, options.context)
                    return told_as_events(verdict, objects, server, writing)
        time.sleep(min(_PAUSE, max(left, 0.0)))


def _aws(options: argparse.Namespace, stack: Stack | None) -> AwsSide:
    from eks_gpushare.live.aws_side import read_aws
    from eks_gpushare.live.checks.vcpu_quotas import quota_demands
    from eks_gpushare.live.connection import CannotLookError

    name = options.cluster or (stack.cluster if stack is not None else None)
    if not name:
        raise CannotLookError("--aws asks of a cluster by its name in EKS: give --cluster NAME.")
    _, most = quota_demands(stack)
    return read_aws(name, options.region or (stack.region if stack is not None else None), most)


def _report(verdict: ClusterVerdict, *, quiet: bool) -> Report:
    from eks_gpushare.facts.vcpus import VCPU_QUOTA
    from eks_gpushare.findings.rule import rules_in
    from eks_gpushare.lint.all_rules import lint_rules
    from eks_gpushare.live import rules
    from eks_gpushare.reports.findings import Located, report_of
    from eks_gpushare.rules import defect_rules

    every = {
        rule.id: rule for rule in (*lint_rules(), *rules_in(rules), VCPU_QUOTA, *defect_rules())
    }
    subject = verdict.stack or verdict.whence
    found = [
        Located(cause.fault.finding, subject)
        for cause in verdict.causes
        if not quiet or cause.fault.finding.severity != "info"
    ]
    notes = [f"{kind}: {why}" for kind, why in verdict.unknown.items()]
    return report_of("verify", [subject], found, every, notes=notes)
