"""Why nothing catches some mutants, in classes; what has no reason here is a defect."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

IN_LAB = "runs in the lab"
"""Class of those that the lab has tried."""
REASONS: Mapping[str, str] = {
    "wish": "It is the only place that says so: another value is another wish.",
    "default": "What is dropped is what its reader goes by without it.",
    "made up for": "EKS or Kubernetes makes up for it: pods that ask for `nvidia.com/gpu` tolerate "
    "taints of that key by themselves.",
    "refused": "AWS or Kubernetes refuses it at once, before there is anything to pay for.",
    "fails the update": "The update fails by it and says so: nodes do not join, or a chart that is "
    "waited for does not start.",
    "said twice": "Another part of the stack says the same, and holds without it.",
    "no matter": "What reads it takes no notice of it there.",
    "runs": "Everything runs; what is lost shows in rare events alone, such as interruptions.",
    IN_LAB: "The lab has tried it: all pods run as without it.",
}
"""Class of a reason to the reason."""

_CLASSES: tuple[tuple[str, str], ...] = (
    ("*/stack file/*", "wish"),
    # Counts that managed nodes alone advertise: no tag, overlay, quota or request speaks of them.
    ("*/ConfigMap:*.replicas/one less", "wish"),
    ("*/ConfigMap:*.replicas/one more", "wish"),
    ("*/ConfigMap:*.failRequestsGreaterThanOne/other", "wish"),
    # Of shares that have the name of whole GPUs, of which a node then has as many as it has GPUs.
    ("*/ConfigMap:*.sharing/drop", "wish"),
    ("bottlerocket/LaunchTemplate:*slices-template/userData/drop", "wish"),
    ("*/ConfigMap:*/immutable/drop", "wish"),
    ("*/ConfigMap:*.flags.migStrategy/to mixed", "wish"),  # of pools without MIG
    ("*/Release:*/values.mig.strategy/to *", "wish"),  # the same
    ("*/Release:*/values/with a MIG strategy", "wish"),
    ("*/NodeGroup:*/capacityType/to SPOT", "wish"),
    ("*/NodeGroup:*/releaseVersion/drop", "wish"),  # of stacks that are no production
    ("*/NodeGroup:*/instanceTypes.0/to g6.48xlarge", "wish"),
    ("*/NodePool:*/spec.template.spec.requirements.3.values.0/to spot", "wish"),
    ("*/NodePool:*/spec.template.spec.expireAfter/to Never", "wish"),
    ("*/Cluster:*/deletionProtection/other", "wish"),  # of stacks that are no production
    ("*/AccessPolicyAssociation:*/accessScope.type/to namespace", "refused"),
    ("*/FlowLog:*/drop", "wish"),
    ("*/LogGroup:*", "wish"),
    ("*/VpcEndpoint:*/drop", "wish"),
    ("*/Release:*karpenter*/values.replicas/to 1", "wish"),
    ("*/Service:*/spec/to the world", "wish"),
    # Nothing else says that these pods need a GPU at all.
    ("*/Deployment:*.resources.limits.nvidia.com/*/drop", "wish"),
    ("*/Deployment:*.resources.limits.nvidia.com/*/to 0", "wish"),
    # A node has two of them, and each is a device of its own.
    ("*/Deployment:*.resources.limits.nvidia.com/*/to 2", "wish"),
    ("*/Deployment:*.resources.limits/with another device", "wish"),  # which the layout has
    ("*/NodePool:*/spec.limits.nvidia.com/gpu.shared/*", "wish"),
    # Another type of the pool has GPUs, and Karpenter takes the type by what pods ask for.
    ("*/NodePool:*/spec.template.spec.requirements.0.values.0/to m6i.large", "no matter"),
    ("*/NodePool:*/spec.disruption.budgets/drop", "default"),
    ("*/Release:*/values.settings.interruptionQueue/drop", "runs"),
    ("*/Release:*/values.settings.interruptionQueue/to another", "fails the update"),
    ("*/Release:*/values.autoscalingGroups.0.name/*", "fails the update"),
    ("*/EC2NodeClass:*/spec.role/to Other", "fails the update"),
    ("*/NodeOverlay:*/spec.requirements.0.key/other", "fails the update"),
    ("*/EC2NodeClass:*/spec.metadataOptions/drop", "default"),
    ("*/Release:*/values.config.default/drop", "default"),
    ("*/Release:*device-plugin*/values.tolerations/drop", "default"),  # those of nvidia.com/gpu
    ("*/Addon:*/addonVersion/drop", "default"),
    ("*/Deployment:*/spec.template.spec.tolerations.0.key/other", "made up for"),
    ("*/Deployment:*/spec.template.spec.tolerations.0.value/other", "made up for"),
    ("*/Deployment:*/spec.template.spec.tolerations/drop", "made up for"),
    ("*/Deployment:of-*/spec.template.spec.tolerations.0.effect/to NoExecute", "made up for"),
    ("*/NodeGroup:*/taints.0.value/other", "made up for"),
    ("prod/NodeGroup:*training/taints.0.effect/to PREFER_NO_SCHEDULE", "said twice"),
    ("*/NodeGroup:*/nodeRepairConfig.enabled/drop", "default"),  # where it is to be off
    ("*/Deployment:*/spec.selector.*", "refused"),
    ("*/Addon:*/addonVersion/to *", "refused"),
    ("*/EC2NodeClass:*/spec.amiFamily/*", "refused"),
    ("*/EC2NodeClass:*/spec.securityGroupSelectorTerms/*", "refused"),
    ("*/EC2NodeClass:*/spec.subnetSelectorTerms/*", "refused"),
    ("*/Key:*/deletionWindowInDays/to 1", "refused"),
    ("*/NodeGroup:*/capacityType/to CAPACITY_BLOCK", "refused"),
    ("*/NodeGroup:*/clusterName/other", "refused"),
    ("*/NodeGroup:*/instanceTypes.0/other", "refused"),
    ("*/NodeGroup:*/instanceTypes.0/to g5g.xlarge", "refused"),  # for the AMI's architecture
    ("*/NodeGroup:*/amiType/to AL2023_ARM_64_NVIDIA", "refused"),
    ("*/NodeGroup:*/releaseVersion/other", "refused"),
    ("*/NodeGroup:*/releaseVersion/to 1.29*", "refused"),
    ("*/NodeGroup:*/scalingConfig.*", "refused"),
    ("*/NodeGroup:*/version/to 1.29", "refused"),
    ("*/NodePool:*/spec.template.spec.nodeClassRef.group/*", "refused"),
    ("*/NodeOverlay:*/apiVersion/*", "refused"),
    ("*/Subnet:*/availabilityZone/*", "refused"),
    ("*/LaunchTemplate:*/capacityReservationSpecification/drop", "wish"),
    ("*/ScaledObject:*/spec.maxReplicaCount/to 0", "refused"),
    ("*/ScaledObject:*/spec.triggers.0.metadata.serverAddress/drop", "refused"),
    ("*/Vpc:*/enableDns*", "fails the update"),
    ("*/NatGateway:*/drop", "fails the update"),
    ("*/Route:*/drop", "fails the update"),
    ("*/Role:*/drop", "fails the update"),
    ("*/RolePolicyAttachment:*/drop", "fails the update"),
    ("*/Addon:*configurationValues*", ""),
    ("*/Addon:*/drop", "fails the update"),
    ("*/NodeGroup:*/nodeRoleArn/*", "fails the update"),
    ("*/NodeGroup:*system/tainted", "fails the update"),
    ("*/NodeGroup:*system/instanceTypes.0/to t3.nano", "fails the update"),
    ("*/PodIdentityAssociation:*", "fails the update"),
    ("*/Queue:*/drop", "fails the update"),
    ("*/Namespace:*/metadata.labels/drop", "default"),
    ("*/Namespace:*", "fails the update"),
    ("*/Release:*karpenter-release/namespace/*", "fails the update"),
    ("*/Release:*karpenter-crds/drop", "fails the update"),
    ("*/Release:*karpenter-crds/namespace/*", "no matter"),  # definitions belong to no namespace
    ("*/Release:*cluster-autoscaler*/namespace/*", "fails the update"),
    ("*/Release:*/values.rbac.serviceAccount.name/*", "fails the update"),
    ("*/Release:*/values.awsRegion/*", "fails the update"),
    ("*/Release:*/values/with a runtime class", "fails the update"),
    ("*/Tag:*", "fails the update"),
    # Without an address of their own, nodes in a public subnet reach nothing.
    ("*/NodeGroup:*/subnetIds/of public", "fails the update"),
    ("*/Subnet:*/tags.kubernetes.io/role/internal-elb/drop", "runs"),
    ("*/EventRule:*/drop", "runs"),
    ("*/QueuePolicy:*/drop", "runs"),
    ("*/Release:*/values.gfd.enabled/other", "runs"),
    ("*/Release:*/values.dcgmExporter.hostNetwork/other", "runs"),
    ("*/NodeGroup:*/labels.nvidia.com/gpu.deploy.operands/*", "runs"),
    # Kubelet then does not wait for the driver, which it seldom has to.
    ("karpenter-time-slicing/EC2NodeClass:*/spec.userData/drop", "runs"),
    ("serve/EC2NodeClass:*slices-class/spec.userData/drop", "runs"),
    ("gpu-operator/LaunchTemplate:*/userData/drop", "runs"),
    # MIG manager is off.
    ("karpenter-time-slicing/Release:*/values.migManager.config.*", "no matter"),
    ("serve/Release:*/values.migManager.config.*", "no matter"),
    # MIG manager of nodes that nobody has labelled has nothing to do without a default.
    ("*/Release:*gpu-operator*/values.migManager.enabled/other", "runs"),
    # Pools label their nodes themselves, so NFD adds only what nothing here asks for.
    ("*/Release:*device-plugin*/values.nfd.worker.tolerations*", "runs"),
    ("*/Release:*device-plugin*/values.nfd.worker.affinity.*/to another", "runs"),
    # The operator takes its assets' own tolerations where it has none: those of nvidia.com/gpu.
    ("*/Release:*gpu-operator*/values.daemonsets.tolerations/*", "default"),
    # Helm does not take over a ConfigMap of that name which it has not made.
    ("*/Release:*/values.devicePlugin.config.create/other", "fails the update"),
    ("*/Subnet:*/cidrBlock/*", "refused"),  # it lies within that of another
)
"""Pattern of names to class; the first that fits counts."""


def reason_of(name: str) -> str:
    """Class of the reason why nothing has to catch a mutant; no text if there is none."""
    return next((found for pattern, found in _CLASSES if fnmatchcase(name, pattern)), "")
