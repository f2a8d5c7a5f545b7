from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
import pytest
from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyComplianceFramework,
    PolicyConfigSchema,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)

from eks_gpushare.program.policies.analyzer import run_pack
from eks_gpushare.program.policies.config import PolicyConfigError
from eks_gpushare.program.policies.violations import REMEDIATED, Violation
from eks_gpushare.program.run import run_program

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.program.recording import Recording

pytestmark = pytest.mark.sdk_internals

NET = "urn:pulumi:dev::demo::aws:ec2/vpc:Vpc::net"
SUB = "urn:pulumi:dev::demo::aws:ec2/subnet:Subnet::sub"
ROOT = "urn:pulumi:dev::demo::pulumi:pulumi:Stack::demo-dev"


def program() -> None:
    vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16", opts=pulumi.ResourceOptions(protect=True))
    aws.ec2.Subnet("sub", vpc_id=vpc.id, cidr_block="10.0.0.0/24")


def record(*, preview: bool = True) -> Recording:
    recording = run_program(
        program, project="demo", stack="dev", config={"aws:region": "us-west-2"}, preview=preview
    )
    assert recording.error is None
    return recording


def resource_policy(
    check: Callable[[ResourceValidationArgs], str | None], name: str = "rule", **details: object
) -> Policy:
    """A policy that reports what `check` says about a resource."""

    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        message = check(args)
        if message:
            report(message, None)

    return ResourceValidationPolicy(name, "What the rule is for.", validate, **details)  # type: ignore[arg-type]  # by name


def no_vpc(args: ResourceValidationArgs) -> str | None:
    return f"{args.name} is a VPC" if args.resource_type == "aws:ec2/vpc:Vpc" else None


def messages(violations: list[Violation]) -> list[str]:
    return [violation.message for violation in violations]


def test_a_violation_says_everything_the_policy_knows() -> None:
    policy = resource_policy(
        no_vpc,
        enforcement_level=EnforcementLevel.MANDATORY,
        severity=Severity.HIGH,
        framework=PolicyComplianceFramework("CIS", "1.5", "5.4.1", "…"),
        remediation_steps="Remove it.",
        url="https://example.com/rule",
    )

    [violation] = run_pack([policy], record(), pack="demo-pack")

    assert violation.as_json() == {
        "policy": "rule",
        "pack": "demo-pack",
        "level": "mandatory",
        "severity": "high",
        "urn": NET,
        "message": "net is a VPC",
        "description": "What the rule is for.",
        "framework": "CIS 1.5",
        "reference": "5.4.1",
        "remediationSteps": "Remove it.",
        "url": "https://example.com/rule",
        "judged": True,
    }
    assert violation.source == f"{__file__}:{program.__code__.co_firstlineno + 1}"


def test_what_a_policy_leaves_out_is_null() -> None:
    [violation] = run_pack([resource_policy(no_vpc)], record())

    assert (violation.level, violation.severity) == ("advisory", "unspecified")
    assert violation.as_json()["framework"] is None


def test_a_pack_without_policies_has_nothing_to_say() -> None:
    assert run_pack([], record()) == []


def test_a_policy_sees_inputs_options_and_the_provider() -> None:
    seen: dict[str, Any] = {}

    def look(args: ResourceValidationArgs) -> None:
        if args.name == "net":
            assert args.provider is not None
            seen.update(
                cidr=args.props["cidrBlock"],
                protect=args.opts.protect,
                parent=args.opts.parent,
                provider=(args.provider.resource_type, args.provider.props["version"]),
            )

    run_pack([resource_policy(look)], record())

    assert seen == {
        "cidr": "10.0.0.0/16",
        "protect": True,
        "parent": ROOT,
        "provider": ("pulumi:providers:aws", "7.51.1"),
    }


