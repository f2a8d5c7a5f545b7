"""Reserved capacity in a zone that a node class, or a pool of it, launches nothing in."""

from __future__ import annotations

import pytest
from linted import found

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: big}
spec:
  template:
    spec:
      expireAfter: Never
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: big}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [WAYS]}
        - {key: KEY, operator: HOW, values: [ZONES]}
  limits: {nvidia.com/gpu: 16}
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: big}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@v20261114}]
  subnetSelectorTerms: [SUBNETS]
  securityGroupSelectorTerms: [{tags: {of: own}}]
  capacityReservationSelectorTerms: [RESERVED]
  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 200Gi, encrypted: true}}]
"""
TEMPLATE = """\
Resources:
  One:
    Type: AWS::EC2::Subnet
    Properties: {VpcId: vpc-1, CidrBlock: 10.0.0.0/24, AvailabilityZone: eu-west-1a, FIRST}
  Two:
    Type: AWS::EC2::Subnet
    Properties: {VpcId: vpc-1, CidrBlock: 10.0.1.0/24, AvailabilityZone: SECOND}
  Kept:
    Type: AWS::EC2::CapacityReservation
    Properties:
      InstanceType: p5.48xlarge
      InstancePlatform: Linux/UNIX
      AvailabilityZone: THIRD
      InstanceCount: 2
      TagSpecifications:
        - {ResourceType: KIND, Tags: [{Key: team, Value: llm}]}
"""
BY_TAG = "{tags: {team: llm}}"
TAGGED = "Tags: [{Key: use, Value: gpu}]"
KEY = "topology.kubernetes.io/zone"


def pool(ways: str = "reserved", zones: str = "amd64", how: str = "In", key: str = "") -> str:
    own = key or ("kubernetes.io/arch" if zones == "amd64" else KEY)
    text = POOL.replace("WAYS", ways).replace("ZONES", zones)
    return text.replace("HOW", how).replace("KEY", own)


def node_class(reserved: str = BY_TAG, subnets: str = "{tags: {use: gpu}}") -> str:
    return CLASS.replace("SUBNETS", subnets).replace("RESERVED", reserved)


def template(
    zone: str = "eu-west-1b",
    first: str = TAGGED,
    second: str = "eu-west-1b",
    kind: str = "capacity-reservation",
) -> str:
    text = TEMPLATE.replace("THIRD", zone).replace("FIRST", first).replace("SECOND", second)
    return text.replace("KIND", kind)


def told(*texts: str) -> list[str]:
    """Messages of each GPU1376."""
    given = [(f"{number}.yaml", text) for number, text in enumerate(texts)]
    return [each.message for each in found(given) if each.code == "GPU1376"]


def test_subnets_are_in_the_zone_of_what_is_reserved() -> None:
    (message,) = told(pool(), node_class(), template())

    assert message == (
        "What the EC2NodeClass big has reserved is in eu-west-1b, and its subnets are in "
        "eu-west-1a: the NodePool big launches nothing into it."
    )
    assert len(told(pool("reserved, on-demand"), node_class(), template())) == 1
    assert told(pool(), node_class(), template("eu-west-1a")) == []


@pytest.mark.parametrize(
    ("reserved", "subnets", "wrong"),
    [
        (BY_TAG, "{tags: {use: '*'}}", True),
        ("{tags: {team: llm}}, {tags: {team: b}}", "{tags: {use: gpu}}, {tags: {use: b}}", True),
        (BY_TAG, "{tags: {use: other}}", False),  # which none here has
        (BY_TAG, "{tags: {use: gpu, of: own}}", False),
        (BY_TAG, "{tags: {use: $USE}}", False),
        (BY_TAG, "{id: subnet-1}", False),
        (BY_TAG, "{tags: {use: gpu}}, {id: subnet-1}", False),
        (BY_TAG, "{tags: {use: gpu}, id: subnet-1}", False),
        (BY_TAG, "{tags: {}}", False),
        (BY_TAG, "", False),
        ("{tags: {team: other}}", "{tags: {use: gpu}}", False),
        ("{tags: {team: $TEAM}}", "{tags: {use: gpu}}", False),
        ("{id: cr-1}", "{tags: {use: gpu}}", False),
        ("", "{tags: {use: gpu}}", False),
    ],
)
def test_terms_select_by_tags_what_is_here(reserved: str, subnets: str, wrong: bool) -> None:
    assert bool(told(pool(), node_class(reserved, subnets), template())) is wrong


@pytest.mark.parametrize(
    "text",
    [
        template("eu-west-1c"),  # where no subnet is that anybody could mean
        template("!Ref Zone"),
        template(second="!Ref Zone"),
        template(first="Tags: !Ref Tags"),
        template(first="Tags: [{Key: use, Value: !Ref Use}]"),
        template(first="MapPublicIpOnLaunch: false"),
        template(kind="instance"),
        template(kind="!Ref Kind"),
        template(second=f"eu-west-1b, {TAGGED}"),
    ],
)
def test_what_a_template_leaves_open_may_be_right(text: str) -> None:
    assert told(pool(), node_class(), text) == []


@pytest.mark.parametrize(
    ("zones", "how", "key", "wrong"),
    [
        ("eu-west-1a", "In", KEY, True),
        ("eu-west-1a, eu-west-1c", "In", KEY, True),
        ("eu-west-1a, eu-west-1b", "In", KEY, False),
        ("eu-west-1a", "NotIn", KEY, False),
        ("eu-west-1a, $ZONE", "In", KEY, False),
        ("eu-west-1a", "In", "example.com/zone", False),
    ],
)
def test_a_pool_is_for_the_zone_of_what_is_reserved(
    zones: str, how: str, key: str, wrong: bool
) -> None:
    messages = told(pool(zones=zones, how=how, key=key), node_class(subnets=""), template())

    assert bool(messages) is wrong
    if wrong:
        assert f"is in eu-west-1b, and the NodePool big is for {zones}: " in messages[0]


def test_what_is_reserved_is_for_pools_that_take_it() -> None:
    other = pool("on-demand", "eu-west-1a")

    (message,) = told(other, node_class(), template())
    assert "takes no reserved capacity" in message
    assert told(pool(), template()) == []
    assert told(pool("$WAYS"), node_class(), template()) == []


def test_a_template_of_another_folder_is_of_the_cluster() -> None:
    files = {"k8s/a.yaml": pool(), "k8s/b.yaml": node_class(), "cfn/c.yaml": template()}

    assert [each.code for each in found(files.items()) if each.code == "GPU1376"] == ["GPU1376"]
    twice = {**files, "network/c.yaml": template()}
    assert [each.code for each in found(twice.items()) if each.code == "GPU1376"] == []


def test_a_type_that_is_no_text_is_nobodys() -> None:
    odd = template() + "  Odd:\n    Type: {a: b}\n"

    assert len(told(pool(), node_class(), odd)) == 1
