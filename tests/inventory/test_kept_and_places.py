"""What checks work out once, and where values of charts stand."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import pytest
from inventory_of import chart, nodes

from eks_gpushare.inventory.edges import landing, mig
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.kept import kept
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.registry import edges_in
from eks_gpushare.inventory.source import Source
from eks_gpushare.inventory.wording import at_start, if_missing


def test_each_inventory_keeps_its_results() -> None:
    asked: list[str] = []

    @kept
    def count(inventory: Inventory, cluster: str) -> int:
        asked.append(cluster)
        return len(inventory.items)

    one, other = Inventory((nodes(),)), Inventory((nodes(), nodes()))

    assert [count(one, "a"), count(one, "b"), count(one, "a")] == [1, 1, 1]
    assert asked == ["a", "b"]
    assert [count(other, "a"), count(other, "a"), count(one, "a")] == [2, 2, 1]
    assert asked == ["a", "b", "a"]
    # Equal is not the same: it may be read from elsewhere.
    assert count(Inventory((nodes(),)), "a") == 1
    assert asked == ["a", "b", "a", "a"]


@pytest.mark.parametrize(
    ("above", "paths", "place"),
    [
        ((), {}, ("nfd", "worker")),
        (("spec",), {}, ("nfd", "worker")),
        ((), {("nfd",): ("values", "nfd")}, ("values", "nfd", "worker")),
        (("spec",), {("nfd",): ("spec", "values", "nfd")}, ("values", "nfd", "worker")),
        (("spec",), {("nfd",): ("values", "nfd")}, ("values", "nfd", "worker")),
        (("spec",), {("nfd", "worker"): ("spec", "set", 0)}, ("set", 0)),
        ((), {(): ("values",)}, ("values", "nfd", "worker")),
        (
            (),
            {("nfd",): ("a",), ("nfd", "worker"): ("b",), ("gfd",): ("c",)},
            ("b",),
        ),
    ],
)
def test_a_value_stands_where_it_or_what_holds_it_does(
    above: tuple[str, ...],
    paths: dict[tuple[str, ...], tuple[str | int, ...]],
    place: tuple[str | int, ...],
) -> None:
    release = replace(chart("gpu-operator", paths=paths), source=Source("it", path=above))

    assert value_place(release, ("nfd", "worker")) == place


def test_the_checks_of_a_module_are_those_that_it_defines() -> None:
    borrowing = ModuleType("borrowing")
    vars(borrowing).update(pods_land=landing.pods_land, NAME="text")

    assert edges_in(landing) == (landing.pods_land, landing.others_select)
    of_mig = (mig.undone, mig.layouts, mig.managers)
    assert edges_in(mig, landing) == (*of_mig, landing.pods_land, landing.others_select)
    assert edges_in(borrowing) == ()


def test_names_begin_sentences() -> None:
    assert at_start("the Deployment a") == "The Deployment a"
    assert at_start("") == ""


def test_what_is_missing_of_files_may_stand_in_others() -> None:
    assert if_missing(Inventory(complete=True)) is None
    assert if_missing(Inventory(complete=False)) == "info"
