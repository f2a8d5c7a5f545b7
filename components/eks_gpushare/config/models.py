"""Every model of the stack file, found from the outermost one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, get_args

from eks_gpushare.config.base import Model, fields_by_key
from eks_gpushare.config.environment import Environment

if TYPE_CHECKING:
    from pydantic import BaseModel


@cache
def models() -> tuple[type[BaseModel], ...]:
    """Every model of the stack file, the outermost first."""
    seen: dict[type[BaseModel], None] = {}
    waiting: list[type[BaseModel]] = [Environment]
    while waiting:
        model = waiting.pop(0)
        if model not in seen:
            seen[model] = None
            for info in model.model_fields.values():
                waiting += _inside(info.annotation)
    return tuple(seen)


@cache
def known_keys() -> frozenset[str]:
    """Every key of the stack file's model, for guesses at misspelt ones."""
    return frozenset(key for model in models() for key in fields_by_key(model))


def _inside(annotation: object) -> list[type[BaseModel]]:
    """Models within an annotation such as `dict[str, Pool]`."""
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return [annotation]
    return [model for inner in get_args(annotation) for model in _inside(inner)]
