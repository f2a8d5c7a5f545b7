"""Valid resources, and running rules over them as the policy SDK does."""

from __future__ import annotations

import zlib
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy import (
    PolicyCustomTimeouts,
    PolicyProviderResource,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    StackValidationArgs,
)
from pulumi_policy.proxy import unknown_checking_proxy

from gpushare_policies.rules.cluster import version_in_standard_support
from gpushare_policies.tokens import (
    ACCESS_ENTRY,
    ADDON,
    AWS_CLUSTER,
    CHART_V4,
    CLUSTER_ROLE_BINDING,
    CONFIG_MAP,
    DEFAULT_SECURITY_GROUP,
    EIP,
    EIP_ASSOCIATION,
    EKS_CLUSTER,
    ENCRYPTION_BY_DEFAULT,
    INGRESS_RULE,
    INSTANCE,
    KMS_KEY,
    LAUNCH_CONFIGURATION,
    LAUNCH_TEMPLATE,
    LOG_GROUP,
    MANAGED_NODE_GROUP,
    NODE_GROUP,
    OUR_CLUSTER,
    OUR_POOL,
    PREFIX_LIST,
    PREFIX_LIST_ENTRY,
    RELEASE,
    SCALING_GROUP,
    SCALING_GROUPS,
    SECURITY_GROUP,
    SECURITY_GROUP_RULE,
    SPOT_FLEET,
    SPOT_INSTANCE,
    VOLUME,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gpushare_policies.rule import ResourcePolicy, StackPolicy

LOG_TYPES = ["api", "audit", "authenticator", "controllerManager", "scheduler"]
CIDRS = ["203.0.113.0/24"]
ADMIN = "arn:aws:iam::111122223333:role/Platform"
KEY = "arn:aws:kms:us-west-2:111122223333:key/0"
SHARING = """\
version: v1
sharing:
  timeSlicing:
    renameByDefault: false
    failRequestsGreaterThanOne: true
    resources:
      - name: nvidia.com/gpu
        replicas: 4
"""

BUCKET = '{"Resources": {"B": {"Type": "AWS::S3::Bucket"}}}'

VALID: dict[str, dict[str, Any]] = {
    AWS_CLUSTER: {
        "version": "1.35",
        "vpcConfig": {
            "subnetIds": ["subnet-1", "subnet-2"],
            "endpointPublicAccess": True,
            "publicAccessCidrs": CIDRS,
            "endpointPrivateAccess": True,
        },
        "enabledClusterLogTypes": LOG_TYPES,
        "encryptionConfig": {"provider": {"keyArn": KEY}, "resources": ["secrets"]},
        "accessConfig": {"authenticationMode": "API"},
        "upgradePolicy": {"supportType": "STANDARD"},
        "deletionProtection": True,
    },
    EKS_CLUSTER: {
        "version": "1.35",
        "nodeAmiId": "ami-1",
        "endpointPublicAccess": True,
        "publicAccessCidrs": CIDRS,
        "endpointPrivateAccess": True,
        "enabledClusterLogTypes": LOG_TYPES,
        "encryptionConfigKeyArn": KEY,
        "authenticationMode": "API",
        "accessEntries": {"platform": {"principalArn": ADMIN, "kubernetesGroups": ["platform"]}},
        "upgradePolicy": {"supportType": "STANDARD"},
        "deletionProtection": True,
    },
    OUR_CLUSTER: {
        "version": "1.35",
        "endpoint": {"public": True, "publicCidrs": CIDRS, "private": True},
        "deletionProtection": True,
        "supportType": "standard",
    },
    ACCESS_ENTRY: {"principalArn": ADMIN, "kubernetesGroups": ["platform"]},
    NODE_GROUP: {
        "amiType": "AL2023_x86_64_NVIDIA",
        "instanceTypes": ["p3.8xlarge"],
        "releaseVersion": "1.35.8-20260930",
        "launchTemplate": {"id": "lt-1", "version": "1"},
        "labels": {"nvidia.com/device-plugin.config": "gpu"},
        "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
        "nodeRepairConfig": {"enabled": True},
        "scalingConfig": {"minSize": 1.0, "desiredSize": 1.0, "maxSize": 1.0},
    },
    MANAGED_NODE_GROUP: {
        "gpu": True,
        "instanceTypes": ["g5.xlarge"],
        "diskSize": 200.0,
        "releaseVersion": "1.35.8-20260930",
        "taints": [{"key": "nvidia.com/gpu", "effect": "NO_EXECUTE"}],
    },
    **{
        component: {
            "amiId": "ami-1",
            "gpu": True,
            "instanceType": "g5.xlarge",
            "taints": {"nvidia.com/gpu": {"value": "true", "effect": "NoSchedule"}},
        }
        for component in SCALING_GROUPS
    },
    OUR_POOL: {
        "instanceTypes": ["p3.8xlarge"],
        "amiFamily": "al2023",
        "capacityType": "onDemand",
        "nodes": {"min": 1.0, "desired": 1.0, "max": 1.0},
        "rootVolumeGiB": 200.0,
        "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
        "sharing": {"mode": "timeSlicing", "replicas": 4.0},
    },
    LAUNCH_TEMPLATE: {
        "blockDeviceMappings": [
            {
                "deviceName": "/dev/xvda",
                "ebs": {"encrypted": "true", "volumeSize": 200.0, "volumeType": "gp3"},
            }
        ],
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1.0},
        "networkInterfaces": [{"deviceIndex": 0.0, "associatePublicIpAddress": "false"}],
    },
    ADDON: {"addonName": "coredns", "addonVersion": "v1.12.4-eksbuild.1", "clusterName": "main"},
    VOLUME: {"availabilityZone": "us-west-2a", "encrypted": True, "size": 100.0, "type": "gp3"},
    ENCRYPTION_BY_DEFAULT: {"enabled": True},
    INSTANCE: {
        "ami": "ami-1",
        "instanceType": "g5.xlarge",
        "associatePublicIpAddress": False,
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1.0},
        "rootBlockDevice": {"encrypted": True, "volumeSize": 200.0, "volumeType": "gp3"},
        "ebsBlockDevices": [{"deviceName": "/dev/sdf", "encrypted": True}],
        "tags": {"team": "ml"},
    },
    SPOT_INSTANCE: {
        "ami": "ami-1",
        "instanceType": "g5.xlarge",
        "launchTemplate": {"id": "lt-1", "version": "1"},
        "rootBlockDevice": {"encrypted": True},
    },
    LAUNCH_CONFIGURATION: {
        "imageId": "ami-1",
        "instanceType": "g5.xlarge",
        "associatePublicIpAddress": False,
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1.0},
        "rootBlockDevice": {"encrypted": True, "volumeSize": 200.0},
    },
    SPOT_FLEET: {
        "iamFleetRole": ADMIN,
        "launchTemplateConfigs": [{"launchTemplateSpecification": {"id": "lt-1", "version": "1"}}],
    },
    SCALING_GROUP: {
        "minSize": 0.0,
        "maxSize": 4.0,
        "launchTemplate": {"id": "lt-1", "version": "1"},
        "vpcZoneIdentifiers": ["subnet-1"],
        "mixedInstancesPolicy": {
            "instancesDistribution": {"onDemandPercentageAboveBaseCapacity": 100.0}
        },
        "tags": [{"key": "team", "value": "ml", "propagateAtLaunch": True}],
    },
    SECURITY_GROUP: {
        "ingress": [
            {
                "protocol": "tcp",
                "fromPort": 443.0,
                "toPort": 443.0,
                "cidrBlocks": ["0.0.0.0/0"],
                "ipv6CidrBlocks": ["::/0"],
            },
            {"protocol": "tcp", "fromPort": 22.0, "toPort": 22.0, "cidrBlocks": CIDRS},
        ],
        "egress": [{"protocol": "-1", "fromPort": 0.0, "toPort": 0.0, "cidrBlocks": ["0.0.0.0/0"]}],
    },
    PREFIX_LIST: {
        "addressFamily": "IPv4",
        "maxEntries": 2,
        "entries": [{"cidr": cidr} for cidr in CIDRS],
    },
    PREFIX_LIST_ENTRY: {"prefixListId": "pl-1", "cidr": CIDRS[0]},
    EIP: {"domain": "vpc"},
    EIP_ASSOCIATION: {"allocationId": "eipalloc-1", "networkInterfaceId": "eni-1"},
    DEFAULT_SECURITY_GROUP: {"vpcId": "vpc-1", "ingress": [], "egress": []},
    SECURITY_GROUP_RULE: {
        "type": "ingress",
        "protocol": "tcp",
        "fromPort": 10250.0,
        "toPort": 10250.0,
        "cidrBlocks": ["10.0.0.0/8"],
    },
    INGRESS_RULE: {
        "ipProtocol": "tcp",
        "fromPort": 10250.0,
        "toPort": 10250.0,
        "cidrIpv4": "10.0.0.0/8",
    },
    KMS_KEY: {"enableKeyRotation": True, "customerMasterKeySpec": "SYMMETRIC_DEFAULT"},
    LOG_GROUP: {"name": "/aws/eks/gpu/cluster", "retentionInDays": 365.0},
    RELEASE: {
        "chart": "nvidia-device-plugin",
        "version": "0.20.0",
        "namespace": "nvidia-device-plugin",
        "values": {"config": {"name": "sharing-1a2b", "default": "gpu"}},
    },
    CHART_V4: {"chart": "oci://registry.example/charts/karpenter", "version": "1.14.1"},
    CONFIG_MAP: {
        "metadata": {"name": "sharing-1a2b", "namespace": "nvidia-device-plugin"},
        "immutable": True,
        "data": {"gpu": SHARING},
    },
    "aws:cloudformation/stack:Stack": {
        "templateBody": '{"Resources": {"B": {"Type": "AWS::S3::Bucket"}}}'
    },
    "aws:cloudformation/stackSet:StackSet": {
        "templateBody": '{"Resources": {"B": {"Type": "AWS::S3::Bucket"}}}'
    },
    "aws:cloudcontrol/resource:Resource": {"typeName": "AWS::S3::Bucket", "desiredState": "{}"},
    "command:local:Command": {"create": "date +%s"},
    "command:remote:Command": {"create": "uptime"},
    CLUSTER_ROLE_BINDING: {
        "roleRef": {"kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "User", "name": "jane"}],
    },
}

