"""Exemptions from policies that comments of a stack file are.

A comment that lets a finding of `check` be lets the violations of policies that say the same be: at
the resources of the pool or block that it stands in, with its reason, until its day. What all pools
share, such as the configuration of the device plugin, is one of these resources where comments let
be all that `check` finds of the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.facts.index import names_of
from eks_gpushare.findings.silenced import comments, today
from eks_gpushare.program.policies.stack_lines import stack_paths
from eks_gpushare.stack_file.silencing import silenced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.silenced import Silence
    from eks_gpushare.program.recording import Recording
    from eks_gpushare.stack_file.check import StackReport
    from eks_gpushare.stack_file.silencing import SilencedReport
    from eks_gpushare.stack_file.yaml import StackDocument

_INSIDE = ("config", ENVIRONMENT_KEY)
_SHARED = ("gpuStack",)
"""The block whose resources are made from all pools."""


class StackSilence(NamedTuple):
    """A comment of a stack file, with what it is about."""

    silence: Silence
    place: str
    """File and line of the comment."""
    urns: tuple[str, ...]
    """The resources of the pool or block that it stands in."""


def stack_silences(recording: Recording, report: StackReport) -> tuple[StackSilence, ...]:
    """The comments of a stack file that hold today and are about something that was registered."""
    if report.stack_file is None or report.environment is None:
        return ()
    given = [
        silence for silence in comments(report.stack_file.text).silences if silence.holds(today())
    ]
    if not given:
        return ()
    paths = stack_paths(recording)
    everywhere = set(_let_be_everywhere(silenced(report, today())))
    document = report.stack_file.document
    found: list[StackSilence] = []
    for silence in given:
        blocks = {block for block in paths.values() if block and _is_in(silence, block, document)}
        if silence in everywhere:
            blocks.add(_SHARED)
        urns = tuple(urn for urn, block in paths.items() if block in blocks)
        if urns:
            place = f"{report.file}:{silence.place.line}"
            found.append(StackSilence(silence, place, urns))
    return tuple(found)


def _let_be_everywhere(found: SilencedReport) -> Iterator[Silence]:
    """The comments by which nothing that says the same counts any more."""
    counts = {finding.code for finding in found.report.findings}
    for placed in found.away:
        if counts.isdisjoint(names_of(placed.finding.code)):
            yield placed.silence


def _is_in(silence: Silence, block: tuple[str, ...], document: StackDocument) -> bool:
    """Whether a comment is about a pool or block, something inside of one, or several of them."""
    at, whole = document.path_at(silence.line), (*_INSIDE, *block)
    if at[: len(whole)] == whole:
        return True
    if len(at) > len(_INSIDE) and whole[: len(at)] == at:
        return True
    # In one line `pools: {a: {...}, b: {...}}` it is about both.
    return document.line_of(whole) == silence.line != document.line_of(_INSIDE)
