"""Values of another type than Karpenter's definitions have, and zones of another region."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_objects import CLASS, POOL
from foreign_reading import merged, read_with

from eks_gpushare.catalog.foreign_keys import karpenter_types, wrong_types
from eks_gpushare.manifests.readers.karpenter import KarpenterReader
from eks_gpushare.manifests.rules.zones import zones_elsewhere

KARPENTER = KarpenterReader()


def problems(value: dict[str, Any]) -> list[Any]:
    (read,) = read_with(KARPENTER, value)
    return list(read.judgements)


@pytest.mark.parametrize(
    ("place", "given", "message", "fix"),
    [
        ("spec__tags", [{"key": "a"}], "spec.tags is a list, not a mapping.", "Write a mapping."),
        (
            "spec__detailedMonitoring",
            "yes",
            "spec.detailedMonitoring is 'yes', not true or false.",
            "Write true or false.",
        ),
        (
            "spec__subnetSelectorTerms",
            {"id": "subnet-1"},
            "spec.subnetSelectorTerms is a mapping, not a list.",
            "Write a list.",
        ),
        (
            "spec__ipPrefixCount",
            "4",
            "spec.ipPrefixCount is '4', not a whole number.",
            "Write a whole number.",
        ),
        (
            "spec__ipPrefixCount",
            True,
            "spec.ipPrefixCount is true, not a whole number.",
            "Write a whole number.",
        ),
        ("spec__context", ["a"], "spec.context is a list, not text.", "Write text."),
        ("spec__context", 7, "spec.context is 7, not text.", 'Put it in quotes: "7".'),
        ("spec__context", True, "spec.context is true, not text.", 'Put it in quotes: "true".'),
    ],
)
def test_another_type_is_refused(place: str, given: Any, message: str, fix: str) -> None:
    found = problems(merged(CLASS, **{place: given}))

    assert [(each.rule.id, each.message, each.fix) for each in found] == [("GPU1053", message, fix)]


@pytest.mark.parametrize(
    ("place", "given"),
    [
        ("spec__detailedMonitoring", True),
        ("spec__detailedMonitoring", None),
        ("spec__detailedMonitoring", "${monitoring}"),
        ("spec__ipPrefixCount", 4),
        ("spec__ipPrefixCount", 4.0),
        ("spec__tags", {"team": "ml"}),
    ],
)
def test_what_may_be_of_its_type_is_let_be(place: str, given: Any) -> None:
    assert problems(merged(CLASS, **{place: given})) == []


def test_an_object_of_another_version_is_not_judged_by_its_types() -> None:
    old = merged(CLASS, apiVersion="karpenter.k8s.aws/v1beta1", spec__tags=["a"])

    assert "GPU1053" not in [each.rule.id for each in problems(old)]


@pytest.mark.parametrize(
    "given",
    [
        {"spec__weight": "10"},
        {"spec__replicas": "2", "spec__limits": {"nodes": 4}},
        {"spec__template__spec__taints": [{"key": "a", "value": True, "effect": "NoSchedule"}]},
        {"spec__disruption": {"consolidateAfter": "5m", "budgets": [{"nodes": 1}]}},
    ],
)
def test_each_is_told_once(given: dict[str, Any]) -> None:
    found = [each.rule.id for each in problems(merged(POOL, **given))]

    assert found.count("GPU1053") == 1


def test_an_item_of_a_list_has_a_type_too() -> None:
    (found,) = problems(merged(CLASS, spec__subnetSelectorTerms=["subnet-1"]))

    assert found.message == "spec.subnetSelectorTerms[0] is 'subnet-1', not a mapping."


def test_the_place_of_a_value_is_below_lists_and_mappings() -> None:
    types = {"a": "array", "a[]": "object", "a.b": "object", "a.b.c": "integer"}

    assert list(wrong_types({"a": [{"b": {"c": "x"}}, {"b": 1}]}, types)) == [
        (("a", 0, "b", "c"), "integer"),
        (("a", 1, "b"), "object"),
    ]
    assert list(wrong_types({"a": [1], "z": 2}, types)) == [(("a", 0), "object")]
    assert list(wrong_types({"a": [], "z": 2}, types)) == []
    assert karpenter_types("Deployment") == {}


def zoned(key: str, *zones: Any, operator: str = "In", group: str = "karpenter.k8s.aws") -> Any:
    requirement = {"key": key, "operator": operator, "values": list(zones)}
    pool = merged(
        POOL,
        spec__template__spec__requirements=[requirement],
        spec__template__spec__nodeClassRef={"group": group, "kind": "EC2NodeClass", "name": "x"},
    )
    (read,) = read_with(KARPENTER, pool)
    return list(zones_elsewhere(read.items, "us-west-2"))


ZONE, ID = "topology.kubernetes.io/zone", "topology.k8s.aws/zone-id"


def test_zones_of_another_region_are_told() -> None:
    (found,) = zoned(ZONE, "eu-west-1a", "eu-west-1b")

    assert found.rule.id == "GPU1264"
    assert found.path == ("spec", "template", "spec", "requirements", 0, "values")
    assert found.message == (
        "eu-west-1a, eu-west-1b is not of us-west-2, where the cluster is, so Karpenter launches "
        "no node for this pool."
    )
    assert found.fix == "Write zones of us-west-2."


@pytest.mark.parametrize(
    ("key", "zones"),
    [
        (ZONE, ["us-east-1-bos-1a"]),
        ("failure-domain.beta.kubernetes.io/zone", ["us-west-1b"]),
        (ID, ["use1-az4"]),
        ("topology.kubernetes.io/region", ["us-east-1"]),
    ],
)
def test_so_are_those_of_other_labels(key: str, zones: list[str]) -> None:
    assert len(zoned(key, *zones)) == 1
    assert len(zoned(key, *zones, group="eks.amazonaws.com")) == 1


@pytest.mark.parametrize(
    ("key", "zones", "operator"),
    [
        (ZONE, ["us-west-2a", "eu-west-1a"], "In"),
        (ZONE, ["us-west-2-lax-1a"], "In"),
        (ZONE, ["eu-west-1a"], "NotIn"),
        (ZONE, ["${zone}"], "In"),
        (ZONE, [3], "In"),
        (ZONE, [], "In"),
        (ID, ["usw2-az1"], "In"),
        ("example.com/zone", ["eu-west-1a"], "In"),
    ],
)
def test_zones_where_nodes_may_be_are_let_be(key: str, zones: list[Any], operator: str) -> None:
    assert zoned(key, *zones, operator=operator) == []


@pytest.mark.parametrize(
    ("region", "zone"),
    [
        ("ap-southeast-1", "apse1-az1"),
        ("ap-northeast-2", "apne2-az1"),
        ("us-gov-west-1", "usgw1-az1"),
        ("eu-central-1", "euc1-az2"),
    ],
)
def test_ids_of_zones_have_their_region_in_short(region: str, zone: str) -> None:
    requirement = {"key": ID, "operator": "In", "values": [zone]}
    (read,) = read_with(KARPENTER, merged(POOL, spec__template__spec__requirements=[requirement]))

    assert list(zones_elsewhere(read.items, region)) == []
    assert len(list(zones_elsewhere(read.items, "sa-east-1"))) == 1


def test_nodes_of_others_have_no_such_requirements() -> None:
    assert list(zones_elsewhere(["a"], "us-west-2")) == []
