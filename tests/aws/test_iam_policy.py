"""The policy of `eks-gpushare iam` against the calls of each stack and what AWS says of actions."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any

import botocore.session
import pytest
from aws_oracle import authorization, cloudformation
from aws_oracle.authorization import (
    IMPLIED,
    OWNER,
    Request,
    Requests,
    allows,
    reference,
    refused,
)
from aws_oracle.given import WRITTEN
from aws_oracle.lifecycle import LIFECYCLES
from aws_oracle.variants import CARRIED_OUT, NAMES, STACKS, often
from conftest import boundary_in

from eks_gpushare.program.fakes.types import ACCOUNT
from eks_gpushare.program.permissions.iam_actions import ACTIONS, FUNCTIONS, OF_ANY_KIND
from eks_gpushare.program.permissions.policy import (
    MANAGED_POLICY_CHARACTERS,
    DeployPolicy,
    deploy_policy,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from aws_oracle.account import Deployed

    from eks_gpushare.program.permissions.iam_grants import Grant
    from eks_gpushare.program.recording import Recording

HELD = [
    *STACKS,
    "admins of every form",
    "custom AMI",
    "EFA",
    "EFA with a placement group",
    "account rules",
    "Cluster Autoscaler",
    "Cluster Autoscaler, existing cluster",
    "CloudWatch for metrics",
    "control plane logs",
    "existing cluster",
    "existing cluster, EFA",
    "existing VPC",
    "existing VPC, EFA",
    "further add-ons",
    "Karpenter",
    "Karpenter, EFA",
    "Karpenter, existing cluster",
    "key given",
    "long names",
    "managed Prometheus",
    "managed Prometheus, key given",
    "nodes as told",
    "reservation",
    "roles given",
    "spot",
    "tags none",
]
"""The stacks, and the variants that other resources or names come from."""

GRANTS = [grant for table in (ACTIONS, FUNCTIONS) for each in table.values() for grant in each]


@pytest.fixture(scope="session")
def policy(
    record: Callable[..., Recording], region_of: Callable[[str], str]
) -> Callable[[str], DeployPolicy]:
    """`policy(name)` is what the command prints for a stack or variant."""

    @cache
    def of(name: str) -> DeployPolicy:
        recording = record(name, preview=True)
        return deploy_policy(recording, region=region_of(name), account=ACCOUNT)

    return of


@pytest.fixture(scope="session")
def requests(
    deploy: Callable[[str], Deployed], region_of: Callable[[str], str]
) -> Callable[[str], list[Request]]:
    """`requests(name)` is what IAM is asked while a stack or variant lives."""

    @cache
    def of(name: str) -> list[Request]:
        deployed = deploy(name)
        if deployed.error:
            raise deployed.error
        partition = botocore.session.get_session().get_partition_for_region(region_of(name))
        return Requests(deployed.account, partition).all()

    return of


@pytest.mark.parametrize("name", often(HELD, among=CARRIED_OUT))
def test_every_call_of_a_stack_is_allowed(
    name: str,
    policy: Callable[[str], DeployPolicy],
    requests: Callable[[str], list[Request]],
) -> None:
    assert requests(name)
    assert refused(policy(name).statements, requests(name)) == []


@pytest.mark.parametrize("name", often(HELD, among=CARRIED_OUT))
def test_without_any_one_statement_a_call_is_refused(
    name: str,
    policy: Callable[[str], DeployPolicy],
    record: Callable[..., Recording],
    requests: Callable[[str], list[Request]],
) -> None:
    # What the program looks up is asked before anything is made, and is not among the requests.
    asked = looked_up(record(name, preview=True))
    statements = [each for each in policy(name).statements if not asked.issuperset(each["Action"])]
    allowing = [
        {number for number, each in enumerate(statements) if not refused([each], [request])}
        for request in requests(name)
    ]
    superfluous = [
        each
        for number, each in enumerate(statements)
        if not any(numbers <= {number} for numbers in allowing)
    ]

    assert superfluous == []


@pytest.mark.parametrize("name", often(HELD, among=CARRIED_OUT))
def test_no_action_is_there_for_nothing(
    name: str,
    policy: Callable[[str], DeployPolicy],
    record: Callable[..., Recording],
    requests: Callable[[str], list[Request]],
) -> None:
    allowed = {action for each in policy(name).statements for action in each["Action"]}
    asked = looked_up(record(name, preview=True))

    assert allowed - {each.action for each in requests(name)} - asked == set()


def looked_up(recording: Recording) -> set[str]:
    """The actions of what a program asks AWS."""
    grants = [grant for token, _ in recording.calls for grant in FUNCTIONS.get(token, ())]
    return {action for grant in grants for action in grant.actions}


@pytest.mark.parametrize("name", often(HELD, among=CARRIED_OUT))
def test_a_resource_of_another_stack_is_out_of_reach(
    name: str,
    policy: Callable[[str], DeployPolicy],
    requests: Callable[[str], list[Request]],
) -> None:
    """Named otherwise, or without the stack's name tag, or in another account or region."""
    elsewhere = [
        Request(each.action, arn, each.context)
        for each in requests(name)
        for arn in _elsewhere(each.resource)
        if OWNER not in each.resource and not any(given in each.resource for given in WRITTEN)
    ]
    statements = policy(name).statements

    assert [each for each in elsewhere if allows(statements, each)] == []


