"""Stacks with one thing broken at a time: the table of who catches them, and that it is true."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from stack_mutants import by_lab, table
from stack_mutants.by_policy import heard, new_policies, of_stack, whole_pack_says
from stack_mutants.edges import EDGES
from stack_mutants.mutant import mutants
from stack_mutants.recordings import recorded, stacks

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parents[1] / "golden"
pytestmark = pytest.mark.sdk_internals


IN_LAB = GOLDEN / "mutants-in-lab.json"
ON_DEMAND = pytest.mark.skipif(
    not os.environ.get("EKS_GPUSHARE_TEST_MUTANTS"),
    reason="EKS_GPUSHARE_TEST_MUTANTS=1 tries all, and on the lab what nothing else catches",
)


EVERY = 48
"""Of so many mutants of the table a change is tried with one."""


@pytest.fixture(scope="module")
def of_table() -> dict[str, dict[str, str]]:
    return dict(json.loads((GOLDEN / "mutants.json").read_text(encoding="utf-8")))


def test_who_catches_which_mutant_is_as_the_table_says(
    of_table: dict[str, dict[str, str]],
) -> None:
    found = table.rows(in_lab=json.loads(IN_LAB.read_text(encoding="utf-8")), every=EVERY)
    verdicts = {name: said for mutants in of_table.values() for name, said in mutants.items()}

    assert len(found) > len(verdicts) / EVERY
    assert {row.name: row.verdict for row in found} == {
        row.name: verdicts.get(row.name) for row in found
    }


@ON_DEMAND
def test_the_table_is_that_of_all(golden: Callable[[str, str], None]) -> None:
    found = table.rows(in_lab=json.loads(IN_LAB.read_text(encoding="utf-8")))

    golden("mutants.json", table.as_text(found))


def test_every_stack_and_every_edge_of_the_table_is_broken(
    of_table: dict[str, dict[str, str]],
) -> None:
    names = {name for mutants in of_table.values() for name in mutants}
    tried = table.tried()

    assert len(tried) >= 300
    assert {mutant.name for mutant in tried} <= names
    assert {mutant.name.partition("/")[0] for mutant in tried} == set(stacks())
    assert {edge.kind for edge in EDGES} == {mutant.edge.kind for mutant in tried}


def test_nothing_is_said_of_whole_stacks_with_workloads_as_pools_say_to_write_them() -> None:
    wrong = {
        (name, said.policy, said.message)
        for name in stacks()
        for said in of_stack(name, preview=True)
        if said.message
    }

    assert not wrong


def test_names_of_mutants_tell_them_apart() -> None:
    names = [mutant.name for mutant in table.tried()]

    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "preview"),
    [
        ("mps/NodeGroup:gpushare-gpu/launchTemplate/drop", True),
        ("bottlerocket/Addon:gpushare-cluster-coredns/drop", False),
    ],
)
def test_rules_asked_one_by_one_say_what_the_whole_pack_says(name: str, *, preview: bool) -> None:
    """What is quick is right: against the analyzer, all rules, over all resources."""
    stack = name.partition("/")[0]
    mutant = next(each for each in mutants(stack, EDGES) if each.name == name)
    broken = mutant.recording(preview=preview)
    assert broken is not None
    before, after = map(whole_pack_says, (recorded(stack, preview=preview), broken[0]))

    assert heard(mutant, preview=preview).policies == new_policies(before, after)


@ON_DEMAND
def test_what_the_lab_says_of_what_nothing_else_catches(
    golden: Callable[[str, str], None],
) -> None:
    """Of all in the table, and of those in all stacks for which there is no reason."""
    sample = {each.name for each in table.tried()}
    asked = {
        row.name
        for row in table.rows(None)
        if not row.caught and row.stakes == "pods" and (row.name in sample or not row.reason)
    }
    tried = [
        each for each in table.tried(None) if each.name in asked and each.edge.kind in by_lab.KINDS
    ]
    with by_lab.trials() as trials:
        found = {each.name: trials.caught_by(each) for each in tried}

    golden("mutants-in-lab.json", json.dumps(found, indent=1) + "\n")


@ON_DEMAND
def test_every_mutant_of_every_stack_is_caught_or_has_its_reason() -> None:
    in_lab = json.loads(IN_LAB.read_text(encoding="utf-8"))
    missed = [
        row.name for row in table.rows(None, in_lab=in_lab) if not row.caught and not row.reason
    ]

    assert not missed
