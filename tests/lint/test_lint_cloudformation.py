"""Templates of CloudFormation: what they make of nodes, and what only a deployment tells."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from foreign_reading import ids, items, placed, problems, read_with

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import NodeSet, NodeTaint
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.readers.cloudformation import CloudFormationReader, plain
from eks_gpushare.manifests.document import Document

READER = CloudFormationReader()
GROUP, TEMPLATE = "AWS::EKS::Nodegroup", "AWS::EC2::LaunchTemplate"
SCALING = "AWS::AutoScaling::AutoScalingGroup"
NOTHING = {"Ref": "AWS::NoValue"}
DATA = {"InstanceType": "g6.xlarge", "ImageId": "ami-1", "UserData": "set -e; date"}
RESOURCE = "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"


def of(**resources: tuple[str, Any]) -> dict[str, Any]:
    return {
        "Resources": {
            name: {"Type": kind, "Properties": given} for name, (kind, given) in resources.items()
        }
    }


def nodes(kind: str, given: Any, data: Any = None) -> NodeSet:
    resources = {"Gpu": (kind, given), "Other": (TEMPLATE, {"LaunchTemplateData": {}})}
    if data is not None:
        resources["Template"] = (TEMPLATE, {"LaunchTemplateData": data})
    (found,) = items(read_with(READER, of(**resources)))
    assert isinstance(found, NodeSet)
    return found


@pytest.mark.parametrize(
    ("value", "matches"),
    [
        (of(A=("AWS::S3::Bucket", {})), True),
        ({"Resources": {"A": {}, "B": {"Type": "AWS::S3::Bucket"}}}, True),
        ({"Resources": {"A": {"Type": "Custom::A"}}}, False),
        ({"Resources": {"A": {"Type": UNKNOWN}}}, False),
        ({"Resources": {"A": "AWS::S3::Bucket"}}, False),
        ({"Resources": ["AWS::S3::Bucket"]}, False),
        ({}, False),
        (["Resources"], False),
    ],
)
def test_what_is_a_template(value: Any, matches: bool) -> None:
    assert READER.matches(Document("a.yaml", value, lambda _: Position(1, 1))) is matches


@pytest.mark.parametrize(
    ("value", "made"),
    [
        ("a", "a"),
        ({"a": "b", "Ref": "c"}, {"a": "b", "Ref": "c"}),
        ({"Ref": "a"}, UNKNOWN),
        ({"Ref": "AWS::Region"}, UNKNOWN),
        ({"Condition": "a"}, UNKNOWN),
        ({"Fn::If": ["a", 1, 2]}, UNKNOWN),
        ({"a": {"Ref": "b"}}, {"a": UNKNOWN}),
        ({"a": NOTHING}, {"a": None}),
        ({"Fn::Join": NOTHING}, UNKNOWN),
        ({"Fn::If": "AWS::NoValue"}, UNKNOWN),
        ([1, NOTHING, {"Ref": "a"}], [1, UNKNOWN]),
        ({}, {}),
        ({"Fn::Base64": "a"}, "a"),
        ({"Fn::Base64": {"Fn::Sub": "a"}}, "a"),
        ({"Fn::Sub": "a${b}"}, UNKNOWN),
        ({"Fn::Sub": "a${b}\nc"}, "a${b}\nc"),
        ({"Fn::Sub": ["a", {"b": "c"}]}, "a"),
        ({"Fn::Sub": ["a${b}", {"b": "c"}]}, "ac"),
        ({"Fn::Sub": ["a${b}", {"b": {"Ref": "c"}}]}, UNKNOWN),
        ({"Fn::Sub": "kubernetes.io/cluster/${c}"}, "kubernetes.io/cluster/${c}"),
        ({"Fn::Sub": []}, UNKNOWN),
        ({"Fn::Sub": [5]}, UNKNOWN),
        ({"Fn::Join": ["\n", ["a"]]}, UNKNOWN),
    ],
)
def test_what_functions_make(value: Any, made: Any) -> None:
    assert plain(value) == made


# --- node groups ---------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, None, {"NodegroupName": ""}, {"NodegroupName": NOTHING}])
def test_a_group_of_which_nothing_is_said(given: Any) -> None:
    found = nodes(GROUP, given)

    assert (found.name, found.provisioner) == ("Gpu", "managed")
    assert found.source.name == "the Nodegroup Gpu"
    assert found.source.path == ("Resources", "Gpu", "Properties")
    assert (found.instance_types, found.ami, found.user_data) == ((), "", "")
    assert (found.labels, found.taints, found.promised) == ({}, (), {})
    assert (found.least, found.most) == (None, None)


def test_a_group_of_which_all_is_said() -> None:
    found = nodes(
        GROUP,
        {
            "NodegroupName": "gpu",
            "InstanceTypes": ["g6.xlarge", "g5.xlarge"],
            "Labels": {"a": "b", "c": {"Ref": "C"}},
            "Taints": [{"Key": "a", "Value": "b", "Effect": "NO_SCHEDULE"}],
            "Tags": {RESOURCE: 4, "a": "b"},
            "AmiType": "AL2023_x86_64_NVIDIA",
            "ScalingConfig": {"MinSize": 1, "MaxSize": "4"},
        },
    )

    assert (found.name, found.instance_types) == ("gpu", ("g6.xlarge", "g5.xlarge"))
    assert found.labels == {"a": "b", "c": UNKNOWN}
    assert found.taints == (NodeTaint("a", "b", "NoSchedule"),)
    assert found.promised == {"nvidia.com/gpu": "4"}
    assert (found.ami, found.least, found.most) == ("AL2023_x86_64_NVIDIA", 1, 4)


@pytest.mark.parametrize(
    ("key", "given", "field", "found"),
    [
        ("NodegroupName", {"Ref": "a"}, "name", UNKNOWN),
        ("InstanceTypes", {"Ref": "a"}, "instance_types", UNKNOWN),
        ("InstanceTypes", ["g6.xlarge", {"Ref": "a"}], "instance_types", UNKNOWN),
        ("InstanceTypes", ["g6.xlarge", NOTHING], "instance_types", ("g6.xlarge",)),
        ("Labels", {"Ref": "a"}, "labels", UNKNOWN),
        ("Taints", {"Ref": "a"}, "taints", UNKNOWN),
        ("Taints", [{"Ref": "a"}], "taints", UNKNOWN),
        ("Taints", [{"Key": "a", "Effect": {"Ref": "a"}}], "taints", UNKNOWN),
        ("Taints", ["a"], "taints", ()),
        ("AmiType", {"Ref": "a"}, "ami", UNKNOWN),
        ("ScalingConfig", {"Ref": "a"}, "least", UNKNOWN),
    ],
)
def test_what_only_a_deployment_tells(key: str, given: Any, field: str, found: Any) -> None:
    assert getattr(nodes(GROUP, {key: given}), field) == found


# --- launch templates ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "named",
    [
        {"Id": {"Ref": "Template"}},
        {"Name": {"Ref": "Template"}},
        {"LaunchTemplateId": {"Ref": "Template"}},
        {"LaunchTemplateName": {"Ref": "Template"}},
        {"Id": {"Fn::GetAtt": "Template.LaunchTemplateId"}},
        {"Id": {"Fn::GetAtt": ["Template", "LaunchTemplateId"]}},
        {"Version": 1, "Id": {"Fn::GetAtt": ["Template", "LaunchTemplateId"]}},
    ],
)
def test_the_template_that_a_group_names(named: Any) -> None:
    tagged = {"Tags": [{"Key": "kubernetes.io/cluster/gpu", "Value": "owned"}]}
    mixed = {"LaunchTemplate": {"LaunchTemplateSpecification": named}}
    for found in (
        nodes(GROUP, {"LaunchTemplate": named}, DATA),
        nodes(SCALING, {"LaunchTemplate": named, **tagged}, DATA),
        nodes(SCALING, {"MixedInstancesPolicy": mixed, **tagged}, DATA),
    ):
        assert (found.instance_types, found.ami) == (("g6.xlarge",), "ami-1")
        assert found.user_data == DATA["UserData"]


@pytest.mark.parametrize(
    "named",
    [
        {"Id": "lt-1"},
        {"Name": "Template"},
        {"Id": {"Ref": "Elsewhere"}},
        {"Id": {"Ref": ["Template"]}},
        {"Id": {"Fn::GetAtt": ["Elsewhere", "LaunchTemplateId"]}},
        {"Id": {"Fn::ImportValue": "Template"}},
        {"Ref": "Parameter"},
        {"Fn::If": ["a", {"Id": {"Ref": "Template"}}, NOTHING]},
        "Template",
    ],
)
def test_templates_that_are_not_there_are_not_known(named: Any) -> None:
    found = nodes(GROUP, {"LaunchTemplate": named}, DATA)

    assert (found.instance_types, found.ami, found.user_data) == (UNKNOWN, UNKNOWN, UNKNOWN)


@pytest.mark.parametrize("named", [None, {}, NOTHING])
def test_a_group_without_a_template(named: Any) -> None:
    found = nodes(GROUP, {"LaunchTemplate": named}, DATA)

    assert (found.instance_types, found.ami, found.user_data) == ((), "", "")


def test_a_template_alone_makes_no_nodes() -> None:
    assert items(read_with(READER, of(A=(TEMPLATE, {"LaunchTemplateData": DATA})))) == []


# --- Auto Scaling groups -------------------------------------------------------------------------

OWNED = {"Key": "kubernetes.io/cluster/gpu", "Value": "owned", "PropagateAtLaunch": True}


def scaling(**given: Any) -> NodeSet:
    return nodes(SCALING, {"Tags": [OWNED], **given}, DATA)


def test_an_auto_scaling_group() -> None:
    bare = scaling()
    said = scaling(
        AutoScalingGroupName="gpu",
        MinSize="0",
        MaxSize=4,
        Tags=[OWNED, {"Key": RESOURCE, "Value": 4}, {"Key": {"Ref": "a"}, "Value": 1}],
    )

    assert (bare.name, bare.provisioner) == ("Gpu", "selfManaged")
    assert (bare.instance_types, bare.least, bare.most, bare.promised) == ((), None, None, {})
    assert bare.source.name == "the AutoScalingGroup Gpu"
    assert (said.name, said.least, said.most) == ("gpu", 0, 4)
    assert said.promised == {"nvidia.com/gpu": "4"}


@pytest.mark.parametrize("tags", [None, [], [{"Key": "Name", "Value": "web"}], {"Ref": "a"}])
def test_instances_of_no_cluster_are_no_nodes(tags: Any) -> None:
    read = read_with(READER, of(A=(SCALING, {"Tags": tags}), B=(GROUP, {})))

    assert [each.source.name for each in items(read)] == ["the Nodegroup B"]


@pytest.mark.parametrize(
    ("overrides", "types"),
    [
        ([{"InstanceType": "g5.xlarge"}, {"InstanceType": "g4dn.xlarge"}],
         ("g5.xlarge", "g4dn.xlarge")),
        ([{"InstanceType": "g5.xlarge"}, {"InstanceType": {"Ref": "a"}}], UNKNOWN),
        ([{"InstanceType": "g5.xlarge"}, {"Ref": "a"}], UNKNOWN),
        ({"Ref": "a"}, UNKNOWN),
        ([{"InstanceRequirements": {"AcceleratorCount": {"Min": 1}}}], UNKNOWN),
        ([{"WeightedCapacity": "2"}], ("g6.xlarge",)),
        ([], ("g6.xlarge",)),
    ],
)  # fmt: skip
def test_types_of_a_mixed_policy(overrides: Any, types: Any) -> None:
    template = {"LaunchTemplateSpecification": {"LaunchTemplateId": {"Ref": "Template"}}}
    found = scaling(MixedInstancesPolicy={"LaunchTemplate": {**template, "Overrides": overrides}})

    assert found.instance_types == types


# --- what is wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "code", "path"),
    [
        ({"InstanceTypes": ["g5.3xlarge"]}, "GPU1069", ("InstanceTypes",)),
        ({"Labels": {"nvidia.com/gpu.count": "1"}}, "GPU1077", ("Labels", "nvidia.com/gpu.count")),
    ],
)
def test_one_thing_of_a_group_is_wrong(given: Any, code: str, path: tuple[str, ...]) -> None:
    (problem,) = problems(read_with(READER, of(A=(GROUP, given))))

    assert (problem.rule.id, problem.path) == (code, path)


@pytest.mark.parametrize(
    ("sizes", "wrong"),
    [
        ({"MinSize": "3", "MaxSize": "2"}, ["MinSize"]),
        ({"MinSize": "0", "MaxSize": "2", "DesiredCapacity": "3"}, ["DesiredCapacity"]),
        ({"MinSize": "2", "MaxSize": "2", "DesiredCapacity": "1"}, ["DesiredCapacity"]),
        ({"MinSize": "2", "MaxSize": "2", "DesiredCapacity": "2"}, []),
        ({"MinSize": {"Ref": "Least"}, "MaxSize": "2"}, []),
    ],
)
def test_sizes_of_an_auto_scaling_group(sizes: Any, wrong: list[str]) -> None:
    own = of(A=(SCALING, {"Tags": [OWNED], **sizes}))
    other = of(A=(SCALING, {"Tags": [], **sizes}))

    found = problems(read_with(READER, own))
    assert [(each.rule.id, each.path) for each in found] == [("GPU1071", (key,)) for key in wrong]
    assert problems(read_with(READER, other)) == []


@pytest.mark.parametrize("kind", [["AWS::EKS::Nodegroup"], {"a": "b"}, UNKNOWN, None, "AWS::A::B"])
def test_resources_of_other_kinds_are_passed_over(kind: Any) -> None:
    read = read_with(READER, of(A=(kind, {}), B=(GROUP, {})))

    assert [each.source.name for each in items(read)] == ["the Nodegroup B"]


WRONG = """\
Resources:
  A:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        UserData:{}
          [settings.kubelet-device-plugins.nvidia]
          device-sharing-strategy = "mine"