def test_a_policy_that_meets_an_unknown_value_is_reported_as_one_that_cannot_run() -> None:
    def look(args: ResourceValidationArgs) -> str | None:
        return args.props["vpcId"] if args.name == "sub" else None

    policy = resource_policy(look, enforcement_level=EnforcementLevel.MANDATORY)

    [violation] = run_pack([policy], record(), pack="demo-pack")

    assert (violation.level, violation.urn, violation.message) == (
        "advisory",
        SUB,
        (
            "can't run policy 'rule' from policy pack 'demo-pack@v0.0.1' during preview:"
            " string value at .vpcId can't be known during preview"
        ),
    )


def test_in_update_mode_the_same_policy_runs() -> None:
    def look(args: ResourceValidationArgs) -> str | None:
        return args.props["vpcId"] if args.name == "sub" else None

    [message] = messages(run_pack([resource_policy(look)], record(preview=False)))

    assert message.startswith("vpc-")


def test_an_async_policy_is_awaited() -> None:
    async def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        if args.name == "net":
            report("later", None)

    policy = ResourceValidationPolicy("rule", "About.", validate)

    assert messages(run_pack([policy], record())) == ["later"]


def test_a_secret_is_open_to_policies() -> None:
    def secret_program() -> None:
        kubernetes.core.v1.Secret("s", string_data=pulumi.Output.secret({"token": "hunter2"}))

    recording = run_program(secret_program, project="demo", stack="dev", config={})

    def look(args: ResourceValidationArgs) -> str | None:
        return args.props["stringData"]["token"] if args.name == "s" else None

    assert messages(run_pack([resource_policy(look)], recording)) == ["hunter2"]


def test_a_stack_policy_sees_every_resource_with_its_relations() -> None:
    seen: dict[str, Any] = {}

    def validate(args: StackValidationArgs, _report: ReportViolation) -> None:
        subnet = next(r for r in args.resources if r.name == "sub")
        assert subnet.parent is not None
        seen.update(
            names=[r.name for r in args.resources],
            cidr=subnet.props["cidrBlock"],
            parent=subnet.parent.name,
            dependencies=[r.name for r in subnet.dependencies],
            properties={k: [r.name for r in v] for k, v in subnet.property_dependencies.items()},
        )

    run_pack([StackValidationPolicy("rule", "About.", validate)], record())

    assert seen == {
        "names": ["demo-dev", "net", "sub"],
        "cidr": "10.0.0.0/24",
        "parent": "demo-dev",
        "dependencies": ["net"],
        "properties": {"vpcId": ["net"]},
    }


def test_a_stack_violation_without_a_resource_is_the_stacks() -> None:
    def validate(_args: StackValidationArgs, report: ReportViolation) -> None:
        report("of all", None)
        report("of one", SUB)
        report("of a stranger", "urn:pulumi:dev::demo::other:index:Thing::x")

    violations = run_pack([StackValidationPolicy("rule", "About.", validate)], record())

    assert [violation.urn for violation in violations] == [ROOT, SUB, ROOT]


def test_a_policy_that_does_not_apply_says_nothing() -> None:
    def look(args: ResourceValidationArgs) -> str | None:
        args.not_applicable("no")
        return "unreachable"

    assert run_pack([resource_policy(look)], record()) == []


def test_an_error_in_a_policy_names_the_resource() -> None:
    def look(args: ResourceValidationArgs) -> str | None:
        return args.props["absent"] if args.name == "net" else None

    with pytest.raises(KeyError) as caught:
        run_pack([resource_policy(look)], record())

    assert caught.value.__notes__ == [f"while the policies looked at {NET}"]


def remediating() -> Policy:
    def remediate(args: ResourceValidationArgs) -> dict[str, Any] | None:
        if args.name != "net":
            return None
        return {**args.props, "tags": {"team": "ml"}}

    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        if args.name == "net" and "tags" not in args.props:
            report("has no tags", None)

    return ResourceValidationPolicy("tags", "Tags.", validate, remediate=remediate)  # type: ignore[arg-type]  # plain results are taken too


