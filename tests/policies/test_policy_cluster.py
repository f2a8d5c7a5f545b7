from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy.proxy import (
    UNKNOWN_ARRAY_VALUE,
    UNKNOWN_OBJECT_VALUE,
    UNKNOWN_STRING_VALUE,
    UnknownValueError,
)

from eks_gpushare.facts.public_networks import network_of, reaches_everybody
from eks_gpushare.inventory.control_plane import covered
from gpushare_policies.registry import THEMES
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.rules.cluster import version_in_standard_support
from gpushare_policies.rules.cluster.api_authentication import API_AUTHENTICATION
from gpushare_policies.rules.cluster.control_plane_logs import CONTROL_PLANE_LOGS
from gpushare_policies.rules.cluster.deletion_protection import DELETION_PROTECTION
from gpushare_policies.rules.cluster.endpoints import PRIVATE_ENDPOINT_ON, PUBLIC_ENDPOINT_NOT_OPEN
from gpushare_policies.rules.cluster.secrets_encrypted import SECRETS_ENCRYPTED
from gpushare_policies.rules.cluster.standard_upgrade_policy import STANDARD_UPGRADE_POLICY
from gpushare_policies.rules.cluster.version_in_standard_support import VERSION_SUPPORTED, today
from gpushare_policies.tokens import AWS_CLUSTER, EKS_CLUSTER

if TYPE_CHECKING:
    from collections.abc import Callable


# What AWS gets is judged, whatever component it comes from: one mistake is said once.
BOTH = pytest.mark.parametrize("token", [AWS_CLUSTER])
RAW_PATHS = {
    "endpointPublicAccess": ("vpcConfig", "endpointPublicAccess"),
    "publicAccessCidrs": ("vpcConfig", "publicAccessCidrs"),
    "endpointPrivateAccess": ("vpcConfig", "endpointPrivateAccess"),
    "authenticationMode": ("accessConfig", "authenticationMode"),
    "supportType": ("upgradePolicy", "supportType"),
}
COMPONENT_PATHS = {"supportType": ("upgradePolicy", "supportType")}
ABSENT = object()
OF_A_CLUSTER = [
    rule
    for rule in THEMES["cluster"]
    if isinstance(rule, ResourcePolicy) and AWS_CLUSTER in rule.applies_to
]


