"""Within a scope, what is one or the other: two files or sections that say the same thing anew.

An object cannot be there twice, so two files of a folder that have it are alternatives. A guide
that makes nodes in one section and others in the next, installs another device plugin, or scales
the same pods otherwise, shows several ways; what it says before the sections holds for each. So do
sections called `Option A` and `Option B`, with the files beside the guide that one of them names,
those that each make a cluster, scripts that each call a cluster of their own, and what commands
apply with an `or` between them.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import (
    PART_OF_POD,
    SCALERS,
    ConfigMap,
    Namespace,
    NodeLaunch,
    NodeSet,
    Pointer,
    Release,
    Workload,
)
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, text
from eks_gpushare.lint.either import Ways
from eks_gpushare.lint.own_machine import MACHINE, is_of_machine
from eks_gpushare.lint.sections import OPTION, Heading, above, sections_of
from eks_gpushare.manifests.charts import DEVICE_PLUGIN, EXPORTER, OPERATOR
from eks_gpushare.manifests.document import Document, value_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.lint.either import Way

MOST: Final = 24
"""Most alternatives that are judged with what they have in common."""
_NODES: Final = "nodes"
_SCALES: Final = "scales"
_SHOWN: Final = "shown to scale"
_EXPORTS: Final = "exports"
_CLUSTER: Final = "cluster"
_EITHER: Final = "either"
_DEEPEST: Final = 7
_CALLS_CLUSTER: Final = re.compile(
    r"^[ \t]*(?:export |readonly )?(?:EKS_|GKE_|AKS_)?CLUSTER(?:_NAME)?="
    r"[\"']?(?:\$\{[A-Z_]+:?-[\"']?)?([a-z0-9][A-Za-z0-9_.-]*)",
    re.MULTILINE,
)
"""A variable of a script with the name of a cluster, or that which it takes if none is given."""


@dataclass(slots=True)
class _Place:
    """A file or a section, with what stands in it and in those below."""

    items: list[Item] = field(default_factory=list)
    below: dict[Heading | str, _Place] = field(default_factory=dict)
    heading: Heading | None = None
    """Of a section."""
    cluster: str = ""
    """The one that a script calls by its name, or that alone gets a file."""

    def all_items(self) -> Iterator[Item]:
        yield from self.items
        for place in self.below.values():
            yield from place.all_items()

    def has_guesses(self) -> bool:
        """Whether parts of it are alternatives by nothing but what a text says around them."""
        guesses = [key.either for key in self.below if isinstance(key, Heading) and key.either]
        return len(guesses) > len(set(guesses)) or any(
            place.has_guesses() for place in self.below.values()
        )

    def says(self) -> set[Hashable]:
        """What another that says it too would be an alternative by."""
        own = {
            key for item in self.items for key in _keys(item, in_section=self.heading is not None)
        }
        if self.heading is not None and self.heading.is_choice:
            own |= {_EXPORTS for item in self.all_items() if _brings_exporter(item)}
        return own.union(*(place.says() for place in self.below.values()))


def guides_with_options(texts: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    """Guides that have options, by the folders that they are in."""
    found: dict[str, list[str]] = {}
    for name, said in texts.items():
        if is_guide(name) and OPTION.search(said):
            found.setdefault(posixpath.dirname(name), []).append(name)
    return found


def alternatives(
    items: Sequence[Item],
    texts: Mapping[str, str],
    guides: Mapping[str, Sequence[str]] | None = None,
    clusters: Mapping[str, str] | None = None,
    ways: Ways | None = None,
) -> list[tuple[Item, ...]]:
    """The items once for each choice among alternatives, each in one choice at least.

    Args:
        items: The items of a scope, in their order.
        texts: Texts of its files by name, for the sections of guides.
        guides: Those that have options, where `guides_with_options` has found them already.
        clusters: The cluster that a file is for, where something else says so.
        ways: What guides and scripts say is one or the other, where that is found already.
    """
    sections = _Sections(texts, Ways(texts) if ways is None else ways)
    options = _Options(items, texts, guides_with_options(texts) if guides is None else guides)
    items = _without_excerpts(items)
    steps = [options.of(item) or sections.steps_to(item) for item in items]
    sure = [tuple(step for step in of if not _is_guess(step)) for of in steps]
    if not any(isinstance(step, Heading) and step.is_option for of in sure for step in of):
        sections.heed_ways(items)
        steps = [options.of(item) or sections.steps_to(item) for item in items]
    guessed = _tree(items, steps, texts, clusters or {})
    chosen = _choices(guessed)
    if guessed.has_guesses():  # what is told has to hold if they go together after all
        known = [{id(item) for item in group} for group in chosen]
        chosen += [
            group
            for group in _choices(_tree(items, sure, texts, clusters or {}))
            if {id(item) for item in group} not in known
        ]
    order = {id(item): number for number, item in enumerate(items)}
    return [tuple(sorted(group, key=lambda item: order[id(item)])) for group in chosen]


def _is_guess(step: Heading | str) -> bool:
    return isinstance(step, Heading) and bool(step.either)


def _tree(
    items: Iterable[Item],
    steps: Iterable[Iterable[Heading | str]],
    texts: Mapping[str, str],
    clusters: Mapping[str, str],
) -> _Place:
    """The place that all others are in, with the items by the steps to each."""
    top = _Place()
    for item, of in zip(items, steps, strict=True):
        place = top
        for step in of:
            if step not in place.below:
                heading = step if isinstance(step, Heading) else None
                cluster = _cluster_of(step, texts, clusters)
                place.below[step] = _Place(heading=heading, cluster=cluster)
            place = place.below[step]
        place.items.append(item)
    return top


def _choices(place: _Place) -> list[list[Item]]:
    parts = list(place.below.values())
    is_one = _are_alternatives(parts)
    choices = [_choices(inner) for inner in parts]
    common = list(place.items)
    found: list[list[Item]] = []
    for one, own in zip(is_one, choices, strict=True):
        shared = [] if one else _in_all(own)
        common += shared
        if one:
            found += own
        elif len(own) > 1:
            known = {id(item) for item in shared}
            found += [
                [item for item in alternative if id(item) not in known] for alternative in own
            ]
    if len(found) > MOST:
        return [common, *found]
    return [[*common, *alternative] for alternative in found] or [common]


def _are_alternatives(parts: Sequence[_Place]) -> list[bool]:
    """Of files or sections, whether each is an alternative to another."""
    said = [place.says() for place in parts]
    for keys, place in zip(said, parts, strict=True):
        if place.heading is not None and place.heading.is_option:
            keys.add(OPTION)
        if place.heading is not None and place.heading.either:
            keys.add((_EITHER, place.heading.either))
    if any(_NODES in keys for keys in said):
        # A guide that makes nodes shows again what lies beside it, or another way.
        for keys, place in zip(said, parts, strict=True):
            keys |= {_NODES for item in place.all_items() if _makes_nodes(item)}
    clusters = _clusters(parts)
    if len({*clusters} - {""}) > 1:
        for keys, cluster in zip(said, clusters, strict=True):
            keys.update({_CLUSTER} if cluster else ())
    counts: dict[Hashable, int] = {}
    for keys in said:
        for key in keys:
            counts[key] = counts.get(key, 0) + 1
    return [any(counts[key] > _least(key) for key in keys) for keys in said]


def _cluster_of(step: Heading | str, texts: Mapping[str, str], clusters: Mapping[str, str]) -> str:
    if not isinstance(step, str) or not step.endswith((".sh", ".bash")):
        return clusters.get(posixpath.normpath(step), "") if isinstance(step, str) else ""
    text = texts.get(step, "")
    if is_of_machine(text):
        return MACHINE
    found = _CALLS_CLUSTER.search(text)
    return found[1] if found else ""


def _clusters(parts: Sequence[_Place]) -> list[str]:
    """Of each its cluster; beside one of a machine's own what makes nodes is of another."""
    if all(place.cluster != MACHINE for place in parts):
        return [place.cluster for place in parts]
    makes = [any(map(_makes_nodes, place.all_items())) for place in parts]
    return [each.cluster or _NODES * made for each, made in zip(parts, makes, strict=True)]


