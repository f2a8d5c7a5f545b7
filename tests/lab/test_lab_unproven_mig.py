"""What a report says of boards whose MIG table nobody has published."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from eks_gpushare.catalog.mig import mig_models
from eks_gpushare_lab.install.nodes import LabNode
from eks_gpushare_lab.reporting import tables
from eks_gpushare_lab.reporting.report import RunReport
from eks_gpushare_lab.reporting.unproven_mig import unproven_mig
from eks_gpushare_lab.simulated_node.gpus import STATE

Session = Any
WHOLE = {"nvidia.com/gpu": 8}
MIXED = {"nvidia.com/mig-1g.34gb": 56}
CUT = json.dumps([[["1g.34gb", 0]]] * 8)
B300, G7 = "p6-b300.48xlarge", "g7.48xlarge"
LINE = (
    "Not proven: MIG of the B300-269GB (p6-b300.48xlarge, pool a). Its table is preliminary, and "
    "the simulated driver reads the same table."
)


def session(*nodes: tuple[str, str, dict[str, int], str]) -> Session:
    """A lab with nodes: of a pool and a type, what is declared, what GPUs are cut into."""
    made, there = [], {}
    for number, (pool, kind, declared, state) in enumerate(nodes):
        made.append(LabNode(f"n{number}", pool, kind, declared, {}))
        there[f"n{number}"] = {"metadata": {"annotations": {STATE: state} if state else {}}}
    return SimpleNamespace(nodes=made, watches=SimpleNamespace(nodes=there))


@pytest.mark.parametrize(
    "node",
    [
        ("a", "p4d.24xlarge", {"nvidia.com/mig-1g.5gb": 56}, ""),
        ("a", "p5.48xlarge", WHOLE, json.dumps([[["1g.10gb", 0]]] * 8)),
        ("a", B300, WHOLE, ""),
        ("a", B300, WHOLE, json.dumps([None] * 8)),
        ("a", "g5.xlarge", {"nvidia.com/gpu": 1}, ""),
        ("a", "m6i.large", {}, ""),
        ("a", "made.up", {}, ""),
    ],
)
def test_nothing_is_said_where_the_table_is_published_or_unused(
    node: tuple[str, str, dict[str, int], str],
) -> None:
    assert unproven_mig(session(node)) == ()


@pytest.mark.parametrize(
    "node",
    [
        ("a", B300, MIXED, CUT),
        ("a", B300, MIXED, ""),  # whose boot failed, which proves no more
        ("a", B300, {"nvidia.com/gpu": 56}, CUT),  # MIG under the name of whole GPUs
    ],
)
def test_a_preliminary_table_has_a_line(node: tuple[str, str, dict[str, int], str]) -> None:
    assert [str(each) for each in unproven_mig(session(node))] == [LINE]


def test_an_inferred_table_has_one_too() -> None:
    (found,) = unproven_mig(session(("a", "p6e-gb200.36xlarge", WHOLE, CUT)))

    assert found.board.confidence == "inferred"
    assert "Its table is inferred, and" in str(found)


def test_a_node_that_never_joined_counts_by_what_is_declared() -> None:
    lab = session(("a", B300, MIXED, ""))
    lab.watches.nodes.clear()

    assert [str(each) for each in unproven_mig(lab)] == [LINE]


def test_a_board_has_one_line_for_all_its_pools_and_nodes() -> None:
    nodes = [("a", B300, MIXED, ""), ("b", B300, MIXED, ""), ("a", B300, MIXED, "")]
    found = unproven_mig(session(*nodes, ("c", G7, MIXED, "")))

    assert [(each.board.name, each.instance_types, each.pools) for each in found] == [
        ("B300-269GB", (B300,), ("a", "b")),
        ("RTX-PRO-4500-Blackwell-32GB", (G7,), ("c",)),
    ]
    assert "(p6-b300.48xlarge, pools a, b)" in str(found[0])


def test_the_report_has_it_as_text_and_as_json() -> None:
    report = RunReport(unproven=unproven_mig(session(("a", B300, MIXED, CUT))))
    written = io.StringIO()
    tables.print_report(Console(file=written, width=80), report)

    assert report.ok  # nothing is wrong, and nothing is proven
    assert LINE in written.getvalue().splitlines()
    assert report.as_json()["unprovenMig"] == [
        {
            "board": "B300-269GB",
            "confidence": "preliminary",
            "instanceTypes": [B300],
            "pools": ["a"],
            "notes": list(mig_models()["B300-269GB"].notes),
        }
    ]


def test_a_report_without_such_a_board_says_so_in_json() -> None:
    assert RunReport().as_json()["unprovenMig"] == []
