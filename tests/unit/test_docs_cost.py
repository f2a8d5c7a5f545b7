"""Tables of docs/cost.md that are reckoned by hand, against what is computed."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.catalog import Catalog

if TYPE_CHECKING:
    from tests.conftest import Run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cost.md").read_text(encoding="utf-8")
USAGE = "examples/cost/usage.json"
OPENCOST = {"GPU": "0.95", "CPU": "0.031611", "RAM": "0.004237"}
"""Its prices of one of each for an hour, from configs/default.json."""


def table(heading: str) -> list[list[str]]:
    """The rows of the table that begins with a heading."""
    _, _, rest = PAGE.partition(f"\n| {heading} |")
    lines = rest.partition("\n\n")[0].splitlines()[2:]
    assert lines
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def dollars(cell: str) -> Decimal:
    return Decimal(cell.strip("*"))


def test_the_query_is_that_of_the_examples() -> None:
    query = (ROOT / "examples" / "cost" / "usage.promql").read_text(encoding="utf-8")

    assert f"```text\n{query}```" in PAGE


def test_lines_by_hand_are_products() -> None:
    rows = [row for row in table("who") if not row[0].startswith("**")]

    assert len(rows) == 12
    for who, _, shares, part, node, hour in rows:
        exact = int(shares) * Fraction(part) * Fraction(node)
        assert abs(exact - Fraction(hour)) <= Fraction(1, 2_000_000), who


def test_sums_by_hand_are_those_of_the_command(run: Run) -> None:
    found = run("cost", "tenants", "--usage", USAGE, "--json").json
    rows = table("who")
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for who, *_, hour in rows[:12]:
        sums[who] += dollars(hour)
    told = {row[0].strip("*"): dollars(row[-1]) for row in rows[12:]}
    *teams, whole = told

    computed = {row["tenant"] or "the platform": row["usdPerHour"] for row in found["rows"]}
    assert {who: float(told[who]) for who in teams} == computed
    assert {who: round(usd, 4) for who, usd in sums.items()} == {who: told[who] for who in teams}
    assert float(told[whole]) == found["usdPerHour"] == round(2 * 1.3232 + 21.957642, 4)


def test_lines_by_hand_are_those_of_the_command(run: Run) -> None:
    found = run("cost", "tenants", "--usage", USAGE, "--json").json
    computed = {
        (
            line["tenant"] or "the platform",
            line["resource"].removeprefix("nvidia.com/"),
            line["use"],
        ): line["usdPerHour"]
        for line in found["lines"]
    }
    uses = {"holds": "used", "leaves": "guaranteed"}

    for who, what, *_, hour in table("who")[:12]:
        first, _, rest = what.partition(" ")
        kind, use = (rest, uses[first]) if first in uses else (first, "idle")
        use = "used" if "ci holds" in what else use
        assert abs(Decimal(str(computed[who, kind, use])) - dollars(hour)) < Decimal("0.0001"), what
    assert len(computed) == 12


def opencost_gpu_price(price: Fraction, gpus: int, vcpus: int, gib: Fraction) -> Fraction:
    """What one GPU of a node costs by GetNodeCost of pkg/costmodel/costmodel.go.

    It divides the price of a node by ratios of its default prices to that of a GiB of memory.
    """
    gpu, cpu = (Fraction(OPENCOST[key]) / Fraction(OPENCOST["RAM"]) for key in ("GPU", "CPU"))
    return price / (gpus * gpu + vcpus * cpu + gib) * gpu


@pytest.mark.parametrize("row", table("pool"), ids=lambda row: row[0])
def test_one_pod_both_ways(row: list[str], run: Run) -> None:
    name, asked, shares, node, share, gpu, full = row
    pool = name.partition(",")[0]
    found = run("cost", "multi-tenant", "--json").json["pools"][pool]["nodes"][0]
    known = Catalog().find(found["instanceType"])
    assert known is not None
    resource = f"nvidia.com/{asked}"

    assert float(node) == round(found["usdPerHourEach"], 4)
    assert float(share) == round(found["usdPerShareHour"][resource], 4)
    assert int(shares) == found["shares"][resource]
    price = opencost_gpu_price(
        Fraction(str(found["usdPerHourEach"])),
        known.gpu_count,
        known.vcpus,
        Fraction(known.memory_mib, 1024),
    )
    # It asks for nvidia.com/gpu, and for no other name.
    requested = 1 if resource == "nvidia.com/gpu" else 0
    assert float(gpu) == round(float(price * requested), 4)
    assert float(full) == round(float(price * requested * int(shares)), 4)


def test_the_example_is_an_answer_at_one_time() -> None:
    found = json.loads((ROOT / USAGE).read_text(encoding="utf-8"))["data"]

    assert found["resultType"] == "vector"
    assert len({each["value"][0] for each in found["result"]}) == 1
    assert re.search(r"cost tenants --usage examples/cost/usage\.json\n", PAGE)
