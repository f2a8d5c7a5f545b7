"""Sections of guides: their headings, and which of them are for a cluster of their own.

A guide that makes a cluster in one chapter and another in the next, such as one of EKS and one of
one's own machines, says in a chapter what is for the cluster that was made last before it.
"""

from __future__ import annotations

import re
import sys
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MOST: Final = 50
"""Most commands of a guide that make clusters: one with more is a list of such."""
_HEADING: Final = re.compile(r"(#{1,6})[ \t]+\S")
_CHOICE: Final = re.compile(
    r"#{1,6}[ \t]+(?:[0-9]+[.):]?[ \t]+)?"
    r"(?:option|method|alternative|approach|variant|for|if|using|via)\b",
    re.IGNORECASE,
)
"""A heading that says for whom a section is, or that it is one of several ways."""
OPTION: Final = re.compile(
    r"#{1,6}[ \t]+(?:[0-9]+[.):]?[ \t]+)?(?:option|method|alternative|approach|variant|choice)"
    r"[ \t]+(?:[A-Z]|[0-9]+|one|two|three)\b",
    re.IGNORECASE,
)
"""One that says that it is one of several ways, whatever it is about."""
_FENCE: Final = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_MAKES_CLUSTER: Final = re.compile(
    r"""
    ^[ \t>]*(?:[$%][ \t]+)?(?:sudo[ \t]+(?:-[A-Za-z]+[ \t]+)*)?
    (?: (?P<eks> eksctl[ \t]+create[ \t]+cluster | aws[ \t]+eks[ \t]+create-cluster )
      | (?P<gke> gcloud[ \t]+(?:beta[ \t]+|alpha[ \t]+)?container[ \t]+clusters[ \t]+create
                 (?:-auto)? )
      | (?P<aks> az[ \t]+aks[ \t]+create )
      | (?P<kubeadm> kubeadm[ \t]+init )
      | (?P<k3s> curl\b[^\n]*\bget\.k3s\.io )
      | (?P<rke2> curl\b[^\n]*\bget\.rke2\.io )
    )
    (?![A-Za-z0-9_-])(?P<said>(?:[^\n\\]|\\.|\\\n)*)
    """,
    re.MULTILINE | re.VERBOSE,
)
"""A command that makes a cluster, by its kind. One of kind, minikube or k3d is to try things in."""
_NAME: Final = re.compile(
    r"(?:^[ \t]+|[ \t](?:--name[ =]|-n[ ])[ ]*)[\"']?"
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9_-]*)[\"']?(?=[\s\\]|$)"
)
"""What it is called, if that is the first word or follows a flag, and no variable."""


class Heading(NamedTuple):
    """A heading, or in place of one what sets some sections or commands apart."""

    depth: int
    line: int
    """From 1."""
    is_choice: bool = False
    is_option: bool = False
    cluster: int = 0
    """Line of the heading of the first section with its cluster, where others are for others."""
    either: str = ""
    """What those beside it have too that are in its place."""


class _Cluster(NamedTuple):
    line: int
    kind: str
    name: str
    """Empty where it is not known."""


def sections_of(text: str) -> list[Heading]:
    """The headings of a guide."""
    headings = list(_headings(text))
    made = list(islice(_clusters(text), MOST + 1))
    return _with_clusters(headings, made) if 1 < len(made) <= MOST else headings


def makes_several(text: str) -> bool:
    """Whether commands of a text make more than one cluster."""
    return len(list(islice(_clusters(text), 2))) > 1


def above(headings: Iterable[Heading], line: int) -> list[Heading]:
    """The headings of the sections that a line is in, from the outermost.

    Before that of a section with a cluster of its own there is one for all that have it too.
    """
    found: list[Heading] = []
    for heading in headings:
        if heading.line > line:
            break
        while found and found[-1].depth >= heading.depth:
            found.pop()
        if heading.cluster:
            found.append(Heading(heading.depth, heading.cluster, either="cluster"))
        found.append(heading)
    return found


def _headings(text: str) -> Iterator[Heading]:
    open_: re.Match[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = _FENCE.match(line)
        if open_ is not None and open_[0].startswith((" ", "\t")) and line.startswith("##"):
            open_ = None  # the list is over, and with it what was open in it
        if mark is not None:
            if open_ is None:
                open_ = mark
            elif mark[1].startswith(open_[1]):
                open_ = None
        elif open_ is None and (heading := _HEADING.match(line)) is not None:
            is_choice, is_option = (each.match(line) is not None for each in (_CHOICE, OPTION))
            yield Heading(len(heading[1]), number, is_choice, is_option)


def _clusters(text: str) -> Iterator[_Cluster]:
    """Those that commands of a text make."""
    for found in _MAKES_CLUSTER.finditer(text):
        kind = next(name for name, said in found.groupdict().items() if said)
        called = _NAME.search(found["said"])
        line = text[: found.start()].count("\n") + 1
        yield _Cluster(line, kind, called["name"] if called else "")


def _with_clusters(headings: Sequence[Heading], made: Sequence[_Cluster]) -> list[Heading]:
    """The headings, where those beside each other make several clusters with whose each is."""
    beside: dict[int | None, list[int]] = {}
    open_: list[int] = []
    ends: dict[int, int] = {}
    for number, heading in enumerate(headings):
        while open_ and headings[open_[-1]].depth >= heading.depth:
            ends[open_.pop()] = heading.line
        beside.setdefault(open_[-1] if open_ else None, []).append(number)
        open_.append(number)
    found = list(headings)
    for group in beside.values():
        lines = [range(headings[each].line, ends.get(each, sys.maxsize)) for each in group]
        of = _of_clusters(lines, made)
        for each, line in zip(group, of, strict=True) if len({*of} - {0}) > 1 else ():
            found[each] = headings[each]._replace(cluster=line)
    return found


def _of_clusters(sections: Iterable[range], made: Iterable[_Cluster]) -> list[int]:
    """Of sections beside each other, the line of the first that is for the same cluster."""
    clusters: dict[int, list[_Cluster]] = {}
    found: list[int] = []
    line = 0
    for section in sections:
        own = [each for each in made if each.line in section]
        if own:
            same = (first for first, of in clusters.items() if _are_one(of, own))
            line = next(same, section.start)
            clusters.setdefault(line, []).extend(own)
        found.append(line)
    return found


def _are_one(some: Iterable[_Cluster], others: Sequence[_Cluster]) -> bool:
    """Whether one of some may be one of others: of a kind, with no other name."""
    return any(
        one.kind == other.kind and (one.name == other.name or not (one.name and other.name))
        for one in some
        for other in others
    )