def test_a_remediation_that_is_not_asked_for_is_a_violation() -> None:
    assert messages(run_pack([remediating()], record())) == ["has no tags"]


def test_a_remediation_repairs_what_the_policies_see() -> None:
    violations = run_pack([remediating()], record(), config={"tags": "remediate"})

    assert [(v.level, v.urn, v.message) for v in violations] == [("remediate", NET, REMEDIATED)]


def threshold() -> Policy:
    def look(args: ResourceValidationArgs) -> str | None:
        limit = args.get_config()["limit"]
        return f"limit {limit:g}" if args.name == "net" else None

    schema = PolicyConfigSchema({"limit": {"type": "integer", "default": 5, "minimum": 1}})
    return resource_policy(look, "threshold", config_schema=schema)


@pytest.mark.parametrize(
    ("config", "initial", "message"),
    [
        (None, None, "limit 5"),
        (None, {"threshold": {"limit": 6}}, "limit 6"),
        ({"threshold": {"limit": 7}}, {"threshold": {"limit": 6}}, "limit 7"),
    ],
)
def test_the_users_configuration_wins_over_the_packs_and_both_over_the_schemas(
    config: dict[str, Any] | None, initial: dict[str, Any] | None, message: str
) -> None:
    violations = run_pack([threshold()], record(), config=config, initial_config=initial)

    assert messages(violations) == [message]


@pytest.mark.parametrize(
    ("config", "levels"),
    [
        ({"all": "mandatory"}, ["mandatory", "mandatory"]),
        ({"all": "mandatory", "b": "advisory"}, ["mandatory", "advisory"]),
        ({"a": {"enforcementLevel": "mandatory"}}, ["mandatory", "advisory"]),
        ({"a": "disabled"}, ["advisory"]),
        ({"all": "disabled"}, []),
    ],
)
def test_levels_can_be_set_for_all_and_for_one(config: dict[str, Any], levels: list[str]) -> None:
    policies = [resource_policy(no_vpc, "a"), resource_policy(no_vpc, "b")]

    assert [v.level for v in run_pack(policies, record(), config=config)] == levels


def test_a_configuration_that_does_not_fit_is_refused_with_every_fault() -> None:
    schema = PolicyConfigSchema(
        {"limit": {"type": "integer", "minimum": 1}, "modes": {"items": {"enum": ["a", "b"]}}},
        required=["limit", "owner"],
    )
    policies = [
        resource_policy(no_vpc, "a", config_schema=schema),
        resource_policy(no_vpc, "b"),
        threshold(),
    ]
    config: dict[str, Any] = {
        "a": {"limit": 0, "modes": ["a", "c"]},
        "b": "strict",
        "c": "advisory",
        "threshold": {"limit": "many"},
    }

    with pytest.raises(PolicyConfigError) as caught:
        run_pack(policies, record(), config=config)

    assert str(caught.value).splitlines() == [
        "b: 'strict' is no enforcement level; allowed are advisory, mandatory, remediate, disabled",
        "c: no policy has this name; there are a, b, threshold",
        "a: owner is required",
        "a: limit: 0 is less than 1",
        "a: modes: 'c' is not one of 'a', 'b'",
        "threshold: limit: 'many' is not of type integer",
    ]


def test_a_policy_can_ask_for_the_stack() -> None:
    def look(args: ResourceValidationArgs) -> str | None:
        stack = f"{pulumi.get_project()}/{pulumi.get_stack()}/{pulumi.runtime.is_dry_run()}"
        return stack if args.name == "net" else None

    assert messages(run_pack([resource_policy(look)], record())) == ["demo/dev/True"]


def test_running_a_pack_leaves_the_sdks_settings_alone() -> None:
    before = (pulumi.get_project(), pulumi.get_stack())

    run_pack([resource_policy(no_vpc)], record())

    assert (pulumi.get_project(), pulumi.get_stack()) == before
