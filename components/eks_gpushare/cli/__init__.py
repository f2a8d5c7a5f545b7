"""The `eks-gpushare` command. Each verb is a module of its own, imported when it is called."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from eks_gpushare.cli.streams import OutputError, ReaderGoneError, guarded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from eks_gpushare.cli.streams import Stream
    from eks_gpushare.cli.verbs import Verb

FINE, FOUND, WRONG_USAGE = 0, 1, 2
"""Exit codes: nothing wrong, error findings, wrong usage or input that cannot be read. The last one
is also that of output that cannot be written."""
DEFECT, INTERRUPTED, READER_GONE = 70, 130, 141
"""Exit codes: a defect of this package (`EX_SOFTWARE` of sysexits.h); the signals SIGINT and
SIGPIPE, as a shell has them. Whose output was not read to its end has not been told everything."""

_VERBS = {
    "init": "write a first project: Pulumi program, stack file and pods to try",
    "check": "validate stack files, without Pulumi, AWS or a network",
    "preview": "show what a stack would create, advertise and cost",
    "lint": "find sharing defects in manifests, values and configurations of any kind",
    "policy": "run the policy pack over a stack",
    "verify": "say whether a running cluster is what its stack declares, and if not, why",
    "iam": "print the least IAM policy that deploys a stack",
    "mig": "list the MIG layouts that fit on a GPU, or say why one does not",
    "shares": "say how many pods may share a GPU, by what one pod takes",
    "tenants": "say what each tenant of a stack is sure of, and what its pods have to say",
    "cost": "say what the GPU nodes of a stack cost, and whose every part of it is",
    "rules": "print rules, alerts and boards about a stack for Prometheus and Grafana",
    "schema": "print the JSON Schema of the environment",
    "findings": "explain findings by their codes or policies, or list all there are",
    "completion": "print what completes the command in a shell",
}


_COMPLETING = "_ARGCOMPLETE"
"""Set by the script of `completion` in the environment of the command that it asks."""
_RUN_A_PROGRAM = "eks_gpushare.program_verbs"
_MODULES = {verb: f"{_RUN_A_PROGRAM}.{verb}" for verb in ("preview", "policy", "iam")}
"""Modules of verbs that are not in this package: of another distribution, as what they run is."""
_INSTALLED_BY = {
    "preview": "eks-gpushare",
    "policy": '"eks-gpushare[policy]"',
    "iam": "eks-gpushare",
    "lab": '"eks-gpushare[lab]"',
}
"""What installs the verbs of other distributions than the one that has the command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Words after the command's name. Default: those of this process.

    Returns:
        0 if all is well, 1 with error findings, 2 for wrong usage, unreadable input or output that
        cannot be written; 70 for a defect, 130 and 141 for an interrupt and for output whose reader
        has gone.
    """
    own_process = arguments is None
    words = list(sys.argv[1:] if arguments is None else arguments)
    if own_process:
        # A short one: collecting cycles costs a quarter of its time and frees nothing it needs.
        gc.disable()
    with guarded(own_process=own_process) as out:
        try:
            code = _run(words)
            out.flush()
        except ReaderGoneError:
            code = READER_GONE
            _give_up(out)
        except OutputError as error:
            print(f"eks-gpushare: the output cannot be written: {error}", file=sys.stderr)
            code = WRONG_USAGE
            _give_up(out)
        if own_process:
            gc.freeze()  # nor does the last collection, at the end of the process
            if out.at_end is not None:
                out.at_end(code)
        return code


def _run(words: Sequence[str]) -> int:
    if _COMPLETING in os.environ:
        _complete_line()
    try:
        parser = _parser(words)
        options = parser.parse_args(words)
        if options.verb is None:
            parser.print_help()
            return WRONG_USAGE
        code: int = options.run(options)
    except SystemExit as ended:  # argparse: 0 after --help, 2 after an error
        return ended.code if isinstance(ended.code, int) else WRONG_USAGE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except OutputError:
        raise
    except Exception as error:  # noqa: BLE001  (whatever it is, it is not what a user did)
        from eks_gpushare.findings.defects import in_one_line

        message = f"this is a defect of eks-gpushare; report it: {in_one_line(error)}"
        print(f"eks-gpushare: {message}", file=sys.stderr)
        return DEFECT
    return code


def _complete_line() -> None:
    """Print what may come next on the line of a shell, and end the process."""
    from importlib.util import find_spec

    from eks_gpushare.cli.completers import complete, words_so_far

    if find_spec("argcomplete") is None:  # a script of before it was taken out: no answer
        sys.exit(FOUND)

    complete(_parser(words_so_far()))


def _give_up(out: Stream) -> None:
    """Let what is still held back go nowhere; at the end of the process it would fail again."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
    except (OSError, ValueError, AttributeError):  # no stream of a process
        return


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    from eks_gpushare.cli.examples import add_examples
    from eks_gpushare.cli.version import VersionAction

    parser = argparse.ArgumentParser(
        prog="eks-gpushare",
        description="GPU sharing on Amazon EKS from one stack file: checked, planned, proven.",
    )
    add_examples(parser, "")
    parser.add_argument("--version", action=VersionAction)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    first = next((word for word in words if not word.startswith("-")), "")
    # Of the others not even the names are needed to parse this line.
    for verb in [first] if first in _VERBS else _installed():
        sub = _add(verbs, verb, _VERBS[verb])
        if verb == first:
            _complete(sub, _module(verb, parser))
    if first not in _VERBS:
        from eks_gpushare.cli.verbs import added_verbs

        for added in added_verbs():
            _complete(_add(verbs, added.NAME, added.SUMMARY), added)
        if first in _INSTALLED_BY and first not in verbs.choices:
            _not_installed(first, parser)
    return parser


def _installed() -> list[str]:
    from importlib.util import find_spec

    programs = find_spec(_RUN_A_PROGRAM) is not None
    return [verb for verb in _VERBS if programs or verb not in _MODULES]


def _module(verb: str, parser: argparse.ArgumentParser) -> ModuleType:
    try:
        return import_module(_MODULES.get(verb, f"{__name__}.{verb}"))
    except ModuleNotFoundError as error:
        if error.name != _RUN_A_PROGRAM:
            raise
    return _not_installed(verb, parser)


def _not_installed(verb: str, parser: argparse.ArgumentParser) -> NoReturn:
    parser.error(f"{verb} is not installed: pip install {_INSTALLED_BY[verb]}")


def _add(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], verb: str, summary: str
) -> argparse.ArgumentParser:
    sub = verbs.add_parser(verb, help=summary, description=f"{summary[:1].upper()}{summary[1:]}.")
    sub.add_argument("--json", action="store_true", help="print one JSON document")
    return sub


def _complete(parser: argparse.ArgumentParser, verb: Verb | ModuleType) -> None:
    parser.set_defaults(run=verb.run)
    verb.add_arguments(parser)
    from eks_gpushare.cli.examples import add_examples

    add_examples(parser, parser.prog.partition(" ")[2])
