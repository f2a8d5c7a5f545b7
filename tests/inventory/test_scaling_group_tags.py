"""What tags of an Auto Scaling group say of the nodes that it makes."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.inventory.scaling_groups import makes_nodes, promised, tells_of_nodes
from eks_gpushare.inventory.source import UNKNOWN

TEMPLATE = "k8s.io/cluster-autoscaler/node-template/"
RESOURCE = f"{TEMPLATE}resources/nvidia.com/gpu"
LABEL = f"{TEMPLATE}label/team"


@pytest.mark.parametrize(
    ("tags", "makes"),
    [
        ([("kubernetes.io/cluster/demo", "owned")], True),
        ([("k8s.io/cluster/demo", "owned")], True),
        ([("k8s.io/cluster-autoscaler/enabled", "true")], True),
        ([("Name", "web"), ("kubernetes.io/cluster/demo", "owned")], True),
        ([], False),
        ([("Name", "kubernetes.io/cluster/demo")], False),
        ([(UNKNOWN, "owned")], False),
        ([(1, "owned")], False),
    ],
)
def test_tags_tell_whether_instances_join_a_cluster(
    tags: list[tuple[Any, Any]], makes: bool
) -> None:
    assert makes_nodes(tags, "") is makes


@pytest.mark.parametrize(
    ("user_data", "makes"),
    [
        ("#!/bin/bash\n/etc/eks/bootstrap.sh ml\n", True),
        ("#!/bin/bash\n# /etc/eks/bootstrap.sh ml\n", False),
        ("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n", True),
        ("[settings.kubernetes]\ncluster-name = 'ml'\n", True),
        ("#!/bin/bash\nyum install nginx\n", False),
        ("", False),
        (UNKNOWN, False),
    ],
)
def test_user_data_tells_it_too(user_data: Any, makes: bool) -> None:
    assert makes_nodes([("Name", "web")], user_data) is makes


@pytest.mark.parametrize(
    ("tags", "resources"),
    [
        ([(RESOURCE, "4")], {"nvidia.com/gpu": "4"}),
        ([(RESOURCE, 4)], {"nvidia.com/gpu": "4"}),
        ([(RESOURCE, UNKNOWN)], {"nvidia.com/gpu": UNKNOWN}),
        ([(LABEL, "ml"), ("Name", "web"), (UNKNOWN, "4"), (1, "4")], {}),
    ],
)
def test_resources_are_those_of_tags(
    tags: list[tuple[Any, Any]], resources: dict[str, Any]
) -> None:
    assert promised(tags) == resources


@pytest.mark.parametrize(
    ("tags", "tells"),
    [
        ([(RESOURCE, "4")], True),
        ([("Name", "web"), (LABEL, "ml")], True),
        ([(UNKNOWN, "4")], True),
        ([], False),
        ([("Name", "web"), ("k8s.io/cluster-autoscaler/enabled", "true")], False),
    ],
)
def test_a_template_tells_of_nodes(tags: list[tuple[Any, Any]], tells: bool) -> None:
    assert tells_of_nodes(tags) is tells
