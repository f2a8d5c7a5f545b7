"""Inputs in the names of the schema, as the arguments of a component.

The host of Pulumi's SDK has a translation too, which drops what the schema does not know and stops
at the first missing input. Here everything that a program gave reaches the component's own checks,
which name all that is wrong at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pulumi

from eks_gpushare.plugin.names import python_name
from eks_gpushare.plugin.schema import HANDED_OVER, object_type
from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath, Finding

Properties = Mapping[str, Any]
"""Properties of a component or an object type, as the schema has them."""


class Translation:
    """A translation of one component's inputs, and what was found on the way."""

    def __init__(self) -> None:
        """Start one."""
        self.found: list[Finding] = []
        """Names that are the Python ones, which the schema does not have."""

    def arguments(self, value: object, properties: Properties, at: FieldPath = ()) -> Any:
        """An object with the names that Python has; anything else as it is, to be refused.

        Args:
            value: What a program gave.
            properties: What the schema has in its place.
            at: Where it stands.
        """
        return dict(self._pairs(value, properties, at)) if isinstance(value, Mapping) else value

    def _pairs(
        self, value: Mapping[str, Any], properties: Properties, at: FieldPath
    ) -> Iterator[tuple[str, Any]]:
        keys = {python_name(key): key for key in properties}
        for key, item in value.items():
            if item is None:
                continue
            if key in properties:
                kind = HANDED_OVER[key] if key in HANDED_OVER else properties[key]
                yield python_name(key), self._value(item, kind, (*at, key))
            elif key in keys:
                self.found.append(_python_name((*at, key), key, keys[key]))
                yield key, self._value(item, properties[keys[key]], (*at, key))
            else:
                yield key, item

    def _value(self, item: Any, prop: Properties, at: FieldPath) -> Any:
        if isinstance(item, pulumi.output.Unknown):  # of programs that send no output for it
            return pulumi.Output.from_input(item)
        if (kind := object_type(prop.get("$ref", ""))) is not None:
            return self.arguments(item, kind["properties"], at)
        if isinstance(item, list | tuple):
            inner = _alternative(prop, "items")
            return [self._value(each, inner, (*at, index)) for index, each in enumerate(item)]
        if isinstance(item, Mapping):
            inner = _alternative(prop, "additionalProperties")
            return {key: self._value(each, inner, (*at, key)) for key, each in item.items()}
        return item


async def settled(value: Any, prop: Properties, *, told: bool) -> Any:
    """A value without the outputs in it that have to be plain, are known, and are no secret.

    Node.js sends any output as one, also of a plain value. Where an input may be an output it stays
    one, which knows whose it is.

    Args:
        value: What a program gave.
        prop: What the schema has in its place.
        told: Whether another component has told it, as all of it has to be plain.
    """
    if isinstance(value, pulumi.Output):
        if not (told or prop.get("plain")) or not await value.is_known():
            return value
        if await value.is_secret() and not told:
            return value
        return await settled(await value.future(), prop, told=told)
    if isinstance(value, list):
        inner = prop if _is_any(prop) else _alternative(prop, "items")
        return [await settled(each, inner, told=told) for each in value]
    if isinstance(value, Mapping):
        kind = object_type(prop.get("$ref", ""))
        other = prop if _is_any(prop) else _alternative(prop, "additionalProperties")
        known = kind["properties"] if kind is not None else {}
        return {k: await settled(item, known.get(k, other), told=told) for k, item in value.items()}
    return value


def _is_any(prop: Properties) -> bool:
    return prop.get("$ref") == "pulumi.json#/Any"


def _alternative(prop: Properties, inside: str) -> Properties:
    """What the list or mapping holds that a property takes, be it one type of several."""
    held = (schema[inside] for schema in (prop, *prop.get("oneOf", ())) if inside in schema)
    return next(held, {})


def _python_name(at: FieldPath, given: str, key: str) -> Finding:
    message = f'"{given}" is the name in Python.'
    return shape_rules.UNKNOWN_KEY.finding(at, message, f'Write "{key}".')
