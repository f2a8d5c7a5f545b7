"""Sets of machines that OpenShift makes nodes of, and the labels and taints that these get.

Only these are known of such nodes. The labels of `template.metadata` are the machines' own.

Source: https://docs.redhat.com/en/documentation/openshift_container_platform/4.20/html/machine_management/
and `types_machine.go` of openshift/api; November 2026.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.plain import taints
from eks_gpushare.manifests.readers.values import mapping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.source import Maybe, Source

_GROUP: Final = "machine.openshift.io/"
_SPEC: Final[Mapping[str, FieldPath]] = {
    "MachineSet": ("spec", "template", "spec"),
    "Machine": ("spec",),
}
"""Where each kind says of what its nodes are."""


def machine_nodes(value: Mapping[str, Any], whence: Source, name: Maybe[str]) -> Iterator[NodeSet]:
    """The nodes of a set of machines, with what is put on them."""
    place = _SPEC.get(str(value["kind"]))
    if place is None or not str(value["apiVersion"]).startswith(_GROUP):
        return
    labels = mapping(at(value, *place, "metadata", "labels"))
    if labels:
        source = replace(whence, path=(*place, "metadata"))
        yield NodeSet(source=source, name=name, provisioner="byHand", labels=labels)
    if found := taints(at(value, *place, "taints")):
        source = replace(whence, path=place)
        yield NodeSet(source=source, name=name, provisioner="byHand", taints=found)