def _elsewhere(arn: str) -> Iterator[str]:
    if arn == "*":
        return
    yield arn.replace(ACCOUNT, "444455556666") if ACCOUNT in arn else arn.replace(":image/", ":x/")
    if re.search(r":(role|cluster|nodegroup|addon|access-entry|alias|log-group)[/:]", arn):
        yield re.sub(r"(:[\w-]+[/:])(aws-service-role/)?", r"\1\2not-", arn[20:]).join(
            [arn[:20], ""]
        )


def test_what_another_stack_tagged_is_out_of_reach(
    policy: Callable[[str], DeployPolicy], requests: Callable[[str], list[Request]]
) -> None:
    def of_others(request: Request) -> Request:
        context = [(k, "theirs-vpc" if k.endswith("Tag/Name") else v) for k, v in request.context]
        return Request(request.action, request.resource, tuple(context))

    tagged = [each for each in requests("prod") if any("Tag/Name" in k for k, _ in each.context)]
    creates = [each for each in tagged if not any("RequestTag" in k for k, _ in each.context)]
    reached = {each.action for each in tagged if allows(policy("prod").statements, of_others(each))}

    assert len(creates) > 100
    assert reached == set()


WRITES = ("iam:PutRolePolicy", "iam:AttachRolePolicy")
MIGHT = (
    *WRITES,
    *("iam:CreateRole", "iam:PassRole", "iam:PutRolePermissionsBoundary"),
    *("iam:DeleteRolePermissionsBoundary", "iam:UpdateAssumeRolePolicy"),
)
"""What makes a role mightier, makes a mightier one, or hands one on."""
ADMIN = "arn:aws:iam::aws:policy/AdministratorAccess"


def roles_of(requests: Iterable[Request]) -> set[str]:
    """The roles that a stack makes."""
    return {each.resource for each in requests if each.action == "iam:CreateRole"}


@pytest.mark.parametrize("name", often(NAMES, among=CARRIED_OUT))
def test_a_deployer_cannot_make_a_role_mightier(
    name: str,
    policy: Callable[[str], DeployPolicy],
    requests: Callable[[str], list[Request]],
) -> None:
    """But by a policy of its own in a role that nothing bounds, and `iam` names those roles."""
    found = policy(name)
    asked = (
        Request(action, role, context)
        for role in roles_of(requests(name)) | {f"arn:aws:iam::{ACCOUNT}:role/Admin"}
        for action in MIGHT
        for context in (
            (("iam:PolicyARN", ADMIN), ("iam:PassedToService", "ec2.amazonaws.com")),
            (("iam:PolicyARN", ADMIN), ("iam:PermissionsBoundary", ADMIN)),
        )
    )
    allowed = {each for each in asked if allows(found.statements, each)}
    # Of a role without any policy to write, a trust or a new one of its name gives nothing.
    mightier = {(each.action, each.resource) for each in allowed if each.action in WRITES}
    unbounded = {
        role
        for role in roles_of(requests(name))
        if any(fnmatchcase(role, pattern) for pattern in found.unbounded)
    }

    assert mightier == {("iam:PutRolePolicy", role) for role in unbounded}
    assert not allows(found.statements, Request("iam:CreateUser", "*"))
    assert {each.action for each in allowed} <= {*WRITES, "iam:CreateRole", MIGHT[-1]}


