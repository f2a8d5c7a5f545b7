"""`eks-gpushare preview STACK...`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE
from eks_gpushare.cli.outputs import write_output
from eks_gpushare.cli.streams import print_json
from eks_gpushare.program_verbs.aside import aside
from eks_gpushare.program_verbs.purchases import (
    PodsError,
    asked_pods,
    purchase_lines,
    purchases,
)

if TYPE_CHECKING:
    import argparse

    from eks_gpushare.program.preview import Preview


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `preview`."""
    add_stacks_argument(parser, at_least="one")
    add_answers_argument(parser)
    parser.add_argument(
        "--before",
        metavar="FILE",
        help="an earlier version of the stack file: say what the edit does to nodes, pods and cost",
    )
    parser.add_argument(
        "--pod", metavar="POOL", help="print only the pod that asks for a share of this pool"
    )
    parser.add_argument(
        "--resource", metavar="NAME", help="with --pod: which of the pool's resources to ask for"
    )
    parser.add_argument(
        "--pods",
        metavar="POOL=COUNT",
        action="append",
        default=[],
        help="which nodes Karpenter buys for so many pods that wait together, and the cheapest",
    )
    parser.add_argument(
        "--quiet", "-q", action="store_true", help="pools, cost, errors and warnings only"
    )
    parser.add_argument(
        "--html", metavar="FILE", help="write a page with a map of nodes and shares too"
    )
    parser.add_argument(
        "--manifests", metavar="DIR", help="write the Kubernetes objects as YAML files into DIR"
    )


_STACK = "name of a stack, its file, or the folder of a program that has one stack"


def add_stack_arguments(parser: argparse.ArgumentParser) -> None:
    """What names a stack: verbs that run its program have it."""
    parser.add_argument("stack", metavar="STACK", help=_STACK)
    _add_program(parser)


def add_stacks_argument(
    parser: argparse.ArgumentParser, *, at_least: Literal["none", "one"]
) -> None:
    """What names stacks that are looked at one after the other.

    Args:
        parser: Of the verb.
        at_least: How many have to be named.
    """
    nargs = "*" if at_least == "none" else "+"
    parser.add_argument("stacks", metavar="STACK", nargs=nargs, help=_STACK)
    _add_program(parser)


def _add_program(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--program", metavar="DIR", help="directory of the Pulumi program (default: found upwards)"
    )


def add_answers_argument(parser: argparse.ArgumentParser) -> None:
    """What verbs take that are for programs of any kind."""
    parser.add_argument(
        "--answers",
        metavar="FILE",
        help="YAML with what look-ups and components of other packages answer",
    )


def run(options: argparse.Namespace) -> int:
    """Run the program of each stack in this process and show what it registers."""
    if wrong := _without_meaning(options):
        print(f"eks-gpushare: {wrong}", file=sys.stderr)
        return WRONG_USAGE
    if len(options.stacks) > 1:
        return _show_several(options)
    (stack,) = options.stacks
    previewed = load(stack, options)
    if previewed is None:
        return WRONG_USAGE
    if options.pod:
        return _print_pod(previewed, options)
    try:
        _show(previewed, stack, options)
    except PodsError as error:
        print(f"eks-gpushare: {error}", file=sys.stderr)
        return WRONG_USAGE
    drawn = options.html is None or _write_page(previewed, options.html)
    written = previewed.ok and options.manifests
    code = _write_manifests(previewed, options) if written else _code(previewed)
    return code if drawn else WRONG_USAGE


def _without_meaning(options: argparse.Namespace) -> str:
    """What is said of options that mean nothing together; nothing where all do."""
    if options.html == "":
        return "--html names no file"
    if options.resource and not options.pod:
        return "--resource says what a pod asks for: give --pod too"
    idle = [f"--{name}" for name in _NOT_OF_A_POD if options.pod and getattr(options, name)]
    return f"--pod prints a pod alone: leave {', '.join(idle)} away" if idle else ""


def _show(previewed: Preview, stack: str, options: argparse.Namespace) -> None:
    """One stack, and what Karpenter buys for pods on it.

    Raises:
        PodsError: If there can be no such pods.
    """
    bought = _purchases(previewed, options)
    if options.json:
        print_json({**previewed.as_json(), **({"purchases": bought} if bought else {})})
        return
    _print(previewed, stack, options)
    if bought:
        print("\n".join(["", *purchase_lines(bought)]))


