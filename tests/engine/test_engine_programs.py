"""The components in programs of other projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.engine.conftest import Engine, Result

CONFIG = {"aws:region": "us-west-2"}

POOL_ALONE = """\
import pulumi

from eks_gpushare import GpuPool

pool = GpuPool(
    "inference",
    {
        "pool": "inference",
        "cluster_name": "shared",
        "cluster_subnet_ids": ["subnet-1", "subnet-2"],
        "instance_types": ["g6.xlarge"],
        "ami_version": "1.35.8-20260930",
        "sharing": {"mode": "mps", "replicas": 4},
    },
)
pulumi.export("request", pool.request)
pulumi.export("nodeSelector", pool.node_selector)
"""

RENAMED = """\
import pulumi
from pulumi_kubernetes import Provider

from eks_gpushare import DevicePlugin, GpuPool

provider = Provider("cluster", kubeconfig="{{}}", cluster_identifier="shared")
pool = {{"instance_types": ["g6.xlarge"], "sharing": {{"mode": "mps", "replicas": 4}}}}
GpuPool(
    "{name}",
    {{
        **pool,
        "pool": "inference",
        "cluster_name": "shared",
        "cluster_subnet_ids": ["subnet-1", "subnet-2"],
    }},
    pulumi.ResourceOptions(aliases={aliases}),
)
DevicePlugin(
    "{name}-plugin",
    {{"pools": {{"inference": pool}}}},
    pulumi.ResourceOptions(
        providers=[provider],
        aliases=[pulumi.Alias(name=alias.name + "-plugin") for alias in {aliases}],
    ),
)
"""

REFUSED = """\
from eks_gpushare import GpuPool

GpuPool(
    "inference",
    {
        "pool": "inference",
        "cluster_name": "shared",
        "cluster_subnet_ids": ["subnet-1"],
        "instance_type": ["g6.xlarge"],
        "sharing": {"mode": "mps", "replicas": 1},
    },
)
"""


@pytest.fixture(scope="module")
def pool_alone(engine: Engine) -> Result:
    """The preview of a program that uses one of the components."""
    other = engine.project("other", POOL_ALONE)
    other.init("dev", CONFIG)
    return other.preview("dev")


def test_a_pool_alone_brings_its_role_template_and_node_group(pool_alone: Result) -> None:
    assert sorted(pool_alone.changes) == [
        "LaunchTemplate inference-template",
        "NodeGroup inference",
        "Role inference-role",
        "RolePolicyAttachment inference-cni",
        "RolePolicyAttachment inference-images",
        "RolePolicyAttachment inference-ssm",
        "RolePolicyAttachment inference-worker",
    ]


def test_a_pool_alone_says_what_pods_ask_for(pool_alone: Result) -> None:
    assert pool_alone.outputs == {
        "request": {"nvidia.com/gpu": 1},
        "nodeSelector": {"eks-gpushare/pool": "inference"},
    }


def test_components_renamed_with_an_alias_change_the_name_in_tags_alone(engine: Engine) -> None:
    """In place, and nothing is replaced: EC2 makes no version of a template for its own tags."""
    other = engine.project("renamed", RENAMED.format(name="old", aliases="[]"))
    other.init("dev", CONFIG)
    other.up("dev")
    aliases = '[pulumi.Alias(name="old")]'
    (other.directory / "__main__.py").write_text(RENAMED.format(name="new", aliases=aliases))

    assert other.preview("dev").changes == {
        "LaunchTemplate new-template": "update",
        "NodeGroup new": "update",
    }


def test_wrong_arguments_of_a_component_show_the_line_that_gave_them(engine: Engine) -> None:
    other = engine.project("refused", REFUSED)
    other.init("dev", CONFIG)
    result = other.preview("dev", fails=True)

    assert f'File "{other.directory}/__main__.py", line 3' in result.text
    assert result.errors[0].partition("InputPropertiesError: ")[2] == (
        "GpuPool: 2 arguments are wrong:\n"
        "  instance_type: instance_type is not an argument. Did you mean instance_types? [GPU003]\n"
        "  sharing.replicas: 1 is less than 2; a GPU is shared by at least two pods. Set 2 or "
        'more, or "mode": "exclusive" for a pod per GPU. [GPU201]'
    )


WITH_OUTPUTS = """\
import pulumi
from pulumi_aws.ec2 import Subnet, Vpc
from pulumi_aws.iam import Role
from pulumi_aws.kms import Key

from eks_gpushare import GpuSharingEnvironment

role = Role("platform", assume_role_policy="{}")
vpc = Vpc("network", cidr_block="10.0.0.0/16")
subnets = [
    Subnet(f"private-{zone}", vpc_id=vpc.id, availability_zone=zone)
    for zone in ("us-west-2a", "us-west-2b")
]
GpuSharingEnvironment(
    "demo",
    {
        "cluster": {
            "name": "demo",
            "version": "1.35",
            "secrets_key_arn": Key("secrets").arn,
            "named_admins": {"platform": role.arn},
        },
        "network": {"vpc_id": vpc.id, "private_subnet_ids": [each.id for each in subnets]},
        "pools": {
            "gpu": {
                "instance_types": ["g6.2xlarge"],
                "labels": {"owner": %s},
                "sharing": {"mode": "timeSlicing", "replicas": 2},
            }
        },
        "tags": {"owner": role.name},
        "region": "us-west-2",
    },
)
"""


def test_outputs_of_the_same_program_are_unknown_in_a_preview_and_known_in_the_update(
    engine: Engine,
) -> None:
    other = engine.project("outputs", WITH_OUTPUTS % "role.name")
    other.init("dev", CONFIG)
    previewed, made = other.preview("dev"), other.up("dev")

    assert made.changes == previewed.changes
    assert "AccessEntry demo-cluster-eks-platform" in made.changes
    key = made.inputs("Cluster demo-cluster-eks-eksCluster")["encryptionConfig"]["provider"]
    assert key["keyArn"].startswith("arn:aws:kms:us-west-2:")
    labels = made.inputs("NodeGroup demo-gpu")["labels"]
    assert labels["owner"].startswith("platform")
    assert other.preview("dev").changes == {}


def test_an_output_with_a_value_that_is_not_allowed_stops_the_update(engine: Engine) -> None:
    other = engine.project("outputs-wrong", WITH_OUTPUTS % "role.arn")
    other.init("dev", CONFIG)
    other.preview("dev")
    args = ("up", "--yes", "--skip-preview", "--stack", "dev")
    result = engine.run(other.directory, *args, fails=True)

    assert "pools.gpu.labels.owner: The value " in result.text
    assert "NodeGroup demo-gpu" not in result.changes