@pytest.mark.parametrize("name", often(NAMES, among=CARRIED_OUT))
def test_with_a_boundary_no_role_is_made_or_written_without_it(
    name: str,
    record: Callable[..., Recording],
    region_of: Callable[[str], str],
    requests: Callable[[str], list[Request]],
) -> None:
    """Every stack and variant, with the boundary that an account asks for."""
    recording, region = record(name, preview=True, bounded=True), region_of(name)
    bounded = deploy_policy(recording, region=region, account=ACCOUNT)
    boundary = boundary_in(region)
    own = [each for each in requests(name) if each.action.startswith("iam:")]
    changing = [each for each in own if each.action in {*MIGHT, "iam:DetachRolePolicy"}]

    def of(request: Request, found: str | None) -> Request:
        kept = [pair for pair in request.context if pair[0] != "iam:PermissionsBoundary"]
        told = [("iam:PermissionsBoundary", found)] if found else []
        return Request(request.action, request.resource, tuple(kept + told))

    assert {r.inputs["permissionsBoundary"] for r in recording.of_type("aws:iam/role:Role")} <= {
        boundary
    }
    assert bounded.unbounded == ()
    assert refused(bounded.statements, [of(each, boundary) for each in changing]) == []
    for elsewhere in (None, ADMIN):
        allowed = [each for each in changing if allows(bounded.statements, of(each, elsewhere))]
        assert {each.action for each in allowed} <= {"iam:PassRole"}


@pytest.mark.parametrize(
    ("name", "takes"),
    [("spot-fallback", True), ("spot", True), ("karpenter-mig", False), ("prod", False)],
)
def test_the_role_of_spot_instances_is_made_where_there_may_be_any(
    name: str, *, takes: bool, policy: Callable[[str], DeployPolicy]
) -> None:
    """Karpenter may not make it, and EKS makes it in the deployer's name."""
    role = f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/{{0}}/AWSServiceRoleForEC2Spot"

    def allowed(service: str) -> bool:
        context = (("iam:AWSServiceName", service),)
        asked = Request("iam:CreateServiceLinkedRole", role.format(service), context)
        return allows(policy(name).statements, asked)

    assert allowed("spot.amazonaws.com") is takes
    assert not allowed("spotfleet.amazonaws.com")


@pytest.mark.parametrize("name", ["existing VPC", "existing cluster, EFA", "reservation"])
def test_what_another_account_shares_is_in_reach_and_nothing_beside_it(
    name: str,
    policy: Callable[[str], DeployPolicy],
    requests: Callable[[str], list[Request]],
) -> None:
    """Subnets and reservations by AWS RAM, by the ids that the program writes."""
    shared = [each for each in requests(name) if OWNER in each.resource]
    beside = [
        Request(each.action, f"{each.resource[:-1]}f", each.context)
        for each in shared
        if each.action == "ec2:RunInstances"
    ]

    assert {each.resource.rpartition("/")[0].rpartition(":")[2] for each in shared} == {
        "capacity-reservation" if name == "reservation" else "subnet"
    }
    assert [each for each in beside if allows(policy(name).statements, each)] == []


@pytest.mark.parametrize("name", often(HELD, among=CARRIED_OUT))
def test_a_policy_fits_two_managed_ones(name: str, policy: Callable[[str], DeployPolicy]) -> None:
    found = policy(name)
    parts = found.split()

    held = [json.dumps(each) for part in parts for each in part["Statement"]]
    assert sorted(held) == sorted(map(json.dumps, found.statements))
    assert len(parts) <= 2
    for part in parts:
        assert len(json.dumps(part, separators=(",", ":"))) <= MANAGED_POLICY_CHARACTERS


def test_every_action_is_one_that_aws_knows() -> None:
    unknown = [
        action
        for grant in GRANTS
        for action in grant.actions
        if action.split(":")[1] not in reference()[action.split(":")[0]]["privileges"]
    ]

    assert unknown == []


def kinds_of(grant: Grant) -> set[str]:
    """The kinds of resources that a grant names."""
    fill = {"partition": "aws", "region": "us-west-2", "account": ACCOUNT, "path": "/"}
    found = set()
    for template in grant.resources:
        fill["name"] = "alias/x" if ":kms:" in template else "x"
        arn = re.sub(r"\{([\w.]+)\}", lambda each: fill.get(each[1], "x"), template)
        arn = arn.replace("access-entry/x/*", "access-entry/x/role/1/x/x").replace("/*", "/x")
        if arn.startswith("arn:") and not arn.endswith(":*"):
            found.add(str(authorization.kind_of(arn.split(":")[2], arn)))
    return found


