"""Programs of users under mocks: Pulumi's own least ones, and `eks_gpushare.testing`."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import sampled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

POOL = (
    '{"instance_types": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 2}, "efa": '
    'False, "ami_version": "1.35.8-20260930"}'
)
CLUSTER = (
    '{"name": "demo", "version": "1.35", "admins": ["arn:aws:iam::111122223333:role/A"], '
    '"addons": {"ebs_csi": True}, '
    '"endpoint": {"public": True, "public_cidrs": ["203.0.113.0/24"]}%s}'
)
PROVIDER = (
    'pulumi.ResourceOptions(providers=[__import__("pulumi_kubernetes").Provider("k", '
    'kubeconfig="{}")])'
)
TENANTS = '{"team": {"namespaces": ["team"], "pools": {"gpu": {"guaranteed": {"gpus": 1}}}}}'
COMPONENTS = {
    "Network": 'Network("demo", {"zones": ["us-west-2a", "us-west-2b"], "flow_logs": True})',
    "EksCluster": f'EksCluster("demo", {CLUSTER})'
    % ', "vpc_id": "vpc-0a1b2c3d", "private_subnet_ids": ["subnet-0a", "subnet-0b"]',
    "SystemNodes": 'SystemNodes("demo", {"cluster_name": "c", "subnet_ids": ["subnet-0a"]})',
    "GpuPool": (
        'GpuPool("demo", {"pool": "gpu", "cluster_name": "c", "cluster_subnet_ids": ["subnet-0a"], '
        f'"tags": {{"owner": __import__("pulumi_aws").iam.Role("r", assume_role_policy="").arn}}, '
        f"**{POOL}}})"
    ),
    "DevicePlugin": f'DevicePlugin("demo", {{"pools": {{"gpu": {POOL}}}}}, {PROVIDER})',
    "GpuOperator": f'GpuOperator("demo", {{"pools": {{"gpu": {POOL}}}}}, {PROVIDER})',
    "GpuSharingEnvironment": (
        f'GpuSharingEnvironment("demo", {{"cluster": {CLUSTER % ""}, "pools": {{"gpu": {POOL}}}, '
        '"network": {"zones": ["us-west-2a", "us-west-2b"]}, "region": "us-west-2", '
        f'"tenants": {TENANTS}}})'
    ),
}
LEAST, OURS = "least", "ours"
LEAST_MOCKS = """\
class Mocks(pulumi.runtime.Mocks):
    def new_resource(self, args):
        return [f"{args.name}_id", args.inputs]

    def call(self, args):
        return {}
"""
TESTS = """\
import json
import os
import sys
import traceback

import pulumi
import eks_gpushare
from eks_gpushare import *

%s

def tested(kind, component):
    if kind == "ours":
        import eks_gpushare.testing

        mocks = eks_gpushare.testing.Mocks()
    else:
        mocks = Mocks()
    pulumi.runtime.set_mocks(mocks, preview=False)

    @pulumi.runtime.test
    def test():
        made = eval(component)
        outputs = {name: getattr(made, name) for name in type(made).__annotations__}
        names = [name for name, value in outputs.items() if isinstance(value, pulumi.Output)]
        outputs = pulumi.Output.all(*map(outputs.get, names))
        return outputs.apply(lambda values: known.update(zip(names, values)))

    known = {}
    test()
    test()
    return [known, [(each.type, each.name) for each in getattr(mocks, "resources", ())]]


for asked in iter(sys.stdin.readline, ""):
    if not os.fork():
        try:
            print(json.dumps(tested(*json.loads(asked))), flush=True)
        except BaseException:
            print(json.dumps([traceback.format_exc()]), flush=True)
        os._exit(0)
    os.wait()
