"""Fakes for the node groups of ``pulumi_eks`` that Auto Scaling runs.

What the plugin writes into user data is not stood in for: it stays unknown. Source:
pulumi/pulumi-eks 4.4, ``nodejs/eks/nodes/nodegroup.ts``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.fakes.eks.children import (
    Children,
    id_of,
    is_on,
    known,
    latest_version,
    output,
    reference,
    unwrap,
)
from eks_gpushare.program.fakes.eks.core import cluster_of, core_of, waits_for
from eks_gpushare.program.fakes.eks.images import AL2, BOTTLEROCKET, image_of, operating_system
from eks_gpushare.program.fakes.eks.security_groups import node_security_group
from eks_gpushare.program.values import UNKNOWN, OutputValue, Properties, ResourceRef, is_unknown

if TYPE_CHECKING:
    from eks_gpushare.program.fakes.types import Plan
    from eks_gpushare.program.recording import Resource

_INSTANCE_TYPE = "t3.medium"


def _instance_profile(plan: Plan, args: Properties, core: Properties) -> Any:
    options = core.get("nodeGroupOptions") or {}
    for given in (args, options):
        profile, name = unwrap(given.get("instanceProfile")), given.get("instanceProfileName")
        if isinstance(profile, ResourceRef):
            return output(plan.resource(profile.urn), "name")
        if name is not None:
            return name
    raise PlanError("an instanceProfile or instanceProfileName is required")


def _groups(plan: Plan, children: Children, args: Properties, core: Properties) -> tuple[Any, Any]:
    """The nodes' security group, as a reference or None, and its ID."""
    group = unwrap(args.get("nodeSecurityGroup"))
    if isinstance(group, ResourceRef):
        return group, id_of(group)
    if args.get("nodeSecurityGroupId") is not None:
        return None, args["nodeSecurityGroupId"]
    made, _ = node_security_group(plan, children, core)
    return reference(made), output(made, "id")


def _extra_groups(args: Properties) -> tuple[list[ResourceRef], list[Any]]:
    given = unwrap(args.get("extraNodeSecurityGroups")) or []
    found = [reference for reference in map(unwrap, given) if isinstance(reference, ResourceRef)]
    return found, [id_of(reference) for reference in found]


def _subnets(plan: Plan, args: Properties, core: Properties) -> Any:
    if args.get("nodeSubnetIds") is not None:
        return args["nodeSubnetIds"]
    if "privateSubnetIds" in core or "publicSubnetIds" in core:
        return core.get("privateSubnetIds", core.get("publicSubnetIds"))
    return _private_of(plan, core.get("subnetIds", UNKNOWN))


def _private_of(plan: Plan, given: Any) -> Any:
    """Of a cluster's subnets those that nodes go to: the private ones, if there are any.

    The plugin asks each subnet's route table (`computeWorkerSubnets` in its `nodegroup.ts`). Here
    subnets of the program that give public addresses are taken for the public ones.
    """
    subnets = unwrap(given)
    if not isinstance(subnets, list):
        return given
    private = [subnet for subnet in subnets if not _is_public(plan, subnet)]
    return private if private and len(private) < len(subnets) else given


def _is_public(plan: Plan, subnet: Any) -> bool:
    urns = subnet.dependencies if isinstance(subnet, OutputValue) else ()
    made = [plan.resource(urn) for urn in urns]
    return any(
        each.type == "aws:ec2/subnet:Subnet" and is_on(each.inputs.get("mapPublicIpOnLaunch"))
        for each in made
    )


def _key(children: Children, args: Properties) -> Any:
    if args.get("nodePublicKey") is None:
        return args.get("keyName")
    given = {"publicKey": args["nodePublicKey"]}
    key = children.add("aws:ec2/keyPair:KeyPair", f"{children.name}-keyPair", given)
    return output(key, "keyName")


