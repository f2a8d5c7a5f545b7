"""`verify --aws`: what EKS says of node groups and add-ons, in answers of botocore's own shapes."""

from __future__ import annotations

import copy
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws
from tests.live.test_faults import (
    HEALTHY,
    ROOT,
    STACK,
    codes,
    following,
    gpu_node,
    objects_of,
    plugin_pod,
    without,
)

from eks_gpushare.cli import main
from eks_gpushare.live.aws_side import ACTIONS, AwsSide, ManagedNodeGroup, Unsound, read_aws
from eks_gpushare.live.connection import CannotLookError
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.live.verdict import ClusterVerdict

REGION = "us-west-2"
GROUP = "gpushare-gpu-546bf12"
NO_CAPACITY = "We currently do not have sufficient g6.12xlarge capacity in us-west-2a."


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)


class Answers:
    """Answers of EKS and EC2, each checked against botocore's model of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clients = {name: boto3.client(name, region_name=REGION) for name in ("eks", "ec2")}
        self.stubs = {name: Stubber(client) for name, client in self.clients.items()}
        monkeypatch.setattr(boto3, "Session", lambda **_: self)
        for stub in self.stubs.values():
            stub.activate()

    def client(self, name: str) -> Any:
        return self.clients[name]

    def cluster(self) -> None:
        cluster = {"name": "demo", "createdAt": datetime(2026, 11, 1, tzinfo=UTC)}
        self.stubs["eks"].add_response("describe_cluster", {"cluster": cluster}, {"name": "demo"})

    def group(self, status: str = "ACTIVE", **issue: Any) -> None:
        eks = self.stubs["eks"]
        eks.add_response("list_nodegroups", {"nodegroups": [GROUP]}, {"clusterName": "demo"})
        group = {
            "nodegroupName": GROUP,
            "status": status,
            "subnets": ["subnet-1"],
            "health": {"issues": [issue] if issue else []},
        }
        eks.add_response("describe_nodegroup", {"nodegroup": group})

    def addon(self, **issue: Any) -> None:
        eks = self.stubs["eks"]
        eks.add_response("list_addons", {"addons": ["vpc-cni"]}, {"clusterName": "demo"})
        addon = {
            "addonName": "vpc-cni",
            "status": "DEGRADED" if issue else "ACTIVE",
            "health": {"issues": [issue] if issue else []},
        }
        eks.add_response("describe_addon", {"addon": addon})

    def subnet(self, free: int) -> None:
        subnet = {"SubnetId": "subnet-1", "AvailableIpAddressCount": free}
        self.stubs["ec2"].add_response(
            "describe_subnets", {"Subnets": [subnet]}, {"SubnetIds": ["subnet-1"]}
        )


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    return Answers(monkeypatch)


def judged(*, node: bool = True) -> ClusterVerdict:
    cluster = copy.deepcopy(HEALTHY)
    if not node:
        without(cluster, gpu_node(cluster), plugin_pod(cluster))
    return verdict_of(objects_of(cluster), STACK, aws=read_aws("demo", REGION))


def test_what_is_sound_is_no_finding(answers: Answers) -> None:
    answers.cluster()
    answers.group()
    answers.addon()
    answers.subnet(200)

    found = judged()
    assert codes(found) == []
    assert not found.unknown


def test_a_group_that_starts_no_node_is_why_nodes_are_missing(answers: Answers) -> None:
    answers.cluster()
    issue = {"message": NO_CAPACITY, "resourceIds": ["eks-gpu-asg"]}
    answers.group("DEGRADED", code="AsgInstanceLaunchFailures", **issue)
    answers.addon()
    answers.subnet(200)

    found = judged(node=False)
    assert codes(found) == ["GPU1360"]
    assert following(found) == {"GPU1300"}
    (cause,) = found.causes
    assert NO_CAPACITY.rstrip(".") in cause.fault.finding.message
    assert "allow more types or zones" in cause.fault.finding.fix


def test_a_group_that_failed_without_a_word_is_told(answers: Answers) -> None:
    answers.cluster()
    answers.group("CREATE_FAILED")
    answers.addon()
    answers.subnet(200)

    assert codes(judged()) == ["GPU1360"]


def test_what_passes_is_a_warning(answers: Answers) -> None:
    answers.cluster()
    answers.group(code="AutoScalingGroupInstanceRefreshActive", message="under way")
    answers.addon()
    answers.subnet(200)

    found = judged()
    assert [each.fault.finding.severity for each in found.causes][:1] == ["warning"]


def test_an_addon_and_a_full_subnet_are_told(answers: Answers) -> None:
    answers.cluster()
    answers.group()
    answers.addon(code="ConfigurationConflict", message="Conflicts found when trying to apply.")
    answers.subnet(3)

    assert codes(judged()) == ["GPU1362", "GPU1361"]


def test_what_may_not_be_asked_is_unknown(answers: Answers) -> None:
    answers.cluster()
    answers.stubs["eks"].add_client_error("list_nodegroups", "AccessDeniedException", "no")
    answers.addon()

    assert judged().unknown == {
        "eks:DescribeNodegroup": "eks:DescribeNodegroup is not allowed; docs/verify.md has the "
        "actions that --aws takes"
    }


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("ResourceNotFoundException", "There is no EKS cluster demo in us-west-2 in this account"),
        ("AccessDeniedException", "eks:DescribeCluster of demo in us-west-2 is not allowed"),
        ("ServerException", "AWS cannot be asked of demo in us-west-2"),
    ],
)
def test_a_cluster_that_cannot_be_described_ends_it(answers: Answers, code: str, said: str) -> None:
    answers.stubs["eks"].add_client_error("describe_cluster", code, "no")

    with pytest.raises(CannotLookError, match=said):
        read_aws("demo", REGION)


def test_without_a_region_it_says_so() -> None:
    with pytest.raises(CannotLookError, match="AWS cannot be asked: You must specify a region"):
        read_aws("demo", None)


@pytest.fixture
def account() -> Iterator[Any]:
    """An account in memory with a cluster, as moto has it."""
    with mock_aws():
        eks = boto3.client("eks", region_name=REGION)
        role = "arn:aws:iam::123456789012:role/demo"
        eks.create_cluster(
            name="demo", roleArn=role, resourcesVpcConfig={"subnetIds": ["subnet-1", "subnet-2"]}
        )
        ec2 = boto3.client("ec2", region_name=REGION)
        subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
        eks.create_nodegroup(
            clusterName="demo", nodegroupName=GROUP, nodeRole=role, subnets=[subnet]
        )
        yield eks


def test_an_account_in_memory_is_read(account: Any) -> None:
    assert account
    found = read_aws("demo", REGION)

    assert [group.name for group in found.groups] == [GROUP]
    assert list(found.free_addresses.values())[0] > 1000  # noqa: RUF015
    assert set(found.unread) <= {"eks:DescribeAddon"}  # moto has no add-ons


def test_the_command_wants_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["verify", "--from", "examples/verify/cluster.json", "--aws"])

    assert code == 2
    assert "--aws asks of a cluster by its name in EKS: give --cluster NAME" in (
        capsys.readouterr().err
    )


def test_the_stack_s_file_has_name_and_region() -> None:
    assert (STACK.cluster, STACK.region) == ("gpusharing-demo", "us-west-2")


def test_the_page_has_the_actions() -> None:
    page = (ROOT / "docs" / "verify.md").read_text(encoding="utf-8")

    assert re.findall(r'"((?:eks|ec2):\w+)"', page) == list(ACTIONS)


def test_actions_are_those_of_the_calls() -> None:
    """Each is a call that botocore knows, and reads."""
    known = {
        f"{name}:{operation}"
        for name in ("eks", "ec2")
        for operation in boto3.client(name, region_name=REGION).meta.service_model.operation_names
    }

    assert set(ACTIONS) <= known
    assert all(":Describe" in action or ":List" in action for action in ACTIONS)


def test_nodes_of_a_group_are_its_own() -> None:
    issue = Unsound("NodeCreationFailure", "Instances failed to join.")
    other = ManagedNodeGroup("others", "DEGRADED", (issue,), ())
    found = verdict_of(objects_of(HEALTHY), STACK, aws=AwsSide(groups=[other]))

    (cause, _) = found.causes
    assert cause.fault.nodes == frozenset()
