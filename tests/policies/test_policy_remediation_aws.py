"""What rules repair by themselves where the level `remediate` is configured, through the SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_aws as aws
import pytest
from pulumi_policy import (
    PolicyCustomTimeouts,
    PolicyResourceOptions,
    ResourceValidationArgs,
)
from pulumi_policy.deserialize import deserialize_properties, serialize_properties

from eks_gpushare.program.policies.analyzer import run_pack
from eks_gpushare.program.run import run_program
from gpushare_policies import NAME, POLICIES
from gpushare_policies.tokens import LAUNCH_TEMPLATE, SCALING_GROUP, VOLUME

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.sdk_internals

RULES: dict[str, Any] = {rule.name: rule for rule in POLICIES}
REPAIRABLE = ("imdsv2-required", "volumes-encrypted", "tags-required")
TAGS = {"tags": {"team": "ml", "owner": ""}}


def careless() -> None:
    """A launch template, a machine and a volume, none of them safe, and one value not known yet."""
    key = aws.kms.Key("key", enable_key_rotation=True, tags={"team": "x", "owner": "y"})
    aws.ec2.LaunchTemplate(
        "template",
        instance_type="g5.xlarge",
        metadata_options={"http_tokens": "optional", "http_put_response_hop_limit": 4},
        block_device_mappings=[
            {"device_name": "/dev/xvda", "ebs": {"volume_size": 200, "kms_key_id": key.arn}}
        ],
        tags={"owner": "jane"},
    )
    aws.ec2.Instance("machine", ami="ami-1", instance_type="g5.xlarge", tags={"owner": "jane"})
    aws.ebs.Volume("volume", availability_zone="us-west-2a", size=10, tags={"owner": "jane"})


def half_known() -> None:
    """What another resource decides is left as it is."""
    parameter = aws.ssm.get_parameter_output(name="tokens")
    key = aws.kms.Key("key", enable_key_rotation=True)
    aws.ec2.LaunchTemplate(
        "template",
        metadata_options={"http_tokens": key.arn, "http_put_response_hop_limit": 1},
        block_device_mappings=[
            {"device_name": "/dev/xvda", "ebs": {"encrypted": key.arn.apply(str)}}
        ],
    )
    pulumi.export("parameter", parameter.value)


def judged(program: Callable[[], None], config: dict[str, Any]) -> list[tuple[str, str, str]]:
    recording = run_program(
        program, project="theirs", stack="dev", config={"aws:region": "us-west-2"}
    )
    assert recording.error is None, recording.error.traceback
    found = run_pack(POLICIES, recording, pack=NAME, config=config)
    return [(v.policy, v.level, v.urn.rpartition("::")[2]) for v in found if v.policy in REPAIRABLE]


def repaired(
    rule: str, token: str, props: dict[str, Any], config: dict[str, Any] | None = None
) -> Any:
    """The properties as the SDK sends them back, None where there is nothing to repair."""
    given = deserialize_properties(props, True)  # noqa: FBT003  (as the SDK has it for repairs)
    timeouts = PolicyCustomTimeouts(0, 0, 0)
    options = PolicyResourceOptions(False, [], None, [], timeouts, [])  # noqa: FBT003
    urn = f"urn:pulumi:dev::theirs::{token}::one"
    args = ResourceValidationArgs(token, given, urn, "one", options, None, config)
    found = RULES[rule].remediate(args)
    return None if found is None else serialize_properties(found)


@pytest.mark.parametrize(
    ("hops", "most", "after"),
    [(4.0, 1.0, 1), (None, 1.0, 1), (None, 2.0, 2), (1.0, 2.0, 1), (2.0, 2.0, 2), (0.0, 2.0, 2)],
)
def test_a_hop_limit_is_lowered_and_never_raised(
    hops: float | None, most: float, after: int
) -> None:
    props = {"imageId": "ami-1", "metadataOptions": {"httpPutResponseHopLimit": hops}}

    found = repaired("imdsv2-required", LAUNCH_TEMPLATE, props, {"maximumHopLimit": most})

    assert found == {
        "imageId": "ami-1",
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": after},
    }


def test_only_the_volumes_that_are_plain_are_changed() -> None:
    safe = {"deviceName": "/dev/xvda", "ebs": {"encrypted": "1"}}
    store = {"deviceName": "/dev/sdb", "virtualName": "ephemeral0"}
    plain = {"deviceName": "/dev/sdc", "ebs": {"volumeSize": 10.0}}
    props = {"blockDeviceMappings": [safe, store, plain]}

    assert repaired("volumes-encrypted", LAUNCH_TEMPLATE, props) == {
        "blockDeviceMappings": [
            safe,
            store,
            {"deviceName": "/dev/sdc", "ebs": {"volumeSize": 10.0, "encrypted": "true"}},
        ]
    }
    assert repaired("volumes-encrypted", LAUNCH_TEMPLATE, {"blockDeviceMappings": [safe]}) is None
    assert repaired("volumes-encrypted", VOLUME, {"size": 10.0}) is None


def test_tags_of_an_auto_scaling_group_reach_its_nodes() -> None:
    old = {"key": "owner", "value": "jane", "propagateAtLaunch": False}

    assert repaired("tags-required", SCALING_GROUP, {"tags": [old]}, TAGS) == {
        "tags": [old, {"key": "team", "value": "ml", "propagateAtLaunch": True}]
    }
    assert repaired("tags-required", SCALING_GROUP, {"tags": [old]}, {"tags": {"cost": ""}}) is None


def test_nothing_is_repaired_unless_it_is_asked_for() -> None:
    found = judged(careless, {"tags-required": TAGS})

    assert sorted(found) == sorted(
        [
            ("imdsv2-required", "mandatory", "template"),
            ("imdsv2-required", "mandatory", "template"),
            ("volumes-encrypted", "mandatory", "template"),
            ("tags-required", "advisory", "template"),
            ("imdsv2-required", "mandatory", "machine"),
            ("imdsv2-required", "mandatory", "machine"),
            ("volumes-encrypted", "mandatory", "machine"),
            ("tags-required", "advisory", "machine"),
            ("volumes-encrypted", "mandatory", "volume"),
            ("tags-required", "advisory", "volume"),
        ]
    )


def test_what_is_safe_is_repaired_and_the_rest_refused() -> None:
    config = {rule: {"enforcementLevel": "remediate"} for rule in REPAIRABLE}
    config["tags-required"] |= TAGS  # type: ignore[arg-type]

    found = judged(careless, config)

    assert sorted(found) == sorted(
        [
            ("imdsv2-required", "remediate", "template"),
            ("volumes-encrypted", "remediate", "template"),
            ("tags-required", "remediate", "template"),
            ("imdsv2-required", "remediate", "machine"),
            ("tags-required", "remediate", "machine"),
            # The root of a machine that is there would be replaced, and a volume with its data.
            ("volumes-encrypted", "mandatory", "machine"),
            ("tags-required", "remediate", "volume"),
            ("volumes-encrypted", "mandatory", "volume"),
        ]
    )


def test_a_value_that_is_not_known_yet_is_left_alone() -> None:
    config = {rule: {"enforcementLevel": "remediate"} for rule in REPAIRABLE}

    levels = [level for _, level, _ in judged(half_known, config)]

    assert "remediate" not in levels