_VOLUME = {
    "nodeRootVolumeEncrypted": "encrypted",
    "nodeRootVolumeSize": "volumeSize",
    "nodeRootVolumeType": "volumeType",
    "nodeRootVolumeIops": "iops",
    "nodeRootVolumeThroughput": "throughput",
    "nodeRootVolumeDeleteOnTermination": "deleteOnTermination",
}
_SWITCHES = ("encrypted", "deleteOnTermination")


def _volume(args: Properties, *, as_text: bool) -> Properties:
    """The root volume: what is given, and on Amazon Linux 2 what the plugin adds to it."""
    given = {new: args[old] for old, new in _VOLUME.items() if args.get(old) is not None}
    if operating_system(args) == AL2:
        defaults = {
            "encrypted": False,
            "volumeSize": 20,
            "volumeType": "gp2",
            "deleteOnTermination": True,
        }
        given = {**defaults, **given}
    if as_text:
        for key in _SWITCHES:
            if isinstance(unwrap(given.get(key)), bool):
                given[key] = str(unwrap(given[key])).lower()
    return given


def _v2(
    plan: Plan, children: Children, args: Properties, core: Properties
) -> tuple[Properties, Any]:
    profile = _instance_profile(plan, args, core)
    cluster = cluster_of(plan, core)
    group, group_id = _groups(plan, children, args, core)
    extra, extra_ids = _extra_groups(args)
    key = _key(children, args)
    types = [known(args.get("instanceType"), _INSTANCE_TYPE)]
    volume = _volume(args, as_text=True)
    bottlerocket = operating_system(args) == BOTTLEROCKET
    device = "/dev/xvdb" if bottlerocket else "/dev/xvda"
    spot, monitoring = args.get("spotPrice"), args.get("enableDetailedMonitoring")
    public = known(args.get("nodeAssociatePublicIpAddress"), default=True)
    template = children.add(
        "aws:ec2/launchTemplate:LaunchTemplate",
        f"{children.name}-launchTemplate",
        {
            "imageId": image_of(plan, children, args, cluster, types),
            "instanceType": args.get("instanceType", _INSTANCE_TYPE),
            "iamInstanceProfile": {"name": profile},
            "keyName": key,
            "instanceMarketOptions": (
                {"marketType": "spot", "spotOptions": {"maxPrice": spot}} if spot else None
            ),
            "blockDeviceMappings": [{"deviceName": device, "ebs": volume}] if volume else [],
            "networkInterfaces": [
                {
                    "associatePublicIpAddress": (
                        str(public).lower() if isinstance(public, bool) else UNKNOWN
                    ),
                    "securityGroups": [group_id, *extra_ids],
                }
            ],
            "metadataOptions": args.get("metadataOptions"),
            "userData": OutputValue(UNKNOWN, dependencies=(cluster.urn,)),
            "tagSpecifications": args.get("launchTemplateTagSpecifications"),
            "monitoring": None if monitoring is None else {"enabled": monitoring},
        },
    )
    scaling = children.add(
        "aws:autoscaling/group:Group",
        children.name,
        {
            "minSize": args.get("minSize", 1),
            "maxSize": args.get("maxSize", 2),
            "desiredCapacity": args.get("desiredCapacity", 2),
            "launchTemplate": {
                "name": output(template, "name"),
                "version": latest_version(template),
            },
            "vpcZoneIdentifiers": _subnets(plan, args, core),
            "instanceRefresh": {
                "strategy": "Rolling",
                "preferences": {"minHealthyPercentage": args.get("minRefreshPercentage", 50)},
            },
            "tags": _scaling_tags(cluster, args),
            "defaultInstanceWarmup": args.get("defaultInstanceWarmup"),
        },
        depends_on=waits_for(core),
        ignore_changes=["desiredCapacity"] if is_on(args.get("ignoreScalingChanges")) else [],
    )
    made = {"autoScalingGroup": reference(scaling), "extraNodeSecurityGroups": extra}
    return {**made, **({"nodeSecurityGroup": group} if group else {})}, group_id


