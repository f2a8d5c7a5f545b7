"""Workspaces and collectors of Amazon's: where they are, what they reach, what is said of them."""

from __future__ import annotations

import json
import zipfile
from typing import Any

import botocore.session
import pytest
from aws_oracle.cloudformation import CFN_LINT, wheel
from finding_examples import findings

from eks_gpushare.catalog.managed_prometheus import COLLECTED, KEPT
from eks_gpushare.config.component_specs import GpuMetricsSpec
from eks_gpushare.rules.metrics_alone import COLLECTED_INPUTS, check_gpu_metrics

ARN = "arn:aws:aps:us-west-2:111122223333:workspace/ws-1"
KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"
MANAGED = {"metrics": "managedPrometheus"}
CODES = ("GPU880", "GPU881", "GPU885", "GPU897", "GPU988", "GPU989", "GPU990", "GPU991")
AT = "observability.prometheus"
PARTITIONS = ("aws", "aws-us-gov", "aws-cn")


def told(store: dict[str, Any], **more: Any) -> list[tuple[str, str, str]]:
    """Findings about a store that Amazon keeps: code, place and message."""
    block = {**MANAGED, **more.pop("block", {}), "prometheus": store}
    given = {"observability": block, **more}
    return [(code, *found) for code in CODES for found in findings(given, code)]


@pytest.mark.parametrize(
    "store",
    [
        {"install": True},
        {"install": True, "retentionDays": 150},
        {"install": True, "workspaceArn": ARN},
        {"workspaceArn": ARN},
    ],
)
def test_a_workspace_is_made_or_given(store: dict[str, Any]) -> None:
    assert told(store) == []


def test_what_a_key_needs_is_said_where_nobody_sees_it() -> None:
    assert told({"install": True, "kmsKeyArn": KEY}) == [
        (
            "GPU897",
            f"{AT}.kmsKeyArn",
            (
                "Nobody here sees what the policy of the key allows, and AWS's guide says that its "
                "collector writes to no workspace with a key of one's own."
            ),
        )
    ]


@pytest.mark.parametrize(("region", "service"), [("eu-west-1", "eu-west-1"), (None, "<region>")])
def test_what_the_policy_of_a_key_needs_is_of_the_region(region: str | None, service: str) -> None:
    key = KEY.replace("us-west-2", region or "us-west-2")
    (found,) = check_gpu_metrics(spec_in(region, kmsKeyArn=key), COLLECTED_INPUTS)

    assert f" kms:Decrypt by way of aps.{service}.amazonaws.com, " in found.fix


@pytest.mark.parametrize(
    ("store", "code", "at", "message"),
    [
        (
            {"install": True, "url": "http://prometheus:9090"},
            "GPU880",
            AT,
            "install and url are given, and metrics have one store.",
        ),
        (
            {"install": True, "workspaceArn": ARN.replace("us-west-2", "us-east-1")},
            "GPU988",
            f"{AT}.workspaceArn",
            "The workspace is in us-east-1, and the collector is made in us-west-2.",
        ),
        (
            {"install": True, "storageClass": "gp3"},
            "GPU991",
            f"{AT}.storageClass",
            "storageClass is of a Prometheus in the cluster, and a workspace has no volume.",
        ),
        (
            {"install": True, "workspaceArn": ARN, "retentionDays": 30},
            "GPU991",
            f"{AT}.retentionDays",
            "How long a workspace keeps series is said where it is made.",
        ),
        (
            {"install": True, "workspaceArn": ARN, "kmsKeyArn": KEY},
            "GPU991",
            f"{AT}.kmsKeyArn",
            "A key is of a workspace that the stack makes, and it makes none.",
        ),
        (
            {"workspaceArn": ARN, "kmsKeyArn": KEY},
            "GPU991",
            f"{AT}.kmsKeyArn",
            "A key is of a workspace that the stack makes, and it makes none.",
        ),
        (
            {"install": True, "kmsKeyArn": "mine"},
            "GPU991",
            f"{AT}.kmsKeyArn",
            '"mine" is not the ARN of a KMS key.',
        ),
        (
            {"install": True, "kmsKeyArn": KEY.split(":key/", maxsplit=1)[0] + ":alias/mine"},
            "GPU991",
            f"{AT}.kmsKeyArn",
            '"arn:aws:kms:us-west-2:111122223333:alias/mine" is an alias, and not a key.',
        ),
        (
            {"install": True, "kmsKeyArn": KEY.replace("us-west-2", "us-east-1")},
            "GPU991",
            f"{AT}.kmsKeyArn",
            "The key is in us-east-1, and the workspace in us-west-2.",
        ),
        (
            {"install": True, "kmsKeyArn": KEY.replace("aws:kms:us", "aws-us-gov:kms:us-gov")},
            "GPU991",
            f"{AT}.kmsKeyArn",
            "The key is in aws-us-gov, and the stack in another partition.",
        ),
    ],
)
def test_what_is_wrong_with_a_workspace(
    store: dict[str, Any], code: str, at: str, message: str
) -> None:
    assert told(store) == [(code, at, message)]


