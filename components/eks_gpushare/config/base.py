"""What every model of the stack file has in common.

The modules with models do without postponed annotations: pydantic needs the annotations themselves,
and would evaluate the text of each at every start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

T = TypeVar("T")

Items = Annotated[tuple[T, ...], Field(strict=False)]
"""A list in the file, a tuple in the model: a checked environment does not change any more."""


class TakesOutput(NamedTuple):
    """Marks what decides nothing: a component takes it as a plain value or as an output."""

    checked_as: str = "known-later"
    """What checks see of an output in a mapping, so that they see its key; `{}` is a number of its
    own. It must be right. Elsewhere an output is not known to them."""


TextInput = Annotated[str, TakesOutput()]
"""Text that goes to AWS or Kubernetes as it is, and so may be an output in a program."""
PrincipalInput = Annotated[str, TakesOutput("arn:aws:iam::111122223333:role/known-later-{}")]
"""The same for the ARN of an IAM role or user."""
AnyInput = Annotated[Any, TakesOutput()]
"""The same for any value, and whatever is inside it."""


class UnreadError(Exception):
    """A value that is not known: it could not be read, or a component alone is not told of it.

    A rule that comes to such a value says nothing: its default is not what anybody asked for.
    """


class Model(BaseModel):
    """Strict, immutable, camelCase in the file and snake_case in Python; unknown keys refused."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, alias_generator=to_camel, defer_build=True
    )

    if not TYPE_CHECKING:  # it would make every misspelt attribute one of type Any

        def __getattr__(self, name: str) -> Any:
            if name in type(self).model_fields:
                raise UnreadError(name)
            return super().__getattr__(name)


M = TypeVar("M", bound=Model)


def converted(model: type[M], source: Model, **more: Any) -> M:
    """What was given of a checked model as another kind of model, which is not checked again.

    Args:
        model: The other kind. What of the source it does not have is left out.
        source: The checked model.
        more: Fields beside those of the source, or in place of them.
    """
    shared = source.model_fields_set & model.model_fields.keys()
    given = {name: getattr(source, name) for name in shared} | more
    return cast("M", model.model_construct(set(given), **given))


def normalised(value: Any) -> Any:
    """The value with integral floats as integers.

    The engine turns 4.0 into 4 before a program sees it, and hands a component's integers over
    as floats (https://github.com/pulumi/pulumi: all numbers are doubles on the wire), so `4.0`
    is an integer everywhere and `4.5` nowhere.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: normalised(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [normalised(inner) for inner in value]
    return value


def given_keys(value: object) -> set[str]:
    """Names of what is given for a block, whether it is still plain data or a model already."""
    if isinstance(value, dict):
        return {str(key) for key in value}
    return set(value.model_fields_set) if isinstance(value, BaseModel) else set()


def fields_by_key(model: type[BaseModel], *, by_alias: bool = True) -> dict[str, str]:
    """Names of a model's fields by their keys.

    Args:
        model: The model.
        by_alias: Whether keys are those of the stack file. Otherwise they are Python names.
    """
    fields = model.model_fields.items()
    return {(info.alias or name) if by_alias else name: name for name, info in fields}


def partial_model(model: type[M], /, **known: Any) -> M:
    """A model of which only the given fields are known; all others raise `UnreadError`.

    Args:
        model: What it is.
        known: Values of its fields, which are not validated.
    """
    made = cast("M", model.model_construct(set(known), **known))
    forget(made, *(model.model_fields.keys() - known.keys()))
    return made


def forget(model: Model, *names: str) -> None:
    """Make fields of a model unknown, so that they raise `UnreadError`."""
    for name in names:
        model.__dict__.pop(name, None)


def known_fields(model: Model) -> dict[str, Any]:
    """The fields of a model that are known, by name."""
    return dict(model.__dict__)
