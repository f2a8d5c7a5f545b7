"""What `--help` says: whole sentences in which no acronym has lost its capitals."""

from __future__ import annotations

import argparse
import re
from importlib import import_module
from typing import TYPE_CHECKING

from eks_gpushare.cli import _MODULES, _VERBS, _complete, _parser

if TYPE_CHECKING:
    from collections.abc import Iterator


def parsers() -> Iterator[argparse.ArgumentParser]:
    """Those of every verb, and of the verbs within."""
    todo = []
    for verb in _VERBS:
        parser = argparse.ArgumentParser(verb)
        _complete(parser, import_module(_MODULES.get(verb, f"eks_gpushare.cli.{verb}")))
        todo.append(parser)
    todo.append(_parser([]))
    while todo:
        parser = todo.pop()
        yield parser
        for action in parser._actions:  # noqa: SLF001  (argparse has no other list of them)
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
                todo += action.choices.values()


def test_no_acronym_has_lost_its_capitals() -> None:
    texts = [parser.format_help() for parser in parsers()]
    lost = {
        word
        for text in texts
        for word in re.findall(
            r"(?<![\w./-])(?:mig|gpu|gpus|aws|eks|json|iam|sdk)(?![\w./-])", text
        )
    }

    assert len(texts) > len(_VERBS)
    assert lost - set(_VERBS) == set()


def test_a_description_is_a_sentence() -> None:
    said = [parser.description for parser in parsers() if parser.description]

    assert all(re.match(r"[A-Z].*\.$", each) for each in said), said
    assert "List the MIG profiles of a GPU." in said
