"""Modules of the registry that most clusters on EKS are made with, as the resources they make.

Their own files are not among those of a repository. What their inputs become is told here as far as
it has to do with nodes and charts.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.hcl.registry_inputs import KINDS, MARKET, Inputs, each_of, reserved_for
from eks_gpushare.lint.hcl.registry_networks import NETWORKS
from eks_gpushare.lint.hcl.registry_parts import OF_GOOGLE, hybrid_nodes, karpenter
from eks_gpushare.lint.hcl.registry_pools import karpenter_resources
from eks_gpushare.lint.hcl.registry_roles import IDENTITIES, ROLE_MODULES, identities, plain_source
from eks_gpushare.lint.hcl.registry_user_data import (
    OWN_IMAGE,
    STANDARD_SINCE,
    UNREAD_INPUTS,
    default_ami,
    image_of,
    is_of_nobody,
    managed_boot,
    self_managed_boot,
    unread_inputs,
)
from eks_gpushare.lint.hcl.values import HclList, HclObject, is_open, place_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eks_gpushare.lint.hcl.blocks import MadeResource
    from eks_gpushare.lint.hcl.values import Place

_TEMPLATE: Final = "aws_launch_template.this[0]"
_SIZES: Final = {"min_size": 1, "max_size": 3, "desired_size": 1}
_DATA_ADDONS: Final = {
    "nvidia_device_plugin": ("nvidia-device-plugin", "nvidia-device-plugin"),
    "nvidia_gpu_operator": ("gpu-operator", "gpu-operator"),
    "dcgm_exporter": ("dcgm-exporter", "dcgm-exporter"),
}
"""Add-ons of `aws-ia/eks-data-addons`, each with its chart and its namespace."""
_PLUGIN_VALUES: Final = """\
gfd:
  enabled: true
nfd:
  enabled: true
  worker:
    tolerations:
      - operator: Exists
"""
"""What that module gives the plugin's chart below the values of its caller, of every version.

From `nvidia-device-plugin.tf` of aws-ia/terraform-aws-eks-data-addons, unchanged up to v1.38.0.
"""
_PLUGIN_VERSION: Final = "0.14.4"
"""The version of the plugin's chart that it installs unless told, from the same file."""
_ADDONS: Final = {
    "karpenter": ("karpenter", "karpenter"),
    "cluster_autoscaler": ("cluster-autoscaler", "kube-system"),
}
"""Those of `aws-ia/eks-blueprints-addons` that have to do with nodes."""


def made_by(call: MadeResource) -> Iterator[MadeResource]:
    """The resources of a call of a module that is known; none of another.

    Args:
        call: The call, with its inputs.
    """
    source, _, version = call.source.rpartition("@")
    plain = plain_source(source)
    for name, make in _MODULES.items():
        if re.fullmatch(name, plain):
            yield from make(call, _major(version or source))
            return


def _major(version: str) -> int | None:
    found = re.search(r"([0-9]+)(?:\.[0-9]+)*", version.rpartition("ref=")[2])
    return int(found[1]) if found else None


# --- terraform-aws-modules/eks/aws ------------------------------------------------------------


def _cluster(call: MadeResource, major: int | None) -> Iterator[MadeResource]:
    yield from hybrid_nodes(call)
    for kind, make in zip(KINDS, (_managed, _self_managed), strict=True):
        groups = call.values.get(f"{kind}_node_groups")
        defaults = call.values.get(f"{kind}_node_group_defaults")
        for key, group, place in each_of(groups):
            prefix = f'{call.address}.module.{kind}_node_group["{key}"]'
            inner = replace(call, address=prefix, place=place or call.place)
            yield from make(inner, Inputs(group, defaults), key, major)
    for name in ("cluster_addons", "addons"):
        for key, addon, place in each_of(call.values.get(name)):
            values = HclObject({"addon_name": key})
            told = at(addon, "configuration_values")
            values.put("configuration_values", told, place_in(addon, "configuration_values"))
            yield replace(
                call,
                address=f'{call.address}.aws_eks_addon.this["{key}"]',
                kind="aws_eks_addon",
                values=values,
                place=place or call.place,
            )


