"""What a stack asks AWS, and what comes of the answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.program.fakes.fakes import Fakes, default_fakes
from eks_gpushare.program.run import run_program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.program.recording import Recording

ADMIN = "arn:aws:iam::111122223333:role/Platform"
POOL = {"instanceTypes": ["g5.xlarge"], "sharing": {"mode": "exclusive"}}
NEW = {
    "cluster": {"name": "demo", "version": "1.35", "admins": [ADMIN]},
    "network": {"zones": ["us-east-1a", "us-east-1b"]},
    "pools": {"gpu": POOL},
}
ZONES = "aws:index/getAvailabilityZones:getAvailabilityZones"
IDENTITY = "aws:index/getCallerIdentity:getCallerIdentity"
CLUSTER = "aws:eks/getCluster:getCluster"
TABLES = "aws:ec2/getRouteTables:getRouteTables"
TABLE = "aws:ec2/getRouteTable:getRouteTable"


def run(environment: Mapping[str, Any], **answers: Any) -> Recording:
    """Run the program of every stack, with AWS's answers by the last word of their token."""
    base = default_fakes()
    tokens = {
        token.rpartition(":")[2]: token for token in (ZONES, IDENTITY, CLUSTER, TABLES, TABLE)
    }

    def answering(answer: Any) -> Any:
        return lambda _plan, args, _provider: answer(args) if callable(answer) else answer

    own = {tokens[name]: answering(answer) for name, answer in answers.items()}
    fakes = Fakes(base.components, {**base.functions, **own}, base.methods)

    def program() -> None:
        from eks_gpushare import GpuSharingEnvironment
        from eks_gpushare.stack import load_stack

        GpuSharingEnvironment("demo", load_stack())

    config = {
        "aws:region": "us-east-1",
        "eks-gpushare:environment": json.dumps(environment),
    }
    return run_program(program, project="eks-gpushare", stack="test", config=config, fakes=fakes)


def zones(**ids: str) -> dict[str, Any]:
    names = [f"us-east-1{letter}" for letter in ids]
    return {"id": "us-east-1", "names": names, "zoneIds": [*ids.values()], "groupNames": []}


def error(recording: Recording) -> str:
    assert recording.error is not None
    return recording.error.text


def inputs(recording: Recording, kind: str) -> list[dict[str, Any]]:
    return [each.inputs for each in recording.resources if each.type.endswith(f":{kind}")]


def test_a_named_zone_without_control_planes_stops_the_stack() -> None:
    recording = run(NEW, getAvailabilityZones=zones(a="use1-az1", b="use1-az3"))

    assert error(recording).startswith(
        "the stack file has 2 errors:\n  GPU327 network.zones[1]: us-east-1b is use1-az3 in this "
        "account, which has no EKS control planes."
    )
    assert inputs(recording, "Vpc") == []


def test_counted_zones_leave_out_those_without_control_planes() -> None:
    answer = zones(a="use1-az3", b="use1-az1", c="use1-az2")
    recording = run({**NEW, "network": {"zones": 2}}, getAvailabilityZones=answer)

    assert recording.error is None, recording.error
    assert {each["availabilityZone"] for each in inputs(recording, "Subnet")} == {
        "us-east-1b",
        "us-east-1c",
    }


def test_a_zone_that_does_not_offer_the_type_stops_the_stack() -> None:
    pool = {**POOL, "instanceTypes": ["g6e.xlarge"]}
    recording = run(
        {**NEW, "pools": {"gpu": pool}},
        getAvailabilityZones=zones(a="use1-az1", b="use1-az5", c="use1-az2"),
    )

    assert error(recording) == (
        "the stack file has 1 error:\n  GPU328 pools.gpu.zones: g6e.xlarge is not offered in "
        "us-east-1b (use1-az5). Set zones to some of us-east-1a, us-east-1c, use1-az4, use1-az6. "
        "If EC2 offers it by now, say so in catalog.instanceTypes.<type>.zoneIds."
    )