"""

Outcome = tuple[dict[str, Any], list[list[str]]]


@pytest.fixture(scope="module")
def unit_test() -> Iterator[Callable[[str, str], Outcome]]:
    """Run a test as its user does, in a process of its own: mocks are the process's.

    The SDKs are imported once, and the process is forked for each component that is asked for.
    """
    command = (sys.executable, "-W", "error::RuntimeWarning", "-c", TESTS % LEAST_MOCKS)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        asking, answers = process.stdin, process.stdout

        @functools.cache
        def run(mocks: str, component: str) -> Outcome:
            asking.write(json.dumps([mocks, COMPONENTS[component]]) + "\n")
            asking.flush()
            outcome = json.loads(answers.readline())
            assert len(outcome) == 2, outcome[0]
            return outcome[0], outcome[1]

        yield run
        asking.close()
    assert process.returncode == 0


@pytest.mark.parametrize("component", sampled([*COMPONENTS], 2))
def test_a_component_can_be_made_under_the_least_mocks(
    unit_test: Callable[..., Any], component: str
) -> None:
    outputs, _ = unit_test(LEAST, component)

    assert outputs


@pytest.mark.parametrize("component", sampled([*COMPONENTS], 2))
def test_every_output_is_known_under_mocks_of_this_package(
    unit_test: Callable[..., Any], component: str
) -> None:
    outputs, registered = unit_test(OURS, component)

    assert not [name for name, value in outputs.items() if value in (None, "", [], {})]
    assert [f"eks-gpushare:index:{component}", "demo"] in registered


def test_mocks_make_what_the_in_process_run_makes(unit_test: Callable[..., Any]) -> None:
    """One source: the names are those of the real plugins, as far as those are stood in for."""
    from eks_gpushare.program.run import run_program

    def program() -> None:
        import pulumi

        import eks_gpushare

        made = {name: getattr(eks_gpushare, name) for name in COMPONENTS}
        eval(COMPONENTS["GpuSharingEnvironment"], {"pulumi": pulumi, **made})  # noqa: S307

    config = {"aws:region": "us-west-2"}
    recording = run_program(program, project="p", stack="s", config=config, preview=False)
    _, registered = unit_test(OURS, "GpuSharingEnvironment")
    expected = {(e.type, e.name) for e in recording.resources} - {("pulumi:pulumi:Stack", "p-s")}

    assert {tuple(each) for each in registered} == expected


LOOK_UPS = """\
import pulumi
from eks_gpushare.testing import Mocks
mocks = Mocks(region="eu-west-1", functions={"aws:ec2/getAmi:getAmi": {"id": "ami-1"}})
pulumi.runtime.set_mocks(mocks)
import pulumi_aws as aws
print(aws.get_availability_zones().names, aws.ec2.get_ami().id, mocks.assumptions)
vpc = aws.ec2.Vpc("v", cidr_block="10.0.0.0/16")
print([each.name for each in mocks.of_type("Vpc")])
aws.pricing.get_product(service_code="x", filters=[])
"""


@pytest.fixture(scope="module")
def looked_up() -> subprocess.CompletedProcess[str]:
    """A program that looks up what is answered, what is given, and in the end what is neither."""
    command = [sys.executable, "-c", LOOK_UPS]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_look_ups_are_answered_and_can_be_given(
    looked_up: subprocess.CompletedProcess[str],
) -> None:
    first, resources = looked_up.stdout.splitlines()

    assert resources.startswith("[")
    assert first == (
        "['eu-west-1a', 'eu-west-1b', 'eu-west-1c'] ami-1 "
        "['Region eu-west-1 is taken to have the zones eu-west-1a, eu-west-1b, eu-west-1c. "
        "Which IDs these have in an account is not known, so what depends on them is not checked.']"
    )


def test_a_look_up_without_an_answer_says_how_to_give_one(
    looked_up: subprocess.CompletedProcess[str],
) -> None:
    assert looked_up.returncode == 1
    assert "LookupError: no answer is known for aws:pricing/getProduct:getProduct" in (
        looked_up.stderr
    )
    assert "Mocks(functions={'aws:pricing/getProduct:getProduct': {...}})" in looked_up.stderr