@pytest.fixture
def broken(valid: Callable[[str], dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """`broken(token, key, value)` is a valid cluster with one setting changed or left out."""

    def change(token: str, key: str, value: object = ABSENT) -> dict[str, Any]:
        props = valid(token)
        paths = RAW_PATHS if token == AWS_CLUSTER else COMPONENT_PATHS
        *parents, last = paths.get(key, (key,))
        target = props
        for parent in parents:
            target = target[parent]
        if value is ABSENT:
            del target[last]
        else:
            target[last] = value
        return props

    return change


def _open(found: str) -> str:
    return (
        f"The public API endpoint of gpu is open to the world: {found}. It must name the networks "
        f"that may use it. Set `vpcConfig.publicAccessCidrs` to them, or "
        f"`vpcConfig.endpointPublicAccess: false`."
    )


@BOTH
@pytest.mark.parametrize(
    ("cidrs", "shown"),
    [
        (["0.0.0.0/0"], "[0.0.0.0/0]"),
        (["203.0.113.0/24", "::/0"], "[203.0.113.0/24, ::/0]"),
        (["0.0.0.0/1", "128.0.0.0/1"], "[0.0.0.0/1, 128.0.0.0/1]"),
    ],
)
def test_a_public_endpoint_for_the_world_is_refused(
    token: str,
    cidrs: list[str],
    shown: str,
    broken: Callable[..., dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = broken(token, "publicAccessCidrs", cidrs)

    assert violations(PUBLIC_ENDPOINT_NOT_OPEN, token, props) == [_open(f"{shown} may use it")]


@BOTH
@pytest.mark.parametrize("cidrs", [ABSENT, []])
def test_a_public_endpoint_without_networks_is_the_world(
    token: str,
    cidrs: object,
    broken: Callable[..., dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = broken(token, "publicAccessCidrs", cidrs)

    assert violations(PUBLIC_ENDPOINT_NOT_OPEN, token, props) == [
        _open("no network is named, which EKS takes for 0.0.0.0/0")
    ]


@BOTH
def test_an_endpoint_that_says_nothing_is_public(
    token: str, broken: Callable[..., dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = broken(token, "endpointPublicAccess")
    (props["vpcConfig"] if token == AWS_CLUSTER else props)["publicAccessCidrs"] = ["0.0.0.0/0"]

    assert violations(PUBLIC_ENDPOINT_NOT_OPEN, token, props) == [_open("[0.0.0.0/0] may use it")]


@BOTH
def test_networks_do_not_matter_where_the_endpoint_is_not_public(
    token: str, broken: Callable[..., dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = broken(token, "endpointPublicAccess", value=False)
    (props["vpcConfig"] if token == AWS_CLUSTER else props)["publicAccessCidrs"] = ["0.0.0.0/0"]

    assert violations(PUBLIC_ENDPOINT_NOT_OPEN, token, props) == []


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("203.0.113.0/24", "203.0.113.0/24"),
        ("203.0.113.7/24", "203.0.113.0/24"),
        (" 203.0.113.0/255.255.255.0", "203.0.113.0/24"),
        ("203.0.113.7", "203.0.113.7/32"),
        ("::ffff:203.0.113.0/120", "203.0.113.0/24"),
        ("::ffff:255.255.255.255", "255.255.255.255/32"),
        ("::/0", "::/0"),
        ("2001:db8::1/32", "2001:db8::/32"),
        ("everybody", "None"),
    ],
)
def test_networks_are_read_as_aws_reads_them(text: str, network: str) -> None:
    assert str(network_of(text)) == network


@pytest.mark.parametrize(
    ("cidrs", "said"),
    [
        (["0.0.0.0/0"], "the whole internet"),
        (["128.0.0.0/1", "0.0.0.0/1", "10.0.0.0/8"], "the whole internet"),
        (["::ffff:0:0/96"], "the whole internet"),
        (["2000::/3"], "the whole internet"),
        (["::/0"], "the whole internet"),
        (["2000::/4"], "50 % of all public addresses"),
        (["2000::/5", "3000::/5"], "50 % of all public addresses"),
        (["fd00::/8", "10.0.0.0/8"], "0 % of all public addresses"),
    ],
)
def test_how_much_of_the_internet_networks_are(cidrs: list[str], said: str) -> None:
    assert covered(cidrs) == said


@pytest.mark.parametrize("cidrs", [["not a network"], ["10.0.0.0/8", "fd00::/8"], []])
def test_networks_of_some_do_not_reach_everybody(cidrs: list[str]) -> None:
    assert not reaches_everybody(cidrs)


def test_networks_that_are_not_known_yet_are_not_judged(
    broken: Callable[..., dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = broken(AWS_CLUSTER, "publicAccessCidrs", UNKNOWN_ARRAY_VALUE)

    with pytest.raises(UnknownValueError):
        violations(PUBLIC_ENDPOINT_NOT_OPEN, AWS_CLUSTER, props)


@BOTH
@pytest.mark.parametrize(("value", "shown"), [(ABSENT, "unset"), (False, "false")])
def test_a_private_endpoint_that_is_off_is_refused(
    token: str,
    value: object,
    shown: str,
    broken: Callable[..., dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = broken(token, "endpointPrivateAccess", value)

    assert violations(PRIVATE_ENDPOINT_ON, token, props) == [
        (
            f"The private API endpoint of gpu is {shown}. It must be on, so that nodes reach the "
            f"API server within the VPC. Set `vpcConfig.endpointPrivateAccess: true`."
        )
    ]


@BOTH
@pytest.mark.parametrize(
    ("value", "missing"),
    [
        (["api", "audit", "authenticator", "controllerManager"], "scheduler"),
        (["audit"], "api, authenticator, controllerManager, scheduler"),
        (ABSENT, "api, audit, authenticator, controllerManager, scheduler"),
    ],
)
def test_a_log_type_that_is_missing_is_refused(
    token: str,
    value: object,
    missing: str,
    broken: Callable[..., dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = broken(token, "enabledClusterLogTypes", value)

    assert violations(CONTROL_PLANE_LOGS, token, props) == [
        (
            f"The control plane of gpu does not log {missing}. All five types must be logged. Set "
            f"`enabledClusterLogTypes: [api, audit, authenticator, controllerManager, scheduler]`."
        )
    ]


NO_KEY = (
    "The secrets of gpu are encrypted with no KMS key of yours. They must be, so that you decide "
    "who may decrypt. Set `encryptionConfig: {provider: {keyArn: ...}, resources: [secrets]}`."
)


@pytest.mark.parametrize(("token", "key"), [(AWS_CLUSTER, "encryptionConfig")])
def test_secrets_without_a_key_are_refused(
    token: str,
    key: str,
    broken: Callable[..., dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    assert violations(SECRETS_ENCRYPTED, token, broken(token, key)) == [NO_KEY]


def test_a_key_for_something_else_is_refused(
    broken: Callable[..., dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    config = {"provider": {"keyArn": "arn:aws:kms:::key/0"}, "resources": []}
    props = broken(AWS_CLUSTER, "encryptionConfig", config)

    assert violations(SECRETS_ENCRYPTED, AWS_CLUSTER, props) == [
        (
            "The KMS key of gpu encrypts []. It must encrypt secrets. Set `encryptionConfig: "
            "{provider: {keyArn: ...}, resources: [secrets]}`."
        )
    ]


@pytest.mark.parametrize(
    ("token", "key", "value"),
    [
        (
            AWS_CLUSTER,
            "encryptionConfig",
            {"provider": {"keyArn": UNKNOWN_STRING_VALUE}, "resources": ["secrets"]},
        ),
    ],
)
def test_a_key_that_is_made_in_the_same_stack_is_a_key(
    token: str,
    key: str,
    value: object,
    broken: Callable[..., dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    assert violations(SECRETS_ENCRYPTED, token, broken(token, key, value)) == []


@BOTH
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (ABSENT, "unset, which EKS takes for CONFIG_MAP"),
        ("CONFIG_MAP", "CONFIG_MAP"),
        ("API_AND_CONFIG_MAP", "API_AND_CONFIG_MAP"),
    ],
)
def test_authentication_by_config_map_is_refused(
    token: str,
    value: object,
    shown: str,
    broken: Callable[..., dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = broken(token, "authenticationMode", value)

    assert violations(API_AUTHENTICATION, token, props) == [
        (
            f"The authentication mode of gpu is {shown}. It must be API: access entries are seen "
            f"and checked in AWS, the aws-auth ConfigMap is not. Set "
            f"`accessConfig.authenticationMode: API` and make an access entry for each principal "
            f"of aws-auth. From CONFIG_MAP, EKS goes by way of API_AND_CONFIG_MAP."
        )
    ]


@BOTH
@pytest.mark.parametrize(
    ("value", "shown"),
    [(ABSENT, "unset, which EKS takes for EXTENDED"), ("EXTENDED", "EXTENDED")],
)
def test_extended_support_is_refused(
    token: str,
    value: object,
    shown: str,
    broken: Callable[..., dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = broken(token, "supportType", value)

    assert violations(STANDARD_UPGRADE_POLICY, token, props) == [
        (
            f"The upgrade policy of gpu is {shown}. It must be STANDARD: EKS then upgrades the "
            f"cluster at the end of standard support and charges no more for it. Set "
            f"`upgradePolicy: {{supportType: STANDARD}}`."
        )
    ]


ADVICE = (
    "It must be a version in standard support: 1.34, 1.35, 1.36. Set `version` to one of them, as "
    "text. EKS upgrades one minor version at a time."
)


@BOTH
@pytest.mark.parametrize(
    ("version", "found"),
    [
        (ABSENT, "The Kubernetes version of gpu is unset, so EKS chooses it"),
        (
            "1.33",
            (
                "Kubernetes 1.33 of gpu left standard support on 2026-07-29 and costs more for "
                "each hour"
            ),
        ),
        ("1.30", "Kubernetes 1.30 of gpu is out of all support"),
        ("1.3", "Kubernetes 1.3 of gpu is older than every version EKS runs"),
        ("latest", "Kubernetes latest of gpu is no minor version of Kubernetes"),
        ("1.35.2", "Kubernetes 1.35.2 of gpu is no minor version of Kubernetes"),
        ("1.x", "Kubernetes 1.x of gpu is no minor version of Kubernetes"),
    ],
)
def test_a_version_out_of_standard_support_is_refused(
    token: str,
    version: object,
    found: str,
    broken: Callable[..., dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = broken(token, "version", version)

    assert violations(VERSION_SUPPORTED, token, props) == [f"{found}. {ADVICE}"]


def test_a_version_newer_than_the_table_passes(
    broken: Callable[..., dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    assert violations(VERSION_SUPPORTED, AWS_CLUSTER, broken(AWS_CLUSTER, "version", "1.99")) == []


def test_a_version_leaves_standard_support_on_its_day(
    monkeypatch: pytest.MonkeyPatch,
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    monkeypatch.setattr(version_in_standard_support, "today", lambda: date(2027, 3, 27))

    assert violations(VERSION_SUPPORTED, AWS_CLUSTER, valid(AWS_CLUSTER)) == [
        (
            "Kubernetes 1.35 of gpu left standard support on 2027-03-27 and costs more for each "
            "hour. It must be a version in standard support: 1.36. Set `version` to one of them, "
            "as text. EKS upgrades one minor version at a time."
        )
    ]


def test_today_is_a_date() -> None:
    assert today() >= date(2026, 11, 21)


@BOTH
@pytest.mark.parametrize(("value", "shown"), [(ABSENT, "unset"), (False, "false")])
def test_an_unprotected_production_cluster_is_refused(
    token: str,
    value: object,
    shown: str,
    broken: Callable[..., dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = broken(token, "deletionProtection", value)

    assert violations(DELETION_PROTECTION, token, props, stack="EU-Prod-1") == [
        (
            f"Deletion protection of gpu is {shown}. In the stack EU-Prod-1 it must be on, so that "
            f"nobody deletes the cluster by mistake. Set `deletionProtection: true`."
        )
    ]


def test_a_development_cluster_needs_no_protection(
    broken: Callable[..., dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = broken(AWS_CLUSTER, "deletionProtection")

    assert violations(DELETION_PROTECTION, AWS_CLUSTER, props, stack="dev") == []


@pytest.mark.parametrize(("stack", "count"), [("live", 1), ("live-eu", 1), ("prod", 0)])
def test_the_protected_stacks_are_configured_by_pattern(
    stack: str,
    count: int,
    broken: Callable[..., dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = broken(AWS_CLUSTER, "deletionProtection")
    config = {"stacks": ["live*"]}

    found = violations(DELETION_PROTECTION, AWS_CLUSTER, props, stack=stack, config=config)

    assert len(found) == count


@pytest.mark.parametrize("rule", OF_A_CLUSTER, ids=lambda rule: rule.name)
def test_a_component_registered_without_arguments_is_left_to_its_children(
    rule: ResourcePolicy, violations: Callable[..., list[str]]
) -> None:
    assert violations(rule, EKS_CLUSTER, {"version": None}) == []


def test_a_vpc_config_that_is_not_known_yet_is_not_judged(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = {**valid(AWS_CLUSTER), "vpcConfig": UNKNOWN_OBJECT_VALUE}

    with pytest.raises(UnknownValueError):
        violations(PRIVATE_ENDPOINT_ON, AWS_CLUSTER, props)
