"""`eks-gpushare lab up|run|status|down|clean`."""

from __future__ import annotations

import argparse
import gc
import signal
import sys
import time
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE
from eks_gpushare.cli.streams import print_json
from eks_gpushare.findings.rule import rules_in
from eks_gpushare_lab import rules

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eks_gpushare_lab.control_plane.lifecycle import Status
    from eks_gpushare_lab.control_plane.state import Lab


NAME = "lab"
"""The verb that this module is."""
SUMMARY = "prove on a real control plane that the shares exist and the pods run"
"""What the list of verbs says of it."""
REPORTED_BY = "lab run"
"""What reports the findings of `RULES`."""
RULES = rules_in(rules)
"""The kinds of findings that only the lab can have."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `lab` and their options."""
    verbs = parser.add_subparsers(dest="lab_verb", metavar="VERB", required=True)
    for verb, summary in _SUMMARIES.items():
        sub = verbs.add_parser(
            verb, help=summary, description=f"{summary[:1].upper()}{summary[1:]}."
        )
        # Suppressed: the default would undo a --json that stands before the verb.
        described = {"action": "store_true", "default": argparse.SUPPRESS}
        sub.add_argument("--json", help="print one JSON document", **described)  # type: ignore[arg-type]  # keywords of argparse
        if verb == "run":
            _add_run_arguments(sub)
        if verb == "clean":
            sub.add_argument(
                "--all", action="store_true", help="this version's programs too, but what runs"
            )


def run(options: argparse.Namespace) -> int:
    """Do what the verb says."""
    from eks_gpushare_lab.errors import LabError, NoEngineError

    gc.enable()  # it runs for as long as its workloads take
    # What ends this process from outside is to stop a build or a start in order too.
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        code: int = _VERBS[options.lab_verb](options)
    except LabError as error:
        if options.json:
            print_json({"error": str(error)})
        else:
            print(f"eks-gpushare: {error}", file=sys.stderr)
        return WRONG_USAGE if isinstance(error, NoEngineError) else FOUND
    finally:
        signal.signal(signal.SIGTERM, previous)
    return code


def _add_run_arguments(parser: argparse.ArgumentParser) -> None:
    from eks_gpushare.program_verbs.preview import add_stack_arguments

    add_stack_arguments(parser)
    parser.add_argument(
        "--apply",
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="manifests to apply, in this order",
    )
    parser.add_argument(
        "--engine",
        action="store_true",
        help="install the stack by a real `pulumi up`, charts included, instead of applying its "
        "objects; needs pulumi, and the stack's charts from their repository or charts.*.path",
    )
    parser.add_argument(
        "--scale",
        type=_number_of,
        action="append",
        default=[],
        metavar="NAME=N",
        help="then scale a workload to N pods; once more for each workload, and for the same one "
        "to scale it again once nothing moves",
    )
    parser.add_argument(
        "--load",
        type=_load_of,
        action="append",
        default=[],
        metavar="NAME=PERCENT",
        help="how much of a GPU or MIG instance the pods of a workload use together, also over "
        'time: "web=170, 30s=10"; for what scales by it',
    )
    parser.add_argument(
        "--until-steady",
        type=_seconds,
        metavar="SECONDS",
        help="for how long nothing may have changed when the pods are counted (default: 1)",
    )
    parser.add_argument(
        "--expect",
        type=_number_of,
        action="append",
        default=[],
        metavar="NAME=N",
        help="exit with 1 unless N pods of a workload run in the end",
    )
    parser.add_argument(
        "--expect-nodes",
        type=_nodes_of,
        action="append",
        default=[],
        metavar="POOL=N",
        help="exit with 1 unless a GPU pool has N nodes in the end; once more for each pool",
    )
    parser.add_argument(
        "--until-idle",
        action="store_true",
        help="then scale what was applied, and the stack's own workloads, to nothing, wait until "
        "autoscalers have taken the nodes away, and tell how long that took",
    )
    parser.add_argument(
        "--nvidia",
        type=_folder,
        metavar="DIR",
        help="then run NVIDIA's own nvidia-device-plugin and gpu-feature-discovery of a folder, "
        "with its libnvidia-ml.so.1, for one simulated node of each pool, and compare; exit with 1 "
        "where they differ: --nvidia ./nvidia",
    )
    parser.add_argument(
        "--cloud",
        type=_cloud_setting,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="how the emulated AWS behaves: start=SECONDS from launch to node, plugin=SECONDS from "
        "then until its device plugin starts, insufficient=TYPE[:ZONE[:CAPACITY]] without "
        "capacity, notice=SECONDS before a spot instance ends, reserved=N instances of each "
        "capacity reservation; once more for each",
    )


def _cloud_setting(text: str) -> str:
    from eks_gpushare_lab.cloud.settings import CloudSettings, SettingError

    try:
        CloudSettings().with_options([text])
    except SettingError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _folder(text: str) -> Path:
    from pathlib import Path

    from eks_gpushare_lab.nvidia.programs import NvidiaFolderError, check

    folder = Path(text)
    try:
        check(folder)
    except NvidiaFolderError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return folder


