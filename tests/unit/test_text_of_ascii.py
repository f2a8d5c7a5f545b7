"""Digits and letters of what AWS, Kubernetes and NVIDIA name are those of ASCII.

In Python the classes of digits and words in patterns, and `str.isdigit`, take those of every
script, and `int` fails at some of what `isdigit` takes.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
CODE = sorted(
    file
    for folder in ("components", "policies")
    for file in (ROOT / folder).rglob("*.py")
    if file.parent.name != "data"  # content of users' ConfigMaps, which is released as it is
)
METHODS = {"isdigit", "isdecimal", "isnumeric", "isalnum", "isalpha"}
ANY_SCRIPT = re.compile(r"(?<!\\)(\\\\)*\\[dw]")


def complaints(source: str) -> Iterator[str]:
    if not any(each in source for each in ("\\d", "\\w", *METHODS)):
        return  # most files: it takes long to look at every node
    tree = ast.parse(source)
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    described = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in described and ANY_SCRIPT.search(node.value):
                yield f"{node.lineno}: {node.value}"
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in METHODS
            and "isascii()" not in expression(node, above)
        ):
            yield f"{node.lineno}: {ast.unparse(node)}"


def expression(node: ast.AST, above: dict[ast.AST, ast.AST]) -> str:
    """The whole expression that a call is a part of."""
    while isinstance(above.get(node), ast.expr | ast.comprehension):
        node = above[node]
    return ast.unparse(node)


def test_the_code_takes_ascii_digits_and_letters_only() -> None:
    assert CODE
    found = [f"{file.relative_to(ROOT)}:{each}" for file in CODE for each in complaints(read(file))]

    assert not found, "\n".join(["", *found])


def read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('x = re.compile(r"\\d+")', 1),
        ('x = re.compile(r"[\\w-]+")', 1),
        ('x = f"{a}\\\\d"', 1),
        ('x = re.compile(r"[0-9]+\\s")', 0),
        ('x = re.compile(r"\\\\\\\\d")', 0),
        ("x = name.isdigit()", 1),
        ("x = name.isascii() and name.isdigit()", 0),
        ('"""A docstring of \\\\d."""', 0),
    ],
)
def test_what_takes_digits_of_every_script_is_found(source: str, lines: int) -> None:
    assert len(list(complaints(source))) == lines
