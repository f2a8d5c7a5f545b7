"""Conditions inverted: which ones, and that a test which does not notice is told of."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest
from rule_mutants.conditions import inversions
from rule_mutants.swapping import forget_results, living, swap

ROOT = Path(__file__).parents[2]

CONDITIONS = {
    "a == b": ["a == b -> a != b"],
    "a < 2": ["a < 2 -> a >= 2", "a < 2 -> a <= 2", "2 -> 3"],
    "a >= b": ["a >= b -> a < b", "a >= b -> a > b"],
    "a in b": ["a in b -> a not in b"],
    "a is not None": ["a is not None -> a is None"],
    "1 < a < b": ["1 < a < b -> not 1 < a < b", "1 -> 2"],
    "not a": ["not a -> a"],
    "a and b": ["a and b -> a or b", "a and b -> not (a and b)"],
    "f(a, key=True)": ["True -> False"],
    "any(b)": ["any(b) -> not any(b)"],
    "_is_met(a)": ["_is_met(a) -> not _is_met(a)"],
    "a.startswith('x')": ["a.startswith('x') -> not a.startswith('x')"],
    "[x for x in b if x != a]": ["x != a -> x == a"],
    "f(a)": [],
    "'text'": [],
}


@pytest.mark.parametrize(("condition", "expected"), CONDITIONS.items(), ids=str)
def test_a_condition_is_inverted(condition: str, expected: list[str]) -> None:
    source = f"def look(a, b):\n    return {condition}\n"

    assert [each.what for each in inversions(source)] == expected


def test_what_is_no_condition_of_a_function_stays() -> None:
    source = (
        "MOST = 3\nif TYPE_CHECKING and MOST > 2:\n    pass\n\n"
        "@cached(1)\ndef look(a: Literal[1] = None) -> Literal[2]:\n    '''Text.'''\n"
    )

    assert list(inversions(source)) == []


def test_an_inversion_has_one_change_and_its_line() -> None:
    source = "def look(a, b):\n    if a:\n        return b > 1\n    return b < 2\n"
    found = list(inversions(source))

    assert [each.line for each in found] == [3, 3, 3, 4, 4, 4]
    assert len({each.code.co_consts for each in found}) == len(found)


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
def module(tmp_path: Path) -> ModuleType:
    file = tmp_path / "of_test.py"
    file.write_text(MODULE, encoding="utf-8")
    made = ModuleType("of_test")
    made.__file__ = str(file)
    exec(compile(MODULE, str(file), "exec"), vars(made))  # noqa: S102  (our own text)
    return made


@pytest.mark.parametrize(
    ("what", "asked"),
    [
        ("value > least -> value <= least", "above(5)"),
        ("value == 1 -> value != 1", "kept(1)"),
        ("self.value == 1 -> self.value != 1", "Thing(1).is_one"),
        ("value == 1 -> value != 1", "table['one'](1)"),
    ],
)
def test_living_functions_get_the_inverted_code(module: ModuleType, what: str, asked: str) -> None:
    """Those that closures, caches, properties and tables hold too."""
    file = str(module.__file__)

    def answer() -> object:
        return eval(asked, vars(module))  # noqa: S307  (our own text)

    assert answer() is True
    answers = []
    for each in inversions(MODULE, file):
        if each.what == what:
            before = _codes(file)
            assert swap(each.code, living({file}))
            forget_results(("of_test",))
            answers.append(answer())
            for function, code in before:
                function.__code__ = code
            forget_results(("of_test",))

    assert False in answers
    assert answer() is True


def _codes(file: str) -> list[tuple[FunctionType, CodeType]]:
    return [(each, each.__code__) for found in living({file}).values() for each in found]


def test_the_command_tells_what_no_test_notices(tmp_path: Path) -> None:
    (tmp_path / "rule.py").write_text(
        "def look(a):\n    return a > 1\n\n\ndef alone(a):\n    return not a\n", encoding="utf-8"
    )
    (tmp_path / "test_rule.py").write_text(
        "from rule import look\n\n\ndef test_it():\n    assert look(5)\n", encoding="utf-8"
    )
    command = [sys.executable, str(ROOT / "tools" / "mutants" / "invert.py"), "rule.py"]
    done = subprocess.run(
        [*command, "--tests", str(tmp_path / "test_rule.py"), "--json"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert json.loads(done.stdout) == {
        "rule.py": {
            "tried": 4,
            "survived": ["a > 1 -> a >= 1", "1 -> 2"],
            "untested": ["not a -> a"],
        }
    }
