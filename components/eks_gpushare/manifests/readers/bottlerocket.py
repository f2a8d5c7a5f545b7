"""Bottlerocket's user data: settings in TOML."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import NodeSet, NodeTaint
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import Source
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.placeholders import has_signs, without_placeholders
from eks_gpushare.manifests.plain import items, labels, mapping
from eks_gpushare.manifests.rules.bottlerocket import BAD_SETTING, NVIDIA, bottlerocket_rules
from eks_gpushare.manifests.rules.nodes import owned_labels
from eks_gpushare.manifests.shell.said import placed_document
from eks_gpushare.manifests.toml_text import places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.problem import Judgement

_KUBERNETES = ("settings", "kubernetes")
_SETTINGS: Final = re.compile(
    r"^[ \t]*(?:\[{1,2}[ \t]*)?(?P<quote>[\"']?)settings(?P=quote)[ \t]*[].=]", re.MULTILINE
)
"""A table of them, or a key; other programs have settings further down, or speak of them."""


class BottlerocketReader:
    """Reads settings of GPUs, labels and taints."""

    name = "Bottlerocket settings"

    def matches(self, file: str, text: str) -> bool:
        """Whether it is TOML with settings."""
        return file.lower().endswith(".toml") and _SETTINGS.search(text) is not None

    def read(self, file: str, text: str) -> Read:
        """Its nodes, and what is wrong with the settings."""
        return read_settings(file, text)


def read_settings(file: str, text: str, line: int = 1, column: int = 1) -> Read:
    """What settings say.

    Args:
        file: Name of the file.
        text: TOML.
        line: Line of the file at which it begins.
        column: Column of the file at which its lines begin.
    """
    try:
        value: dict[str, Any] = without_placeholders(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        if has_signs(text):
            return Read()  # what fills it in makes TOML of it
        document = placed_document(file, None, Position(line, column), {})
        message = f"It is no TOML: {error}."
        source = Source("the settings", document)
        return Read(judgements=[Problem(BAD_SETTING, source, (), message, "Correct it.")])
    document = placed_document(file, value, Position(line, column), places(text, line, column))
    source = Source("the settings of Bottlerocket", document)
    judgements: list[Judgement] = [*bottlerocket_rules(value, source)]
    given = at(value, *_KUBERNETES)
    judgements += owned_labels(source, at(given, "node-labels"), (*_KUBERNETES, "node-labels"))
    if at(value, *NVIDIA) is None and not mapping(given):
        return Read(judgements=judgements)
    nodes = NodeSet(
        source=source,
        name="",
        provisioner="selfManaged",
        labels=labels(at(given, "node-labels")),
        taints=tuple(_taints(at(given, "node-taints"))),
        ami="BOTTLEROCKET",
        user_data=text,
    )
    return Read([nodes], judgements)


def _taints(given: Any) -> Iterator[NodeTaint]:
    for key, item in mapping(given).items():
        for short in items(item) or [item]:  # one may stand by itself
            value, _, effect = str(short).rpartition(":")
            yield NodeTaint(key, value, effect)
