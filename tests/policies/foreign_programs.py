"""Sixty small programs of people who do not use this project, right ones and wrong ones.

Each is a function that registers resources whose names begin with its own, so that all of them can
be one program too: the engine then judges sixty in one preview. This file is that program.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_aws
import pulumi_eks
import pulumi_kubernetes

# Their programs have no types, and give dictionaries for everything.
aws: Any = pulumi_aws
eks: Any = pulumi_eks
k8s: Any = pulumi_kubernetes

Program = Callable[[str], object]

KEY = "arn:aws:kms:us-west-2:111122223333:key/0"
ROLE = "arn:aws:iam::111122223333:role/theirs"
LOGS = ["api", "audit", "authenticator", "controllerManager", "scheduler"]
TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}
SHARING = """\
version: v1
sharing:
  timeSlicing:
    failRequestsGreaterThanOne: true
    resources:
      - name: nvidia.com/gpu
        replicas: 4
"""


def cluster(name: str, **more: Any) -> Any:
    """A cluster as the rules want it, but for `more`."""
    vpc = {
        "subnet_ids": ["subnet-1", "subnet-2"],
        "endpoint_private_access": True,
        "endpoint_public_access": True,
        "public_access_cidrs": ["203.0.113.0/24"],
    } | more.pop("vpc_config", {})
    right: dict[str, Any] = {
        "role_arn": ROLE,
        "version": "1.35",
        "enabled_cluster_log_types": LOGS,
        "encryption_config": {"provider": {"key_arn": KEY}, "resources": ["secrets"]},
        "access_config": {"authentication_mode": "API"},
        "upgrade_policy": {"support_type": "STANDARD"},
        "deletion_protection": True,
    }
    return aws.eks.Cluster(f"{name}-cluster", vpc_config=vpc, **right | more)


def template(name: str, **more: Any) -> Any:
    """A launch template as the rules want it, but for `more`."""
    disk = {"encrypted": "true", "volume_size": 200, "volume_type": "gp3"}
    right: dict[str, Any] = {
        "block_device_mappings": [{"device_name": "/dev/xvda", "ebs": disk}],
        "metadata_options": {"http_tokens": "required", "http_put_response_hop_limit": 1},
    }
    return aws.ec2.LaunchTemplate(f"{name}-template", **right | more)


def nodes(name: str, **more: Any) -> Any:
    """A node group with GPUs as the rules want it, but for `more`."""
    right: dict[str, Any] = {
        "cluster_name": "theirs",
        "node_role_arn": ROLE,
        "subnet_ids": ["subnet-1"],
        "instance_types": ["g5.xlarge"],
        "ami_type": "AL2023_x86_64_NVIDIA",
        "release_version": "1.35.8-20260930",
        "taints": [TAINT],
        "node_repair_config": {"enabled": True},
        "scaling_config": {"min_size": 1, "desired_size": 1, "max_size": 1},
    }
    if "launch_template" not in more:
        lt = template(name)
        more["launch_template"] = {
            "id": lt.id,
            "version": lt.latest_version.apply(str),
        }
    return aws.eks.NodeGroup(f"{name}-nodes", **right | more)


def inside(name: str) -> pulumi.ResourceOptions:
    """The provider of a cluster of its own."""
    config = json.dumps({"clusters": [{"name": name}]})
    return pulumi.ResourceOptions(provider=k8s.Provider(f"{name}-k8s", kubeconfig=config))


_shared: list[pulumi.ResourceOptions] = []


def anywhere(name: str) -> pulumi.ResourceOptions:
    """The same for what does not look at its neighbours: a provider is a process of the engine."""
    return _shared[0] if _shared else inside(name)


def plugin(name: str, values: Any = None, data: Any = None, **more: Any) -> None:
    """The device plugin with a configuration that it reads."""
    opts = inside(name)
    k8s.core.v1.ConfigMap(
        f"{name}-config",
        metadata={"name": "sharing", "namespace": "nvidia"},
        data=data or {"gpu": SHARING},
        opts=opts,
    )
    named = {"config": {"name": "sharing", "default": "gpu"}}
    k8s.helm.v3.Release(
        f"{name}-plugin",
        **{
            "chart": "nvidia-device-plugin",
            "version": "0.20.0",
            "namespace": "nvidia",
            "values": named if values is None else values,
            "opts": opts,
        }
        | more,
    )


def binding(name: str, *subjects: dict[str, str], role: str = "view", whole: bool = True) -> None:
    """A binding of subjects to a ClusterRole."""
    kind = k8s.rbac.v1.ClusterRoleBinding if whole else k8s.rbac.v1.RoleBinding
    ref = {"api_group": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    kind(f"{name}-binding", role_ref=ref, subjects=list(subjects), opts=anywhere(name))


def pod(name: str, **more: Any) -> dict[str, Any]:
    """A Deployment that asks for a GPU."""
    container = {
        "name": "main",
        "image": "nvcr.io/nvidia/cuda@sha256:" + "0" * 64,
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    spec = {
        "containers": [container],
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    } | more
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def objects(name: str, *manifests: dict[str, Any]) -> None:
    """Objects written as manifests."""
    k8s.yaml.v2.ConfigGroup(f"{name}-objects", objs=list(manifests), opts=anywhere(name))


def deployment(name: str, **more: Any) -> None:
    """The same as a typed resource."""
    made = pod(name, **more)
    k8s.apps.v1.Deployment(
        f"{name}-app", metadata=made["metadata"], spec=made["spec"], opts=anywhere(name)
    )


def their_cluster(name: str, **more: Any) -> Any:
    """A cluster of `pulumi_eks`."""
    return eks.Cluster(
        f"{name}-eks",
        **{
            "vpc_id": "vpc-1",
            "subnet_ids": ["subnet-1", "subnet-2"],
            "skip_default_node_group": True,
        }
        | more,
    )


def late(name: str) -> Any:
    """A text that only an update tells."""
    return aws.kms.Key(f"{name}-key").arn


def with_disk(name: str, **ebs: Any) -> Any:
    return template(name, block_device_mappings=[{"device_name": "/dev/xvda", "ebs": ebs}])


def metadata(name: str, **options: Any) -> Any:
    return template(name, metadata_options=options)


def vpc(name: str, **config: Any) -> Any:
    return cluster(name, vpc_config=config)


def chart(name: str, **more: Any) -> None:
    k8s.helm.v3.Release(f"{name}-release", **{"namespace": "apps", "opts": anywhere(name)} | more)


USER = {"kind": "User", "name": "jane"}
MASTERS = {"kind": "Group", "name": "system:masters"}

PROGRAMS: dict[str, Program] = {
    # Clusters of pulumi_aws.
    "right-cluster": cluster,
    "open-cluster": lambda n: vpc(n, public_access_cidrs=["0.0.0.0/0"]),
    "open-in-pieces": lambda n: vpc(n, public_access_cidrs=["0.0.0.0/1", "128.0.0.0/1"]),
    "open-by-silence": lambda n: vpc(n, public_access_cidrs=[]),
    "closed-cluster": lambda n: vpc(n, endpoint_public_access=False, public_access_cidrs=None),
    "no-private-endpoint": lambda n: vpc(n, endpoint_private_access=False),
    "few-logs": lambda n: cluster(n, enabled_cluster_log_types=["api"]),
    "no-logs": lambda n: cluster(n, enabled_cluster_log_types=None),
    "plain-secrets": lambda n: cluster(n, encryption_config=None),
    "late-key": lambda n: cluster(
        n, encryption_config={"provider": {"key_arn": late(n)}, "resources": ["secrets"]}
    ),
    "aws-auth": lambda n: cluster(n, access_config={"authentication_mode": "CONFIG_MAP"}),
    "extended": lambda n: cluster(n, upgrade_policy=None),
    "old-version": lambda n: cluster(n, version="1.28"),
    "no-version": lambda n: cluster(n, version=None),
    "unprotected": lambda n: cluster(n, deletion_protection=False),
    "late-version": lambda n: cluster(n, version=late(n)),
    # Node groups and launch templates.
    "right-nodes": nodes,
    "no-taint": lambda n: nodes(n, taints=None),
    "other-taint": lambda n: nodes(n, taints=[TAINT | {"key": "team"}]),
    "soft-taint": lambda n: nodes(n, taints=[TAINT | {"effect": "PREFER_NO_SCHEDULE"}]),
    "no-release": lambda n: nodes(n, release_version=None),
    "no-repair": lambda n: nodes(n, node_repair_config=None),
    "no-template": lambda n: nodes(n, launch_template=None, disk_size=200),
    "processors-only": lambda n: nodes(
        n, instance_types=["m7i.large"], ami_type="AL2023_x86_64_STANDARD", taints=None
    ),
    "latest-template": lambda n: nodes(
        n, launch_template={"id": template(n).id, "version": "$Latest"}
    ),
    "late-taint": lambda n: nodes(n, taints=[TAINT | {"key": late(n)}]),
    "right-template": template,
    "hop-limit": lambda n: metadata(n, http_tokens="required", http_put_response_hop_limit=2),
    "optional-token": lambda n: metadata(n, http_tokens="optional"),
    "no-metadata": lambda n: template(n, metadata_options=None),
    "plain-disk": lambda n: with_disk(n, encrypted="false", volume_size=200),
    "unsaid-disk": lambda n: with_disk(n, volume_size=200),
    "no-disk": lambda n: template(n, block_device_mappings=None),
    "public-address": lambda n: template(
        n, network_interfaces=[{"device_index": 0, "associate_public_ip_address": "true"}]
    ),
    "right-volume": lambda n: aws.ebs.Volume(
        f"{n}-volume", availability_zone="us-west-2a", size=10, encrypted=True, type="gp3"
    ),
    "plain-volume": lambda n: aws.ebs.Volume(
        f"{n}-volume", availability_zone="us-west-2a", size=10
    ),
    "masters-entry": lambda n: aws.eks.AccessEntry(
        f"{n}-entry", cluster_name="a", principal_arn=ROLE, kubernetes_groups=["system:masters"]
    ),
    "right-entry": lambda n: aws.eks.AccessEntry(
        f"{n}-entry", cluster_name="a", principal_arn=ROLE, kubernetes_groups=["platform"]
    ),
    # pulumi_eks.
    "their-cluster": their_cluster,
    "their-closed-cluster": lambda n: their_cluster(
        n,
        endpoint_private_access=True,
        public_access_cidrs=["203.0.113.0/24"],
        enabled_cluster_log_types=LOGS,
        encryption_config_key_arn=KEY,
        authentication_mode="API",
        version="1.35",
        deletion_protection=True,
    ),
    "their-nodes": lambda n: eks.ManagedNodeGroup(
        f"{n}-mng",
        cluster=their_cluster(n),
        node_role_arn=ROLE,
        instance_types=["g5.xlarge"],
        gpu=True,
    ),
    # Inside of clusters.
    "right-plugin": plugin,
    "ten-slices": lambda n: plugin(n, data={"gpu": SHARING.replace("4", "10")}),
    "absent-config": lambda n: plugin(n, values={"config": {"name": "absent", "default": "gpu"}}),
    "absent-key": lambda n: plugin(n, values={"config": {"name": "sharing", "default": "mps"}}),
    "unpinned-chart": lambda n: plugin(n, version=None),
    "range-of-charts": lambda n: plugin(n, version="^0.20.0"),
    "another-chart": lambda n: chart(n, chart="nginx", version="1.2.3"),
    "unpinned-other": lambda n: chart(n, chart="nginx"),
    "late-values": lambda n: plugin(n, values={"config": {"name": late(n)}}),
    "right-binding": lambda n: binding(n, USER),
    "masters": lambda n: binding(n, MASTERS),
    "admins": lambda n: binding(n, USER, role="cluster-admin"),
    "admin-of-one": lambda n: binding(n, USER, role="cluster-admin", whole=False),
    "right-app": deployment,
    "no-toleration": lambda n: deployment(n, tolerations=[]),
    "privileged": lambda n: deployment(
        n, containers=[{"name": "a", "image": "a", "securityContext": {"privileged": True}}]
    ),
    "host-network": lambda n: deployment(n, hostNetwork=True, hostPID=True),
    "manifests": lambda n: objects(n, pod(n)),
    "wrong-manifests": lambda n: objects(n, pod(n, hostPID=True, tolerations=[])),
    "list-of-manifests": lambda n: objects(
        n, {"apiVersion": "v1", "kind": "List", "items": [pod(n), pod(f"{n}-2")]}
    ),
    "nothing": lambda n: aws.s3.Bucket(f"{n}-bucket"),
}


TOGETHER = [name for name in PROGRAMS if name not in {"late-taint", "late-values"}]
"""What can be one program. A rule on whole stacks stops at the others, wherever it has come to."""


def register_all() -> None:
    """All of them at once."""
    _shared.append(inside("apps"))
    try:
        for name in TOGETHER:
            PROGRAMS[name](name)
    finally:
        _shared.clear()


if __name__ == "__main__":
    register_all()
