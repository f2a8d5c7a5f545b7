"""Which keys a block of the stack file may have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeGuard, get_args, get_origin

from pydantic import BaseModel, Tag

from eks_gpushare.config.base import Model, fields_by_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic.fields import FieldInfo


def keys_of_block(
    model: type[BaseModel], loc: Sequence[int | str], *, by_alias: bool = True
) -> tuple[str, ...]:
    """The keys of the block at a location, none if no block of the model is there.

    Args:
        model: The outermost model.
        loc: A location as pydantic gives it, with the tags of unions.
        by_alias: Whether keys are those of the stack file. Otherwise they are Python names.
    """
    found = _blocks_at(model, loc)
    return tuple(fields_by_key(found[0], by_alias=by_alias)) if len(found) == 1 else ()


def place_of(
    model: type[BaseModel], loc: Sequence[int | str], *, by_alias: bool = True
) -> tuple[int | str, ...] | None:
    """Where a key belongs that its block does not have: below a key of the block, or further out.

    Args:
        model: The outermost model.
        loc: The key's location as pydantic gives it, with the tags of unions.
        by_alias: Whether keys are those of the stack file. Otherwise they are Python names.

    Returns:
        Location of the block that has such a key; None where none does, or several.
    """
    *above, key = loc
    for end in range(len(above), -1, -1):
        for block in _blocks_at(model, above[:end]):
            fields = fields_by_key(block, by_alias=by_alias)
            if end < len(above) and key in fields:
                return tuple(above[:end])
            inner = [
                name
                for name, field in fields.items()
                if any(
                    key in fields_by_key(model, by_alias=by_alias)
                    for model in _within(block.model_fields[field])
                )
            ]
            if len(inner) == 1:
                return (*above[:end], inner[0])
    return None


def _within(info: FieldInfo) -> Iterator[type[BaseModel]]:
    """The blocks that a field may be, of whatever kind."""
    for member in members(info.annotation):
        bare = get_args(member)[0] if get_origin(member) is Annotated else member
        if isinstance(bare, type) and issubclass(bare, BaseModel):
            yield bare


def _blocks_at(model: type[BaseModel], loc: Sequence[int | str]) -> list[type[BaseModel]]:
    blocks: list[Any] = [model]
    for part in loc:
        blocks = [inner for block in blocks for inner in _step(block, part)]
    return [block for block in blocks if isinstance(block, type) and issubclass(block, BaseModel)]


def _step(block: Any, part: int | str) -> Iterator[Any]:
    """What a key, an index or a union's tag leads to."""
    if isinstance(block, type) and issubclass(block, BaseModel):
        for name, info in block.model_fields.items():
            if part in (info.alias, name):
                yield from members(info.annotation)
    elif (inner := tagged(block, part)) is not None:
        yield from members(inner)
    elif get_origin(block) in {dict, tuple}:
        yield from members(get_args(block)[-1 if get_origin(block) is dict else 0])


def is_model(annotation: object) -> TypeGuard[type[Model]]:
    """Whether an annotation is a block of the stack file."""
    return isinstance(annotation, type) and issubclass(annotation, Model)


def tagged(member: Any, tag: object) -> Any:
    """What a member of a union is that has the given tag; None if it is another."""
    if get_origin(member) is Annotated and any(
        isinstance(each, Tag) and each.tag == tag for each in get_args(member)[1:]
    ):
        return get_args(member)[0]
    return None


def members(annotation: Any) -> Iterator[Any]:
    """The members of a union, those with a tag as they are; otherwise the annotation itself."""
    inner = get_args(annotation)
    if get_origin(annotation) is Annotated:
        if any(isinstance(argument, Tag) for argument in inner[1:]):
            yield annotation
        else:
            yield from members(inner[0])
    elif isinstance(annotation, type) or get_origin(annotation) in {dict, tuple}:
        yield annotation
    else:
        for argument in inner:
            yield from members(argument)