def _load_of(text: str) -> tuple[str, str]:
    """`name=85`, or percent over time."""
    from eks_gpushare_lab.simulated_node.load import LoadError, parse

    name, _, load = text.partition("=")
    try:
        parse(load)
    except LoadError as error:
        raise argparse.ArgumentTypeError(f"{name}: {error}") from None
    return name, load


def _number_of(text: str) -> tuple[str, int]:
    """`name=3` or `namespace/name=3`."""
    name, _, number = text.rpartition("=")
    if not name or not (number.isascii() and number.isdigit()):
        message = f"{text!r} is not NAME=N: the name of a workload, or namespace/name, and a number"
        raise argparse.ArgumentTypeError(f"{message} of pods, such as gpu-demo/app=20")
    return name, int(number)


def _nodes_of(text: str) -> tuple[str, int]:
    """`gpu=3`."""
    name, _, number = text.rpartition("=")
    if not name or not (number.isascii() and number.isdigit()):
        message = (
            f"{text!r} is not POOL=N: the name of a pool, and a number of nodes, such as gpu=3"
        )
        raise argparse.ArgumentTypeError(message)
    return name, int(number)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def _up(options: argparse.Namespace) -> int:
    from eks_gpushare_lab.control_plane import lifecycle

    lab, started = lifecycle.up()
    if options.json:
        print_json({**lifecycle.status().as_json(), "reused": not started})
        return FINE
    if started:
        print(f"The lab is up; it took {lab.ready_seconds:.1f} s.")
    else:
        print("The lab is up already.")
    _print_connection(lab)
    return FINE


def _status(options: argparse.Namespace) -> int:
    from eks_gpushare_lab.control_plane import lifecycle

    status = lifecycle.status()
    if options.json:
        print_json(status.as_json())
    else:
        _print_status(status)
    return FINE if status.healthy else FOUND


def _down(options: argparse.Namespace) -> int:
    from eks_gpushare_lab.control_plane import lifecycle

    begun = time.monotonic()
    lab = lifecycle.down()
    seconds = time.monotonic() - begun
    if options.json:
        print_json({"stopped": lab is not None, "logs": str(lab.logs) if lab else None})
    elif lab is None:
        print("No lab is up.")
    else:
        print(f"The lab is down; it took {seconds:.1f} s. Its logs stay in {lab.logs}.")
    return FINE


def _run(options: argparse.Namespace) -> int:
    from eks_gpushare_lab.run import run as run_stack

    code: int = run_stack(options)
    return code


def _clean(options: argparse.Namespace) -> int:
    from eks_gpushare_lab.binaries import build
    from eks_gpushare_lab.binaries.progress import say

    def waiting(_: str) -> None:
        say("a lab is being started or built: waiting for it")

    cleaned = build.clean(everything=options.all, waiting=waiting)
    freed = sum(entry.size for entry in cleaned.removed)
    if options.json:
        shown = {
            "removed": [{"name": e.name, "bytes": e.size} for e in cleaned.removed],
            "running": [{"name": e.name, "bytes": e.size} for e in cleaned.running],
            "freedBytes": freed,
        }
        print_json(shown)
        return FINE
    for entry in cleaned.removed:
        print(f"Removed {entry.name}, {entry.size >> 20} MB.")
    for entry in cleaned.running:
        print(f"Kept {entry.name}: it runs. `eks-gpushare lab down` stops the lab.")
    print(f"{freed >> 20} MB are free again." if cleaned.removed else "Nothing was to be removed.")
    return FINE


def _print_status(status: Status) -> None:
    lab = status.lab
    if lab is None:
        print("No lab is up. `eks-gpushare lab up` starts one.")
        return
    if not status.alive:
        how = {"failed": "The last one failed", "stopped": "The last one was stopped"}
        print(f"No lab is up. {how.get(lab.phase, 'The last one was killed')}.")
        if lab.error:
            print(lab.error)
        print(f"  logs        {lab.logs}")
        return
    minutes = (time.time() - lab.started) / 60
    ready = "is ready" if status.healthy else f"is not ready ({lab.phase})"
    print(f"The lab {ready}, pid {lab.pid}, up for {minutes:.0f} min.")
    _print_connection(lab)
    each = ", ".join(f"{name} {size >> 20}" for name, size in status.memory.items())
    print(f"  memory      {sum(status.memory.values()) >> 20} MB ({each})")
    print(f"  logs        {lab.logs}")


def _print_connection(lab: Lab) -> None:
    print(f"  versions    {', '.join(f'{name} {number}' for name, number in lab.versions.items())}")
    print(f"  API server  {lab.url}")
    print(f"  kubeconfig  {lab.kubeconfig}")


def _terminate(number: int, _: object) -> None:
    raise SystemExit(128 + number)


_SUMMARIES = {
    "up": "start a control plane that stays until `lab down`",
    "run": "install a stack on a control plane and see which of its pods run",
    "status": "show versions, address, memory and logs of the lab that is up",
    "down": "stop the lab that is up",
    "clean": "remove programs that were built for other versions",
}

_VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "up": _up,
    "run": _run,
    "status": _status,
    "down": _down,
    "clean": _clean,
}
