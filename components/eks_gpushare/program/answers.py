"""Answers that a user gives for a program that asks for more than there are fakes for.

A YAML file with two blocks, `functions` and `components`, by token. What a function answers may
hang on its arguments: then there is a list of `args` and `result`, of which the first that fits
counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.reading import read_bytes, reason
from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.fake_types import Component
from eks_gpushare.program.fakes import Fakes, default_fakes
from eks_gpushare.program.project import ProjectError
from eks_gpushare.stack_file.yaml import MAX_BYTES, read

if TYPE_CHECKING:
    from pathlib import Path

    from eks_gpushare.program.fake_types import Function, Plan
    from eks_gpushare.program.recording import Resource
    from eks_gpushare.program.values import Properties

_BLOCKS = ("functions", "components")


def fakes_with(path: str | Path) -> Fakes:
    """The usual fakes with the answers of a file over them.

    Raises:
        ProjectError: If the file cannot be read or says something else.
    """
    try:
        document = read(read_bytes(path, MAX_BYTES), str(path))
    except OSError as error:
        raise ProjectError(f"{path} cannot be read: {reason(error)}.") from error
    if not document.readable:
        raise ProjectError(f"{path}:{document.problems[0].line}: {document.problems[0].message}.")
    content: Any = {} if document.value is None else document.value
    if not isinstance(content, dict) or not set(content) <= set(_BLOCKS):
        raise ProjectError(f"{path} holds something else than {' and '.join(_BLOCKS)}.")
    for name, block in content.items():
        wrong = not isinstance(block, dict) or not all(map(_is_answer, block.values()))
        if wrong:
            raise ProjectError(
                f"{path}: {name} has to be a mapping of tokens to what they answer, each a mapping "
                "or, for functions, a list of args and result."
            )
    known = default_fakes()
    functions = {key: _function(key, each) for key, each in content.get("functions", {}).items()}
    components = {key: _component(each) for key, each in content.get("components", {}).items()}
    return replace(
        known,
        functions={**known.functions, **functions},
        components={**known.components, **components},
    )


def _is_answer(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(each, dict) and "result" in each for each in value)
    return isinstance(value, dict)


def _function(token: str, answer: Any) -> Function:
    choices = answer if isinstance(answer, list) else [{"result": answer}]

    def answered(_plan: Plan, args: Properties, _provider: str) -> Properties:
        for each in choices:
            wanted = each.get("args") or {}
            if all(args.get(key) == value for key, value in wanted.items()):
                return dict(each["result"])
        raise PlanError(f"none of the answers that are given for {token!r} fits {args}")

    return answered


def _component(outputs: Any) -> Component:
    def constructed(_plan: Plan, _component: Resource) -> Properties:
        return dict(outputs)

    return Component(constructed)
