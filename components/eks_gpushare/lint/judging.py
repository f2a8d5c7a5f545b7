"""What does not agree within a scope, whichever of its alternatives holds."""

from __future__ import annotations

import posixpath
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.booted import booted
from eks_gpushare.inventory.edges.engines import PLUGIN_AND_DRA, TWO_ENGINES, TWO_PLUGINS
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.lint.alternatives import alternatives, guides_with_options
from eks_gpushare.lint.builds import ALONE, about, is_grave, place_of
from eks_gpushare.lint.changed_pods import changed, changes_in
from eks_gpushare.lint.completed_pods import completed
from eks_gpushare.lint.either import Ways
from eks_gpushare.lint.node_classes import class_of, with_classes
from eks_gpushare.lint.one_cluster import file_of_build
from eks_gpushare.lint.same_nodes import together
from eks_gpushare.lint.terraform_groups import tagged_elsewhere
from eks_gpushare.lint.values_of_sets import clusters_of_values
from eks_gpushare.lint.variants import agreed, chosen_otherwise, key_of, variants

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.registry import Edge
    from eks_gpushare.lint.changed_pods import PolicyChange
    from eks_gpushare.lint.nearby import Nearby
    from eks_gpushare.lint.scopes import FileScope
    from eks_gpushare.manifests.document import Document


class Scoped:
    """Items of files, judged scope by scope.

    Args:
        items: All of them.
        classes: Documents that are node classes.
        texts: Texts of the files, by name.
        edges: What to look for.
        changes: What policies of other files change of pods.
        complete: Whether what is not among the items is nowhere.
        nearby: What may be of the same cluster as a scope. Default: nothing else.
    """

    def __init__(
        self,
        items: Iterable[Item],
        classes: Iterable[Document],
        texts: Mapping[str, str],
        edges: Sequence[Edge],
        changes: Sequence[PolicyChange] = (),
        *,
        complete: bool = False,
        nearby: Nearby | None = None,
    ) -> None:
        self._items, self._nearby = list(items), nearby
        own = changes_in(i for i in self._items if not is_guide(i.source.file))
        self._changes = [*own, *(each for each in changes if each not in own)]
        self._texts, self._edges, self._complete = texts, edges, complete
        self._guides = guides_with_options(texts)
        self._clusters = clusters_of_values(texts)
        self._ways = Ways(texts)
        self.broken: list[tuple[Exception, Edge]] = []
        """Checks that failed, which is a defect of theirs."""
        self.grave: list[frozenset[str]] = []
        """The files of each scope of which an error or a warning is told, and of its builds."""
        self._by_place: dict[tuple[str, str], list[int]] = {}
        for number, item in enumerate(self._items):
            self._by_place.setdefault(place_of(item.source.document), []).append(number)
        self._classes: dict[tuple[str, str], list[Document]] = {}
        for document in classes:
            self._classes.setdefault(place_of(document), []).append(document)
        self._alone: dict[tuple[str, str], set[Hashable]] = {}
        self._of_all: dict[frozenset[tuple[str, str]], tuple[set[int], list[Judgement]]] = {}

    def judged(self, scope: FileScope) -> list[Judgement]:
        """What is wrong in a scope, with edits as far as they are certain there."""
        every = [place for place in self._by_place if place[1] != ALONE]
        found = self._found(every if scope.all else _places(scope))
        found = self._as_nearby(found, scope)
        if scope.is_certain:
            return found
        return [self._certain(problem) for problem in self._of_parts(scope, found)]

    def _as_nearby(self, found: list[Judgement], scope: FileScope) -> list[Judgement]:
        """What is found, doubted where it is not so with all that may be of the same cluster."""
        grave = {each.rule.id for each in found if is_grave(each)}
        if self._nearby is None or scope.all or not grave:
            return found
        files = frozenset((*scope.files, *map(file_of_build, scope.builds)))
        self.grave.append(files)
        folders = self._nearby.of(files)
        more = [place for place in self._by_place if _folder(place) in folders]
        if not more:
            return found
        both = tuple(dict.fromkeys((*_places(scope), *more)))
        asked = [each for each in self._edges if any(rule.id in grave for rule in each.rules)]
        still = {about(each) for each in self._found_of_all(both, asked)}
        gone = [each for each in found if is_grave(each) and about(each) not in still]
        if gone:  # or it is told otherwise there, as what no node has in place of what one lacks
            every = [each for each in self._found_of_all(both, self._edges) if is_grave(each)]
            apart = {about(each) for each in (*found, *self._found_of_all(more, asked))}
            moved = {each.rule.id for each in every if about(each) not in apart}
            told = {about(each)[1:] for each in every}
            gone = [e for e in gone if about(e)[1:] not in told and e.rule.id not in moved]
        doubted = set(map(id, gone))
        return [
            replace(each, is_doubted=True)
            if isinstance(each, Problem) and id(each) in doubted
            else each
            for each in found
        ]

    def _found_of_all(
        self, places: Sequence[tuple[str, str]], edges: Sequence[Edge]
    ) -> list[Judgement]:
        """What is wrong by some checks, and others, of places that several scopes may have near."""
        asked, found = self._of_all.setdefault(frozenset(places), (set(), []))
        if new := [each for each in edges if id(each) not in asked]:
            asked.update(map(id, new))
            found += self._found(places, new)
        return found

    def _of_parts(self, scope: FileScope, found: Sequence[Judgement]) -> list[Judgement]:
        """What is found, with two of what must be there once as a note if a layout joins them.

        That folders are of one cluster was told from there not being two of anything. What one of
        them has by itself is as grave as it is there.
        """
        if not scope.parts or all(each.rule not in _TWICE for each in found):
            return list(found)
        sure = {
            _by_itself(one): one.severity
            for part in scope.parts
            for one in self._found(_places(part))
            if isinstance(one, Problem)
        }
        return [
            replace(each, severity=sure.get(_by_itself(each), _at_most(each)))
            if each.rule in _TWICE and isinstance(each, Problem)
            else each
            for each in found
        ]

    def judged_alone(self) -> list[Judgement]:
        """What is wrong within what a template decides about, of which nothing else follows."""
        return [
            each for place in self._by_place if place[1] == ALONE for each in self._found([place])
        ]

    def _certain(self, judgement: Judgement) -> Judgement:
        """A problem without its edits, if it follows from another file that may be another's."""
        if not isinstance(judgement, Problem) or not judgement.edits:
            return judgement
        place = place_of(judgement.source.document)
        if place not in self._alone:
            self._alone[place] = {key_of(problem) for problem in self._found([place])}
        return (
            judgement if key_of(judgement) in self._alone[place] else replace(judgement, edits=())
        )

    def _found(
        self, places: Sequence[tuple[str, str]], edges: Sequence[Edge] | None = None
    ) -> list[Judgement]:
        """What is wrong of the items of some places, by some checks; by default by all."""
        numbers = sorted(number for place in places for number in self._by_place.get(place, ()))
        if not numbers:
            return []
        classes = dict(
            named
            for place in places
            for document in self._classes.get(place, ())
            if (named := class_of(document)) is not None
        )
        items = [self._items[number] for number in numbers]
        known = tagged_elsewhere(booted(with_classes(items, classes)))
        shown = changes_in(each for each in items if is_guide(each.source.file))
        whole = changed(completed(together(known)), [*self._changes, *shown])
        chosen = alternatives(whole, self._texts, self._guides, self._clusters, self._ways)
        found = [(item, self._of_variants(item, edges or self._edges)) for item in chosen]
        return found[0][1] if len(found) == 1 else _in_each_of_its_own(found)

    def _of_variants(self, items: Sequence[Item], edges: Sequence[Edge]) -> list[Judgement]:
        chosen = [Inventory(variant, self._complete) for variant in variants(items)]
        found: list[Judgement] = []
        for edge in edges:
            try:
                each = [(one.items, list(edge.look(one))) for one in chosen]
                if not any(judgements for _, judgements in each):  # as of most, in any files
                    continue
                alone = partial(self._looked, edge)
                found += agreed(chosen_otherwise(items, each, alone))
            except Exception as error:  # noqa: BLE001  (all others are looked for)
                self.broken.append((error, edge))
        return found

    def _looked(self, edge: Edge, items: Sequence[Item]) -> Iterable[Judgement]:
        return edge.look(Inventory(tuple(items), self._complete))


