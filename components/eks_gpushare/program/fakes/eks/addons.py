"""Fakes for the add-ons that ``pulumi_eks`` makes.

Source: pulumi/pulumi-eks 4.4, in ``nodejs/eks``: ``addons/addon.ts``, ``addons/cni-addon.ts`` and
``cluster/cluster.ts``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program.fakes.eks.children import (
    Children,
    is_on,
    json_text,
    output,
    reference,
    unwrap,
)
from eks_gpushare.program.fakes.eks.roles import in_auto_mode
from eks_gpushare.program.values import UNKNOWN, OutputValue, Properties, is_unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.program.fakes.types import Plan
    from eks_gpushare.program.recording import Resource


def kube_proxy(children: Children, cluster: Resource, args: Properties) -> None:
    """kube-proxy, which every cluster but one in Auto Mode has."""
    options = unwrap(args.get("kubeProxyAddonOptions")) or {}
    if is_on(options.get("enabled"), default=not in_auto_mode(args)):
        _addon(children, "kube-proxy", cluster, args, options)


def coredns(
    children: Children, cluster: Resource, args: Properties, depends_on: Sequence[str]
) -> None:
    """CoreDNS, where there are nodes for it or it is asked for."""
    options = unwrap(args.get("corednsAddonOptions")) or {}
    fargate = is_on(args.get("fargate"))
    somewhere = fargate or not is_on(args.get("skipDefaultNodeGroup")) or in_auto_mode(args)
    asked = is_on(options.get("enabled")) or "configurationValues" in options
    if asked or (somewhere and is_on(options.get("enabled"), default=True)):
        if fargate:
            given = unwrap(options.get("configurationValues")) or {}
            values = UNKNOWN if is_unknown(given) else {"computeType": "Fargate", **given}
            options = {**options, "configurationValues": values}
        _addon(children, "coredns", cluster, args, options, depends_on)


def _addon(
    children: Children,
    addon: str,
    cluster: Resource,
    args: Properties,
    options: Properties,
    depends_on: Sequence[str] = (),
) -> Resource:
    return children.add(
        "aws:eks/addon:Addon",
        f"{children.name}-{addon}",
        {
            "clusterName": output(cluster, "name"),
            "addonName": addon,
            "addonVersion": options.get("version") or newest(children, addon, cluster),
            "preserve": True,
            "resolveConflictsOnCreate": options.get("resolveConflictsOnCreate", "OVERWRITE"),
            "resolveConflictsOnUpdate": options.get("resolveConflictsOnUpdate", "OVERWRITE"),
            "configurationValues": json_text(options.get("configurationValues")),
            "tags": args.get("tags"),
        },
        depends_on=depends_on,
    )


def vpc_cni(
    children: Children, cluster: Resource, args: Properties, depends_on: Sequence[str]
) -> Children | None:
    """The component of vpc-cni, where the cluster does not go without."""
    if is_on(args.get("useDefaultVpcCni"), default=in_auto_mode(args)):
        return None
    name = f"{children.name}-vpc-cni"
    options = {**(unwrap(args.get("vpcCniOptions")) or {}), "tags": args.get("tags")}
    addon = children.add_component("eks:index:VpcCniAddon", name, {})
    version = options.get("addonVersion") or newest(children, "vpc-cni", cluster)
    options["clusterName"] = output(cluster, "name")
    _vpc_cni_addon(addon, name, options, version, depends_on)
    return addon


def vpc_cni_component(plan: Plan, component: Resource) -> Properties:
    """``eks.VpcCniAddon``, made by the program itself."""
    children = Children(plan, component)
    wanted, version = unwrap(component.inputs.get("clusterVersion")), UNKNOWN
    if "addonVersion" not in component.inputs and isinstance(wanted, str):
        version = newest_of(children, "vpc-cni", wanted)
    addon = _vpc_cni_addon(children, component.name, component.inputs, version, ())
    return {"addon": reference(addon)}


def newest(children: Children, addon: str, cluster: Resource) -> Any:
    """The newest version of an add-on, which the plugin asks AWS for; unknown as the cluster's."""
    version = cluster.outputs.get("version", UNKNOWN)
    if not isinstance(version, str):
        return OutputValue(UNKNOWN, dependencies=(cluster.urn,))
    return OutputValue(newest_of(children, addon, version), dependencies=(cluster.urn,))


def newest_of(children: Children, addon: str, version: str) -> Any:
    """The newest version of an add-on for a version of Kubernetes."""
    asked = {"addonName": addon, "kubernetesVersion": version, "mostRecent": True}
    provider = children.component.providers.get("aws", "")
    return children.plan.ask("aws:eks/getAddonVersion:getAddonVersion", asked, provider)["version"]


def _vpc_cni_addon(
    children: Children, name: str, options: Properties, version: Any, depends_on: Sequence[str]
) -> Resource:
    return children.add(
        "aws:eks/addon:Addon",
        name,
        {
            "clusterName": options.get("clusterName"),
            "addonName": "vpc-cni",
            "addonVersion": options.get("addonVersion") or version,
            "preserve": True,
            "resolveConflictsOnCreate": options.get("resolveConflictsOnCreate", "OVERWRITE"),
            "resolveConflictsOnUpdate": options.get("resolveConflictsOnUpdate", "OVERWRITE"),
            "configurationValues": json_text(_cni_values(options)),
            "serviceAccountRoleArn": options.get("serviceAccountRoleArn"),
            "tags": options.get("tags"),
        },
        depends_on=depends_on,
    )


_CNI_ENVIRONMENT = {
    "AWS_VPC_ENI_MTU": "9001",
    "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "false",
    "AWS_VPC_K8S_CNI_EXTERNALSNAT": "false",
    "AWS_VPC_K8S_CNI_LOGLEVEL": "DEBUG",
    "AWS_VPC_K8S_CNI_LOG_FILE": "/host/var/log/aws-routed-eni/ipamd.log",
    "AWS_VPC_K8S_CNI_VETHPREFIX": "eni",
    "AWS_VPC_K8S_PLUGIN_LOG_FILE": "/var/log/aws-routed-eni/plugin.log",
    "AWS_VPC_K8S_PLUGIN_LOG_LEVEL": "DEBUG",
    "ENABLE_POD_ENI": "false",
    "WARM_ENI_TARGET": "1",
}
_CNI_INIT_ENVIRONMENT = {"DISABLE_TCP_EARLY_DEMUX": "false"}
"""What the plugin writes where it is told nothing else: `computeEnv` of ``addons/cni-addon.ts``."""


def _cni_values(options: Properties) -> Any:
    """Configuration values of vpc-cni: what is given, over what the plugin writes itself.

    Options that the plugin turns into further variables are not stood in for.
    """
    given = unwrap(options.get("configurationValues")) or {}
    if is_unknown(given):
        return UNKNOWN
    init = given.get("init") or {}
    return {
        **given,
        "env": {**_CNI_ENVIRONMENT, **(given.get("env") or {})},
        "init": {**init, "env": {**_CNI_INIT_ENVIRONMENT, **(init.get("env") or {})}},
    }
