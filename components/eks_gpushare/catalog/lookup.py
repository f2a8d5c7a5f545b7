"""One place to look types up: a stack's own entries before the facts that come with the package."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from eks_gpushare.catalog.instances import gpu_instance_types, other_instance_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog.instances import InstanceType


@dataclass(frozen=True, slots=True)
class Catalog:
    """The instance types that rules and planners see.

    Attributes:
        overrides: types that a stack file adds or corrects, by name; they win over the package's.

    """

    overrides: Mapping[str, InstanceType] = field(default_factory=dict, hash=False)

    def find(self, name: str) -> InstanceType | None:
        """Return the type `name`, with NVIDIA GPUs or without; None if nobody knows it."""
        found = self.overrides.get(name)
        if found is None:
            found = gpu_instance_types().get(name)
        if found is None:
            found = other_instance_type(name)
        return found

    def gpu_types(self) -> Mapping[str, InstanceType]:
        """Return every type that has NVIDIA GPUs, the stack's own first."""
        if not self.overrides:
            return gpu_instance_types()
        own = {name: found for name, found in self.overrides.items() if found.gpu is not None}
        rest = {
            name: found
            for name, found in gpu_instance_types().items()
            if name not in self.overrides
        }
        return MappingProxyType(own | rest)
