"""What a program leaves to default providers, and charts that nobody renders, in stack rules."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.program.policies.analyzer import run_pack
from eks_gpushare.program.recording import STACK_TYPE, Recording, Resource, package_config
from gpushare_policies import POLICIES

pytestmark = pytest.mark.sdk_internals

BASE = "urn:pulumi:dev::p::"
VOLUME = "aws:ebs/volume:Volume"
RIGHT = {"encrypted": True, "type": "gp3"}
TAGS: Any = {"tags-required": {"tags": {"team": "ml"}}}


def said(
    *resources: Resource, package: dict[str, dict[str, str]] | None = None, config: Any = None
) -> set[str]:
    """The rules that say something of resources."""
    root = Resource(f"{BASE}{STACK_TYPE}::p-dev", STACK_TYPE, "p-dev", custom=False)
    recording = Recording("p", "dev", resources=[root, *resources], package_config=package or {})
    return {each.policy for each in run_pack(POLICIES, recording, config=config)}


def made(token: str, name: str, inputs: dict[str, Any], **more: Any) -> Resource:
    """A resource, whose outputs are its inputs unless others are given."""
    return Resource(
        f"{BASE}{token}::{name}", token, name, inputs=inputs, **{"outputs": inputs, **more}
    )


def scaled(name: str, kind: str, key: str, **more: Any) -> Resource:
    """Something that scales a Deployment."""
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "serve"}, key: 4}
    return made(kind, name, {"metadata": {"name": name, "namespace": "ml"}, "spec": spec}, **more)


def test_default_providers_of_every_version_reach_one_cluster() -> None:
    own = scaled(
        "a", "kubernetes:autoscaling/v2:HorizontalPodAutoscaler", "maxReplicas",
        options={"version": "4.34.2"},
    )  # fmt: skip
    other = scaled("b", "kubernetes:keda.sh/v1alpha1:ScaledObject", "maxReplicaCount")

    assert "one-autoscaler-per-workload" in said(own, other)


def test_rules_on_stacks_see_the_values_of_a_chart_that_is_not_rendered() -> None:
    cluster = made("aws:eks/cluster:Cluster", "c", {"name": "main", "version": "1.35"})
    chart = made(
        "kubernetes:helm.sh/v4:Chart",
        "ca",
        {"chart": "cluster-autoscaler", "values": {"image": {"tag": "v1.31.2"}}},
        outputs={"resources": []},
        custom=False,
    )

    assert "cluster-autoscaler-agrees" in said(cluster, chart)


def test_tags_of_the_configuration_are_those_of_the_default_provider() -> None:
    package = package_config("p", {"aws:defaultTags": '{"tags": {"team": "ml"}}', "p:team": "x"})

    assert "tags-required" not in said(made(VOLUME, "v", RIGHT), package=package, config=TAGS)
    assert "tags-required" in said(made(VOLUME, "v", RIGHT), config=TAGS)


def test_tags_of_a_provider_of_ones_own_are_json() -> None:
    token = "pulumi:providers:aws"  # noqa: S105  (a type)
    provider = made(token, "mine", {"defaultTags": '{"tags": {"team": "ml"}}'})

    assert "tags-required" not in said(
        provider, made(VOLUME, "v", RIGHT, provider=provider.urn), config=TAGS
    )


def test_what_is_secret_in_the_configuration_is_not_handed_to_providers() -> None:
    config = {"aws:token": "x", "aws:region": "us-west-2", "p:a": "b"}

    assert package_config("p", config, ["aws:token"]) == {"aws": {"region": "us-west-2"}}
