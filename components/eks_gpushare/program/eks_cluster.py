"""Fake of ``eks.Cluster``.

A default node group, Fargate profiles, storage classes, instance roles and the default VPC are not
stood in for: asking for one fails. Source: pulumi/pulumi-eks 4.3, in ``nodejs/eks``:
``cluster/cluster.ts``, ``cluster/authenticationMode.ts``, ``servicerole.ts`` and
``addons/cni-addon.ts``.
"""

from __future__ import annotations

import json
from hashlib import sha1
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.partitions import COMMERCIAL, Partition, partition_of
from eks_gpushare.program.eks_children import Children, json_text, output, reference, unwrap
from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.values import UNKNOWN, OutputValue, Properties, is_unknown

if TYPE_CHECKING:
    from eks_gpushare.program.fake_types import Plan
    from eks_gpushare.program.recording import Resource

_CLUSTER_POLICY = "AmazonEKSClusterPolicy"
_UNSUPPORTED = ("fargate", "storageClasses", "nodeGroupOptions", "instanceRole", "instanceRoles")


def construct(plan: Plan, component: Resource) -> Properties:
    """Register what makes up an EKS cluster and return the outputs of ``eks.Cluster``."""
    args, name = component.inputs, component.name
    _refuse_unsupported(component)
    children = Children(plan, component)
    partition = partition_of(plan.region())
    role = None if "serviceRole" in args else _service_role(children, name, args, partition)
    security_group = (
        None if unwrap(args.get("skipDefaultSecurityGroups")) else _group(children, args)
    )
    cluster = _eks_cluster(children, args, role, security_group)
    if _enabled(args, "kubeProxyAddonOptions", default=True):
        _addon(children, f"{name}-kube-proxy", cluster, args, "kubeProxyAddonOptions")
    provider = children.add(
        "pulumi:providers:kubernetes",
        f"{name}-eks-k8s",
        {"kubeconfig": OutputValue(_kubeconfig(plan, cluster), dependencies=(cluster.urn,))},
    )
    _access_entries(children, cluster, args)
    if not unwrap(args.get("useDefaultVpcCni")):
        _vpc_cni(children, cluster, args)
    if _enabled(args, "corednsAddonOptions", default=False):
        _addon(children, f"{name}-coredns", cluster, args, "corednsAddonOptions")
    oidc = _oidc_provider(children, cluster, args)
    return _cluster_outputs(plan, component, cluster, provider, role, security_group, oidc)


def _refuse_unsupported(component: Resource) -> None:
    asked = [key for key in _UNSUPPORTED if unwrap(component.inputs.get(key))]
    if not unwrap(component.inputs.get("skipDefaultNodeGroup")):
        asked.append("a default node group (set skipDefaultNodeGroup)")
    if "vpcId" not in component.inputs:
        asked.append("the account's default VPC (set vpcId)")
    if asked:
        missing = ", ".join(asked)
        msg = f"{component.urn}: the fake for {component.type} does not know {missing}"
        raise PlanError(msg)


def _service_role(
    children: Children, name: str, args: Properties, partition: Partition
) -> Resource:
    service = "eks.amazonaws.com"
    actions = ["sts:AssumeRole", "sts:TagSession"]
    role = children.add_component("eks:index:ServiceRole", f"{name}-eksRole", {})
    statement = {"Action": actions, "Effect": "Allow", "Principal": {"Service": [service]}}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]}, separators=(",", ":"))
    iam_role = role.add(
        "aws:iam/role:Role",
        f"{name}-eksRole-role",
        {
            "description": "Allows EKS to manage clusters on your behalf.",
            "assumeRolePolicy": policy,
            "tags": args.get("tags"),
        },
    )
    # The name comes from the ARN in the public partition, wherever the policy is.
    known = COMMERCIAL.policy(_CLUSTER_POLICY)
    key = sha1(known.encode(), usedforsecurity=False).hexdigest()[:8]
    role.add(
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        f"{name}-eksRole-{key}",
        {"policyArn": partition.policy(_CLUSTER_POLICY), "role": output(iam_role, "id")},
    )
    return iam_role


def _group(children: Children, args: Properties) -> Resource:
    name = children.name
    tags = {"Name": f"{name}-eksClusterSecurityGroup", **(unwrap(args.get("tags")) or {})}
    group = children.add(
        "aws:ec2/securityGroup:SecurityGroup",
        f"{name}-eksClusterSecurityGroup",
        {"vpcId": args["vpcId"], "revokeRulesOnDelete": True, "tags": tags},
    )
    children.add(
        "aws:ec2/securityGroupRule:SecurityGroupRule",
        f"{name}-eksClusterInternetEgressRule",
        {
            "description": "Allow internet access.",
            "type": "egress",
            "fromPort": 0,
            "toPort": 0,
            "protocol": "-1",
            "cidrBlocks": ["0.0.0.0/0"],
            "securityGroupId": output(group, "id"),
        },
    )
    return group


