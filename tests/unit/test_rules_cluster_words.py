"""What findings about a cluster advise, and how much of the internet is too much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from finding_examples import TODAY, base, checked, findings, stack_file_text

from eks_gpushare.catalog import Catalog, eks_versions, support
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.rules.cluster import arns
from eks_gpushare.rules.context import Context
from eks_gpushare.validation.parse import parse

if TYPE_CHECKING:
    from datetime import date


def fixes(fragment: dict[str, Any], code: str, today: date = TODAY) -> list[str]:
    text = stack_file_text(merge_values(base(), fragment))
    return [each.fix for each in checked(text, today).findings if each.code == code]


@pytest.mark.parametrize(
    ("version", "code", "later"),
    [
        ("1.29", "GPU602", "GPU602"),
        ("1.30", "GPU602", "GPU602"),
        ("1.33", "GPU603", "GPU602"),
        ("latest", "GPU601", "GPU601"),
    ],
)
def test_the_newest_version_in_standard_support_is_proposed(
    version: str, code: str, later: str
) -> None:
    given = {"cluster": {"version": version}}
    newest = max(each for each in eks_versions() if support(each, TODAY) == "standard")
    ended = max(each.extended_until for each in eks_versions().values() if each.extended_until)

    assert [f'"{newest}"' in fix for fix in fixes(given, code)] == [True]
    assert [f'"{max(eks_versions())}"' in fix for fix in fixes(given, later, ended)] == [True]


@pytest.mark.parametrize(
    ("region", "right"),
    [
        ("eu-west-1", "arn:aws:kms:eu-west-1:111122223333:key/<id>"),
        ("us-gov-west-1", "arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/<id>"),
        (None, "arn:aws:kms:us-west-2:111122223333:key/<id>"),
    ],
)
def test_a_key_is_written_like_one_of_the_region(region: str | None, right: str) -> None:
    environment = parse(merge_values(base(), {"cluster": {"secretsKeyArn": "key"}})).environment
    assert environment is not None
    found = arns(Context(environment, Catalog(), region, TODAY))

    assert [each.fix for each in found if each.code == "GPU612"] == [
        f"Write {right}, or remove it to get a new key."
    ]


@pytest.mark.parametrize(
    ("cidr", "meant"),
    [("office", "203.0.113.0/24"), ("8.8.8.8/24", "8.8.8.0/24"), ("8.8.8.8", "8.8.8.8/32")],
)
def test_a_network_is_written_like_the_one_that_was_meant(cidr: str, meant: str) -> None:
    endpoint = {"public": True, "publicCidrs": [cidr]}

    assert fixes({"cluster": {"endpoint": endpoint}}, "GPU330") == [f"Write it as {meant}."]


@pytest.mark.parametrize(
    ("cidrs", "message"),
    [
        ([f"{n}.0.0.0/8" for n in range(11, 23, 2)], ""),
        (
            [f"{n}.0.0.0/8" for n in range(11, 25, 2)],
            "Together the networks are one address in 31 of the whole internet.",
        ),
        (
            ["12.0.0.0/8", "13.0.0.0/8"],
            "Together the networks are 12.0.0.0/7, a large part of the internet.",
        ),
        (["8.8.8.0/25", "8.8.8.128/25"], ""),
    ],
)
def test_networks_are_not_too_much_of_the_internet_together(cidrs: list[str], message: str) -> None:
    expected = [("cluster.endpoint.publicCidrs", message)] if message else []
    endpoint = {"public": True, "publicCidrs": cidrs}

    assert findings({"cluster": {"endpoint": endpoint}}, "GPU608") == expected


@pytest.mark.parametrize(("count", "many"), [(40, False), (41, True)])
def test_eks_takes_so_many_networks(count: int, many: bool) -> None:
    endpoint = {"public": True, "publicCidrs": [f"8.8.{n}.0/24" for n in range(count)]}

    assert bool(findings({"cluster": {"endpoint": endpoint}}, "GPU330")) is many
