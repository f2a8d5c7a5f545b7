"""Which keys a block of the stack file may have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeGuard, get_args, get_origin

from pydantic import BaseModel, Tag

from eks_gpushare.config.base import Model, fields_by_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def keys_of_block(
    model: type[BaseModel], loc: Sequence[int | str], *, by_alias: bool = True
) -> tuple[str, ...]:
    """The keys of the block at a location, none if no block of the model is there.

    Args:
        model: The outermost model.
        loc: A location as pydantic gives it, with the tags of unions.
        by_alias: Whether keys are those of the stack file. Otherwise they are Python names.
    """
    blocks: list[Any] = [model]
    for part in loc:
        blocks = [inner for block in blocks for inner in _step(block, part)]
    found = [block for block in blocks if isinstance(block, type) and issubclass(block, BaseModel)]
    if len(found) != 1:
        return ()
    return tuple(fields_by_key(found[0], by_alias=by_alias))


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
        if any(isinstance(each, Tag) for each in inner[1:]):
            yield annotation
        else:
            yield from members(inner[0])
    elif isinstance(annotation, type) or get_origin(annotation) in {dict, tuple}:
        yield annotation
    else:
        for each in inner:
            yield from members(each)
