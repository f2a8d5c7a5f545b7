"""Every value of a document changes the stack file, or is in the list of what was left out."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from eks_gpushare.lint.dispatch import read_files
from eks_gpushare.lint.migration.migrate import Migration, migrate
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath

CLUSTER: Final = """
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: vision, region: us-east-1, version: "1.35", tags: {team: vision, floor: 3}}
availabilityZones: [us-east-1a, us-east-1b]
iam: {withOIDC: true}
vpc:
  cidr: 10.20.0.0/16
  nat: {gateway: Single, other: x}
  clusterEndpoints: {publicAccess: true, privateAccess: true, other: x}
  publicAccessCIDRs: [203.0.113.0/24, 7]
accessConfig:
  authenticationMode: API
  accessEntries:
    - principalARN: arn:aws:iam::1:role/a
      kubernetesGroups: [admins]
      accessPolicies:
        - policyARN: arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy
          accessScope: {type: cluster}
    - {principalARN: 'arn:aws:iam::1:role/b', accessPolicies: []}
managedNodeGroups:
  - name: system
    instanceType: m6i.large
    labels: {role: system}
    taints: [{key: a, value: b, effect: NoSchedule}]
    tags: {owner: a}
    spot: true
    volumeSize: 50
    minSize: 1
    maxSize: 3
    desiredCapacity: 2
    ami: ami-1
    amiFamily: Bottlerocket
    availabilityZones: [us-east-1b]
  - {name: other, instanceType: m6i.large, labels: {role: other}}
  - name: gpu
    instanceTypes: [g5.xlarge, m5.xlarge]
    spot: true
    maxPodsPerNode: 40
    volumeSize: 120
    volumeType: io1
    availabilityZones: [us-east-1a]
    minSize: 0
    maxSize: 3
    desiredCapacity: 1
    labels: {team: vision, nvidia.com/mig.config: all-1g.5gb}
    taints: [{key: b, effect: NoExecute}]
    tags: {k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu: "4", mine: x}
    amiFamily: AmazonLinux2
nodeGroups:
  - name: own
    instancesDistribution: {instanceTypes: [g5.xlarge], onDemandBaseCapacity: 1, maxPrice: 0.5}
    ami: ami-0123456789abcdef0
    amiFamily: AmazonLinux2023
  - name: block
    instanceType: p5.48xlarge
    instanceMarketOptions: {marketType: capacity-block, other: x}
    capacityReservation:
      capacityReservationPreference: open
      capacityReservationTarget: {capacityReservationID: cr-1, other: x}
"""
POOL: Final = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu, labels: {a: b}}
spec:
  weight: 5
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: 90s
    budgets: [{nodes: "1", schedule: 0 0 * * *, duration: 1h}]
  template:
    metadata: {labels: {team: vision, nvidia.com/gpu.present: "true"}, annotations: {e: f}}
    spec:
      expireAfter: 200h
      terminationGracePeriod: 1h
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
      startupTaints: [{key: a, value: b, effect: NoSchedule}]
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge], minValues: 1}
        - {key: node.kubernetes.io/instance-type, operator: NotIn, values: [g6.2xlarge]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand, reserved]}
        - {key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a], minValues: 1}
        - {key: topology.kubernetes.io/zone, operator: NotIn, values: [us-east-1b]}
  limits: {nvidia.com/gpu: 4, cpu: 16, memory: 200Gi}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: gpu, labels: {x: y}}
spec: {role: a, amiSelectorTerms: [{alias: al2023@latest}], tags: {a: b}}
"""
GROUP: Final = {
    "cluster_name": "vision",
    "node_group_name": "gpu",
    "node_role_arn": "arn:aws:iam::1:role/n",
    "subnet_ids": ["subnet-1", "subnet-2"],
    "instance_types": ["g5.xlarge"],
    "ami_type": "BOTTLEROCKET_x86_64_NVIDIA",
    "capacity_type": "SPOT",
    "disk_size": 120,
    "release_version": "1.35.1-20260101",
    "version": "${var.version}",
    "labels": {"team": "vision"},
    "tags": {"owner": "x"},
    "scaling_config": [{"min_size": 0, "max_size": 3, "desired_size": 1}],
    "update_config": [{"max_unavailable": 1}],
    "taint": [{"key": "a", "value": "b", "effect": "NO_EXECUTE"}],
    "lifecycle": [{"ignore_changes": ["scaling_config"]}],
}
_NAMES: Final = frozenset(("apiVersion", "kind", "name", "nodeClassRef"))
"""What tells objects apart, and says nothing of them."""
_GROUPS: Final = ("managedNodeGroups", "nodeGroups")