def _eks_cluster(
    children: Children, args: Properties, role: Resource | None, group: Resource | None
) -> Resource:
    name = children.name
    tags = {
        "Name": f"{name}-eksCluster",
        **(unwrap(args.get("clusterTags")) or {}),
        **(unwrap(args.get("tags")) or {}),
    }
    key_arn = args.get("encryptionConfigKeyArn")
    encryption = {"provider": {"keyArn": key_arn}, "resources": ["secrets"]} if key_arn else None
    mode = args.get("authenticationMode")
    access = {"authenticationMode": mode, "bootstrapClusterCreatorAdminPermissions": True}
    vpc_config = {
        "subnetIds": _subnets(args),
        "securityGroupIds": [output(group, "id")] if group else None,
        "endpointPrivateAccess": args.get("endpointPrivateAccess"),
        "endpointPublicAccess": args.get("endpointPublicAccess"),
        "publicAccessCidrs": args.get("publicAccessCidrs"),
    }
    return children.add(
        "aws:eks/cluster:Cluster",
        f"{name}-eksCluster",
        {
            "name": args.get("name"),
            "roleArn": output(role, "arn") if role else UNKNOWN,
            "bootstrapSelfManagedAddons": args.get("bootstrapSelfManagedAddons", True),
            "vpcConfig": {key: value for key, value in vpc_config.items() if value is not None},
            "version": args.get("version"),
            "enabledClusterLogTypes": args.get("enabledClusterLogTypes"),
            "tags": tags,
            "encryptionConfig": encryption,
            "accessConfig": access if mode else None,
            "upgradePolicy": args.get("upgradePolicy"),
            "deletionProtection": args.get("deletionProtection"),
        },
        ignore_changes=[
            "accessConfig.bootstrapClusterCreatorAdminPermissions",
            "bootstrapSelfManagedAddons",
        ],
    )


def _subnets(args: Properties) -> Any:
    if "subnetIds" in args:
        return args["subnetIds"]
    groups = [args[key] for key in ("publicSubnetIds", "privateSubnetIds") if key in args]
    urns = tuple(u for g in groups if isinstance(g, OutputValue) for u in g.dependencies)
    lists = [unwrap(group) for group in groups]
    joined = UNKNOWN if UNKNOWN in lists else [subnet for group in lists for subnet in group]
    return OutputValue(joined, dependencies=urns) if urns else joined


def _enabled(args: Properties, key: str, *, default: bool) -> bool:
    options = unwrap(args.get(key)) or {}
    return bool(unwrap(options.get("enabled", default)))


def _addon(
    children: Children, name: str, cluster: Resource, args: Properties, key: str
) -> Resource:
    options = unwrap(args.get(key)) or {}
    return children.add(
        "aws:eks/addon:Addon",
        name,
        {
            "clusterName": output(cluster, "name"),
            "addonName": name.removeprefix(f"{children.name}-"),
            "addonVersion": options.get("addonVersion") or options.get("version") or UNKNOWN,
            "preserve": True,
            "resolveConflictsOnCreate": options.get("resolveConflictsOnCreate", "OVERWRITE"),
            "resolveConflictsOnUpdate": options.get("resolveConflictsOnUpdate", "OVERWRITE"),
            "configurationValues": json_text(options.get("configurationValues")),
            "tags": args.get("tags"),
        },
    )


