"""What the fake of ``eks.Cluster`` makes once the cluster is there, and its outputs.

Source: pulumi/pulumi-eks 4.4, ``nodejs/eks/cluster/cluster.ts``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.program.fakes.eks import roles as eks_roles
from eks_gpushare.program.fakes.eks.children import Children, is_on, output, reference, unwrap
from eks_gpushare.program.fakes.eks.kubeconfig import kubeconfig
from eks_gpushare.program.fakes.eks.node_groups import default_node_group
from eks_gpushare.program.fakes.eks.security_groups import group_of_eks, node_security_group
from eks_gpushare.program.values import UNKNOWN, OutputValue, Properties, ResourceRef, is_unknown

if TYPE_CHECKING:
    from eks_gpushare.program.fakes.types import Plan
    from eks_gpushare.program.recording import Resource


@dataclass
class Made:
    """What the component has made until now."""

    network: Properties
    """``vpcId`` and ``subnetIds``, as they are given or of the default VPC."""
    cluster: Resource
    provider: Resource
    """The provider of Kubernetes."""
    role: ResourceRef | None
    group: ResourceRef | None
    """The cluster's security group."""
    core: Properties = field(default_factory=dict)
    outputs: Properties = field(default_factory=dict)


def _parameters(each: Properties) -> Properties:
    """Those of a storage class, which are text, as `storageclass.ts` of the plugin makes them."""
    made: Properties = {"type": each.get("type", UNKNOWN)}
    for key in ("zones", "iopsPerGb", "encrypted", "kmsKeyId"):
        given = unwrap(each.get(key))
        if given is UNKNOWN:
            made[key] = UNKNOWN
        elif isinstance(given, list):
            made[key] = ", ".join(map(str, given))
        elif given:
            made[key] = str(given).lower() if isinstance(given, bool) else str(given)
    return made


def storage_classes(children: Children, made: Made, settled: list[str]) -> Properties:
    """Storage classes."""
    given = unwrap(children.component.inputs.get("storageClasses"))
    if isinstance(given, str):
        given = {given: {"type": given, "default": True}}
    found: Properties = {}
    for key, wrapped in (given or {}).items():
        each = unwrap(wrapped) or {}
        metadata = dict(unwrap(each.get("metadata")) or {})
        if is_on(each.get("default")):
            default = {"storageclass.kubernetes.io/is-default-class": "true"}
            metadata["annotations"] = {**(metadata.get("annotations") or {}), **default}
        made_class = children.add(
            "kubernetes:storage.k8s.io/v1:StorageClass",
            f"{children.name.lower()}-{key}",
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": metadata,
                "provisioner": "kubernetes.io/aws-ebs",
                "parameters": _parameters(each),
                **{
                    option: each[option]
                    for option in (
                        "allowVolumeExpansion",
                        "mountOptions",
                        "reclaimPolicy",
                        "volumeBindingMode",
                    )
                    if option in each
                },
            },
            depends_on=settled,
            provider=made.provider.urn,
        )
        found[key] = reference(made_class)
    return found


def fargate_profile(children: Children, made: Made, depends_on: list[str]) -> Resource | None:
    """The Fargate profile, if one is asked for."""
    args = children.component.inputs
    given = unwrap(args.get("fargate"))
    if not is_on(given):
        return None
    options = given if isinstance(given, dict) else {}
    role = options.get("podExecutionRoleArn")
    if role is None:
        partition = partition_of(made.cluster.outputs.get("region", ""))
        role = output(eks_roles.pod_execution_role(children, args, partition), "arn")
    name = children.name
    reserved = name.lower() == "eks" or name.lower().startswith("eks-")
    profile = name.replace("-", "_", 1) + "fargateProfile" if reserved else f"{name}-fargateProfile"
    everywhere = [{"namespace": "default"}, {"namespace": "kube-system"}]
    return children.add(
        "aws:eks/fargateProfile:FargateProfile",
        profile,
        {
            "clusterName": output(made.cluster, "name"),
            "podExecutionRoleArn": role,
            "selectors": options.get("selectors") or everywhere,
            "subnetIds": options.get("subnetIds") or made.network["subnetIds"],
        },
        depends_on=depends_on,
    )


def oidc_provider(children: Children, cluster: Resource, args: Properties) -> Resource | None:
    """The provider with which service accounts get roles, if one is asked for."""
    if not is_on(args.get("createOidcProvider")):
        return None
    return children.add(
        "aws:iam/openIdConnectProvider:OpenIdConnectProvider",
        f"{children.name}-oidcProvider",
        {
            "clientIdLists": ["sts.amazonaws.com"],
            "url": OutputValue(issuer_of(cluster), dependencies=(cluster.urn,)),
            "thumbprintLists": [UNKNOWN],
        },
    )


def issuer_of(cluster: Resource) -> Any:
    """Who issues the tokens of service accounts."""
    identities = cluster.outputs.get("identities")
    if identities is None or is_unknown(identities):
        return UNKNOWN
    return identities[0]["oidcs"][0]["issuer"]