@pytest.mark.parametrize(("zone_ids", "stops"), [(("az5", "az1"), False), (("az5", "az3"), True)])
def test_karpenter_needs_one_zone_that_offers_the_type(
    zone_ids: tuple[str, str], stops: bool
) -> None:
    pool = {**OF_KARPENTER["gpu"], "instanceTypes": ["g6e.xlarge"]}
    pool["zones"] = ["us-east-1a", "us-east-1b"]
    ids = {letter: f"use1-{each}" for letter, each in zip("ab", zone_ids, strict=True)}
    network = {"zones": 3}
    answer = zones(**ids, c="use1-az2", d="use1-az4")
    recording = run(
        {**NEW, "network": network, "pools": {"gpu": pool}}, getAvailabilityZones=answer
    )

    assert (
        "g6e.xlarge is not offered" in (recording.error.text if recording.error else "")
    ) is stops


def denied(**_: object) -> None:
    """What the SDK raises where a provider answers with an error."""
    message = "invoke failed: UnauthorizedOperation\nstatus code: 403"
    raise RuntimeError(message)


def test_named_zones_that_aws_does_not_tell_of_stop_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pulumi_aws.get_availability_zones", denied)
    recording = run(NEW)

    assert recording.error is None, recording.error
    assert len(inputs(recording, "Subnet")) == 4
    assert [each.text for each in recording.messages if "zones" in each.text] == [
        ("What depends on the IDs of zones is not checked: invoke failed: UnauthorizedOperation")
    ]


@pytest.mark.parametrize(
    ("caller", "bootstraps"),
    [
        ("arn:aws:sts::111122223333:assumed-role/Platform/ci", False),
        ("arn:aws:sts::111122223333:assumed-role/Pipeline/ci", True),
    ],
)
def test_the_program_knows_whether_an_admin_creates_the_cluster(
    caller: str, bootstraps: bool
) -> None:
    identity = {"id": "1", "accountId": "111122223333", "arn": caller, "userId": "A"}
    recording = run(NEW, getCallerIdentity=identity)
    (plane,) = [r for r in recording.resources if r.type == "aws:eks/cluster:Cluster"]

    access = plane.inputs["accessConfig"]
    assert access["bootstrapClusterCreatorAdminPermissions"] is bootstraps


def test_nobody_is_asked_where_there_are_no_admins() -> None:
    def asked(_: object) -> None:
        message = "asked for the caller"
        raise AssertionError(message)

    alone = {**NEW, "cluster": {"name": "demo", "version": "1.35"}}

    assert run(alone, getCallerIdentity=asked).error is None


THERE = {"cluster": {"existing": {"name": "there"}}, "pools": {"gpu": POOL}}
SUBNET = "subnet-7c1f29d6"
IDS = {"id": "vpc-assumed", "ids": ["rtb-1", "rtb-2"]}


def table(*subnets: str, main: bool = False, gateway: str = "") -> dict[str, Any]:
    own = [{"main": False, "subnetId": each, "gatewayId": ""} for each in subnets]
    rest = [{"main": True, "subnetId": "", "gatewayId": ""}] if main else []
    routes = [{"cidrBlock": "10.0.0.0/16", "gatewayId": "local"}]
    routes += [{"cidrBlock": "0.0.0.0/0", "gatewayId": gateway}]
    return {"associations": own + rest, "routes": routes}


def tables(**by_id: dict[str, Any]) -> Any:
    return lambda args: {**by_id[args["routeTableId"].replace("-", "_")], "id": "rtb"}


def test_nodes_go_into_the_private_subnets_of_an_existing_cluster() -> None:
    answers = tables(
        rtb_1=table("subnet-assumed-1", gateway="igw-1"), rtb_2=table(main=True, gateway="")
    )
    recording = run(THERE, getRouteTables=IDS, getRouteTable=answers)

    assert recording.error is None, recording.error
    assert [each["subnetIds"] for each in inputs(recording, "NodeGroup")] == [["subnet-assumed-2"]]
    assert [each.text for each in recording.messages if "internet gateway" in each.text] == [
        (
            "Nodes go into subnet-assumed-2 and not into subnet-assumed-1, from where a route "
            "leads to an internet gateway. Name those for nodes: network: {vpcId, "
            "privateSubnetIds}."
        )
    ]


