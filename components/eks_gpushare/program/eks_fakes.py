"""Fakes for the components of ``pulumi_eks``, which a Node.js plugin builds.

They register the children that matter to a plan and to policies, with the names and parents that
the plugin gives them. Every child is marked as assumed. Source: pulumi/pulumi-eks 4.3, in
``nodejs/eks``: ``addons/addon.ts`` and ``nodes/nodegroup.ts``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.program import eks_cluster
from eks_gpushare.program.eks_children import Children, json_text, output, reference, unwrap
from eks_gpushare.program.fake_types import Component
from eks_gpushare.program.values import UNKNOWN, Properties, ResourceRef

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.program.fake_types import Method, Plan
    from eks_gpushare.program.recording import Resource


def _cluster_of(plan: Plan, component: Resource) -> Resource:
    """The aws.eks.Cluster behind the component that the argument ``cluster`` refers to."""
    reference = unwrap(component.inputs.get("cluster"))
    if isinstance(reference, ResourceRef):
        inner = plan.resource(reference.urn).outputs["eksCluster"]
    else:
        inner = unwrap(reference["cluster"])
    return plan.resource(inner.urn)


def _stand_alone_addon(plan: Plan, component: Resource) -> Properties:
    cluster = _cluster_of(plan, component)
    inputs = {key: value for key, value in component.inputs.items() if key != "cluster"}
    inputs["configurationValues"] = json_text(inputs.get("configurationValues"))
    inputs["clusterName"] = output(cluster, "name")
    Children(plan, component).add("aws:eks/addon:Addon", component.name, inputs)
    return {}


def _parent_is_cluster(component: Resource) -> str:
    reference = unwrap(component.inputs.get("cluster"))
    return reference.urn if isinstance(reference, ResourceRef) else component.parent


_OF_THE_COMPONENT_ONLY = ("cluster", "gpu", "operatingSystem", "ignoreScalingChanges", "nodeRole")


def _managed_node_group(plan: Plan, component: Resource) -> Properties:
    args = component.inputs
    cluster = _cluster_of(plan, component)
    role = unwrap(args.get("nodeRole"))
    role_arn = args.get("nodeRoleArn")
    if isinstance(role, ResourceRef):
        role_arn = output(plan.resource(role.urn), "arn")
    inputs = {key: value for key, value in args.items() if key not in _OF_THE_COMPONENT_ONLY}
    inputs |= {
        "clusterName": args.get("clusterName") or output(cluster, "name"),
        "nodeRoleArn": role_arn,
        "scalingConfig": {
            "desiredSize": 2,
            "minSize": 1,
            "maxSize": 2,
            **(unwrap(args.get("scalingConfig")) or {}),
        },
        "subnetIds": args.get("subnetIds", UNKNOWN),
    }
    ignored = ["scalingConfig.desiredSize"] if unwrap(args.get("ignoreScalingChanges")) else []
    group = Children(plan, component).add(
        "aws:eks/nodeGroup:NodeGroup", component.name, inputs, ignore_changes=ignored
    )
    return {"nodeGroup": reference(group), "placementGroupName": ""}


def _get_kubeconfig(plan: Plan, args: Properties) -> Properties:
    component = plan.resource(args["__self__"].urn)
    return {"result": component.outputs["kubeconfigJson"]}


COMPONENTS: Mapping[str, Component] = {
    "eks:index:Addon": Component(_stand_alone_addon, parent=_parent_is_cluster),
    "eks:index:Cluster": Component(eks_cluster.construct),
    "eks:index:ManagedNodeGroup": Component(_managed_node_group),
}
"""Type token to fake."""

METHODS: Mapping[str, Method] = {"eks:index:Cluster/getKubeconfig": _get_kubeconfig}
"""Method token to fake."""