def _vpc_cni(children: Children, cluster: Resource, args: Properties) -> None:
    name = f"{children.name}-vpc-cni"
    options = unwrap(args.get("vpcCniOptions")) or {}
    addon = children.add_component("eks:index:VpcCniAddon", name, {})
    addon.add(
        "aws:eks/addon:Addon",
        name,
        {
            "clusterName": output(cluster, "name"),
            "addonName": "vpc-cni",
            "addonVersion": options.get("addonVersion", UNKNOWN),
            "preserve": True,
            "resolveConflictsOnCreate": options.get("resolveConflictsOnCreate", "OVERWRITE"),
            "resolveConflictsOnUpdate": options.get("resolveConflictsOnUpdate", "OVERWRITE"),
            "configurationValues": json_text(_cni_values(options)),
            "serviceAccountRoleArn": options.get("serviceAccountRoleArn"),
            "tags": args.get("tags"),
        },
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


def _access_entries(children: Children, cluster: Resource, args: Properties) -> None:
    for key, wrapped in (unwrap(args.get("accessEntries")) or {}).items():
        entry = unwrap(wrapped)
        resource = children.add(
            "aws:eks/accessEntry:AccessEntry",
            f"{children.name}-{key}",
            {
                "clusterName": output(cluster, "name"),
                "principalArn": entry.get("principalArn"),
                "type": entry.get("type"),
                "kubernetesGroups": entry.get("kubernetesGroups"),
                "userName": entry.get("username"),
                "tags": entry.get("tags"),
            },
            depends_on=[cluster.urn],
        )
        for policy_key, policy in (unwrap(entry.get("accessPolicies")) or {}).items():
            children.add(
                "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
                f"{children.name}-{key}-{policy_key}",
                {
                    "clusterName": output(cluster, "name"),
                    "principalArn": entry.get("principalArn"),
                    "policyArn": unwrap(policy).get("policyArn"),
                    "accessScope": unwrap(policy).get("accessScope"),
                },
                depends_on=[resource.urn],
                parent=resource.urn,
            )


def _oidc_provider(children: Children, cluster: Resource, args: Properties) -> Resource | None:
    if not unwrap(args.get("createOidcProvider")):
        return None
    return children.add(
        "aws:iam/openIdConnectProvider:OpenIdConnectProvider",
        f"{children.name}-oidcProvider",
        {
            "clientIdLists": ["sts.amazonaws.com"],
            "url": OutputValue(_issuer(cluster), dependencies=(cluster.urn,)),
            "thumbprintLists": [UNKNOWN],
        },
    )


def _issuer(cluster: Resource) -> Any:
    identities = cluster.outputs.get("identities")
    return UNKNOWN if identities is None else identities[0]["oidcs"][0]["issuer"]


def _kubeconfig(plan: Plan, cluster: Resource) -> Any:
    """The JSON text of the kubeconfig that the plugin writes, unknown in a preview."""
    if plan.preview:
        return UNKNOWN
    outputs = cluster.outputs
    region, name = outputs.get("region", ""), outputs["name"]
    token = ["--region", region, "eks", "get-token", "--cluster-name", name, "--output", "json"]
    client = "client.authentication.k8s.io/v1beta1"
    info = {"name": "KUBERNETES_EXEC_INFO", "value": json.dumps({"apiVersion": client})}
    login = {"apiVersion": client, "command": "aws", "args": token, "env": [info]}
    server = {
        "server": outputs["endpoint"],
        "certificate-authority-data": outputs["certificateAuthority"]["data"],
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "aws",
        "clusters": [{"name": "kubernetes", "cluster": server}],
        "contexts": [{"name": "aws", "context": {"cluster": "kubernetes", "user": "aws"}}],
        "users": [{"name": "aws", "user": {"exec": login}}],
    }
    return json.dumps(config, separators=(",", ":"))


def _cluster_outputs(
    plan: Plan,
    component: Resource,
    cluster: Resource,
    provider: Resource,
    role: Resource | None,
    group: Resource | None,
    oidc: Resource | None,
) -> Properties:
    args = component.inputs
    kubeconfig = _kubeconfig(plan, cluster)
    parsed = kubeconfig if kubeconfig is UNKNOWN else json.loads(kubeconfig)
    issuer = _issuer(cluster)
    vpc_config = cluster.outputs.get("vpcConfig") or {}
    own_group = group.id if group else vpc_config.get("clusterSecurityGroupId", UNKNOWN)
    core: Properties = {
        "cluster": reference(cluster),
        "endpoint": cluster.outputs.get("endpoint", UNKNOWN),
        "provider": reference(provider),
        "kubeconfig": parsed,
        "instanceRoles": [],
        "nodeGroupOptions": {},
        "vpcId": unwrap(args["vpcId"]),
        "subnetIds": unwrap(_subnets(args)),
    }
    if role:
        core["clusterIamRole"] = reference(role)
    if group:
        core["clusterSecurityGroup"] = reference(group)
    outputs: Properties = {
        "eksCluster": reference(cluster),
        "core": core,
        "kubeconfig": parsed,
        "kubeconfigJson": kubeconfig,
        "instanceRoles": [],
        "clusterSecurityGroupId": own_group,
        "nodeSecurityGroupId": own_group,
        "clusterIngressRuleId": "",
        "defaultNodeGroupAsgName": "",
        "fargateProfileId": "",
        "fargateProfileStatus": "",
        "oidcProviderArn": oidc.outputs["arn"] if oidc else "",
        "oidcProviderUrl": issuer,
        "oidcIssuer": UNKNOWN if issuer is UNKNOWN else issuer.removeprefix("https://"),
        "autoModeNodeRoleName": "",
    }
    if group:
        outputs["clusterSecurityGroup"] = reference(group)
    return outputs
