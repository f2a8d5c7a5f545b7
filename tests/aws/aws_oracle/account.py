"""An account in memory, in which moto answers the calls.

Nothing leaves the process: moto takes the place of what sends requests, and refuses a host that it
does not know.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from aws_oracle.translate import plain
from eks_gpushare.program.fakes.types import ACCOUNT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from aws_oracle.calls import Made, Translated

# Read when moto is imported: the number of the fakes, and no images, which take a while to load.
os.environ |= {"MOTO_ACCOUNT_ID": ACCOUNT, "MOTO_EC2_LOAD_DEFAULT_AMIS": "false"}

NOT_IN_MOTO = {
    "amp:CreateScraper": "moto's managed Prometheus has workspaces, rules and where they log",
    "amp:DeleteScraper": "the same",
    "amp:DescribeScraper": "the same",
    "amp:DescribeWorkspaceConfiguration": "the same",
    "amp:UpdateWorkspaceConfiguration": "the same",
    "ec2:CreatePlacementGroup": "moto knows the enum of strategies and no placement groups",
    "ec2:DeletePlacementGroup": "the same",
    "ec2:DescribePlacementGroups": "the same as of their creation",
    "eks:AssociateAccessPolicy": "moto's EKS has clusters, node groups and Fargate profiles",
    "eks:CreateAccessEntry": "the same",
    "eks:CreateAddon": "the same",
    "eks:CreatePodIdentityAssociation": "the same",
    "eks:DeleteAccessEntry": "the same",
    "eks:DeleteAddon": "the same",
    "eks:DeletePodIdentityAssociation": "the same",
    "eks:DescribeAccessEntry": "the same",
    "eks:DescribeAddon": "the same",
    "eks:DescribePodIdentityAssociation": "the same",
    "eks:DisassociateAccessPolicy": "the same",
    "eks:ListAssociatedAccessPolicies": "the same",
}
"""Calls that moto has no answer to, and why. They are held against AWS's model alone."""


@dataclass(frozen=True)
class Answered:
    """A call that was sent, and its answer."""

    name: str
    token: str
    """Type of the resource that it was made for."""
    parameters: dict[str, Any]
    response: dict[str, Any]
    created: bool
    """Whether it made something, and moto carried it out."""
    learned: tuple[str, ...]
    """Ids and ARNs that the answer told for the first time."""


@dataclass
class Account:
    """What was sent to the account, and which of its ids stand for those made up before."""

    region: str
    sent: list[Answered] = field(default_factory=list)
    skipped: set[str] = field(default_factory=set)
    """Calls that were not sent, all of `NOT_IN_MOTO`."""
    real: dict[str, str] = field(default_factory=dict)
    """Value that the in-process run made up to the account's."""

    def deploy(self, resources: Sequence[Translated], *, read_all: bool) -> None:
        """Create all resources in the order of registration, and read them as the provider does.

        Args:
            resources: What the program registered.
            read_all: Read each resource, and not only one of each type.
        """
        seen = set()
        for each in resources:
            for made in each.create:
                self._send(made, each, creates=True)
            if read_all or each.resource.type not in seen:
                for made in each.read:
                    self._send(made, each)
            seen.add(each.resource.type)

    def destroy(self, resources: Sequence[Translated]) -> None:
        """Delete all resources, the last one first."""
        for each in reversed(resources):
            for made in each.delete:
                self._send(made, each)

    def holds(self) -> dict[str, list[str]]:
        """What is in the account, by kind."""
        found = {}
        for name, (members, key) in _KINDS.items():
            if name.startswith("amp:") and self.region.startswith("cn-"):
                continue  # where there is no such service
            response = send(name, {}, self.region)
            items = response.get(members, [])  # SQS leaves out an empty list
            found[name] = [str(each[key]) if key else str(each) for each in items]
        return found

    def _send(self, made: Made, of: Translated, *, creates: bool = False) -> None:
        parameters = self._real(made.parameters)
        learned: tuple[str, ...] = ()
        if made.name in NOT_IN_MOTO:
            self.skipped.add(made.name)
            response: dict[str, Any] = {}
        else:
            response = send(made.name, parameters, self.region)
            for output, place in made.call.answers.items():
                answer = _found(response, place)
                learned += (answer,) if isinstance(answer, str) else ()
                self._learn(of, output, answer)
            self._of_cluster(made, of, parameters)
        created = creates and made.name not in NOT_IN_MOTO
        token = of.resource.type
        self.sent.append(Answered(made.name, token, parameters, response, created, learned))

    def _of_cluster(self, made: Made, of: Translated, parameters: dict[str, Any]) -> None:
        """The security group that EKS makes with a cluster and deletes with it; moto does not."""
        if made.name == "eks:CreateCluster":
            (subnet, *_) = parameters["resourcesVpcConfig"]["subnetIds"]
            found = send("ec2:DescribeSubnets", {"SubnetIds": [subnet]}, self.region)
            vpc = found["Subnets"][0]["VpcId"]
            name = f"eks-cluster-sg-{parameters['name']}"
            given = {"GroupName": name, "Description": "-", "VpcId": vpc}
            group = send("ec2:CreateSecurityGroup", given, self.region)["GroupId"]
            self._learn(of, "vpcConfig.clusterSecurityGroupId", group)
        elif made.name == "eks:DeleteCluster":
            group = _found(plain(of.resource.outputs), "vpcConfig.clusterSecurityGroupId")
            send("ec2:DeleteSecurityGroup", {"GroupId": self._real(group)}, self.region)

    def _learn(self, of: Translated, output: str, answer: object) -> None:
        outputs = {**plain(of.resource.outputs), "id": of.resource.id}
        made_up = _found(outputs, output)
        if isinstance(made_up, str) and isinstance(answer, str):
            self.real[made_up] = answer

    def _real(self, value: Any) -> Any:
        # The longest first: an ARN may hold a name that stands for something by itself.
        longest_first = sorted(self.real.items(), key=lambda pair: -len(pair[0]))
        return _replaced(value, longest_first)


