"""Kustomizations that one run of commands applies, one behind the other: they are of one cluster.

A guide or a script that tells of several clusters, goes from one to another or takes away again
what it applied joins nothing, nor does one whose commands stand apart from each other: what is said
between may be of another way.
"""

from __future__ import annotations

import posixpath
import re
from itertools import combinations, groupby
from typing import TYPE_CHECKING, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.lint.one_cluster import ENVIRONMENTS, HOLD_ENVIRONMENTS
from eks_gpushare.lint.readers.markdown import blocks
from eks_gpushare.lint.sections import makes_several
from eks_gpushare.lint.shell.reading import MAX_CHARACTERS
from eks_gpushare.manifests.kustomize import NAMES, tops_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.lint.layouts import Layouts
    from eks_gpushare.manifests.files import GivenFile

_APPLIES: Final = re.compile(
    r"\b(?:kubectl|oc)[ \t]+(?:apply|create)\b[^\n`;&|]*?[ \t](?:-k|--kustomize)(?:[ \t]+|=)"
    r"(?P<path>[^\s`;&|]+)"
)
_PLAIN: Final = re.compile(r"(?:\./)?[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_.-]+)*/?")
"""A path of which nothing is to be filled in, of the folder of the file or below."""
_ELSEWHERE: Final = re.compile(
    r"--(?:kube-?)?context|--kubeconfig|KUBECONFIG|use-context|kubectx|"
    r"\b(?:kubectl|oc)[ \t]+delete\b|\bhelm[ \t]+uninstall\b|\bclusters\b",
    re.IGNORECASE,
)
"""Signs of several clusters, or of things that are there one after the other."""
_CALLS: Final = re.compile(r"\b(?:update-kubeconfig|get-credentials)\b")
_ITEMS: Final = re.compile(r"(?:^[ \t]*[0-9]+[.)][ \t][^\n]*\n?)+", re.MULTILINE)
"""Steps of a list with numbers."""
_SCRIPTS: Final = (".sh", ".bash")
_INDENTED: Final = re.compile(r"^[ \t]+\S[^\n]*", re.MULTILINE)
_COMMENT: Final = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)


def of_commands(files: Iterable[GivenFile]) -> dict[str, list[str]]:
    """The folders that commands of each file apply, by its normal path."""
    found = ((posixpath.normpath(each.name), folders_applied_by(each)) for each in files)
    return {file: folders for file, folders in found if folders}


def folders_applied_by(file: GivenFile) -> list[str]:
    """Normal paths of the folders that the one run of commands in a file applies."""
    if len(file.text) > MAX_CHARACTERS or not _APPLIES.search(file.text):
        return []
    is_several = len(_CALLS.findall(file.text)) > 1 or makes_several(file.text)
    if is_several or _ELSEWHERE.search(file.text):
        return []
    runs = [found for run in _runs(file) if (found := [*_APPLIES.finditer(run)])]
    named = [each["path"].strip("\"'") for run in runs for each in run]
    if len(runs) != 1 or not all(map(_PLAIN.fullmatch, named)):
        return []
    folder = posixpath.dirname(posixpath.normpath(file.name))
    paths = (posixpath.normpath(posixpath.join(folder, each)) for each in named)
    return list(dict.fromkeys(paths))


def _runs(file: GivenFile) -> Iterator[str]:
    """Commands between which nothing is said. Of a script, those that are always run."""
    if is_guide(file.name):
        for kind, beside in groupby(blocks(file.text), key=lambda block: block.kind):
            text = "\n".join(block.text for block in beside)
            if kind == "shell":
                yield _COMMENT.sub("", text)
            elif kind == "prose":
                yield from (found[0] for found in _ITEMS.finditer(text))
                yield from _ITEMS.sub("", text).splitlines()
    elif file.name.endswith(_SCRIPTS):
        always = _INDENTED.sub("", file.text.replace("\\\n", " "))
        yield _COMMENT.sub("", always)


def with_applied(
    folders: Mapping[str, Sequence[str]],
    applied: Mapping[str, Sequence[str]],
    built: Mapping[str, frozenset[str]],
    layouts: Layouts,
) -> Mapping[str, Sequence[str]]:
    """The folders that files name, with those that commands of a file apply.

    Args:
        folders: Those that applications of a file name, by its normal path.
        applied: Those that commands of a file apply, likewise.
        built: Files that are kustomizations, each with all that it is built of.
        layouts: How folders are laid out that nothing joins: there commands say nothing more.
    """
    tops = set(tops_of(built)) if applied else set()
    found = {}
    for file, named in applied.items():
        gates = [f"{each}/{name}" for each in named for name in NAMES if f"{each}/{name}" in tops]
        is_known = len(gates) == len(named) and not any(map(layouts.of, (file, *gates)))
        if is_known and not _are_ways(named) and not _share(gates, built):
            found[file] = named
    return {**folders, **{file: (*folders.get(file, ()), *each) for file, each in found.items()}}


def _are_ways(named: Sequence[str]) -> bool:
    """Whether some are environments, or called as such."""
    words = [set(each.lower().split("/")) for each in named]
    environments = {word for of in words for word in of & ENVIRONMENTS}
    above = (posixpath.basename(posixpath.dirname(each)).lower() for each in named)
    held = [each for each in above if each in HOLD_ENVIRONMENTS]
    return len(environments) > 1 or len(held) > 1


def _share(gates: Sequence[str], built: Mapping[str, frozenset[str]]) -> bool:
    """Whether two are built on one file, which makes them two ways of it."""
    return any(built[one] & built[other] for one, other in combinations(gates, 2))
