"""Which keys a block of the stack file may have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from pydantic import BaseModel, Tag

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def keys_of_block(model: type[BaseModel], loc: Sequence[int | str]) -> tuple[str, ...]:
    """The keys of the block at a location, none if no block of the model is there.

    Args:
        model: The outermost model.
        loc: A location as pydantic gives it, with the tags of unions.
    """
    blocks: list[Any] = [model]
    for part in loc:
        blocks = [inner for block in blocks for inner in _step(block, part)]
    found = [block for block in blocks if isinstance(block, type) and issubclass(block, BaseModel)]
    if len(found) != 1:
        return ()
    return tuple(info.alias or name for name, info in found[0].model_fields.items())


def _step(block: Any, part: int | str) -> Iterator[Any]:  # noqa: ANN401  (any annotation)
    """What a key, an index or a union's tag leads to."""
    if isinstance(block, type) and issubclass(block, BaseModel):
        for name, info in block.model_fields.items():
            if part in (info.alias, name):
                yield from _unwrapped(info.annotation)
    elif get_origin(block) is Annotated:
        if any(isinstance(each, Tag) and each.tag == part for each in get_args(block)[1:]):
            yield from _unwrapped(get_args(block)[0])
    elif get_origin(block) in {dict, tuple}:
        yield from _unwrapped(get_args(block)[-1 if get_origin(block) is dict else 0])


def _unwrapped(annotation: Any) -> Iterator[Any]:  # noqa: ANN401
    """The members of a union, those with a tag as they are; otherwise the annotation itself."""
    inner = get_args(annotation)
    if get_origin(annotation) is Annotated:
        if any(isinstance(each, Tag) for each in inner[1:]):
            yield annotation
        else:
            yield from _unwrapped(inner[0])
    elif isinstance(annotation, type) or get_origin(annotation) in {dict, tuple}:
        yield annotation
    else:
        for each in inner:
            yield from _unwrapped(each)
