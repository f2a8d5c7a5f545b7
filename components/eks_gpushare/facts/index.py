"""The facts that are said in more than one place, by all of their names.

A rule of one front alone says its fact itself (`findings.rule.Rule`). As soon as a second front
says the same, it stands here: one title, one reason, one source and one severity, and whoever
silences one of its names silences the others. Where a front has to differ in severity, `differs`
says why.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from eks_gpushare.facts.fact import Fact, Front

if TYPE_CHECKING:
    from collections.abc import Mapping

OPEN_ENDPOINT = Fact(
    "A public endpoint is open to named networks only.",
    "EKS opens it to the whole internet when no networks are named. Everybody reaches the API "
    "server then: one leaked credential, or one hole in it, is enough.",
    "https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html",
    "error",
    {
        Front.STACK: ("GPU608",),
        Front.FILES: ("GPU1087",),
        Front.POLICY: ("public-endpoint-not-open",),
    },
)


@cache
def every_fact() -> tuple[Fact, ...]:
    """All of the index."""
    return tuple(each for each in globals().values() if isinstance(each, Fact))


@cache
def _by_name() -> Mapping[str, tuple[Fact, ...]]:
    found: dict[str, tuple[Fact, ...]] = {}
    for fact in every_fact():
        for names in fact.names.values():
            for name in names:
                found[name] = (*found.get(name, ()), fact)
    return found


def facts_of(name: str) -> tuple[Fact, ...]:
    """The facts that a name says: of a code one at most, of a policy one or several."""
    return _by_name().get(name, ())


@cache
def names_of(name: str) -> frozenset[str]:
    """All names that mean what a name means, itself among them."""
    found = {name}
    for fact in facts_of(name):
        found.update(*fact.names.values())
    return frozenset(found)