def complete(
    plan: Plan,
    children: Children,
    made: Made,
    roles: list[ResourceRef],
    profile: Resource | None,
) -> None:
    """The security group of nodes, the default node group, and the outputs."""
    args, cluster = children.component.inputs, made.cluster
    text = kubeconfig(plan, cluster, args.get("providerCredentialOpts"), with_profile=False)
    parsed = text if text is UNKNOWN else json.loads(text)
    issuer = issuer_of(cluster)
    made_by_eks = group_of_eks(cluster)
    core: Properties = {
        **made.core,
        "cluster": reference(cluster),
        "endpoint": cluster.outputs.get("endpoint", UNKNOWN),
        "provider": reference(made.provider),
        "kubeconfig": parsed,
        "instanceRoles": roles,
        "nodeGroupOptions": _node_group_options(args, profile),
        "vpcId": unwrap(made.network["vpcId"]),
        "subnetIds": unwrap(made.network["subnetIds"]),
        **{
            key: unwrap(args[key])
            for key in ("publicSubnetIds", "privateSubnetIds", "tags", "nodeSecurityGroupTags")
            if key in args
        },
    }
    if made.role:
        core["clusterIamRole"] = made.role
    outputs: Properties = {
        **made.outputs,
        "eksCluster": reference(cluster),
        "kubeconfig": parsed,
        "kubeconfigJson": text,
        "instanceRoles": roles,
        "clusterSecurityGroupId": made.group.id if made.group else made_by_eks,
        "nodeSecurityGroupId": made_by_eks,
        "clusterIngressRuleId": "",
        "defaultNodeGroupAsgName": "",
        "oidcProviderUrl": issuer,
        "oidcIssuer": UNKNOWN if issuer is UNKNOWN else issuer.removeprefix("https://"),
    }
    if made.group:
        core["clusterSecurityGroup"] = outputs["clusterSecurityGroup"] = made.group
    skipped = is_on(args.get("skipDefaultSecurityGroups"), default=eks_roles.in_auto_mode(args))
    if made.group and not skipped:
        nodes, rule = node_security_group(plan, children, core)
        core["nodeGroupOptions"] |= {
            "nodeSecurityGroup": reference(nodes),
            "clusterIngressRule": reference(rule),
        }
        outputs |= {
            "nodeSecurityGroup": reference(nodes),
            "nodeSecurityGroupId": nodes.id,
            "eksClusterIngressRule": reference(rule),
            "clusterIngressRuleId": rule.outputs.get("securityGroupRuleId", UNKNOWN),
        }
    if not (is_on(args.get("skipDefaultNodeGroup")) or eks_roles.has_no_nodes(args)):
        group = default_node_group(plan, children, core)
        outputs["defaultNodeGroup"] = group
        scaling = plan.resource(group["autoScalingGroup"].urn)
        outputs["defaultNodeGroupAsgName"] = scaling.outputs.get("name", UNKNOWN)
    outputs["core"] = core
    made.outputs = {key: outputs[key] for key in sorted(outputs, key=_place)}


_ORDER = (
    "eksCluster",
    "core",
    "kubeconfig",
    "kubeconfigJson",
    "instanceRoles",
    "clusterSecurityGroupId",
    "nodeSecurityGroupId",
    "clusterIngressRuleId",
    "defaultNodeGroupAsgName",
    "fargateProfileId",
    "fargateProfileStatus",
    "oidcProviderArn",
    "oidcProviderUrl",
    "oidcIssuer",
    "autoModeNodeRoleName",
)


def _place(key: str) -> int:
    return _ORDER.index(key) if key in _ORDER else len(_ORDER)


_NODE_OPTIONS = {
    "nodeSubnetIds": "nodeSubnetIds",
    "nodeAssociatePublicIpAddress": "nodeAssociatePublicIpAddress",
    "instanceType": "instanceType",
    "nodePublicKey": "nodePublicKey",
    "nodeRootVolumeEncrypted": "nodeRootVolumeEncrypted",
    "nodeRootVolumeSize": "nodeRootVolumeSize",
    "nodeUserData": "nodeUserData",
    "minSize": "minSize",
    "maxSize": "maxSize",
    "desiredCapacity": "desiredCapacity",
    "nodeAmiId": "amiId",
    "gpu": "gpu",
    "version": "version",
}
"""Arguments of the cluster to those of its default node group."""


def _node_group_options(args: Properties, profile: Resource | None) -> Properties:
    given = unwrap(args.get("nodeGroupOptions"))
    options = (
        dict(given)
        if isinstance(given, dict)
        else {new: unwrap(args[old]) for old, new in _NODE_OPTIONS.items() if old in args}
    )
    if name := args.get("instanceProfileName"):
        options.setdefault("instanceProfileName", unwrap(name))
    if profile is not None:
        options["instanceProfile"] = reference(profile)
    return options
