"""The dictionaries of arguments as they are written: which keys, which types, and what they mean.

The sources are parsed and not imported: the sentence under a key is in the text alone, and the SDK
does not look at those of inherited keys.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE = Path(__file__).parents[2] / "components" / "eks_gpushare"
_WRAPPER = re.compile(r"NotRequired\[(.*)\]")


@dataclass(frozen=True)
class Field:
    """One argument or output."""

    name: str
    type: str
    required: bool
    text: str


def classes(module: str) -> list[ast.ClassDef]:
    """The public classes of a module of the package."""
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    return [n for n in tree.body if isinstance(n, ast.ClassDef) and not n.name.startswith("_")]


@cache
def dictionaries() -> Mapping[str, ast.ClassDef]:
    """What `eks_gpushare.args` and the modules below it define, by name."""
    modules = sorted(path.stem for path in (PACKAGE / "args").glob("*.py"))
    return {node.name: node for module in modules for node in classes(f"args/{module}")}


def bases(node: ast.ClassDef) -> list[str]:
    """The dictionaries whose keys a class has too."""
    names = [ast.unparse(base).removeprefix("plain.") for base in node.bases]
    return [name for name in names if name in dictionaries()]


def inherited(node: ast.ClassDef) -> list[Field]:
    """The keys that a class has of the dictionaries above it."""
    above = [dictionaries()[name] for name in bases(node)]
    return [field for base in above for field in (*inherited(base), *fields(base))]


def fields(node: ast.ClassDef) -> list[Field]:
    """The keys that a class itself has."""
    found = []
    for item, below in zip(node.body, node.body[1:], strict=False):
        if not isinstance(item, ast.AnnAssign):
            continue
        given = type_text(item.annotation)
        wrapped = _WRAPPER.fullmatch(given)
        value = below.value if isinstance(below, ast.Expr) else None
        text = value.value if isinstance(value, ast.Constant) else ""
        sentence = " ".join(str(text).split())
        kind = wrapped[1] if wrapped else given
        found.append(Field(ast.unparse(item.target), kind, wrapped is None, sentence))
    return found


def type_text(annotation: ast.expr | None) -> str:
    """A type as whoever writes a program names it."""
    text = ast.unparse(annotation) if annotation else ""
    return text.replace("pulumi.", "").replace("plain.", "")
