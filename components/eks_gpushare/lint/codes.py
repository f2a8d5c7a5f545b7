"""Which codes of lint somebody means: by a code, a beginning of some, or any name of a fact."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from eks_gpushare.facts.index import every_fact, names_of
from eks_gpushare.lint.all_rules import lint_rules
from eks_gpushare.lint.rules.files import UNREADABLE

ALWAYS: Final = UNREADABLE.id
"""What is told whatever is chosen: of a file that cannot be read nothing else is known."""
_BEGINNING: Final = re.compile(r"GPU[0-9]{0,3}\*")
_CODE: Final = re.compile(r"GPU[0-9]")


class UnknownCodeError(ValueError):
    """Nothing of lint is called so; the text says what was probably meant."""


def meant(given: str) -> frozenset[str]:
    """The codes of lint that somebody means.

    Args:
        given: A code such as `GPU1087`, the beginning of codes such as `GPU11*`, or another name of
            what a code says: a code of `check` such as `GPU608`, or a policy's.

    Raises:
        UnknownCodeError: If no code of lint is meant.
    """
    codes = _codes()
    if _BEGINNING.fullmatch(given.upper()):
        found = frozenset(code for code in codes if code.startswith(given.upper()[:-1]))
        if found:
            return found
        raise UnknownCodeError(f"no code of lint begins with {given[:-1]}; {_LIST}")
    name = given.upper() if _CODE.match(given.upper()) else given.lower()
    found = names_of(name) & codes
    if found:
        return found | (frozenset((name,)) & codes)
    if name in _others():
        what = "a code of check" if name.startswith("GPU") else "a policy"
        raise UnknownCodeError(f"{given} is {what} and nothing that lint says; remove it")
    from eks_gpushare.validation.shape import similar

    if _CODE.match(name):
        near = similar(name, sorted(codes))
    else:
        near = similar(name, sorted(each for each in _others() if each.islower()))
    hint = f"did you mean {near}?" if near else _LIST
    if name.startswith("GPU") and any(code.startswith(name) for code in codes):
        hint = f"for all codes that begin so write {name}*"
    raise UnknownCodeError(f"there is no code or policy {given!r}; {hint}")


_LIST: Final = "eks-gpushare findings lists all"


@cache
def _codes() -> frozenset[str]:
    return frozenset(rule.id for rule in lint_rules())


@cache
def _others() -> frozenset[str]:
    """Names that other checks say what they find by."""
    from eks_gpushare.rules import all_rules

    named = {name for fact in every_fact() for name in fact.names}
    return frozenset((*named, *(rule.id for rule in all_rules()))) - _codes()
