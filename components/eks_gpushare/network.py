"""A VPC for a cluster: per zone a private subnet for nodes and a public one for the way out."""

from typing import NotRequired

import pulumi
from pulumi_aws.ec2 import (
    DefaultSecurityGroup,
    Eip,
    InternetGateway,
    NatGateway,
    Route,
    RouteTable,
    RouteTableAssociation,
    Subnet,
    Vpc,
    VpcEndpoint,
)

from eks_gpushare.args.account import TaggedInAccount
from eks_gpushare.aws.karpenter_discovery import DISCOVERY_TAG
from eks_gpushare.aws.roles import Roles, roles_of
from eks_gpushare.config.component_specs import NetworkSpec
from eks_gpushare.inputs.component import FromSpec, props, validate_args, warn
from eks_gpushare.rules.component_rules import check_network
from eks_gpushare.sharing.subnets import zone_subnets

_ANYWHERE = "0.0.0.0/0"


class NetworkArgs(TaggedInAccount):
    """What a network is made of."""

    zones: list[str]
    """Availability zones, by name; a stack file that gives their number has them looked up."""
    cidr: NotRequired[str]
    """Address range of the VPC, /16 to /20. Default: 10.0.0.0/16."""
    nat_gateways: NotRequired[str]
    """single, in the first of `zones`, or perZone to survive the loss of one. Default: single."""
    flow_logs: NotRequired[bool]
    """Record rejected traffic in CloudWatch Logs. Default: false."""
    discovered_by: NotRequired[str]
    """Name of the EKS cluster whose Karpenter finds the private subnets by the tag
    `karpenter.sh/discovery`. Default: they have no such tag."""


