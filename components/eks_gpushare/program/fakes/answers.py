"""Answers that a user gives for a program that asks for more than there are fakes for.

A YAML file with the blocks `functions`, `components` and `methods`, by token. What a function or a
method answers may hang on its arguments: then there is a list of `args` and `result`, of which the
first that fits counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.reading import read_bytes, reason
from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.fakes.asked import example
from eks_gpushare.program.fakes.fakes import Fakes, default_fakes
from eks_gpushare.program.fakes.types import Component
from eks_gpushare.program.values import to_json
from eks_gpushare.stack_file.project import ProjectError
from eks_gpushare.stack_file.yaml import MAX_BYTES, read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eks_gpushare.program.fakes.types import Function, Method, Plan
    from eks_gpushare.program.recording import Resource
    from eks_gpushare.program.values import Properties
    from eks_gpushare.stack_file.yaml import StackDocument

_BLOCKS = ("functions", "components", "methods")
_PARTS_OF_A_TOKEN = 3


def fakes_with(path: str | Path) -> Fakes:
    """The usual fakes with the answers of a file over them.

    Raises:
        ProjectError: If the file cannot be read or says something else; with path and line.
    """
    try:
        document = read(read_bytes(path, MAX_BYTES), str(path))
    except OSError as error:
        raise ProjectError(f"{path} cannot be read: {reason(error)}.") from error
    if not document.readable:
        raise ProjectError(f"{path}:{document.problems[0].line}: {document.problems[0].message}.")
    wrong = next(_mistakes(document), None)
    if wrong is not None:
        where, message = wrong
        line = document.line_of(where) or 1
        raise ProjectError(f"{path}:{line}: {message}")
    content: Any = document.value or {}
    known = default_fakes()
    functions = {key: _function(key, entry) for key, entry in _of(content, "functions")}
    components = {key: _component(entry) for key, entry in _of(content, "components")}
    methods = {key: _method(key, entry) for key, entry in _of(content, "methods")}
    return replace(
        known,
        functions={**known.functions, **functions},
        components={**known.components, **components},
        methods={**known.methods, **methods},
    )


def _of(content: Mapping[str, Any], block: str) -> Iterator[tuple[str, Any]]:
    yield from (content.get(block) or {}).items()


def _mistakes(document: StackDocument) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Where the file is wrong, and how."""
    content: Any = {} if document.value is None else document.value
    every = ", ".join(_BLOCKS)
    if not isinstance(content, dict):
        yield (), f"the file has to be a mapping with the keys {every}, and is {_kind(content)}."
        return
    for block, tokens in content.items():
        if block not in _BLOCKS:
            meant = get_close_matches(str(block), _BLOCKS, 1)
            hint = f" Did you mean {meant[0]!r}?" if meant else ""
            yield (block,), f"{str(block)!r} is none of the keys {every}.{hint}"
        elif tokens is not None and not isinstance(tokens, dict):
            said = f"{block} has to be a mapping of tokens to what they answer"
            yield (block,), f"{said}, and is {_kind(tokens)}."
        else:
            for token, answer in (tokens or {}).items():
                yield from _mistakes_of(str(block), token, answer)


def _mistakes_of(block: str, token: Any, answer: Any) -> Iterator[tuple[tuple[Any, ...], str]]:
    where = (block, token)
    if not isinstance(token, str) or token.count(":") != _PARTS_OF_A_TOKEN - 1:
        three = "Tokens have three parts, such as `aws:ec2/getVpc:getVpc` or `awsx:ec2:Vpc`."
        yield where, f"{token!r} is no token. {three}"
    elif isinstance(answer, list) and block != "components":
        for number, each in enumerate(answer):
            yield from _mistakes_of_choice((*where, number), token, each)
    elif not isinstance(answer, dict):
        yield where, _outputs_wanted(token, answer)


def _mistakes_of_choice(
    where: tuple[Any, ...], token: str, choice: Any
) -> Iterator[tuple[tuple[Any, ...], str]]:
    if not isinstance(choice, dict) or not {"result"} <= set(choice) <= {"args", "result"}:
        parts = "a mapping with `result` and, if it depends on them, `args`"
        yield where, f"an answer in the list of {token} has to be {parts}."
    elif not isinstance(choice["result"], dict):
        yield (*where, "result"), _outputs_wanted(token, choice["result"])
    elif not isinstance(choice.get("args") or {}, dict):
        yield (*where, "args"), f"`args` of {token} has to be a mapping."


def _outputs_wanted(token: str, given: Any) -> str:
    return (
        f"what {token} answers has to be a mapping of its outputs, such as `{{id: ...}}`, and is "
        f"{_kind(given)}."
    )


def _kind(value: Any) -> str:
    if value is None:
        return "empty"
    kinds = {"list": "a list", "dict": "a mapping", "str": "text"}
    return kinds.get(type(value).__name__, f"{value!r}")


def _function(token: str, answer: Any) -> Function:
    choices = answer if isinstance(answer, list) else [{"result": answer}]

    def answered(_plan: Plan, args: Properties, _provider: str) -> Properties:
        return _first(token, choices, args, "functions")

    return answered


def _method(token: str, answer: Any) -> Method:
    choices = answer if isinstance(answer, list) else [{"result": answer}]

    def answered(_plan: Plan, args: Properties) -> Properties:
        return _first(token, choices, args, "methods")

    return answered


def _first(token: str, choices: list[Any], args: Properties, block: str) -> Properties:
    for choice in choices:
        wanted = choice.get("args") or {}
        if all(_same(args.get(key), value) for key, value in wanted.items()):
            return dict(choice["result"])
    raise PlanError(
        f"none of the answers that --answers gives for {token!r} fits what is asked. Add one to "
        f"the list:\n\n{example(block, token, args)}"
    )


def _same(asked: Any, wanted: Any) -> bool:
    """Whether an argument is the one that is wanted: of a mapping, what is wanted of it."""
    if isinstance(wanted, Mapping) and isinstance(asked, Mapping):
        return all(_same(asked.get(key), value) for key, value in wanted.items())
    return bool(to_json(asked) == wanted)


def _component(outputs: Any) -> Component:
    def constructed(plan: Plan, component: Resource) -> Properties:
        plan.assume(
            f"What {component.name} ({component.type}) makes is not known here: policies miss it. "
            "Its outputs are those of the file of --answers."
        )
        return dict(outputs)

    return Component(constructed)
