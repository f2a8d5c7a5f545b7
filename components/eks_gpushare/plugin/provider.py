"""The provider that makes the components for programs in other languages.

Pulumi's SDK has one that analyzes the components at each start, which takes longer than all else,
and whose errors carry its own words and a traceback. This one serves the schema as it was written
beforehand, and imports a component when a program asks for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi.errors import InputPropertiesError
from pulumi.provider import ConstructResult, Provider

import eks_gpushare
from eks_gpushare.config.component_specs import ServedPool
from eks_gpushare.inputs.caller_words import translated
from eks_gpushare.inputs.checked import known_spec
from eks_gpushare.inputs.late_values import dump
from eks_gpushare.plugin.inputs import Translation
from eks_gpushare.plugin.names import python_name
from eks_gpushare.plugin.schema import component, schema, schema_text
from eks_gpushare.plugin.words import in_schema_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pulumi


class ComponentsProvider(Provider):
    """Makes components; what it refuses, it refuses with the whole list, and nothing around it."""

    def __init__(self) -> None:
        """Serve the schema of this version."""
        super().__init__(eks_gpushare.__version__, schema_text())

    def construct(
        self,
        name: str,
        resource_type: str,
        inputs: Mapping[str, Any],
        options: pulumi.ResourceOptions | None = None,
    ) -> ConstructResult:
        """Make a component.

        Raises:
            pulumi.InputPropertiesError: Naming every wrong input by its path, or the type.
        """
        described = component(resource_type)
        if described is None:
            known = ", ".join(schema()["resources"])
            raise InputPropertiesError(f"{resource_type} is no component; there are {known}.", [])
        translation = Translation()
        args = translation.arguments(inputs, described["inputProperties"])
        kind = getattr(eks_gpushare, resource_type.rpartition(":")[2])
        with translated(in_schema_words, translation.found):
            made = _made(kind, name, args, options)
        return ConstructResult(made.urn, dict(_outputs(made, described)))


def _made(
    kind: Callable[..., pulumi.ComponentResource],
    name: str,
    args: Any,
    options: pulumi.ResourceOptions | None,
) -> pulumi.ComponentResource:
    """A component, or its refusal as one text.

    With the wrong inputs beside the text, the engine would print the list a second time.
    """
    try:
        return kind(name, args, options)
    except InputPropertiesError as error:
        raise InputPropertiesError(error.message, []) from None


def _outputs(made: pulumi.ComponentResource, described: Mapping[str, Any]) -> Any:
    for key in described["properties"]:
        value = getattr(made, python_name(key), None)
        if (served := known_spec(value, ServedPool)) is not None:
            yield key, dump(served, by_alias=True, exclude_unset=True)
        elif value is not None:
            yield key, value
