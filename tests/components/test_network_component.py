from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run


def test_a_network_with_defaults(
    network: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    golden("components/network.json", network().text())


def test_all_zones_leave_through_one_nat_gateway(network: Callable[..., Run]) -> None:
    made = network(preview=False)

    assert [each.name for each in made.all("NatGateway")] == ["demo-nat-us-west-2a"]
    routes = [made.inputs("Route", f"demo-private-us-west-2{zone}-nat") for zone in "ab"]
    assert {route["natGatewayId"] for route in routes} == {made.one("NatGateway").id}


def test_with_a_nat_gateway_per_zone_each_zone_leaves_through_its_own(
    network: Callable[..., Run],
) -> None:
    made = network(preview=False, nat_gateways="perZone")

    exits = {
        zone: made.inputs("Route", f"demo-private-{zone}-nat")["natGatewayId"]
        for zone in ("us-west-2a", "us-west-2b")
    }
    assert exits == {
        zone: made.one("NatGateway", f"demo-nat-{zone}").id for zone in ("us-west-2a", "us-west-2b")
    }


def test_a_nat_gateway_waits_for_the_internet_gateway(network: Callable[..., Run]) -> None:
    """AWS makes none in a VPC without one, and detaches none while there is NAT."""
    assert "demo-igw" in network().depends("NatGateway")


def test_the_id_of_a_private_subnet_waits_for_its_way_out(record: Callable[..., Run]) -> None:
    def program() -> None:
        import pulumi_aws as aws

        from eks_gpushare import Network

        made = Network("demo", {"zones": ["us-west-2a", "us-west-2b"]})
        aws.ec2.NetworkInterface("probe", subnet_id=made.subnet_by_zone["us-west-2b"])

    assert record(program).depends("NetworkInterface") == [
        "demo-private-us-west-2b",
        "demo-private-us-west-2b-nat",
    ]


def test_flow_logs_record_what_was_rejected(network: Callable[..., Run]) -> None:
    made = network(preview=False, flow_logs=True, tags={"team": "a"})
    tags = {"team": "a", "Name": "demo-flow-logs"}
    group, role = made.one("LogGroup"), made.one("Role")

    assert made.inputs("FlowLog") == {
        "iamRoleArn": role.outputs["arn"],
        "logDestination": group.outputs["arn"],
        "tags": tags,
        "trafficType": "REJECT",
        "vpcId": made.one("Vpc").id,
    }
    assert made.inputs("LogGroup") == {"retentionInDays": 30, "tags": tags}
    assert (
        f'"Resource": ["{group.outputs["arn"]}", "{group.outputs["arn"]}:*"]'
        in (made.inputs("RolePolicy")["policy"])
    )


def test_without_flow_logs_there_is_no_role(network: Callable[..., Run]) -> None:
    assert network().all("Role") == []


@pytest.mark.parametrize("nat_gateways", ["single", "perZone"])
def test_a_further_zone_changes_nothing_about_the_others(
    network: Callable[..., Run], nat_gateways: str
) -> None:
    before = network(zones=["us-west-2b", "us-west-2c"], nat_gateways=nat_gateways)
    after = network(zones=["us-west-2b", "us-west-2c", "us-west-2a"], nat_gateways=nat_gateways)

    untouched = {"Network demo", "VpcEndpoint demo-s3"}
    assert {each for each in after.changed_from(before) if "us-west-2a" not in each} == untouched


def test_the_order_of_zones_changes_no_subnet(network: Callable[..., Run]) -> None:
    before = network(zones=["us-west-2a", "us-west-2b"], nat_gateways="perZone")
    after = network(zones=["us-west-2b", "us-west-2a"], nat_gateways="perZone")

    assert after.changed_from(before) == {"Network demo"}


def test_an_s3_endpoint_keeps_image_layers_off_the_nat_gateway(
    network: Callable[..., Run],
) -> None:
    made = network(preview=False)

    assert made.inputs("VpcEndpoint") == {
        "routeTableIds": [
            made.one("RouteTable", f"demo-private-us-west-2{zone}").id for zone in "ab"
        ],
        "serviceName": "com.amazonaws.us-west-2.s3",
        "tags": {"Name": "demo-s3"},
        "vpcEndpointType": "Gateway",
        "vpcId": made.one("Vpc").id,
    }
