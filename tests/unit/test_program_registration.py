from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as kubernetes
import pytest
from pulumi.runtime.proto import resource_pb2

from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.fakes.fakes import Fakes
from eks_gpushare.program.recording import Recording
from eks_gpushare.program.run import run_program
from eks_gpushare.program.running.monitor import Monitor
from eks_gpushare.program.values import UNKNOWN, Secret

if TYPE_CHECKING:
    from eks_gpushare.program.recording import Resource
    from eks_gpushare.program.run import Program

pytestmark = pytest.mark.sdk_internals

STACK = "urn:pulumi:dev::demo::pulumi:pulumi:Stack::demo-dev"


def record(program: Program, *, preview: bool = True) -> Recording:
    recording = run_program(
        program, project="demo", stack="dev", config={"aws:region": "us-west-2"}, preview=preview
    )
    assert recording.error is None, recording.error.traceback or str(recording.error)
    return recording


def failing(program: Program) -> str:
    recording = run_program(program, project="demo", stack="dev", config={})
    assert recording.error is not None
    return recording.error.text


def named(recording: Recording, name: str) -> Resource:
    return next(resource for resource in recording.resources if resource.name == name)


class Inner(pulumi.ComponentResource):
    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("demo:index:Inner", name, {"size": 2}, opts)
        self.vpc = aws.ec2.Vpc(
            f"{name}-vpc", cidr_block="10.0.0.0/16", opts=pulumi.ResourceOptions(parent=self)
        )
        self.register_outputs({"vpcId": self.vpc.id})


class Outer(pulumi.ComponentResource):
    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("demo:index:Outer", name, {}, opts)
        self.inner = Inner(f"{name}-inner", pulumi.ResourceOptions(parent=self))
        self.register_outputs({})


def test_the_stack_comes_first_and_has_no_parent() -> None:
    root = record(lambda: Outer("a")).resources[0]

    assert (root.urn, root.parent, root.source) == (STACK, "", "")


def test_a_urn_names_the_types_of_all_ancestors_but_the_stack() -> None:
    recording = record(lambda: Outer("a"))

    assert [resource.urn for resource in recording.resources[1:]] == [
        "urn:pulumi:dev::demo::demo:index:Outer::a",
        "urn:pulumi:dev::demo::demo:index:Outer$demo:index:Inner::a-inner",
        "urn:pulumi:dev::demo::demo:index:Outer$demo:index:Inner$aws:ec2/vpc:Vpc::a-inner-vpc",
    ]


def test_a_top_level_resource_has_the_stack_as_parent() -> None:
    assert named(record(lambda: Outer("a")), "a").parent == STACK


def test_a_component_has_its_inputs_and_the_outputs_it_registered() -> None:
    component = named(record(lambda: Outer("a")), "a-inner")

    assert (component.custom, component.inputs, component.outputs) == (
        False,
        {"size": 2},
        {"vpcId": UNKNOWN},
    )


def test_the_json_form_is_the_documented_one() -> None:
    vpc = named(record(lambda: Outer("a")), "a-inner-vpc")

    assert vpc.as_json() == {
        "urn": vpc.urn,
        "type": "aws:ec2/vpc:Vpc",
        "name": "a-inner-vpc",
        "parent": "urn:pulumi:dev::demo::demo:index:Outer$demo:index:Inner::a-inner",
        "inputs": {"cidrBlock": "10.0.0.0/16"},
        "dependencies": [],
        "provider": None,
        "protect": False,
    }


def test_an_id_is_unknown_in_a_preview() -> None:
    def program() -> None:
        vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
        aws.ec2.Subnet("sub", vpc_id=vpc.id, cidr_block=vpc.cidr_block)

    subnet = named(record(program), "sub")

    assert subnet.inputs == {"vpcId": UNKNOWN, "cidrBlock": "10.0.0.0/16"}


def test_an_id_is_known_and_always_the_same_in_update_mode() -> None:
    def program() -> None:
        vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
        aws.ec2.Subnet("sub", vpc_id=vpc.id)

    inputs = [named(record(program, preview=False), "sub").inputs for _ in range(2)]

    assert inputs == [{"vpcId": "vpc-3215c6599f3f839b4"}] * 2


def test_dependencies_are_recorded_for_the_resource_and_for_its_properties() -> None:
    def program() -> None:
        vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
        other = Inner("in")
        aws.ec2.Subnet("sub", vpc_id=vpc.id, opts=pulumi.ResourceOptions(depends_on=[other]))

    subnet = named(record(program), "sub")

    net = "urn:pulumi:dev::demo::aws:ec2/vpc:Vpc::net"
    inner = "urn:pulumi:dev::demo::demo:index:Inner"
    assert subnet.dependencies == (net, f"{inner}$aws:ec2/vpc:Vpc::in-vpc")
    assert subnet.property_dependencies == {"vpcId": (net,)}


def test_a_secret_stays_secret_in_inputs_and_exports() -> None:
    def program() -> None:
        token = pulumi.Output.secret("hunter2")
        secret = kubernetes.core.v1.Secret("s", string_data={"token": token})
        pulumi.export("token", token)
        pulumi.export("data", secret.string_data)

    recording = record(program)

    assert named(recording, "s").inputs["stringData"] == Secret({"token": "hunter2"})
    assert "hunter2" not in str(recording.as_json())
    assert recording.outputs == {"data": Secret({"token": "hunter2"}), "token": Secret("hunter2")}


