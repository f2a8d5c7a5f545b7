"""`eks-gpushare preview` as text: whole at every width, notes after warnings, less with --quiet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.cli.columns import Table, money
from eks_gpushare.program_verbs.pool_table import pool_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Run

ROOT = Path(__file__).parents[2]
STACKS = ("prod", "mig-balanced", "multi-tenant")


def tables(out: str) -> str:
    """What stands before the findings, which change with the day."""
    return out.partition("\nFindings in ")[0] + "\n"


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("stack", STACKS)
def test_the_tables_at_a_width(
    run: Run,
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
    stack: str,
    width: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))

    text = tables(run("preview", stack, "--quiet").out)

    assert max(map(len, text.splitlines())) <= width
    assert "\u2026" not in text
    golden(f"preview/{stack}-{width}.txt", text)


@pytest.mark.parametrize("stack", STACKS)
def test_the_same_as_json(run: Run, golden: Callable[[str, str], None], stack: str) -> None:
    document = run("preview", stack, "--json").json

    told = {key: document[key] for key in ("stack", "pools", "cost")}
    golden(f"preview/{stack}.json", json.dumps(told, indent=2) + "\n")


@pytest.mark.parametrize(
    "width", [80, *(pytest.param(width, marks=pytest.mark.at_length) for width in (100, 120, 200))]
)
@pytest.mark.parametrize("stack", STACKS)
def test_every_number_is_there_at_every_width(
    run: Run, monkeypatch: pytest.MonkeyPatch, stack: str, width: int
) -> None:
    document = run("preview", stack, "--json").json
    monkeypatch.setenv("COLUMNS", str(width))

    words = tables(run("preview", stack, "--quiet").out).split()

    for name, pool in document["pools"].items():
        assert name in {word.rstrip(":") for word in words}
        for node in pool["perNode"].values():
            assert {*node, *map(str, node.values())} <= {*words}
    for item in document["cost"]["items"]:
        assert money(item["usdPerHour"]["atMax"]) in words
        assert money(item["usdPerMonth"]["atDesired"]) in words


def test_without_a_terminal_tables_take_80_columns_and_a_resource_one_line(run: Run) -> None:
    out = run("preview", "multi-tenant").out
    tree, _, rest = out.partition("\n\n")

    assert "gpushare-whole-worker  aws:iam/rolePolicyAttachment:RolePolicyAttachment" in tree
    assert max(map(len, tables(rest).splitlines())) <= 80


def test_quiet_leaves_pools_cost_and_findings(run: Run) -> None:
    out = run("preview", "multi-tenant", "--quiet").out

    assert out.startswith("GPU pools\n")
    assert "\nCost in USD\n" in out
    assert "\nFindings in " in out
    assert "stacks/Pulumi.multi-tenant.yaml, 12 notes\n" in out
    for left_out in ("info GPU", "RolePolicyAttachment", "apiVersion", "assumed:", "Go on with"):
        assert left_out not in out


@pytest.mark.parametrize("verb", ["preview", "check"])
def test_errors_come_before_warnings_before_notes(
    run: Run, tmp_path: Path, time_slicing: str, verb: str
) -> None:
    file = tmp_path / "Pulumi.mixed.yaml"
    wrong = time_slicing.replace("eks-node: gpu", "nvidia.com/gpu.product: mine")
    file.write_text(
        wrong.replace("g6.12xlarge", "p3.8xlarge").replace("replicas: 10", "replicas: 40")
    )
    words = [verb, str(file), *(["--program", str(ROOT)] if verb == "preview" else [])]

    out = run(*words).out

    order = [
        line.split()[0] for line in out.splitlines() if line.startswith("  ") and " GPU" in line
    ]
    severities = [word for word in order if word in {"error", "warning", "info"}]
    assert {*severities} == {"error", "warning", "info"}
    assert severities == sorted(severities, key=["error", "warning", "info"].index)


def test_json_keeps_the_order_of_the_file(run: Run) -> None:
    found = run("check", "stacks/Pulumi.time-slicing-v100.yaml", "--json").json["files"][0][
        "findings"
    ]

    severities = [finding["severity"] for finding in found]
    assert severities != sorted(severities, key=["error", "warning", "info"].index)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "unknown"),
        (0.0, "0.00"),
        (0.00137, "0.0014"),
        (0.045, "0.0450"),
        (12.24, "12.24"),
        (20958.99, "20,958.99"),
    ],
)
def test_small_amounts_do_not_look_like_nothing(amount: float | None, text: str) -> None:
    assert money(amount) == text


def test_words_are_folded_and_never_broken() -> None:
    table = Table(["what", "count"])
    table.rows = [["a-word-that-is-longer-than-the-whole-column", "1"], ["b c", "2"]]

    lines = table.lines(30)

    assert "a-word-that-is-longer-than-the-whole-column" in "\n".join(lines)
    assert lines[-1].split() == ["b", "c", "2"]


def test_a_pool_of_several_types_has_rows_for_each() -> None:
    node = {"nvidia.com/gpu": 4}
    pool = {
        "nodes": {"min": 0, "desired": 1, "max": 2},
        "perNode": {"g6.12xlarge": node, "g6.24xlarge": node},
        "atDesired": node,
        "atMax": {"nvidia.com/gpu": 8},
        "usdPerHour": None,
        "shares": [{"resource": "nvidia.com/gpu", "usdPerHour": None}],
    }
    for width in (80, 200):
        text = "\n".join(pool_lines({"gpu": pool}, width))
        assert text.count("nvidia.com/gpu") == 2
        assert {"g6.12xlarge", "g6.24xlarge"} <= {word.strip(",") for word in text.split()}
        assert "unknown" in text
