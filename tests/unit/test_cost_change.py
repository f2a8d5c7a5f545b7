"""What an edit does to a bill, line by line."""

from __future__ import annotations

from eks_gpushare.program.costs.change import CostChange
from eks_gpushare.program.costs.items import CostItem, Count
from eks_gpushare.program.costs.stack import StackCost


def line(name: str, nodes: int | None, price: float | None, words: str = "") -> CostItem:
    return CostItem("gpuNodes", name, words or name, Count(nodes, nodes), price, "")


def bill(*items: CostItem) -> StackCost:
    return StackCost("us-west-2", items, ())


def change(before: StackCost, after: StackCost) -> tuple[list[str], float | None]:
    found = CostChange(before, after)
    return [item.name for item in found.items()], found.usd_per_hour().at_desired


def test_a_line_that_stays_is_not_told() -> None:
    same = line("a", 1, 2.0)

    assert change(bill(same, line("b", 1, 1.0)), bill(same, line("b", 3, 1.0))) == (["b"], 2.0)


def test_a_line_comes_and_another_goes() -> None:
    assert change(bill(line("a", 1, 2.0)), bill(line("b", 1, 3.0))) == (["b", "a"], 1.0)


def test_another_type_at_the_same_price_is_no_change_of_the_bill() -> None:
    assert change(bill(line("a", 1, 2.0, "g5")), bill(line("a", 1, 2.0, "g6"))) == ([], 0.0)


def test_what_costs_nothing_may_come() -> None:
    assert change(bill(), bill(line("a", 0, None))) == ([], 0.0)


def test_an_unknown_line_that_stays_spoils_no_difference() -> None:
    spot = line("spot", 1, None)

    assert change(bill(spot, line("a", 1, 1.0)), bill(spot, line("a", 2, 1.0))) == (["a"], 1.0)


def test_an_unknown_line_that_changes_does() -> None:
    assert change(bill(line("spot", 1, None)), bill(line("spot", 2, None))) == (["spot"], None)


def test_a_price_that_becomes_unknown_does_too() -> None:
    assert change(bill(line("a", 1, 1.0)), bill(line("a", 1, None))) == (["a"], None)


def test_a_line_of_two_regions_is_one() -> None:
    home, abroad = line("", 1, 1.0), line("", 1, 2.0)

    assert change(bill(home, abroad), bill(home)) == ([""], -2.0)
