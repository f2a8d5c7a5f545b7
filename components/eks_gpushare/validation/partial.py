"""Reading a block of which some values do not fit: the rest is known, and those are not.

What could not be read is missing from the model, so that a rule which comes to it raises
`UnreadError` and says nothing. Defaults never stand in for values that somebody gave.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, TypeVar, get_args, get_origin

from pydantic import ConfigDict, ValidationError

from eks_gpushare.config.base import Model, fields_by_key, forget, partial_model
from eks_gpushare.validation.blocks import is_model, members, tagged
from eks_gpushare.validation.shape import UnknownKey, possible, unknown_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

    from eks_gpushare.validation.shape import Loc

M = TypeVar("M", bound=Model)

_UNREAD = object()
_STRICT = ConfigDict(strict=True)


class PartialReading(NamedTuple, Generic[M]):
    """A block as far as it can be read, and what is wrong with the rest."""

    block: M
    """The block."""
    details: list[ErrorDetails]
    """What pydantic says of the rest."""
    unknown: dict[Loc, UnknownKey]
    """The unknown keys among that."""


class _Fault(NamedTuple):
    rest: Loc
    """Where it is, from the value that is looked at."""
    loc: Loc
    """Where it is in all."""


def read_block(model: type[M], given: Mapping[str, Any], *, by_alias: bool) -> PartialReading[M]:
    """Read a block as far as it can be read.

    Args:
        model: What the block is.
        given: Its plain data.
        by_alias: Whether keys are those of the stack file. Otherwise they are Python names.
    """
    try:
        return PartialReading(
            model.model_validate(given, by_alias=by_alias, by_name=not by_alias), [], {}
        )
    except ValidationError as error:
        details = error.errors(include_url=False)
        unknown = unknown_keys(details, model, by_alias=by_alias)
        faults = [_Fault(detail["loc"], detail["loc"]) for detail in details]
        block = _Reader(unknown, by_alias=by_alias).block(model, given, faults)
        return PartialReading(block, details, unknown)


class _Reader:
    """Makes models of what is right in plain data that pydantic refused as a whole."""

    def __init__(self, unknown: Mapping[Loc, UnknownKey], *, by_alias: bool) -> None:
        self._unknown, self._by_alias = unknown, by_alias

    def block(self, model: type[M], given: object, faults: Sequence[_Fault]) -> M:
        """The block without the fields that have faults, down to the innermost ones."""
        below = _by_first_part(faults)
        if not isinstance(given, dict) or None in below:
            return partial_model(model)
        fields = fields_by_key(model, by_alias=self._by_alias)
        known: dict[str, Any] = {}
        for key, name in fields.items():
            info = model.model_fields[name]
            if key in below:
                value = self._value(info.annotation, given.get(key, _UNREAD), below[key])
            elif key in given:
                value = self._right(model, name, given[key])
            else:
                value = info.get_default(call_default_factory=True)
            if value is not _UNREAD:
                known[name] = value
        unknown = {  # a key that is no text is near to none
            str(key): self._unknown.get(item[0].loc, UnknownKey((), None)).meant
            for key, item in below.items()
            if key not in fields
        }
        read = partial_model(model, **known)
        forget(read, *meant_fields(unknown, fields, given))
        read.__pydantic_fields_set__.intersection_update(
            name for key, name in fields.items() if key in given and name in read.__dict__
        )
        return read

    def _value(self, annotation: Any, given: Any, faults: Sequence[_Fault]) -> Any:
        """What can be read of a value with faults inside; `_UNREAD` if it cannot be parted."""
        if given is _UNREAD or not all(fault.rest for fault in faults):
            return _UNREAD
        tag = faults[0].rest[0]
        for member in members(annotation):
            if (inner := tagged(member, tag)) is not None:
                return self._value(inner, given, _by_first_part(faults)[tag])
            if is_model(member):
                return self.block(member, given, faults)
            if get_origin(member) is dict and is_model(get_args(member)[1]):
                return self._mapping(get_args(member)[1], given, faults)
        return _UNREAD

    def _mapping(self, model: type[Model], given: Any, faults: Sequence[_Fault]) -> Any:
        """Blocks by the names that their user chose."""
        if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
            return _UNREAD
        below = _by_first_part(faults)
        return {
            key: self.block(model, value, below[key]) if key in below else self._whole(model, value)
            for key, value in given.items()
        }

    def _right(self, model: type[Model], name: str, given: Any) -> Any:
        """A value without faults, as the model has it."""
        annotation = model.model_fields[name].annotation
        if is_model(annotation):
            return self._whole(annotation, given)
        return _adapter(model, name).validate_python(
            given, by_alias=self._by_alias, by_name=not self._by_alias
        )

    def _whole(self, model: type[M], given: Any) -> M:
        return model.model_validate(given, by_alias=self._by_alias, by_name=not self._by_alias)


def _by_first_part(faults: Sequence[_Fault]) -> dict[object, list[_Fault]]:
    """Faults by the first part of where they are, as what is below that has them."""
    below: dict[object, list[_Fault]] = {}
    for rest, loc in faults:
        below.setdefault(rest[0] if rest else None, []).append(_Fault(rest[1:], loc))
    return below


@cache
def _adapter(model: type[Model], name: str) -> TypeAdapter[Any]:
    """What validates one field of a model by itself."""
    from pydantic import TypeAdapter  # where nothing is wrong, it is not needed

    info = model.model_fields[name]
    told = [*info.metadata, *([info.discriminator] if info.discriminator else [])]
    kind: Any = Annotated[(info.annotation, *told)] if told else info.annotation
    return TypeAdapter(kind, config=_STRICT)


def meant_fields(
    unknown: Mapping[str, str | None], fields: Mapping[str, str], given: Mapping[str, Any]
) -> set[str]:
    """Fields whose values are not known because of keys that nobody knows.

    An unknown key may be one of those that are not given: the one that it was meant to be, or else
    any that it resembles.

    Args:
        unknown: The unknown keys, with what each was meant to be, if that can be told.
        fields: Names of the block's fields by their keys.
        given: The block as it was given.
    """
    found: set[str] = set()
    for key, meant in unknown.items():
        found |= {meant} if meant else set(possible(key, fields))
    return {fields[key] for key in found if key in fields and key not in given}
