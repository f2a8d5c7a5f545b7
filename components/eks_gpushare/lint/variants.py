"""Values of one chart in several files: of one release they are one or the other, not all at once.

A file of values does not say which release it is for. If a command or an object installs the chart
with values that are not known, they are those; if several files have values of one chart, as with
one for each environment, each is looked at for itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.inventory.items import NodeSet, Release, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement

_SCRIPTS: Final = (".sh", ".bash", "Makefile")
MOST: Final = 8
"""Most files of values of one chart that are told apart."""
_EFFORT: Final = 4_000
"""Pairs of nodes and workloads that are looked at: of many, fewer choices are."""


def variants(items: Sequence[Item]) -> list[tuple[Item, ...]]:
    """The items, once for each choice of the values of a chart."""
    items = _with_their_values(items)
    choices: dict[str, list[set[int]]] = {}
    for chart in dict.fromkeys(release.chart for release in items if isinstance(release, Release)):
        of_chart = [
            release for release in items if isinstance(release, Release) and release.chart == chart
        ]
        loose = [{id(release)} for release in of_chart if is_loose(release)]
        installed = _installs([release for release in of_chart if not is_loose(release)])
        choices[chart] = [*loose, *installed]
    made = []
    for number in range(min(_most(items), max(map(len, choices.values()), default=1))):
        chosen = set().union(*(choice[min(number, len(choice) - 1)] for choice in choices.values()))
        made.append(
            tuple(item for item in items if not isinstance(item, Release) or id(item) in chosen)
        )
    return made


def _installs(releases: Sequence[Release]) -> list[set[int]]:
    """Choices among places that install one release: of the same name it is there once."""
    groups: list[list[Release]] = []
    for release in releases:
        group = next((one for one in groups if _is_one(one[0], release)), None)
        if group is None:
            groups.append([release])
        else:
            group.append(release)
    most = max(map(len, groups), default=0)
    return [{id(group[min(number, len(group) - 1)]) for group in groups} for number in range(most)]


def _is_one(one: Release, other: Release) -> bool:
    """Whether two places install the same: by chart and name, as far as their namespace is said.

    Two scripts are two ways, whichever namespaces they choose.
    """
    if one.name is UNKNOWN or one.name != other.name or one.chart != other.chart:
        return False
    spaces = {one.namespace, other.namespace} - {UNKNOWN, "default", ""}
    return len(spaces) <= 1 or all(each.source.file.endswith(_SCRIPTS) for each in (one, other))


def _most(items: Sequence[Item]) -> int:
    nodes, workloads = (
        sum(isinstance(item, kind) for item in items) for kind in (NodeSet, Workload)
    )
    return max(1, min(MOST, _EFFORT // (1 + nodes * workloads)))


def is_loose(item: Item) -> TypeGuard[Release]:
    """Whether it is values that do not say which release they are for."""
    return isinstance(item, Release) and item.name is UNKNOWN and item.values is not UNKNOWN


def values_to_come(items: Iterable[Item]) -> Iterator[Release]:
    """Of values that a template decides about: that the chart has some, and nothing is known."""
    for item in items:
        if is_loose(item):
            document = replace(item.source.document, alone="")
            yield replace(item, source=replace(item.source, document=document), values=UNKNOWN)


def agreed(found: Iterable[tuple[Sequence[Item], Sequence[Judgement]]]) -> list[Judgement]:
    """What holds whichever values are chosen, and what is about the chosen values themselves.

    Args:
        found: Each choice with what was found with it.
    """
    found = list(found)
    if len(found) == 1:
        return list(found[0][1])
    kept: dict[Hashable, Judgement] = {}
    counts: dict[Hashable, int] = {}
    for items, judgements in found:
        chosen = {id(item.source.document) for item in items if isinstance(item, Release)}
        for problem in {key_of(judgement): judgement for judgement in judgements}.values():
            key = key_of(problem)
            kept.setdefault(key, problem)
            own = id(problem.source.document) in chosen
            counts[key] = counts.get(key, 0) + (len(found) if own else 1)
    return [problem for key, problem in kept.items() if counts[key] >= len(found)]


def chosen_otherwise(
    items: Sequence[Item],
    found: Sequence[tuple[Sequence[Item], Sequence[Judgement]]],
    alone: Callable[[Sequence[Item]], Iterable[Judgement]],
) -> Iterator[tuple[Sequence[Item], list[Judgement]]]:
    """The same, with as a note what other files hold against values where other values are right.

    Whoever wrote several files of values for a chart chose one that fits the cluster, and which it
    was they do not say. What is wrong within values by themselves is so whatever is chosen.

    Args:
        items: All items, whatever is chosen.
        found: Each choice with what one check found with it.
        alone: What the check finds in some items.
    """
    charts = {id(item.source.document): item.chart for item in items if is_loose(item)}
    wrong = [
        {(charts.get(id(each.source.document)), each.rule.id) for each in judgements}
        for _, judgements in found
    ]
    for chosen, judgements in found:
        told: list[Judgement] = []
        by_itself: dict[int, set[Hashable]] = {}
        for each in judgements:
            document = each.source.document
            chart = charts.get(id(document))
            if (
                isinstance(each, Problem)
                and chart is not None
                and any((chart, each.rule.id) not in others for others in wrong)
            ):
                if id(document) not in by_itself:
                    own = [item for item in chosen if item.source.document is document]
                    by_itself[id(document)] = set(map(key_of, alone(own)))
                if key_of(each) not in by_itself[id(document)]:
                    each = replace(each, severity="info")  # noqa: PLW2901
            told.append(each)
        yield chosen, told


def key_of(judgement: Judgement) -> tuple[Any, ...]:
    """What two findings have in common that say the same."""
    said = judgement.message if isinstance(judgement, Problem) else judgement.what
    path = judgement.path if isinstance(judgement, Problem) else ()
    source = judgement.source
    return judgement.rule.id, id(source.document), source.path, path, said


def if_installed(values: Release, release: Release) -> Release:
    """Values of a file, which are there on the condition on which a release of them is."""
    if not release.source.is_optional:
        return values
    return replace(values, source=values.source.optional(release.source.condition))


def _installed(values: Release, release: Release) -> Release:
    """Values of a file as a command installs them."""
    merged = values.values
    if isinstance(merged, dict):
        merged = merge_values(merged, dict(release.over))
    return replace(
        if_installed(values, release),
        values=merged,
        name=release.name,
        version=values.version or release.version,
        namespace=release.namespace,
        cluster=release.cluster,
    )


def _with_their_values(items: Sequence[Item]) -> list[Item]:
    """Values take the name and namespace of the release whose values are not known."""
    waiting = {
        release.chart: release
        for release in items
        if isinstance(release, Release)
        and release.values is UNKNOWN
        and release.name is not UNKNOWN
    }
    charts = {
        release.chart for release in items if isinstance(release, Release) and is_loose(release)
    }
    found: list[Item] = []
    for item in items:
        if not isinstance(item, Release) or item.chart not in waiting.keys() & charts:
            found.append(item)
        elif is_loose(item):
            found.append(_installed(item, waiting[item.chart]))
        elif item is not waiting[item.chart]:
            found.append(item)
    return found
