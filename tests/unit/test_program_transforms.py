from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_aws as aws
import pytest

from eks_gpushare.program.run import run_program

if TYPE_CHECKING:
    from eks_gpushare.program.recording import Recording

pytestmark = pytest.mark.sdk_internals


def tag(key: str) -> pulumi.ResourceTransform:
    """A transform that adds the tag `key`, and notes in it which came before."""

    def transform(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        if args.type_ != "aws:ec2/vpc:Vpc":
            return None
        props: dict[str, Any] = dict(args.props)
        tags = dict(props.get("tags") or {})
        tags[key] = ",".join(sorted(tags)) or "first"  # a message of protobuf has no order
        return pulumi.ResourceTransformResult(props={**props, "tags": tags}, opts=args.opts)

    return transform


class Net(pulumi.ComponentResource):
    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("demo:index:Net", name, {}, opts)
        options = pulumi.ResourceOptions(parent=self, transforms=[tag("c-own")])
        self.vpc = aws.ec2.Vpc(f"{name}-vpc", cidr_block="10.0.0.0/16", opts=options)
        self.register_outputs({})


def record(program: object, parallel: int = 1) -> Recording:
    assert callable(program)
    return run_program(program, project="demo", stack="dev", config={}, parallel=parallel)


def test_a_resources_own_transform_changes_its_inputs() -> None:
    [vpc] = record(lambda: Net("net")).of_type("aws:ec2/vpc:Vpc")

    assert vpc.inputs == {"cidrBlock": "10.0.0.0/16", "tags": {"c-own": "first"}}


def test_own_transforms_run_before_the_parents_and_the_stacks_last() -> None:
    def program() -> None:
        pulumi.runtime.register_resource_transform(tag("a-stack"))
        Net("net", pulumi.ResourceOptions(transforms=[tag("b-parent")]))

    [vpc] = record(program).of_type("aws:ec2/vpc:Vpc")

    assert vpc.inputs["tags"] == {
        "c-own": "first",
        "b-parent": "c-own",
        "a-stack": "b-parent,c-own",
    }


def test_a_transform_can_change_options() -> None:
    def protect(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
        options = pulumi.ResourceOptions.merge(args.opts, pulumi.ResourceOptions(protect=True))
        return pulumi.ResourceTransformResult(props=args.props, opts=options)

    def program() -> None:
        options = pulumi.ResourceOptions(transforms=[protect], ignore_changes=["tags"])
        aws.ec2.Vpc("net", cidr_block="10.0.0.0/16", opts=options)

    [vpc] = record(program).of_type("aws:ec2/vpc:Vpc")

    assert (vpc.protect, vpc.options["ignoreChanges"]) == (True, ["tags"])


def test_transforms_run_with_registrations_in_several_threads() -> None:
    recording = record(lambda: [Net(f"net{number}") for number in range(5)], parallel=4)

    assert [vpc.inputs["tags"] for vpc in recording.of_type("aws:ec2/vpc:Vpc")] == [
        {"c-own": "first"}
    ] * 5


def test_a_failing_transform_is_the_programs_error() -> None:
    def broken(_args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
        message = "no transform today"
        raise ValueError(message)

    def program() -> None:
        options = pulumi.ResourceOptions(transforms=[broken])
        aws.ec2.Vpc("net", cidr_block="10.0.0.0/16", opts=options)

    error = record(program).error

    assert error is not None
    assert (error.type, error.text) == ("ValueError", "no transform today")


def test_a_program_with_transforms_that_fails_at_once_does_no_harm() -> None:
    def program() -> None:
        pulumi.runtime.register_resource_transform(tag("a"))
        message = "stop"
        raise pulumi.RunError(message)

    errors = [record(program).error for _ in range(10)]

    assert [error.text for error in errors if error] == ["stop"] * 10


def test_a_function_transform_changes_the_arguments_of_a_look_up() -> None:
    def elsewhere(args: pulumi.InvokeTransformArgs) -> pulumi.InvokeTransformResult:
        return pulumi.InvokeTransformResult(
            args={**args.args, "region": "eu-west-1"}, opts=args.opts
        )

    async def program() -> None:
        pulumi.runtime.register_invoke_transform(elsewhere)
        zones = aws.get_availability_zones_output(region="us-west-2")
        pulumi.export("zones", zones.names)

    recording = record(program)

    assert recording.outputs == {"zones": ["eu-west-1a", "eu-west-1b", "eu-west-1c"]}
