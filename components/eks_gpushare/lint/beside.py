"""Files of values that commands of scripts and documentation name: which charts they are for.

Those that are not among the files of the call are read where they lie.
"""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.documents.reading import STDIN
from eks_gpushare.lint.readers.markdown import MarkdownReader, blocks
from eks_gpushare.lint.readers.shell import ShellReader
from eks_gpushare.lint.shell.helm import chart_and_files
from eks_gpushare.lint.shell.reading import MAX_CHARACTERS
from eks_gpushare.manifests.charts import CHARTS
from eks_gpushare.manifests.files import read_file
from eks_gpushare.manifests.shell.words import commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.manifests.files import GivenFile

_MOST: Final = 50
"""Most files that are read besides those of the call."""
_YAML: Final = (".yaml", ".yml", ".json")


class NamedValues(NamedTuple):
    """Files of values that commands name."""

    charts: dict[str, str | None]
    """By their paths, each with the chart that it is for; None if for several."""
    by_file: dict[str, list[str]]
    """Their paths by the file that names them."""


def named_values(files: Sequence[GivenFile]) -> NamedValues:
    """Files of values that commands of some files name.

    They are looked for in the folder of the script that names them, and in that of the call.

    Args:
        files: The files of the call.
    """
    known = {posixpath.normpath(file.name) for file in files}
    found: dict[str, str | None] = {}
    by_file: dict[str, list[str]] = {}
    for file in files:
        if file.name == STDIN or "helm" not in file.text or len(file.text) > MAX_CHARACTERS:
            continue
        for chart, named in _installed(file):
            path = _where(file.name, named, known)
            if path is not None:
                found[path] = chart if found.get(path, chart) == chart else None
                by_file.setdefault(posixpath.normpath(file.name), []).append(path)
    return NamedValues(found, by_file)


def beside(files: Sequence[GivenFile], named: dict[str, str | None]) -> Iterator[GivenFile]:
    """Those of the named files that are not among the files of the call."""
    known = {posixpath.normpath(file.name) for file in files}
    for path in [path for path in named if path not in known][:_MOST]:
        yield read_file(path)


def _installed(file: GivenFile) -> Iterator[tuple[str, str]]:
    """Charts of GPUs that a file's commands install, with the name of each file of values."""
    if ShellReader().matches(file.name, file.text):
        texts = [file.text]
    elif MarkdownReader().matches(file.name, file.text):
        texts = [block.text for block in blocks(file.text) if block.kind == "shell"]
    else:
        return
    variables: dict[str, str] = {}
    written: set[str] = set()
    for text in texts:
        for command in commands(text, variables):
            written |= {command.writes.removeprefix("./")} if command.writes else set()
            if not command.words or command.words[0].text.rpartition("/")[2] != "helm":
                continue
            chart, names = chart_and_files(command.words)
            if chart in CHARTS:
                yield from (
                    (str(chart), name) for name in names if name.removeprefix("./") not in written
                )


def _where(script: str, named: str, known: set[str]) -> str | None:
    """The path of a file that is given or there; None of one that is not, or lies anywhere."""
    if posixpath.isabs(named) or not named.lower().endswith(_YAML):
        return None
    for folder in (posixpath.dirname(script), ""):
        path = posixpath.normpath(posixpath.join(folder, named))
        try:
            if path in known or Path(path).is_file():
                return path
        except (OSError, ValueError):
            continue
    return None