POD: dict[str, Any] = {
    "containers": [
        {
            "name": "app",
            "image": "registry.example/team/app:1.4.2",
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
            "securityContext": {"privileged": False, "capabilities": {"drop": ["ALL"]}},
        }
    ],
    "initContainers": [{"name": "init", "image": f"registry.example/init@sha256:{'0' * 64}"}],
    "hostPID": False,
    "volumes": [
        {"name": "scratch", "emptyDir": {}},
        {"name": "logs", "hostPath": {"path": "/var/log/app"}},
    ],
}
TEMPLATE = {"metadata": {"labels": {"app": "app"}}, "spec": POD}


CLAIM = {
    "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}
}
EXECUTORS = {"dynamicAllocation": {"enabled": True, "maxExecutors": 4}}
RAY = {
    "enableInTreeAutoscaling": True,
    "workerGroupSpecs": [{"groupName": "gpu", "minReplicas": 0, "maxReplicas": 4}],
}


def _of_kubernetes() -> dict[str, dict[str, Any]]:
    """Objects that violate nothing, by type token."""
    metadata = {"name": "gpu", "namespace": "team"}
    made = {"metadata": metadata, "spec": {"replicas": 2.0, "template": TEMPLATE}}
    role = {
        "metadata": metadata,
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
    }
    rbac = "kubernetes:rbac.authorization.k8s.io/v1"
    return {
        "kubernetes:core/v1:Pod": {"metadata": metadata, "spec": POD},
        "kubernetes:core/v1:PersistentVolume": {
            "metadata": {"name": "scratch"},
            "spec": {"local": {"path": "/mnt/disks/0"}, "capacity": {"storage": "1Ti"}},
        },
        "kubernetes:core/v1:PodTemplate": {"metadata": metadata, "template": TEMPLATE},
        "kubernetes:core/v1:ReplicationController": made,
        **{
            f"kubernetes:apps/v1:{kind}": made
            for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
        },
        "kubernetes:batch/v1:Job": made,
        "kubernetes:batch/v1:CronJob": {
            "metadata": metadata,
            "spec": {"jobTemplate": {"spec": {"template": TEMPLATE}}},
        },
        f"{rbac}:ClusterRole": role,
        f"{rbac}:Role": role,
        f"{rbac}:RoleBinding": {
            "metadata": metadata,
            "roleRef": {"kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "ServiceAccount", "name": "app", "namespace": "team"}],
        },
        "kubernetes:core/v1:Namespace": {
            "metadata": {
                "name": "team",
                "labels": {
                    "eks-gpushare.io/tenant": "vision",
                    "pod-security.kubernetes.io/enforce": "baseline",
                },
            }
        },
        "kubernetes:policy/v1:PodDisruptionBudget": {
            "metadata": metadata,
            "spec": {"maxUnavailable": 1.0, "selector": {"matchLabels": {"app": "app"}}},
        },
        "kubernetes:autoscaling/v1:HorizontalPodAutoscaler": {
            "metadata": metadata,
            "spec": {"minReplicas": 1.0, "maxReplicas": 8.0},
        },
        "kubernetes:keda.sh/v1:ScaledObject": {
            "metadata": metadata,
            "spec": {"minReplicaCount": 0.0, "maxReplicaCount": 8.0},
        },
        **{
            f"kubernetes:{kind}": {"metadata": metadata, "spec": {least: 0.0, most: 8.0}}
            for kind, least, most in (
                ("actions.github.com/v1:AutoscalingRunnerSet", "minRunners", "maxRunners"),
                *(
                    (kind, "minReplicas", "maxReplicas")
                    for kind in (
                        "actions.summerwind.dev/v1:HorizontalRunnerAutoscaler",
                        "autoscaling.aibrix.ai/v1:PodAutoscaler",
                        "datadoghq.com/v1:WatermarkPodAutoscaler",
                        "kubeai.org/v1:Model",
                    )
                ),
            )
        },
        "kubernetes:http.keda.sh/v1:HTTPScaledObject": {
            "metadata": metadata,
            "spec": {"scaleTargetRef": {"name": "serving"}, "replicas": {"min": 0, "max": 4}},
        },
        **{
            f"kubernetes:serving.knative.dev/v1:{kind}": {
                "metadata": metadata,
                "spec": {
                    "template": {
                        "metadata": {"annotations": {"autoscaling.knative.dev/max-scale": "4"}},
                        "spec": {"containers": [{"name": "serving", "image": "a/b:1.0.0"}]},
                    }
                },
            }
            for kind in ("Service", "Configuration")
        },
        "kubernetes:serving.kserve.io/v1:InferenceService": {
            "metadata": metadata,
            "spec": {"predictor": {"minReplicas": 1, "maxReplicas": 4, "model": {}}},
        },
        "kubernetes:iamauthenticator.k8s.aws/v1:IAMIdentityMapping": {
            "metadata": metadata,
            "spec": {"arn": "arn:aws:iam::111122223333:role/ci", "groups": ["deployers"]},
        },
        "kubernetes:keda.sh/v1:ScaledJob": {
            "metadata": metadata,
            "spec": {"maxReplicaCount": 8.0},
        },
        "kubernetes:storage.k8s.io/v1:StorageClass": {
            "metadata": {"name": "fast"},
            "provisioner": "ebs.csi.aws.com",
            "parameters": {"type": "gp3", "encrypted": "true"},
        },
        "kubernetes:storage.k8s.io/v1:VolumeAttributesClass": {
            "metadata": {"name": "fast"},
            "driverName": "ebs.csi.aws.com",
            "parameters": {"type": "gp3"},
        },
        "kubernetes:resource.k8s.io/v1:ResourceClaim": {"metadata": metadata, "spec": CLAIM},
        "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate": {
            "metadata": metadata,
            "spec": {"spec": CLAIM},
        },
        "kubernetes:fleet.cattle.io/v1:Bundle": {
            "metadata": metadata,
            "spec": {"helm": {"chart": "app", "repo": "https://c.example", "version": "1.2.3"}},
        },
        "kubernetes:admissionregistration.k8s.io/v1:MutatingAdmissionPolicy": {
            "metadata": {"name": "labels"},
            "spec": {"mutations": [{"applyConfiguration": {"expression": "Object{}"}}]},
        },
        **{
            f"kubernetes:sparkoperator.k8s.io/v1:{kind}": {
                "metadata": metadata,
                "spec": {**held, "driver": {"cores": 1}},
            }
            for kind, held in (
                ("SparkApplication", EXECUTORS),
                ("ScheduledSparkApplication", {"template": EXECUTORS}),
            )
        },
        "kubernetes:capsule.clastix.io/v1:Tenant": {
            "metadata": {"name": "red"},
            "spec": {"namespaceOptions": {"additionalMetadata": {"labels": {"team": "red"}}}},
        },
        "kubernetes:ray.io/v1:RayCluster": {"metadata": metadata, "spec": RAY},
        **{
            f"kubernetes:ray.io/v1:{kind}": {"metadata": metadata, "spec": {key: RAY}}
            for kind, key in (("RayJob", "rayClusterSpec"), ("RayService", "rayClusterConfig"))
        },
        "kubernetes:argoproj.io/v1:Application": {
            "metadata": metadata,
            "spec": {"source": {"chart": "app", "targetRevision": "1.2.3"}},
        },
        "kubernetes:argoproj.io/v1:ApplicationSet": {
            "metadata": metadata,
            "spec": {"template": {"spec": {"source": {"path": "apps", "targetRevision": "main"}}}},
        },
        "kubernetes:helm.toolkit.fluxcd.io/v1:HelmRelease": {
            "metadata": metadata,
            "spec": {"chart": {"spec": {"chart": "app", "version": "1.2.3"}}},
        },
        "kubernetes:source.toolkit.fluxcd.io/v1:HelmChart": {
            "metadata": metadata,
            "spec": {"chart": "app", "version": "1.2.3", "sourceRef": {"kind": "HelmRepository"}},
        },
        "kubernetes:source.toolkit.fluxcd.io/v1:OCIRepository": {
            "metadata": metadata,
            "spec": {"url": "oci://ghcr.io/acme/charts/app", "ref": {"semver": "1.2.3"}},
        },
        "kubernetes:addons.cluster.x-k8s.io/v1:HelmChartProxy": {
            "metadata": metadata,
            "spec": {"chartName": "app", "version": "1.2.3"},
        },
        **{
            f"kubernetes:config.projectsveltos.io/v1:{kind}": {
                "metadata": metadata,
                "spec": {"helmCharts": [{"chartName": "app", "chartVersion": "1.2.3"}]},
            }
            for kind in ("ClusterProfile", "Profile")
        },
        "kubernetes:eks.amazonaws.com/v1:NodeClass": {
            "metadata": {"name": "gpu"},
            "spec": {"advancedNetworking": {"associatePublicIPAddress": False}},
        },
        "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass": {
            "metadata": {"name": "gpu"},
            "spec": {"amiSelectorTerms": [{"alias": "al2023@v20260930"}], "userData": "#!/bin/sh"},
        },
        "kubernetes:karpenter.sh/v1:NodePool": {
            "metadata": {"name": "gpu"},
            "spec": {
                "disruption": {
                    "consolidationPolicy": "WhenEmpty",
                    "consolidateAfter": "5m",
                    "budgets": [{"nodes": "10%"}],
                },
                "limits": {"nvidia.com/gpu": 16.0},
                "template": {
                    "metadata": {"labels": {"team": "ml"}},
                    "spec": {
                        "requirements": [
                            {
                                "key": "node.kubernetes.io/instance-type",
                                "operator": "In",
                                "values": ["g6.xlarge", "g5.xlarge"],
                            },
                            {
                                "key": "karpenter.sh/capacity-type",
                                "operator": "In",
                                "values": ["on-demand"],
                            },
                        ],
                        "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
                    },
                },
            },
        },
    }


VALID |= _of_kubernetes()

OPTIONS = PolicyResourceOptions(
    protect=False,
    ignore_changes=[],
    delete_before_replace=None,
    aliases=[],
    custom_timeouts=PolicyCustomTimeouts(0, 0, 0),
    additional_secret_outputs=[],
)


def _urn(stack: str, token: str, name: str) -> str:
    return f"urn:pulumi:{stack}::eks-gpushare::{token}::{name}"


@pytest.fixture(autouse=True)
def _a_fixed_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_in_standard_support, "today", lambda: date(2026, 11, 21))


