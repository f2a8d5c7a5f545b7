"""Nothing in the packages imports in a circle: no two rooms each other, and no two modules.

The parts of a package, modules and packages alike, are held against each other: whatever lies in
one of them may import the other only if nothing in the other imports the one, by whatever detour.
Imports within functions and those for type checkers count: a circle that they hide is one.
"""

from __future__ import annotations

import ast
import gc
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.unit.test_house_rules import statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COMPONENTS = Path(__file__).parents[2] / "components"
PACKAGES = ("eks_gpushare", "eks_gpushare_lab")

Parts = tuple[str, ...]


@pytest.fixture(scope="module", autouse=True)
def _thawed() -> Iterator[None]:
    """Leave nothing frozen of what is parsed: each run of a program counts what is."""
    yield
    gc.unfreeze()


def modules() -> dict[Parts, str]:
    """Source texts by the parts of the modules' names; that of a package ends in __init__."""
    return {
        file.relative_to(COMPONENTS).with_suffix("").parts: file.read_text(encoding="utf-8")
        for package in PACKAGES
        for file in (COMPONENTS / package).rglob("*.py")
    }


def imported(source: str, known: Mapping[Parts, str]) -> Iterator[Parts]:
    """The known modules that a module imports, wherever in it."""
    for node in statements(source):
        if isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            above = tuple(node.module.split("."))
            # What is imported is a module of that package, or else something in its __init__.
            names = [
                name if name in known or (*name, "__init__") in known else above
                for name in ((*above, alias.name) for alias in node.names)
            ]
        else:
            continue
        for name in names:
            if name in known:
                yield name
            elif (*name, "__init__") in known:
                yield (*name, "__init__")


def circles(known: Mapping[Parts, str]) -> dict[str, str]:
    """One circle for each package whose parts import each other in one."""
    graphs: dict[Parts, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module, source in known.items():
        for other in imported(source, known):
            above = common(module, other)
            if above and module != other:
                graphs[above][module[len(above)]].add(other[len(above)])
    found = {}
    for package, graph in graphs.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            found[".".join(package)] = " imports ".join(reversed(error.args[1]))
    return found


def common(one: Parts, other: Parts) -> Parts:
    """The package that two modules are both in, the innermost one."""
    shared = 0
    while one[shared] == other[shared] and shared < min(len(one), len(other)) - 1:
        shared += 1
    return one[:shared]


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        ({"a/x": "import a.y", "a/y": "def f():\n    from a import x"}, "a"),
        ({"a/r/x": "from a.s.y import z", "a/s/y": "", "a/s/v": "import a.r.w", "a/r/w": ""}, "a"),
        ({"a/__init__": "from a.x import y", "a/x": "import a"}, "a"),
        (
            {"a/r/x": "from a.r import y", "a/r/y": "from a.r import x", "a/z": "import a.r.x"},
            "a.r",
        ),
        ({"a/x": "import a.y\nimport json", "a/y": "from b import x", "b/x": "import a.x"}, ""),
        ({"a/r/__init__": "", "a/r/x": "import a.y", "a/y": "from a.r import __doc__"}, "a"),
    ],
)
def test_a_circle_is_seen(sources: dict[str, str], found: str) -> None:
    known = {tuple(name.split("/")): source for name, source in sources.items()}

    assert list(circles(known)) == ([found] if found else [])


def test_a_circle_is_told_in_the_order_of_its_imports() -> None:
    known: dict[Parts, str] = {
        ("a", "x"): "import a.y",
        ("a", "y"): "import a.z",
        ("a", "z"): "import a.x",
    }

    assert circles(known)["a"] in {
        "x imports y imports z imports x",
        "y imports z imports x imports y",
        "z imports x imports y imports z",
    }


def test_nothing_imports_in_a_circle() -> None:
    assert circles(modules()) == {}
