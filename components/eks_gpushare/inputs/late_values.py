"""Outputs among the plain arguments of a component: values that are known later, if at all.

What decides which resources there are, and how, has to be plain. What goes to AWS or Kubernetes as
it is may be an output: models mark it with `TakesOutput`. Checks see such a model without those
values; the component registers it with them.
"""

from __future__ import annotations

from inspect import isawaitable
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, cast, get_args, get_origin

import pulumi
from pydantic_core import to_jsonable_python

from eks_gpushare.config.base import AnyInput, Model, TakesOutput, forget
from eks_gpushare.config.pools import Pool
from eks_gpushare.config.sharing import Mig
from eks_gpushare.sharing.resources import mig_strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath

M = TypeVar("M", bound=Model)
T = TypeVar("T")

_GONE = object()
_PLAIN = {str, int, float, bool, type(None)}


class _Refused:
    """Stands for an output where none may be: it is of no type that a model takes."""


def is_late(value: object) -> bool:
    """Whether a value is an output, or becomes one."""
    return isinstance(value, pulumi.Output) or isawaitable(value)


def take_out(
    args: Mapping[str, Any], model: type[Model]
) -> tuple[dict[str, Any], dict[FieldPath, pulumi.Output[Any]], list[FieldPath]]:
    """Arguments with something plain in place of each output.

    Returns:
        The plain arguments, outputs by their places, and places where none may be.
    """
    found: dict[FieldPath, pulumi.Output[Any]] = {}
    refused: list[FieldPath] = []

    def plain(value: Any, at: FieldPath) -> Any:
        if is_late(value):
            stand_in = _stand_in(model, at)
            if stand_in is _GONE:
                refused.append(at)
                return _Refused()
            found[at] = pulumi.Output.from_input(value)
            return stand_in
        if isinstance(value, dict):
            return {key: plain(item, (*at, key)) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item, (*at, index)) for index, item in enumerate(value)]
        return value

    return plain(dict(args), ()), found, refused


def takes_outputs_inside(model: type[Model], at: FieldPath) -> bool:
    """Whether a mapping at a place takes outputs as its values."""
    return _stand_in(model, (*at, "")) is not _GONE


def _stand_in(annotation: Any, at: FieldPath, *, marked: bool = False) -> Any:
    """What stands for an output at a place below an annotation; `_GONE` if none may be there."""
    origin, inner = get_origin(annotation), get_args(annotation)
    found: Any = _GONE
    if origin is Annotated:
        marked = marked or any(isinstance(argument, TakesOutput) for argument in inner[1:])
        found = _stand_in(inner[0], at, marked=marked)
    elif origin in {Union, UnionType}:
        members = (_stand_in(argument, at) for argument in inner)
        found = next((member for member in members if member is not _GONE), _GONE)
    elif origin is tuple:
        found = _stand_in(inner[0], at[1:])
        found = () if found is not _GONE and not at else found  # the list as a whole
    elif origin is dict and at:
        found = _stand_in(inner[1], at[1:])
    elif isinstance(annotation, type) and issubclass(annotation, Model):
        info = annotation.model_fields.get(str(at[0])) if at else None
        if info is not None:
            found = _stand_in(Annotated[(info.annotation, *info.metadata, "")], at[1:])
    elif marked and (annotation is Any or not at):
        found = ""
    return found


