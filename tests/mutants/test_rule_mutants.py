"""Conditions inverted: which ones, and that a test which does not notice is told of."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import invert
import pytest
from rule_mutants.conditions import inversions
from rule_mutants.reasons import open_of, reasons
from rule_mutants.result import Result
from rule_mutants.swapping import caches, forget, living, swap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[2]
INVERT = ROOT / "tools" / "mutants" / "invert.py"

CONDITIONS = {
    "a == b": ["a == b -> a != b"],
    "a < 2": ["a < 2 -> a >= 2", "a < 2 -> a <= 2", "a < 2 -> a < 3"],
    "a >= b": ["a >= b -> a < b", "a >= b -> a > b"],
    "a in b": ["a in b -> a not in b"],
    "a is not None": ["a is not None -> a is None"],
    "1 < a < b": ["1 < a < b -> not 1 < a < b", "1 < a < b -> 2 < a < b"],
    "not a": ["not a -> a"],
    "a and b": ["a and b -> a or b", "a and b -> not (a and b)"],
    "f(a, key=True)": ["key=True -> key=False"],
    "a[0]": ["a[0] -> a[1]"],
    "[0 for x in b]": ["[0 for x in b] -> [1 for x in b]"],
    "any(b)": ["any(b) -> not any(b)"],
    "_is_met(a)": ["_is_met(a) -> not _is_met(a)"],
    "a.startswith('x')": ["a.startswith('x') -> not a.startswith('x')"],
    "[x for x in b if x != a]": ["x != a -> x == a"],
    "[x for x in b if x]": ["x -> not x"],
    "a if b.c else a": ["b.c -> not b.c"],
    "a if f(b) else a": ["f(b) -> not f(b)"],
    "f(a)": [],
    "zip(a, b, strict=True)": [],
    "'text'": [],
}


@pytest.mark.parametrize(("condition", "expected"), CONDITIONS.items(), ids=str)
def test_a_condition_is_inverted(condition: str, expected: list[str]) -> None:
    source = f"def look(a, b):\n    return {condition}\n"

    assert [each.what for each in inversions(source)] == [f"look: {each}" for each in expected]


@pytest.mark.parametrize(
    "source",
    [
        "if a:\n        return b",
        "while a:\n        b.pop()",
        "match b:\n        case _ if a:\n            return b",
    ],
)
def test_what_is_asked_is_inverted_whatever_it_is(source: str) -> None:
    found = list(inversions(f"def look(a, b):\n    {source}\n"))

    assert [each.what for each in found] == ["look: a -> not a"]


def test_an_inversion_names_its_function() -> None:
    source = (
        "class Rule:\n    def look(self, a):\n        def inner(b):\n            return b == a\n"
        "        return inner\n\n\nTABLE = (lambda a: not a,)\n"
    )

    assert [each.what for each in inversions(source)] == [
        "look.inner: b == a -> b != a",
        "lambda: not a -> a",
    ]


def test_what_is_no_condition_of_a_function_stays() -> None:
    source = (
        "MOST = 3\nif TYPE_CHECKING and MOST > 2:\n    pass\n\n"
        "@cached(1)\ndef look(a: Literal[1] = 5, *, b=True) -> Literal[2]:\n    '''Text.'''\n"
    )

    assert list(inversions(source)) == []


def test_an_inversion_has_one_change_and_its_line() -> None:
    source = "def look(a, b):\n    if a:\n        return b > 1\n    return b < 2\n"
    found = list(inversions(source))

    assert [each.line for each in found] == [2, 3, 3, 3, 4, 4, 4]
    assert len({each.code.co_consts for each in found if each.code is not None}) == len(found)


MODULE = """\
from functools import cache


def make(least):
    def check(value):
        return value > least
    return check


@cache
def kept(value):
    return value == 1


class Thing:
    def __init__(self, value):
        self.value = value

    @property
    def is_one(self):
        return self.value == 1


above = make(3)
table = {"one": lambda value: value == 1}
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    """A module, beside which nothing that is in memory is looked at: that takes seconds."""
    gc.freeze()
    file = tmp_path / "of_test.py"
    file.write_text(MODULE, encoding="utf-8")
    made = ModuleType("of_test")
    made.__file__ = str(file)
    exec(compile(MODULE, str(file), "exec"), vars(made))  # noqa: S102  (our own text)
    yield made
    gc.unfreeze()


@pytest.mark.parametrize(
    ("what", "asked"),
    [
        ("make.check: value > least -> value <= least", "above(5)"),
        ("kept: value == 1 -> value != 1", "kept(1)"),
        ("is_one: self.value == 1 -> self.value != 1", "Thing(1).is_one"),
        ("lambda: value == 1 -> value != 1", "table['one'](1)"),
    ],
)
def test_living_functions_get_the_inverted_code(module: ModuleType, what: str, asked: str) -> None:
    """Those that closures, caches, properties and tables hold too."""
    file = str(module.__file__)

    def answer() -> object:
        return eval(asked, vars(module))  # noqa: S307  (our own text)

    assert answer() is True
    functions, kept = living({file}), caches(("of_test",))
    answers = []
    for each in inversions(MODULE, file):
        if each.what == what:
            before = _codes(functions)
            assert each.code is not None
            assert swap(each.code, functions)
            forget(kept)
            answers.append(answer())
            for function, code in before:
                function.__code__ = code
            forget(kept)

    assert False in answers
    assert answer() is True


