"""One place to look types up: a stack's own entries before the facts that come with the package."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from eks_gpushare.catalog.instances import gpu_instance_types, other_instance_type
from eks_gpushare.catalog.mig import mig_model, mig_models, named_layouts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog.instances import Gpu, InstanceType
    from eks_gpushare.catalog.mig import MigModel


@dataclass(frozen=True, slots=True)
class Catalog:
    """The instance types, GPUs and MIG layouts that rules and planners see.

    Attributes:
        overrides: types that a stack file adds or corrects, by name; they win over the package's.
        own_mig_models: GPU models that it adds or corrects, by name; they win too.
        own_layouts: MIG layouts that it adds, devices per GPU by name; they win too.

    """

    overrides: Mapping[str, InstanceType] = field(default_factory=dict, hash=False)
    own_mig_models: Mapping[str, MigModel] = field(default_factory=dict, hash=False)
    own_layouts: Mapping[str, Mapping[str, int]] = field(default_factory=dict, hash=False)

    def find(self, name: str) -> InstanceType | None:
        """The type `name`, with NVIDIA GPUs or without; None if nobody knows it."""
        found = self.overrides.get(name)
        if found is None:
            found = gpu_instance_types().get(name)
        if found is None:
            found = other_instance_type(name)
        return found

    def gpu_types(self) -> Mapping[str, InstanceType]:
        """Every type that has NVIDIA GPUs, the stack's own first."""
        if not self.overrides:
            return gpu_instance_types()
        own = {name: found for name, found in self.overrides.items() if found.gpu is not None}
        rest = {
            name: found
            for name, found in gpu_instance_types().items()
            if name not in self.overrides
        }
        return MappingProxyType(own | rest)

    def mig_models(self) -> Mapping[str, MigModel]:
        """Every GPU model with MIG by name, the stack's own in place of the package's."""
        return {**mig_models(), **self.own_mig_models} if self.own_mig_models else mig_models()

    def mig_model(self, gpu: Gpu) -> MigModel | None:
        """The MIG geometry of `gpu`; None if it has no MIG or nobody knows it."""
        if gpu.mig_capable and gpu.model in self.own_mig_models:
            return self.own_mig_models[gpu.model]
        found = mig_model(gpu)
        return self.own_mig_models.get(found.name, found) if found else None

    def mig_layouts(self, model: MigModel) -> Mapping[str, Mapping[str, int]]:
        """The devices per GPU of every layout that has a name, the stack's own first."""
        return {**self.own_layouts, **named_layouts(model), **self.own_layouts}