def test_every_grant_names_resources_that_its_actions_have() -> None:
    """A resource of a kind that no action has would allow nothing, and so would such an action."""
    wrong = []
    for grant in GRANTS:
        named = kinds_of(grant)
        has = {
            action: named & set(reference()[service]["privileges"][name]["resource_types"])
            for action in grant.actions
            for service, name in [action.split(":")]
        }
        wrong += [f"{action} on {named}" for action, kinds in has.items() if named and not kinds]
        wrong += [f"{kind} in {grant}" for kind in named - set().union(*has.values())]

    assert wrong == []


def test_every_condition_is_one_that_its_actions_know() -> None:
    wrong = []
    for grant in GRANTS:
        tag = "Request" if grant.named == "new" else "Resource"
        asked = [f"aws:{tag}Tag/${{TagKey}}"] if grant.named else []
        asked += ["iam:PermissionsBoundary"] if grant.bounded else []
        asked += [re.sub(r"Tag/.*", "Tag/${TagKey}", grant.condition[1])] if grant.condition else []
        for action in grant.actions:
            service, name = action.split(":")
            kinds = reference()[service]["privileges"][name]["resource_types"].values()
            known = {key for kind in kinds for key in kind["condition_keys"]}
            wrong += [f"{action}: {key}" for key in asked if key not in known]

    assert wrong == []


def handlers(name: str) -> set[str]:
    """The permissions of a CloudFormation type's handlers."""
    found = cloudformation.schema(name)["handlers"].values()
    return {action for handler in found for action in handler["permissions"]}


BY_GUIDE = {"aws:amp/workspace:Workspace": {"kms:DescribeKey"}}
"""What a service's user guide asks for, and its handler of CloudFormation leaves out: "must be
permitted in the key policy: kms:CreateGrant", and kms:DescribeKey
(https://docs.aws.amazon.com/prometheus/latest/userguide/encryption-at-rest-Amazon-Service-Prometheus.html)."""


def equivalent(token: str) -> set[str]:
    """The same for the types that make up one of the provider's."""
    further = {
        # EKS starts instances from it, which use the reservation that it names.
        "aws:ec2/launchTemplate:LaunchTemplate": ["AWS::EKS::Nodegroup"],
        "aws:ec2/internetGateway:InternetGateway": ["AWS::EC2::VPCGatewayAttachment"],
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": ["AWS::EKS::AccessEntry"],
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment": ["AWS::IAM::Role"],
    }
    own = cloudformation.EQUIVALENTS.get(token)
    names = [*([own.type] if own else []), *further.get(token, [])]
    return {action for name in names for action in handlers(name)} | BY_GUIDE.get(token, set())


def operations(token: str) -> set[str]:
    """What the provider calls for a type."""
    life = LIFECYCLES[token]
    made = [call.operation for calls in (life.create, life.read, life.delete) for call in calls]
    prefix = authorization.PREFIXES.get(life.service, life.service)
    return {f"{prefix}:{name}" for name in (*made, *life.updates())}


@pytest.mark.parametrize("token", ACTIONS)
def test_an_action_is_called_by_the_provider_or_by_cloudformation(token: str) -> None:
    granted = {action for grant in ACTIONS[token] for action in grant.actions}

    tags = {"ec2:CreateTags", "ec2:DeleteTags"}  # of what CloudFormation has no tags for
    assert granted - operations(token) - equivalent(token) - tags == set()


@pytest.mark.parametrize("call", IMPLIED)
def test_what_a_service_does_in_the_callers_name_is_in_its_handlers(call: str) -> None:
    (token,) = [
        token
        for token, life in LIFECYCLES.items()
        if f"{life.service}:{life.create[0].operation}" == call
    ]

    assert {action for action, _, _ in IMPLIED[call]} - equivalent(token) == set()


def test_every_type_with_calls_has_actions_and_no_other() -> None:
    assert set(ACTIONS) == set(LIFECYCLES)


def test_what_acts_on_every_kind_of_resource_is_told() -> None:
    """Such an action must not get further resources when statements are put together."""
    kinds: dict[str, set[str]] = {}
    for grant in GRANTS:
        for action in grant.actions:
            kinds.setdefault(action, set()).update(
                re.split(r"[/:]", resource.split(":", 5)[5])[0]
                for resource in grant.resources
                if resource.startswith("arn:")
            )
    many: dict[str, Any] = {}
    for action in kinds:
        service, name = action.split(":")
        about = reference()[service]["privileges"][name]["resource_types"]
        if service in {"ec2", "eks", "kms"} and len(about) > 9:
            many[action] = about

    assert set(many) == OF_ANY_KIND