def _copied(value: Any) -> Any:
    """A copy of properties, which are nothing but objects, lists and values."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


@pytest.fixture
def valid() -> Callable[[str], dict[str, Any]]:
    """`valid(token)` is a fresh copy of the properties of a resource that violates nothing."""
    return lambda token: _copied(VALID[token])


@pytest.fixture
def violations() -> Callable[..., list[str]]:
    """`violations(rule, token, props)` runs a resource rule and returns its messages.

    The resource is called `gpu`, in the stack `prod` unless another is given; requests for Spot
    are in `dev`, for nothing makes them right in production.
    """

    def run(
        rule: ResourcePolicy,
        token: str,
        props: dict[str, Any],
        *,
        config: Mapping[str, Any] | None = None,
        stack: str | None = None,
    ) -> list[str]:
        found: list[str] = []
        usual = "dev" if token in (SPOT_INSTANCE, SPOT_FLEET) else "prod"
        urn = _urn(stack or usual, token, "gpu")

        def report(message: str, where: str | None = None) -> None:
            assert where == urn
            found.append(message)

        proxy = unknown_checking_proxy(props)  # which copies what holds other values
        rule.validate(
            ResourceValidationArgs(token, proxy, urn, "gpu", OPTIONS, None, config), report
        )
        return found

    return run


@pytest.fixture
def resource() -> Callable[..., PolicyResource]:
    """`resource(token, name, props)` is a resource of a whole stack."""

    def make(
        token: str,
        name: str,
        props: dict[str, Any],
        *,
        provider: dict[str, Any] | None = None,
        uses: Mapping[str, Sequence[PolicyResource]] | None = None,
        below: str = "",
    ) -> PolicyResource:
        provided = None
        if provider is not None:
            kind = "pulumi:providers:kubernetes"
            proxy = unknown_checking_proxy(provider)
            called = f"k8s-{zlib.crc32(repr(provider).encode()):x}"
            provided = PolicyProviderResource(kind, proxy, _urn("prod", kind, called), called)
        used = {key: list(found) for key, found in (uses or {}).items()}
        return PolicyResource(
            token,
            unknown_checking_proxy(props),
            _urn("prod", f"{below}${token}" if below else token, name),
            name,
            OPTIONS,
            provided,
            None,
            [other for found in used.values() for other in found],
            used,
        )

    return make


@pytest.fixture
def stack_violations() -> Callable[..., list[tuple[str, str]]]:
    """`stack_violations(rule, resources)` returns resource names with their messages."""

    def run(
        rule: StackPolicy,
        resources: Sequence[PolicyResource],
        config: Mapping[str, Any] | None = None,
    ) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []

        def report(message: str, where: str | None = None) -> None:
            assert where is not None
            found.append((where.rpartition("::")[2], message))

        rule.validate(StackValidationArgs(list(resources), config), report)
        return found

    return run
