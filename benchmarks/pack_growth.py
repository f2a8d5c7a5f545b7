"""Print what a resource takes to be judged, and in memory, as JSON: pack_growth.py RESOURCES.

A program of one cluster that goes on and on: node groups, Karpenter's pools and classes, device
plugin configurations, tenants, scalers and budgets, each of which names others of its kind.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
from time import process_time
from typing import Any

import pulumi_aws as aws
import pulumi_kubernetes as k8s
from measure import BYTES_OF_MAXRSS
from pulumi_kubernetes.apiextensions import CustomResource

from eks_gpushare.program.policies.analyzer import judge
from eks_gpushare.program.policies.pack_files import bundled_pack
from eks_gpushare.program.policies.packs import load_pack
from eks_gpushare.program.run import run_program

_EACH_TIME = 20
"""Resources that one turn of the program makes."""
_WORKLOADS = 8
_PLUGIN = (
    "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n"
)
_SCALING: Any = {"min_size": 0, "max_size": 3, "desired_size": 1}
_TAINT: Any = {"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}


def program(resources: int) -> None:
    """Register about so many resources."""
    role = aws.iam.Role("role", assume_role_policy="{}")
    vpc = aws.eks.ClusterVpcConfigArgs(subnet_ids=["subnet-1", "subnet-2"])
    cluster = aws.eks.Cluster("main", role_arn=role.arn, vpc_config=vpc, version="1.35")
    for number in range(resources // _EACH_TIME):
        _nodes(number, cluster, role)
        _karpenter(number)
        _tenant(number)


def _nodes(number: int, cluster: aws.eks.Cluster, role: aws.iam.Role) -> None:
    template = aws.ec2.LaunchTemplate(f"template-{number}", image_id="ami-1")
    launched: Any = {"id": template.id, "version": "1"}
    aws.eks.NodeGroup(
        f"nodes-{number}",
        cluster_name=cluster.name,
        node_role_arn=role.arn,
        subnet_ids=["subnet-1"],
        instance_types=["g5.xlarge"],
        ami_type="AL2023_x86_64_NVIDIA",
        launch_template=launched,
        scaling_config=_SCALING,
        labels={"pool": f"p{number}", "nvidia.com/device-plugin.config": f"config-{number}"},
        taints=[_TAINT],
    )
    metadata: Any = {"name": f"config-{number}", "namespace": "gpu"}
    data = {f"config-{number}": _PLUGIN}
    k8s.core.v1.ConfigMap(f"config-{number}", metadata=metadata, data=data)


def _custom(kind: str, version: str, number: int, spec: dict[str, Any], space: str = "") -> None:
    metadata: Any = {"name": f"{kind.lower()}-{number}", **({"namespace": space} if space else {})}
    CustomResource(metadata["name"], api_version=version, kind=kind, metadata=metadata, spec=spec)


def _karpenter(number: int) -> None:
    reference = {
        "group": "karpenter.k8s.aws",
        "kind": "EC2NodeClass",
        "name": f"ec2nodeclass-{number}",
    }
    types = {
        "key": "node.kubernetes.io/instance-type",
        "operator": "In",
        "values": ["g6.xlarge"],
    }
    nodes = {"nodeClassRef": reference, "requirements": [types]}
    template = {"metadata": {"labels": {"pool": f"k{number}"}}, "spec": nodes}
    pool = {"template": template, "limits": {"nvidia.com/gpu": "10"}}
    _custom("NodePool", "karpenter.sh/v1", number, pool)
    terms = [{"alias": "al2023@v20260101"}]
    _custom("EC2NodeClass", "karpenter.k8s.aws/v1", number, {"amiSelectorTerms": terms})
    pools = {"key": "karpenter.sh/nodepool", "operator": "In", "values": [f"nodepool-{number}"]}
    overlay = {"requirements": [pools], "capacity": {"nvidia.com/gpu": "4"}, "weight": number + 1}
    _custom("NodeOverlay", "karpenter.sh/v1alpha1", number, overlay)


def _tenant(number: int) -> None:
    space = f"team-{number}"
    k8s.core.v1.Namespace(f"namespace-{number}", metadata={"name": space})
    metadata: Any = {"name": "gpus", "namespace": space}
    hard: Any = {"hard": {"requests.nvidia.com/gpu": "4"}}
    k8s.core.v1.ResourceQuota(f"quota-{number}", metadata=metadata, spec=hard)
    ingress: Any = {"pod_selector": {}, "policy_types": ["Ingress"]}
    k8s.networking.v1.NetworkPolicy(f"network-{number}", metadata=metadata, spec=ingress)
    selected: Any = {"selector": {"app": "w0"}, "ports": [{"port": 80}]}
    k8s.core.v1.Service(f"service-{number}", metadata=metadata, spec=selected)
    budget: Any = {"selector": {"match_labels": {"app": "w0"}}, "min_available": 1}
    k8s.policy.v1.PodDisruptionBudget(f"budget-{number}", metadata=metadata, spec=budget)
    scaled = {"scaleTargetRef": {"name": "w0"}, "maxReplicaCount": 4, "triggers": []}
    _custom("ScaledObject", "keda.sh/v1alpha1", number, scaled, space)
    for workload in range(_WORKLOADS):
        _workload(number, workload, space)


def _workload(number: int, workload: int, space: str) -> None:
    limits = {"nvidia.com/gpu": "1", "cpu": "1", "memory": "1Gi"}
    labels = {"app": f"w{workload}"}
    k8s.apps.v1.Deployment(
        f"workload-{number}-{workload}",
        metadata={"name": f"w{workload}", "namespace": space},
        spec={
            "replicas": 2,
            "selector": {"match_labels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "node_selector": {"pool": f"{'pk'[workload % 2]}{number}"},
                    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                    "containers": [
                        {"name": "c", "image": "app:1", "resources": {"limits": limits}}
                    ],
                },
            },
        },
    )


def main(resources: int) -> None:
    """Judge one program, once."""
    gc.disable()  # as our command does
    pack = load_pack(bundled_pack())
    few = run_program(lambda: program(_EACH_TIME), project="p", stack="s", config={})
    judge(pack.policies, few, pack=pack.name, level=pack.level)  # what is imported only then
    began = _peak()
    recording = run_program(lambda: program(resources), project="p", stack="s", config={})
    if recording.error is not None:
        raise SystemExit(str(recording.error))
    started = process_time()
    judge(pack.policies, recording, pack=pack.name, level=pack.level)
    number = len(recording.resources)
    seconds = (process_time() - started) / number
    print(json.dumps({"seconds": seconds, "bytes": (_peak() - began) / number}))


def _peak() -> int:
    return BYTES_OF_MAXRSS * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main(int(sys.argv[1]))