def _managed(
    call: MadeResource, given: Inputs, key: str, major: int | None
) -> Iterator[MadeResource]:
    if given.get("create") is False:
        return
    values = HclObject()
    given.put(values, "node_group_name", "name", key)
    given.put(values, "use_name_prefix", "use_name_prefix", otherwise=True)
    for name in ("instance_types", "labels", "capacity_type", "tags"):
        given.put(values, name, name)
    if given.get(OWN_IMAGE) in (None, ""):
        given.put(values, "ami_type", "ami_type", default_ami(major))
    _put_cluster(values, given, call)
    given.put_blocks(values, "taint", "taints")
    own_template = given.get("use_custom_launch_template", otherwise=True)
    created = given.get("create_launch_template", otherwise=True)
    referred = [str(each) for told in call.references.values() for each in _named_in(told)]
    if own_template is True and created is True and is_of_nobody(given, major, referred):
        given.put(values, OWN_IMAGE, OWN_IMAGE)
    for name in unread_inputs(given, major, managed=True):
        given.put(values, name, name)
    sizes = HclObject()
    for name, number in _SIZES.items():
        given.put(sizes, name, name, number)
    values.put("scaling_config", HclList([sizes]), call.place)
    sized = given.get("block_device_mappings") not in (None, {}, [])
    if own_template is False or (own_template is True and not sized):
        given.put(values, "disk_size", "disk_size")
    if own_template is not False:
        values.put("launch_template", HclList([HclObject({"id": UNKNOWN})]), call.place)
        if created is True and own_template is True:
            template = _template(given, call, major)
            given.put(template, "image_id", image_of(given))
            template.put("user_data", managed_boot(given, major), given.place(UNREAD_INPUTS))
            yield _resource(call, _TEMPLATE, template, reserved_for(call))
    yield _resource(call, "aws_eks_node_group.this[0]", values)


def _put_cluster(values: HclObject, given: Inputs, call: MadeResource) -> None:
    """The cluster of a group, and its version, which is that unless the group has its own."""
    for name in ("kubernetes_version", "cluster_version"):
        given.put(values, "version", name, at(call.values, name))
    # That of the cluster is `name` since 21, which a group's own module has for the group's.
    named = at(call.values, "cluster_name")
    if named is None and at(call.values, "eks_managed_node_groups") is not None:
        named = at(call.values, "name")
    given.put(values, "cluster_name", "cluster_name", named)


def _named_in(told: Any) -> list[Any]:
    """What an argument of a call refers to."""
    return list(at(told, "references") or ())


def _template(given: Inputs, call: MadeResource, major: int | None) -> HclObject:
    made = HclObject()
    given.put_blocks(made, "block_device_mappings", "block_device_mappings")
    options = given.get("metadata_options")
    if options is None:
        options = HclObject(
            {"http_endpoint": "enabled", "http_tokens": "required"}
            | {"http_put_response_hop_limit": _hops(major)}
        )
    made.put("metadata_options", HclList([options], [call.place]), call.place)
    for name in ("network_interfaces", *MARKET):
        given.put(made, name, name)
    return made


def _hops(major: int | None) -> Any:
    """How far answers of the metadata service go where nobody says; not known of any version."""
    if major is None:
        return UNKNOWN
    return 1 if major >= STANDARD_SINCE else 2


def _self_managed(
    call: MadeResource, given: Inputs, key: str, major: int | None
) -> Iterator[MadeResource]:
    if given.get("create") is False:
        return
    template = _template(given, call, major)
    given.put(template, "instance_type", "instance_type")
    given.put(template, "image_id", OWN_IMAGE)
    if template.get("image_id") in (None, ""):
        given.put(template, "image_id", "ami_type", default_ami(major) or UNKNOWN)
    template.put("user_data", self_managed_boot(given, major), given.place(UNREAD_INPUTS))
    if given.get("create_launch_template", otherwise=True) is True:
        yield _resource(call, _TEMPLATE, template, reserved_for(call))
    if given.get("create_autoscaling_group", otherwise=True) is False:
        return
    values = HclObject()
    given.put(values, "name", "name", key)
    for name, number in _SIZES.items():
        own = "desired_capacity" if name == "desired_size" else name
        given.put(values, own, name, number)
    tags = HclList([HclObject({"key": "kubernetes.io/cluster/of-module", "value": "owned"})])
    more = given.get("autoscaling_group_tags")
    for name, value, place in each_of(more):
        tags.put(HclObject({"key": name, "value": value}), place)
    if more is UNKNOWN or is_open(more):
        tags.put(HclObject({"key": UNKNOWN, "value": UNKNOWN}), call.place)
    values["tag"] = tags
    for name in unread_inputs(given, major, managed=False):
        given.put(values, name, name)
    block = HclObject({"id": UNKNOWN})
    if given.get("use_mixed_instances_policy") not in (None, False):
        policy = given.get("mixed_instances_policy")
        inside = HclObject({"launch_template_specification": HclList([block])})
        # Below `launch_template` since version 21.
        inside["override"] = at(policy, "launch_template", "override") or at(policy, "override")
        values["mixed_instances_policy"] = HclList(
            [HclObject({"launch_template": HclList([inside])})]
        )
    else:
        values["launch_template"] = HclList([block])
    yield _resource(call, "aws_autoscaling_group.this[0]", values)


def _resource(
    call: MadeResource, address: str, values: HclObject, references: Any = None
) -> MadeResource:
    return replace(
        call,
        address=f"{call.address}.{address}",
        kind=address.partition(".")[0],
        values=values,
        references=references or {},
    )


def _one_managed(call: MadeResource, major: int | None) -> Iterator[MadeResource]:
    yield from _managed(call, Inputs(call.values), "", major)


