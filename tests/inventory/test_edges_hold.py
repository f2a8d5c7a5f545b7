"""What holds for every check, whatever it is about, tried on the cases of all of them."""

from __future__ import annotations

import importlib.util
import os
import random
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import judgements

from eks_gpushare.findings.rule import rules_in
from eks_gpushare.inventory import edges
from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.items import Item

HERE = Path(__file__).parent
# Names of cases are long, and each is tried many times: so many of all that there are.
SEED = 1100
MOST = int(os.environ.get("EKS_GPUSHARE_TEST_CHANGES", "2"))
JUNK: tuple[Any, ...] = (None, "", "x", 5, -1, 0.5, True, [], {}, [None], ["x"], {"x": []}, [[]])


def _cases() -> dict[str, tuple[bool, tuple[Item, ...]]]:
    found: dict[str, tuple[bool, tuple[Item, ...]]] = {}
    for file in sorted(HERE.glob("test_edge_*.py")):
        spec = importlib.util.spec_from_file_location(f"cases_of_{file.stem}", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, (_, items) in getattr(module, "BROKEN", {}).items():
            found[f"{file.stem}: {name}"] = (False, items)
        for name, items in getattr(module, "RIGHT", {}).items():
            found[f"{file.stem}: {name}"] = (True, items)
    return found


CASES = _cases()
BY_FILE = sorted({name.partition(":")[0] for name in CASES})


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places in a value, those of mappings and lists among them."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*path, index))


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with(value[path[0]], path[1:], new)
    return copy


SIGNS = (
    "test_edge_configs: a label on nodes without a GPU",
    "test_edge_untold: labels of the kubelet and of feature discovery",
)
"""Without their types, nodes with a label of NVIDIA's are taken to have GPUs."""
FIXED = (
    "source",
    "cluster",
    "spec_path",
    "paths",
    "own",
    "of_files",
    "chart",
    "changed_by",
    "kind",
    "provisioner",
    "advertised",
    "only_by_boot",
    "leaves_gpus",
    "changed_by",
    "max_pods",
    "kubernetes",
    "tags",
)
"""What readers give, whatever was written."""


def _changed(items: tuple[Item, ...], junk: tuple[Any, ...]) -> Iterator[tuple[Item, ...]]:
    """The items with one value in them changed, one after the other."""
    for number, item in enumerate(items):
        for field in fields(item):
            if field.name in FIXED:
                continue
            given = getattr(item, field.name)
            for path in _leaves(given):
                for new in junk:
                    # A field itself is what the item says it is, or not known.
                    if not path and new is not UNKNOWN:
                        continue
                    changed = replace(item, **{field.name: _with(given, path, new)})
                    yield (*items[:number], changed, *items[number + 1 :])


@pytest.mark.parametrize("file", BY_FILE)
def test_what_is_not_known_is_no_problem(file: str) -> None:
    dice = random.Random(SEED)  # noqa: S311  (cases of a test)
    for name, (is_right, items) in CASES.items():
        if not is_right or not name.startswith(f"{file}:"):
            continue
        every = list(_changed(items, (UNKNOWN,)))
        for changed in dice.sample(every, min(len(every), MOST)):
            found = [each for each in judgements(*changed) if isinstance(each, Problem)]
            types = [getattr(each, "instance_types", None) for each in changed]
            if name in SIGNS and UNKNOWN in types:
                continue
            assert not found, (name, changed, found[0].message)


def test_little_passes_in_silence() -> None:
    """What is wrong, and cannot be seen once a value is not known: nearly all of it is said."""
    tried, silent = 0, []
    for name, (is_right, items) in CASES.items():
        if is_right:
            continue
        wrong = {each.rule for each in judgements(*items) if isinstance(each, Problem)}
        every = list(_changed(items, (UNKNOWN,)))
        dice = random.Random(f"{SEED} {name}")  # noqa: S311  (a case more changes no other's)
        for changed in dice.sample(every, min(len(every), MOST)):
            found = judgements(*changed)
            still = {each.rule for each in found if isinstance(each, Problem)}
            tried += 1
            if wrong - still and not any(isinstance(each, NotSeen) for each in found):
                silent.append(name)
    assert len(silent) < 0.05 * tried, silent


@pytest.mark.parametrize("file", BY_FILE)
def test_no_check_stumbles_over_what_nobody_has_checked(file: str) -> None:
    dice = random.Random(SEED)  # noqa: S311  (cases of a test)
    for name, (_, items) in CASES.items():
        if not name.startswith(f"{file}:"):
            continue
        every = list(_changed(items, JUNK))
        for changed in dice.sample(every, min(len(every), MOST)):
            judgements(*changed, complete=dice.random() > 0.5)


def test_the_order_of_items_does_not_matter() -> None:
    for name, (_, items) in CASES.items():
        there = {_said(each) for each in judgements(*items)}
        back = {_said(each) for each in judgements(*reversed(items))}
        assert {code for code, _ in there} == {code for code, _ in back}, name


def _said(each: Problem | NotSeen) -> tuple[str, str]:
    return each.rule.id, each.source.name


def test_every_problem_is_one_of_its_check() -> None:
    from eks_gpushare.inventory.inventory import Inventory

    for _, items in CASES.values():
        inventory = Inventory(items, complete=True)
        for edge in EDGES:
            for each in edge.look(inventory):
                assert each.rule in edge.rules
                if isinstance(each, Problem):
                    assert each.message.endswith("."), each.message
                    assert each.fix.endswith("."), each.fix


def test_every_rule_has_its_number_a_check_and_cases() -> None:
    modules = [each for each in vars(edges).values() if hasattr(each, "__file__")]
    # GPU801 of quotas is a rule of `check` and `verify`, which look at it by the same place.
    rules = [rule for rule in rules_in(*modules) if rule.id != "GPU801"]
    broken = {
        each.rule.id
        for is_right, items in CASES.values()
        if not is_right
        for each in judgements(*items)
    }

    assert len({each.id for each in rules}) == len(rules)
    # GPU1210 to GPU1219 are of how safe nodes start, which a switch of lint leaves out.
    assert all(re.fullmatch("GPU11..|GPU121.|GPU12[67].", each.id) for each in rules)
    assert {rule for edge in EDGES for rule in edge.rules} == set(rules)
    assert all(each.source.startswith("https://") for each in rules)
    without = {each.id for each in rules} - broken
    assert without == {"GPU1113", "GPU1114", "GPU1115", "GPU1143", "GPU1161", "GPU1190"}
