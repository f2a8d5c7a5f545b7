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
from moto.backends import get_backend
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
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live.aws_side import ACTIONS, AwsSide, ManagedNodeGroup, Unsound, read_aws
from eks_gpushare.live.checks.vcpu_quotas import quota_demands
from eks_gpushare.live.connection import CannotLookError
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from eks_gpushare.live.verdict import ClusterVerdict

REGION = "us-west-2"
SERVICES = {"eks": "eks", "ec2": "ec2", "servicequotas": "service-quotas"}
"""What botocore calls a service, by what IAM does."""
QUOTA = "L-DB2E81BA"
"""Running On-Demand G and VT instances, of which a g6.12xlarge takes 48 vCPUs."""
GROUP = "gpushare-gpu-546bf12"
NO_CAPACITY = "We currently do not have sufficient g6.12xlarge capacity in us-west-2a."


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)


class Answers:
    """Answers of EKS, EC2 and Service Quotas, each checked against botocore's model of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clients = {name: boto3.client(name, region_name=REGION) for name in SERVICES.values()}
        self.stubs = {name: Stubber(client) for name, client in self.clients.items()}
        monkeypatch.setattr(boto3, "Session", lambda **_: self)
        for stub in self.stubs.values():
            stub.activate()

    def client(self, name: str) -> Any:
        return self.clients[name]

    def cluster(self) -> None:
        cluster = {"name": "demo", "createdAt": datetime(2026, 11, 1, tzinfo=UTC)}
        self.stubs["eks"].add_response("describe_cluster", {"cluster": cluster}, {"name": "demo"})

    def group(self, status: str = "ACTIVE", release: str = "1.35.8-20260930", **issue: Any) -> None:
        eks = self.stubs["eks"]
        eks.add_response("list_nodegroups", {"nodegroups": [GROUP]}, {"clusterName": "demo"})
        group = {
            "nodegroupName": GROUP,
            "status": status,
            "subnets": ["subnet-1"],
            "releaseVersion": release,
            "health": {"issues": [issue] if issue else []},
        }
        eks.add_response("describe_nodegroup", {"nodegroup": group})

    def addon(self, *insights: dict[str, Any], **issue: Any) -> None:
        eks = self.stubs["eks"]
        eks.add_response("list_addons", {"addons": ["vpc-cni"]}, {"clusterName": "demo"})
        addon = {
            "addonName": "vpc-cni",
            "status": "DEGRADED" if issue else "ACTIVE",
            "health": {"issues": [issue] if issue else []},
        }
        eks.add_response("describe_addon", {"addon": addon})
        self.insights(*insights)

    def insights(self, *found: dict[str, Any]) -> None:
        eks = self.stubs["eks"]
        wanted = {"categories": ["UPGRADE_READINESS"], "statuses": ["WARNING", "ERROR"]}
        summaries = [{"id": each["id"], "name": each["name"]} for each in found]
        asked = {"clusterName": "demo", "filter": wanted}
        eks.add_response("list_insights", {"insights": summaries}, asked)
        for each in found:
            asked = {"clusterName": "demo", "id": each["id"]}
            eks.add_response("describe_insight", {"insight": each}, asked)

    def quota(self, vcpus: float) -> None:
        asked = {"ServiceCode": "ec2", "QuotaCode": QUOTA}
        answer = {"Quota": {"QuotaCode": QUOTA, "Value": vcpus}}
        self.stubs["service-quotas"].add_response("get_service_quota", answer, asked)

    def subnet(self, free: int) -> None:
        subnet = {"SubnetId": "subnet-1", "AvailableIpAddressCount": free}
        self.stubs["ec2"].add_response(
            "describe_subnets", {"Subnets": [subnet]}, {"SubnetIds": ["subnet-1"]}
        )


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    return Answers(monkeypatch)


def judged(*, node: bool = True, quotas: Collection[str] = ()) -> ClusterVerdict:
    cluster = copy.deepcopy(HEALTHY)
    if not node:
        without(cluster, gpu_node(cluster), plugin_pod(cluster))
    return verdict_of(objects_of(cluster), STACK, aws=read_aws("demo", REGION, quotas))


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
    issue: dict[str, Any] = {"message": NO_CAPACITY, "resourceIds": ["eks-gpu-asg"]}
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


def test_a_group_of_another_release_is_told(answers: Answers) -> None:
    answers.cluster()
    answers.group(release="1.35.6-20260801")
    answers.addon()
    answers.subnet(200)

    (cause,) = [each for each in judged().causes if each.fault.finding.severity == "warning"]
    assert cause.fault.finding.code == "GPU1308"
    assert "1.35.6-20260801, and its pool declares 1.35.8-20260930" in cause.fault.finding.message


@pytest.mark.parametrize("status", ["WARNING", "ERROR"])
def test_what_eks_sees_in_the_way_of_an_upgrade_is_told(answers: Answers, status: str) -> None:
    answers.cluster()
    answers.group()
    insight = {
        "id": "a1",
        "name": "Deprecated APIs removed in Kubernetes v1.36",
        "category": "UPGRADE_READINESS",
        "kubernetesVersion": "1.36",
        "insightStatus": {"status": status, "reason": "Deprecated API usage detected."},
        "recommendation": "Update manifests and API clients.",
        "resources": [{"kubernetesResourceUri": "/apis/policy/v1beta1/poddisruptionbudgets"}],
    }
    answers.addon(insight)
    answers.subnet(200)

    found = judged()
    (cause,) = [each for each in found.causes if each.fault.finding.severity != "info"]
    finding = cause.fault.finding
    assert (finding.code, finding.severity, found.ok()) == ("GPU1363", "warning", True)
    assert finding.message == (
        "EKS says of the upgrade to 1.36: Deprecated APIs removed in Kubernetes v1.36, "
        f"{status}, Deprecated API usage detected."
    )
    assert finding.fix == "Update manifests and API clients."
    assert cause.fault.evidence == ("about /apis/policy/v1beta1/poddisruptionbudgets",)


@pytest.mark.parametrize(
    ("vcpus", "node", "told"),
    [
        (48, True, []),
        (47, True, [("GPU801", "error")]),
        (0, False, [("GPU801", "error")]),
    ],
)
def test_a_quota_that_does_not_cover_the_pools_is_told(
    answers: Answers, vcpus: float, node: bool, told: list[tuple[str, str]]
) -> None:
    answers.cluster()
    answers.group()
    answers.addon()
    answers.subnet(200)
    answers.quota(vcpus)
    _, most = quota_demands(STACK)
    assert set(most) == {QUOTA}

    found = judged(node=node, quotas=most)
    findings = [
        each.fault.finding for each in found.causes if each.fault.finding.severity != "info"
    ]
    assert [(each.code, each.severity) for each in findings] == told
    assert following(found) == ({"GPU1300"} if not node else set())
    if told:
        there = 48 if node else 0
        assert f"The account has {vcpus}, of which nodes that are there take {there}." in (
            findings[0].message
        )


def test_a_quota_that_covers_what_there_always_is_only_warns(tmp_path: Path) -> None:
    text = (ROOT / "stacks" / "Pulumi.time-slicing.yaml").read_text(encoding="utf-8")
    larger = re.sub(
        r"nodes: \{min: 1, desired: 1, max: [0-9]+\}", "nodes: {min: 1, desired: 1, max: 3}", text
    )
    assert larger != text
    file = tmp_path / "Pulumi.larger.yaml"
    file.write_text(larger, encoding="utf-8")
    found = verdict_of(objects_of(HEALTHY), read_stack(file), aws=AwsSide(quotas={QUOTA: 96}))

    (cause,) = [each for each in found.causes if each.fault.finding.severity != "info"]
    assert (cause.fault.finding.code, cause.fault.finding.severity) == ("GPU801", "warning")
    assert "144 vCPUs" in cause.fault.finding.message


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
        # Within a mock of other tests of this process nothing is forgotten by itself.
        for service in ("ec2", "eks"):
            for backends in get_backend(service).values():
                backends[REGION].reset()
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
    # moto has no add-ons and no insights
    assert set(found.unread) <= {"eks:DescribeAddon", "eks:DescribeInsight"}


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

    assert re.findall(rf'"((?:{"|".join(SERVICES)}):[A-Za-z]+)"', page) == list(ACTIONS)


def test_actions_are_those_of_the_calls() -> None:
    """Each is a call that botocore knows, and reads."""
    known = {
        f"{name}:{operation}"
        for name, service in SERVICES.items()
        for operation in boto3.client(
            service, region_name=REGION
        ).meta.service_model.operation_names
    }

    assert set(ACTIONS) <= known
    assert all(re.search(":(Describe|List|Get)", action) for action in ACTIONS)


def test_nodes_of_a_group_are_its_own() -> None:
    issue = Unsound("NodeCreationFailure", "Instances failed to join.")
    other = ManagedNodeGroup("others", "DEGRADED", (issue,), ())
    found = verdict_of(objects_of(HEALTHY), STACK, aws=AwsSide(groups=[other]))

    (cause, _) = found.causes
    assert cause.fault.nodes == frozenset()
