"""What commands make of nodes: types that EC2 has, and MIG instances that a GPU can have."""

from __future__ import annotations

import json

import pytest
from foreign_reading import ids, items, placed, problems, read_text_with, read_with

from eks_gpushare.inventory.items import OTHER_NODES, NodeSet, Pointer
from eks_gpushare.lint.readers.shell import ShellReader
from eks_gpushare.manifests.readers.mig_parted import MigPartedReader

SHELL = ShellReader()
A100 = "eksctl create nodegroup --cluster ml --name a --node-type p4d.24xlarge\n"
H100 = "eksdemo create nodegroup more -c ml -i p5.48xlarge\n"


def told(text: str) -> list[str]:
    return ids(read_text_with(SHELL, text, "setup.sh"))


@pytest.mark.parametrize(
    "command",
    [
        "eksctl create nodegroup --cluster ml --node-type {}",
        "eksctl create cluster --name ml --instance-types g5.xlarge,{} --managed",
        "eksdemo create nodegroup gpu -c ml -i {}",
        (
            "aws eks create-nodegroup --cluster-name ml --nodegroup-name gpu --instance-types {} "
            "--ami-type AL2023_x86_64_NVIDIA"
        ),
    ],
)
def test_a_type_that_is_offered_no_more_or_that_ec2_never_had(command: str) -> None:
    assert told(command.format("p3.8xlarge")) == ["GPU1069"]
    assert told(command.format("g5.3xlarge")) == ["GPU1069"]
    assert told(command.format("g5.2xlarge")) == []
    assert told(command.format("$TYPE")) == []


def test_it_stands_where_the_type_does() -> None:
    text = "eksctl create nodegroup --cluster ml \\\n  --node-type p3.8xlarge"

    (problem,) = problems(read_text_with(SHELL, text, "setup.sh"))
    assert placed(problem) == (2, 15)
    assert problem.message == "EC2 offers p3.8xlarge in no region any more."


def test_the_types_that_the_family_has_are_named() -> None:
    text = "eksctl create nodegroup --cluster ml --node-type p4de.48xlarge"

    (problem,) = problems(read_text_with(SHELL, text, "setup.sh"))
    assert problem.message == "EC2 has no type p4de.48xlarge."
    assert problem.fix == "Write one of p4de.24xlarge."


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (
            "nvidia-smi mig -cgi 9g.5gb -C",
            "GPU1031",
            "No GPU in EC2 has the MIG profile 9g.5gb.",
        ),
        (
            f"{A100}sudo nvidia-smi mig -i 0 -cgi 1g.5gb,2g.20gb",
            "GPU1031",
            "No A100-40GB has the MIG profile 2g.20gb.",
        ),
        (
            "nvidia-smi mig --create-gpu-instance 1g.5gb,3g.40gb",
            "GPU1031",
            "No GPU has all of 1g.5gb, 3g.40gb, which 1g.5gb,3g.40gb puts on one.",
        ),
        (
            "nvidia-smi mig -cgi 4g.20gb,4g.20gb",
            "GPU1032",
            (
                "4g.20gb,4g.20gb does not fit on a A100-40GB: 4g.20gb takes memory slices "
                "0-3, which the first one has, so the second has no place."
            ),
        ),
    ],
)
def test_instances_that_no_gpu_can_have(text: str, code: str, message: str) -> None:
    (problem,) = problems(read_text_with(SHELL, text, "setup.sh"))

    assert (problem.rule.id, problem.message) == (code, message)


@pytest.mark.parametrize(
    "text",
    [
        f"{A100}nvidia-smi mig -cgi 3g.20gb,3g.20gb -C",
        f"{A100}{H100}nvidia-smi mig -cgi 3g.40gb,3g.40gb",
        "eksctl create nodegroup --cluster ml --node-type $TYPE\nnvidia-smi mig -cgi 1g.5gb",
        "eksctl create nodegroup --cluster ml --node-type m5.large\nnvidia-smi mig -cgi 1g.5gb",
        "nvidia-smi mig -cgi 3g.40gb:0,3g.40gb:4",
        "nvidia-smi mig -cgi 19,19,19,19,19,19,19,19",
        "nvidia-smi mig -cgi $PROFILE",
        "nvidia-smi mig -cci 1c.3g.20gb",
        "nvidia-smi mig -cgi",
        "nvidia-smi -cgi 9g.5gb",
    ],
)
def test_instances_that_one_may_have(text: str) -> None:
    assert told(text) == []


def test_a_configuration_says_which_profile_no_gpu_has() -> None:
    item = {"devices": "all", "mig-enabled": True, "mig-devices": {"1g.5gb": 1, "9g.5gb": 1}}
    both = {**item, "mig-devices": {"1g.5gb": 1, "3g.40gb": 1}}
    above = ("mig-configs", "a", 0, "mig-devices")

    for given, path in ((item, (*above, "9g.5gb")), (both, above)):
        text = json.dumps({"version": "v1", "mig-configs": {"a": [given]}})
        (problem,) = problems(read_with(MigPartedReader(), text))
        assert problem.path == path


UPDATE = "aws eks update-nodegroup-config --nodegroup-name gpu"
TWO = "eksctl create nodegroup --cluster ml --name gpu --node-type g5.xlarge --node-labels a=b\n"


@pytest.mark.parametrize(
    ("command", "labels"),
    [
        (
            "eksctl set labels --cluster ml --nodegroup gpu --labels tier=one,x=y",
            {"tier": "one", "x": "y"},
        ),
        ("eksctl set labels --cluster ml --nodegroup gpu", None),
        (f"{UPDATE} --labels 'addOrUpdateLabels={{t=1}}'", {"t": "1"}),
        (f"{UPDATE} --labels 'addOrUpdateLabels={{t=1}},removeLabels=[u]'", {"t": "1"}),
        (f"{UPDATE} --labels 'removeLabels=[u]'", None),
        (f"{UPDATE} --scaling-config minSize=1", None),
    ],
)
def test_labels_that_a_group_gets_later(command: str, labels: dict[str, str] | None) -> None:
    found = list(items(read_text_with(SHELL, TWO + command, "up.sh")))
    given = [each.labels for each in found if isinstance(each, NodeSet)]

    assert given == [{"a": "b"}, *([labels] if labels else [])]
    assert [each.provisioner for each in found[1:] if isinstance(each, NodeSet)] == (
        ["byHand"] if labels else []
    )


def test_a_file_may_say_what_a_group_is() -> None:
    (found,) = items(
        read_text_with(SHELL, "aws eks create-nodegroup --cli-input-json file://a.json", "up.sh")
    )

    assert isinstance(found, Pointer)
    assert found.kind == OTHER_NODES
    named = "aws eks create-nodegroup --nodegroup-name a --cli-input-json file://a.json"
    (found,) = items(read_text_with(SHELL, named, "up.sh"))
    assert isinstance(found, NodeSet)