def test_a_volume_is_asked_for_in_the_cluster_alone() -> None:
    block = {"metrics": "prometheusOperator", "prometheus": {"install": True, "kmsKeyArn": KEY}}

    assert [code for code in CODES if findings({"observability": block}, code)] == [
        "GPU885",
        "GPU991",
    ]


@pytest.mark.parametrize(
    ("cluster", "at", "message"),
    [
        (
            {"endpoint": {"public": True, "publicCidrs": ["203.0.113.0/24"], "private": False}},
            "cluster.endpoint.private",
            "AWS's collector finds pods by the private endpoint, which is off.",
        ),
        (
            {"existing": {"kubeconfig": "kubeconfig"}},
            f"{AT}.install",
            "Of a cluster that is known by a kubeconfig nobody can say that it is one of EKS.",
        ),
    ],
)
def test_a_collector_has_to_reach_what_it_reads(
    cluster: dict[str, Any], at: str, message: str
) -> None:
    more = {"name": None, "version": None, "admins": None} if "existing" in cluster else {}
    without = {"network": None} if "existing" in cluster else {}
    given = {"cluster": {**more, **cluster}, **without}

    assert told({"install": True}, **given) == [("GPU989", at, message)]
    assert [code for code, _, _ in told({"workspaceArn": ARN}, **given)] == []


@pytest.mark.parametrize(
    ("interval", "short"), [("29s", True), ("15s", False), ("30s", False), ("1m", False)]
)
def test_what_is_shorter_than_the_collector_scrapes_is_said(interval: str, *, short: bool) -> None:
    found = told({"install": True}, block={"interval": interval})
    of_others = told({"workspaceArn": ARN}, block={"interval": interval})

    assert [(code, at) for code, at, _ in found] == short * [("GPU990", "observability.interval")]
    assert of_others == []


def spec_in(region: str | None, **store: Any) -> GpuMetricsSpec:
    pool = {"instanceTypes": ["g4dn.xlarge"], "sharing": {"mode": "exclusive"}}
    given = {**MANAGED, "prometheus": {"install": True, **store}, "region": region}
    return GpuMetricsSpec.model_validate({"pools": {"gpu": pool}, **given}, by_alias=True)


@pytest.mark.parametrize(
    ("region", "message"),
    [
        (None, None),
        ("eu-central-1", None),
        ("us-gov-west-1", "Amazon Managed Service for Prometheus has no collectors in "),
        ("cn-north-1", "Amazon Managed Service for Prometheus is not in "),
    ],
)
def test_a_region_without_it_is_told_by_name(region: str | None, message: str | None) -> None:
    found = list(check_gpu_metrics(spec_in(region), COLLECTED_INPUTS))

    assert [each.message for each in found if each.code == "GPU988"] == (
        [] if message is None else [f"{message}{region}."]
    )


@pytest.mark.parametrize(("region", "written"), [(None, "us-west-2"), ("eu-west-1", "eu-west-1")])
def test_how_a_key_is_written_is_said_for_the_region(region: str | None, written: str) -> None:
    (found,) = check_gpu_metrics(spec_in(region, kmsKeyArn="mine"), COLLECTED_INPUTS)

    assert found.fix == (
        f"Write arn:aws:kms:{written}:111122223333:key/<id>, or remove it for a key of AWS's own."
    )


def test_a_component_needs_the_cluster_that_is_collected_from() -> None:
    found = list(check_gpu_metrics(spec_in("us-west-2"), ("subnet_ids",)))

    assert [each.path for each in found] == ["cluster_arn", "security_group_ids"]


def test_regions_are_those_of_botocore() -> None:
    session = botocore.session.get_session()
    of = {name: set(session.get_available_regions("amp", name)) for name in PARTITIONS}

    assert of == {
        "aws": set(COLLECTED),
        "aws-us-gov": set(KEPT - COLLECTED),
        "aws-cn": set(),
    }


def test_collectors_are_where_cloudformation_makes_them() -> None:
    """It has no list of types for me-south-1, which botocore alone is asked of."""
    with zipfile.ZipFile(wheel(CFN_LINT)) as archive:
        folder = "cfnlint/data/schemas/providers/"
        files = [name for name in archive.namelist() if name.startswith(folder)]
        types = {
            name.removeprefix(folder).removesuffix(".json"): json.loads(archive.read(name))
            for name in files
            if name.endswith(".json")
        }
    known = {region for region in KEPT | {"cn-north-1", "cn-northwest-1"} if region in types}

    assert KEPT - known == {"me-south-1"}
    assert {each for each in known if "AWS::APS::Workspace" in types[each]} == KEPT - {"me-south-1"}
    assert {each for each in known if "AWS::APS::Scraper" in types[each]} == COLLECTED - {
        "me-south-1"
    }