def _least(key: Hashable) -> int:
    """How many may say it and still not be alternatives: two autoscalers may be a mistake."""
    return 2 if isinstance(key, tuple) and key[0] == _SCALES else 1


def _in_all(choices: Sequence[list[Item]]) -> list[Item]:
    kept = set.intersection(*({id(item) for item in choice} for choice in choices))
    return [item for item in choices[0] if id(item) in kept]


class _Sections:
    """The sections of guides, and the ways that they and scripts tell of."""

    def __init__(self, texts: Mapping[str, str], ways: Ways) -> None:
        self._texts, self._ways = texts, ways
        self._headings: dict[str, list[Heading]] = {}
        self._heeded: set[tuple[str, int]] = set()

    def heed_ways(self, items: Iterable[Item]) -> None:
        """Take ways for such, from here on, of which all or none make nodes."""
        nodes: dict[tuple[str, int], dict[int, bool]] = {}
        for item in items:
            told = self._way_of(item)
            if told is not None:
                guide, way = told
                beside = nodes.setdefault((guide, way.either), {})
                beside[way.first] = beside.get(way.first, False) or _makes_nodes(item)
        self._heeded = {key for key, of in nodes.items() if len(of) > len({*of.values()}) == 1}

    def steps_to(self, item: Item) -> tuple[Heading | str, ...]:
        """The file of an item, and the sections down to it."""
        document = item.source.document
        if not isinstance(document, Document) or document.build:
            return ()  # what a kustomization builds is there all at once
        told = self._way_of(item)
        way = told[1] if told is not None and (told[0], told[1].either) in self._heeded else None
        if is_guide(document.file):
            return self._steps(document.file, document.position(item.source.path).line, way)
        if told is None or way is None:
            return (document.file,)
        return (*self._steps(told[0], way.first, way), document.file)

    def _way_of(self, item: Item) -> tuple[str, Way] | None:
        """The way that an item is of, and who tells of it."""
        document = item.source.document
        if not isinstance(document, Document) or document.build:
            return None
        if not is_guide(document.file):
            return self._ways.of_file(posixpath.normpath(document.file))
        way = self._ways.of_line(document.file, document.position(item.source.path).line)
        return way and (document.file, way)

    def _steps(self, guide: str, line: int, way: Way | None) -> tuple[Heading | str, ...]:
        if guide not in self._headings:
            text = self._texts.get(guide, "") if is_guide(guide) else ""
            self._headings[guide] = sections_of(text)
        sections = above(self._headings[guide], line)
        if way is not None:
            sections.append(Heading(_DEEPEST, way.first, either=f"or {way.either}"))
        return (guide, *sections)


