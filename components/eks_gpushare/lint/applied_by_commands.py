"""Kustomizations that one run of commands applies, one behind the other: they are of one cluster.

A guide or a script that tells of several clusters, goes from one to another or takes away again
what it applied joins nothing, nor does one whose commands stand apart from each other, or beside
words such as "or" and "if": what is said between may be of another way.
"""

from __future__ import annotations

import posixpath
import re
from itertools import combinations, groupby
from typing import TYPE_CHECKING, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.lint.one_cluster import is_called_as_way
from eks_gpushare.lint.readers.markdown import blocks
from eks_gpushare.lint.sections import makes_several
from eks_gpushare.lint.shell.reading import MAX_CHARACTERS
from eks_gpushare.manifests.kustomize import tops_of
from eks_gpushare.manifests.kustomize_files import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.lint.layouts import Layouts
    from eks_gpushare.manifests.files import GivenFile

_APPLIES: Final = re.compile(
    r"\b(?:kubectl|oc)[ \t]+(?:apply|create)\b[^\n`;&|]*?[ \t](?:-k|--kustomize)(?:[ \t]+|=)"
    r"(?P<path>[^\s`;&|]+)"
)
_INSTALLS: Final = re.compile(
    r"\bhelm[ \t]+(?:upgrade|install)\b|"
    r"\b(?:kubectl|oc)[ \t]+(?:apply|create)\b[^\n`;&|]*?[ \t](?:-f|--filename)\b"
)
"""What a guide installs besides, which is in the run too or may be another way."""
_PLAIN: Final = re.compile(r"(?:\./)?[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_.-]+)*/?")
"""A path of which nothing is to be filled in, of the folder of the file or below."""
_ELSEWHERE: Final = re.compile(
    r"--(?:kube-?)?context|--kubeconfig|(?-i:KUBECONFIG)|use-context|kubectx|\boc[ \t]+login\b|"
    r"\b(?:kubectl|oc)[ \t]+delete\b|\bhelm[ \t]+uninstall\b|\bclusters\b",
    re.IGNORECASE,
)
"""Signs of several clusters, or of things that are there one after the other."""
_CALLS: Final = re.compile(r"\b(?:update-kubeconfig|get-credentials)\b")
_EITHER: Final = re.compile(
    r"\b(?:or|either|else|otherwise|alternative(?:ly)?|option(?:s|al|ally)?|instead|variants?|"
    r"scenarios?|if|unless|only|one[ ]of|any[ ]of|choose|pick|depending|uncomment|usage|"
    r"examples?|demos?|hub|spoke|management|(?<!the[ ])cluster)\b",
    re.IGNORECASE,
)
"""Words by which commands beside each other are one or the other, or for several clusters."""
_SAID: Final = re.compile(r"(?:^|[ \t])#[^\n]*", re.MULTILINE)
_PROMPT: Final = re.compile(r"^[ \t>]*(?:[$%][ \t]+)?(?:sudo[ \t]+)?", re.MULTILINE)
_SIMPLE: Final = re.compile(r"(?:kubectl|oc|helm)\b(?![^\n]*(?:\|\||;))")
"""A command, or several of which each follows the one before."""
_BESIDE: Final = re.compile(r"[ \t]*$|(?:kubectl|oc|helm|sleep|echo)\b")
"""What may stand between such commands."""
_ITEMS: Final = re.compile(r"(?:^[ \t]*[0-9]+[.)][ \t][^\n]*\n?)+", re.MULTILINE)
"""Steps of a list with numbers."""
_OR_ELSE: Final = re.compile(r",? or\b(?=[^\n]*\n?\Z)(?![^\n]*[ \t](?:-k|--kustomize)\b)")
"""What the last step may be instead, which names no other kustomization."""
_SPAN: Final = re.compile(r"`([^`\n]+)`")
_SCRIPTS: Final = (".sh", ".bash")


def of_commands(files: Iterable[GivenFile]) -> dict[str, list[str]]:
    """The folders that commands of each file apply, by its normal path."""
    found = ((posixpath.normpath(each.name), folders_applied_by(each)) for each in files)
    return {file: folders for file, folders in found if folders}


def folders_applied_by(file: GivenFile) -> list[str]:
    """Normal paths of the folders that the one run of commands in a file applies."""
    is_read = is_guide(file.name) or file.name.endswith(_SCRIPTS)
    if not is_read or "-k" not in file.text or len(file.text) > MAX_CHARACTERS:
        return []
    text = file.text.replace("\\\n", " ")
    told = _told(text)
    is_several = len(_CALLS.findall(text)) > 1 or makes_several(text)
    if is_several or _ELSEWHERE.search(text) or told[0] == 0 or sum(told) == 1:
        return []
    named = next((_paths(run) for run in _runs(file.name, text) if _told(run) == told), [])
    if not all(map(_PLAIN.fullmatch, named)) or _are_ways(named):
        return []
    folder = posixpath.dirname(posixpath.normpath(file.name))
    paths = (posixpath.normpath(posixpath.join(folder, each)) for each in named)
    return list(dict.fromkeys(paths))


def _runs(name: str, text: str) -> Iterator[str]:
    """Commands between which nothing is said, and beside them nothing of one way or another."""
    before = ""
    parts = groupby(blocks(text), key=lambda block: block.kind) if is_guide(name) else ()
    for kind, beside in parts:
        inner = "\n".join(block.text for block in beside)
        if kind == "shell" and not _is_either(before, *_SAID.findall(inner)):
            yield _PROMPT.sub("", inner)
        elif kind == "prose":
            for steps in _ITEMS.finditer(inner):
                if not _is_either(_OR_ELSE.sub("", steps[0])):
                    yield "\n".join(_SPAN.findall(steps[0]))
            before = inner.rstrip().rpartition("\n")[2]
    if not is_guide(name) and not _is_either(*_SAID.findall(text)):
        yield text


def _told(text: str) -> tuple[int, int]:
    """How many kustomizations a text applies, and how much it installs besides."""
    return len(_APPLIES.findall(text)), len(_INSTALLS.findall(text))


def _is_either(*said: str) -> bool:
    return any(map(_EITHER.search, said))


def _paths(run: str) -> list[str]:
    """What commands apply one behind the other; nothing where it is not plain that all of them do.

    Other commands between them may go elsewhere, or decide about those behind them.
    """
    found: list[str] = []
    has_begun, is_plain = False, True
    for line in map(_without_comment, run.splitlines()):
        applied = [each["path"].strip("\"'") for each in _APPLIES.finditer(line)]
        if applied and not (is_plain and _SIMPLE.match(line)):
            return []
        found += applied
        has_begun |= bool(applied) or _INSTALLS.search(line) is not None
        is_plain &= not has_begun or _BESIDE.match(line) is not None
    return found


def _without_comment(line: str) -> str:
    return _SAID.sub("", line)


def _are_ways(named: Sequence[str]) -> bool:
    """Whether some are environments, or called as such, or otherwise as ways beside each other."""
    return sum(any(map(is_called_as_way, each.split("/"))) for each in named) > 1


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
        if is_known and not _share(gates, built):
            found[file] = named
    return {**folders, **{file: (*folders.get(file, ()), *each) for file, each in found.items()}}


def _share(gates: Sequence[str], built: Mapping[str, frozenset[str]]) -> bool:
    """Whether two are built on one file, which makes them two ways of it."""
    return any(built[one] & built[other] for one, other in combinations(gates, 2))
