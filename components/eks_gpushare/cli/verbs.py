"""Verbs of the command that other packages add, such as the lab's."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from eks_gpushare.findings.rule import Rule

GROUP = "eks_gpushare.verbs"
"""Entry points of this group name a module for each verb."""


class Verb(Protocol):
    """What a module that adds a verb holds."""

    NAME: str
    """The word on the command line."""
    SUMMARY: str
    """What it does, for the list of verbs."""
    REPORTED_BY: str
    """What reports its findings, for the list of findings."""
    RULES: Sequence[Rule]
    """The kinds of findings it adds."""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Add the options of the verb."""

    @staticmethod
    def run(options: argparse.Namespace) -> int:
        """Do what the verb is for, and give the exit code."""


@cache
def added_verbs() -> tuple[Verb, ...]:
    """The verbs of installed packages, which take a while to be found."""
    from importlib.metadata import entry_points

    found: list[Verb] = []
    for point in sorted(entry_points(group=GROUP), key=lambda entry_point: entry_point.name):
        try:
            found.append(cast("Verb", point.load()))
        except ImportError:  # half an installation of another package breaks none of our verbs
            continue
    return tuple(found)
