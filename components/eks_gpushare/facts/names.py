"""The names of a fact stand for each other: whoever silences one of them silences all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.facts.fact import Front, front_of
from eks_gpushare.facts.index import facts_of, names_of

if TYPE_CHECKING:
    from collections.abc import Collection


def is_meant(code: str, names: Collection[str]) -> bool:
    """Whether somebody who says some names means what a code says."""
    return code in names or not names_of(code).isdisjoint(names)


def in_full(name: str) -> str:
    """A name with the others of its fact: `GPU608 (also GPU1087, public-endpoint-not-open)`."""
    others = sorted(names_of(name) - {name})
    return f"{name} (also {', '.join(others)})" if others else name


def only_a_cluster_says(name: str) -> bool:
    """Whether `check` never finds what a name says, and `verify` may."""
    fronts = {front_of(called) for called in names_of(name)}
    return Front.LIVE in fronts and Front.STACK not in fronts


def only_a_policy_says(name: str) -> bool:
    """Whether `check` never finds what a name says, and a policy may."""
    fronts = {front_of(called) for fact in facts_of(name) for called in fact.names}
    if Front.STACK in fronts:
        return False
    return Front.POLICY in fronts or not name.startswith("GPU")
