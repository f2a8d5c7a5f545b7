from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy.proxy import UNKNOWN_BOOLEAN_VALUE, UnknownValueError

from gpushare_policies.rules.network.public_addresses import (
    NODES_WITHOUT_PUBLIC_ADDRESS,
)
from gpushare_policies.rules.nodes.metadata_service import IMDSV2_REQUIRED
from gpushare_policies.rules.nodes.volume_encryption import VOLUMES_ENCRYPTED
from gpushare_policies.tokens import LAUNCH_TEMPLATE, NODE_GROUP, VOLUME

if TYPE_CHECKING:
    from collections.abc import Callable


def _tokens(shown: str) -> str:
    return (
        f"The launch template gpu has httpTokens {shown}. It must be required, or a forged request "
        f"from a pod reads the node's credentials (IMDSv1). Set `metadataOptions.httpTokens: "
        f"required`."
    )


def _hops(shown: str, most: int = 1) -> str:
    return (
        f"The launch template gpu has httpPutResponseHopLimit {shown}. It must be at most {most}, "
        f"or pods reach the node's credentials. Set `metadataOptions.httpPutResponseHopLimit: 1`."
    )


@pytest.mark.parametrize(("value", "shown"), [("optional", "optional"), (None, "unset")])
def test_imdsv1_is_refused(
    value: object,
    shown: str,
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = valid(LAUNCH_TEMPLATE)
    props["metadataOptions"]["httpTokens"] = value

    assert violations(IMDSV2_REQUIRED, LAUNCH_TEMPLATE, props) == [_tokens(shown)]


@pytest.mark.parametrize(("value", "shown"), [(2.0, "2"), (None, "unset")])
def test_a_hop_limit_that_reaches_pods_is_refused(
    value: object,
    shown: str,
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = valid(LAUNCH_TEMPLATE)
    props["metadataOptions"]["httpPutResponseHopLimit"] = value

    assert violations(IMDSV2_REQUIRED, LAUNCH_TEMPLATE, props) == [_hops(shown)]


@pytest.mark.parametrize(("hops", "found"), [(2.0, []), (3.0, [_hops("3", 2)])])
def test_the_largest_hop_limit_is_configured(
    hops: float,
    found: list[str],
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = valid(LAUNCH_TEMPLATE)
    props["metadataOptions"]["httpPutResponseHopLimit"] = hops
    config = {"maximumHopLimit": 2.0}

    assert violations(IMDSV2_REQUIRED, LAUNCH_TEMPLATE, props, config=config) == found


@pytest.mark.parametrize(("most", "violated"), [(1.0, 1), (2.0, 0)])
def test_the_hop_limit_of_eks_counts_where_a_node_group_has_no_template(
    most: float, violated: int, violations: Callable[..., list[str]]
) -> None:
    config = {"maximumHopLimit": most}
    props = {"amiType": "AL2023_x86_64_STANDARD"}

    assert len(violations(IMDSV2_REQUIRED, NODE_GROUP, props, config=config)) == violated
    assert violations(IMDSV2_REQUIRED, NODE_GROUP, {}, config=config) == []


def test_a_launch_template_without_metadata_options_is_refused_twice(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(LAUNCH_TEMPLATE)
    del props["metadataOptions"]

    assert violations(IMDSV2_REQUIRED, LAUNCH_TEMPLATE, props) == [
        _tokens("unset"),
        _hops("unset"),
    ]


def test_a_metadata_service_that_is_off_passes(violations: Callable[..., list[str]]) -> None:
    props = {"metadataOptions": {"httpEndpoint": "disabled"}}

    assert violations(IMDSV2_REQUIRED, LAUNCH_TEMPLATE, props) == []


@pytest.mark.parametrize(
    ("value", "shown"), [("false", "false"), (False, "false"), (None, "unset")]
)
def test_a_volume_of_a_launch_template_without_encryption_is_refused(
    value: object,
    shown: str,
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = valid(LAUNCH_TEMPLATE)
    props["blockDeviceMappings"][0]["ebs"]["encrypted"] = value

    assert violations(VOLUMES_ENCRYPTED, LAUNCH_TEMPLATE, props) == [
        (
            f"The volume /dev/xvda of the launch template gpu has encrypted {shown}. It must be "
            f"true. Set `blockDeviceMappings[].ebs.encrypted: true`."
        )
    ]


@pytest.mark.parametrize("value", [True, "true"])
def test_encryption_is_a_boolean_or_its_text(
    value: object, valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(LAUNCH_TEMPLATE)
    props["blockDeviceMappings"][0]["ebs"]["encrypted"] = value

    assert violations(VOLUMES_ENCRYPTED, LAUNCH_TEMPLATE, props) == []


def test_an_instance_store_cannot_be_encrypted_and_passes(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(LAUNCH_TEMPLATE)
    props["blockDeviceMappings"].append({"deviceName": "/dev/xvdb", "virtualName": "ephemeral0"})

    assert violations(VOLUMES_ENCRYPTED, LAUNCH_TEMPLATE, props) == []


def test_a_launch_template_without_volumes_is_refused(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(LAUNCH_TEMPLATE)
    del props["blockDeviceMappings"]

    assert violations(VOLUMES_ENCRYPTED, LAUNCH_TEMPLATE, props) == [
        (
            "The launch template gpu maps no volume, so the nodes' root volume is encrypted only "
            "where the AWS account encrypts by default. It must be encrypted whatever the account "
            "does. Set `blockDeviceMappings[].ebs.encrypted: true`."
        )
    ]


@pytest.mark.parametrize(("props", "shown"), [({}, "unset"), ({"encrypted": False}, "false")])
def test_a_volume_without_encryption_is_refused(
    props: dict[str, Any], shown: str, violations: Callable[..., list[str]]
) -> None:
    assert violations(VOLUMES_ENCRYPTED, VOLUME, props) == [
        (
            f"The volume gpu has encrypted {shown}. It must be true. Set `encrypted: true`; an "
            f"existing volume is encrypted by way of a snapshot."
        )
    ]


def test_encryption_that_is_not_known_yet_is_not_judged(
    violations: Callable[..., list[str]],
) -> None:
    with pytest.raises(UnknownValueError):
        violations(VOLUMES_ENCRYPTED, VOLUME, {"encrypted": UNKNOWN_BOOLEAN_VALUE})


@pytest.mark.parametrize("value", [True, "true"])
def test_a_public_address_is_refused(
    value: object, valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(LAUNCH_TEMPLATE)
    props["networkInterfaces"][0]["associatePublicIpAddress"] = value

    assert violations(NODES_WITHOUT_PUBLIC_ADDRESS, LAUNCH_TEMPLATE, props) == [
        (
            "The launch template gpu gives its nodes a public IP address. Nodes must have private "
            "addresses only. Remove `networkInterfaces[].associatePublicIpAddress`, or set it to "
            "false, and put nodes into private subnets."
        )
    ]


def test_a_launch_template_without_interfaces_passes(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(LAUNCH_TEMPLATE)
    del props["networkInterfaces"]

    assert violations(NODES_WITHOUT_PUBLIC_ADDRESS, LAUNCH_TEMPLATE, props) == []
