"""Which values of a chart are chosen together, and what holds of all choices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from inventory_of import nodes, plugin, pods

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.rules.files import NOT_READ
from eks_gpushare.lint.variants import MOST, agreed, chosen_otherwise, values_to_come, variants
from eks_gpushare.manifests.document import Document


def loose(number: int, **more: Any) -> Release:
    return plugin({"n": number}, name=UNKNOWN, namespace=UNKNOWN, **more)


def chosen(*items: Any) -> list[list[Any]]:
    return [[each.values for each in one if isinstance(each, Release)] for one in variants(items)]


def test_without_charts_there_is_one_choice() -> None:
    assert variants([nodes(), pods()]) == [(nodes(), pods())]
    assert variants([]) == [()]


def test_values_of_no_release_are_one_or_the_other() -> None:
    installed = plugin({"n": 0})

    assert chosen(loose(1), loose(2)) == [[{"n": 1}], [{"n": 2}]]
    assert chosen(loose(1), installed) == [[{"n": 1}], [{"n": 0}]]
    assert chosen(installed, plugin({"n": 9}, name="b")) == [[{"n": 0}, {"n": 9}]]
    assert chosen(loose(1)) == [[{"n": 1}]]


@pytest.mark.parametrize(
    ("node_groups", "workloads", "count"),
    [
        (0, 5000, MOST),
        (1, 1, MOST),
        (50, 10, 7),
        (50, 20, 3),
        (50, 100, 1),
        (1999, 1, 2),
        (3999, 1, 1),
    ],
)
def test_of_many_nodes_and_workloads_there_are_fewer_choices(
    node_groups: int, workloads: int, count: int
) -> None:
    items: list[Any] = [
        *[nodes()] * node_groups,
        *[pods()] * workloads,
        *map(loose, range(MOST + 1)),
    ]

    assert len(variants(items)) == count


def test_values_go_to_the_release_that_does_not_say_its_own() -> None:
    waiting = plugin(UNKNOWN, namespace="gpu", version="1", over={"m": 2}, cluster="c")

    (one,) = variants([loose(1), waiting])
    (release,) = (each for each in one if isinstance(each, Release))
    assert release.values == {"n": 1, "m": 2}
    assert (release.version, release.namespace, release.cluster) == ("1", "gpu", "c")
    (one,) = variants([loose(1, version="2"), waiting])
    (release,) = (each for each in one if isinstance(each, Release))
    assert release.version == "2"
    bare = plugin(UNKNOWN, namespace="gpu")
    assert chosen(loose(1), bare) == [[{"n": 1}]]
    assert chosen(waiting, plugin({"n": 3}, name="b")) == [[UNKNOWN, {"n": 3}]]


def test_what_one_choice_says_holds_if_all_do_or_if_it_is_about_the_choice() -> None:
    a, b = loose(1), loose(2)
    one, other = (Problem(NOT_READ, Source("it"), (), text, "fix") for text in ("one", "other"))
    unseen = NotSeen(NOT_READ, Source("it"), "what")

    assert agreed([((a,), [one]), ((b,), [])]) == [one]  # of the documents that are chosen
    assert agreed([((a,), [one, other, unseen])]) == [one, other, unseen]
    assert agreed([((), [one, other, unseen]), ((), [unseen, one])]) == [one, unseen]


@pytest.mark.parametrize(
    ("second", "alone", "severities"),
    [
        ([], [], ["info"]),  # the other values are right
        ([], ["one"], [None]),  # wrong by itself
        (["two"], [], [None, None]),  # both are wrong
    ],
)
def test_what_the_other_values_do_not_have_is_a_note(
    second: list[str], alone: list[str], severities: list[str | None]
) -> None:
    places = Source("a", object()), Source("b", object())
    a, b = (replace(loose(number), source=source) for number, source in enumerate(places))

    def problems(source: Source, texts: list[str]) -> list[Problem]:
        return [Problem(NOT_READ, source, (), text, "fix") for text in texts]

    found = [((a,), problems(places[0], ["one"])), ((b,), problems(places[1], second))]
    told = chosen_otherwise([a, b], found, lambda items: problems(items[0].source, alone))

    judgements = [each for _, one in told for each in one if isinstance(each, Problem)]
    assert [each.severity for each in judgements] == severities


def test_what_is_about_no_values_is_told_as_it_is() -> None:
    a, b = loose(1), loose(2)
    found = [((a,), [Problem(NOT_READ, Source("it", object()), (), "one", "fix")]), ((b,), [])]

    assert list(chosen_otherwise([a, b], found, lambda _: [])) == found


def test_of_values_that_a_template_decides_about_it_is_known_that_there_are_some() -> None:
    values = loose(1)
    text = Document("values.yaml", {"n": 1}, lambda _: Position(1, 1), alone="values.yaml")
    decided = replace(values, source=replace(values.source, document=text))

    (some,) = values_to_come([decided, plugin({"n": 2}), nodes()])
    assert some.values is UNKNOWN
    assert some.source.document.alone == ""
