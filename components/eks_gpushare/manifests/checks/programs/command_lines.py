"""Commands of containers that are lists of words, as nobody takes them apart.

What the runtime does with them: https://kubernetes.io/docs/tasks/inject-data-application/
define-command-argument-container/ and `exec` of POSIX; `sh -c` has a script, a name and parameters.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import (
    GpuContainer,
    gpu_containers,
    runs_as_written,
)
from eks_gpushare.manifests.checks.programs.gpu_programs import server_of
from eks_gpushare.manifests.rules.starting import NOT_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_SHELL: Final = re.compile(r"(?:/(?:usr/)?(?:local/)?bin/)?(?:ba|da|a|z|k)?sh")
_SCRIPT: Final = re.compile(r"-[a-z]*c")
"""The option of a shell before its script, with others: `-lc`, `-ec`."""
_SEVERAL: Final = re.compile(r"\S+[ \t]+\S.*", re.DOTALL)
_BARE: Final = re.compile(r"[A-Za-z0-9_./-]+")
"""A script of one word, which reads no parameters."""
_TWO: Final = re.compile(r"--[A-Za-z][A-Za-z0-9_-]*[ \t]+[^\s].*")
"""An option and its value in one word; a value may be in one with an option of one letter."""
_RUNS_WORDS: Final = ("vLLM", "SGLang")
"""Whose images hand words on as they are: the entrypoint of `huggingface/text-generation-inference`
takes them apart again, and others have none of their own."""
_LOOSE: Final = re.compile(r"(?<![\\(\n])\n[ \t]*(--[a-z][a-z0-9-]*(?:[= \t][^\n]*)?)")
"""An option at the beginning of a line that nothing continues."""
_MAY_BE_TEXT: Final = re.compile(r"<<|=\(")
_SHOWN: Final = 40
_BARE_OPTION: Final = re.compile(r"--?[A-Za-z][A-Za-z0-9_-]*")
_AS_WRITTEN: Final = frozenset(
    ("Service", "Notebook", "InferenceService", "ServingRuntime", "ClusterServingRuntime")
)
"""Kinds of Knative, Kubeflow and KServe, whose containers start what they say; KubeRay joins words
to a line for a shell."""


@edge(NOT_WORDS)
def command_lines(inventory: Inventory) -> Iterator[Judgement]:
    """Of containers that ask for GPUs."""
    for workload in inventory.of(Workload):
        as_written = workload.kind in _AS_WRITTEN or runs_as_written(workload)
        if workload.spec is UNKNOWN or not as_written:
            continue
        for container in gpu_containers(workload):
            command, args = (at(container.value, key) for key in ("command", "args"))
            asks = container.gpus != 0 or at(container.value, "resources", "claims")
            if asks and not has_unknown([command, args]):
                yield from _judged(container, _words(command), _words(args))


def _words(given: Any) -> list[str]:
    return [str(text(word)) for word in items(given)]


def _judged(container: GpuContainer, command: list[str], args: list[str]) -> Iterator[Problem]:
    workload, called = container.workload, at_start(container.workload.source.name)
    if command and _SEVERAL.fullmatch(command[0].strip()):
        yield Problem(
            NOT_WORDS,
            workload.source,
            (*container.place, "command", 0),
            f'{called} has the command "{_short(command[0])}" in one word: a program of that name '
            "is looked for.",
            "Write each word as an item of the list, or run it by sh -c.",
        )
        return
    line = [*command, *args]
    script = next((i for i, word in enumerate(line) if i and _SCRIPT.fullmatch(word)), None)
    if line and _SHELL.fullmatch(line[0]):
        after = line[script + 1 :] if script is not None else []
        rest = after[1:]
        loose = _loose(after[0]) if after else ""
        if loose:
            yield Problem(
                NOT_WORDS,
                workload.source,
                (*container.place, "command" if command else "args"),
                f"{called} begins a line of its script with {_short(loose)}, and no \\ ends the "
                "line before: the shell looks for a program of that name.",
                "End the line before it with a backslash.",
            )
        if script == 1 and rest and _BARE.fullmatch(line[2]):
            yield Problem(
                NOT_WORDS,
                workload.source,
                (*container.place, "command" if command else "args"),
                f"{called} has {line[0]} -c run {line[2]} alone: {_short(' '.join(rest))} is lost.",
                "Leave the shell out, or write the whole line as the one word after -c.",
            )
        return
    server = server_of(container)
    if command or (server is not None and server.name in _RUNS_WORDS):
        yield from _options(container, called)


def _loose(script: str) -> str:
    """The first option that begins a command; none where it may be within a text."""
    for found in () if _MAY_BE_TEXT.search(script) else _LOOSE.finditer(script):
        before = script[: found.start()]
        if all(before.count(quote) % 2 == 0 for quote in "'\"`"):
            return found[1]
    return ""


def _options(container: GpuContainer, called: str) -> Iterator[Problem]:
    """An option with its value in one word, of a program that no shell starts."""
    before = ""
    for key in ("command", "args"):
        for index, word in enumerate(_words(at(container.value, key))):
            is_value, before = _BARE_OPTION.fullmatch(before), word
            if _TWO.fullmatch(word) and not is_value:
                yield Problem(
                    NOT_WORDS,
                    container.workload.source,
                    (*container.place, key, index),
                    f'{called} has "{_short(word)}" in one word, and there is no option of that '
                    "name.",
                    "Write the option and its value as two items, or with = between them.",
                )


def _short(line: str) -> str:
    first = line.strip().split("\n", 1)[0]
    return first if len(first) <= _SHOWN else f"{first[:_SHOWN]}..."