def _one_self_managed(call: MadeResource, major: int | None) -> Iterator[MadeResource]:
    yield from _self_managed(call, Inputs(call.values), "", major)


# --- aws-ia -----------------------------------------------------------------------------------


def _release(
    call: MadeResource, name: str, given: Any, *, chart: str, namespace: str, place: Place | None
) -> MadeResource:
    values = HclObject()
    inputs = Inputs(given)
    for key, otherwise in (("name", name), ("chart", chart), ("namespace", namespace)):
        inputs.put(values, key, key, otherwise)
    for key in ("version", "chart_version"):  # the latter of the two counts
        inputs.put(values, "version", key)
    for key in ("values", "set", "set_sensitive", "repository"):
        inputs.put(values, key, key)
    return replace(
        call,
        address=f"{call.address}.helm_release.{name}",
        kind="helm_release",
        values=values,
        place=place or call.place,
        references={},
    )


def _addons(
    call: MadeResource, known: Mapping[str, tuple[str, str]], suffix: str
) -> Iterator[MadeResource]:
    for name, (chart, namespace) in known.items():
        enabled = call.values.get(f"enable_{name}", False)
        if enabled in (False, None):
            continue
        given = call.values.get(f"{name}{suffix}")
        place = place_in(call.values, f"{name}{suffix}") or place_in(call.values, f"enable_{name}")
        yield _release(call, name, given, chart=chart, namespace=namespace, place=place)


def _blueprints(call: MadeResource, _: int | None) -> Iterator[MadeResource]:
    for made in _addons(call, _ADDONS, ""):
        made.values["values"] = UNKNOWN  # the module adds its own, and has versions of its own
        made.values.setdefault("version", UNKNOWN)
        yield made
    for key, given, place in each_of(call.values.get("helm_releases")):
        yield _release(call, key, given, chart="", namespace="default", place=place)
    for key, addon, place in each_of(call.values.get("eks_addons")):
        values = HclObject({"addon_name": key})
        values["configuration_values"] = at(addon, "configuration_values")
        yield replace(
            call,
            address=f'{call.address}.aws_eks_addon.this["{key}"]',
            kind="aws_eks_addon",
            values=values,
            place=place or call.place,
        )


def _blueprints_4(call: MadeResource, _: int | None) -> Iterator[MadeResource]:
    """Version 4, which made the cluster itself; later ones are patterns and no module."""
    for key, group, place in each_of(call.values.get("managed_node_groups")):
        given, values, sizes = Inputs(group), HclObject(), HclObject()
        given.put(values, "node_group_name", "node_group_name", key)
        for name in ("instance_types", "ami_type", "capacity_type", "disk_size"):
            given.put(values, name, name)
        given.put(values, "labels", "k8s_labels")
        given.put(values, "taint", "k8s_taints")
        for name, number in _SIZES.items():
            given.put(sizes, name, name, number)
        values.put("scaling_config", HclList([sizes]), place)
        inner = f'{call.address}.module.aws_eks_managed_node_groups["{key}"]'
        made = replace(call, address=inner, place=place or call.place)
        yield _resource(made, "aws_eks_node_group.managed_ng", values)


def _data_addons(call: MadeResource, _: int | None) -> Iterator[MadeResource]:
    for made in _addons(call, _DATA_ADDONS, "_helm_config"):
        if made.values.get("chart") == "nvidia-device-plugin":
            own = made.values.get("values", HclList())
            if isinstance(own, list):
                made.values["values"] = HclList([_PLUGIN_VALUES, *own])
            made.values.setdefault("version", _PLUGIN_VERSION)
        yield made
    yield from karpenter_resources(call)


def _one_addon(call: MadeResource, _: int | None) -> Iterator[MadeResource]:
    if call.values.get("create") is False or call.values.get("create_release") is False:
        return
    name = call.address.rpartition(".")[2]
    yield _release(call, name, call.values, chart="", namespace="default", place=None)


_EKS: Final = r"(?:.*github\.com/)?terraform-aws-modules/(?:terraform-aws-eks|eks/aws)"
_MODULES: Final[Mapping[str, Callable[[MadeResource, int | None], Iterator[MadeResource]]]] = {
    _EKS: _cluster,
    f"{_EKS}//modules/eks-managed-node-group": _one_managed,
    f"{_EKS}//modules/self-managed-node-group": _one_self_managed,
    f"{_EKS}//modules/karpenter": karpenter,
    r"(?:.*github\.com/)?aws-ia/(?:terraform-aws-)?eks-blueprints-addons(?:/aws)?": _blueprints,
    r"(?:.*github\.com/)?aws-ia/(?:terraform-aws-)?eks-blueprints-addon(?:/aws)?": _one_addon,
    r".*eks-data-addons(?:/aws)?": _data_addons,
    r".*aws-ia/terraform-aws-eks-blueprints": _blueprints_4,
    **ROLE_MODULES,
    IDENTITIES: identities,
    **OF_GOOGLE,
    **NETWORKS,
}
"""By their sources, without protocol, `.git` and version."""
