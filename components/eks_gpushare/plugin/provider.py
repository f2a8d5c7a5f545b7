"""The provider that makes the components for programs in other languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi.errors import InputPropertiesError
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError

import eks_gpushare
from eks_gpushare.caller_words import hand_over, speak
from eks_gpushare.plugin.inputs import Translation
from eks_gpushare.plugin.words import in_schema_words

if TYPE_CHECKING:
    import pulumi
    from pulumi.provider import ConstructResult
    from pulumi.provider.experimental.analyzer import ComponentDefinition

NAME = "eks-gpushare"
"""Name of the package in Pulumi, and the first part of every type token."""

NAMESPACE = "eks-gpushare"
"""Scope of the generated packages: `@eks-gpushare/eks-gpushare` for npm."""


class Provider(ComponentProvider):
    """Makes components; what it refuses, it refuses with the whole list, and nothing around it."""

    def __init__(self) -> None:
        """Analyze the components."""
        kinds = [getattr(eks_gpushare, name) for name in component_names()]
        super().__init__(kinds, NAME, NAMESPACE, eks_gpushare.__version__)

    def construct(
        self,
        name: str,
        resource_type: str,
        inputs: Any,
        options: pulumi.ResourceOptions | None = None,
    ) -> ConstructResult:
        """Make a component.

        Raises:
            pulumi.InputPropertiesError: Naming every wrong input by its path.
        """
        speak(in_schema_words)
        try:
            return super().construct(name, resource_type, inputs, options)
        except ComponentInitError as error:
            if isinstance(error.inner, InputPropertiesError):
                raise error.inner from None
            raise

    def map_inputs(self, inputs: Any, component_def: ComponentDefinition) -> Any:
        """The arguments of a component; the SDK's own drops keys, and stops at the first error."""
        translation = Translation(self.get_type_definition)
        given = translation.named(inputs, component_def.inputs, component_def.inputs_mapping)
        hand_over(translation.found)
        return given


def component_names() -> list[str]:
    """Names of the components, as the package exports them."""
    exported = eks_gpushare.__all__
    return [name for name in exported if f"{name}Args" in exported]
