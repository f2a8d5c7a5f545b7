"""Kubelets and images of nodes: Kubernetes' own policy, and what a pool declares."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.live.test_faults import HEALTHY, ROOT, STACK, gpu_node, objects_of, verdict

from eks_gpushare.config.pools import CustomAmi
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from eks_gpushare.lint.stack_side import Stack

GROUP, IMAGE = "eks.amazonaws.com/nodegroup", "eks.amazonaws.com/nodegroup-image"
NOT_PINNED = replace(
    STACK,
    plans={
        name: replace(plan, pool=plan.pool.model_copy(update={"ami_version": None}))
        for name, plan in STACK.plans.items()
    },
)


def told(
    kubelet: Any, server: str, stack: Stack | None = None, **info: Any
) -> list[tuple[str, str]]:
    cluster = copy.deepcopy(HEALTHY)
    gpu_node(cluster)["status"]["nodeInfo"].update(kubeletVersion=kubelet, **info)
    found = verdict_of(replace(objects_of(cluster), version=server), stack)
    return versions(found)


def versions(found: Any) -> list[tuple[str, str]]:
    findings = [cause.fault.finding for cause in found.causes]
    return [(each.severity, each.message) for each in findings if each.code == "GPU1308"]


@pytest.mark.parametrize(
    ("kubelet", "server", "severity", "said"),
    [
        # https://kubernetes.io/releases/version-skew-policy/#kubelet: of an API server of 1.35
        # kubelets of 1.35, 1.34, 1.33 and 1.32 are supported.
        ("v1.35.8-eks-1a2b3c4", "v1.35.4-eks-1a2b3c4", "", ""),
        ("v1.34.9", "v1.35.4", "warning", "its kubelet is 1.34.9, and the API server is 1.35.4."),
        ("v1.32.0", "v1.35.4", "warning", "its kubelet is 1.32.0, and the API server is 1.35.4."),
        ("v1.31.14", "v1.35.4", "error", "4 minor versions behind the API server"),
        ("v1.36.0", "v1.35.4", "error", "1.36.0, newer than the API server, which is 1.35.4"),
        ("v1.35.0", "v1.36.0+k3s1", "warning", "the API server is 1.36.0"),
        ("fake", "v1.35.4", "", ""),
        (None, "v1.35.4", "", ""),
        (["v1.31.0"], "v1.35.4", "", ""),
        ("v1.31.0", "", "", ""),
        ("v1.31.0", "unknown", "", ""),
    ],
)
def test_kubelets_go_with_the_api_server(
    kubelet: Any, server: str, severity: str, said: str
) -> None:
    found = told(kubelet, server)

    assert [each for each, _ in found] == ([severity] if severity else [])
    assert all(said in message for _, message in found)


@pytest.mark.parametrize(
    ("kubelet", "stack", "said"),
    [
        ("v1.35.8", STACK, ""),
        ("v1.35.7", STACK, "its kubelet is 1.35.7, and its pool declares an image with 1.35.8."),
        ("v1.34.0", NOT_PINNED, "its kubelet is 1.34.0, and the stack declares 1.35."),
        ("v1.35.1", NOT_PINNED, ""),
        # A dump does not say how new the API server is.
        ("v1.36.0", NOT_PINNED, ""),
    ],
)
def test_kubelets_are_of_what_the_stack_declares(kubelet: str, stack: Stack, said: str) -> None:
    found = told(kubelet, "", stack)

    assert [each for each, _ in found] == (["warning"] if said else [])
    assert all(said in message for _, message in found)


def test_the_control_plane_is_of_what_the_stack_declares() -> None:
    assert told("v1.35.8", "v1.36.1-eks-1a2b3c4", STACK) == [
        ("warning", "The API server is 1.36.1, and the stack declares 1.35.")
    ]


def second_node(cluster: list[Any], image: str, group: str) -> None:
    """Another node of the group, of an hour later."""
    made = copy.deepcopy(gpu_node(cluster))
    made["metadata"].update(name="gpu-1", creationTimestamp="2026-11-26T17:40:00Z", uid="gpu-1")
    made["metadata"]["labels"] |= {IMAGE: image, GROUP: group}
    cluster.append(made)


@pytest.mark.parametrize(
    ("image", "group", "said"),
    [
        ("ami-1", "gpushare-gpu-546bf12", []),
        ("ami-2", "gpushare-gpu-546bf12", ["ami-1, and younger nodes of its group have ami-2"]),
        ("ami-2", "gpushare-gpu-others", []),
    ],
)
def test_nodes_of_a_group_have_one_image(image: str, group: str, said: list[str]) -> None:
    cluster = copy.deepcopy(HEALTHY)
    gpu_node(cluster)["metadata"]["labels"][IMAGE] = "ami-1"
    second_node(cluster, image, group)
    found = versions(verdict(cluster, with_stack=False))

    assert len(found) == len(said)
    assert all(part in message for part, (_, message) in zip(said, found, strict=True))


def test_a_node_that_goes_is_not_judged() -> None:
    cluster = copy.deepcopy(HEALTHY)
    gpu_node(cluster)["status"]["nodeInfo"]["kubeletVersion"] = "v1.35.1"
    gpu_node(cluster)["metadata"]["deletionTimestamp"] = "2026-11-26T18:00:00Z"

    assert versions(verdict(cluster)) == []


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("Bottlerocket OS 1.65.0 (aws-k8s-1.35-nvidia)", []),
        ("Bottlerocket OS 1.64.0 (aws-k8s-1.35-nvidia)", ["warning"]),
        ("Bottlerocket OS (aws-k8s-1.35-nvidia)", []),
    ],
)
def test_bottlerocket_is_of_the_release_of_its_pool(image: str, said: list[str]) -> None:
    stack = read_stack(ROOT / "stacks" / "Pulumi.bottlerocket.yaml")
    cluster = copy.deepcopy(HEALTHY)
    gpu_node(cluster)["metadata"]["labels"]["eks-gpushare/pool"] = "slices"
    gpu_node(cluster)["status"]["nodeInfo"]["osImage"] = image
    found = versions(verdict_of(objects_of(cluster), stack))

    assert [severity for severity, _ in found] == said
    assert all("it runs Bottlerocket 1.64.0, and its pool declares 1.65.0-" in m for _, m in found)


@pytest.mark.parametrize("by", ["label", "NodeClaim"])
@pytest.mark.parametrize("image", ["ami-0aaaaaaaaaaaaaaaa", "ami-0bbbbbbbbbbbbbbbb"])
def test_an_image_of_one_s_own_is_that_of_the_pool(by: str, image: str) -> None:
    (name, plan), *_ = STACK.plans.items()
    given: Any = {"id": "ami-0aaaaaaaaaaaaaaaa", "family": "al2023", "driverIncluded": True}
    custom = {"ami_family": "custom", "ami_version": None, "custom_ami": CustomAmi(**given)}
    pool = plan.pool.model_copy(update=custom)
    stack = replace(STACK, plans={name: replace(plan, pool=pool)})
    cluster = copy.deepcopy(HEALTHY)
    found_at = gpu_node(cluster)["metadata"]["labels"]
    if by == "label":
        found_at[IMAGE] = image
    else:
        found_at["karpenter.sh/nodepool"] = "gpu"
        claim = {"kind": "NodeClaim", "apiVersion": "karpenter.sh/v1", "metadata": {"name": "one"}}
        cluster.append({**claim, "status": {"nodeName": "gpu-0", "imageID": image}})
    found = versions(verdict_of(objects_of(cluster), stack))

    assert bool(found) is (image != given["id"])
