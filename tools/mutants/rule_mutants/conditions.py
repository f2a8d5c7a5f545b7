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
_ASKED = {
    (ast.If, "test"),
    (ast.IfExp, "test"),
    (ast.While, "test"),
    (ast.comprehension, "ifs"),
    (ast.match_case, "guard"),
}
"""Where an expression is taken for yes or no, whatever it is."""
_NO_CODE = {"annotation", "returns", "decorator_list", "defaults", "kw_defaults"}
"""Parts of a function that are no code of its own."""


@dataclass(frozen=True, slots=True)
class Inversion:
    """One change of a module."""

    line: int
    """The line it is in."""
    what: str
    """The function, and what becomes of what in it: `is_less: a < b -> a >= b`."""
    code: CodeType | None
    """The module with it; None where nobody wants it."""


class _Place(NamedTuple):
    """Where a node hangs in the tree."""

    parent: ast.AST
    field: str
    number: int | None

    @property
    def is_asked(self) -> bool:
        """Whether an `if`, a `while` or a comprehension asks what stands here."""
        return (type(self.parent), self.field) in _ASKED

    @property
    def is_shown(self) -> bool:
        """Whether what it stands in is short enough to be shown with it."""
        return isinstance(self.parent, ast.expr | ast.keyword | ast.Return | ast.AugAssign)

    def put(self, node: ast.AST) -> None:
        if self.number is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.number] = node


def inversions(source: str, file: str = "module", *, compiled: bool = True) -> Iterator[Inversion]:
    """Every way to invert one condition within a function of a module.

    What is inverted: comparisons, also at their border; `not`; `and` and `or`; what an `if`, a
    `while` or a comprehension asks; calls that answer yes or no by their name; `True` and `False`;
    numbers, by one.

    Args:
        source: The module's text.
        file: Its path, as tracebacks are to name it.
        compiled: Whether the code of each is wanted, which takes its time.
    """
    tree = ast.parse(source)
    for place, node, function in list(_within_functions(tree)):
        for new in _changes(node, is_asked=place.is_asked):
            ast.fix_missing_locations(ast.copy_location(new, node))
            # A number says little without what it stands in.
            shown = place.parent if isinstance(node, ast.Constant) and place.is_shown else node
            before = ast.unparse(shown)
            place.put(new)
            after = ast.unparse(place.parent if shown is not node else new)
            code = compile(tree, file, "exec", dont_inherit=True) if compiled else None
            place.put(node)
            yield Inversion(node.lineno, f"{function}: {before} -> {after}", code)


def _within_functions(tree: ast.AST, function: str = "") -> Iterator[tuple[_Place, Any, str]]:
    for field, value in ast.iter_fields(tree):
        if field in _NO_CODE:
            continue
        numbered = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, node in numbered:
            if not isinstance(node, ast.AST):
                continue
            if isinstance(node, ast.keyword) and node.arg == "strict":
                continue  # says what holds anyway, and decides nothing
            if function and isinstance(node, ast.expr):
                yield _Place(tree, field, index), node, function
            yield from _within_functions(node, _name(node, function))


def _name(node: ast.AST, function: str) -> str:
    if isinstance(node, ast.FunctionDef):
        return f"{function}.{node.name}" if function else node.name
    return "lambda" if isinstance(node, ast.Lambda) and not function else function


def _changes(node: ast.expr, *, is_asked: bool) -> Iterator[ast.expr]:
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
    elif is_asked or (isinstance(node, ast.Call) and _answers(node)):
        yield ast.UnaryOp(ast.Not(), node)


def _answers(call: ast.Call) -> bool:
    """Whether a call answers yes or no, by its name."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in {"isinstance", "any", "all", "given", "startswith", "endswith"} or (
        name.lstrip("_").startswith(("is_", "has_", "can_", "fits", "reaches", "tolerates"))
    )