def _at_most(problem: Problem) -> Severity:
    """How grave two of something are where a layout joins what they are of.

    What a node itself has is no second declaration, by which layouts are told apart.
    """
    return "warning" if problem.against else "info"


def _by_itself(judgement: Judgement) -> tuple[Any, ...]:
    """By what a finding in one folder is known once nodes of another are beside it.

    A driver for claims beside a plugin is one whatever nodes the message names then: whoever
    installs it tells it twice that it gives out GPUs. Two plugins may be left of two ways.
    """
    return about(judgement) if judgement.rule is PLUGIN_AND_DRA else key_of(judgement)


def _in_each_of_its_own(found: Sequence[tuple[Sequence[Item], list[Judgement]]]) -> list[Judgement]:
    """What is found in each choice that its item is in."""
    kept: dict[Hashable, Judgement] = {}
    counts: dict[Hashable, int] = {}
    chosen: dict[int, int] = {}
    for items, judgements in found:
        for document in {id(item.source.document) for item in items}:
            chosen[document] = chosen.get(document, 0) + 1
        for key, problem in {key_of(each): each for each in judgements}.items():
            kept.setdefault(key, problem)
            counts[key] = counts.get(key, 0) + 1
    return [
        problem
        for key, problem in kept.items()
        if counts[key] >= chosen.get(id(problem.source.document), 1)
    ]


def _folder(place: tuple[str, str]) -> str | None:
    """The folder of what stands in a place; None of what a template decides about."""
    file, build = place
    if build == ALONE:
        return None
    return posixpath.dirname(file_of_build(build) if build else file)


def _places(scope: FileScope) -> list[tuple[str, str]]:
    """Where items of a scope stand."""
    files = sorted(scope.files)
    return [(file, build) for build in ("", *sorted(scope.builds)) for file in files]


_TWICE: Final = (TWO_PLUGINS, PLUGIN_AND_DRA, TWO_ENGINES)