def _replaced(value: Any, by: Sequence[tuple[str, str]]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(item, by) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, by) for item in value]
    if isinstance(value, str):
        for made_up, real in by:
            value = value.replace(made_up, real)
    return value


@dataclass
class Deployed:
    """What became of a stack."""

    account: Account
    left: dict[str, list[str]]
    """What its destruction left behind, by kind."""
    created: int
    """How many calls made it, reads and what moto cannot do not among them."""
    error: Exception | None = None


_KINDS = {
    "amp:ListWorkspaces": ("workspaces", "arn"),
    "ec2:DescribeAddresses": ("Addresses", "AllocationId"),
    "ec2:DescribeFlowLogs": ("FlowLogs", "FlowLogId"),
    "ec2:DescribeInternetGateways": ("InternetGateways", "InternetGatewayId"),
    "ec2:DescribeLaunchTemplates": ("LaunchTemplates", "LaunchTemplateId"),
    "ec2:DescribeRouteTables": ("RouteTables", "RouteTableId"),
    "ec2:DescribeSecurityGroups": ("SecurityGroups", "GroupId"),
    "ec2:DescribeSubnets": ("Subnets", "SubnetId"),
    "ec2:DescribeVpcs": ("Vpcs", "VpcId"),
    "eks:ListClusters": ("clusters", ""),
    "events:ListRules": ("Rules", "Arn"),
    "iam:ListRoles": ("Roles", "Arn"),
    "kms:ListAliases": ("Aliases", "AliasName"),
    "logs:DescribeLogGroups": ("logGroups", "logGroupName"),
    "sqs:ListQueues": ("QueueUrls", ""),
}
"""Calls that list, where the answer has the items, and what names one. Keys stay for their waiting
time, and deleted gateways are listed for an hour."""


def _found(value: Any, place: str) -> Any:
    for key in place.split("."):
        if isinstance(value, list):
            value = value[int(key)] if len(value) > int(key) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def send(name: str, parameters: dict[str, Any], region: str) -> dict[str, Any]:
    """Send one call to moto; what botocore or moto refuse is raised."""
    service, operation = name.split(":")
    found: dict[str, Any] = _client(service, region)._make_api_call(operation, parameters)  # noqa: SLF001  (by the API's name, whatever the method's)
    return found


@cache
def _client(service: str, region: str) -> Any:
    import boto3

    # moto reads the partition from the host, and the one for IAM in GovCloud names no region.
    own = service == "iam" and region.startswith("us-gov-")
    return boto3.client(
        service,
        region_name=region,
        endpoint_url=f"https://iam.{region}.amazonaws.com" if own else None,
        aws_access_key_id="testing",
        aws_secret_access_key="testing",  # noqa: S106  (moto takes any)
    )


@contextmanager
def aws() -> Iterator[Callable[[], None]]:
    """AWS in memory, gone at the end; what is given empties it.

    Stacks may follow each other in it, if each is destroyed: to make it takes longer than a stack.
    """
    from moto import mock_aws
    from moto.core import responses

    mock = mock_aws(config={"iam": {"load_aws_managed_policies": True}})
    with pytest.MonkeyPatch.context() as patch, mock:
        # moto looks through all that a class has for each call.
        names = cache(responses.method_names_from_class)  # type: ignore[attr-defined]
        patch.setattr(responses, "method_names_from_class", names)
        yield mock.reset