def test_a_cluster_with_public_subnets_only_asks_for_others() -> None:
    answers = tables(rtb_1=table(main=True, gateway="igw-1"), rtb_2=table())
    recording = run(THERE, getRouteTables=IDS, getRouteTable=answers)

    assert error(recording) == (
        "cluster.existing.name: every subnet of the EKS cluster there has a route to an internet "
        "gateway, and nodes get no public address. Name those for nodes: network: {vpcId, "
        "privateSubnetIds}."
    )


@pytest.mark.parametrize(
    "named",
    [
        {"network": {"vpcId": "vpc-7c1f29d6", "privateSubnetIds": [SUBNET, "subnet-4e6a8d1b"]}},
        {"pools": {"gpu": {**POOL, "subnetIds": [SUBNET]}}},
    ],
)
def test_subnets_that_are_named_are_taken(named: dict[str, Any]) -> None:
    def asked(_: object) -> None:
        message = "asked for route tables"
        raise AssertionError(message)

    recording = run({**THERE, **named}, getRouteTables=asked)

    assert recording.error is None, recording.error
    assert inputs(recording, "NodeGroup")[0]["subnetIds"][0] == SUBNET


def test_route_tables_that_aws_does_not_tell_of_ask_for_the_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pulumi_aws.ec2.get_route_tables", denied)

    assert error(run(THERE)) == (
        "cluster.existing.name: which subnets of the EKS cluster there are private, AWS does not "
        "say: invoke failed: UnauthorizedOperation. Name those for nodes: network: {vpcId, "
        "privateSubnetIds}."
    )


OF_KARPENTER = {
    "gpu": {
        **POOL,
        "provisioner": "karpenter",
        "nodes": {"max": 2},
        "amiVersion": "1.35.8-20260930",
    }
}


def in_auto_mode(enabled: bool) -> Mapping[str, Any]:
    config = {"enabled": enabled, "nodePools": ["general-purpose"], "nodeRoleArn": ""}
    network = {"vpcId": "vpc-1", "subnetIds": ["subnet-1"], "clusterSecurityGroupId": "sg-1"}
    return {
        "id": "there",
        "arn": "arn:aws:eks:us-east-1:111122223333:cluster/there",
        "endpoint": "https://there.example.com",
        "certificateAuthorities": [{"data": "QQ=="}],
        "kubernetesNetworkConfigs": [{"serviceIpv4Cidr": "172.20.0.0/16"}],
        "version": "1.35",
        "vpcConfig": network,
        "computeConfigs": [config],
    }


def test_a_karpenter_of_ones_own_is_not_for_auto_mode() -> None:
    recording = run({**THERE, "pools": OF_KARPENTER}, getCluster=in_auto_mode(enabled=True))

    assert error(recording).startswith(
        "cluster.existing.name: the EKS cluster there is in EKS Auto Mode, which has a Karpenter "
        "of its own with the same kinds;"
    )


@pytest.mark.parametrize(
    ("pools", "enabled"), [(OF_KARPENTER, False), ({"gpu": POOL}, True), ({"gpu": POOL}, False)]
)
def test_what_auto_mode_leaves_alone_is_made(pools: dict[str, Any], enabled: bool) -> None:
    recording = run({**THERE, "pools": pools}, getCluster=in_auto_mode(enabled=enabled))

    assert recording.error is None, recording.error


def test_nodes_of_karpenters_go_into_private_subnets_too() -> None:
    answers = tables(rtb_1=table(main=True, gateway="igw-1"), rtb_2=table())
    recording = run({**THERE, "pools": OF_KARPENTER}, getRouteTables=IDS, getRouteTable=answers)

    assert "every subnet of the EKS cluster there" in error(recording)
