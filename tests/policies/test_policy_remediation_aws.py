"""What rules repair by themselves where the level `remediate` is configured, through the SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_aws as aws
import pytest

from eks_gpushare.program.analyzer import run_pack
from eks_gpushare.program.run import run_program
from gpushare_policies import NAME, POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.sdk_internals

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
