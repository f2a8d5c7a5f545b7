"""Volumes of EBS that Kubernetes makes by storage classes, and Karpenter by node classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import format_value
from gpushare_policies.reading.charts import charts_of, loaded
from gpushare_policies.reading.objects import Kind, KubernetesObject
from gpushare_policies.reading.on_objects import Subject
from gpushare_policies.reading.plain import at_top, items, mappings
from gpushare_policies.tokens import ADDON, CHART_V4, RELEASE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pulumi_policy import ResourceValidationArgs

    from gpushare_policies.checks import Check
    from gpushare_policies.reading.on_objects import ObjectCheck

_DRIVER = "aws-ebs-csi-driver"
_SWITCH = ("defaultStorageClass", "enabled")
DEFAULT_CLASS = "ebs-csi-default-sc"
"""The class that the driver brings, which takes no parameters."""
STORAGE_CLASS = Kind("storage.k8s.io", "StorageClass")
_OF_EBS = ("ebs.csi.aws.com", "ebs.csi.eks.amazonaws.com", "kubernetes.io/aws-ebs")
"""The driver of EBS, that of EKS Auto Mode, and what stands for the first in old classes."""


ATTRIBUTES_CLASS = Kind("storage.k8s.io", "VolumeAttributesClass")
"""What volumes that are there are changed to:
https://kubernetes.io/docs/concepts/storage/volume-attributes-classes/"""


def makes_ebs(storage_class: KubernetesObject) -> bool:
    """Whether a storage class makes volumes of EBS."""
    driver = "driverName" if storage_class.kind == ATTRIBUTES_CLASS else "provisioner"
    return at(storage_class.body, driver) in _OF_EBS


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


def on_driver(check: ObjectCheck) -> Mapping[str, Check]:
    """A check of storage classes, for those that the chart or the add-on of the driver makes.

    Its default one has no parameters: `templates/default-storageclass.yaml` of
    https://github.com/kubernetes-sigs/aws-ebs-csi-driver/tree/master/charts/aws-ebs-csi-driver
    """

    def look(args: ResourceValidationArgs) -> Iterator[str | Unjudged]:
        for values in _values_of_driver(args):
            if UNKNOWN in (at(values, "storageClasses"), at(values, *_SWITCH)):
                yield Unjudged(f"the storage classes of {args.name}")
            for obj in _classes(values):
                yield from check(Subject(obj, args))

    return {RELEASE: look, CHART_V4: look, ADDON: look}


def _values_of_driver(args: ResourceValidationArgs) -> Iterator[Any]:
    """What the driver is told of storage classes."""
    found = [chart.values for chart in charts_of(args.props) if chart.name == _DRIVER]
    if at_top(args.props, "addonName") == _DRIVER:
        found.append(loaded(at_top(args.props, "configurationValues")))
    yield from found


def _classes(values: Any) -> Iterator[KubernetesObject]:
    if at(values, *_SWITCH) is True:
        body: dict[str, Any] = {"metadata": {"name": DEFAULT_CLASS}}
        yield KubernetesObject(STORAGE_CLASS, "v1", {**body, "provisioner": _OF_EBS[0]})
    for _, given in mappings(at(values, "storageClasses")):
        body = {"metadata": {"name": given.get("name")}, "provisioner": _OF_EBS[0]}
        yield KubernetesObject(STORAGE_CLASS, "v1", {**body, **given})


def unmapped_of_class(subject: Subject) -> list[str]:
    """The volumes that the image of an EC2NodeClass brings beside those of its mappings.

    Of a class with mappings Karpenter gives EC2 these alone:
    https://karpenter.sh/docs/concepts/nodeclasses/#specblockdevicemappings (2026-11-22)
    """
    spec = at(subject.object.body, "spec")
    given, family = at(spec, "blockDeviceMappings"), at(spec, "amiFamily")
    terms = [term for _, term in mappings(at(spec, "amiSelectorTerms"))]
    aliases = {str(term.get("alias") or "").partition("@")[0] for term in terms}
    named = str(family or (aliases.pop() if len(aliases) == 1 else "")).lower()
    names = [mapping.get("deviceName") for _, mapping in mappings(given)]
    if has_unknown([given, family, terms]) or not names or None in names:
        return []
    there = {str(name).removeprefix("/dev/") for name in names}
    return [device for device in _OF_FAMILIES.get(named, ()) if device not in there]


_OF_FAMILIES = {"bottlerocket": ("xvda", "xvdb"), "al2023": ("xvda",), "al2": ("xvda",)}


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
