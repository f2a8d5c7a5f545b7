"""The account that a stack's controllers find, of what its program registers."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.program.preview import locate, preview
from eks_gpushare_lab.cloud.account import Account, CapacityReservation
from eks_gpushare_lab.cloud.control import interruption
from eks_gpushare_lab.cloud.declared import account_of
from eks_gpushare_lab.install.desired_cluster import desired_cluster

if TYPE_CHECKING:
    from eks_gpushare.program.recording import Recording
    from eks_gpushare_lab.client import Object

ROOT = Path(__file__).parents[2]
STACK = """
config:
  aws:region: eu-central-1
  eks-gpushare:environment:
    cluster: {name: demo, version: "1.35", deletionProtection: false}
    network: {cidr: 10.0.0.0/16, zones: [eu-central-1a, eu-central-1b], natGateways: single}
    system: {instanceTypes: [t3.large], nodes: {min: 2, desired: 2, max: 4}}
    pools:
      gpu:
        provisioner: karpenter
        instanceTypes: [g5.xlarge]
        amiVersion: 1.35.8-20260930
        nodes: {max: 2}
        sharing: {mode: timeSlicing, replicas: 4}
"""


@cache
def recorded(folder: Path) -> Recording:
    return recorded_of(STACK, folder)


def recorded_of(stack: str, folder: Path) -> Recording:
    file = folder / "Pulumi.demo.yaml"
    file.write_text(stack, encoding="utf-8")
    previewed = preview(*locate(str(file), str(ROOT)), known=True)
    assert previewed.recording is not None, previewed.findings
    return previewed.recording


@pytest.fixture
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return recorded(tmp_path_factory.getbasetemp())


def told(recording: Recording) -> dict[str, Any]:
    releases = {each.name: each for each in desired_cluster(recording).releases}
    settings: dict[str, Any] = releases["karpenter"].values["settings"]
    return settings


def account(recording: Recording, *objects: Object, queue: str = "") -> Account:
    return account_of(recording, objects, cluster="demo", queue=queue, endpoint="https://x")


def node_class(**spec: Any) -> Object:
    return {"kind": "EC2NodeClass", "metadata": {"name": "own"}, "spec": spec}


def test_it_has_what_the_node_class_of_the_stack_names(recording: Recording) -> None:
    objects = desired_cluster(recording).objects
    found = account(recording, *objects, queue=told(recording)["interruptionQueue"])
    (spec,) = [each["spec"] for each in objects if each["kind"] == "EC2NodeClass"]
    assert found.region == "eu-central-1"
    zones = {each.id: each.zone for each in found.subnets}
    named = [zones[term["id"]] for term in spec["subnetSelectorTerms"]]
    assert sorted(named) == ["eu-central-1a", "eu-central-1b"]
    groups = {each.id for each in found.security_groups}
    assert {term["id"] for term in spec["securityGroupSelectorTerms"]} <= groups
    assert spec["role"] in found.roles


def test_its_rules_put_interruptions_into_the_queue(recording: Recording) -> None:
    from moto.events.models import EventPattern

    found = account(recording, queue=told(recording)["interruptionQueue"])
    event: Any = interruption("i-1", "eu-central-1")
    matching = [each for each in found.patterns if EventPattern.load(each).matches_event(event)]
    assert [json.loads(each)["source"] for each in matching] == [["aws.ec2"]]
    assert account(recording, queue="another").patterns == ()


def node_pool(name: str, **wanted: list[str]) -> Object:
    keys = {"types": "node.kubernetes.io/instance-type", "zones": "topology.kubernetes.io/zone"}
    requirements = [
        {"key": keys[key], "operator": "In", "values": values} for key, values in wanted.items()
    ]
    node = {"nodeClassRef": {"name": name}, "requirements": requirements}
    return {"kind": "NodePool", "metadata": {"name": name}, "spec": {"template": {"spec": node}}}


def test_a_reservation_is_of_the_type_and_in_the_zone_of_its_pool(recording: Recording) -> None:
    terms = [{"id": "cr-1"}, {"tags": {"of": "ml"}}]
    own = node_class(capacityReservationSelectorTerms=terms)
    placed = node_pool("own", types=["g6.xlarge"], zones=["eu-central-1b", "eu-central-1a"])
    expected = CapacityReservation("cr-1", "g6.xlarge", "eu-central-1b")
    assert account(recording, own, placed).reservations == (expected,)
    anywhere = account(recording, own, node_pool("own", types=["g6.xlarge"]))
    (found,) = anywhere.reservations
    assert found.zone == anywhere.subnets[0].zone
    assert account(recording, own).reservations == (), "nothing says of what type"
    assert Account.from_json(anywhere.as_json()) == anywhere


def test_what_a_pool_calls_a_capacity_block_is_one(tmp_path: Path) -> None:
    pool = """instanceTypes: [p5.48xlarge]
        capacityType: capacityBlock
        reservation: {id: cr-0123456789abcdef0}
        zones: [eu-central-1a]"""
    recording = recorded_of(STACK.replace("instanceTypes: [g5.xlarge]", pool), tmp_path)
    found = account(recording, *desired_cluster(recording).objects).reservations
    expected = ("cr-0123456789abcdef0", "p5.48xlarge", "eu-central-1a")
    assert found == (CapacityReservation(*expected, is_block=True),)


def test_what_was_there_before_is_made_up(recording: Recording) -> None:
    own = node_class(
        role="mine",
        subnetSelectorTerms=[{"id": "subnet-mine"}, {"tags": {"for": "nodes", "any": "*"}}],
        securityGroupSelectorTerms=[{"id": "sg-mine"}, {"name": "named"}, {"tags": {"for": "x"}}],
    )
    found = account(recording, own)
    assert "mine" in found.roles
    subnets = {each.id: each for each in found.subnets}
    assert subnets["subnet-mine"].zone == "eu-central-1a"
    tagged = [each.zone for each in found.subnets if each.tags.get("for") == "nodes"]
    assert tagged == ["eu-central-1a", "eu-central-1b", "eu-central-1c"]
    groups = {each.id: each for each in found.security_groups}
    assert "sg-mine" in groups
    assert "named" in {each.name for each in groups.values()}
    assert any(each.tags == {"for": "x"} for each in groups.values())


def test_what_is_there_is_not_made_twice(recording: Recording) -> None:
    there = account(recording).subnets
    private = next(each for each in there if "kubernetes.io/role/internal-elb" in each.tags)
    by_id = node_class(subnetSelectorTerms=[{"id": private.id}])
    by_tag = node_class(subnetSelectorTerms=[{"tags": {"kubernetes.io/role/internal-elb": "*"}}])
    assert account(recording, by_id, by_tag).subnets == there
