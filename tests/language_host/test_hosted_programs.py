"""Programs in a process of their own register what the same programs do in ours."""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import sampled

from eks_gpushare.program.language_host.run import run_hosted
from eks_gpushare.program.run import run_program
from eks_gpushare.program.values import Secret

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.program.recording import Recording, Resource
    from eks_gpushare.stack_file.project import Project

    Write = Callable[..., Project]

pytestmark = pytest.mark.sdk_internals

CONFIG = {"aws:region": "us-west-2", "demo:token": "hunter2", "demo:size": "4"}

EVERYTHING = """
    import pulumi, pulumi_aws as aws

    config = pulumi.Config()
    def larger(args):
        if args.type_ == "aws:ec2/subnet:Subnet":
            args.props["tags"] = {"by": "a transform"}
            return pulumi.ResourceTransformResult(args.props, args.opts)
    pulumi.runtime.register_resource_transform(larger)

    class Network(pulumi.ComponentResource):
        def __init__(self, name, opts=None):
            super().__init__("demo:index:Network", name, {}, opts)
            own = pulumi.ResourceOptions(parent=self, protect=True)
            self.vpc = aws.ec2.Vpc(name, cidr_block="10.0.0.0/16", opts=own)
            self.subnets = [
                aws.ec2.Subnet(f"{name}-{n}", vpc_id=self.vpc.id, cidr_block=f"10.0.{n}.0/24",
                               opts=pulumi.ResourceOptions(parent=self))
                for n in range(3)
            ]
            self.register_outputs({"vpc": self.vpc.id})

    elsewhere = aws.Provider("elsewhere", region="eu-west-1")
    networks = [Network(each, pulumi.ResourceOptions(providers=[elsewhere])) for each in "ab"]
    role = aws.iam.Role(
        "role", assume_role_policy="{}", name=config.require_secret("token"),
        opts=pulumi.ResourceOptions(
            depends_on=[networks[0]], ignore_changes=["tags"],
            aliases=[pulumi.Alias(name="old")], delete_before_replace=True,
            custom_timeouts=pulumi.CustomTimeouts(create="5m")))
    caller = aws.get_caller_identity_output()
    aws.ec2.Vpc.get("there", "vpc-0123456789abcdef0")
    pulumi.log.warn("take care", role)
    pulumi.export("account", caller.account_id)
    pulumi.export("vpcs", [each.vpc.id for each in networks])
    pulumi.export("token", config.require_secret("token"))
    pulumi.export("size", config.require_int("size"))
"""


def hosted(project: Project, **options: Any) -> Recording:
    return run_hosted(project, stack="dev", config=CONFIG, secret_keys=("demo:token",), **options)


def in_process(project: Project, *, preview: bool) -> Recording:
    def program() -> None:
        runpy.run_path(str(project.program / "program.py"))

    return run_program(
        program,
        project="demo",
        stack="dev",
        config=CONFIG,
        secret_keys=("demo:token",),
        preview=preview,
    )


def by_urn(recording: Recording) -> dict[str, Resource]:
    return {each.urn: each for each in recording.resources}


@pytest.mark.parametrize("preview", sampled([True, False], 2))
def test_it_registers_what_it_does_in_this_process(write: Write, *, preview: bool) -> None:
    project = write(EVERYTHING)

    found, expected = hosted(project, preview=preview), in_process(project, preview=preview)

    assert (found.error, expected.error) == (None, None)
    assert by_urn(found) == by_urn(expected)
    assert found.outputs == expected.outputs
    assert found.messages == expected.messages
    assert found.calls == expected.calls
    assert sorted(found.assumptions) == sorted(expected.assumptions)
    assert isinstance(found.outputs["token"], Secret)


MANY = """
    import pulumi

    class Thing(pulumi.CustomResource):
        def __init__(self, name, *needs, parent=None):
            opts = pulumi.ResourceOptions(depends_on=needs, parent=parent)
            super().__init__("demo:index:Thing", name, {}, opts)

    root = Thing("z-root")
    things = [Thing(f"thing-{n}", root) for n in range(20)]
    for n, each in enumerate(things):
        Thing(f"below-{n}", things[-n], parent=each)
"""


