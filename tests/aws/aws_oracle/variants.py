"""Environments beyond those in stacks/: one for each way in which what AWS is asked for differs."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[3]
_AMI = "1.35.8-20260930"
_SHARED = {"mode": "timeSlicing", "replicas": 4}
_POOL: dict[str, Any] = {
    "instanceTypes": ["g6.2xlarge"],
    "nodes": {"min": 0, "desired": 1, "max": 2},
    "amiVersion": _AMI,
    "sharing": _SHARED,
}
_ADMIN = "arn:aws:iam::111122223333:role/Platform"
_BASE: dict[str, Any] = {
    "cluster": {"name": "demo", "version": "1.35", "admins": [_ADMIN], "deletionProtection": False},
    "network": {"zones": ["us-west-2a", "us-west-2b"]},
    "pools": {"gpu": _POOL},
    "tags": {"team": "ml"},
}


@dataclass(frozen=True)
class Variant:
    """A stack by what is changed of the plainest one; None removes a key."""

    changes: Mapping[str, Any] = field(default_factory=dict)
    region: str = "us-west-2"

    def environment(self) -> dict[str, Any]:
        """The content of `eks-gpushare:environment`."""
        return _changed(copy.deepcopy(_BASE), self.changes)


def _changed(base: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    for path, value in changes.items():
        *way, last = path.split(".")
        place = base
        for key in way:
            place = place.setdefault(key, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return base


def _pool(**changes: Any) -> dict[str, Any]:
    return {"pools": {"gpu": {key: v for key, v in {**_POOL, **changes}.items() if v is not None}}}


_VPC = {
    "vpcId": "vpc-0a1b2c3d4e5f60718",
    "privateSubnetIds": ["subnet-0a1b2c3d4e5f60718", "subnet-0a1b2c3d4e5f60719"],
    "publicSubnetIds": ["subnet-0a1b2c3d4e5f60720", "subnet-0a1b2c3d4e5f60721"],
}
_EXISTING = {"existing": {"name": "theirs"}}
_RESERVATION = {"id": "cr-0123456789abcdef0"}
_P4D = {"instanceTypes": ["p4d.24xlarge"], "sharing": {"mode": "exclusive"}}
_IMAGE = "ami-0123456789abcdef0"
_LONGEST = "a" * 28

VARIANTS: Mapping[str, Variant] = {
    "admins none": Variant({"cluster.admins": []}),
    "admins of every form": Variant(
        {
            "cluster.admins": [
                _ADMIN,
                "arn:aws:iam::111122223333:user/Someone",
                "arn:aws:iam::111122223333:role/teams/ml/Platform",
                "arn:aws:iam::444455556666:role/Platform",
            ]
        }
    ),
    "arm64": Variant(
        {
            **_pool(instanceTypes=["g5g.4xlarge"]),
            "system": {"instanceTypes": ["m7g.large"]},
        }
    ),
    "autoscaler": Variant(_pool(scaledBy="autoscaler")),
    "Bottlerocket, newest": Variant(_pool(amiFamily="bottlerocket", amiVersion=None)),
    "Bottlerocket with MIG": Variant(
        _pool(
            amiFamily="bottlerocket",
            amiVersion=None,
            instanceTypes=["p4d.24xlarge"],
            sharing={"mode": "mig", "layout": "all-1g.5gb", "strategy": "single"},
        )
    ),
    "capacity block": Variant(
        _pool(**_P4D, capacityType="capacityBlock", reservation=_RESERVATION, zones=["us-west-2b"])
    ),
    "custom AMI": Variant(
        _pool(
            amiFamily="custom",
            amiVersion=None,
            customAmi={"id": _IMAGE, "family": "al2023", "driverIncluded": True},
        )
    ),
    "custom Bottlerocket AMI": Variant(
        _pool(
            amiFamily="custom",
            amiVersion=None,
            customAmi={"id": _IMAGE, "family": "bottlerocket", "driverIncluded": True},
        )
    ),
    "deletion protection": Variant({"cluster.deletionProtection": True}),
    "EBS CSI driver": Variant({"cluster.addons": {"ebsCsi": True}}),
    "EFA": Variant(_pool(**_P4D, efa=True, zones=["us-west-2b"])),
    "EFA with a placement group": Variant(
        _pool(
            instanceTypes=["p5.48xlarge"],
            sharing={"mode": "exclusive"},
            efa=True,
            placementGroup=True,
            zones=["us-west-2b"],
        )
    ),
    "endpoint public": Variant(
        {"cluster.endpoint": {"public": True, "publicCidrs": ["203.0.113.0/24"]}}
    ),
    "existing cluster": Variant({"cluster": _EXISTING, "network": None}),
    "existing cluster, EFA": Variant(
        {
            **_pool(**_P4D, efa=True, subnetIds=["subnet-0a1b2c3d4e5f60718"]),
            "cluster": _EXISTING,
            "network": None,
        }
    ),
    "existing VPC": Variant({"network": _VPC}),
    "existing VPC, EFA": Variant(
        {**_pool(**_P4D, efa=True, subnetIds=["subnet-0a1b2c3d4e5f60718"]), "network": _VPC}
    ),
    "extended support": Variant({"cluster.supportType": "extended"}),
    "flow logs": Variant({"network.flowLogs": True}),
    "fractional GPUs": Variant(_pool(instanceTypes=["g6f.xlarge"], sharing={"mode": "exclusive"})),
    "GPU operator": Variant(
        {
            **_pool(**_P4D | {"sharing": {"mode": "mig", "layout": "all-balanced"}}),
            "gpuStack": {"manager": "gpuOperator"},
        }
    ),
    "hop limit of two": Variant(_pool(metadataHopLimit=2, nodeRepair=False)),
    "instances tagged": Variant(_pool(tagInstances=True)),
    "key given": Variant(
        {
            "cluster.secretsKeyArn": (
                "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"
            )
        }
    ),
    "labels and taints": Variant(
        _pool(
            labels={"example.com/team": "ml", "tier": "gpu"},
            taints=[
                {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"},
                {"key": "workload", "value": "training", "effect": "NoExecute"},
                {"key": "spare", "value": "", "effect": "PreferNoSchedule"},
            ],
        )
    ),
    "long names": Variant(
        {
            "pools": {_LONGEST: _POOL},
            "cluster.name": "c" * 100,
        }
    ),
    "managed Prometheus": Variant(
        {"observability": {"metrics": "managedPrometheus", "prometheus": {"install": True}}}
    ),
    "managed Prometheus, key given": Variant(
        {
            "observability": {
                "metrics": "managedPrometheus",
                "prometheus": {
                    "install": True,
                    "kmsKeyArn": (
                        "arn:aws:kms:us-west-2:111122223333:key/"
                        "11111111-2222-3333-4444-555555555555"
                    ),
                },
            },
        }
    ),
    "NAT per zone": Variant(
        {"network": {"zones": ["us-west-2a", "us-west-2b", "us-west-2c"], "natGateways": "perZone"}}
    ),
    "newest AMI": Variant(_pool(amiVersion=None)),
    "a queue that wakes a workload": Variant(
        {
            "keda": {"prometheus": {"url": "http://prometheus:9090", "exporter": "existing"}},
            "workloads": {
                "model": {
                    "pool": "gpu",
                    "image": "registry.example/model:1",
                    "autoStop": True,
                    "useQuery": "requests_under_way",
                    "wake": {"queue": "arn:aws:sqs:us-west-2:111122223333:jobs"},
                }
            },
        }
    ),
    "KEDA with a workspace": Variant(
        {
            "keda": {
                "prometheus": {
                    "workspaceArn": "arn:aws:aps:us-west-2:111122223333:workspace/ws-1a2b3c4d"
                }
            },
            "workloads": {
                "model": {
                    "pool": "gpu",
                    "image": "model:1",
                    "useQuery": "x",
                    "replicas": {"max": 2},
                }
            },
            "iam": {"path": "/teams/ml/"},
        }
    ),
    "Karpenter": Variant(
        {
            **_pool(provisioner="karpenter", nodes={"max": 4}),
            "iam": {"path": "/teams/ml/"},
        }
    ),
    "Karpenter, EFA": Variant(
        {
            **_pool(
                instanceTypes=["p5.48xlarge"],
                sharing={"mode": "exclusive"},
                provisioner="karpenter",
                nodes={"max": 4},
                efa=True,
                placementGroup=True,
                zones=["us-west-2b"],
            ),
            "karpenter": {"interruptionQueue": False, "namespace": "karpenter"},
        }
    ),
    "Karpenter, existing cluster": Variant(
        {
            **_pool(provisioner="karpenter", nodes={"max": 4}),
            "cluster": _EXISTING,
            "network": None,
            "karpenter": {"nodeRole": "arn:aws:iam::111122223333:role/gpu-nodes"},
        }
    ),
    "Karpenter, long names": Variant(
        {
            "pools": {_LONGEST: {**_POOL, "provisioner": "karpenter", "nodes": {"max": 4}}},
            "cluster.name": "c" * 100,
        }
    ),
    "no nodes at first": Variant(_pool(nodes={"min": 0, "desired": 0, "max": 4})),
    "reservation": Variant(
        _pool(**_P4D, capacityType="reserved", reservation=_RESERVATION, zones=["us-west-2b"])
    ),
    "smallest network": Variant({"network.cidr": "10.1.0.0/20"}),
    "spot": Variant(_pool(instanceTypes=["g6.4xlarge", "g6.2xlarge"], capacityType="spot")),
    "tags none": Variant({"tags": None}),
    "account rules": Variant(
        {
            "iam": {
                "permissionsBoundary": "arn:aws:iam::111122223333:policy/teams/Boundary",
                "path": "/teams/ml/",
            },
            "network.flowLogs": True,
            "cluster.addons": {"ebsCsi": True},
        }
    ),
    "Cluster Autoscaler": Variant(
        {
            **_pool(scaledBy="autoscaler", nodes={"min": 0, "desired": 0, "max": 4}),
            "clusterAutoscaler": {},
        }
    ),
    "Cluster Autoscaler, existing cluster": Variant(
        {
            **_pool(**_P4D, scaledBy="autoscaler", subnetIds=["subnet-0a1b2c3d4e5f60718"]),
            "clusterAutoscaler": {"namespace": "scaling"},
            "cluster": _EXISTING,
            "network": None,
        }
    ),
    "CloudWatch for metrics": Variant({"observability": {"metrics": "cloudwatch"}}),
    "control plane logs": Variant(
        {
            "cluster.logRetentionDays": 90,
            "cluster.logKeyArn": (
                "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"
            ),
        }
    ),
    "further add-ons": Variant(
        {
            "cluster.addons": {
                "prefixDelegation": True,
                "byName": {
                    "amazon-cloudwatch-observability": {
                        "version": "v5.5.0-eksbuild.1",
                        "values": {"containerLogs": {"enabled": False}},
                        "podIdentity": {
                            "cloudwatch-agent": {
                                "policyArns": [
                                    "arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy"
                                ]
                            }
                        },
                    },
                    "snapshot-controller": {},
                },
            }
        }
    ),
    "nodes as told": Variant(
        {
            **_pool(
                kubelet={"maxPods": 58, "systemReserved": {"cpu": "200m"}},
                userData=[{"contentType": "text/x-shellscript", "content": "#!/bin/sh\ntrue\n"}],
                maxUnavailable="33%",
                localStorage="raid0",
                waitForDriver=True,
            ),
            "system": {"maxUnavailable": 2, "kubelet": {"maxPods": 110}},
        }
    ),
    "roles given": Variant(
        {
            **_pool(nodeRole="arn:aws:iam::111122223333:role/gpu-nodes"),
            "system": {"nodeRole": "arn:aws:iam::111122223333:role/nodes"},
        }
    ),
    "zones counted": Variant({"network": {"zones": 3}}),
    "China": Variant(
        {
            "cluster.admins": ["arn:aws-cn:iam::111122223333:role/Platform"],
            "network": {"zones": ["cn-north-1a", "cn-north-1b"], "flowLogs": True},
            "cluster.addons": {"ebsCsi": True},
            "karpenter": {},
            **_pool(instanceTypes=["g4dn.xlarge"]),
        },
        region="cn-north-1",
    ),
    "GovCloud": Variant(
        {
            "cluster.admins": ["arn:aws-us-gov:iam::111122223333:role/Platform"],
            "network": {"zones": ["us-gov-west-1a", "us-gov-west-1b"], "flowLogs": True},
            "cluster.addons": {"ebsCsi": True},
            "karpenter": {},
            "clusterAutoscaler": {},
            **_pool(instanceTypes=["g4dn.xlarge"], scaledBy="autoscaler"),
        },
        region="us-gov-west-1",
    ),
}
"""By what they are for."""

STACKS = sorted(path.name.split(".")[1] for path in (ROOT / "stacks").glob("Pulumi.*.yaml"))
NAMES = [*STACKS, *VARIANTS]
"""All there are, the stacks of this repository first."""
TRIED = (
    *("bottlerocket", "cluster-autoscaler", "exclusive", "gpu-operator", "karpenter-mig", "prod"),
    *("spot-fallback", "account rules", "capacity block", "China", "control plane logs"),
    *("Cluster Autoscaler, existing cluster", "custom AMI", "EFA with a placement group"),
    *("existing cluster", "existing cluster, EFA", "existing VPC", "further add-ons", "GovCloud"),
    *("instances tagged", "Karpenter, long names", "KEDA with a workspace", "key given"),
    *("managed Prometheus, key given", "labels and taints", "nodes as told", "reservation"),
    *("roles given", "spot", "tenants"),
)
"""Those that are tried for every change. Between them they make every call with every member that
any makes, in every partition; the others are tried at night."""
CARRIED_OUT = (
    *("karpenter-mig", "prod", "China", "EFA with a placement group", "existing cluster, EFA"),
    *("existing VPC", "GovCloud", "managed Prometheus, key given", "roles given", "tenants"),
)
"""Those of them that are carried out in an account for every change, which takes a while. Between
them they make every call that any makes of a type of resources, in every partition."""


def often(names: Sequence[str], every: int = 1, among: Sequence[str] = TRIED) -> list[Any]:
    """Names as parameters of a test, those that are tried at night marked.

    Args:
        names: Of stacks and variants.
        every: Of those that a change is tried with, one of so many.
        among: Those that a change is tried with.
    """
    marks = pytest.mark.at_length
    now = among[::every]
    return [name if name in now else pytest.param(name, marks=marks) for name in names]
