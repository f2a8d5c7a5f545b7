"""What an item names and gives, for others wherever they lie."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from eks_gpushare.inventory.items import ConfigMap, NodeSet, Pointer, Release, Workload
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.node_classes import class_named
from eks_gpushare.lint.told_names import given_by, names_of
from eks_gpushare.manifests.texts import read_texts

HERE = Source("it")
GPU = "nvidia.com/gpu"
CAPABLE = ("label", "label nvidia.com/mps.capable=true")


def release(chart: str, values: Any) -> Release:
    return Release(source=HERE, name="r", chart=chart, values=values)


def config(count: int, *, renamed: bool = False) -> str:
    """A configuration of the device plugin that shares each GPU."""
    resources = [{"name": GPU, "replicas": count}, {"name": "nvidia.com/mig-1g.5gb", "replicas": 2}]
    sharing = {"timeSlicing": {"renameByDefault": renamed, "resources": resources}}
    return yaml.safe_dump({"version": "v1", "sharing": sharing})


@pytest.mark.parametrize(
    ("chart", "values", "named"),
    [
        ("nvidia-device-plugin", {"config": {"name": "a"}}, {("map", "a")}),
        ("nvidia-device-plugin", {"config": {"name": UNKNOWN}}, set()),
        ("nvidia-device-plugin", UNKNOWN, set()),
        ("nvidia-device-plugin", {"config": {"map": {"a": "mps: {}"}}}, {CAPABLE}),
        ("gpu-operator", {"devicePlugin": {"config": {"name": "a"}}}, {("map", "a")}),
        ("gpu-operator", {"config": {"name": "a", "map": {"a": "mps: {}"}}}, set()),
        ("gpu-operator", {"nfd": {"enabled": False}}, {("discovery", "nfd")}),
    ],
)
def test_what_a_release_names(chart: str, values: Any, named: set[tuple[str, str]]) -> None:
    assert set(names_of(release(chart, values))) == named


@pytest.mark.parametrize(("limits", "named"), [({GPU: 1}, {("shared", GPU)}), ({"cpu": 1}, set())])
def test_pods_that_ask_for_gpus_may_be_for_shares(
    limits: dict[str, int], named: set[tuple[str, str]]
) -> None:
    spec = {"containers": [{"name": "a", "resources": {"limits": limits}}]}

    assert set(names_of(Workload(source=HERE, name="w", kind="Job", spec=spec))) == named


@pytest.mark.parametrize(
    ("told", "named"),
    [
        ({"name": "far"}, {("cluster", "far")}),
        ({"server": "https://far.example.com"}, {("cluster", "https://far.example.com")}),
        ({"name": "in-cluster"}, set()),
        ({"server": "https://kubernetes.default.svc"}, set()),
        ({"name": UNKNOWN}, set()),
        ({}, set()),
    ],
)
def test_where_an_application_goes(told: dict[str, Any], named: set[tuple[str, str]]) -> None:
    of_argo = Pointer(source=HERE, kind="Application", name="a", spec={"destination": told})

    assert set(names_of(of_argo)) == named


def pool(more: str) -> NodeSet:
    """A NodePool, as it is read."""
    text = (
        f"apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: {{template: {{spec: {{{more}}}}}}}\n"
    )
    [document] = read_texts(text, "pool.yaml").documents
    return NodeSet(source=Source("p", document), name="p", provisioner="karpenter")


def test_a_pool_names_its_class() -> None:
    named = pool("nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}")

    assert set(names_of(named)) == {("class", class_named(named)), ("served", "karpenter")}
    assert set(names_of(pool("requirements: []"))) == {("served", "karpenter")}


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (config(2), {GPU, "nvidia.com/mig-1g.5gb"}),
        (config(1), set()),  # which the plugin refuses
        (config(4, renamed=True), set()),
        ("replicas: [", set()),
    ],
)
def test_what_a_configuration_gives_shares_of(text: str, given: set[str]) -> None:
    of_map = ConfigMap(source=HERE, name="m", data={"a": text})
    of_plugin = release("nvidia-device-plugin", {"config": {"map": {"a": text}}})

    assert {name for _, name in given_by(of_map)} == given
    assert {name for kind, name in given_by(of_plugin) if kind == "shared"} == given


def test_what_installs_nfd_gives_it() -> None:
    nfd = ("discovery", "nfd")

    assert nfd in set(given_by(release("gpu-operator", {})))
    assert nfd not in set(given_by(release("gpu-operator", {"nfd": {"enabled": False}})))
    assert nfd not in set(given_by(release("dcgm-exporter", {})))
