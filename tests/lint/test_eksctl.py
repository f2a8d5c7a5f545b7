"""eksctl's ClusterConfig: what goes into the inventory, and what is wrong in it."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_objects import CLUSTER, CONFIG
from foreign_reading import ids, merged, placed, problems, read_with

from eks_gpushare.inventory.items import NodeSet, NodeTaint
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.readers.eksctl import EksctlReader

EKSCTL = EksctlReader()
GROUP = "managedNodeGroups__0__"
OWN = "nodeGroups__0__"


def test_node_groups_become_nodes() -> None:
    (read,) = read_with(EKSCTL, CLUSTER)

    managed, own = read.items
    assert isinstance(managed, NodeSet)
    assert isinstance(own, NodeSet)
    assert managed.source.name == "the node group gpu"
    assert managed.instance_types == ("g5.xlarge", "g5.2xlarge")
    assert managed.promised == {"nvidia.com/gpu": "10"}
    assert (managed.provisioner, managed.least, managed.most) == ("managed", 0, 4)
    assert managed.taints == own.taints == (NodeTaint("nvidia.com/gpu", "true", "NoSchedule"),)
    assert (own.provisioner, own.instance_types) == ("selfManaged", ("p4d.24xlarge",))
    assert (own.least, own.most) == (2, 2)
    assert not read.judgements


def test_types_that_a_selector_chooses_are_not_known() -> None:
    given = merged(
        CONFIG, **{f"{GROUP}instanceTypes": ..., f"{GROUP}instanceSelector": {"gpus": 1}}
    )
    (read,) = read_with(EKSCTL, given)

    assert isinstance(read.items[0], NodeSet)
    assert read.items[0].instance_types is UNKNOWN


WAITED = {"k8s.amazonaws.com/accelerator": "nvidia-a10g"}
RIGHT: list[dict[str, Any]] = [
    CONFIG,
    merged(CONFIG, identityProviders=[{"type": "oidc", "name": "okta", "issuerURL": "https://o"}]),
    merged(CONFIG, **{f"{OWN}minSize": 0, f"{OWN}propagateASGTags": True, f"{OWN}labels": WAITED}),
    merged(CONFIG, **{f"{OWN}minSize": 0, f"{OWN}taints": ...}),
    merged(CONFIG, **{f"{GROUP}amiFamily": "Bottlerocket", f"{GROUP}bottlerocket": {}}),
    merged(CONFIG, **{f"{GROUP}amiFamily": "AmazonLinux2", "metadata__version": "1.32"}),
    merged(CONFIG, **{f"{GROUP}amiFamily": "AmazonLinux2", f"{GROUP}instanceTypes": ["m6i.large"]}),
    merged(
        CONFIG,
        **{
            f"{GROUP}amiFamily": "AmazonLinux2",
            f"{GROUP}ami": "ami-0123456789abcdef0",
            f"{GROUP}overrideBootstrapCommand": "/etc/eks/bootstrap.sh a",
        },
    ),
    merged(
        CONFIG,
        **{f"{GROUP}iam": {"withAddonPolicies": {"autoScaler": True}}, f"{GROUP}labels": WAITED},
    ),
    merged(CONFIG, **{f"{GROUP}privateNetworking": True, f"{GROUP}efaEnabled": True}),
    merged(CONFIG, **{f"{OWN}instanceType": "mixed", f"{OWN}instancesDistribution": {
        "instanceTypes": ["g5.xlarge"], "onDemandBaseCapacity": 0}}),
]  # fmt: skip


@pytest.mark.parametrize("value", RIGHT)
def test_right_files_pass(value: dict[str, Any]) -> None:
    assert ids(read_with(EKSCTL, value)) == []


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("GPU1069", merged(CONFIG, **{f"{GROUP}instanceTypes": ["p3.8xlarge"]})),
    ("GPU1069", merged(CONFIG, **{f"{OWN}instanceType": "g5.3xlarge"})),
    ("GPU1077", merged(CONFIG, **{f"{GROUP}labels": {"nvidia.com/gpu.product": "A10G"}})),
    ("GPU1070", merged(CONFIG, **{f"{GROUP}desiredSize": 1})),
    ("GPU1070", merged(CONFIG, **{f"{GROUP}diskSize": 100})),
    ("GPU1070", merged(CONFIG, **{f"{GROUP}label": {"a": "b"}})),
    ("GPU1070", merged(CONFIG, **{f"{GROUP}iam": {"withAddonPolicy": {}}})),
    ("GPU1070", merged(CONFIG, **{f"{OWN}instanceTypes": ["g5.xlarge"]})),
    ("GPU1070", merged(CONFIG, gpu={"enabled": True})),
    ("GPU1070", merged(CONFIG, metadata__zone="us-east-1a")),
    ("GPU1071", merged(CONFIG, **{f"{GROUP}instanceType": "g5.xlarge"})),
    ("GPU1071", merged(CONFIG, **{f"{GROUP}desiredCapacity": 9})),
    ("GPU1071", merged(CONFIG, **{f"{GROUP}minSize": 2})),
    ("GPU1071", merged(CONFIG, **{f"{GROUP}labels": {"gpu": True}})),
    ("GPU1071", merged(CONFIG, **{f"{GROUP}taints": [{"key": "a", "effect": "NO_SCHEDULE"}]})),
    ("GPU1071", merged(CONFIG, **{f"{GROUP}taints": [{"key": "a", "value": "b"}]})),
    ("GPU1071", merged(CONFIG, **{f"{GROUP}taints": {"nvidia.com/gpu": "true"}})),
    ("GPU1072", merged(CONFIG, **{f"{GROUP}amiFamily": "AmazonLinux2"})),
    ("GPU1072", merged(CONFIG, **{f"{GROUP}amiFamily": "AmazonLinux2", "metadata__version": ...})),
    ("GPU1073", merged(CONFIG, **{f"{OWN}minSize": 0, f"{OWN}desiredCapacity": 0})),
    ("GPU1073", merged(CONFIG, **{
        f"{OWN}minSize": 0, f"{OWN}desiredCapacity": 0, f"{OWN}taints": ...,
        f"{OWN}labels": {"a": "b"},
    })),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((5, 4, 3), ["minSize 5 is more than maxSize 3."]),
        ((2, 2, 1), ["minSize 2 is more than maxSize 1."]),
        ((3, 1, 2), ["minSize 3 is more than maxSize 2."]),
        ((0, 4, 3), ["desiredCapacity 4 is more than maxSize 3."]),
        ((2, 1, 3), ["desiredCapacity 1 is less than minSize 2."]),
        ((-1, 0, 1), ["minSize -1 is less than 0."]),
        ((-1, -2, 1), ["minSize -1 is less than 0.", "desiredCapacity -2 is less than 0."]),
        ((0, 0, 0), []),
    ],
)
def test_sizes_that_contradict_each_other_are_one_mistake(
    sizes: tuple[int, int, int], said: list[str]
) -> None:
    names = ("minSize", "desiredCapacity", "maxSize")
    own = dict(zip((f"{OWN}{name}" for name in names), sizes, strict=True))
    found = problems(read_with(EKSCTL, merged(CONFIG, **own)))

    assert [each.message for each in found if each.rule.id == "GPU1071"] == said


@pytest.mark.parametrize(("code", "value"), WRONG)
def test_one_thing_is_wrong(code: str, value: dict[str, Any]) -> None:
    assert ids(read_with(EKSCTL, value)) == [code]


@pytest.mark.parametrize("key", ["version", "tags", "region"])
def test_what_is_of_the_metadata_is_told_to_stand_there(key: str) -> None:
    (read,) = read_with(EKSCTL, merged(CONFIG, **{key: "a"}))
    (found,) = read.judgements

    assert isinstance(found, Problem)
    assert (found.message, found.fix) == (
        f"eksctl has no key {key}.",
        "Write it under metadata.",
    )
    assert not found.edits


def test_a_problem_stands_at_its_line() -> None:
    (problem,) = problems(read_with(EKSCTL, CLUSTER.replace("volumeSize", "diskSize")))

    assert placed(problem) == (10, 5)
    assert problem.fix == "Write volumeSize."
