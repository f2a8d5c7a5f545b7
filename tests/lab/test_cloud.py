"""What controllers get from the emulated AWS, asked by AWS's own client."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import boto3
import pytest
import urllib3
from botocore.exceptions import ClientError

from eks_gpushare_lab.cloud.account import Account, CapacityReservation, SecurityGroup, Subnet
from eks_gpushare_lab.cloud.emulation import Cloud
from eks_gpushare_lab.cloud.settings import CloudSettings, Shortage
from eks_gpushare_lab.control_plane import certificates
from eks_gpushare_lab.control_plane.state import Lab
from eks_gpushare_lab.install.desired_cluster import NodePool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REGION = "us-west-2"
ZONES = {f"subnet-0{zone}": f"{REGION}{zone}" for zone in "abc"}
EKS = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023"
INTERRUPTION = "EC2 Spot Instance Interruption Warning"
NODE_GROUP = "sg-0nodes"
KEPT, BLOCK = "cr-0123456789abcdef0", "cr-0fedcba9876543210"

LARGE = NodePool(
    "large",
    ("g5.xlarge",),
    0,
    {"eks-gpushare/pool": "large"},
    (),
    group="large",
    cluster="lab",
    maximum=2,
    region=REGION,
    user_data="x" * 200_000,
)
"""A managed node group with more user data than an argument of a process may have."""


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """AWS with nobody behind it: the API server that machines join does not exist."""
    folder = tmp_path_factory.mktemp("lab")
    (folder / "logs").mkdir()
    certificates.write_all(folder, "https://127.0.0.1:1")
    account = Account(
        cluster="lab",
        region=REGION,
        endpoint="https://127.0.0.1:1",
        subnets=tuple(Subnet(name, zone, {"for": "nodes"}) for name, zone in ZONES.items()),
        security_groups=(SecurityGroup(NODE_GROUP, "nodes", {"for": "nodes"}),),
        roles=("node",),
        queue="interruptions",
        patterns=(json.dumps({"source": ["aws.ec2"], "detail-type": [INTERRUPTION]}),),
        node_groups=(LARGE,),
        reservations=(
            CapacityReservation(KEPT, "g5.xlarge", f"{REGION}a"),
            CapacityReservation(
                BLOCK, "p5.48xlarge", f"{REGION}b", 1, is_block=True, tags={"of": "ml"}
            ),
        ),
    )
    lab = Lab(folder, "ready", 0, port=1)
    with Cloud(lab, account) as started:
        yield started


@pytest.fixture(scope="module")
def aws(cloud: Cloud) -> Callable[[str], Any]:
    def client(service: str) -> Any:
        return boto3.client(
            service,
            region_name=REGION,
            endpoint_url=cloud.url,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",  # noqa: S106  (moto takes any)
        )

    return client


@pytest.fixture(scope="module")
def ec2(aws: Callable[[str], Any]) -> Any:
    return aws("ec2")


@pytest.fixture(autouse=True)
def _plenty(cloud: Cloud) -> Iterator[None]:
    yield
    if cloud.settings != CloudSettings():
        cloud.change(CloudSettings())


@pytest.fixture(scope="module")
def template(ec2: Any) -> str:
    ec2.create_launch_template(
        LaunchTemplateName="nodes",
        LaunchTemplateData={
            "UserData": "bm9kZXM=",
            "SecurityGroupIds": [NODE_GROUP],
            "BlockDeviceMappings": [
                {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 200, "Encrypted": True}}
            ],
        },
    )
    return "nodes"


def offer(kind: str, zone: str = "a", priority: float | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "InstanceType": kind,
        "SubnetId": f"subnet-0{zone}",
        "AvailabilityZone": f"{REGION}{zone}",
        "ImageId": "ami-0123456789abcdef0",
    }
    return found if priority is None else {**found, "Priority": priority}


def fleet(
    ec2: Any, offers: list[dict[str, Any]], market: str = "on-demand", count: int = 1, **other: Any
) -> Any:
    """As Karpenter asks for instances."""
    options = {"spot": "SpotOptions"}.get(market, "OnDemandOptions")
    strategy = other.pop("strategy", None if market == "spot" else "lowest-price")
    template = other.pop("template", "nodes")
    return ec2.create_fleet(
        Type="instant",
        LaunchTemplateConfigs=[
            {
                "LaunchTemplateSpecification": {
                    "LaunchTemplateName": template,
                    "Version": "$Latest",
                },
                "Overrides": offers,
            }
        ],
        TargetCapacitySpecification={
            "TotalTargetCapacity": count,
            "DefaultTargetCapacityType": market,
        },
        TagSpecifications=[
            {"ResourceType": each, "Tags": [{"Key": "karpenter.sh/nodepool", "Value": "gpu"}]}
            for each in ("instance", "volume", "fleet")
        ],
        **{options: {"AllocationStrategy": strategy or "price-capacity-optimized"}},
        **other,
    )


def launched(ec2: Any, answer: Any) -> list[Any]:
    ids = [each for group in answer["Instances"] for each in group["InstanceIds"]]
    found = ec2.describe_instances(InstanceIds=ids) if ids else {"Reservations": []}
    return [each for group in found["Reservations"] for each in group["Instances"]]


def code(error: pytest.ExceptionInfo[ClientError]) -> str:
    return str(error.value.response["Error"]["Code"])


@pytest.mark.parametrize(
    ("kind", "gpus"), [("g5.xlarge", 1), ("g5.48xlarge", 8), ("g6f.xlarge", 0), ("p4d.24xlarge", 8)]
)
def test_gpus_are_counted_as_ec2_counts_them(ec2: Any, kind: str, gpus: int) -> None:
    (found,) = ec2.describe_instance_types(InstanceTypes=[kind])["InstanceTypes"]
    assert sum(each["Count"] for each in found["GpuInfo"]["Gpus"]) == gpus


def test_every_type_is_offered_where_ec2_offers_it(ec2: Any) -> None:
    types = [each["InstanceType"] for each in ec2.describe_instance_types()["InstanceTypes"]]
    offered = ec2.describe_instance_type_offerings(LocationType="availability-zone")
    where = {(each["InstanceType"], each["Location"]) for each in offered["InstanceTypeOfferings"]}
    assert ("g5.xlarge", "us-west-2a") in where
    assert {kind for kind, _ in where} <= set(types)


def test_a_fleet_has_what_the_template_and_the_offer_say(ec2: Any, template: str) -> None:
    answer = fleet(ec2, [offer("g5.xlarge", "b")], count=2)
    assert not answer["Errors"]
    instances = launched(ec2, answer)
    assert len(instances) == 2
    for each in instances:
        assert each["InstanceType"] == "g5.xlarge"
        assert each["Placement"]["AvailabilityZone"] == "us-west-2b"
        assert each["SubnetId"] == "subnet-0b"
        assert each["ImageId"] == "ami-0123456789abcdef0"
        assert [group["GroupId"] for group in each["SecurityGroups"]] == [NODE_GROUP]
        assert {"Key": "karpenter.sh/nodepool", "Value": "gpu"} in each["Tags"]
        assert "SpotInstanceRequestId" not in each
        assert each["PrivateDnsName"].endswith(".us-west-2.compute.internal")
    assert len({each["PrivateDnsName"] for each in instances}) == 2
    template_of = answer["Instances"][0]["LaunchTemplateAndOverrides"]
    assert template_of["Overrides"]["SubnetId"] == "subnet-0b"
    assert template_of["LaunchTemplateSpecification"]["LaunchTemplateName"] == template


def test_a_spot_instance_says_that_it_is_one(ec2: Any, template: str) -> None:
    (instance,) = launched(ec2, fleet(ec2, [offer("g5.xlarge")], "spot"))
    assert template
    assert instance["InstanceLifecycle"] == "spot"
    assert instance["SpotInstanceRequestId"].startswith("sir-")


def test_the_cheapest_is_taken_or_the_first_by_priority(ec2: Any, template: str) -> None:
    assert template
    offers = [offer("g5.12xlarge", priority=1), offer("g5.xlarge", priority=2)]
    (cheapest,) = launched(ec2, fleet(ec2, offers))
    assert cheapest["InstanceType"] == "g5.xlarge"
    (first,) = launched(ec2, fleet(ec2, offers, strategy="prioritized"))
    assert first["InstanceType"] == "g5.12xlarge"


@pytest.mark.parametrize(
    ("lacks", "market", "taken"),
    [
        ("g5.xlarge", "on-demand", "g6.xlarge/us-west-2b"),
        ("g5.xlarge:us-west-2a", "on-demand", "g5.xlarge/us-west-2b"),
        ("g5.xlarge::spot", "on-demand", "g5.xlarge/us-west-2a"),
        ("*:us-west-2a", "spot", "g5.xlarge/us-west-2b"),
        ("*:*:spot", "spot", ""),
        ("*", "on-demand", ""),
    ],
)
def test_capacity_lacks_by_type_zone_and_way_to_buy(
    cloud: Cloud, ec2: Any, template: str, lacks: str, market: str, taken: str
) -> None:
    assert template
    offers = [offer("g5.xlarge", "a", 1), offer("g5.xlarge", "b", 2), offer("g6.xlarge", "b", 3)]
    strategy = "prioritized" if market == "on-demand" else "capacity-optimized-prioritized"
    cloud.change(CloudSettings(insufficient=(Shortage.read(lacks),)))
    answer = fleet(ec2, offers, market, strategy=strategy)
    found = [
        f"{each['InstanceType']}/{each['Placement']['AvailabilityZone']}"
        for each in launched(ec2, answer)
    ]
    assert "".join(found) == taken
    tried = [each["Overrides"] for each in offer_errors(answer)]
    before = {"g6.xlarge/us-west-2b": 2, "g5.xlarge/us-west-2b": 1, "": 3}
    assert len(tried) == before.get(taken, 0)
    for each in answer["Errors"]:
        assert each["ErrorCode"] == "InsufficientInstanceCapacity"
        assert each["Lifecycle"] == market


def offer_errors(answer: Any) -> list[Any]:
    return [each["LaunchTemplateAndOverrides"] for each in answer["Errors"]]


@pytest.mark.parametrize("action", ["create_fleet", "run_instances", "describe_instance_types"])
def test_a_dry_run_says_only_that_it_may(ec2: Any, template: str, action: str) -> None:
    assert template
    asked: dict[str, Any] = {
        "create_fleet": lambda: fleet(ec2, [offer("g5.xlarge")], DryRun=True),
        "run_instances": lambda: ec2.run_instances(
            DryRun=True, MinCount=1, MaxCount=1, LaunchTemplate={"LaunchTemplateName": "nodes"}
        ),
        "describe_instance_types": lambda: ec2.describe_instance_types(DryRun=True),
    }
    with pytest.raises(ClientError) as error:
        asked[action]()
    assert code(error) == "DryRunOperation"


def test_an_instance_may_be_asked_for_twice_at_once(ec2: Any, template: str) -> None:
    assert template
    (instance,) = launched(ec2, fleet(ec2, [offer("g5.xlarge")]))
    twice = ec2.describe_instances(InstanceIds=[instance["InstanceId"]] * 2)
    assert sum(len(each["Instances"]) for each in twice["Reservations"]) == 1


@pytest.mark.parametrize(
    ("parameter", "arch"),
    [
        (
            f"{EKS}/x86_64/nvidia/amazon-eks-node-al2023-x86_64-nvidia-1.35-v20260930/image_id",
            "x86_64",
        ),
        (f"{EKS}/arm64/standard/recommended/image_id", "arm64"),
        ("/aws/service/bottlerocket/aws-k8s-1.35-nvidia/arm64/1.65.0-0be31b34/image_id", "arm64"),
    ],
)
def test_an_image_is_found_by_its_parameter(
    aws: Callable[[str], Any], ec2: Any, parameter: str, arch: str
) -> None:
    found = aws("ssm").get_parameter(Name=parameter)["Parameter"]["Value"]
    again = aws("ssm").get_parameter(Name=parameter)["Parameter"]["Value"]
    (image,) = ec2.describe_images(Filters=[{"Name": "image-id", "Values": [found]}])["Images"]
    assert found == again == image["ImageId"]
    assert image["Architecture"] == arch


@pytest.mark.parametrize(
    "parameter", ["/aws/service/eks/optimized-ami/1.35/amazon-linux-2/recommended", "/mine"]
)
def test_other_parameters_are_not_there(aws: Callable[[str], Any], parameter: str) -> None:
    with pytest.raises(ClientError) as error:
        aws("ssm").get_parameter(Name=parameter)
    assert code(error) == "ParameterNotFound"


def test_prices_are_the_catalogs(aws: Callable[[str], Any], ec2: Any) -> None:
    filters = [{"Type": "TERM_MATCH", "Field": "regionCode", "Value": REGION}]
    listed = aws("pricing").get_products(ServiceCode="AmazonEC2", Filters=filters)["PriceList"]
    prices = {}
    for each in map(json.loads, listed):
        ((dimension),) = each["terms"]["OnDemand"]["term"]["priceDimensions"].values()
        kind = each["product"]["attributes"]["instanceType"]
        prices[kind] = float(dimension["pricePerUnit"]["USD"])
    assert prices["g5.xlarge"] == pytest.approx(1.006)
    spot = ec2.describe_spot_price_history(StartTime=time.time())["SpotPriceHistory"]
    zones = Counter(each["InstanceType"] for each in spot)
    assert zones["g5.xlarge"] >= 2
    known = [each for each in spot if each["InstanceType"] in prices]
    assert all(float(each["SpotPrice"]) < prices[each["InstanceType"]] for each in known)


def test_the_cluster_and_its_network_are_there(aws: Callable[[str], Any], ec2: Any) -> None:
    cluster = aws("eks").describe_cluster(name="lab")["cluster"]
    assert cluster["endpoint"] == "https://127.0.0.1:1"
    assert cluster["kubernetesNetworkConfig"]["serviceIpv4Cidr"] == "10.100.0.0/16"
    tagged = [{"Name": "tag:for", "Values": ["nodes"]}]
    subnets = ec2.describe_subnets(Filters=tagged)["Subnets"]
    assert {each["SubnetId"]: each["AvailabilityZone"] for each in subnets} == ZONES
    groups = ec2.describe_security_groups(Filters=tagged)["SecurityGroups"]
    assert [each["GroupId"] for each in groups] == [NODE_GROUP]
    assert aws("iam").get_role(RoleName="node")["Role"]["RoleName"] == "node"


def test_an_interruption_is_told_as_eventbridge_does(
    cloud: Cloud, aws: Callable[[str], Any], ec2: Any, template: str
) -> None:
    assert template
    cloud.change(CloudSettings(notice=0.2))
    (instance,) = launched(ec2, fleet(ec2, [offer("g5.xlarge")], "spot"))
    assert cloud.interrupt(instance["InstanceId"])
    sqs = aws("sqs")
    queue = sqs.get_queue_url(QueueName="interruptions")["QueueUrl"]
    (message,) = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=5)["Messages"]
    event = json.loads(message["Body"])
    assert event["source"] == "aws.ec2"
    assert event["detail-type"] == INTERRUPTION
    detail = {"instance-id": instance["InstanceId"], "instance-action": "terminate"}
    assert event["detail"] == detail
    deadline = time.monotonic() + 10
    while launched_state(ec2, instance["InstanceId"]) != "terminated":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def launched_state(ec2: Any, instance: str) -> str:
    found = ec2.describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"][0]
    return str(found["State"]["Name"])


def test_what_is_not_emulated_says_so(aws: Callable[[str], Any]) -> None:
    with pytest.raises(ClientError, match=r"Not yet implemented|emulates no"):
        aws("arc-zonal-shift").get_managed_resource(resourceIdentifier="arn:aws:x")


def test_nobody_is_answered_who_does_not_sign(cloud: Cloud) -> None:
    assert urllib3.request("POST", cloud.url, body=b"Action=DescribeInstances").status == 403


def test_a_node_group_is_described_as_registered_whatever_its_user_data(
    aws: Callable[[str], Any],
) -> None:
    asked = aws("eks").describe_nodegroup(clusterName="lab", nodegroupName=LARGE.group)
    (group,) = aws("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]

    assert asked["nodegroup"]["labels"] == LARGE.labels
    assert (group["MinSize"], group["MaxSize"], group["Instances"]) == (0, 2, [])


def reserving(ec2: Any, reservation: str) -> str:
    """A launch template as Karpenter writes one for a reservation."""
    name = f"into-{reservation}"
    if not ec2.describe_launch_templates(
        Filters=[{"Name": "launch-template-name", "Values": [name]}]
    )["LaunchTemplates"]:
        target = {"CapacityReservationId": reservation}
        preference = "capacity-reservations-only"
        ec2.create_launch_template(
            LaunchTemplateName=name,
            LaunchTemplateData={
                "UserData": "bm9kZXM=",
                "SecurityGroupIds": [NODE_GROUP],
                "CapacityReservationSpecification": {
                    "CapacityReservationPreference": preference,
                    "CapacityReservationTarget": target,
                },
            },
        )
    return name


def left_of(ec2: Any, reservation: str) -> tuple[int, int]:
    answer = ec2.describe_capacity_reservations(CapacityReservationIds=[reservation])
    (found,) = answer["CapacityReservations"]
    return found["AvailableInstanceCount"], found["TotalInstanceCount"]


def test_a_reservation_is_used_up_and_gets_back_what_ends(cloud: Cloud, ec2: Any) -> None:
    name = reserving(ec2, KEPT)
    cloud.change(CloudSettings(reserved=2))
    assert left_of(ec2, KEPT) == (2, 2)
    taken = [launched(ec2, fleet(ec2, [offer("g5.xlarge")], template=name)) for _ in range(2)]
    assert left_of(ec2, KEPT) == (0, 2)
    (first,), (second,) = taken
    assert first["CapacityReservationId"] == KEPT
    told = first["CapacityReservationSpecification"]
    assert told["CapacityReservationPreference"] == "capacity-reservations-only"
    assert "InstanceLifecycle" not in first

    full = fleet(ec2, [offer("g5.xlarge")], template=name)
    assert launched(ec2, full) == []
    assert [each["ErrorCode"] for each in full["Errors"]] == ["ReservationCapacityExceeded"]

    ec2.terminate_instances(InstanceIds=[first["InstanceId"], second["InstanceId"]])
    assert left_of(ec2, KEPT) == (2, 2)


@pytest.mark.parametrize(
    ("kind", "zone", "lacks", "code_of"),
    [
        ("g6.xlarge", "a", None, "ReservationCapacityExceeded"),
        ("g5.xlarge", "b", None, "ReservationCapacityExceeded"),
        ("g5.xlarge", "a", "*:*:reserved", "ReservationCapacityExceeded"),
        ("g5.xlarge", "a", "*:*:on-demand", ""),
    ],
)
def test_a_reservation_is_for_one_type_in_one_zone(
    cloud: Cloud, ec2: Any, kind: str, zone: str, lacks: str | None, code_of: str
) -> None:
    short = (Shortage.read(lacks),) if lacks else ()
    cloud.change(CloudSettings(insufficient=short))
    answer = fleet(ec2, [offer(kind, zone)], template=reserving(ec2, KEPT))
    assert "".join(each["ErrorCode"] for each in answer["Errors"]) == code_of
    for each in launched(ec2, answer):
        ec2.terminate_instances(InstanceIds=[each["InstanceId"]])


def test_a_capacity_block_is_called_one_and_ends(ec2: Any) -> None:
    answer = ec2.describe_capacity_reservations(CapacityReservationIds=[BLOCK])
    (found,) = answer["CapacityReservations"]
    assert (found["ReservationType"], found["EndDateType"]) == ("capacity-block", "limited")
    assert found["EndDate"] > found["StartDate"]
    answer = fleet(
        ec2, [offer("p5.48xlarge", "b")], "capacity-block", template=reserving(ec2, BLOCK)
    )
    (instance,) = launched(ec2, answer)
    assert instance["InstanceLifecycle"] == "capacity-block"
    assert left_of(ec2, BLOCK) == (0, 1)


def test_an_instance_that_names_no_reservation_takes_none(ec2: Any, template: str) -> None:
    before = left_of(ec2, KEPT)
    (instance,) = launched(ec2, fleet(ec2, [offer("g5.xlarge")], template=template))
    assert "CapacityReservationId" not in instance
    assert left_of(ec2, KEPT) == before


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        ("state", ["active"], {KEPT, BLOCK}),
        ("state", ["expired"], set()),
        ("tag:of", ["ml"], {BLOCK}),
        ("tag-key", ["of", "other"], {BLOCK}),
        ("instance-match-criteria", ["targeted"], {KEPT, BLOCK}),
        ("instance-type", ["g5.xlarge", "g6.xlarge"], {KEPT}),
    ],
)
def test_reservations_are_found_by_filters(
    ec2: Any, name: str, values: list[str], found: set[str]
) -> None:
    answer = ec2.describe_capacity_reservations(Filters=[{"Name": name, "Values": values}])
    assert {each["CapacityReservationId"] for each in answer["CapacityReservations"]} == found


def test_a_reservation_that_does_not_exist_is_not_found(ec2: Any) -> None:
    with pytest.raises(ClientError) as error:
        ec2.describe_capacity_reservations(CapacityReservationIds=["cr-00000000000000000"])
    assert code(error) == "InvalidCapacityReservationId.NotFound"
