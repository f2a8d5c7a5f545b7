"""Operators, with what of their result is known where an operand is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import has_unknown
from eks_gpushare.lint.hcl.values import has_gaps, number, truth

if TYPE_CHECKING:
    from collections.abc import Callable


def negative(value: Any) -> Any:
    """`-x`."""
    found = number(value)
    return UNKNOWN if found is None else -found


def opposite(value: Any) -> Any:
    """`!x`."""
    found = truth(value)
    return UNKNOWN if found is None else not found


def binary(sign: str, left: Any, right_of: Callable[[], Any]) -> Any:
    """An operator between two operands.

    Args:
        sign: The operator.
        left: The value before it.
        right_of: Gives the value behind it.
    """
    if sign in {"&&", "||"}:
        return _logic(sign, left, right_of())
    right = right_of()
    if sign in {"==", "!="}:
        if any(has_unknown(each) or has_gaps(each) for each in (left, right)):
            return UNKNOWN
        same = equal(left, right)
        return same if sign == "==" else not same
    one, other = number(left), number(right)
    if one is None or other is None:
        return UNKNOWN
    if sign in {"/", "%"} and other == 0:
        return UNKNOWN
    return _arithmetic(sign, one, other)


def _logic(sign: str, left: Any, right: Any) -> Any:
    decides = sign == "||"
    one, other = truth(left), truth(right)
    if decides in (one, other):
        return decides
    return UNKNOWN if None in (one, other) else not decides


def equal(one: Any, other: Any) -> bool:
    """Whether two values are one, of which a truth value is no number."""
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, str) != isinstance(other, str):
        return False
    return bool(one == other)


def _arithmetic(sign: str, one: Any, other: Any) -> Any:
    if sign in {"<", "<=", ">", ">="}:
        return {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[sign]
    if sign == "%":
        made = abs(one) % abs(other)
        return made if one >= 0 else -made
    if sign == "/":
        made = one / other
    else:
        made = {"+": one + other, "-": one - other, "*": one * other}[sign]
    return int(made) if isinstance(made, float) and made.is_integer() else made
