"""What a question is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from random import Random

    from eks_gpushare.facts.fact import Fact, Front


class Question(NamedTuple):
    """One fact, asked of each front that can tell."""

    fact: Fact
    draw: Callable[[Random], Any]
    """Values as people might give them: about as many that keep the fact as break it."""
    fronts: Mapping[Front, Callable[[Any], Collection[str]]]
    """The names that each front says of them."""
