"""The conditions of a module, and what they are inverted to."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

_OPPOSITES: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.GtE, ast.LtE),
    ast.LtE: (ast.Gt, ast.Lt),
    ast.Gt: (ast.LtE, ast.GtE),
    ast.GtE: (ast.Lt, ast.Gt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
"""Comparison to its opposite, and to what differs at the border only."""


@dataclass(frozen=True, slots=True)
class Inversion:
    """One change of a module."""

    line: int
    """The line it is in."""
    what: str
    """What becomes of what: `a < b -> a >= b`."""
    code: CodeType
    """The module with it."""


class _Place(NamedTuple):
    """Where a node hangs in the tree."""

    parent: ast.AST
    field: str
    number: int | None

    def put(self, node: ast.AST) -> None:
        if self.number is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.number] = node


def inversions(source: str, file: str = "module") -> Iterator[Inversion]:
    """Every way to invert one condition within a function of a module.

    What is inverted: comparisons, also at their border; `not`; `and` and `or`; what an `if`, a
    `while` or a comprehension asks; `True` and `False`; numbers, by one.
    """
    tree = ast.parse(source)
    for place, node in list(_within_functions(tree)):
        for new in _changes(node):
            ast.fix_missing_locations(ast.copy_location(new, node))
            # ast.unparse is to see the change, not what stands below it with it.
            what = f"{ast.unparse(node)} -> {ast.unparse(new)}"
            place.put(new)
            code = compile(tree, file, "exec", dont_inherit=True)
            place.put(node)
            yield Inversion(node.lineno, what, code)


def _within_functions(tree: ast.AST, *, within: bool = False) -> Iterator[tuple[_Place, Any]]:
    for field, value in ast.iter_fields(tree):
        if field in {"annotation", "returns", "decorator_list"}:
            continue
        numbered = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, node in numbered:
            if not isinstance(node, ast.AST):
                continue
            if within and isinstance(node, ast.expr):
                yield _Place(tree, field, index), node
            inner = within or isinstance(node, ast.FunctionDef | ast.Lambda)
            yield from _within_functions(node, within=inner)


def _changes(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for opposite in _OPPOSITES[type(node.ops[0])]:
            yield ast.Compare(node.left, [opposite()], node.comparators)
    elif isinstance(node, ast.Compare):
        yield ast.UnaryOp(ast.Not(), node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield ast.BoolOp(other, node.values)
        yield ast.UnaryOp(ast.Not(), node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Call) and _is_asked(node):
        yield ast.UnaryOp(ast.Not(), node)


def _is_asked(call: ast.Call) -> bool:
    """Whether a call answers yes or no, by its name."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in {"isinstance", "any", "all", "given", "startswith", "endswith"} or (
        name.lstrip("_").startswith(("is_", "has_", "can_", "fits", "reaches", "tolerates"))
    )
