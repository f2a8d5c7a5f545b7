"""Rules on groups of nodes together with what they are started from, and on what is around them."""

from __future__ import annotations

import base64
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy import PolicyCustomTimeouts, PolicyResourceOptions, StackValidationArgs
from pulumi_policy.proxy import (
    UNKNOWN_ARRAY_VALUE,
    UNKNOWN_OBJECT_VALUE,
    UNKNOWN_STRING_VALUE,
    UnknownValueError,
)

from eks_gpushare.catalog.instances import gpu_instance_types
from gpushare_policies import POLICIES
from gpushare_policies.rule import NotJudgedError
from gpushare_policies.tokens import (
    AWS_CLUSTER,
    DEFAULT_SUBNET,
    LAUNCH_CONFIGURATION,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    POLICY,
    POLICY_ATTACHMENT,
    RELEASE,
    ROLE,
    ROLE_ATTACHMENT,
    ROLE_ATTACHMENTS,
    ROLE_POLICY,
    SCALING_GROUP,
    SERVICE_QUOTA,
    SUBNET,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pulumi_policy import PolicyResource

    from gpushare_policies.rule import StackPolicy

RULES: dict[str, Any] = {rule.name: rule for rule in POLICIES}
LATER = UNKNOWN_STRING_VALUE


@pytest.fixture
def said(
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> Callable[..., list[str]]:
    """`said(rule, resources)` is the names of the resources that violate a rule."""

    def run(name: str, resources: list[PolicyResource], config: Any = None) -> list[str]:
        rule: StackPolicy = RULES[name]
        return [where for where, _ in stack_violations(rule, resources, config)]

    return run


@pytest.fixture
def started(resource: Callable[..., PolicyResource]) -> Callable[..., list[PolicyResource]]:
    """`started(template, group)` is a launch template and a node group that starts from it."""

    def make(
        template: dict[str, Any],
        group: dict[str, Any] | None = None,
        token: str = NODE_GROUP,
        start: str = LAUNCH_TEMPLATE,
        key: str = "launchTemplate",
    ) -> list[PolicyResource]:
        made = resource(start, "template", template)
        props = {key: {"id": LATER, "version": "1"}, **(group or {})}
        return [made, resource(token, "nodes", props, uses={key: [made]})]

    return make


GPU_TEMPLATES: list[dict[str, Any]] = [
    {"instanceType": "g5.xlarge"},
    {"instanceType": "p9.48xlarge"},
    {"instanceRequirements": {"acceleratorTypes": ["gpu"], "acceleratorManufacturers": ["nvidia"]}},
    {"instanceRequirements": {"acceleratorCount": {"min": 1.0}}},
    {"instanceRequirements": {"acceleratorNames": ["a100", "l40s"]}},
    {"instanceRequirements": {"allowedInstanceTypes": ["g6.*", "g5.*"]}},
    {"instanceRequirements": {"allowedInstanceTypes": ["p*"]}},
    {"instanceRequirements": {"allowedInstanceTypes": ["g5*"]}},
    {"instanceRequirements": {"allowedInstanceTypes": ["g6.xlarge"]}},
]
OTHER_TEMPLATES: list[dict[str, Any]] = [
    {"instanceType": "m7i.large"},
    {"instanceType": "g4ad.xlarge"},
    {"instanceType": ""},
    {},
    {"instanceRequirements": {"vcpuCount": {"min": 4.0}}},
    {"instanceRequirements": {"acceleratorCount": {"max": 0.0}}},
    {"instanceRequirements": {"acceleratorCount": {"max": "0"}, "acceleratorTypes": ["gpu"]}},
    {"instanceRequirements": {"acceleratorCount": {"min": 1.0}, "acceleratorTypes": ["fpga"]}},
    {
        "instanceRequirements": {
            "acceleratorTypes": ["gpu"],
            "acceleratorManufacturers": ["amd"],
        }
    },
    {
        "instanceRequirements": {
            "acceleratorCount": {"min": 1.0},
            "acceleratorManufacturers": ["amazon-web-services"],
        }
    },
    {"instanceRequirements": {"acceleratorNames": ["inferentia"]}},
    {"instanceRequirements": {"allowedInstanceTypes": ["g4ad.*", "m*", "c7g.*", "*"]}},
]
BY_TEMPLATE = pytest.mark.parametrize(
    "rule", ["gpu-launch-template-taints", "gpu-launch-template-repair"]
)


@BY_TEMPLATE
@pytest.mark.parametrize("template", GPU_TEMPLATES, ids=str)
def test_a_gpu_type_in_the_launch_template_makes_gpu_nodes(
    rule: str,
    template: dict[str, Any],
    started: Callable[..., list[PolicyResource]],
    said: Callable[..., list[str]],
) -> None:
    guarded = {
        "taints": [{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}],
        "nodeRepairConfig": {"enabled": True},
    }

    assert said(rule, started(template)) == ["nodes"]
    assert said(rule, started(template, guarded)) == []


SCRIPT = "#!/bin/bash\n/etc/eks/bootstrap.sh a"
NODE_CONFIG = """\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="x"

--x
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    flags: [--register-with-taints=nvidia.com/gpu=true:EFFECT]
--x--
"""


@pytest.mark.parametrize(
    ("user_data", "said_of"),
    [
        (NODE_CONFIG.replace("EFFECT", "NoSchedule"), []),
        (NODE_CONFIG.replace("EFFECT", "NoExecute").replace("\n", "\r\n"), []),
        (NODE_CONFIG.replace("EFFECT", "PreferNoSchedule"), ["nodes"]),
        (SCRIPT + " --kubelet-extra-args '--max-pods=9'", ["nodes"]),
        (
            SCRIPT
            + " --kubelet-extra-args '--register-with-taints=nvidia.com/gpu=true:NoSchedule'",
            [],
        ),
        ('[settings.kubernetes.node-taints]\n"nvidia.com/gpu" = ["true:NoSchedule"]\n', []),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_nodes_may_join_with_their_taint(
    packed: bool,
    user_data: str,
    said_of: list[str],
    started: Callable[..., list[PolicyResource]],
    said: Callable[..., list[str]],
) -> None:
    content = user_data.encode()
    given = base64.b64encode(gzip.compress(content) if packed else content).decode()
    template = {"instanceType": "g5.xlarge", "userData": given}

    assert said("gpu-launch-template-taints", started(template)) == said_of


@BY_TEMPLATE
@pytest.mark.parametrize("template", OTHER_TEMPLATES, ids=str)
def test_other_types_in_the_launch_template_make_no_gpu_nodes(
    rule: str,
    template: dict[str, Any],
    started: Callable[..., list[PolicyResource]],
    said: Callable[..., list[str]],
) -> None:
    assert said(rule, started(template)) == []


@BY_TEMPLATE
@pytest.mark.parametrize(
    "group", [{"amiType": "AL2_x86_64_GPU"}, {"instanceTypes": ["g5.xlarge"]}, {"gpu": True}]
)
def test_what_the_node_group_says_itself_is_said_once(
    rule: str,
    group: dict[str, Any],
    started: Callable[..., list[PolicyResource]],
    said: Callable[..., list[str]],
) -> None:
    assert said(rule, started({"instanceType": "g5.xlarge"}, group)) == []


def test_a_type_that_another_resource_gives_is_not_judged(
    resource: Callable[..., PolicyResource], said: Callable[..., list[str]]
) -> None:
    other = resource("aws:ssm/parameter:Parameter", "type", {})
    template = resource(
        LAUNCH_TEMPLATE, "template", {"instanceType": LATER}, uses={"instanceType": [other]}
    )
    group = resource(
        NODE_GROUP,
        "nodes",
        {"launchTemplate": {"id": LATER}, "amiType": LATER},
        uses={"launchTemplate": [template]},
    )

    with pytest.raises(UnknownValueError):
        said("gpu-launch-template-taints", [template, group])


def test_one_group_that_cannot_be_judged_hides_no_other(
    resource: Callable[..., PolicyResource],
    started: Callable[..., list[PolicyResource]],
) -> None:
    other = resource("aws:ssm/parameter:Parameter", "type", {})
    unclear = resource(
        NODE_GROUP,
        "unclear",
        {"instanceTypes": UNKNOWN_ARRAY_VALUE},
        uses={"instanceTypes": [other]},
    )
    made, bad = started({"instanceType": "g5.xlarge"})
    unclear.property_dependencies["launchTemplate"] = [made]
    unclear.props["launchTemplate"] = {"id": "lt"}  # type: ignore[index]
    found: list[str] = []

    with pytest.raises(UnknownValueError):
        RULES["gpu-launch-template-taints"].validate(
            StackValidationArgs([made, unclear, bad], None),
            lambda _message, urn=None: found.append(str(urn).rpartition("::")[2]),
        )

    assert found == ["nodes"]


@pytest.mark.parametrize(
    ("token", "start", "key", "template", "group"),
    [
        (SCALING_GROUP, LAUNCH_TEMPLATE, "launchTemplate", {"instanceType": "g5.xlarge"}, {}),
        (
            SCALING_GROUP,
            LAUNCH_CONFIGURATION,
            "launchConfiguration",
            {"instanceType": "g5.xlarge", "rootBlockDevice": {"volumeSize": "50"}},
            {"launchConfiguration": LATER},
        ),
        (
            SCALING_GROUP,
            LAUNCH_TEMPLATE,
            "mixedInstancesPolicy",
            {},
            {
                "mixedInstancesPolicy": {
                    "launchTemplate": {"overrides": [{"instanceType": "g6.xlarge"}]}
                }
            },
        ),
        (NODE_GROUP, LAUNCH_TEMPLATE, "launchTemplate", {}, {"instanceTypes": ["g8e.xlarge"]}),
    ],
)
def test_gpu_nodes_of_every_group_need_room_for_images(
    token: str,
    start: str,
    key: str,
    template: dict[str, Any],
    group: dict[str, Any],
    started: Callable[..., list[PolicyResource]],
    said: Callable[..., list[str]],
) -> None:
    rule = "gpu-launch-template-volume-size"
    large = {
        "rootBlockDevice": {"volumeSize": 200.0},
        "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "200"}}],
    }

    assert said(rule, started(template, group, token, start, key)) == ["template"]
    assert said(rule, started({**template, **large}, group, token, start, key)) == []


@pytest.mark.parametrize(
    ("token", "props", "violated"),
    [
        (LAUNCH_CONFIGURATION, {"instanceType": "g5.xlarge"}, True),
        (LAUNCH_TEMPLATE, {"instanceType": "g9.xlarge"}, True),
        (LAUNCH_TEMPLATE, {"instanceType": "m7i.xlarge"}, False),
        (LAUNCH_TEMPLATE, {}, False),
        (
            LAUNCH_CONFIGURATION,
            {"instanceType": "g5.xlarge", "rootBlockDevice": {"volumeSize": 100.0}},
            False,
        ),
    ],
)
def test_what_no_group_of_the_stack_starts_is_judged_by_its_own_type(
    token: str,
    props: dict[str, Any],
    violated: bool,
    resource: Callable[..., PolicyResource],
    said: Callable[..., list[str]],
) -> None:
    found = said("gpu-launch-template-volume-size", [resource(token, "alone", props)])

    assert found == (["alone"] if violated else [])


def _volumes(*devices: str) -> dict[str, Any]:
    return {
        "blockDeviceMappings": [
            {"deviceName": device, "ebs": {"encrypted": "true"}} for device in devices
        ]
    }


@pytest.mark.parametrize(
    ("ami_type", "missing", "complete"),
    [
        ("BOTTLEROCKET_x86_64_NVIDIA", ["/dev/xvda"], ["/dev/xvda", "/dev/xvdb"]),
        ("BOTTLEROCKET_ARM_64", ["/dev/xvda"], ["xvda", "xvdb"]),
        ("AL2023_x86_64_NVIDIA", ["/dev/sda1"], ["/dev/xvda"]),
        ("AL2023_ARM_64_STANDARD", ["/dev/sda"], ["/dev/xvda", "/dev/xvdc"]),
    ],
)
def test_a_volume_of_the_image_that_the_template_does_not_map_is_refused(
    ami_type: str,
    missing: list[str],
    complete: list[str],
    started: Callable[..., list[PolicyResource]],
    said: Callable[..., list[str]],
) -> None:
    rule, group = "launch-template-volumes-encrypted", {"amiType": ami_type}

    assert said(rule, started(_volumes(*missing), group)) == ["template"]
    assert said(rule, started(_volumes(*complete), group)) == []


def test_a_template_without_a_root_is_said_by_volumes_encrypted_alone(
    started: Callable[..., list[PolicyResource]], said: Callable[..., list[str]]
) -> None:
    resources = started(_volumes("/dev/xvdb"), {"amiType": "BOTTLEROCKET_x86_64"})

    assert said("launch-template-volumes-encrypted", resources) == []


@pytest.mark.parametrize("ami_type", ["CUSTOM", "WINDOWS_CORE_2025_x86_64", LATER, None])
def test_the_volumes_of_an_image_that_is_not_known_are_not_guessed(
    ami_type: str | None,
    started: Callable[..., list[PolicyResource]],
    said: Callable[..., list[str]],
) -> None:
    resources = started(_volumes("/dev/sda1"), {"amiType": ami_type})

    assert said("launch-template-volumes-encrypted", resources) == []


PINNED: dict[str, Any] = {"amiType": "AL2023_x86_64_NVIDIA"}


@pytest.mark.parametrize("version", ["$Latest", "$LATEST", "latest", "$Default", "", None])
def test_a_version_of_somebody_else_s_template_that_moves_is_refused(
    version: str | None, resource: Callable[..., PolicyResource], said: Callable[..., list[str]]
) -> None:
    for token in (NODE_GROUP, SCALING_GROUP):
        template = {"id": "lt-0123", "version": version}
        group = resource(token, "nodes", {**PINNED, "launchTemplate": template})

        assert said("launch-template-pinned", [group]) == ["nodes"]


@pytest.mark.parametrize(
    ("template", "group", "violated"),
    [
        ({}, {**PINNED, "launchTemplate": {"id": LATER, "version": "$Latest"}}, False),
        ({}, {**PINNED, "launchTemplate": {"id": LATER, "version": LATER}}, False),
        ({}, {**PINNED, "launchTemplate": {"id": LATER, "version": "7"}}, False),
        ({}, {**PINNED, "launchTemplate": {"id": LATER, "version": "$Default"}}, True),
        ({}, {**PINNED, "launchTemplate": {"id": LATER}}, True),
        ({"updateDefaultVersion": "t"}, {**PINNED, "launchTemplate": {"id": LATER}}, False),
        ({"defaultVersion": 3.0}, {**PINNED, "launchTemplate": {"id": LATER}}, False),
        ({}, {}, True),
        ({"imageId": ""}, {"amiType": LATER}, True),
        ({"imageId": "ami-1"}, {}, False),
        ({}, {"releaseVersion": "1.35.8-20260930"}, False),
        ({}, {"releaseVersion": ""}, True),
    ],
)
def test_a_template_of_this_stack_is_pinned_by_it(
    template: dict[str, Any],
    group: dict[str, Any],
    violated: bool,
    started: Callable[..., list[PolicyResource]],
    said: Callable[..., list[str]],
) -> None:
    found = said("launch-template-pinned", started(template, group))

    assert found == (["nodes"] if violated else [])


def test_a_group_without_a_template_has_none_to_pin(
    resource: Callable[..., PolicyResource], said: Callable[..., list[str]]
) -> None:
    group = resource(NODE_GROUP, "nodes", {**PINNED, "launchTemplate": None})

    assert said("launch-template-pinned", [group]) == []


def test_a_template_that_is_wholly_unknown_is_found_by_what_the_group_depends_on(
    started: Callable[..., list[PolicyResource]], said: Callable[..., list[str]]
) -> None:
    resources = started({"instanceType": "g5.xlarge"}, {"launchTemplate": UNKNOWN_OBJECT_VALUE})

    assert said("gpu-launch-template-taints", resources) == ["nodes"]


def test_templates_need_not_be_pinned_where_the_configuration_names_no_stack(
    started: Callable[..., list[PolicyResource]], said: Callable[..., list[str]]
) -> None:
    assert said("launch-template-pinned", started({}), {"stacks": ["live"]}) == []


AWS = "arn:aws:iam::aws:policy/"
NEEDED = [
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonEC2ContainerRegistryReadOnly",
    "AmazonSSMManagedInstanceCore",
    "CloudWatchAgentServerPolicy",
    "service-role/AmazonEBSCSIDriverPolicy",
]
TOO_MUCH = [
    "AdministratorAccess",
    "AdministratorAccess-Amplify",
    "PowerUserAccess",
    "IAMFullAccess",
    "AmazonS3FullAccess",
    "AmazonEC2FullAccess",
    "AmazonDynamoDBFullAccess_v2",
    "AmazonEC2ContainerRegistryPowerUser",
    "SecretsManagerReadWrite",
    "job-function/SystemAdministrator",
]
EVERYTHING = json.dumps({"Statement": {"Effect": "Allow", "Action": ["*"], "Resource": "*"}})
SOME = json.dumps({"Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]})
DENIED = json.dumps({"Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}]})


@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov"])
@pytest.mark.parametrize("policy", TOO_MUCH)
def test_a_role_of_nodes_with_too_much_is_refused(
    policy: str,
    partition: str,
    resource: Callable[..., PolicyResource],
    said: Callable[..., list[str]],
) -> None:
    arn = f"arn:{partition}:iam::aws:policy/{policy}"
    role = resource(ROLE, "role", {"name": "nodes", "assumeRolePolicy": "{}"})
    group = resource(NODE_GROUP, "nodes", {"nodeRoleArn": LATER}, uses={"nodeRoleArn": [role]})
    used = resource(
        ROLE_ATTACHMENT, "one", {"role": LATER, "policyArn": arn}, uses={"role": [role]}
    )
    named = resource(ROLE_ATTACHMENT, "two", {"role": "nodes", "policyArn": arn})
    several = resource(ROLE_ATTACHMENTS, "three", {"roleName": "nodes", "policyArns": [arn]})
    shared = resource(POLICY_ATTACHMENT, "four", {"roles": ["nodes"], "policyArn": arn})
    inside = resource(ROLE, "own", {"managedPolicyArns": [f"{AWS}{NEEDED[0]}", arn]})

    found = said("node-role-rights", [role, group, used, named, several, shared, inside])

    assert found == ["one", "two", "three", "four", "own"]


@pytest.mark.parametrize("policy", NEEDED)
def test_what_nodes_need_they_may_have(
    policy: str, resource: Callable[..., PolicyResource], said: Callable[..., list[str]]
) -> None:
    role = resource(ROLE, "role", {"name": "nodes", "managedPolicyArns": [f"{AWS}{NEEDED[0]}"]})
    attached = resource(ROLE_ATTACHMENT, "one", {"role": "nodes", "policyArn": f"{AWS}{policy}"})

    assert said("node-role-rights", [role, attached]) == []


@pytest.mark.parametrize(
    ("policy", "violated"), [(EVERYTHING, True), (SOME, False), (DENIED, False), ("{", False)]
)
def test_a_policy_of_the_same_stack_must_not_allow_nodes_everything(
    policy: str,
    violated: bool,
    resource: Callable[..., PolicyResource],
    said: Callable[..., list[str]],
) -> None:
    made = resource(POLICY, "policy", {"policy": policy, "arn": LATER})
    beside = resource(POLICY, "beside", {"policy": EVERYTHING, "arn": "arn:aws:iam::1:policy/x"})
    known = resource(POLICY, "known", {"policy": policy, "arn": "arn:aws:iam::1:policy/known"})
    role = resource(ROLE, "role", {"name": "n", "arn": "arn:n"})
    group = resource(NODE_GROUP, "nodes", {"nodeRoleArn": "arn:n"})
    later = {"role": "n", "policyArn": LATER}
    one = resource(ROLE_ATTACHMENT, "one", later, uses={"policyArn": [made]})
    known_arn = {"role": "n", "policyArn": "arn:aws:iam::1:policy/known"}
    two = resource(ROLE_ATTACHMENT, "two", known_arn)

    found = said("node-role-rights", [made, beside, known, role, group, one, two])

    assert found == (["one", "two"] if violated else [])


def test_a_policy_that_is_not_known_yet_is_not_judged(
    resource: Callable[..., PolicyResource], said: Callable[..., list[str]]
) -> None:
    role = resource(ROLE, "role", {"name": "n", "arn": "arn:n"})
    group = resource(NODE_GROUP, "nodes", {"nodeRoleArn": "arn:n"})
    attached = resource(ROLE_ATTACHMENT, "one", {"role": "n", "policyArn": LATER})
    unclear = resource(POLICY, "unclear", {"policy": LATER, "arn": "arn:aws:iam::1:policy/u"})
    three = {"role": "n", "policyArn": "arn:aws:iam::1:policy/u"}
    elsewhere = {"role": "n", "policyArn": "arn:aws:iam::1:policy/of-another-stack"}
    two = resource(ROLE_ATTACHMENT, "two", elsewhere)

    assert said("node-role-rights", [role, group, two]) == []
    with pytest.raises(NotJudgedError) as error:
        said("node-role-rights", [role, group, attached])
    with pytest.raises(NotJudgedError) as text:
        said("node-role-rights", [role, group, unclear, resource(ROLE_ATTACHMENT, "three", three)])

    assert text.value.message.endswith(": what the policy unclear allows the role role")
    told = "could not be judged: the policy that one gives the role role"
    assert error.value.message == told


@pytest.mark.parametrize("service", ["lambda.amazonaws.com", "ec2.amazonaws.com"])
def test_a_role_of_something_else_is_not_one_of_nodes(
    service: str, resource: Callable[..., PolicyResource], said: Callable[..., list[str]]
) -> None:
    trust = json.dumps({"Statement": [{"Principal": {"Service": service}}]})
    role = resource(ROLE, "role", {"name": "bastion", "assumeRolePolicy": trust})
    admin = f"{AWS}AdministratorAccess"
    attached = resource(ROLE_ATTACHMENT, "one", {"role": "bastion", "policyArn": admin})

    assert said("node-role-rights", [role, attached]) == []


@pytest.mark.parametrize(
    ("policy", "violated"), [(EVERYTHING, True), (SOME, False), (DENIED, False)]
)
def test_an_inline_policy_of_nodes_must_not_allow_everything(
    policy: str,
    violated: bool,
    resource: Callable[..., PolicyResource],
    said: Callable[..., list[str]],
) -> None:
    inline = {"arn": "arn:n", "name": "n", "inlinePolicies": [{"policy": policy}]}
    role = resource(ROLE, "role", inline)
    group = resource(NODE_GROUP, "nodes", {"nodeRoleArn": "arn:n"})
    beside = resource(ROLE_POLICY, "beside", {"role": "n", "policy": policy})

    found = said("node-role-rights", [role, beside, group])

    assert found == (["role", "beside"] if violated else [])


@pytest.mark.parametrize("which", [0, 1])
def test_an_inline_policy_is_of_the_role_that_it_names(
    which: int, resource: Callable[..., PolicyResource], said: Callable[..., list[str]]
) -> None:
    """By what the property depends on, while the role has no name yet."""
    roles = [resource(ROLE, name, {"name": LATER, "arn": LATER}) for name in ("nodes", "other")]
    props = {"nodeRoleArn": LATER}
    group = resource(NODE_GROUP, "group", props, uses={"nodeRoleArn": roles[:1]})
    inline = {"role": LATER, "policy": EVERYTHING}
    policy = resource(ROLE_POLICY, "inline", inline, uses={"role": [roles[which]]})

    assert said("node-role-rights", [*roles, policy, group]) == (["inline"] if which == 0 else [])


@pytest.mark.parametrize(
    ("token", "key", "subnet", "violated"),
    [
        (NODE_GROUP, "subnetIds", (SUBNET, {"mapPublicIpOnLaunch": True}), True),
        (NODE_GROUP, "subnetIds", (SUBNET, {"mapPublicIpOnLaunch": "1"}), True),
        (SCALING_GROUP, "vpcZoneIdentifiers", (SUBNET, {"mapPublicIpOnLaunch": "t"}), True),
        (NODE_GROUP, "subnetIds", (DEFAULT_SUBNET, {"availabilityZone": "us-west-2a"}), True),
        (NODE_GROUP, "subnetIds", (DEFAULT_SUBNET, {"mapPublicIpOnLaunch": "0"}), False),
        (NODE_GROUP, "subnetIds", (SUBNET, {"mapPublicIpOnLaunch": False}), False),
        (NODE_GROUP, "subnetIds", (SUBNET, {}), False),
    ],
)
def test_nodes_in_a_subnet_that_gives_public_addresses_are_refused(
    token: str,
    key: str,
    subnet: tuple[str, dict[str, Any]],
    violated: bool,
    resource: Callable[..., PolicyResource],
    said: Callable[..., list[str]],
) -> None:
    kind, props = subnet
    made = resource(kind, "subnet", {"id": "subnet-1", **props})
    beside = resource(SUBNET, "public", {"id": "subnet-9", "mapPublicIpOnLaunch": True})
    by_use = resource(token, "later", {key: [LATER]}, uses={key: [made]})
    by_name = resource(token, "known", {key: ["subnet-1", LATER]})

    found = said("nodes-in-private-subnets", [made, beside, by_use, by_name])

    assert found == (["later", "known"] if violated else [])


AUTOSCALER = {"chart": "cluster-autoscaler", "values": {"autoDiscovery": {"clusterName": "gpu"}}}
FOUND = {"tags": [{"key": "k8s.io/cluster-autoscaler/enabled", "value": "true"}]}
SIZES = {"minSize": 0.0, "desiredSize": 2.0, "maxSize": 4.0}


@pytest.mark.parametrize(
    ("token", "props", "violated"),
    [
        (NODE_GROUP, {"scalingConfig": SIZES}, True),
        (NODE_GROUP, {"scalingConfig": {**SIZES, "minSize": "4", "desiredSize": "4"}}, False),
        (NODE_GROUP, {"scalingConfig": {"minSize": 1.0, "maxSize": 3.0}}, False),
        (SCALING_GROUP, {**FOUND, "minSize": 0.0, "desiredCapacity": 1.0, "maxSize": 4.0}, True),
        (SCALING_GROUP, {**FOUND, "minSize": 0.0, "maxSize": 4.0}, False),
        (SCALING_GROUP, {"minSize": 0.0, "desiredCapacity": 1.0, "maxSize": 4.0}, False),
    ],
)
def test_a_number_of_nodes_that_two_set_is_reported(
    token: str,
    props: dict[str, Any],
    violated: bool,
    resource: Callable[..., PolicyResource],
    said: Callable[..., list[str]],
) -> None:
    rule, group = "desired-size-left-alone", resource(token, "nodes", props)
    autoscaler = resource(RELEASE, "autoscaler", AUTOSCALER)

    assert said(rule, [group, autoscaler]) == (["nodes"] if violated else [])
    # Tags for an autoscaler are there for one, of whatever stack.
    assert said(rule, [group]) == (["nodes"] if violated and token == SCALING_GROUP else [])


@pytest.mark.parametrize(
    ("token", "path"),
    [
        (NODE_GROUP, "scalingConfig.desiredSize"),
        (NODE_GROUP, "scalingConfig"),
        (SCALING_GROUP, "desiredCapacity"),
    ],
)
def test_a_number_of_nodes_that_the_program_ignores_is_the_autoscaler_s(
    token: str,
    path: str,
    resource: Callable[..., PolicyResource],
    said: Callable[..., list[str]],
) -> None:
    props = {
        **FOUND,
        "scalingConfig": SIZES,
        "minSize": 0.0,
        "desiredCapacity": 1.0,
        "maxSize": 4.0,
    }
    group, autoscaler = resource(token, "nodes", props), resource(RELEASE, "ca", AUTOSCALER)
    timeouts = PolicyCustomTimeouts(0, 0, 0)
    group.opts = PolicyResourceOptions(False, [path], None, [], timeouts, [])  # noqa: FBT003

    assert said("desired-size-left-alone", [group, autoscaler]) == []


def test_only_a_chart_is_an_autoscaler(
    resource: Callable[..., PolicyResource], said: Callable[..., list[str]]
) -> None:
    group = resource(NODE_GROUP, "nodes", {"scalingConfig": SIZES})
    other = resource("theirs:index:Platform", "other", AUTOSCALER)
    plugin = resource(RELEASE, "plugin", {"chart": "nvidia-device-plugin"})

    assert said("desired-size-left-alone", [group, other, plugin]) == []


def test_a_group_that_the_autoscaler_does_not_name_is_the_program_s(
    resource: Callable[..., PolicyResource], said: Callable[..., list[str]]
) -> None:
    one = resource(NODE_GROUP, "one", {"scalingConfig": SIZES})
    two = resource(NODE_GROUP, "two", {"scalingConfig": SIZES})
    values = {"autoscalingGroups": [{"name": LATER}]}
    autoscaler = resource(
        RELEASE,
        "autoscaler",
        {"chart": "cluster-autoscaler", "values": values},
        uses={"values": [one]},
    )

    assert said("desired-size-left-alone", [one, two, autoscaler]) == ["one"]


@pytest.mark.parametrize("kind", ["efa", "efa-only"])
def test_nodes_with_efa_must_be_in_one_zone(
    kind: str, started: Callable[..., list[PolicyResource]], said: Callable[..., list[str]]
) -> None:
    template = {"networkInterfaces": [{"interfaceType": "interface"}, {"interfaceType": kind}]}
    rule = "efa-in-one-zone"

    assert said(rule, started(template, {"subnetIds": ["subnet-1", LATER]})) == ["nodes"]
    assert said(rule, started(template, {"subnetIds": [LATER]})) == []
    assert said(rule, started({"networkInterfaces": [{}]}, {"subnetIds": ["a", "b"]})) == []


def test_subnets_of_one_zone_are_one_zone_for_efa(
    resource: Callable[..., PolicyResource],
    started: Callable[..., list[PolicyResource]],
    said: Callable[..., list[str]],
) -> None:
    template = {"networkInterfaces": [{"interfaceType": "efa"}]}

    def of(*zones: str) -> list[str]:
        subnets = [
            resource("aws:ec2/subnet:Subnet", zone + str(at), {"availabilityZone": zone})
            for at, zone in enumerate(zones)
        ]
        nodes = started(template, {"subnetIds": [LATER for _ in zones]})
        nodes[-1].property_dependencies["subnetIds"] = subnets
        return said("efa-in-one-zone", [*subnets, *nodes])

    assert of("us-west-2a", "us-west-2a") == []
    assert of("us-west-2a", "us-west-2b") == ["nodes"]


def _group(resource: Any, name: str, kind: str, wanted: float, **more: object) -> Any:
    sizes = {"minSize": 0.0, "desiredSize": wanted, "maxSize": 10.0}
    props = {"instanceTypes": [kind], "scalingConfig": sizes, "region": "us-east-1", **more}
    return resource(NODE_GROUP, name, props)


def test_nodes_that_cost_more_than_the_budget_are_reported(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    price = gpu_instance_types()["g5.xlarge"].price("us-east-1")
    assert price is not None
    groups = [
        _group(resource, "many", "g5.xlarge", 200.0),
        _group(resource, "few", "g5.xlarge", 1.0),
    ]
    total = 201 * price
    rule = RULES["cost-within-budget"]

    found = stack_violations(rule, groups)

    assert [name for name, _ in found] == ["many"]
    assert f"cost {total:.2f} USD per hour" in found[0][1]
    assert f"{200 * price:.2f} of it 200 x g5.xlarge of many" in found[0][1]
    assert stack_violations(rule, groups, {"maximumDollarsPerHour": 300.0}) == []
    assert stack_violations(rule, groups[1:]) == []
    whole = [_group(resource, "many", "g5.xlarge", 500.0)]
    assert 500 * price == 503
    assert stack_violations(rule, whole, {"maximumDollarsPerHour": 503.0}) == []


@pytest.mark.parametrize("wanted", [0.0, None])
def test_nodes_that_do_not_run_cost_nothing(
    wanted: float | None,
    resource: Callable[..., PolicyResource],
    said: Callable[..., list[str]],
) -> None:
    group = _group(resource, "nodes", "p5.48xlarge", 0.0, scalingConfig={"desiredSize": wanted})

    assert said("cost-within-budget", [group], {"maximumDollarsPerHour": 1.0}) == []


def test_a_type_without_a_price_is_said(
    resource: Callable[..., PolicyResource], said: Callable[..., list[str]]
) -> None:
    groups = [
        _group(resource, "new", "g99.xlarge", 1.0),
        _group(resource, "known", "g5.xlarge", 9.0),
    ]

    with pytest.raises(NotJudgedError) as price:
        said("cost-within-budget", groups)
    with pytest.raises(NotJudgedError) as vcpus:
        said("vcpus-within-quota", groups, {"quotas": {"L-DB2E81BA": 64.0}})

    assert price.value.message.endswith(": the price of g99.xlarge of new in us-east-1")
    assert vcpus.value.message.endswith(": the vCPUs of g99.xlarge of the node group new")


def test_the_type_of_the_template_and_the_zone_of_the_subnets_set_the_price(
    resource: Callable[..., PolicyResource],
    started: Callable[..., list[PolicyResource]],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    subnet = resource(SUBNET, "subnet", {"availabilityZone": "ap-northeast-1a"})
    sizes = {"scalingConfig": {"desiredSize": 2.0}, "region": ""}
    resources = [subnet, *started({"instanceType": "g5.xlarge"}, sizes)]
    price = gpu_instance_types()["g5.xlarge"].price("ap-northeast-1")
    assert price is not None

    found = stack_violations(RULES["cost-within-budget"], resources, {"maximumDollarsPerHour": 1.0})

    assert f"cost {2 * price:.2f} USD" in found[0][1]


def test_groups_that_do_not_fit_into_a_quota_together_are_reported(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    # 10 x 4 vCPUs of g5.xlarge, 10 x 96 of p4d.24xlarge, which is another quota.
    groups = [
        _group(resource, "one", "g5.xlarge", 0.0),
        _group(resource, "two", "g6.xlarge", 0.0),
        _group(resource, "spot", "g6.xlarge", 0.0, capacityType="SPOT"),
        _group(resource, "large", "p4d.24xlarge", 0.0),
    ]
    rule, code = RULES["vcpus-within-quota"], "L-DB2E81BA"

    found = stack_violations(rule, groups, {"quotas": {code: 79.0}})

    assert [name for name, _ in found] == ["one"]
    assert (
        "the groups one, two take 80 vCPUs of the quota Running On-Demand G and VT" in found[0][1]
    )
    assert stack_violations(rule, groups, {"quotas": {code: 80.0}}) == []
    assert stack_violations(rule, groups) == []
    mixed = _group(resource, "mixed", "", 0.0, instanceTypes=["g5.xlarge", "g5.48xlarge"])
    ((_, message),) = stack_violations(rule, [mixed], {"quotas": {code: 1919.0}})
    assert "take 1920 vCPUs" in message
    assert stack_violations(rule, [mixed], {"quotas": {code: 1920.0}}) == []
    asked = resource(SERVICE_QUOTA, "quota", {"quotaCode": code, "value": 64.0})
    assert len(stack_violations(rule, [*groups, asked])) == 1


@pytest.mark.parametrize(
    ("stack", "least", "chart", "violated"),
    [
        ("*x*", 1.0, "karpenter", True),
        ("*x*", "2", "cluster-autoscaler", True),
        ("*x*", 0.0, "karpenter", False),
        ("*x*", 1.0, "nvidia-device-plugin", False),
        ("prod", 1.0, "karpenter", False),
    ],
)
def test_gpu_nodes_that_never_stop_are_reported_outside_production(
    stack: str,
    least: object,
    chart: str,
    violated: bool,
    resource: Callable[..., PolicyResource],
    said: Callable[..., list[str]],
) -> None:
    group = _group(resource, "nodes", "g5.xlarge", 1.0, scalingConfig={"minSize": least})
    autoscaler = resource(RELEASE, "autoscaler", {"chart": chart})

    found = said("gpu-nodes-to-zero", [group, autoscaler], {"stacks": [stack]})

    assert found == (["nodes"] if violated else [])


@pytest.mark.parametrize(
    ("compute", "more", "violated"),
    [
        ({"enabled": True}, None, True),
        ({"enabled": "1"}, None, True),
        ({"enabled": "0"}, None, False),
        (None, None, False),
        ({"enabled": True}, (NODE_GROUP, {"instanceTypes": ["m7i.large"]}), True),
        ({"enabled": True}, (NODE_GROUP, {"instanceTypes": ["g6.xlarge"]}), False),
        ({"enabled": True}, (NODE_GROUP, {"launchTemplate": {"id": "lt-1"}}), False),
        ({"enabled": True}, ("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", {}), False),
    ],
)
def test_sharing_on_auto_mode_alone_is_reported(
    compute: object,
    more: tuple[str, dict[str, object]] | None,
    violated: bool,
    resource: Callable[..., PolicyResource],
    said: Callable[..., list[str]],
) -> None:
    cluster = resource(AWS_CLUSTER, "cluster", {"computeConfig": compute})
    plugin = resource(RELEASE, "plugin", {"chart": "nvidia-device-plugin"})
    resources = [cluster, plugin, *([resource(more[0], "nodes", more[1])] if more else [])]

    found = said("auto-mode-shares-no-gpu", resources)

    assert found == (["plugin"] if violated else [])
