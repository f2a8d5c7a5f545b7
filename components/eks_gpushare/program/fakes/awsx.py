"""Fakes for the components of ``pulumi_awsx`` that a cluster is put into, and for its registry.

By token: the SDK need not be installed. Source: pulumi/pulumi-awsx 3, ``awsx/ec2/vpc.ts``,
``awsx/ec2/subnetDistributorLegacy.ts`` and ``awsx/ec2/getDefaultVpc.ts``. The ranges of subnets are
those of the default layout; of any other they stay unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.fakes.eks.children import (
    Children,
    default_vpc,
    known,
    output,
    reference,
    subnets_of,
    unwrap,
)
from eks_gpushare.program.fakes.types import ACCOUNT, Component
from eks_gpushare.program.values import UNKNOWN, Properties, ResourceRef

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.program.fakes.types import Function, Plan
    from eks_gpushare.program.recording import Resource

_ZONES = 3
_RANGE = "10.0.0.0/16"
_ORDER = ("public", "private", "isolated")
_EVERYWHERE = "0.0.0.0/0"


@dataclass(frozen=True, slots=True)
class _Subnet:
    """One subnet of a layout."""

    zone: str
    kind: str
    """``Public``, ``Private`` or ``Isolated``."""
    name: str
    cidr: Any
    tags: Properties


def _vpc(plan: Plan, component: Resource) -> Properties:
    args, children = component.inputs, Children(plan, component)
    zones = _zones(plan, component)
    strategy = str(known(_of_gateways(args).get("strategy"), "OnePerAz")).lower()
    tags = {"Name": children.name, **known(args.get("tags"), {})}
    passed = {
        key: args.get(key)
        for key in ("enableDnsHostnames", "enableDnsSupport", "instanceTenancy", "ipv4IpamPoolId")
    }
    cidr = args.get("cidrBlock", None if "ipv4IpamPoolId" in args else _RANGE)
    vpc = children.add(
        "aws:ec2/vpc:Vpc", children.name, {**passed, "cidrBlock": cidr, "tags": tags}
    )
    gateway = children.add(
        "aws:ec2/internetGateway:InternetGateway",
        children.name,
        {"vpcId": output(vpc, "id"), "tags": tags},
        parent=vpc.urn,
    )
    made = _Network(children, vpc, gateway, strategy, tags)
    for number, zone in enumerate(zones, 1):
        for subnet in _layout(children.name, args, zones, unwrap(cidr)):
            if subnet.zone == zone:
                made.add(number, subnet)
    endpoints = [
        children.add(
            "aws:ec2/vpcEndpoint:VpcEndpoint",
            str(unwrap(spec["serviceName"])),
            {"vpcId": output(vpc, "id"), **spec, "tags": {**tags, **known(spec.get("tags"), {})}},
            parent=vpc.urn,
        )
        for spec in map(unwrap, known(args.get("vpcEndpointSpecs"), []))
    ]
    plan.assume(
        f"The network of {children.name} (awsx:ec2:Vpc) is laid out as pulumi-awsx does by "
        "default; its IDs are made up."
    )
    return {
        "vpc": reference(vpc),
        "vpcId": vpc.id,
        "internetGateway": reference(gateway),
        "vpcEndpoints": [reference(endpoint) for endpoint in endpoints],
        "subnetLayout": UNKNOWN,
        **made.outputs(),
    }


def _of_gateways(args: Properties) -> Properties:
    """What is said of NAT gateways; of a number, as older releases took, nothing is read."""
    given = known(args.get("natGateways"), {})
    return given if isinstance(given, dict) else {}


class _Network:
    """Registers subnets with what routes their traffic."""

    def __init__(
        self, children: Children, vpc: Resource, gateway: Resource, nat: str, tags: Properties
    ) -> None:
        self._children, self._vpc, self._gateway = children, vpc, gateway
        self._strategy, self._tags = nat, tags
        self._by_kind: dict[str, list[Resource]] = {kind: [] for kind in _ORDER}
        self._made: dict[str, list[Resource]] = {
            kind: []
            for kind in ("routeTables", "routes", "routeTableAssociations", "natGateways", "eips")
        }

    def add(self, number: int, subnet: _Subnet) -> None:
        """Register a subnet, its route table, and what it needs of NAT."""
        vpc, name = output(self._vpc, "id"), subnet.name
        tags = {**self._tags, "Name": name, "SubnetType": subnet.kind}
        made = self._children.add(
            "aws:ec2/subnet:Subnet",
            name,
            {
                "vpcId": vpc,
                "availabilityZone": subnet.zone,
                "mapPublicIpOnLaunch": subnet.kind == "Public",
                "cidrBlock": subnet.cidr,
                "assignIpv6AddressOnCreation": False,
                "tags": {**self._tags, **subnet.tags, "Name": name, "SubnetType": subnet.kind},
            },
            parent=self._vpc.urn,
        )
        self._by_kind[subnet.kind.lower()].append(made)
        table = self._keep(
            "routeTables", "aws:ec2/routeTable:RouteTable", name, made, vpcId=vpc, tags=tags
        )
        self._keep(
            "routeTableAssociations",
            "aws:ec2/routeTableAssociation:RouteTableAssociation",
            name,
            table,
            routeTableId=output(table, "id"),
            subnetId=output(made, "id"),
        )
        if subnet.kind == "Public":
            if self._wants_nat(number):
                self._nat(number, made)
            target: Properties = {"gatewayId": output(self._gateway, "id")}
        elif subnet.kind == "Private" and self._made["natGateways"]:
            target = {"natGatewayId": output(self._made["natGateways"][-1], "id")}
        else:
            return
        self._keep(
            "routes",
            "aws:ec2/route:Route",
            name,
            table,
            routeTableId=output(table, "id"),
            destinationCidrBlock=_EVERYWHERE,
            **target,
        )

    def _keep(self, kind: str, token: str, name: str, parent: Resource, **inputs: Any) -> Resource:
        made = self._children.add(token, name, inputs, parent=parent.urn)
        self._made[kind].append(made)
        return made

    def _wants_nat(self, number: int) -> bool:
        there = len(self._made["natGateways"])
        return {"none": False, "single": there < 1}.get(self._strategy, there < number)

    def _nat(self, number: int, subnet: Resource) -> None:
        args, name = self._children.component.inputs, f"{self._children.name}-{number}"
        tags = {**known(args.get("tags"), {}), "Name": name}
        given = known(_of_gateways(args).get("elasticIpAllocationIds"), [])
        if given:
            address: Any = given[min(number, len(given)) - 1]
        else:
            address = output(self._keep("eips", "aws:ec2/eip:Eip", name, subnet, tags=tags), "id")
        self._keep(
            "natGateways",
            "aws:ec2/natGateway:NatGateway",
            name,
            subnet,
            subnetId=output(subnet, "id"),
            allocationId=address,
            tags=tags,
        )

    def outputs(self) -> Properties:
        """The component's outputs about subnets and routes."""
        every = [resource for kind in _ORDER for resource in self._by_kind[kind]]
        return {
            "subnets": [reference(resource) for resource in every],
            **{
                f"{kind}Subnets": [reference(resource) for resource in made]
                for kind, made in self._by_kind.items()
            },
            **{
                f"{kind}SubnetIds": [resource.id for resource in made]
                for kind, made in self._by_kind.items()
            },
            **{
                kind: [reference(resource) for resource in made]
                for kind, made in self._made.items()
            },
        }


