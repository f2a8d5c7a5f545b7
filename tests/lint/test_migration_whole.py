"""Nothing of eksctl's and Karpenter's documents is lost in silence: it is taken over or listed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_gpushare.lint.dispatch import read_files
from eks_gpushare.lint.migration.migrate import Migration, migrate
from eks_gpushare.manifests.files import GivenFile

CLUSTER: dict[str, Any] = yaml.safe_load(
    """
    apiVersion: eksctl.io/v1alpha5
    kind: ClusterConfig
    metadata: {name: vision, region: us-east-1, version: "1.35", tags: {team: vision}}
    vpc: {cidr: 10.20.0.0/16, nat: {gateway: Single}}
    accessConfig: {accessEntries: [{principalARN: 'arn:aws:iam::1:role/a', accessPolicies: []}]}
    managedNodeGroups:
      - name: gpu
        instanceTypes: [g5.xlarge]
        spot: true
        maxPodsPerNode: 40
        volumeSize: 120
        availabilityZones: [us-east-1a]
        minSize: 0
        maxSize: 3
    nodeGroups:
      - name: own
        instancesDistribution:
          instanceTypes: [g5.xlarge, g5.2xlarge]
          onDemandBaseCapacity: 0
          onDemandPercentageAboveBaseCapacity: 0
          spotInstancePools: 2
        amiFamily: AmazonLinux2
      - name: reserved
        instanceType: p4d.24xlarge
        capacityReservation: {capacityReservationTarget: {capacityReservationID: cr-1}}
    """
)
POOL: dict[str, Any] = yaml.safe_load(
    """
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: gpu}
    spec:
      weight: 5
      disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 90s, budgets: [{nodes: "1"}]}
      template:
        metadata: {labels: {team: vision}}
        spec:
          expireAfter: 200h
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
          requirements:
            - {key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}
            - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
            - {key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a]}
            - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      limits: {nvidia.com/gpu: 3}
    """
)
CLASS: dict[str, Any] = yaml.safe_load(
    """
    apiVersion: karpenter.k8s.aws/v1
    kind: EC2NodeClass
    metadata: {name: gpu}
    spec: {role: a, amiSelectorTerms: [{alias: al2023@latest}], kubelet: {maxPods: 30}}
    """
)


def made_of(*documents: dict[str, Any], new: bool = False) -> Migration:
    text = "---\n".join(yaml.safe_dump(each) for each in documents)
    reading = read_files([GivenFile("a.yaml", text)])
    return migrate(reading.items, classes=reading.classes, new=new)


def environment(made: Migration) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(made.text)["config"]["eks-gpushare:environment"]
    return found


def listed(made: Migration) -> str:
    return "\n".join(each.what for each in made.left)


def errors(made: Migration) -> list[str]:
    assert made.report is not None
    return [str(each) for each in made.report.findings if each.severity == "error"]


def test_the_cluster_is_the_one_that_is_there_unless_a_new_one_is_asked_for() -> None:
    made = made_of(CLUSTER)

    assert environment(made)["cluster"] == {"existing": {"name": "vision"}}
    assert "network" not in environment(made)
    assert {"cluster.version", "network"} <= {each.what for each in made.left}
    assert all(
        each.why == "It is the existing cluster's own; --new declares a cluster with it."
        for each in made.left
        if each.what in {"cluster.version", "network"}
    )
    new = made_of(CLUSTER, new=True)
    assert environment(new)["cluster"] == {"name": "vision", "version": "1.35"}
    assert environment(new)["network"]["cidr"] == "10.20.0.0/16"
    assert "cluster.version" not in listed(new)


def test_spot_stays_spot_and_room_zones_and_reservations_are_taken_over() -> None:
    pools = environment(made_of(CLUSTER))["pools"]

    assert pools["gpu"]["capacityType"] == "spot"
    assert pools["gpu"]["kubelet"] == {"maxPods": 40}
    assert pools["gpu"]["rootVolumeGiB"] == 120
    assert environment(made_of(CLUSTER, new=True))["pools"]["gpu"]["zones"] == ["us-east-1a"]
    assert "zones of the pool gpu: us-east-1a" in listed(made_of(CLUSTER))
    assert pools["own"]["capacityType"] == "spot"
    assert (pools["reserved"]["capacityType"], pools["reserved"]["reservation"]) == (
        "reserved",
        {"id": "cr-1"},
    )
    assert "the image AmazonLinux2" in listed(made_of(CLUSTER))
    assert "spotInstancePools of the node group own" in listed(made_of(CLUSTER))


def test_a_pool_of_karpenter_keeps_how_its_nodes_go() -> None:
    made = made_of(POOL, CLASS)
    pool = environment(made)["pools"]["gpu"]

    assert errors(made) == []
    assert pool["karpenter"] == {
        "weight": 5,
        "consolidationPolicy": "WhenEmpty",
        "consolidateAfter": "90s",
        "budgets": [{"nodes": "1"}],
        "expireAfter": "200h",
    }
    assert pool["capacityType"] == "spot"
    assert "zones of the pool gpu: us-east-1a" in listed(made)
    assert "the requirement kubernetes.io/arch" in listed(made)
    assert {"spec.role", "spec.amiSelectorTerms", "spec.kubelet"} <= {e.what for e in made.left}


def _with_a_key_everywhere(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """The value with a key that nobody knows, once in each of its mappings."""
    found: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        found.append((path, {**value, "unheardOf": {"x": 1}}))
        for key, each in value.items():
            found += [
                (at, {**value, key: inner}) for at, inner in _with_a_key_everywhere(each, key)
            ]
    elif isinstance(value, list):
        for index, each in enumerate(value):
            for at, inner in _with_a_key_everywhere(each, path):
                found.append((at, [*value[:index], inner, *value[index + 1 :]]))
    return found


KEYS: dict[str, list[str]] = json.loads(
    (Path(__file__).parent / "foreign" / "declared_keys.json").read_text("utf-8")
)
FREE = ("tags", "labels", "limits", "nat", "budgets", "requirements", "accessEntries")
"""Where any key is data, or the whole is taken over as it is or listed as it is."""
WHOLE = ("nodeClassRef", "capacityReservation", "capacityReservationTarget", "amiSelectorTerms")


@pytest.mark.parametrize("source", [CLUSTER, POOL, CLASS], ids=["cluster", "pool", "class"])
def test_a_key_that_nobody_knows_is_listed_wherever_it_stands(source: dict[str, Any]) -> None:
    others = [] if source is not CLASS else [POOL]
    tried = 0
    for place, changed in _with_a_key_everywhere(copy.deepcopy(source)):
        if place in (*FREE, *WHOLE):
            continue
        tried += 1
        made = made_of(changed, *others)
        within_spec = source is CLASS and place == "kubelet"  # listed as a whole
        assert "unheardOf" in listed(made) or within_spec, (place, listed(made))
    assert tried >= (2 if source is CLASS else 6)


VALUES: dict[str, Any] = {
    "ami": "marked",
    "amiFamily": "marked",
    "desiredCapacity": 1,
    "efaEnabled": True,
    "instancesDistribution": {"instanceTypes": ["g6.xlarge"], "spotInstancePools": 2},
    "instanceTypes": ["g6.xlarge"],
    "labels": {"marked": "x"},
    "maxPodsPerNode": 20,
    "maxSize": 4,
    "minSize": 1,
    "spot": True,
    "tags": {"marked": "x"},
    "taints": [{"key": "marked", "effect": "NoSchedule"}],
    "volumeSize": 300,
}
"""Of keys that are taken over."""


@pytest.mark.parametrize("kind", ["ClusterConfig", "ManagedNodeGroup", "NodeGroup"])
def test_each_key_of_eksctl_is_in_the_result_or_listed(kind: str) -> None:
    base = made_of(CLUSTER)
    for key in KEYS[kind]:
        changed = copy.deepcopy(CLUSTER)
        there = {"ClusterConfig": changed, "ManagedNodeGroup": changed["managedNodeGroups"][0]}
        target = there.get(kind, changed["nodeGroups"][1])
        if key in target:
            continue
        target[key] = VALUES.get(key, {"unheardOf": "marked"})
        made = made_of(changed)
        told = f"{listed(made)}{made.text}"
        assert key in listed(made) or "marked" in told or made.text != base.text, key


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ("NodePool", ("spec",)),
        ("NodePool template", ("spec", "template", "spec")),
        ("NodePool disruption", ("spec", "disruption")),
    ],
)
def test_each_key_of_a_node_pool_is_in_the_result_or_listed(
    keys: str, place: tuple[str, ...]
) -> None:
    for key in KEYS[keys]:
        changed = copy.deepcopy(POOL)
        target = changed
        for step in place:
            target = target[step]
        if key in target:
            continue
        target[key] = VALUES.get(key, "marked")
        made = made_of(changed, CLASS)
        assert key in listed(made) or "marked" in f"{listed(made)}{made.text}", key


def test_each_key_of_a_node_class_is_listed() -> None:
    for key in KEYS["EC2NodeClass"]:
        made = made_of(POOL, {**CLASS, "spec": {key: "marked"}})
        assert f"spec.{key}" in listed(made).splitlines(), key