def _scaling_tags(cluster: Resource, args: Properties) -> Any:
    name = cluster.outputs.get("name", UNKNOWN)
    given = known(args.get("autoScalingGroupTags"), {})
    if not isinstance(name, str) or not isinstance(given, dict):
        return OutputValue(UNKNOWN, dependencies=(cluster.urn,))
    tags = {**given, f"kubernetes.io/cluster/{name}": "owned", "Name": f"{name}-worker"}
    return OutputValue(
        [{"key": key, "value": value, "propagateAtLaunch": True} for key, value in tags.items()],
        dependencies=(cluster.urn,),
    )


def default_node_group(plan: Plan, children: Children, core: Properties) -> Properties:
    """What ``eks.Cluster`` makes where it is not told to leave it."""
    made, _ = _v2(plan, children, core["nodeGroupOptions"], core)
    return made


def node_group_v2(plan: Plan, component: Resource) -> Properties:
    """``eks.NodeGroupV2``: a launch template and an Auto Scaling group."""
    core = core_of(plan, component)
    made, group_id = _v2(plan, Children(plan, component), component.inputs, core)
    return {**made, "nodeSecurityGroupId": unwrap(group_id)}


def node_group(plan: Plan, component: Resource) -> Properties:
    """``eks.NodeGroup``: a launch configuration, and a CloudFormation stack that scales it."""
    core, args, children = core_of(plan, component), component.inputs, Children(plan, component)
    profile = _instance_profile(plan, args, core)
    cluster = cluster_of(plan, core)
    group, group_id = _groups(plan, children, args, core)
    extra, extra_ids = _extra_groups(args)
    key = _key(children, args)
    types = [known(args.get("instanceType"), _INSTANCE_TYPE)]
    suffix = children.add(
        "eks:index:RandomSuffix", f"{children.name}-cfnStackName", {"input": children.name}
    )
    volume = _volume(args, as_text=False)
    bottlerocket = operating_system(args) == BOTTLEROCKET
    configuration = children.add(
        "aws:ec2/launchConfiguration:LaunchConfiguration",
        f"{children.name}-nodeLaunchConfiguration",
        {
            "associatePublicIpAddress": args.get("nodeAssociatePublicIpAddress", True),
            "imageId": image_of(plan, children, args, cluster, types),
            "instanceType": args.get("instanceType", _INSTANCE_TYPE),
            "iamInstanceProfile": profile,
            "keyName": key,
            "securityGroups": [group_id, *extra_ids],
            "spotPrice": args.get("spotPrice"),
            "rootBlockDevice": {} if bottlerocket else volume,
            "ebsBlockDevices": (
                [{"deviceName": "/dev/xvdb", **volume}] if bottlerocket and volume else []
            ),
            "userData": args.get(
                "nodeUserDataOverride", OutputValue(UNKNOWN, dependencies=(cluster.urn,))
            ),
            "enableMonitoring": args.get("enableDetailedMonitoring"),
        },
    )
    tags = {
        "Name": f"{children.name}-nodes",
        **(known(args.get("cloudFormationTags"), {})),
        **(core.get("tags") or {}),
    }
    stack = children.add(
        "aws:cloudformation/stack:Stack",
        f"{children.name}-nodes",
        {
            "name": output(suffix, "output"),
            "templateBody": OutputValue(UNKNOWN, dependencies=(cluster.urn, configuration.urn)),
            "tags": tags,
        },
        depends_on=waits_for(core),
    )
    outputs = stack.outputs.get("outputs", UNKNOWN)
    return {
        "cfnStack": reference(stack),
        "autoScalingGroupName": UNKNOWN if is_unknown(outputs) else outputs["NodeGroup"],
        "extraNodeSecurityGroups": extra,
        "nodeSecurityGroupId": unwrap(group_id),
        **({"nodeSecurityGroup": group} if group else {}),
    }
