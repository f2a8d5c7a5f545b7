"""What groups of the EKS module are given."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.hcl.values import HclList, HclObject, is_open, place_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.lint.hcl.blocks import MadeResource
    from eks_gpushare.lint.hcl.values import Place

KINDS: Final = ("eks_managed", "self_managed")
"""What names of arguments with groups begin with, each a map of them."""
MARKET: Final = ("instance_market_options", "capacity_reservation_specification")
_RESERVED: Final = re.compile(
    r"capacity_?block|reservation_(?:id|arn)|capacity_?reservation|odcr|(?:^|[._])cr_",
    re.IGNORECASE,
)
"""References to capacity that is reserved."""
_OF_ONE: Final = re.compile(r"(?:id|arn)$|^(?:data\.)?aws_", re.IGNORECASE)
"""Which of these may be the reservation itself, and are no switch for it."""
_WRITTEN: Final = "cr-"
"""How an ID begins."""


def each_of(given: Any) -> Iterator[tuple[str, Any, Place | None]]:
    """What a map of groups has, each with its key and its place."""
    if isinstance(given, dict):
        for key, each in given.items():
            yield key, each, place_in(given, key)


class Inputs:
    """What a group is given, and what all groups of its kind are.

    Args:
        own: Its own inputs.
        defaults: Those of all.
    """

    def __init__(self, own: Any, defaults: Any = None) -> None:
        self._own, self._defaults = own, defaults

    def get(self, key: str, otherwise: Any = None) -> Any:
        """An input."""
        return self._found(key, otherwise)[0]

    def _found(self, key: str, otherwise: Any = None) -> tuple[Any, Place | None]:
        for given in (self._own, self._defaults):
            if given is UNKNOWN:
                return UNKNOWN, None
            value = at(given, key)
            if value is not None:
                return value, place_in(given, key)
        return otherwise, None

    def place(self, keys: Iterable[str]) -> Place | None:
        """Where the first of some inputs is written."""
        return next((found for key in keys if (found := self._found(key)[1])), None)

    def put(self, made: HclObject, key: str, of: str, otherwise: Any = None) -> None:
        """Set an argument of a resource to an input, with its place."""
        value, place = self._found(of, otherwise)
        if value is not None:
            made.put(key, value, place)

    def put_blocks(self, made: HclObject, key: str, of: str) -> None:
        """Set blocks of a resource to an input that is a map of them by any key, or a list."""
        value = self.get(of)
        if is_open(value):
            value = UNKNOWN
        if isinstance(value, dict):
            value = HclList(value.values(), [place_in(value, name) for name in value])
        if value is not None:
            made.put(key, value, None)


def reserved_for(call: MadeResource) -> dict[str, Any]:
    """What the template of a call's group refers to for its reservation, as a plan tells it.

    A call tells what it refers to as a whole, so nothing is known where several groups have one.
    """
    groups = [
        group
        for kind in KINDS
        for _, group, _ in each_of(call.values.get(f"{kind}_node_groups"))
        if at(group, MARKET[1]) is not None
    ]
    if len(groups) > 1 or any(_WRITTEN in str(at(group, MARKET[1])) for group in groups):
        return {}
    told = (str(name) for each in call.references.values() for name in at(each, "references") or ())
    meant = {"references": [e for e in told if _RESERVED.search(e) and _OF_ONE.search(e)]}
    return {MARKET[1]: [{"capacity_reservation_target": [{"capacity_reservation_id": meant}]}]}