def _purchases(previewed: Preview, options: argparse.Namespace) -> dict[str, Any]:
    """What Karpenter buys for the pods that were asked about; nothing of a stack with errors."""
    if not options.pods or not previewed.ok:
        return {}
    return purchases(asked_pods(options.pods, previewed.pools), previewed.pools)


_OF_ONE = ("before", "pod", "pods", "html", "manifests")
"""Options whose files and names are of a single stack."""
_NOT_OF_A_POD = ("before", "pods", "html", "manifests")
"""Options that say what is printed of a stack, or written, beside what `--pod` prints."""


def _show_several(options: argparse.Namespace) -> int:
    """Each as it is shown alone: the SDK and the components are loaded once for all of them."""
    for name in _OF_ONE:
        if getattr(options, name):
            message = f"--{name} is for one STACK, and there are {len(options.stacks)}"
            print(f"eks-gpushare: {message}: call it for each by itself", file=sys.stderr)
            return WRONG_USAGE
    code = FINE
    documents: list[object] = []
    for stack in options.stacks:
        previewed = load(stack, options)
        if previewed is None:
            code = WRONG_USAGE
            continue
        code = max(code, _code(previewed))
        if not options.json and documents:
            print()
        documents.append(previewed.as_json() if options.json else None)
        if not options.json:
            _print(previewed, stack, options)
    if options.json:
        print_json({"stacks": documents})
    return code


def _print(previewed: Preview, stack: str, options: argparse.Namespace) -> None:
    from eks_gpushare.program_verbs.preview_text import print_preview

    same = [stack, *(("--program", options.program) if options.program else ())]
    print_preview(previewed, same=shlex.join(same), quiet=options.quiet)


def _code(previewed: Preview) -> int:
    if previewed.ok:
        return FINE
    return FOUND if previewed.report.readable else WRONG_USAGE


def load(stack: str, options: argparse.Namespace) -> Preview | None:
    """The preview of a stack that is named; None, and a message, if there is no such stack."""
    from eks_gpushare.program.preview import compared, locate, preview
    from eks_gpushare.stack_file.project import ProjectError

    before = getattr(options, "before", None)
    try:
        with aside():
            previewed = preview(*locate(stack, options.program), answers=options.answers)
            return compared(previewed, Path(before), options.answers) if before else previewed
    except (ProjectError, FileNotFoundError) as error:
        print(f"eks-gpushare: {error}", file=sys.stderr)
        return None


def _print_pod(previewed: Preview, options: argparse.Namespace) -> int:
    from eks_gpushare.program_verbs.pods import NoSuchPodError, pod_of, pod_text

    if not previewed.ok:
        from eks_gpushare.program_verbs.preview_text import print_what_is_wrong

        print_what_is_wrong(previewed, sys.stderr)
        return _code(previewed)
    try:
        if options.json:
            print_json(pod_of(previewed.pools, options.pod, options.resource))
        else:
            sys.stdout.write(pod_text(previewed.pools, options.pod, options.resource))
    except NoSuchPodError as error:
        print(f"eks-gpushare: {error}", file=sys.stderr)
        return WRONG_USAGE
    return FINE


def _write_page(previewed: Preview, file: str) -> bool:
    """Write the map of what will be; whether it was written."""
    from eks_gpushare.program_verbs.share_map import share_map_of
    from eks_gpushare.reports.share_page import share_page

    return write_output(file, share_page(share_map_of(previewed)))


def _write_manifests(previewed: Preview, options: argparse.Namespace) -> int:
    from eks_gpushare.program.manifests import write_manifests

    if previewed.recording is None:
        return FOUND
    try:
        written = write_manifests(previewed.recording, Path(options.manifests))
    except OSError as error:
        message = f"{options.manifests} cannot be written to: {error.strerror}"
        print(f"eks-gpushare: {message}", file=sys.stderr)
        return WRONG_USAGE
    if not options.json:
        print(f"{len(written)} files written to {options.manifests}")
    return FINE
