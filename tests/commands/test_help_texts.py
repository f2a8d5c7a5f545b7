"""What `--help` says: whole sentences in which no acronym has lost its capitals."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.cli import _MODULES, _VERBS, _complete, _parser
from eks_gpushare.cli.examples import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Run

ROOT = Path(__file__).parents[2]


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


def verbs() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The words of each verb and verb within, and its parser."""
    for verb in (*_VERBS, "lab"):
        todo = [(verb, _parser([verb])._subparsers._group_actions[0].choices[verb])]  # type: ignore[union-attr,index]  # noqa: SLF001
        while todo:
            words, parser = todo.pop()
            yield words, parser
            for action in parser._actions:  # noqa: SLF001
                if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
                    todo += [(f"{words} {name}", each) for name, each in action.choices.items()]


def test_every_help_ends_with_examples_and_exit_codes() -> None:
    every = {"": _parser([]), **dict(verbs())}

    assert sorted(every) == sorted(EXAMPLES)
    for words, parser in every.items():
        text = parser.format_help()
        examples = text.partition("\nexamples:\n")[2].partition("\n\n")[0].splitlines()
        codes = text.partition("\nexit codes:\n")[2].splitlines()

        assert examples == [f"  eks-gpushare {each}" for each in EXAMPLES[words]]
        assert [each for each in examples if words and f"eks-gpushare {words}" not in each] == []
        assert {int(each.split()[0]) for each in codes} >= {0, 2}, words


@pytest.mark.parametrize(
    "example",
    sorted({each for words, given in EXAMPLES.items() if "lab" not in words for each in given}),
)
def test_an_example_runs_in_a_clone(run: Run, tmp_path: Path, example: str) -> None:
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("stacks", "policies", "examples"):
        (tmp_path / name).symlink_to(ROOT / name, target_is_directory=True)
    words = example.replace("VERB", "check").split()
    files = [sorted(tmp_path.glob(each)) if "*" in each else [each] for each in words]
    given = [str(each) for found in files for each in found]

    assert shlex.split(example) == example.split()
    assert run(*given, cwd=tmp_path).code == 0
