"""Omnistrate's service plans: a Compose file with keys of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.rules.compose import GPU, INTEGRATIONS, plan_rules
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.plain import text
from eks_gpushare.manifests.retired import retired

if TYPE_CHECKING:
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.manifests.document import Document


class ComposeReader:
    """Reads a plan that asks for shared GPUs."""

    name = "Omnistrate service plan"

    def matches(self, document: Document) -> bool:
        """Whether it has a block for GPUs."""
        return isinstance(at(document.value, INTEGRATIONS, GPU), dict)

    def read(self, document: Document) -> Read:
        """Its nodes, and what is wrong in it."""
        value = document.value
        judgements: list[Judgement] = [*plan_rules(value, Source("the service plan", document))]
        name = at(value, INTEGRATIONS, GPU, "instanceType")
        types: Maybe[tuple[str, ...]] = UNKNOWN if name is UNKNOWN else ()
        if isinstance(name, str):
            types = (name,)
        nodes = NodeSet(
            source=Source("the nodes of the service plan", document, (INTEGRATIONS, GPU)),
            name=text(at(value, "x-omnistrate-service-plan", "name")),
            provisioner="managed",
            ami=UNKNOWN,  # the service chooses
            instance_types=types,
        )
        if name in gpu_instance_types():
            judgements += retired(nodes, ("instanceType",))
        return Read([nodes], judgements)