def test_an_explicit_provider_is_recorded_by_its_urn() -> None:
    def program() -> None:
        west = aws.Provider("west", region="us-west-1")
        aws.ec2.Vpc("net", cidr_block="10.0.0.0/16", opts=pulumi.ResourceOptions(provider=west))
        Inner("in", pulumi.ResourceOptions(providers=[west]))

    recording = record(program)

    west = "urn:pulumi:dev::demo::pulumi:providers:aws::west"
    assert [named(recording, name).provider for name in ("net", "in-vpc")] == [west, west]
    assert named(recording, "in").providers == {"aws": west}


def test_the_options_that_were_given_are_recorded() -> None:
    def program() -> None:
        keeper = aws.ec2.Vpc("keeper", cidr_block="10.1.0.0/16")
        options = pulumi.ResourceOptions(
            protect=True,
            ignore_changes=["tags"],
            delete_before_replace=False,
            replace_on_changes=["cidrBlock"],
            retain_on_delete=True,
            deleted_with=keeper,
            additional_secret_outputs=["arn"],
            custom_timeouts=pulumi.CustomTimeouts(create="30m"),
            aliases=[
                pulumi.Alias(name="old"),
                "urn:pulumi:dev::demo::aws:ec2/vpc:Vpc::older",
            ],
            version="7.0.0",
        )
        aws.ec2.Vpc("net", cidr_block="10.0.0.0/16", opts=options)

    net = named(record(program), "net")

    assert net.protect
    assert net.options == {
        "additionalSecretOutputs": ["arn"],
        "aliases": [{"name": "old"}, "urn:pulumi:dev::demo::aws:ec2/vpc:Vpc::older"],
        "customTimeouts": {"create": "30m"},
        "deleteBeforeReplace": False,
        "deletedWith": "urn:pulumi:dev::demo::aws:ec2/vpc:Vpc::keeper",
        "ignoreChanges": ["tags"],
        "replaceOnChanges": ["cidrBlock"],
        "retainOnDelete": True,
        "version": "7.0.0",
    }


def test_children_inherit_protection_unless_they_say_otherwise() -> None:
    """Those of a component in another process too, whose registrations no SDK completes here."""

    def program() -> None:
        outer = Inner("in", pulumi.ResourceOptions(protect=True))
        free = pulumi.ResourceOptions(parent=outer, protect=False)
        aws.ec2.Vpc("free", cidr_block="10.1.0.0/16", opts=free)
        eks.Cluster(
            "gpu",
            vpc_id="vpc-1",
            subnet_ids=["subnet-1"],
            skip_default_node_group=True,
            opts=pulumi.ResourceOptions(protect=True),
        )

    recording = record(program)

    assert (named(recording, "in-vpc").protect, named(recording, "free").protect) == (True, False)
    assert {each.protect for each in recording.resources if each.assumed} == {True}


def test_a_resource_that_is_only_read_is_marked() -> None:
    vpc = named(record(lambda: aws.ec2.Vpc.get("net", "vpc-123")), "net")

    assert (vpc.existing, vpc.id, vpc.parent) == (True, "vpc-123", STACK)


def test_a_urn_twice_is_refused() -> None:
    def program() -> None:
        aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
        aws.ec2.Vpc("net", cidr_block="10.1.0.0/16")

    first = program.__code__.co_firstlineno + 1

    assert failing(program) == (
        "Duplicate resource URN 'urn:pulumi:dev::demo::aws:ec2/vpc:Vpc::net'; try giving it a"
        f" unique name (the first is at {__file__}:{first})"
    )


def test_a_parent_that_was_not_registered_is_refused() -> None:
    monitor = Monitor(Recording("demo", "dev"), Fakes())
    parent = "urn:pulumi:dev::demo::demo:index:Outer::ghost"
    request = resource_pb2.RegisterResourceRequest(
        type="aws:ec2/vpc:Vpc", name="net", custom=True, parent=parent
    )

    with pytest.raises(PlanError) as caught:
        monitor.RegisterResource(request)

    assert str(caught.value) == (
        "urn:pulumi:dev::demo::demo:index:Outer$aws:ec2/vpc:Vpc::net:"
        f" the parent '{parent}' is not registered"
    )


def test_a_dependency_that_was_not_registered_is_refused() -> None:
    urn = "urn:pulumi:dev::demo::aws:ec2/vpc:Vpc::ghost"

    def program() -> None:
        ghost = pulumi.resource.DependencyResource(urn)
        options = pulumi.ResourceOptions(depends_on=[ghost])
        aws.ec2.Vpc("net", cidr_block="10.0.0.0/16", opts=options)

    assert failing(program) == (
        f"urn:pulumi:dev::demo::aws:ec2/vpc:Vpc::net: the dependency '{urn}' is not registered"
    )


def test_messages_keep_their_severity_and_resource() -> None:
    def program() -> None:
        vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
        pulumi.log.info("plain")
        pulumi.log.warn("careful", resource=vpc)

    recording = record(program)

    assert [message.as_json() for message in recording.messages] == [
        {"severity": "info", "text": "plain", "urn": None},
        {"severity": "warning", "text": "careful", "urn": named(recording, "net").urn},
    ]
