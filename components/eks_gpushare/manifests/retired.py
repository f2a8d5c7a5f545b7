"""Instance types that are not to be had any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog import alternatives, gpu_instance_types
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.manifests.rules.nodes import RETIRED_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.catalog.instances import InstanceType
    from eks_gpushare.inventory.items import NodeSet
    from eks_gpushare.inventory.problem import Judgement


_FORMER: Final[Mapping[str, str]] = {
    "g2": "Kepler",
    "g3": "Maxwell",
    "g3s": "Maxwell",
    "p2": "Kepler",
}
"""Families that EC2 had before those of the catalog, with the architecture of their GPUs.

They are absent from DescribeInstanceTypes and from the offerings of every region in moto 5.1.4."""


def retired_words(found: InstanceType) -> tuple[str, str]:
    """Message and fix for a type that is not to be had any more."""
    others = alternatives(found)[:3]
    instead = f"Take one of {', '.join(others)}." if others else "Take another type."
    return f"EC2 offers {found.name} in no region any more.", instead


def retired(nodes: NodeSet, path: tuple[str | int, ...]) -> Iterator[Judgement]:
    """What is to be said of types that are not to be had any more."""
    types = nodes.instance_types if isinstance(nodes.instance_types, tuple) else ()
    families = {name.partition(".")[0] for name in gpu_instance_types()}
    for name in types:
        found = gpu_instance_types().get(name)
        if found is not None and found.retired:
            yield Problem(RETIRED_TYPE, nodes.source, path, *retired_words(found))
        elif (old := _FORMER.get(name.partition(".")[0])) is not None:
            message = f"EC2 offers {name} in no region any more; its GPUs are of {old}."
            fix = "Take a type of g4dn or later."
            yield Problem(RETIRED_TYPE, nodes.source, path, message, fix)
        elif found is None and name.partition(".")[0] in families:
            # Of a family without GPUs, or one newer than the catalog, nothing can be told.
            family = f"{name.partition('.')[0]}."
            have = [name for name in gpu_instance_types() if name.startswith(family)]
            fix = f"Write one of {', '.join(have)}."
            yield Problem(RETIRED_TYPE, nodes.source, path, f"EC2 has no type {name}.", fix)