def late_in(value: Any, at: FieldPath = ()) -> Iterator[tuple[FieldPath, pulumi.Output[Any]]]:
    """Outputs in a model, or anywhere within."""
    if isinstance(value, pulumi.Output):
        yield at, value
    elif isinstance(value, Model):
        for name, inner in value.__dict__.items():
            yield from late_in(inner, (*at, name))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from late_in(inner, (*at, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from late_in(inner, (*at, index))


def put_back(whole: T, values: Mapping[FieldPath, Any]) -> T:
    """A copy of a model or mapping with values at places of it; itself if there are none."""
    for at, value in values.items():
        whole = _put(whole, at, value)
    return whole


def _put(whole: Any, at: FieldPath, value: Any) -> Any:
    if not at:
        return value
    first, rest = at[0], at[1:]
    if isinstance(whole, Model):
        name = str(first)
        if name not in whole.__dict__:  # it could not be read
            return whole
        return whole.model_copy(update={name: _put(whole.__dict__[name], rest, value)})
    if isinstance(whole, dict):
        return {**whole, first: _put(whole.get(first), rest, value)}
    items, index = list(whole), cast("int", first)
    items[index] = _put(items[index], rest, value)
    return type(whole)(items)


def hidden(model: M) -> M:
    """A model as checks see it: what is an output is not known.

    In a mapping something right stands for it, so that the keys are checked.
    """
    for at, _ in tuple(late_in(model)):
        model = _hide(model, at)
    return model


def _hide(model: Any, at: FieldPath) -> Any:
    first, rest = str(at[0]), at[1:]
    if first not in model.__dict__:  # another output of the same list
        return model
    inner = model.__dict__[first]
    if AnyInput in get_args(type(model).model_fields[first].annotation):
        return model.model_copy(update={first: _without(inner, rest)})
    if isinstance(inner, dict) and rest:
        known = _hide(inner[rest[0]], rest[1:]) if len(rest) > 1 else _known(model, first, rest[0])
        return model.model_copy(update={first: {**inner, rest[0]: known}})
    if isinstance(inner, tuple) and len(rest) > 1:
        index = cast("int", rest[0])
        items = (*inner[:index], _hide(inner[index], rest[1:]), *inner[index + 1 :])
        return model.model_copy(update={first: items})
    if isinstance(inner, Model) and rest:
        return model.model_copy(update={first: _hide(inner, rest)})
    copied = model.model_copy()
    forget(copied, first)
    return copied


def _known(model: Model, field: str, key: object) -> str:
    """What checks see of an output that is the value of a key."""
    mark = next(_marks(type(model).model_fields[field].annotation))
    return mark.checked_as.format(list(model.__dict__[field]).index(key))


def _marks(annotation: Any) -> Iterator[TakesOutput]:
    if isinstance(annotation, TakesOutput):
        yield annotation
    else:
        for inner in get_args(annotation):
            yield from _marks(inner)


def _without(values: Any, at: FieldPath) -> Any:
    """Chart values without the key that leads to an output."""
    if not at or not isinstance(values, dict):
        return _GONE
    first = cast("str", at[0])
    inner = _without(values[first], at[1:]) if first in values else _GONE
    rest = {key: value for key, value in values.items() if key != first}
    return rest if inner is _GONE else {**rest, first: inner}


def dump(
    model: Model,
    *,
    by_alias: bool = False,
    exclude_none: bool = False,
    exclude_unset: bool = False,
    include: Collection[str] = (),
    exclude: Collection[str] = (),
) -> dict[str, Any]:
    """`model_dump(mode="json")` of a model, with its outputs as they are.

    pydantic would make a serializer of each component's model first, which takes longer than what
    the component registers.

    Args:
        model: The model.
        by_alias: Whether keys are those of the stack file. Otherwise they are Python names.
        exclude_none: Leave out fields that are None.
        exclude_unset: Leave out fields that were not given.
        include: Fields of the model to keep; none are all.
        exclude: Fields of the model to leave out.
    """

    def block(of: Model) -> dict[str, Any]:
        fields = type(of).model_fields
        return {
            (by_alias and fields[name].alias) or name: plain(value)
            for name, value in of.__dict__.items()
            if not (exclude_none and value is None)
            and not (exclude_unset and name not in of.__pydantic_fields_set__)
            and (of is not model or (name not in exclude and name in (include or fields)))
        }

    def plain(value: Any) -> Any:
        if isinstance(value, Model):
            return block(value)
        if isinstance(value, dict):
            return {_text(key): plain(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [plain(inner) for inner in value]
        if type(value) in _PLAIN or isinstance(value, pulumi.Output):
            return value
        return to_jsonable_python(value)

    return _with_strategies(model, block(model))


def _text(key: Any) -> str:
    return key if isinstance(key, str) else next(iter(to_jsonable_python({key: None})))


def _with_strategies(model: Model, dumped: dict[str, Any]) -> dict[str, Any]:
    """What was dumped, with the MIG strategy that each pool has, by default too.

    It stands in the state of every stack with MIG, where it was before its default was chosen by
    the pool.
    """
    sharing, pools = model.__dict__.get("sharing"), model.__dict__.get("pools")
    if isinstance(model, Pool) and isinstance(sharing, Mig) and "sharing" in dumped:
        dumped["sharing"]["strategy"] = mig_strategy(sharing, model)
    if isinstance(pools, dict) and "pools" in dumped:  # some dumps leave them out
        for name, pool in pools.items():
            if isinstance(pool, Pool):
                _with_strategies(pool, dumped["pools"][name])
    return dumped


def given_ids(ids: Any) -> pulumi.Input[Sequence[pulumi.Input[str]]]:
    """IDs of a model as they are handed on: a list, or the output that it will be.

    Args:
        ids: A field that takes outputs, in a list or as a whole.
    """
    return ids if isinstance(ids, pulumi.Output) else list(ids)


def when_known(made: Callable[..., T], *parts: Any) -> pulumi.Input[T]:
    """What is made of some values: at once if all are plain, else once they are known."""
    if any(isinstance(part, pulumi.Output) for part in parts):
        return pulumi.Output.all(*parts).apply(lambda known: made(*known))
    return made(*parts)
