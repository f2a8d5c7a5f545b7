"""`eks-gpushare init [DIR]`."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE
from eks_gpushare.cli import init_words as words
from eks_gpushare.cli.streams import print_json
from eks_gpushare.cli.version import installed_version
from eks_gpushare.findings.text import print_findings

if TYPE_CHECKING:
    import argparse

    from eks_gpushare.scaffold.choices import Choices
    from eks_gpushare.scaffold.project import FirstProject

_MODES = ("exclusive", "timeSlicing", "mps", "mig")
_MANAGERS = ("devicePlugin", "gpuOperator")
_KEPT = ".gitignore"
"""Written only where there is none, whatever it says."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `init`."""
    parser.add_argument(
        "directory", metavar="DIR", nargs="?", default=".", help="where (default: here)"
    )
    parser.add_argument(
        "--name",
        type=words.name,
        help="name of the project, and with the stack's that of a new cluster (default: that of "
        "the folder)",
    )
    parser.add_argument("--stack", type=words.name, help="name of the stack (default: dev)")
    parser.add_argument(
        "--region",
        type=words.region,
        metavar="REGION",
        help="AWS region (default: $AWS_REGION, or us-west-2)",
    )
    parser.add_argument(
        "--mode",
        type=words.word_of(_MODES),
        metavar="MODE",
        help=f"how GPUs are shared: {', '.join(_MODES)} (default: timeSlicing)",
    )
    parser.add_argument(
        "--type", metavar="TYPE", help="EC2 instance type (default: a small one for the mode)"
    )
    parser.add_argument(
        "--replicas",
        type=int,
        metavar="N",
        help="pods on one GPU: timeSlicing and mps (default: 4); with mig pods on one device, "
        "which take turns (default: 1)",
    )
    parser.add_argument(
        "--layout",
        type=words.layout,
        metavar="LAYOUT",
        help="MIG layout by name, or devices per GPU such as 1g.10gb=2,2g.20gb=1",
    )
    parser.add_argument(
        "--manager",
        type=words.word_of(_MANAGERS),
        metavar="MANAGER",
        help="who runs the device plugin: devicePlugin (default) or gpuOperator",
    )
    parser.add_argument(
        "--find-links",
        metavar="DIR",
        help="folder with wheels of this package, for requirements.txt: until a release is on PyPI",
    )
    there = parser.add_argument_group("cluster, without which a new one is made")
    there.add_argument("--cluster", metavar="NAME", help="EKS cluster that is there already")
    there.add_argument("--kubeconfig", metavar="FILE", help="any cluster, by its kubeconfig")
    there.add_argument("--context", metavar="NAME", help="context in it (default: its current one)")
    there.add_argument(
        "--subnet",
        action="append",
        metavar="ID",
        help="with --cluster: subnet of the nodes; can be repeated (default: all private ones)",
    )
    new = parser.add_argument_group("new cluster")
    new.add_argument(
        "--public-cidr",
        type=words.cidr,
        action="append",
        metavar="CIDR",
        help="network that may reach the API server from outside the VPC, where pulumi up runs; "
        "can be repeated (default: none)",
    )
    new.add_argument(
        "--admin",
        action="append",
        metavar="ARN",
        help="IAM role with cluster-admin; can be repeated",
    )
    new.add_argument(
        "--zone", action="append", metavar="ZONE", help="zone by name; can be repeated"
    )
    parser.add_argument(
        "--yes",
        "--no-input",
        action="store_true",
        dest="yes",
        help="ask nothing: take the default of what is not given",
    )
    parser.add_argument("--force", action="store_true", help="write over files that are there")


def run(options: argparse.Namespace) -> int:
    """Ask for what is not given, check what comes out, and write it."""
    from eks_gpushare.scaffold.choices import NoTypeError, complete
    from eks_gpushare.scaffold.project import first_project

    folder = Path(options.directory)
    try:
        _refuse_contradictions(options)
        choices = complete(_choices(options, folder))
        choices = replace(
            choices,
            kubeconfig=_from_folder(choices.kubeconfig, folder),
            wheels=_from_folder(choices.wheels, folder),
        )
    except (NoTypeError, _UsageError) as error:
        print(f"eks-gpushare: {error}", file=sys.stderr)
        return WRONG_USAGE
    project = first_project(
        choices,
        folder=folder,
        version=installed_version(),
        workload_file=_workload_file(folder, choices.stack),
    )
    if not project.files:
        _refuse(project, choices, as_json=options.json)
        return FOUND
    return _write(project, choices, folder, options)


class _UsageError(Exception):
    """The words of the command line contradict one another, or the answers ended."""


