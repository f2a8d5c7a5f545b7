"""What holds for the registrations of every example stack, and the names that they make public."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.components.conftest import STACKS
from tests.conftest import sampled

from eks_gpushare.catalog.instances import gpu_instance_types
from eks_gpushare.program.stack_config import read_stack_config
from eks_gpushare.program.values import to_json
from eks_gpushare.stack_file.check import check_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

ROOT = Path(__file__).parents[2]

TEACHES = {
    "bottlerocket": set(),
    "cluster-autoscaler": set(),
    "dev": set(),
    "exclusive": set(),
    "gpu-operator": {"GPU271"},  # MIG manager and the kubelet
    "karpenter-mig": set(),
    "karpenter-time-slicing": set(),
    "mig-balanced": set(),
    "mig-time-slicing": set(),
    "mig-uniform": set(),
    "mps": set(),
    "multi-tenant": set(),
    "prod": {"GPU434"},  # its reservation stands for one of yours
    "serve": set(),
    "spot-fallback": set(),
    "tenants": set(),
    "time-slicing": set(),
    "time-slicing-v100": {"GPU104"},  # p3 is retired
}
"""Warnings that a stack is there to show."""


def stack_text(name: str) -> str:
    return (ROOT / "stacks" / f"Pulumi.{name}.yaml").read_text(encoding="utf-8")


def test_a_stack_has_no_error_and_only_warnings_that_teach(stack: str) -> None:
    report = check_file(ROOT / "stacks" / f"Pulumi.{stack}.yaml")

    found = {(f.severity, f.code) for f in report.findings if f.severity != "info"}
    assert found == {("warning", code) for code in TEACHES[stack]}


def test_a_stack_file_begins_with_its_schema_and_one_sentence(stack: str) -> None:
    schema, sentence, config, *_ = stack_text(stack).splitlines()

    assert schema == "# yaml-language-server: $schema=../docs/stack-file.schema.json"
    assert re.fullmatch(r"# [A-Z].*\.", sentence)
    assert config == "config:"


def test_a_stack_names_only_accounts_and_addresses_reserved_for_documentation(stack: str) -> None:
    text = stack_text(stack)
    addresses = set(re.findall(r"\d+\.\d+\.\d+\.\d+/\d+", text))
    private = {cidr for cidr in addresses if cidr.startswith("10.")}

    assert set(re.findall(r"arn:aws:iam::(\d+):", text)) <= {"111122223333"}
    assert addresses - private <= {"203.0.113.0/24"}


def test_a_stack_file_is_committed_without_a_salt(stack: str) -> None:
    assert "encryptionsalt" not in stack_text(stack)


def test_names_are_public_state(
    stack: str, run_stack: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    """A name that changes is a resource replaced: it needs an alias and a changelog entry."""
    golden(f"urns/{stack}.txt", "\n".join(run_stack(stack).urns) + "\n")


@pytest.mark.parametrize("stack", sampled(STACKS, 4))
def test_an_update_registers_the_same_resources_as_its_preview(
    stack: str, run_stack: Callable[..., Run]
) -> None:
    assert run_stack(stack, preview=False).urns == run_stack(stack).urns


def test_every_aws_resource_that_takes_tags_has_the_stacks_tags(
    stack: str, run_stack: Callable[..., Run]
) -> None:
    config = read_stack_config(ROOT / "stacks" / f"Pulumi.{stack}.yaml").values
    tags: dict[str, Any] = json.loads(config["eks-gpushare:environment"])["tags"]
    untagged = {
        f"{each.type} {each.name}"
        for each in run_stack(stack)
        if each.type.startswith("aws:")
        and each.type not in TAKES_NO_TAGS
        and not tags.items() <= dict(each.inputs.get("tags") or {}).items()
    }

    assert untagged == set()


TAKES_NO_TAGS = {
    "aws:cloudwatch/eventTarget:EventTarget",
    "aws:ec2/tag:Tag",
    "aws:ec2/route:Route",
    "aws:ec2/routeTableAssociation:RouteTableAssociation",
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    "aws:kms/alias:Alias",
    "aws:sqs/queuePolicy:QueuePolicy",
}


def test_the_outputs_of_a_stack(
    run_stack: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    outputs = to_json(run_stack("time-slicing", preview=False).recording.outputs)

    golden("outputs/time-slicing.json", json.dumps(outputs, indent=2) + "\n")


def test_from_exclusive_to_time_slicing_only_the_device_plugin_changes(
    run_stack: Callable[..., Run],
) -> None:
    """The stack before and after: no node is replaced or rolled."""

    def share(environment: dict[str, Any]) -> None:
        environment["pools"]["gpu"]["sharing"] = {"mode": "timeSlicing", "replicas": 10}

    before, after = run_stack("exclusive"), run_stack("exclusive", edit=share)

    assert after.changed_from(before) == {
        "ConfigMap gpushare-device-plugin-config",
        "DevicePlugin gpushare-device-plugin",
        "GpuPool gpushare-gpu",
        "GpuSharingEnvironment gpushare",
        "Release gpushare-device-plugin-release",
        "Stack eks-gpushare-exclusive",
    }


@pytest.mark.parametrize("name", ["exclusive", "time-slicing"])
def test_the_first_stacks_take_the_cheapest_type_with_four_gpus_of_24_gb(name: str) -> None:
    """A newcomer's first `pulumi up` finds such a machine in both zones of the stack."""
    config = read_stack_config(ROOT / "stacks" / f"Pulumi.{name}.yaml").values
    environment = json.loads(config["eks-gpushare:environment"])
    (taken,) = environment["pools"]["gpu"]["instanceTypes"]
    region = config["aws:region"]
    fitting = {
        each.name: price
        for each in gpu_instance_types().values()
        if each.gpu_count == 4
        and each.gpu_fraction == 1
        and each.gpu is not None
        and (each.gpu.memory_mib or 0) >= 23_000
        and (price := each.prices.get(region)) is not None
    }

    assert taken == min(fitting, key=lambda each: fitting[each])
    assert len(gpu_instance_types()[taken].zones[region]) >= 4
    assert f"{fitting[taken]:.2f} USD an hour here, g5.12xlarge {fitting['g5.12xlarge']:.2f}" in (
        stack_text(name)
    )


def test_the_time_slicing_stack_is_the_exclusive_one_with_other_sharing() -> None:
    before = stack_text("exclusive").splitlines()
    after = stack_text("time-slicing").splitlines()

    assert [line for line in before if line not in after][1:] == [
        "        sharing: {mode: exclusive}"
    ]
    assert [line for line in after if line not in before][1:] == [
        "        sharing: {mode: timeSlicing, replicas: 10}"
    ]
