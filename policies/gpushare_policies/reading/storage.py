"""Volumes of EBS that Kubernetes makes by storage classes, and Karpenter by node classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.props import format_value
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.plain import items, mappings
from gpushare_policies.rule import Unjudged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpushare_policies.reading.objects import KubernetesObject
    from gpushare_policies.reading.on_objects import Subject

STORAGE_CLASS = Kind("storage.k8s.io", "StorageClass")
_OF_EBS = ("ebs.csi.aws.com", "ebs.csi.eks.amazonaws.com", "kubernetes.io/aws-ebs")
"""The driver of EBS, that of EKS Auto Mode, and what stands for the first in old classes."""


def makes_ebs(storage_class: KubernetesObject) -> bool:
    """Whether a storage class makes volumes of EBS."""
    return at(storage_class.body, "provisioner") in _OF_EBS


def ebs_parameter(storage_class: KubernetesObject, key: str) -> Any:
    """A parameter of a class that makes volumes of EBS; None where there is none.

    The driver takes names in any case:
    https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/parameters.md
    """
    parameters = at(storage_class.body, "parameters")
    if not makes_ebs(storage_class) or parameters is UNKNOWN:
        return parameters if makes_ebs(storage_class) else None
    given = parameters.items() if isinstance(parameters, dict) else ()
    return next((value for name, value in given if str(name).lower() == key.lower()), None)


def volumes_of_class(subject: Subject, key: str) -> Iterator[tuple[str, Any] | Unjudged]:
    """How each volume of an EC2NodeClass is called, and what stands under a key of it."""
    given = at(subject.object.body, "spec", "blockDeviceMappings")
    if given is UNKNOWN or UNKNOWN in items(given):
        yield Unjudged("blockDeviceMappings")
    for _, mapping in mappings(given):
        said = at(mapping, "ebs", key)
        if said is UNKNOWN:
            yield Unjudged("blockDeviceMappings")
        elif at(mapping, "ebs") is not None:
            yield f"The volume {format_value(mapping.get('deviceName'))} of {subject.title}", said