"""


@pytest.mark.parametrize(
    ("around", "line"),
    [
        (" |", 8),
        ("\n          Fn::Base64: |", 9),
        ("\n          Fn::Base64:\n           Fn::Sub: |", 10),
        ("\n          Fn::Base64:\n           Fn::Sub:\n           - |", 11),
        ("\n          Fn::Sub:\n           - |", 10),
    ],
)
def test_what_is_wrong_in_user_data_stands_at_its_line(around: str, line: int) -> None:
    text = WRONG.format(around)
    lines = text.splitlines()
    text = "\n".join([*lines[:-2], *(f"    {each}" for each in lines[-2:])]) + "\n"
    (problem,) = problems(read_with(READER, text))

    assert (problem.rule.id, placed(problem).line) == ("GPU1082", line)


@pytest.mark.parametrize("data", [{}, {"Ref": "a"}, [], {"Fn::Sub": []}, None, 5])
def test_user_data_of_other_shapes_is_not_judged(data: Any) -> None:
    assert (
        ids(read_with(READER, of(A=(TEMPLATE, {"LaunchTemplateData": {"UserData": data}})))) == []
    )


def test_user_data_in_base64_is_decoded() -> None:
    text = '[settings.kubelet-device-plugins.nvidia]\ndevice-sharing-strategy = "mine"\n'
    data = {"UserData": base64.b64encode(text.encode()).decode()}

    assert ids(read_with(READER, of(A=(TEMPLATE, {"LaunchTemplateData": data})))) == ["GPU1082"]


def test_tags_of_a_group_are_known_or_not() -> None:
    assert nodes(GROUP, {"Tags": {"team": "ml"}}).tags == frozenset({"team"})
    assert nodes(GROUP, {"Tags": UNKNOWN}).tags is UNKNOWN


@pytest.mark.parametrize(
    "sizes",
    [
        {"MinSize": 2, "DesiredSize": 1, "MaxSize": 3},
        {"MinSize": 1, "DesiredSize": 3, "MaxSize": 2},
    ],
)
def test_sizes_of_a_group_are_in_order(sizes: dict[str, int]) -> None:
    template = of(Gpu=(GROUP, {"ScalingConfig": sizes}))

    assert len(problems(read_with(READER, template))) == 1