class Network(pulumi.ComponentResource):
    """A VPC with a public and a private subnet per zone, closed by default.

    Nodes and the control plane live in the private subnets and leave through NAT gateways;
    image layers come through a free S3 endpoint. A further zone changes nothing about the others.
    The ID of a private subnet is known once its way out is there, so that nodes never start
    without one, and leave before it does.
    """

    vpc_id: pulumi.Output[str]
    """ID of the VPC."""
    private_subnet_ids: pulumi.Output[list[str]]
    """IDs of the private subnets, by zone in alphabetical order."""
    public_subnet_ids: pulumi.Output[list[str]]
    """IDs of the public subnets, by zone in alphabetical order."""
    subnet_by_zone: dict[str, pulumi.Output[str]]
    """ID of the private subnet of each zone, for pools that are pinned to some."""

    def __init__(
        self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Make the network.

        Args:
            name: Name of the component, which its children's names start with.
            args: What the network is made of.
            opts: Pulumi's resource options.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        spec, found = validate_args(NetworkSpec, NetworkArgs, args, check_network)
        self._register(name, spec, opts)
        warn(found, self)

    def _register(self, name: str, spec: NetworkSpec, opts: pulumi.ResourceOptions | None) -> None:
        super().__init__("eks-gpushare:index:Network", name, props(spec), opts)
        child = pulumi.ResourceOptions(parent=self)
        parts = _Children(name, dict(spec.tags), spec.discovered_by, child)
        zones = sorted(spec.zones)
        vpc = parts.vpc(spec.cidr)
        gateway = parts.internet_gateway(vpc)
        public = parts.public_subnets(vpc, gateway, spec.cidr, zones)
        exits = zones if spec.nat_gateways == "perZone" else list(spec.zones[:1])
        nat = parts.nat_gateways(public, gateway, exits)
        self.subnet_by_zone, tables = parts.private_subnets(vpc, spec.cidr, zones, nat)
        parts.s3_endpoint(vpc, tables)
        if spec.flow_logs:
            parts.flow_logs(vpc, roles_of(spec))
        self.vpc_id = vpc.id
        self.private_subnet_ids = pulumi.Output.all(*self.subnet_by_zone.values())
        self.public_subnet_ids = pulumi.Output.all(*(subnet.id for subnet in public.values()))
        self.register_outputs(
            {
                "vpcId": self.vpc_id,
                "privateSubnetIds": self.private_subnet_ids,
                "publicSubnetIds": self.public_subnet_ids,
                "subnetByZone": self.subnet_by_zone,
            }
        )

    _from_spec = FromSpec(_register)


class _Children:
    """The children of a network. Their names are state: see docs/upgrades.md."""

    def __init__(
        self,
        name: str,
        tags: dict[str, str],
        discovered_by: str | None,
        child: pulumi.ResourceOptions,
    ) -> None:
        self._name, self._tags, self._child = name, tags, child
        self._found = {} if discovered_by is None else {DISCOVERY_TAG: discovered_by}

    def vpc(self, cidr: str) -> Vpc:
        """The VPC, whose default security group lets nothing through."""
        vpc = Vpc(
            f"{self._name}-vpc",
            cidr_block=cidr,
            enable_dns_hostnames=True,
            enable_dns_support=True,
            tags=self._named("vpc"),
            opts=self._child,
        )
        DefaultSecurityGroup(
            f"{self._name}-default-sg",
            vpc_id=vpc.id,
            tags=self._named("default-closed"),
            opts=self._child,
        )
        return vpc

    def internet_gateway(self, vpc: Vpc) -> InternetGateway:
        """The way to the internet."""
        return InternetGateway(
            f"{self._name}-igw", vpc_id=vpc.id, tags=self._named("igw"), opts=self._child
        )

    def public_subnets(
        self, vpc: Vpc, gateway: InternetGateway, cidr: str, zones: list[str]
    ) -> dict[str, Subnet]:
        """A small subnet per zone with the internet gateway as its way out."""
        table = RouteTable(
            f"{self._name}-public", vpc_id=vpc.id, tags=self._named("public"), opts=self._child
        )
        Route(
            f"{self._name}-public-internet",
            route_table_id=table.id,
            destination_cidr_block=_ANYWHERE,
            gateway_id=gateway.id,
            opts=self._child,
        )
        return {
            zone: self._subnet("public", vpc, zone, zone_subnets(cidr, zone).public, table)[0]
            for zone in zones
        }

    def nat_gateways(
        self, public: dict[str, Subnet], gateway: InternetGateway, zones: list[str]
    ) -> dict[str, NatGateway]:
        """A NAT gateway with an address of its own in each of the given zones."""
        # AWS makes none in a VPC without an internet gateway, and detaches none from one with NAT.
        after = pulumi.ResourceOptions(parent=self._child.parent, depends_on=[gateway])
        gateways = {}
        for zone in zones:
            address = Eip(
                f"{self._name}-nat-{zone}",
                domain="vpc",
                tags=self._named(f"nat-{zone}"),
                opts=self._child,
            )
            gateways[zone] = NatGateway(
                f"{self._name}-nat-{zone}",
                allocation_id=address.id,
                subnet_id=public[zone].id,
                tags=self._named(f"nat-{zone}"),
                opts=after,
            )
        return gateways

    def private_subnets(
        self, vpc: Vpc, cidr: str, zones: list[str], nat: dict[str, NatGateway]
    ) -> tuple[dict[str, pulumi.Output[str]], list[RouteTable]]:
        """IDs of a large subnet per zone, and the route tables that each has of its own."""
        subnets, tables = {}, []
        for zone in zones:
            table = RouteTable(
                f"{self._name}-private-{zone}",
                vpc_id=vpc.id,
                tags=self._named(f"private-{zone}"),
                opts=self._child,
            )
            route = Route(
                f"{self._name}-private-{zone}-nat",
                route_table_id=table.id,
                destination_cidr_block=_ANYWHERE,
                nat_gateway_id=nat.get(zone, next(iter(nat.values()))).id,
                opts=self._child,
            )
            block = zone_subnets(cidr, zone).private
            subnet, association = self._subnet("private", vpc, zone, block, table)
            ready = pulumi.Output.all(subnet.id, association.id, route.id)
            subnets[zone] = ready.apply(lambda ids: str(ids[0]))
            tables.append(table)
        return subnets, tables

    def s3_endpoint(self, vpc: Vpc, tables: list[RouteTable]) -> None:
        """Image layers are in S3: through this endpoint they cost no NAT traffic."""
        VpcEndpoint(
            f"{self._name}-s3",
            vpc_id=vpc.id,
            service_name=vpc.region.apply(lambda region: f"com.amazonaws.{region}.s3"),
            vpc_endpoint_type="Gateway",
            route_table_ids=[table.id for table in tables],
            tags=self._named("s3"),
            opts=self._child,
        )

    def flow_logs(self, vpc: Vpc, roles: Roles) -> None:
        """A record of rejected traffic."""
        from eks_gpushare.aws.flow_logs import flow_logs

        flow_logs(f"{self._name}-flow-logs", vpc.id, roles, self._named("flow-logs"), self._child)

    def _subnet(
        self, kind: str, vpc: Vpc, zone: str, cidr: str, table: RouteTable
    ) -> tuple[Subnet, RouteTableAssociation]:
        balancer = "internal-elb" if kind == "private" else "elb"
        found = self._found if kind == "private" else {}
        subnet = Subnet(
            f"{self._name}-{kind}-{zone}",
            vpc_id=vpc.id,
            cidr_block=cidr,
            availability_zone=zone,
            map_public_ip_on_launch=False,
            tags={**self._named(f"{kind}-{zone}"), f"kubernetes.io/role/{balancer}": "1", **found},
            opts=self._child,
        )
        association = RouteTableAssociation(
            f"{self._name}-{kind}-{zone}",
            subnet_id=subnet.id,
            route_table_id=table.id,
            opts=self._child,
        )
        return subnet, association

    def _named(self, role: str) -> dict[str, str]:
        return {**self._tags, "Name": f"{self._name}-{role}"}
