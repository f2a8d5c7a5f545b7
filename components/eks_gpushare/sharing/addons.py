"""Which EKS add-ons a cluster has, in which version and with which configuration values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import addon_versions
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.sharing.node_monitoring import AGENT as MONITORING
from eks_gpushare.sharing.node_monitoring import node_monitoring_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.config.cluster import Addons, PodIdentity
    from eks_gpushare.config.taints import Taint

VPC_CNI = "vpc-cni"
KUBE_PROXY = "kube-proxy"
EBS_CSI = "aws-ebs-csi-driver"
EBS_ACCOUNT = "ebs-csi-controller-sa"
"""Service account of the EBS CSI driver, which may make volumes."""
EBS_POLICY = "service-role/AmazonEBSCSIDriverPolicy"

IN_CONTROL_PLANE = (VPC_CNI, KUBE_PROXY)
"""Add-ons that `eks.Cluster` of pulumi-eks makes, which knows nothing of Pod Identity."""
_ROLES = {
    "coredns": "coredns",
    "eks-pod-identity-agent": "pod-identity-agent",
    MONITORING: "node-monitoring-agent",
}
OWN_ADDONS = (*_ROLES, EBS_CSI, *IN_CONTROL_PLANE)
"""Add-ons that the stack makes by itself, by the names that EKS has for them."""

PREFIX_ENVIRONMENT = {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}
"""How vpc-cni is told to give nodes prefixes, and to keep one at hand; the warm target is required
with prefixes: https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/prefix-and-ip-target.md."""


@dataclass(frozen=True, slots=True)
class AddonPlan:
    """An add-on as it is to be registered."""

    role: str
    """Last part of its logical name."""
    name: str
    """What EKS calls it."""
    version: str | None
    """Its version; None leaves it to EKS."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Its configuration values."""
    pod_identity: Mapping[str, PodIdentity] = field(default_factory=dict)
    """What its service accounts may do, by account; roles that the stack makes for its own
    add-ons are not here."""


def plan_addons(
    addons: Addons,
    version: str,
    gpu_taints: Sequence[Taint],
    startup_taints: Sequence[Taint] = (),
    *,
    network_policies: bool = False,
) -> dict[str, AddonPlan]:
    """The add-ons of a cluster by the name EKS has for them, those of `eks.Cluster` too.

    Args:
        addons: What the stack says of them.
        version: Kubernetes version of the cluster.
        gpu_taints: Taints that GPU nodes keep, which the node monitoring agent has to tolerate.
        startup_taints: Taints that they lose once their GPUs are ready, which it must not.
        network_policies: Whether vpc-cni enforces NetworkPolicies, which else do nothing
            (https://docs.aws.amazon.com/eks/latest/userguide/cni-network-policy-configure.html).
    """
    roles = dict(_ROLES)
    if addons.ebs_csi:
        roles[EBS_CSI] = "ebs-csi"
    roles |= {name: name for name in IN_CONTROL_PLANE}
    roles |= {name: f"addon-{name}" for name in addons.by_name if name not in roles}
    pinned = {name: addon.version for name, addon in addon_versions(version).items()}
    own_values = {MONITORING: node_monitoring_values(gpu_taints, startup_taints)}
    if addons.prefix_delegation:
        own_values[VPC_CNI] = {"env": dict(PREFIX_ENVIRONMENT)}
    if network_policies:
        own_values[VPC_CNI] = {**own_values.get(VPC_CNI, {}), "enableNetworkPolicy": "true"}
    plans = {}
    for name, role in roles.items():
        said = addons.by_name.get(name)
        own = own_values.get(name, {})
        plans[name] = AddonPlan(
            role=role,
            name=name,
            version=(said and said.version) or addons.versions.get(name) or pinned.get(name),
            values=merge_values(own, said.values) if said else own,
            pod_identity=said.pod_identity if said else {},
        )
    return plans