def leaves(value: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in inner:
        if isinstance(each, dict | list) and each:
            yield from leaves(each, (*path, key))
        else:
            yield (*path, key), each


def others(value: Any) -> Iterator[Any]:
    """Values in place of one, of which some other one changes whatever is made of it."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, 90, 1)
    elif isinstance(value, str):
        yield from (f"{value}x", "g6.xlarge")


def with_value(document: Any, path: FieldPath, value: Any) -> Any:
    changed = copy.deepcopy(document)
    target = changed
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    return changed


def without(document: Any, path: FieldPath) -> Any:
    changed = copy.deepcopy(document)
    target = changed
    for step in path[:-1]:
        target = target[step]
    del target[path[-1]]
    return changed


def made_of(documents: list[Any], *, new: bool) -> Migration:
    given = [GivenFile(f"{n}.json", json.dumps(each)) for n, each in enumerate(documents)]
    reading = read_files(given)
    return migrate(reading.items, classes=reading.classes, new=new)


def covers(left: FieldPath, what: str, path: FieldPath) -> bool:
    """Whether something listed is the value, or has it within."""
    a_whole_group = len(left) == len(("nodeGroups", 0)) and left[0] in _GROUPS
    told = not a_whole_group or what.startswith("the node group")
    return bool(left) and path[: len(left)] == left and told


@pytest.mark.parametrize(
    ("text", "new"), [(CLUSTER, False), (CLUSTER, True), (POOL, False)], ids=["to", "new", "pool"]
)
def test_every_value_is_in_the_stack_file_or_listed(text: str, new: bool) -> None:
    documents = list(yaml.safe_load_all(text))
    whole = made_of(documents, new=new)
    result = yaml.safe_load(whole.text)
    lost, asked = [], 0
    for number, document in enumerate(documents):
        for path, value in leaves(document):
            if _NAMES & set(path) or any(
                each.file == f"{number}.json" and covers(each.path, each.what, path)
                for each in whole.left
            ):
                continue
            asked += 1
            tried = [
                without(document, path),
                *(with_value(document, path, o) for o in others(value)),
            ]
            if not any(
                yaml.safe_load(made_of(_with(documents, number, each), new=new).text) != result
                for each in tried
            ):
                lost.append(path)

    assert lost == []
    assert asked >= 15


def test_every_value_of_a_group_of_terraform_is_in_the_stack_file_or_listed() -> None:
    def made(group: dict[str, Any]) -> Migration:
        text = json.dumps({"resource": {"aws_eks_node_group": {"gpu": group}}})
        reading = read_files([GivenFile("main.tf.json", text)])
        return migrate(reading.items, classes=reading.classes)

    whole = made(GROUP)
    result = yaml.safe_load(whole.text)
    lost = []
    for path, value in leaves(GROUP):
        if path[0] == "lifecycle" or any(covers(each.path, "", path) for each in whole.left):
            continue  # how Terraform goes about it is no part of the group
        tried = [without(GROUP, path), *(with_value(GROUP, path, other) for other in others(value))]
        if not any(yaml.safe_load(made(each).text) != result for each in tried):
            lost.append(path)

    assert lost == []
    assert result["config"]["eks-gpushare:environment"] == {
        "cluster": {"existing": {"name": "vision"}},
        "pools": {
            "gpu": {
                "instanceTypes": ["g5.xlarge"],
                "nodes": {"min": 0, "desired": 1, "max": 3},
                "capacityType": "spot",
                "rootVolumeGiB": 120,
                "amiVersion": "1.35.1-20260101",
                "subnetIds": ["subnet-1", "subnet-2"],
                "amiFamily": "bottlerocket",
                "labels": {"team": "vision"},
                "taints": [{"key": "a", "value": "b", "effect": "NoExecute"}],
                "sharing": {"mode": "exclusive"},
            }
        },
    }


def _with(documents: list[Any], number: int, changed: Any) -> list[Any]:
    return [*documents[:number], changed, *documents[number + 1 :]]
