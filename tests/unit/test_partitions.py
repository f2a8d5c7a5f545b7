"""Partitions, against what botocore knows of them."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import findings

from eks_gpushare.catalog.partitions import PARTITIONS, partition_named, partition_of


def botocore_data(name: str) -> Any:
    loaders = pytest.importorskip("botocore.loaders", reason="botocore is not installed")
    return loaders.Loader().load_data(name)


def test_the_partitions_are_those_of_botocore() -> None:
    known = botocore_data("partitions")["partitions"]

    assert {each.id for each in PARTITIONS} == {each["id"] for each in known}


def test_a_region_is_in_the_partition_that_botocore_has_it_in() -> None:
    known = botocore_data("partitions")["partitions"]
    regions = {
        region: each["id"]
        for each in known
        for region in each["regions"]
        if not region.endswith("-global")
    }

    assert {region: partition_of(region).id for region in regions} == regions


@pytest.mark.parametrize("region", [None, "", "xx-new-1"])
def test_a_region_that_nobody_knows_is_taken_to_be_public(region: str | None) -> None:
    assert partition_of(region).id == "aws"


def test_a_partition_is_known_by_its_id() -> None:
    assert partition_named("aws-cn") is partition_of("cn-north-1")
    assert partition_named("aws-moon") is None


def gov(**cluster: Any) -> list[tuple[str, str]]:
    return findings({"cluster": {**cluster}}, "GPU321", region="us-gov-west-1")


def test_arns_of_another_partition_are_refused() -> None:
    key = "arn:aws:kms:us-gov-west-1:111122223333:key/1"
    role = "arn:aws:iam::111122223333:role/Agent"
    policy = "arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy"
    identities = {"a": {"roleArn": role}, "b": {"policyArns": [policy]}}
    found = gov(
        admins=["arn:aws-us-gov:iam::111122223333:role/Right", role],
        secretsKeyArn=key,
        logKeyArn=key,
        logRetentionDays=90,
        addons={"byName": {"adot": {"podIdentity": identities}}},
    )
    said = "is of the partition aws; us-gov-west-1 is in aws-us-gov."

    assert found == [
        ("cluster.admins[1]", f"{role} {said}"),
        ("cluster.secretsKeyArn", f"{key} {said}"),
        ("cluster.logKeyArn", f"{key} {said}"),
        ("cluster.addons.byName.adot.podIdentity.a.roleArn", f"{role} {said}"),
        ("cluster.addons.byName.adot.podIdentity.b.policyArns[0]", f"{policy} {said}"),
    ]


def test_a_boundary_of_another_partition_is_refused() -> None:
    boundary = "arn:aws-cn:iam::111122223333:policy/Boundary"

    assert findings({"iam": {"permissionsBoundary": boundary}}, "GPU321") == [
        (
            "iam.permissionsBoundary",
            f"{boundary} is of the partition aws-cn; us-west-2 is in aws.",
        )
    ]


@pytest.mark.parametrize("region", ["us-iso-east-1", "us-isob-east-1", "eusc-de-east-1"])
def test_a_partition_that_nobody_tried_is_refused(region: str) -> None:
    name = partition_of(region).name

    assert findings({}, "GPU322", region=region) == [
        (
            "cluster",
            f"{region} is a region of {name}, which this version does not build in.",
        )
    ]


@pytest.mark.parametrize("region", ["us-gov-east-1", "cn-northwest-1"])
def test_what_is_offered_is_not_known_in_other_partitions(region: str) -> None:
    assert findings({}, "GPU107", region=region) == []


def test_what_is_offered_is_known_in_the_public_one() -> None:
    assert [path for path, _ in findings({}, "GPU107", region="mx-central-1")] == [
        "pools.gpu.instanceTypes[0]"
    ]