def _codes(
    functions: Mapping[Any, list[FunctionType]],
) -> list[tuple[FunctionType, CodeType]]:
    return [(each, each.__code__) for found in functions.values() for each in found]


def _command(folder: Path, *words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(INVERT), *words, "--json"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_the_command_tells_what_no_test_notices(tmp_path: Path) -> None:
    (tmp_path / "rule.py").write_text(
        "def look(a):\n    return a > 1\n\n\ndef alone(a):\n    return not a\n", encoding="utf-8"
    )
    (tmp_path / "test_rule.py").write_text(
        "from rule import look\n\n\ndef test_it():\n    assert look(5)\n", encoding="utf-8"
    )

    assert _command(tmp_path, "rule.py", "--tests", str(tmp_path / "test_rule.py")) == {
        "rule.py": {
            "tried": 4,
            "survived": ["look: a > 1 -> a >= 1", "look: a > 1 -> a > 2"],
            "untested": ["alone: not a -> a"],
        }
    }


def test_what_tests_keep_is_asked_anew(tmp_path: Path) -> None:
    """An answer of the whole code would hide that the inverted one gives another."""
    (tmp_path / "rule.py").write_text("def look(a):\n    return a == 1\n", encoding="utf-8")
    (tmp_path / "test_rule.py").write_text(
        "from functools import cache\n\nfrom rule import look\n\n\n"
        "@cache\ndef kept():\n    return look(1)\n\n\n"
        "def test_it():\n    assert kept()\n",
        encoding="utf-8",
    )

    found = _command(tmp_path, "rule.py", "--tests", str(tmp_path / "test_rule.py"))["rule.py"]

    assert found == {"tried": 2, "survived": [], "untested": []}


def test_what_never_ends_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "rule.py").write_text(
        "def look(a):\n    while a > 1:\n        a -= 1\n    return a\n", encoding="utf-8"
    )
    (tmp_path / "test_rule.py").write_text(
        "from rule import look\n\n\ndef test_it():\n"
        "    assert look(3) == 1\n    assert look(1.5) == 0.5\n    assert look(2.5) == 0.5\n",
        encoding="utf-8",
    )

    command = ("rule.py", "--seconds", "1", "--tests", str(tmp_path / "test_rule.py"))
    found = _command(tmp_path, *command)["rule.py"]

    assert found["survived"] == []
    assert found["untested"] == []


@pytest.mark.parametrize(
    ("module", "tests"),
    [
        ("components/eks_gpushare/inventory/values.py", ["tests/inventory/test_plain_values.py"]),
        pytest.param(
            "components/eks_gpushare/manifests/scalars.py",
            ["tests/lint/test_plain_scalars.py"],
            marks=pytest.mark.at_length,
        ),
    ],
)
def test_some_of_our_own_conditions_are_held(module: str, tests: list[str]) -> None:
    found = _command(ROOT, module, "--tests", *tests)[module]

    assert found["tried"] > 5
    assert list(open_of(module, Result(**found))) == []


def test_an_example_of_a_finding_is_checked_anew_by_each_of_its_tests() -> None:
    """Its tests keep what was found, and none but the first would notice anything."""
    module, tests = "components/eks_gpushare/rules/roles.py", "tests/unit/test_finding_examples.py"
    right = f"{tests}::test_the_right_side_has_neither_the_finding_nor_an_error[GPU320]"
    wrong = f"{tests}::test_the_wrong_side_has_the_finding_at_its_path[GPU320]"

    found = _command(ROOT, module, "--tests", wrong, right)[module]
    assert found["tried"] > 5
    assert found["survived"] == found["untested"] == []


@cache
def _measured() -> dict[str, Any]:
    found = json.loads(invert.RESULTS.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_every_module_of_rules_was_tried() -> None:
    """With `invert.py --room ROOM --write`, after a new module of rules too."""
    there = {
        path.relative_to(ROOT).as_posix()
        for path in invert.modules_of(*invert.ROOMS)
        if next(inversions(path.read_text(encoding="utf-8"), compiled=False), None) is not None
    }

    assert set(_measured()) == there


def test_no_inversion_is_left_without_a_reason() -> None:
    found = {module: list(open_of(module, Result(**of))) for module, of in _measured().items()}

    assert {module: left for module, left in found.items() if left} == {}


@pytest.mark.parametrize("module", reasons())
def test_reasons_are_of_conditions_that_are_there(module: str) -> None:
    source = (ROOT / module).read_text(encoding="utf-8")
    there = {each.what for each in inversions(source, compiled=False)}

    assert set(reasons()[module]) <= {" ".join(each.split()) for each in there}
    assert all(why.endswith(".") for why in reasons()[module].values())
