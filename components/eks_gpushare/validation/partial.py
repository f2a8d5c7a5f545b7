"""Reading a block of which some values do not fit: the rest is known, and those are not.

What could not be read is missing from the model, so that a rule which comes to it raises
`UnreadError` and says nothing. Defaults never stand in for values that somebody gave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

from pydantic import ConfigDict, ValidationError

from eks_gpushare.config.base import Model, partial_model
from eks_gpushare.validation.blocks import is_model, members, tagged
from eks_gpushare.validation.shape import meant_key, possible

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound=Model)

_UNREAD = object()
_STRICT = ConfigDict(strict=True)
_Loc = tuple[int | str, ...]


def read_block(
    model: type[M], given: Mapping[str, Any], *, by_alias: bool
) -> tuple[M, list[ErrorDetails]]:
    """A block as far as it can be read, and what pydantic says of the rest.

    Args:
        model: What the block is.
        given: Its plain data.
        by_alias: Whether keys are those of the stack file. Otherwise they are Python names.
    """
    try:
        return model.model_validate(given, by_alias=by_alias, by_name=not by_alias), []
    except ValidationError as error:
        details = error.errors(include_url=False)
        faults = [(detail["loc"], detail["type"]) for detail in details]
        return _Reader(by_alias=by_alias).block(model, given, faults), details


class _Reader:
    """Makes models of what is right in plain data that pydantic refused as a whole."""

    def __init__(self, *, by_alias: bool) -> None:
        self._by_alias = by_alias

    def block(self, model: type[M], given: object, faults: Sequence[tuple[_Loc, str]]) -> M:
        """The block without the fields that have faults, down to the innermost ones."""
        if not isinstance(given, dict):
            return partial_model(model)
        keys = {self._key(name, info): name for name, info in model.model_fields.items()}
        below: dict[object, list[tuple[_Loc, str]]] = {}
        for loc, kind in faults:
            below.setdefault(loc[0] if loc else None, []).append((loc[1:], kind))
        if None in below:
            return partial_model(model)
        known: dict[str, Any] = {}
        for key, name in keys.items():
            info = model.model_fields[name]
            if key in below:
                value = self._value(info.annotation, given.get(key, _UNREAD), below[key])
            elif key in given:
                value = self._right(info, given[key])
            else:
                value = info.get_default(call_default_factory=True)
            if value is not _UNREAD:
                known[name] = value
        unknown = [key for key in below if key not in keys]
        missing = [str(key) for key, why in below.items() if why[0] == ((), "missing")]
        for name in meant_fields(unknown, keys, given, missing):
            known.pop(name, None)
        read = partial_model(model, **known)
        read.__pydantic_fields_set__.intersection_update(keys[k] for k in given if k in keys)
        return read

    def _key(self, name: str, info: FieldInfo) -> str:
        return info.alias or name if self._by_alias else name

    def _value(
        self,
        annotation: Any,
        given: Any,
        faults: Sequence[tuple[_Loc, str]],
    ) -> Any:
        """What can be read of a value with faults inside; `_UNREAD` if it cannot be parted."""
        if given is _UNREAD or any(not loc for loc, _ in faults):
            return _UNREAD
        tag = faults[0][0][0]
        for member in members(annotation):
            if (inner := tagged(member, tag)) is not None:
                return self._value(inner, given, [(loc[1:], kind) for loc, kind in faults])
            if is_model(member):
                return self.block(member, given, faults)
            if get_origin(member) is dict and is_model(get_args(member)[1]):
                return self._mapping(get_args(member)[1], given, faults)
        return _UNREAD

    def _mapping(
        self,
        model: type[Model],
        given: Any,
        faults: Sequence[tuple[_Loc, str]],
    ) -> Any:
        """Blocks by the names that their user chose."""
        if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
            return _UNREAD
        below: dict[object, list[tuple[_Loc, str]]] = {key: [] for key in given}
        for loc, kind in faults:
            below[loc[0]].append((loc[1:], kind))
        return {
            key: self.block(model, given[key], below[key])
            if below[key]
            else model.model_validate(
                given[key], by_alias=self._by_alias, by_name=not self._by_alias
            )
            for key in given
        }

    def _right(self, info: FieldInfo, given: Any) -> Any:
        """A value without faults, as the model has it."""
        if is_model(info.annotation):
            return info.annotation.model_validate(
                given, by_alias=self._by_alias, by_name=not self._by_alias
            )
        from pydantic import TypeAdapter  # where nothing is wrong, it is not needed

        told = [*info.metadata, *([info.discriminator] if info.discriminator else [])]
        kind: Any = Annotated[(info.annotation, *told)] if told else info.annotation
        adapter = TypeAdapter[Any](kind, config=_STRICT)
        return adapter.validate_python(given, by_alias=self._by_alias, by_name=not self._by_alias)


def meant_fields(
    unknown: Collection[object],
    fields: Mapping[str, str],
    given: Mapping[str, Any],
    missing: Sequence[str] = (),
) -> set[str]:
    """Fields whose values are not known because of keys that nobody knows.

    An unknown key may be one of those that are not given: the one that it is near to, or else any
    that it resembles.

    Args:
        unknown: The unknown keys.
        fields: Names of the block's fields by their keys.
        given: The block as it was given.
        missing: Required keys that are not given.
    """
    found: set[str] = set()
    for key in map(str, unknown):
        meant = meant_key(key, fields, missing, alone=len(unknown) == 1)
        found |= {meant} if meant else set(possible(key, fields))
    return {fields[key] for key in found if key not in given}
