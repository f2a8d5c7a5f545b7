"""User data within other documents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.user_data import (
    NODE_CONFIG_TYPE,
    flag_labels,
    kubelet_flags,
    parts,
)
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.placeholders import has_signs
from eks_gpushare.manifests.readers.bottlerocket import read_settings
from eks_gpushare.manifests.rules.nodes import owned_labels
from eks_gpushare.manifests.rules.user_data import (
    BAD_NODE_CONFIG,
    config_problems,
)
from eks_gpushare.manifests.shell.said import placed_document
from eks_gpushare.manifests.snippets import read_snippet
from eks_gpushare.manifests.texts import place_within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.user_data import UserDataContent
    from eks_gpushare.manifests.document import Document


def judge_user_data(document: Document, path: FieldPath, given: Any) -> Iterator[Judgement]:
    """What is wrong in user data by itself.

    Args:
        document: Where it stands.
        path: Its place there.
        given: It, decoded.
    """
    if given is UNKNOWN or not isinstance(given, str):
        return
    begin = place_within(document, path) if at(document.value, *path) == given else None
    at_key = document.position(path)
    for part in parts(given):
        line, column, exact = at_key.line, at_key.column, False
        if begin is not None and part.plain:
            line, column, exact = begin.line + part.line, begin.column, True
        if part.kind == "bottlerocket":
            yield from _settings(document.file, part, line, column, exact=exact)
        elif part.kind == "nodeConfig":
            yield from _node_config(document.file, part, line, column, exact=exact)
        elif part.kind == "passedOver" and _IS_CONFIG.search(part.text):
            source = Source(
                "the NodeConfig", placed_document(document.file, None, Position(line, column), {})
            )
            yield Problem(
                BAD_NODE_CONFIG,
                source,
                (),
                f"nodeadm reads no part of user data of the type {part.type}, so this NodeConfig "
                "does nothing.",
                f"Write Content-Type: {NODE_CONFIG_TYPE}, and apiVersion: node.eks.aws/v1alpha1.",
            )


_IS_CONFIG: Final = re.compile(r"^kind:[ \t]*NodeConfig\b", re.MULTILINE)


def _settings(
    file: str, part: UserDataContent, line: int, column: int, *, exact: bool
) -> Iterator[Judgement]:
    for judgement in read_settings(file, part.text, line, column).judgements:
        yield judgement if exact else _all_at(judgement, file, Position(line, column))


def _node_config(
    file: str, part: UserDataContent, line: int, column: int, *, exact: bool
) -> Iterator[Judgement]:
    read = read_snippet(part.text, file, line, column)
    for problem in () if has_signs(part.text) else read.problems[:1]:
        at_problem = Position(problem.line, problem.column) if exact else Position(line, column)
        source = Source("the NodeConfig", placed_document(file, None, at_problem, {}))
        message = f"The NodeConfig is no YAML: {problem.message}."
        yield Problem(BAD_NODE_CONFIG, source, (), message, "Write it as nodeadm takes it.")
    for inner in read.documents:
        source = Source("the NodeConfig", inner)
        found: list[Judgement] = [*config_problems(inner.value, source)]
        for place, flag in kubelet_flags(inner.value):
            if isinstance(flag, str):
                found += _at(owned_labels(source, flag_labels(flag), ()), place)
        for each in found:
            yield each if exact else _all_at(each, file, Position(line, column))


def _at(judgements: Iterator[Judgement], place: FieldPath) -> Iterator[Judgement]:
    """Problems within a text, at that text."""
    for judgement in judgements:
        if isinstance(judgement, Problem):
            yield Problem(judgement.rule, judgement.source, place, judgement.message, judgement.fix)


def _all_at(judgement: Judgement, file: str, place: Position) -> Judgement:
    """The same at one place."""
    if not isinstance(judgement, Problem):
        return judgement
    source = Source(judgement.source.name, placed_document(file, None, place, {}))
    return Problem(
        judgement.rule, source, judgement.path, judgement.message, judgement.fix, judgement.severity
    )
