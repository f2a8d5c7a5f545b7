"""Inputs in the names of the schema, as the arguments of a component.

The host of Pulumi's SDK has a translation too, which drops what the schema does not know and stops
at the first missing input. Here everything that a program gave reaches the component's own checks,
which name all that is wrong at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pulumi.provider.experimental.analyzer import PropertyDefinition, TypeDefinition

    from eks_gpushare.findings.finding import FieldPath, Finding


class Translation:
    """A translation of one component's inputs, and what was found on the way."""

    def __init__(self, type_of: Callable[[PropertyDefinition], TypeDefinition | None]) -> None:
        """Start one.

        Args:
            type_of: The object type that a property refers to; None for types of other packages.
        """
        self._type_of = type_of
        self.found: list[Finding] = []
        """Names that are the Python ones, which the schema does not have."""

    def named(
        self,
        value: object,
        properties: Mapping[str, PropertyDefinition],
        names: Mapping[str, str],
        at: FieldPath = (),
    ) -> Any:
        """An object with the names that Python has; anything else as it is, to be refused.

        Args:
            value: What a program gave.
            properties: What the schema has in its place.
            names: Their Python names.
            at: Where it stands.
        """
        if not isinstance(value, Mapping):
            return value
        return dict(self._pairs(value, properties, names, at))

    def _pairs(
        self,
        value: Mapping[str, Any],
        properties: Mapping[str, PropertyDefinition],
        names: Mapping[str, str],
        at: FieldPath,
    ) -> Iterator[tuple[str, Any]]:
        known = {name: key for key, name in names.items()}
        for key, item in value.items():
            if item is None:
                continue
            if key in properties:
                yield names[key], self._translated(item, properties[key], (*at, key))
            elif key in known:
                self.found.append(_python_name((*at, key), key, known[key]))
                yield key, self._translated(item, properties[known[key]], (*at, key))
            else:
                yield key, item

    def _translated(self, item: Any, prop: PropertyDefinition, at: FieldPath) -> Any:
        if prop.ref and (of := self._type_of(prop)):
            return self.named(item, of.properties, of.properties_mapping, at)
        if prop.items and prop.items.ref and isinstance(item, list | tuple):
            return [self._translated(each, prop.items, (*at, n)) for n, each in enumerate(item)]
        values = prop.additional_properties
        if values and values.ref and isinstance(item, Mapping):
            return {key: self._translated(each, values, (*at, key)) for key, each in item.items()}
        return item


def _python_name(at: FieldPath, given: str, key: str) -> Finding:
    message = f'"{given}" is not a key here: that is its name in Python.'
    return shape_rules.UNKNOWN_KEY.finding(at, message, f'Write "{key}".')
