"""Fake of ``eks.Cluster``.

Source: pulumi/pulumi-eks 4.4, ``nodejs/eks/cluster/cluster.ts``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.fakes.eks import access as eks_access
from eks_gpushare.program.fakes.eks import addons as eks_addons
from eks_gpushare.program.fakes.eks import roles as eks_roles
from eks_gpushare.program.fakes.eks.children import (
    Children,
    default_vpc,
    id_of,
    is_on,
    output,
    reference,
    subnets_of,
    unwrap,
)
from eks_gpushare.program.fakes.eks.cluster_parts import (
    Made,
    complete,
    fargate_profile,
    oidc_provider,
    storage_classes,
)
from eks_gpushare.program.fakes.eks.kubeconfig import kubeconfig
from eks_gpushare.program.fakes.eks.security_groups import to_the_internet
from eks_gpushare.program.values import UNKNOWN, OutputValue, Properties, ResourceRef

if TYPE_CHECKING:
    from eks_gpushare.program.fakes.types import Plan
    from eks_gpushare.program.recording import Resource


def construct(plan: Plan, component: Resource) -> Properties:
    """Register what makes up an EKS cluster and return the outputs of ``eks.Cluster``."""
    args = component.inputs
    _refuse_both(component)
    children = Children(plan, component)
    partition = partition_of(plan.region())
    network = _network(plan, component)
    own_role = "serviceRole" not in args
    auto_mode = eks_roles.in_auto_mode(args)
    role = (
        reference(eks_roles.cluster_role(children, args, partition, auto_mode=auto_mode))
        if own_role
        else _given_reference(args["serviceRole"])
    )
    group = _security_group(children, args, network, auto_mode=auto_mode)
    nodes = None
    if auto_mode and is_on(eks_roles.auto_mode(args).get("createNodeRole"), default=True):
        nodes = eks_roles.auto_mode_role(children, args, partition)
    cluster = _eks_cluster(plan, children, network, role, group, nodes)
    eks_addons.kube_proxy(children, cluster, args)
    text = kubeconfig(plan, cluster, args.get("providerCredentialOpts"))
    provider = children.add(
        "pulumi:providers:kubernetes",
        f"{children.name}-eks-k8s",
        {
            "kubeconfig": OutputValue(text, dependencies=(cluster.urn,)),
            "enableConfigMapMutable": args.get("enableConfigMapMutable"),
        },
    )
    made = Made(network, cluster, provider, role, group)
    made.outputs["autoModeNodeRoleName"] = nodes.outputs.get("name", UNKNOWN) if nodes else ""
    roles, node_role, profile = eks_roles.instance_roles(plan, children, args, partition)
    _access(plan, children, made, roles, node_role)
    complete(plan, children, made, roles, profile)
    return made.outputs


def _refuse_both(component: Resource) -> None:
    """What the component refuses at once, in its words."""
    args = component.inputs
    if "instanceRole" in args and "instanceRoles" in args:
        msg = "instanceRole and instanceRoles are mutually exclusive, and cannot both be set."
        raise PlanError(f"{component.urn}: {msg}")
    if "subnetIds" in args and ("publicSubnetIds" in args or "privateSubnetIds" in args):
        msg = (
            "subnetIds, and the use of publicSubnetIds and/or privateSubnetIds are mutually "
            "exclusive. Choose a single approach."
        )
        raise PlanError(f"{component.urn}: {msg}")
    if args.get("accessEntries") and not eks_access.uses_access_entries(args):
        mode = unwrap(args.get("authenticationMode"))
        if mode is not UNKNOWN:
            said = f"set to '{mode}'" if mode else "not set"
            msg = (
                "The 'accessEntries' property is not supported when 'authenticationMode' is "
                f"{said}."
            )
            raise PlanError(f"{component.urn}: {msg}")


def _given_reference(value: Any) -> ResourceRef | None:
    found = unwrap(value)
    return found if isinstance(found, ResourceRef) else None


def _network(plan: Plan, component: Resource) -> Properties:
    args, provider = component.inputs, component.providers.get("aws", "")
    if "vpcId" in args:
        return {"vpcId": args["vpcId"], "subnetIds": _subnets(args)}
    vpc = default_vpc(plan, provider)
    found = _subnets(args)
    if found == []:
        found = subnets_of(plan, vpc, provider)
    return {"vpcId": vpc, "subnetIds": found}


def _subnets(args: Properties) -> Any:
    if "subnetIds" in args:
        return args["subnetIds"]
    groups = [args[key] for key in ("publicSubnetIds", "privateSubnetIds") if key in args]
    urns = tuple(u for g in groups if isinstance(g, OutputValue) for u in g.dependencies)
    lists = [unwrap(group) for group in groups]
    if any(subnets is UNKNOWN for subnets in lists):
        joined: Any = UNKNOWN
    else:
        joined = [subnet for group in lists for subnet in group]
    return OutputValue(joined, dependencies=urns) if urns else joined


def _security_group(
    children: Children, args: Properties, network: Properties, *, auto_mode: bool
) -> ResourceRef | None:
    if "clusterSecurityGroup" in args:
        return _given_reference(args["clusterSecurityGroup"])
    if is_on(args.get("skipDefaultSecurityGroups"), default=auto_mode):
        return None
    name = f"{children.name}-eksClusterSecurityGroup"
    tags = {
        "Name": name,
        **(unwrap(args.get("clusterSecurityGroupTags")) or {}),
        **(unwrap(args.get("tags")) or {}),
    }
    group = children.add(
        "aws:ec2/securityGroup:SecurityGroup",
        name,
        {
            "description": "Managed by Pulumi",
            "vpcId": network["vpcId"],
            "revokeRulesOnDelete": True,
            "tags": tags,
        },
    )
    to_the_internet(children, "eksClusterInternetEgressRule", group)
    return reference(group)


def _eks_cluster(
    plan: Plan,
    children: Children,
    network: Properties,
    role: ResourceRef | None,
    group: ResourceRef | None,
    nodes: Resource | None,
) -> Resource:
    args, name = children.component.inputs, children.name
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
        "subnetIds": network["subnetIds"],
        "securityGroupIds": [id_of(group)] if group else None,
        "endpointPrivateAccess": args.get("endpointPrivateAccess"),
        "endpointPublicAccess": args.get("endpointPublicAccess"),
        "publicAccessCidrs": args.get("publicAccessCidrs"),
    }
    auto_mode = _auto_mode(args, nodes)
    bootstrap = False if auto_mode else args.get("bootstrapSelfManagedAddons", True)
    return children.add(
        "aws:eks/cluster:Cluster",
        f"{name}-eksCluster",
        {
            "name": args.get("name"),
            "roleArn": output(plan.resource(role.urn), "arn") if role else UNKNOWN,
            "bootstrapSelfManagedAddons": bootstrap,
            "vpcConfig": {key: value for key, value in vpc_config.items() if value is not None},
            "version": args.get("version"),
            "enabledClusterLogTypes": args.get("enabledClusterLogTypes"),
            "tags": tags,
            "encryptionConfig": encryption,
            "accessConfig": access if mode else None,
            "upgradePolicy": args.get("upgradePolicy"),
            "deletionProtection": args.get("deletionProtection"),
            "kubernetesNetworkConfig": _network_config(args, auto_mode=bool(auto_mode)),
            **auto_mode,
        },
        ignore_changes=[
            "accessConfig.bootstrapClusterCreatorAdminPermissions",
            "bootstrapSelfManagedAddons",
        ],
    )


def _network_config(args: Properties, *, auto_mode: bool) -> Properties | None:
    services, family = args.get("kubernetesServiceIpAddressRange"), args.get("ipFamily")
    if services is None and family is None and not auto_mode:
        return None
    config: Properties = {"ipFamily": family or "ipv4"}
    if services is not None and unwrap(family) in (None, "ipv4"):
        config["serviceIpv4Cidr"] = services
    return {**config, **({"elasticLoadBalancing": {"enabled": True}} if auto_mode else {})}


def _auto_mode(args: Properties, nodes: Resource | None) -> Properties:
    if not eks_roles.in_auto_mode(args):
        return {}
    options = eks_roles.auto_mode(args)
    compute = {"enabled": True, "nodePools": ["general-purpose", "system"]}
    if nodes is not None:
        compute["nodeRoleArn"] = output(nodes, "arn")
    return {
        "computeConfig": {**compute, **(unwrap(options.get("computeConfig")) or {})},
        "storageConfig": {"blockStorage": {"enabled": True}},
    }


def _access(
    plan: Plan,
    children: Children,
    made: Made,
    roles: list[ResourceRef],
    node_role: OutputValue | None,
) -> None:
    """Who may join and enter the cluster, and what waits until that is settled."""
    args = children.component.inputs
    arns = [output(plan.resource(role.urn), "arn") for role in roles]
    config_map = eks_access.aws_auth(children, args, arns, made.provider)
    entries = eks_access.access_entries(children, made.cluster, args, node_role)
    settled = [resource.urn for resource in (*entries, *filter(None, [config_map]))]
    made.core["storageClasses"] = storage_classes(children, made, settled)
    cni = eks_addons.vpc_cni(children, made.cluster, args, settled)
    fargate = fargate_profile(children, made, [config_map.urn] if config_map else [])
    profiles = [fargate.urn] if fargate else []
    eks_addons.coredns(children, made.cluster, args, profiles)
    made.outputs["fargateProfileId"] = fargate.id if fargate else ""
    made.outputs["fargateProfileStatus"] = fargate.outputs.get("status", UNKNOWN) if fargate else ""
    if config_map is not None:
        made.core["eksNodeAccess"] = reference(config_map)
    if cni is not None:
        made.core["vpcCni"] = ResourceRef(cni.component.urn)
    if fargate is not None:
        made.core["fargateProfile"] = reference(fargate)
    oidc = oidc_provider(children, made.cluster, args)
    if oidc is not None:
        made.core["oidcProvider"] = reference(oidc)
    made.outputs["oidcProviderArn"] = oidc.outputs["arn"] if oidc else ""