def _zones(plan: Plan, component: Resource) -> list[str]:
    args = component.inputs
    given = known(args.get("availabilityZoneNames"))
    if isinstance(given, list):
        if args.get("numberOfAvailabilityZones") is not None:
            raise PlanError(
                f"{component.urn}: Only one of [availabilityZoneNames] and "
                "[numberOfAvailabilityZones] can be specified"
            )
        return [str(unwrap(name)) for name in given]
    wanted = known(args.get("numberOfAvailabilityZones"), _ZONES)
    asked = {"region": unwrap(args["region"])} if "region" in args else {}
    provider = component.providers.get("aws", "")
    names = plan.ask("aws:index/getAvailabilityZones:getAvailabilityZones", asked, provider)[
        "names"
    ]
    if len(names) < int(wanted):
        raise PlanError(
            f"{component.urn}: {wanted} zones are wanted, and a look-up is taken to find "
            f"{', '.join(names)}. Name them in availabilityZoneNames, or answer "
            "aws:index/getAvailabilityZones:getAvailabilityZones in the file of --answers"
        )
    return list(names[: int(wanted)])


def _layout(name: str, args: Properties, zones: list[str], cidr: Any) -> list[_Subnet]:
    specs = known(args.get("subnetSpecs"))
    strategy = str(known(args.get("subnetStrategy"), "Legacy"))
    by_default = specs is None and strategy == "Legacy"
    ranges = _default_ranges(cidr, len(zones)) if by_default else {}
    default = [{"type": "Private"}, {"type": "Public"}]
    wanted = [unwrap(spec) for spec in (specs if isinstance(specs, list) else default)]
    found = []
    for number, zone in enumerate(zones, 1):
        for spec in wanted:
            kind = str(unwrap(spec.get("type"))).capitalize()
            if kind.lower() not in _ORDER:
                continue
            word = known(spec.get("name"), kind.lower())
            found.append(
                _Subnet(
                    zone,
                    kind,
                    f"{name}-{word}-{number}",
                    ranges.get((kind, number), UNKNOWN),
                    known(spec.get("tags"), {}),
                )
            )
    return sorted(found, key=lambda subnet: _ORDER.index(subnet.kind.lower()))


