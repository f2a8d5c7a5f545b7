"""The account of a stack: what of AWS its controllers find, as its program registers it.

What the stack only names, since it was there before, is made up: a subnet or security group by its
id, or by the tags by which a node class looks for it, a capacity reservation by its id.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.values import COMPUTED_TEXT, plain
from eks_gpushare_lab.cloud.account import Account, SecurityGroup, Subnet
from eks_gpushare_lab.cloud.declared_reservations import reservations_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.program.recording import Recording, Resource
    from eks_gpushare_lab.client import Object

NODE_CLASS = "EC2NodeClass"
"""Kind of the objects that name subnets, security groups and a role."""

_SUBNET, _GROUP = "aws:ec2/subnet:Subnet", "aws:ec2/securityGroup:SecurityGroup"
_ROLE = "aws:iam/role:Role"
_RULE, _TARGET = "aws:cloudwatch/eventRule:EventRule", "aws:cloudwatch/eventTarget:EventTarget"
_ENVIRONMENT = "eks-gpushare:index:GpuSharingEnvironment"
_NO_REGION = "us-east-1"
_MADE_ZONES = "abc"


def account_of(
    recording: Recording, objects: Iterable[Object], *, cluster: str, queue: str, endpoint: str
) -> Account:
    """The account that a recorded program and its node classes need.

    Args:
        recording: of the program, without unknown values.
        objects: those that it applies, and those applied besides.
        cluster: name of the cluster, as the controller is told it.
        queue: name of the queue for interruptions, or `""`.
        endpoint: address of the API server.
    """
    objects = list(objects)
    classes = [obj["spec"] for obj in objects if obj.get("kind") == NODE_CLASS]
    region = region_of(recording)
    subnets = [*_subnets(recording, region)]
    groups = [*_groups(recording)]
    for spec in classes:
        subnets += _missing_subnets(spec.get("subnetSelectorTerms") or (), subnets, region)
        groups += _missing_groups(spec.get("securityGroupSelectorTerms") or (), groups)
    named = (str(spec["role"]) for spec in classes if spec.get("role"))
    roles = [*(_name(resource) for resource in recording.of_type(_ROLE)), *named]
    return Account(
        cluster=cluster,
        region=region,
        endpoint=endpoint,
        subnets=tuple(subnets),
        security_groups=tuple(groups),
        roles=tuple(dict.fromkeys(filter(None, roles))),
        queue=queue,
        reservations=tuple(reservations_of(recording, objects, subnets)),
        patterns=tuple(_patterns(recording, queue)),
    )


def region_of(recording: Recording) -> str:
    """The region of the stack's environment; us-east-1 where it names none."""
    for resource in recording.of_type(_ENVIRONMENT):
        given = plain(resource.inputs).get("region")
        if given:
            return str(given)
    return _NO_REGION


def _subnets(recording: Recording, region: str) -> Iterator[Subnet]:
    for resource in recording.of_type(_SUBNET):
        given = plain(resource.inputs)
        zone = str(given.get("availabilityZone") or f"{region}a")
        yield Subnet(str(resource.id), zone, _tags(given))


def _groups(recording: Recording) -> Iterator[SecurityGroup]:
    for resource in recording.of_type(_GROUP):
        yield SecurityGroup(str(resource.id), _name(resource), _tags(plain(resource.inputs)))


def _patterns(recording: Recording, queue: str) -> Iterator[str]:
    """Patterns of the rules whose target is a queue."""
    if not queue:
        return
    targets = [plain(resource.inputs) for resource in recording.of_type(_TARGET)]
    sent = {str(target.get("rule")) for target in targets if _is_queue(target.get("arn"), queue)}
    for rule in recording.of_type(_RULE):
        given, name = plain(rule.inputs), plain(rule.outputs).get("name")
        if {str(rule.id), str(name)} & sent and given.get("eventPattern"):
            yield str(given["eventPattern"])


def _is_queue(arn: object, queue: str) -> bool:
    """Whether an ARN is that of a queue; one that is made up has its type before the name."""
    return re.split("[:/]", str(arn))[-1] == queue


def _missing_subnets(
    terms: Sequence[Mapping[str, Any]], there: Sequence[Subnet], region: str
) -> Iterator[Subnet]:
    """Subnets that a node class names and that no resource is, in one zone after the other."""
    zones = [f"{region}{letter}" for letter in _MADE_ZONES]
    known = {subnet.id for subnet in there}
    made = 0
    for term in terms:
        if term.get("id"):
            if term["id"] not in known:
                yield Subnet(str(term["id"]), zones[made % len(zones)])
                made += 1
        elif not any(_has(subnet.tags, term) for subnet in there):
            tags = _found_by(term)
            yield from (Subnet(f"subnet-{made}{zone}", zone, tags) for zone in zones)
            made += 1


def _missing_groups(
    terms: Sequence[Mapping[str, Any]], there: Sequence[SecurityGroup]
) -> Iterator[SecurityGroup]:
    known = {group.id for group in there}
    for number, term in enumerate(terms):
        if term.get("id"):
            if term["id"] not in known:
                yield SecurityGroup(str(term["id"]), str(term["id"]))
        elif not any(_has(group.tags, term) for group in there):
            name = str(term.get("name") or f"nodes-{number}")
            yield SecurityGroup(f"sg-{number}{name}", name, _found_by(term))


def _has(tags: Mapping[str, str], term: Mapping[str, Any]) -> bool:
    wanted = term.get("tags") or {}
    return bool(wanted) and all(
        key in tags and value in ("*", tags[key]) for key, value in wanted.items()
    )


def _found_by(term: Mapping[str, Any]) -> dict[str, str]:
    """Tags by which a term finds what has them."""
    tags = term.get("tags") or {}
    return {str(key): "" if value == "*" else str(value) for key, value in tags.items()}


def _tags(given: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in (given.get("tags") or {}).items()}


def _name(resource: Resource) -> str:
    given = plain(resource.inputs).get("name")
    made_up = str(resource.id)
    name = str(given or made_up)
    return resource.name if name in ("", COMPUTED_TEXT) else name
