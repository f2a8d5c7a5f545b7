"""Why a program of another language stopped, in the words of who knows best.

A refused registration is told by what refused it. What the program says of it then, or that its
process ended, adds nothing. Else it is what the program logged, or the compiler printed; and where
something is missing, also the command that mends it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eks_gpushare.program.language_host.order import place_of
from eks_gpushare.program.recording import ProgramError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from eks_gpushare.program.language_host.host import Outcome
    from eks_gpushare.program.language_host.monitor import Failure, HostedMonitor
    from eks_gpushare.program.recording import Recording
    from eks_gpushare.stack_file.project import Project

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_HEADS = (
    re.compile(r"Running program '.*' failed with an unhandled exception:\s*"),
    re.compile(r"an unhandled error occurred: program failed:\s*"),
    re.compile(r"error in compiling Go: (unable to run `go build`: )?", re.IGNORECASE),
    re.compile(r"<ref \*[0-9]+> "),
    re.compile(r"\Aexit status [0-9]+\n(# .*\n)?"),
)
_FRAME = re.compile(
    r"^\s+at .*?\(?(?:file://)?(/[^()]*?):([0-9]+)(?::[0-9]+)?\)?( \{)?$", re.MULTILINE
)
_FIRST_FRAME = re.compile(r"\n\s+at ")
_KIND = re.compile(r"(?:Uncaught )?([A-Z][A-Za-z]*(?:Error|Exception)): ")
_PLACE = re.compile(r"^(?:\./)?([^\s:()]+\.[a-z]+)[:(]([0-9]+)(?:[:,][0-9]+)?\)?: ", re.MULTILINE)
_HEAD = re.compile(r"(/[^\n]*?):([0-9]+)\n")
"""What Node.js writes above the text of a module that it cannot read."""
_ENDED = re.compile(r"[Pp]rogram exited with non-zero exit code: (-?[0-9]+)\.? ?")
_NO_SDK = "Pulumi SDK has not been installed"
_MISSING_PACKAGES = re.compile(
    rf"{_NO_SDK}"
    r"|Cannot find module '(?!\.)"
    r"|Cannot find package '"
    r"|no required module provides package"
    r"|missing go\.sum entry"
    r"|cannot find module providing package"
    r"|replacement directory .* does not exist"
    r"|updates to go\.mod needed",
)
_MISSING_TOOL = re.compile(
    "could not find (node|bun) on"
    "|unable to find '(go|[A-Za-z0-9_./-]+)' executable"
    '|(?:^|[ "])(mvn|gradle|java|sbt|jbang|dotnet)[": ].*executable file not found'
)
_SIGNAL = "exit code: -1"
_LINES = 30
_TOOLS = {"node": "Node.js", "go": "Go", "dotnet": "the .NET SDK", "mvn": "Maven", "java": "Java"}


def error_of(
    outcome: Outcome,
    monitor: HostedMonitor,
    project: Project,
    printed: Sequence[str],
) -> ProgramError | None:
    """Why a run failed; None if it did not.

    Messages of its recording that say the same are taken out of it.

    Args:
        outcome: What the host says.
        monitor: Of the run.
        project: The program.
        printed: What the host and the program printed on standard error.
    """
    if monitor.failures:
        _take_errors(monitor.recording)
        return _refused(monitor.failures)
    if not outcome.failed:
        return None
    logged = _take_errors(monitor.recording)
    said = "\n".join(dict.fromkeys(logged)) or _plain(outcome.error)
    if _ENDED.fullmatch(said) or not said:
        said = "\n".join(text for text in (_tail(printed), said) if text)
    elif not logged and (more := _tail(printed)) and more not in said:
        said = f"{said}\n{more}"
    for text, line in list(monitor.failure_lines.items()):
        if text in said:  # a function call that the program did not get over
            return ProgramError("PlanError", text, line)
    return _told(said or "The program stopped without saying why.", project)


def _refused(failures: Sequence[Failure]) -> ProgramError:
    """Refusals by their lines: programs send at once what does not depend on each other."""
    first, *more = sorted(
        set(failures), key=lambda failure: (place_of(failure.source), failure.urn)
    )
    if not more:
        return ProgramError(first.type, first.text, first.source)
    text = "\n".join([_named(first), *(_placed(failure) for failure in more)])
    return ProgramError(first.type, text, first.source)


def _placed(failure: Failure) -> str:
    return f"{failure.source}: {_named(failure)}" if failure.source else _named(failure)


def _named(failure: Failure) -> str:
    """With the name of the resource: of several that are refused some may stand in one line."""
    return f"{failure.urn.rpartition('::')[2]}: {failure.text}"


def _take_errors(recording: Recording) -> list[str]:
    errors = [message for message in recording.messages if message.severity == "error"]
    recording.messages[:] = [
        message for message in recording.messages if message.severity != "error"
    ]
    return [_plain(message.text) for message in errors]


def _told(said: str, project: Project) -> ProgramError:
    text = said
    for head in _HEADS:
        text = head.sub("", text)
    trace = text if _FRAME.search(text) else ""
    source = _line(text, project.program)
    text = _HEAD.sub("", text, count=1) if _HEAD.match(text) else text
    text = _FIRST_FRAME.split(text, maxsplit=1)[0].partition("\nRequire stack:")[0].strip()
    kind = "RunError"
    if (matched := _KIND.match(text)) and trace:
        kind, text = matched[1], text[matched.end() :]
    if remedy := _remedy(said, project):
        text = remedy if _NO_SDK in text else f"{text}\n{remedy}"
    return ProgramError(kind, text, source, trace)


def _line(text: str, folder: Path) -> str:
    """The innermost line of the program that a stack trace or a compiler names."""
    for found in _FRAME.finditer(text):
        path = found[1]
        if path.startswith(f"{folder}/") and "/node_modules/" not in path:
            return f"{path}:{found[2]}"
    if (head := _HEAD.match(text)) and head[1].startswith(f"{folder}/"):
        return f"{head[1]}:{head[2]}"
    if _FRAME.search(text) is None and (place := _PLACE.search(text)):
        path_of = folder / place[1]
        if path_of.is_file():
            return f"{path_of}:{place[2]}"
    return ""


def _remedy(said: str, project: Project) -> str:
    if missing := _MISSING_TOOL.search(said):
        tool = next(group for group in missing.groups() if group)
        if "/" in tool or (project.options.get("binary") == tool):
            return f"Pulumi.yaml names {tool} as the program's binary: build it first."
        return f"Install {_TOOLS.get(tool, tool)}, or add the folder that holds {tool} to PATH."
    if _MISSING_PACKAGES.search(said):
        return f"Packages of the program are not there. In {project.directory}: pulumi install"
    if _SIGNAL in said:
        return "A signal ended it: something killed it, or there was not enough memory."
    return ""


def _tail(printed: Sequence[str]) -> str:
    lines = [_plain(line).rstrip() for line in printed]
    return "\n".join(lines[-_LINES:]).strip()


def _plain(text: str) -> str:
    return _COLOUR.sub("", text).strip()