def _refuse_contradictions(options: argparse.Namespace) -> None:
    mode = options.mode
    if options.cluster and options.kubeconfig:
        raise _UsageError("give --cluster or --kubeconfig, not both")
    if options.subnet and not options.cluster:
        raise _UsageError("--subnet is for the nodes in an EKS cluster: give --cluster too")
    if options.context and not options.kubeconfig:
        raise _UsageError("--context names one in a file: give --kubeconfig too")
    if options.layout and mode not in {None, "mig"}:
        raise _UsageError(f"--layout is for --mode mig, not {mode}")
    if options.replicas is not None and mode == "exclusive":
        raise _UsageError("--replicas is for --mode timeSlicing, mps and mig, not exclusive")
    if options.cluster or options.kubeconfig:
        for flag in ("public_cidr", "admin", "zone"):
            if getattr(options, flag):
                written = f"--{flag.replace('_', '-')}"
                raise _UsageError(f"{written} is for a new cluster, and this one is there already")


def _choices(options: argparse.Namespace, folder: Path) -> Choices:
    from eks_gpushare.scaffold import choices as known

    start = known.Choices(
        name=options.name or _known_name(folder) or known.project_name(folder.resolve().name),
        stack=options.stack or known.DEFAULT_STACK,
        region=options.region or _region_of_environment(kubeconfig=bool(options.kubeconfig)),
        mode=options.mode or ("mig" if options.layout else known.DEFAULT_MODE),
        instance_type=options.type,
        replicas=options.replicas,
        layout=options.layout,
        manager=options.manager,
        cluster=options.cluster,
        kubeconfig=options.kubeconfig,
        context=options.context,
        public_cidrs=tuple(options.public_cidr or ()),
        admins=tuple(options.admin or ()),
        zones=tuple(options.zone or ()),
        subnets=tuple(options.subnet or ()),
        wheels=options.find_links,
    )
    if options.yes or options.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return start
    from eks_gpushare.cli.init_questions import InputEndedError, ask

    try:
        return ask(start, _given(options))
    except InputEndedError as error:
        raise _UsageError("the input ended before the last answer: nothing was written") from error


def _from_folder(path: str | None, folder: Path) -> str | None:
    """A path as the stack file has it: from the project's folder on, unless it is a whole one."""
    if path is None or path.startswith("~") or Path(path).is_absolute():
        return path
    return os.path.relpath(path, folder)


def _given(options: argparse.Namespace) -> frozenset[str]:
    """What is not asked for, as the words of the command line have said it."""
    given = {
        name for name, value in vars(options).items() if value is not None and value is not False
    }
    if options.cluster or options.kubeconfig:
        given.add("cluster")
    if options.layout:
        given.add("mode")
    return frozenset(given)


def _known_name(folder: Path) -> str | None:
    """The name of the project that is there, to which a stack is added."""
    from eks_gpushare.stack_file.project import ProjectError, find_project

    if not (folder / "Pulumi.yaml").is_file():
        return None
    try:
        return find_project(folder).name
    except (ProjectError, OSError):
        return None


def _region_of_environment(*, kubeconfig: bool) -> str | None:
    if kubeconfig:
        return None
    names = ("AWS_REGION", "AWS_DEFAULT_REGION")
    given = next((os.environ[name] for name in names if os.environ.get(name)), None)
    return given if given and words.REGION.fullmatch(given) else None


def _workload_file(folder: Path, stack: str) -> str:
    """Of a second stack a file of its own, so that the first one's stays."""
    own = f"workload-{stack}.yaml"
    there = (folder / "workload.yaml").exists()
    added = there and not (folder / f"stacks/Pulumi.{stack}.yaml").exists()
    return own if added or (folder / own).exists() else "workload.yaml"


def _refuse(project: FirstProject, choices: Choices, *, as_json: bool) -> None:
    report = project.report
    errors = [finding for finding in report.findings if finding.severity == "error"]
    if as_json:
        document = {"files": [], "findings": [error.as_json() for error in errors]}
        print_json(document)
    print(f"The stack {choices.stack} would be refused, so nothing is written.", file=sys.stderr)
    print_findings([(None, error) for error in errors], sys.stderr)


def _write(
    project: FirstProject, choices: Choices, folder: Path, options: argparse.Namespace
) -> int:
    from eks_gpushare.cli.writing import ThereAlreadyError, write_files

    wanted = {folder / name: text for name, text in project.files.items()}
    try:
        changed = {file: text for file, text in wanted.items() if not _kept(file, text)}
        written = write_files(changed, force=options.force)
    except ThereAlreadyError as error:
        listed = "\n".join(f"  {file}" for file in error.files)
        print(
            "eks-gpushare: nothing is written, for these files are there already:\n"
            f"{listed}\n--force writes over them.",
            file=sys.stderr,
        )
        return WRONG_USAGE
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        at = error.filename if isinstance(error, OSError) and error.filename else folder
        print(f"eks-gpushare: nothing is written: {at}: {reason}", file=sys.stderr)
        return WRONG_USAGE
    if options.json:
        found = [finding.as_json() for finding in project.report.findings]
        document = {"files": [str(file) for file in written], "findings": found}
        print_json(document)
    else:
        from eks_gpushare.cli.init_report import print_written

        print_written(project, choices, folder, written)
    return FINE


def _kept(file: Path, text: str) -> bool:
    """Whether a file stays as it is."""
    if not file.is_file():
        return False
    return file.name == _KEPT or file.read_bytes() == text.encode()