class _Options:
    """Files that the options of the guide beside them name, each by one option alone."""

    def __init__(
        self,
        items: Sequence[Item],
        texts: Mapping[str, str],
        guides: Mapping[str, Sequence[str]],
    ) -> None:
        self._places: dict[str, tuple[Heading | str, ...]] = {}
        files = {file for item in items if (file := _manifest(item))}
        beside: dict[str, list[str]] = {}
        for file in files if guides and len(files) > 1 else ():
            beside.setdefault(posixpath.dirname(file), []).append(file)
        for folder, found in beside.items():
            for guide in guides.get(folder, ()):
                self._add(guide, texts[guide], found)

    def of(self, item: Item) -> tuple[Heading | str, ...]:
        """The option that an item's file is of, below its guide; empty of others."""
        return self._places.get(_manifest(item), ())

    def _add(self, guide: str, text: str, files: Iterable[str]) -> None:
        lines = text.splitlines()
        headings = sections_of(text)
        for file in files:
            name = re.compile(
                rf"(?<![A-Za-z0-9_.-]){re.escape(posixpath.basename(file))}(?![A-Za-z0-9_-])"
            )
            where = [number for number, line in enumerate(lines, 1) if name.search(line)]
            found = {_option_above(headings, number) for number in where}
            option = found.pop() if len(found) == 1 else None
            if option is not None:
                self._places[file] = (guide, *above(headings, option.line), file)


def _option_above(headings: Sequence[Heading], line: int) -> Heading | None:
    return next((each for each in reversed(above(headings, line)) if each.is_option), None)


def _manifest(item: Item) -> str:
    """The file of an item; empty of a guide, and of what a kustomization builds."""
    document = item.source.document
    if not isinstance(document, Document) or document.build or is_guide(document.file):
        return ""
    return document.file


def _without_excerpts(items: Sequence[Item]) -> list[Item]:
    """The items, but those of a guide that shows a part of what a file has in full."""
    shown = [item for item in items if is_guide(item.source.file)]
    if not shown:
        return list(items)
    whole = {
        key: item for item in items if _manifest(item) for key in _keys(item, in_section=False)
    }
    parts = {
        id(item.source.document)
        for item in shown
        for key in _keys(item, in_section=False)
        if key in whole and _is_part(value_of(item), value_of(whole[key]))
    }
    named = [item for item in items if isinstance(item, Release) and item.name is not UNKNOWN]
    parts |= {
        id(item.source.document)
        for item in shown
        if isinstance(item, Release) and item.name is UNKNOWN and isinstance(item.values, dict)
        if any(each.chart == item.chart and _is_part(item.values, each.values) for each in named)
    }
    return [item for item in items if id(item.source.document) not in parts]


def _is_part(part: object, whole: object) -> bool:
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and _is_part(part[key], whole[key]) for key in part)
    if isinstance(part, list) and isinstance(whole, list):
        return all(any(_is_part(one, other) for other in whole) for one in part)
    return part is UNKNOWN or part == whole


def _brings_exporter(item: Item) -> bool:
    return isinstance(item, Release) and item.chart in {EXPORTER, OPERATOR}


def _makes_nodes(item: Item) -> bool:
    return isinstance(item, NodeSet) and item.provisioner != "byHand"


def _keys(item: Item, *, in_section: bool) -> Iterator[Hashable]:
    if isinstance(item, NodeSet) and not _makes_nodes(item):
        return  # a step with nodes that are there
    if in_section and isinstance(item, NodeSet):
        yield _NODES
    if in_section and isinstance(item, Release) and item.chart in {DEVICE_PLUGIN, OPERATOR}:
        yield "device plugin"
    if isinstance(item, Release | Namespace | NodeLaunch) or item.name is UNKNOWN or not item.name:
        return
    # Of two without one, it is that of the call: both say the same object.
    space = getattr(item, "namespace", "")
    if isinstance(item, Pointer) and item.kind in SCALERS:
        target = at(item.spec, "scaleTargetRef")
        scales = _SHOWN if in_section else _SCALES
        yield scales, space, str(text(at(target, "name")))
    if isinstance(item, Workload):
        if item.kind == PART_OF_POD:
            return
        yield item.kind, space, item.name
    elif isinstance(item, NodeSet):
        yield "Nodes", item.provisioner, item.name
    elif isinstance(item, ConfigMap):
        yield "ConfigMap", space, item.name
    else:
        yield type(item).__name__, getattr(item, "kind", ""), space, item.name
