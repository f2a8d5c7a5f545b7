"""Fake of ``eks.ManagedNodeGroup``.

What the plugin writes into user data is not stood in for: it stays unknown. Source:
pulumi/pulumi-eks 4.4, ``nodejs/eks/nodes/nodegroup.ts``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.fakes.eks.children import (
    Children,
    is_on,
    known,
    latest_version,
    output,
    reference,
    unwrap,
)
from eks_gpushare.program.fakes.eks.core import cluster_of, core_of, names_cluster, waits_for
from eks_gpushare.program.fakes.eks.images import BOTTLEROCKET, ami_type, image_of, operating_system
from eks_gpushare.program.values import UNKNOWN, OutputValue, Properties, ResourceRef

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.program.fakes.types import Plan
    from eks_gpushare.program.recording import Resource

_SIZES = {"desiredSize": 2, "minSize": 1, "maxSize": 2}
_USER_DATA = (
    "kubeletExtraArgs",
    "bootstrapExtraArgs",
    "bottlerocketSettings",
    "nodeadmExtraOptions",
)
_TEMPLATE = (*_USER_DATA, "enableIMDSv2", "userData", "amiId", "enableEfaSupport")
_OF_THE_COMPONENT_ONLY = (
    "cluster",
    "gpu",
    "operatingSystem",
    "ignoreScalingChanges",
    "nodeRole",
    "placementGroupAvailabilityZone",
    *_TEMPLATE,
)
_IMAGE_IS_IN_TEMPLATE = ("version", "releaseVersion", "amiType")


def managed_node_group(plan: Plan, component: Resource) -> Properties:
    """``eks.ManagedNodeGroup``."""
    args, children = component.inputs, Children(plan, component)
    core = core_of(plan, component)
    name = args.get("clusterName")
    # By hand core data may have anything there, as long as the cluster is named beside it.
    cluster = None if name and not names_cluster(core) else cluster_of(plan, core)
    inputs = {key: value for key, value in args.items() if key not in _OF_THE_COMPONENT_ONLY}
    inputs |= {
        "clusterName": name if name or cluster is None else output(cluster, "name"),
        "nodeRoleArn": _role_arn(plan, component),
        "scalingConfig": {**_SIZES, **(known(args.get("scalingConfig"), {}))},
        "subnetIds": args.get("subnetIds", core.get("subnetIds", UNKNOWN)),
    }
    if cluster is not None and "version" not in args and "launchTemplate" not in args:
        inputs["version"] = output(cluster, "version")
    placement = None
    if is_on(args.get("enableEfaSupport")):
        given = {"strategy": "cluster", "tags": args.get("tags")}
        placement = children.add("aws:ec2/placementGroup:PlacementGroup", children.name, given)
    types = known(args.get("instanceTypes"), [])
    types = (
        [unwrap(instance_type) for instance_type in types] if isinstance(types, list) else [UNKNOWN]
    )
    own_image = any(args.get(key) is not None for key in (*_USER_DATA, "userData", "amiId"))
    if any(args.get(key) is not None for key in _TEMPLATE):
        template = _managed_template(
            plan, children, core, placement, own_image=own_image, types=types
        )
        inputs["launchTemplate"] = {
            "id": output(template, "id"),
            "version": latest_version(template),
        }
        inputs.pop("diskSize", None)
    if own_image:
        inputs = {key: value for key, value in inputs.items() if key not in _IMAGE_IS_IN_TEMPLATE}
    elif "amiType" not in args and "operatingSystem" in args:
        inputs["amiType"] = ami_type(args, types)
    group = children.add(
        "aws:eks/nodeGroup:NodeGroup",
        component.name,
        inputs,
        depends_on=waits_for(core),
        ignore_changes=(
            ["scalingConfig.desiredSize"] if is_on(args.get("ignoreScalingChanges")) else []
        ),
    )
    together = placement.outputs.get("name", UNKNOWN) if placement else ""
    return {"nodeGroup": reference(group), "placementGroupName": together}


def _role_arn(plan: Plan, component: Resource) -> Any:
    args = component.inputs
    role = unwrap(args.get("nodeRole"))
    if isinstance(role, ResourceRef):
        return output(plan.resource(role.urn), "arn")
    if role is None and args.get("nodeRoleArn") is None:
        raise PlanError(
            f"{component.urn}: An IAM role, or role ARN must be provided to create a managed node "
            "group"
        )
    return args.get("nodeRoleArn", UNKNOWN)


def _managed_template(
    plan: Plan,
    children: Children,
    core: Properties,
    placement: Resource | None,
    *,
    own_image: bool,
    types: Sequence[Any],
) -> Resource:
    args, cluster = children.component.inputs, cluster_of(plan, core)
    metadata = None
    if args.get("enableIMDSv2") is not None:
        tokens = "required" if is_on(args["enableIMDSv2"]) else "optional"
        metadata = {
            "httpTokens": tokens,
            "httpPutResponseHopLimit": 2,
            "httpEndpoint": "enabled",
        }
    device = "/dev/xvdb" if operating_system(args) == BOTTLEROCKET else "/dev/xvda"
    disk = args.get("diskSize")
    return children.add(
        "aws:ec2/launchTemplate:LaunchTemplate",
        f"{children.name}-launchTemplate",
        {
            "blockDeviceMappings": (
                [{"deviceName": device, "ebs": {"volumeSize": disk}}] if disk else None
            ),
            "userData": (OutputValue(UNKNOWN, dependencies=(cluster.urn,)) if own_image else None),
            "metadataOptions": metadata,
            "imageId": image_of(plan, children, args, cluster, types, recommended=own_image),
            "placement": {"groupName": output(placement, "name")} if placement else None,
            "networkInterfaces": UNKNOWN if placement else None,
        },
    )