def test_the_order_is_the_same_in_every_run(write: Write) -> None:
    project = write(MANY)

    recorded = [hosted(project).resources for _ in range(2)]

    assert len(recorded[0]) == 42
    assert recorded[0] == recorded[1]
    places = {each.urn: place for place, each in enumerate(recorded[0])}
    for each in recorded[0]:
        needs = {each.parent, each.provider, *each.dependencies} - {""}
        assert all(places[need] < places[each.urn] for need in needs)


POOLS = """
    import pulumi

    class Pool(pulumi.ComponentResource):
        node_selector: pulumi.Output[dict]
        def __init__(self, name, props, opts=None):
            super().__init__("eks-gpushare:index:GpuPool", name,
                             {**props, "nodeSelector": None}, opts, remote=True)
        def translate_output_property(self, name):
            return "node_selector" if name == "nodeSelector" else name

    class Team(pulumi.ComponentResource):
        def __init__(self, name):
            super().__init__("demo:index:Team", name, {}, pulumi.ResourceOptions(protect=True))

    team = Team("team")
    def tagged(args):
        return pulumi.ResourceTransformResult({**args.props, "tags": {"by": "pool"}}, args.opts)
    for name in ("one", "two"):
        Pool(name, {
            "pool": name,
            "clusterName": pulumi.Output.secret("demo"),
            "clusterSubnetIds": ["subnet-0a1b2c3d4e5f60718", "subnet-0a1b2c3d4e5f60719"],
            "instanceTypes": ["g6.2xlarge"],
            "nodes": {"min": 1, "max": 3},
            "sharing": {"mode": "timeSlicing", "replicas": REPLICAS},
        }, pulumi.ResourceOptions(parent=team, aliases=[pulumi.Alias(name=f"old-{name}")]))
"""


def test_components_are_made_by_the_plugin_two_at_once(write: Write) -> None:
    found = hosted(write(POOLS.replace("REPLICAS", "4")))

    assert found.error is None, found.error
    pools = found.of_type("eks-gpushare:index:GpuPool")
    assert [each.name for each in pools] == ["one", "two"]
    assert {each.source.rpartition(":")[2] for each in pools} == {"20"}
    groups = found.of_type("aws:eks/nodeGroup:NodeGroup")
    assert [isinstance(each.inputs["clusterName"], Secret) for each in groups] == [True, True]
    assert all(each.protect for each in groups)
    assert all("/program.py:" in each.source for each in groups)


def test_a_refusal_is_told_once_with_the_programs_names_and_line(write: Write) -> None:
    found = hosted(write(POOLS.replace("REPLICAS", "1")))

    assert found.error is not None
    assert found.error.type == "InputPropertiesError"
    assert found.error.source.endswith("/program.py:20")
    first, why, second, again = found.error.text.splitlines()
    assert first == "one: GpuPool: 1 argument is wrong:"
    assert second == f"{found.error.source}: two: GpuPool: 1 argument is wrong:"
    assert why == again
    assert why.startswith("  sharing.replicas: 1 is less than 2; ")
    assert not any(each in found.error.text for each in ("Traceback", "File ", "Exception"))
    assert [each for each in found.messages if each.severity == "error"] == []
    assert not found.of_type("aws:eks/nodeGroup:NodeGroup")


@pytest.mark.parametrize(
    ("program", "text", "line"),
    sampled(
        [
            ("import pulumi\npulumi.Config().require('absent')", "demo:absent", ""),
            (
                "import pulumi_aws as aws\nfor _ in '12':\n    aws.ec2.Vpc('same')",
                "Duplicate resource URN",
                "program.py:3",
            ),
            (
                "import pulumi\npulumi.ComponentResource('acme:index:Thing', 'a', {}, remote=True)",
                "'acme:index:Thing' has no fake",
                "",
            ),
            (
                "import pulumi\npulumi.runtime.invoke('acme:index:f', {})",
                "'acme:index:f' has no",
                "",
            ),
            ("raise ValueError('not today')", "not today", ""),
        ],
        2,
    ),
)
def test_a_failing_program_says_why(write: Write, program: str, text: str, line: str) -> None:
    found = hosted(write(program))

    assert found.error is not None
    assert text in found.error.text
    assert found.error.source.endswith(line)
    assert [each for each in found.messages if each.severity == "error"] == []