def _default_ranges(cidr: Any, zones: int) -> dict[tuple[str, int], str]:
    """Of each zone's share, the first half is private, and the next quarter public."""
    try:
        whole = ip_network(cidr)
    except ValueError:
        return {}
    bits = (zones - 1).bit_length()
    if not isinstance(whole, IPv4Network) or whole.prefixlen + bits + 2 > whole.max_prefixlen:
        return {}
    found: dict[tuple[str, int], str] = {}
    for number, share in zip(range(1, zones + 1), whole.subnets(prefixlen_diff=bits), strict=False):
        private, rest = share.subnets()
        found["Private", number] = str(private)
        found["Public", number] = str(next(rest.subnets()))
    return found


def _default_vpc(plan: Plan, component: Resource) -> Properties:
    return _get_default_vpc(plan, {}, component.providers.get("aws", ""))


def _get_default_vpc(plan: Plan, _args: Properties, provider: str) -> Properties:
    vpc = default_vpc(plan, provider)
    public: list[str] = []
    private: list[str] = []
    for subnet in subnets_of(plan, vpc, provider):
        found = plan.ask("aws:ec2/getSubnet:getSubnet", {"id": subnet}, provider)
        (public if found.get("mapPublicIpOnLaunch") else private).append(subnet)
    return {"vpcId": vpc, "publicSubnetIds": public, "privateSubnetIds": private}


def _repository(plan: Plan, component: Resource) -> Properties:
    children, args = Children(plan, component), component.inputs
    inputs = {key: value for key, value in args.items() if key != "lifecyclePolicy"}
    made = children.add("aws:ecr/repository:Repository", children.name.lower(), inputs)
    policy: ResourceRef | None = None
    if not (known(args.get("lifecyclePolicy"), {})).get("skip"):
        given = {"repository": output(made, "name"), "policy": UNKNOWN}
        policy = reference(
            children.add("aws:ecr/lifecyclePolicy:LifecyclePolicy", children.name.lower(), given)
        )
    registry = f"{ACCOUNT}.dkr.ecr.{plan.region()}.amazonaws.com"
    url = UNKNOWN if plan.preview else f"{registry}/{made.outputs.get('name')}"
    return {
        "repository": reference(made),
        "url": url,
        **({"lifecyclePolicy": policy} if policy else {}),
    }


def _image(plan: Plan, component: Resource) -> Properties:
    plan.assume(f"The image {component.name} ({component.type}) is not built; its name is unknown.")
    return {"imageUri": UNKNOWN}


COMPONENTS: Mapping[str, Component] = {
    "awsx:ec2:DefaultVpc": Component(_default_vpc),
    "awsx:ec2:Vpc": Component(_vpc),
    "awsx:ecr:Image": Component(_image),
    "awsx:ecr:Repository": Component(_repository),
}
"""Type token to fake."""

FUNCTIONS: Mapping[str, Function] = {"awsx:ec2:getDefaultVpc": _get_default_vpc}
"""Token to fake."""
