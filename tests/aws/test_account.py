"""Every stack and variant as calls to AWS: against its model, and carried out in an account."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import botocore.session
import pytest
from aws_oracle.account import NOT_IN_MOTO, Account, send
from aws_oracle.calls import translated
from aws_oracle.lifecycle import LIFECYCLES
from aws_oracle.shapes import operation
from aws_oracle.translate import NotTakenError
from aws_oracle.variants import CARRIED_OUT, NAMES, STACKS, TRIED, VARIANTS, often
from botocore.exceptions import ClientError
from tests.conftest import GOLDEN

from eks_gpushare.program.recording import Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from aws_oracle.account import Deployed
    from aws_oracle.calls import Translated

    from eks_gpushare.program.recording import Recording

RETIRED = "p3 is offered in no region any more; the stack is the article's own"
NO_GROUPS = {"Karpenter, existing cluster"}
"""Variants whose nodes Karpenter makes, all of them."""
NOT_OFFERED = {"time-slicing-v100": RETIRED}


def but_for(defects: Mapping[str, str]) -> list[object]:
    """All stacks and variants; those with a known defect have to fail until it is mended."""
    return [
        pytest.param(name, marks=pytest.mark.xfail(reason=defects[name], strict=True))
        if name in defects
        else param
        for name, param in zip(NAMES, often(NAMES), strict=True)
    ]


def made_by(calls: list[Translated]) -> set[tuple[str, str]]:
    """What is made by these calls: their names, each with the place of every value in it."""
    return {
        (made.name, place)
        for each in calls
        for made in each.create
        for place in _places(made.parameters)
    }


def _places(value: object, at: str = "") -> Iterator[str]:
    inner = (
        [(f"{at}.{key}", each) for key, each in value.items()]
        if isinstance(value, dict)
        else [(f"{at}[]", each) for each in value]
        if isinstance(value, list)
        else []
    )
    yield at
    for place, each in inner:
        yield from _places(each, place)


@pytest.mark.parametrize("name", often(NAMES))
def test_every_call_is_as_the_model_of_its_service_has_it(
    name: str, calls: Callable[[str], list[Translated]]
) -> None:
    assert [fault for each in calls(name) for fault in each.faults] == []


@pytest.mark.parametrize("name", often(NAMES))
def test_every_arn_is_of_the_partition_of_its_region(
    name: str,
    calls: Callable[[str], list[Translated]],
    region_of: Callable[[str], str],
) -> None:
    partition = botocore.session.get_session().get_partition_for_region(region_of(name))
    sent = json.dumps([made.parameters for each in calls(name) for made in each.create])

    assert set(re.findall(r"\barn:([\w-]+):", sent)) <= {partition}


@pytest.mark.parametrize("name", often(NAMES, among=CARRIED_OUT))
def test_an_account_takes_every_call_in_order_and_is_empty_in_the_end(
    name: str, deploy: Callable[[str], Deployed]
) -> None:
    deployed = deploy(name)
    if deployed.error:
        raise deployed.error

    assert {kind: left for kind, left in deployed.left.items() if left} == {}


def test_how_many_calls_were_carried_out(deploy: Callable[[str], Deployed]) -> None:
    """Of the model alone it would go unnoticed that a stack makes none."""
    kept = json.loads((GOLDEN / "aws" / "calls.json").read_text(encoding="utf-8"))

    made = {name: deploy(name).created for name in CARRIED_OUT}
    assert made == {name: kept[name] for name in CARRIED_OUT}


@pytest.mark.at_length
def test_how_many_calls_were_carried_out_of_all(
    deploy: Callable[[str], Deployed], golden: Callable[[str, str], None]
) -> None:
    made = {name: deploy(name).created for name in NAMES}

    golden("aws/calls.json", json.dumps(made, indent=2) + "\n")


@pytest.mark.at_length
def test_those_that_are_tried_often_make_every_call_with_every_member(
    calls: Callable[[str], list[Translated]],
) -> None:
    often_made = set[tuple[str, str]]().union(*(made_by(calls(name)) for name in TRIED))
    others = {name: made_by(calls(name)) - often_made for name in NAMES}

    assert {name: left for name, left in others.items() if left} == {}


@pytest.mark.at_length
def test_those_that_are_carried_out_make_every_call_of_every_type(
    calls: Callable[[str], list[Translated]],
) -> None:
    """What else a call may have in it is held against its model, of all that are tried."""
    often_made = set[tuple[str, str]]().union(*(of_types(calls(name)) for name in CARRIED_OUT))
    others = {name: of_types(calls(name)) - often_made for name in NAMES}

    assert set(CARRIED_OUT) <= set(TRIED)
    assert {name: left for name, left in others.items() if left} == {}


def of_types(calls: list[Translated]) -> set[tuple[str, str]]:
    """The calls by name, each with the type of the resource that it is for."""
    return {
        (each.resource.type, made.name)
        for each in calls
        for made in (*each.create, *each.read, *each.delete)
    }


@pytest.mark.usefixtures("in_memory")
@pytest.mark.parametrize("name", but_for(NOT_OFFERED))
def test_every_node_group_is_of_types_that_its_region_offers(
    name: str,
    calls: Callable[[str], list[Translated]],
    region_of: Callable[[str], str],
    offers: Callable[[str], set[str]],
) -> None:
    """EKS refuses a group without such a type. moto has the offers of commercial regions."""
    offered = offers(region_of(name))
    groups = [
        made.parameters
        for each in calls(name)
        for made in each.create
        if made.name == "eks:CreateNodegroup"
    ]
    wanted = {each for group in groups for each in group.get("instanceTypes", [])}

    assert bool(groups) != (name in NO_GROUPS)
    assert not offered or wanted <= offered


def test_every_call_of_an_update_is_one_that_its_service_has() -> None:
    for life in LIFECYCLES.values():
        for name in life.updates():
            operation(life.service, name)


def test_every_type_is_registered_by_some_stack_or_variant(
    record: Callable[[str], Recording],
) -> None:
    found = {each.type for name in TRIED for each in record(name).resources}

    assert set(LIFECYCLES) - found == set()


@pytest.mark.usefixtures("in_memory")
@pytest.mark.parametrize("name", NOT_IN_MOTO)
def test_what_moto_is_said_to_lack_it_lacks(name: str) -> None:
    service, call = name.split(":")
    model = operation(service, call).input_shape
    # Something for each member that has to be there: how far it gets is what is asked.
    least = {member: _some(model.members[member]) for member in model.required_members}

    with pytest.raises((NotImplementedError, ClientError)) as raised:
        send(name, least, "us-west-2")
    if isinstance(raised.value, ClientError):
        assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
        assert "No cluster found" not in str(raised.value)


def _some(shape: object) -> object:
    kind = getattr(shape, "type_name", "")
    members = getattr(shape, "members", {})
    if "type" in members:
        return {"type": "cluster"}
    if kind == "structure":
        names = shape.required_members or [next(iter(members))]  # type: ignore[attr-defined]
        return {name: _some(members[name]) for name in names}
    if kind == "list":
        least = shape.metadata.get("min", 0)  # type: ignore[attr-defined]
        return [_some(shape.member)] * least  # type: ignore[attr-defined]
    return "x"


def test_all_that_moto_is_said_to_lack_is_called(deploy: Callable[[str], Deployed]) -> None:
    called = {call for name in CARRIED_OUT for call in deploy(name).account.skipped}

    assert called == set(NOT_IN_MOTO)


# The oracle itself: what is wrong must not pass.


def group(**inputs: object) -> Resource:
    least = {
        "clusterName": "demo",
        "nodeGroupName": "gpu",
        "nodeRoleArn": "arn:aws:iam::111122223333:role/nodes",
        "subnetIds": ["subnet-1"],
    }
    return Resource("urn", "aws:eks/nodeGroup:NodeGroup", "gpu", inputs={**least, **inputs})


def test_a_type_without_calls_is_refused() -> None:
    unknown = Resource("urn", "aws:sns/topic:Topic", "topic")

    with pytest.raises(NotTakenError, match=r"aws:sns/topic:Topic has no calls"):
        translated(unknown)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"instanceTipes": ["g6.xlarge"]}, "instanceTipes is taken by none of"),
        ({"scalingConfig": {"minNodes": 1}}, "scalingConfig.minNodes is taken by none of"),
        ({"diskSize": "large"}, "diskSize takes a integer, not 'large'"),
        ({"nodeRepairConfig": {"enabled": "yes"}}, "nodeRepairConfig.enabled takes a boolean"),
    ],
)
def test_an_input_that_no_member_takes_is_refused(inputs: dict[str, object], message: str) -> None:
    with pytest.raises(NotTakenError, match=re.escape(message)):
        translated(group(**inputs))


def faults(**inputs: object) -> Iterator[str]:
    for fault in translated(group(**inputs)).faults:
        yield fault.removeprefix("gpu: eks:CreateNodegroup: ")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"amiType": "AL2023_NVIDIA"}, ".amiType is 'AL2023_NVIDIA', which is none of AL2_x86_64"),
        ({"scalingConfig": {"minSize": -1}}, "value: -1, valid min value: 0"),
        ({"taints": [{"key": "k" * 64}]}, ".taints[].key is 64 characters, and at most 63"),
        ({"labels": {"l" * 64: "v"}}, "is 64 characters, and at most 63 are allowed"),
    ],
)
def test_a_value_that_the_model_does_not_allow_is_a_fault(
    inputs: dict[str, object], message: str
) -> None:
    assert any(message in fault for fault in faults(**inputs))


def test_a_name_that_does_not_match_its_pattern_is_a_fault() -> None:
    cluster = Resource(
        "urn",
        "aws:eks/cluster:Cluster",
        "demo",
        inputs={
            "name": "my cluster",
            "roleArn": "arn:aws:iam::111122223333:role/cluster",
            "vpcConfig": {"subnetIds": ["subnet-1"]},
        },
    )

    (found,) = {fault.partition(": .")[2] for fault in translated(cluster).faults}
    assert found.startswith("name is 'my cluster', which does not match ")


@pytest.mark.usefixtures("in_memory")
def test_a_call_that_the_account_refuses_is_seen() -> None:
    account = Account("us-west-2")

    with pytest.raises(ClientError, match="No cluster found for name: demo"):
        account.deploy([translated(group())], read_all=True)


def test_a_variant_is_no_stack() -> None:
    assert not set(STACKS) & set(VARIANTS)
