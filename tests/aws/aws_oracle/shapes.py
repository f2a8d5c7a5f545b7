"""What an API call or a schema takes, in one form for both."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from botocore.model import Shape as BotocoreShape


class Shape(Protocol):
    """A place for a value."""

    @property
    def kind(self) -> str:
        """structure, list, map, boolean, integer, float or string; "any" takes everything."""

    @property
    def members(self) -> Mapping[str, Shape]:
        """Members of a structure by name."""

    @property
    def item(self) -> Shape:
        """What a list holds."""


_NUMBERS = {"integer": "integer", "long": "integer", "float": "float", "double": "float"}


@dataclass(frozen=True)
class ApiShape:
    """A shape of botocore's service model."""

    model: BotocoreShape

    @property
    def kind(self) -> str:
        """Its kind; times and bytes are sent as text."""
        name: str = self.model.type_name
        return _NUMBERS.get(name, name if name in _CONTAINERS else "string")

    @cached_property
    def members(self) -> Mapping[str, Shape]:
        """Members by name."""
        found = getattr(self.model, "members", {})
        return {name: ApiShape(member) for name, member in found.items()}

    @property
    def item(self) -> Shape:
        """What a list holds."""
        return ApiShape(self.model.member)


@dataclass(frozen=True)
class Text:
    """What a map holds whose keys are of a service and all whose values are text."""

    kind: str = "text"
    members: Mapping[str, Shape] = field(default_factory=dict)

    @property
    def item(self) -> Shape:
        """Never asked for."""
        raise TypeError(self.kind)


_CONTAINERS = {"structure", "list", "map", "boolean"}
_SCHEMA_KINDS = {"array": "list", "number": "float"}


@dataclass(frozen=True)
class SchemaShape:
    """A place in a CloudFormation resource schema."""

    schema: Mapping[str, Any]
    definitions: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def _resolved(self) -> Mapping[str, Any]:
        schema = self.schema
        while "$ref" in schema:
            schema = self.definitions[schema["$ref"].removeprefix("#/definitions/")]
        return schema

    @property
    def kind(self) -> str:
        """Its kind; a policy document, an object without properties, is "any"."""
        if "properties" in self._resolved:
            return "structure"
        found = self._resolved.get("type", "any")
        kind = found[0] if isinstance(found, list) else found
        if kind == "object":
            return "map" if "patternProperties" in self._resolved else "any"
        return _SCHEMA_KINDS.get(str(kind), str(kind))

    @cached_property
    def members(self) -> Mapping[str, Shape]:
        """Properties by name."""
        found = self._resolved.get("properties", {})
        return {name: SchemaShape(each, self.definitions) for name, each in found.items()}

    @property
    def item(self) -> Shape:
        """What an array holds."""
        return SchemaShape(self._resolved["items"], self.definitions)


@cache
def operation(service: str, name: str) -> Any:
    """Botocore's model of an operation.

    Raises:
        botocore.model.OperationNotFoundError: If the service has no such operation.
    """
    return service_model(service).operation_model(name)


@cache
def service_model(service: str) -> Any:
    """Botocore's model of a service."""
    import botocore.loaders
    from botocore.model import ServiceModel

    loader = botocore.loaders.Loader()
    return ServiceModel(loader.load_service_model(service, "service-2"), service)
