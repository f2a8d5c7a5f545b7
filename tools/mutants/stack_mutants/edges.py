"""The edges of the stacks' registrations: what has to agree with what, by type of resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stack_mutants.edge import Edges, holds
from stack_mutants.operators import (
    DROP,
    LESS,
    MORE,
    OTHER,
    RENAME,
    add,
    swap,
    to,
)
from stack_mutants.wholes import TWICE, WITHOUT, using

if TYPE_CHECKING:
    from eks_gpushare.program.recording import Resource

_CONFIG = "nvidia.com/device-plugin.config"
_PROMISED = "k8s.io/cluster-autoscaler/node-template/resources/"


def _has_gpu(resource: Resource) -> bool:
    return "NVIDIA" in str(resource.inputs.get("amiType"))


def _of_pool(resource: Resource) -> bool:
    return "system" not in resource.name


_NODE_GROUPS = (
    Edges("NodeGroup", _has_gpu)
    .at(f"labels > {_CONFIG}", "pods", DROP, RENAME, OTHER)
    .at("labels > eks-gpushare/pool", "pods", DROP, RENAME, OTHER)
    .at("labels > nvidia.com/mig.config", "pods", DROP, OTHER)
    .at("labels > nvidia.com/gpu.deploy.operands", "pods", DROP, OTHER)
    .at("taints", "cost", DROP)
    .at("taints > 0 > key", "pods", OTHER)
    .at("taints > 0 > value", "pods", OTHER)
    .at("taints > 0 > effect", "cost", to("PREFER_NO_SCHEDULE"))
    .at("taints > 0 > effect", "pods", to("NO_EXECUTE"))
    .at(
        "taints",
        "pods",
        add({"key": "dedicated", "value": "ml", "effect": "NO_SCHEDULE"}, "one more"),
    )
    .at("instanceTypes > 0", "pods", to("m6i.large"), OTHER, to("g6.48xlarge"), to("g5g.xlarge"))
    .at("amiType", "pods", to("AL2023_x86_64_STANDARD"), to("AL2023_ARM_64_NVIDIA"), DROP)
    .at("releaseVersion", "upkeep", DROP, OTHER)
    .at("releaseVersion", "pods", to("1.29.15-20250101"))
    .at("scalingConfig > maxSize", "pods", to(0))
    .at("scalingConfig > minSize", "pods", to(99))
    .at("scalingConfig > desiredSize", "pods", to(-1))
    .at("launchTemplate", "pods", DROP)
    .at("launchTemplate", "pods", using("launchTemplate", "LaunchTemplate", "system"))
    .at("nodeRoleArn", "pods", to("arn:aws:iam::111122223333:role/Other"))
    .at("subnetIds", "leak", using("subnetIds", "Subnet", "public"))
    .at("clusterName", "pods", OTHER)
    .at("version", "pods", to("1.29"))
    .at("nodeRepairConfig > enabled", "upkeep", OTHER, DROP)
    .at("capacityType", "cost", to("SPOT"), to("CAPACITY_BLOCK"))
    .at(f"tags > {_PROMISED}nvidia.com/gpu.shared", "pods", DROP, RENAME, MORE, LESS)
    .at(f"tags > {_PROMISED}nvidia.com/gpu", "pods", DROP, MORE)
    .at(f"tags > {_PROMISED}ephemeral-storage", "pods", to("1Gi"))
    .found
)

_SYSTEM = (
    Edges("NodeGroup", lambda resource: not _has_gpu(resource))
    .at("scalingConfig > maxSize", "pods", to(0))
    .at(
        "",
        "pods",
        add({"taints": [{"key": "only", "value": "gpu", "effect": "NO_SCHEDULE"}]}, "tainted"),
    )
    .at("instanceTypes > 0", "pods", to("t3.nano"))
    .at("instanceTypes > 0", "cost", to("p4d.24xlarge"))
    .found
)

_TEMPLATES = (
    Edges("LaunchTemplate", _of_pool)
    .at("metadataOptions", "leak", DROP)
    .at("metadataOptions > httpTokens", "leak", DROP, to("optional"))
    .at("metadataOptions > httpPutResponseHopLimit", "leak", DROP, to(2), to(64))
    .at("blockDeviceMappings", "leak", DROP)
    .at("blockDeviceMappings > 0 > ebs > encrypted", "leak", DROP, OTHER, to("0"))
    .at("blockDeviceMappings > 1 > ebs > encrypted", "leak", DROP, OTHER)
    .at("blockDeviceMappings > 0 > ebs > volumeSize", "pods", to(8), DROP)
    .at("blockDeviceMappings > 0 > ebs > volumeType", "upkeep", to("standard"))
    .at("blockDeviceMappings > 0 > deviceName", "pods", to("/dev/sdz"))
    .at(
        "",
        "leak",
        add(
            {"networkInterfaces": [{"deviceIndex": 0, "associatePublicIpAddress": "true"}]},
            "with a public address",
        ),
    )
    .at("userData", "pods", DROP)
    .at("userData > (base64)", "pods", swap(r"replicas = \d+", "replicas = 1", "one replica"))
    .at("userData > (base64)", "pods", swap(r'"time-slicing"', '"mps"', "other strategy"))
    .at("userData > (base64)", "pods", swap("1g.5gb", "9g.5gb", "other profile"))
    .at("userData > (base64)", "pods", swap("device-plugins", "device-plugin", "misspelt"))
    .at("userData > (base64)", "pods", swap(r"^MIG_LAYOUT=.*$", "", "no layout"))
    .at("userData > (base64)", "pods", swap(r"MIG_GPUS=\"8\"", 'MIG_GPUS="4"', "other GPUs"))
    .at("userData > (base64)", "pods", swap(r"Content-Type", "Content-Tpye", "misspelt head"))
    .at("capacityReservationSpecification", "cost", DROP)
    .found
)

_DOCUMENT = "data > * > (yaml)"
_SLICES = f"{_DOCUMENT} > sharing > timeSlicing"
_MPS = f"{_DOCUMENT} > sharing > mps"
_CONFIG_MAPS = (
    Edges("ConfigMap", lambda each: "config" in each.name and "taint" not in each.name)
    .at("", "pods", WITHOUT)
    .at("metadata > name", "pods", OTHER)
    .at("metadata > namespace", "pods", to("default"))
    .at("immutable", "upkeep", DROP)
    .at("data > *", "pods", DROP, RENAME)
    .at("data > *", "pods", swap("version: v1", "version v1", "no YAML"))
    .at(f"{_DOCUMENT} > version", "pods", to("v2"), DROP)
    .at(f"{_DOCUMENT} > sharing", "pods", DROP, RENAME)
    .at(f"{_DOCUMENT} > flags > migStrategy", "pods", to("mixed"), to("none"), to("both"))
    .at(f"{_SLICES} > resources > 0 > replicas", "pods", MORE, LESS, to(1), to(0), to(100), DROP)
    .at(f"{_SLICES} > resources > 0 > name", "pods", OTHER, to("nvidia.com/gpu.shared"))
    .at(f"{_SLICES} > renameByDefault", "pods", OTHER)
    .at(f"{_SLICES} > failRequestsGreaterThanOne", "pods", OTHER)
    .at(f"{_SLICES} > resources", "pods", RENAME, DROP)
    .at(f"{_MPS} > resources > 0 > replicas", "pods", MORE, LESS, to(1), to(49), DROP)
    .at(f"{_MPS} > resources > 0 > name", "pods", OTHER)
    .at(f"{_MPS} > renameByDefault", "pods", OTHER)
    .found
)


def _is_chart(name: str) -> Edges:
    return Edges("Release", holds("chart", value=name))


_TERMS = "requiredDuringSchedulingIgnoredDuringExecution > nodeSelectorTerms > 0 > matchExpressions"
_NFD_AFFINITY = f"nfd > worker > affinity > nodeAffinity > {_TERMS} > 0"
_CHARTS = (
    *_is_chart("nvidia-device-plugin")
    .at("", "pods", WITHOUT, TWICE)
    .at("version", "upkeep", DROP, to(">=0.1.0"))
    .at("version", "pods", to("0.9.0"))
    .at("namespace", "pods", to("default"))
    .at("values > config > name", "pods", OTHER, DROP)
    .at("values > config > default", "pods", OTHER, DROP)
    .at("values > config", "pods", RENAME, DROP)
    .at("values > tolerations", "pods", DROP, RENAME, to([], "to none"))
    .at("values > tolerations > 1 > key", "pods", OTHER)
    .at("values > tolerations > 1 > effect", "pods", to("NoExecute"))
    .at("values > tolerations > 1 > operator", "pods", to("Equal"))
    .at("values > nfd > worker > tolerations", "pods", DROP, to([], "to none"))
    .at("values > nfd > worker > tolerations > 0 > key", "pods", OTHER)
    .at("values > gfd > enabled", "pods", OTHER)
    .at(f"values > affinity > nodeAffinity > {_TERMS} > 0 > key", "pods", OTHER)
    .at(
        f"values > affinity > nodeAffinity > {_TERMS} > 0 > values",
        "pods",
        to(["another"], "to another"),
    )
    .at(f"values > {_NFD_AFFINITY} > values", "pods", to(["another"], "to another"))
    .at(
        "values",
        "pods",
        add({"nodeSelector": {"gpu": "yes"}}, "with a node selector"),
        add({"runtimeClassName": "nvidia"}, "with a runtime class"),
        add({"migStrategy": "single"}, "with a MIG strategy"),
    )
    .found,
    *_is_chart("gpu-operator")
    .at("", "pods", WITHOUT, TWICE)
    .at("version", "upkeep", DROP)
    .at("version", "pods", to("v1.10.0"))
    .at("namespace", "pods", to("default"))
    .at("values > devicePlugin > config > name", "pods", OTHER, DROP)
    .at("values > devicePlugin > config > default", "pods", OTHER)
    .at("values > devicePlugin > config > create", "pods", OTHER)
    .at("values > devicePlugin", "pods", RENAME, add({"enabled": False}, "off"))
    .at("values > daemonsets > tolerations", "pods", DROP, to([], "to none"))
    .at("values > daemonsets > tolerations > 0 > key", "pods", OTHER)
    .at("values > node-feature-discovery > worker > tolerations", "pods", to([], "to none"))
    .at("values > node-feature-discovery", "pods", RENAME)
    .at("values > driver > enabled", "pods", OTHER, DROP)
    .at("values > toolkit > enabled", "pods", OTHER, DROP)
    .at("values > mig > strategy", "pods", to("single"), to("mixed"), to("none"))
    .at("values > migManager > enabled", "pods", OTHER)
    .at("values > migManager > config > name", "pods", OTHER)
    .at("values > migManager > config > default", "pods", OTHER)
    .at("values > dcgmExporter > env", "pods", DROP)
    .at("values > dcgmExporter > hostNetwork", "pods", OTHER)
    .at("values", "pods", add({"nfd": {"enabled": False}}, "without NFD"))
    .found,
    *_is_chart("cluster-autoscaler")
    .at("", "pods", WITHOUT)
    .at("version", "upkeep", DROP)
    .at("values > autoscalingGroups > 0 > name", "pods", to("eks-other"))
    .at("values > autoscalingGroups > 0 > maxSize", "pods", LESS, MORE)
    .at("values > autoscalingGroups", "pods", DROP)
    .at("values > awsRegion", "pods", to("eu-central-1"))
    .at("values > rbac > serviceAccount > name", "pods", OTHER)
    .at("values > image > tag", "pods", to("v1.29.0"))
    .at("namespace", "pods", to("default"))
    .found,
    *_is_chart("karpenter/karpenter")
    .at("", "pods", WITHOUT)
    .at("version", "upkeep", DROP)
    .at("version", "pods", to("0.37.0"))
    .at("namespace", "pods", to("default"))
    .at("values > settings > clusterName", "pods", OTHER, DROP)
    .at("values > settings > interruptionQueue", "pods", DROP, to("another"))
    .at("values > settings > featureGates > nodeOverlay", "cost", OTHER, RENAME)
    .at("values > replicas", "upkeep", to(1))
    .found,
    *_is_chart("keda").at("", "pods", WITHOUT).at("version", "upkeep", DROP).found,
)

_OBJECTS = (
    *Edges("Namespace")
    .at("metadata > labels", "pods", DROP)
    .at("metadata > labels > pod-security.kubernetes.io/enforce", "pods", to("restricted"))
    .at("metadata > name", "pods", OTHER)
    .found,
    *Edges("ClusterRole").at("rules", "pods", to([], "to none")).found,
    *Edges("ClusterRole")
    .at(
        "rules",
        "rights",
        add({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, "with all rights"),
    )
    .found,
    *Edges("ClusterRoleBinding")
    .at("roleRef > name", "rights", to("cluster-admin"))
    .at("roleRef > name", "pods", OTHER)
    .at("subjects > 0 > name", "pods", OTHER)
    .at("subjects > 0 > namespace", "pods", to("default"))
    .at(
        "subjects",
        "rights",
        add({"kind": "Group", "name": "system:authenticated"}, "with everybody"),
    )
    .found,
)

_KARPENTER = (
    *Edges("NodeOverlay")
    .at("", "pods", WITHOUT)
    .at("spec > capacity > *", "pods", DROP, RENAME, MORE, LESS)
    .at("spec > requirements > 0 > values", "pods", to(["another"], "to another"))
    .at("spec > requirements > 1 > values", "pods", to(["g5.xlarge"], "to another"))
    .at("spec > requirements > 0 > key", "pods", OTHER)
    .at("spec > requirements > 0 > operator", "pods", to("NotIn"))
    .at("apiVersion", "pods", to("karpenter.sh/v1"))
    .found,
    *Edges("NodePool")
    .at(f"spec > template > metadata > labels > {_CONFIG}", "pods", DROP, OTHER)
    .at("spec > template > metadata > labels > eks-gpushare/pool", "pods", DROP, OTHER)
    .at("spec > template > spec > taints", "cost", DROP)
    .at("spec > template > spec > taints > 0 > key", "pods", OTHER)
    .at("spec > template > spec > taints > 0 > value", "pods", OTHER)
    .at("spec > template > spec > taints > 0 > effect", "cost", to("PreferNoSchedule"))
    .at("spec > template > spec > nodeClassRef > name", "pods", OTHER)
    .at("spec > template > spec > nodeClassRef > group", "pods", to("karpenter.sh"))
    .at("spec > template > spec > requirements > 0 > values > 0", "pods", to("m6i.large"), OTHER)
    .at("spec > template > spec > requirements > 1 > values > 0", "pods", to("arm64"))
    .at("spec > template > spec > requirements > 3 > values > 0", "cost", to("spot"))
    .at("spec > template > spec > requirements > 0", "cost", DROP)
    .at("spec > template > spec > expireAfter", "upkeep", to("Never"))
    .at("spec > limits", "cost", DROP)
    .at("spec > limits > nvidia.com/gpu.shared", "pods", to("1"), RENAME)
    .at("spec > disruption > consolidationPolicy", "pods", to("WhenEmptyOrUnderutilized"))
    .at("spec > disruption > budgets", "upkeep", DROP)
    .at("apiVersion", "pods", to("karpenter.sh/v1beta1"))
    .found,
    *Edges("EC2NodeClass")
    .at("", "pods", WITHOUT)
    .at("metadata > name", "pods", OTHER)
    .at("spec > amiSelectorTerms > 0 > alias", "upkeep", to("al2023@latest"))
    .at("spec > amiSelectorTerms > 0 > alias", "pods", to("al2@v20240101"))
    .at("spec > amiSelectorTerms", "pods", DROP)
    .at("spec > amiFamily", "pods", to("Bottlerocket"))
    .at("spec > role", "pods", to("Other"))
    .at("spec > associatePublicIPAddress", "leak", OTHER)
    .at("spec > blockDeviceMappings > 0 > ebs > encrypted", "leak", OTHER)
    .at("spec > blockDeviceMappings > 0 > ebs > volumeSize", "pods", to("8Gi"))
    .at("spec > blockDeviceMappings", "leak", DROP)
    .at("spec > metadataOptions > httpTokens", "leak", to("optional"))
    .at("spec > metadataOptions > httpPutResponseHopLimit", "leak", to(2))
    .at("spec > metadataOptions", "leak", DROP)
    .at("spec > userData", "pods", DROP)
    .at("spec > userData", "pods", swap(r"MIG_LAYOUT=.*", "", "no layout"))
    .at("spec > subnetSelectorTerms", "pods", to([], "to none"))
    .at("spec > securityGroupSelectorTerms", "pods", to([], "to none"))
    .found,
    *Edges("Queue").at("", "pods", WITHOUT).found,
    *Edges("EventRule").at("", "pods", WITHOUT).found,
    *Edges("QueuePolicy").at("", "pods", WITHOUT).found,
)

_CONTAINER = "spec > template > spec > containers > 0"
_RESOURCES = ("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb")
_WORKLOADS = Edges("Deployment", holds("spec", "template"))
for _resource in _RESOURCES:
    _WORKLOADS.at(
        f"{_CONTAINER} > resources > limits > {_resource}", "pods", RENAME, DROP, to("2"), to("0")
    )
    _WORKLOADS.at(f"{_CONTAINER} > resources > limits > {_resource}", "pods", to("0.5"), to("1000"))
_WORKLOADS.at(
    f"{_CONTAINER} > resources > limits",
    "pods",
    add({"nvidia.com/mig-2g.10gb": "1"}, "with another device"),
)
_WORKLOADS.at("spec > template > spec > nodeSelector > eks-gpushare/pool", "pods", OTHER, RENAME)
_WORKLOADS.at("spec > template > spec > tolerations", "pods", DROP)
_WORKLOADS.at("spec > template > spec > tolerations > 0 > key", "pods", OTHER)
_WORKLOADS.at("spec > template > spec > tolerations > 0 > value", "pods", OTHER)
_WORKLOADS.at("spec > template > spec > tolerations > 0 > effect", "pods", to("NoExecute"))
_WORKLOADS.at(
    _CONTAINER,
    "leak",
    add({"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}, "with all devices"),
)
_WORKLOADS.at(_CONTAINER, "leak", add({"securityContext": {"privileged": True}}, "privileged"))
_WORKLOADS.at("spec > selector > matchLabels > app.kubernetes.io/name", "pods", OTHER)
_SCALING = (
    *Edges("ScaledObject")
    .at("spec > scaleTargetRef > name", "pods", OTHER)
    .at("spec > scaleTargetRef > kind", "pods", to("StatefulSet"))
    .at("spec > maxReplicaCount", "pods", to(0), to(1000))
    .at("spec > minReplicaCount", "pods", to(10))
    .at("spec > triggers > 0 > metadata > query", "pods", swap(r'"default"', '"other"', "ns"))
    .at("spec > triggers > 0 > metadata > query", "pods", swap(r"\(", "", "no PromQL"))
    .at("spec > triggers > 0 > metadata > serverAddress", "pods", DROP)
    .at("spec > triggers > 0 > name", "pods", OTHER)
    .at("metadata > namespace", "pods", to("other"))
    .found,
    *Edges("PodDisruptionBudget")
    .at("spec > maxUnavailable", "upkeep", to(0))
    .at("spec > selector > matchLabels > app.kubernetes.io/name", "upkeep", OTHER)
    .found,
    *Edges("Service", lambda each: "workload" in each.name)
    .at("spec > selector > app.kubernetes.io/name", "pods", OTHER)
    .at("spec > ports > 0 > targetPort", "pods", OTHER)
    .at("spec", "leak", add({"type": "LoadBalancer"}, "to the world"))
    .found,
)

_CLUSTER = (
    *Edges("Cluster", lambda each: each.type.startswith("aws:"))
    .at("accessConfig > authenticationMode", "rights", DROP, to("CONFIG_MAP"))
    .at("enabledClusterLogTypes", "upkeep", DROP)
    .at("enabledClusterLogTypes > 1", "upkeep", DROP)
    .at("encryptionConfig", "leak", DROP)
    .at("encryptionConfig > resources > 0", "leak", OTHER)
    .at("vpcConfig > endpointPrivateAccess", "pods", OTHER, DROP)
    .at(
        "vpcConfig > publicAccessCidrs",
        "leak",
        DROP,
        to(["0.0.0.0/0"], "to the world"),
        to(["0.0.0.0/1", "128.0.0.0/1"], "to two halves"),
        to(["0.0.0.0/1", "128.0.0.0/2"], "to three quarters"),
        to(["::/0"], "to the world by IPv6"),
    )
    .at("version", "cost", to("1.29"), DROP)
    .at("upgradePolicy", "cost", DROP)
    .at("upgradePolicy > supportType", "cost", to("EXTENDED"))
    .at("deletionProtection", "upkeep", OTHER)
    .found,
    *Edges("AccessEntry", lambda each: "karpenter" in each.name)
    .at("", "pods", WITHOUT)
    .at("type", "pods", to("STANDARD"))
    .found,
    *Edges("AccessEntry", lambda each: "karpenter" not in each.name)
    .at("", "rights", add({"kubernetesGroups": ["system:masters"]}, "with masters"))
    .found,
    *Edges("AccessPolicyAssociation").at("accessScope > type", "rights", to("namespace")).found,
    *Edges("Addon")
    .at("", "pods", WITHOUT)
    .at("addonVersion", "upkeep", DROP, to("v0.1.0-eksbuild.1"))
    .at("configurationValues > (json) > dcgmAgent > tolerations", "pods", DROP)
    .found,
    *Edges("Role").at("", "pods", WITHOUT).found,
    *Edges("Role")
    .at("assumeRolePolicy", "rights", swap(r"ec2\.amazonaws\.com", "*", "for everybody"))
    .found,
    *Edges("RolePolicyAttachment")
    .at("", "pods", WITHOUT)
    .at("policyArn", "rights", to("arn:aws:iam::aws:policy/AdministratorAccess", "to all rights"))
    .found,
    *Edges("RolePolicy")
    .at(
        "policy",
        "rights",
        to(
            '{"Version": "2012-10-17", "Statement": '
            '[{"Effect": "Allow", "Action": "*", "Resource": "*"}]}',
            "to all rights",
        ),
    )
    .found,
    *Edges("PodIdentityAssociation")
    .at("", "pods", WITHOUT)
    .at("namespace", "pods", OTHER)
    .at("serviceAccount", "pods", OTHER)
    .found,
    *Edges("Key").at("enableKeyRotation", "upkeep", OTHER, DROP).found,
    *Edges("Key").at("deletionWindowInDays", "upkeep", to(1)).found,
)

_NETWORK = (
    *Edges("Subnet", lambda each: "private" in each.name)
    .at("", "leak", add({"mapPublicIpOnLaunch": True}, "with public addresses"))
    .at("cidrBlock", "pods", to("10.0.0.0/28"))
    .at("tags > kubernetes.io/role/internal-elb", "pods", DROP)
    .found,
    *Edges("Subnet").at("availabilityZone", "pods", to("us-west-1z")).found,
    *Edges("Route", lambda each: "private" in each.name).at("", "pods", WITHOUT).found,
    *Edges("NatGateway").at("", "pods", WITHOUT).found,
    *Edges("VpcEndpoint").at("", "cost", WITHOUT).found,
    *Edges("Vpc")
    .at("enableDnsSupport", "pods", OTHER)
    .at("enableDnsHostnames", "pods", OTHER)
    .found,
    *Edges("DefaultSecurityGroup")
    .at(
        "",
        "leak",
        add(
            {
                "ingress": [
                    {"protocol": "-1", "fromPort": 0, "toPort": 0, "cidrBlocks": ["0.0.0.0/0"]}
                ]
            },
            "open",
        ),
    )
    .found,
    *Edges("Tag").at("key", "pods", OTHER).at("", "pods", WITHOUT).found,
    *Edges("FlowLog").at("", "upkeep", WITHOUT).found,
    *Edges("LogGroup").at("retentionInDays", "cost", DROP).found,
)

EDGES = (
    *_NODE_GROUPS,
    *_SYSTEM,
    *_TEMPLATES,
    *_CONFIG_MAPS,
    *_CHARTS,
    *_OBJECTS,
    *_KARPENTER,
    *_WORKLOADS.found,
    *_SCALING,
    *_CLUSTER,
    *_NETWORK,
)
"""All of them."""
