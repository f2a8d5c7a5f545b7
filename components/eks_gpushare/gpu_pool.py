"""A pool of GPU nodes as a managed node group."""

from collections.abc import Sequence
from typing import Any, NotRequired

import pulumi
from pulumi_aws.ec2 import PlacementGroup

from eks_gpushare import args as plain
from eks_gpushare.catalog import Catalog, InstanceType, nvidia_ami
from eks_gpushare.checked import accept, model_of, props, refuse
from eks_gpushare.config import codes
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.environment import CatalogAdditions
from eks_gpushare.config.findings import finding
from eks_gpushare.config.pools import Pool
from eks_gpushare.efa import efa_interfaces, efa_security_group
from eks_gpushare.node_config import custom_ami_user_data
from eks_gpushare.node_group import GroupSpec, register_group
from eks_gpushare.rules.parts import check_pool
from eks_gpushare.sharing.plan import PoolPlan, plan_pool

_CAPACITY_TYPES = {
    "onDemand": "ON_DEMAND",
    "spot": "SPOT",
    "reserved": "ON_DEMAND",
    "capacityBlock": "CAPACITY_BLOCK",
}


class GpuPoolArgs(plain.Pool):
    """What a pool is, and the cluster it joins."""

    pool: str
    """Name of the pool: a key of the device plugin's configuration and the value of a label."""
    cluster_name: pulumi.Input[str]
    """EKS cluster."""
    cluster_subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Subnets of the nodes."""
    version: NotRequired[str]
    """Kubernetes version. Default: the cluster's at creation."""
    cluster_endpoint: NotRequired[pulumi.Input[str]]
    """URL of the API server; only for a custom AMI."""
    cluster_certificate_authority: NotRequired[pulumi.Input[str]]
    """Certificate authority of the API server, base64; only for a custom AMI."""
    cluster_service_cidr: NotRequired[pulumi.Input[str]]
    """Address range of Kubernetes services; only for a custom AMI."""
    cluster_security_group_id: NotRequired[pulumi.Input[str]]
    """Security group of the cluster; only with EFA."""
    vpc_id: NotRequired[pulumi.Input[str]]
    """VPC of the nodes; only with EFA."""
    catalog: NotRequired[plain.CatalogAdditions]
    """Instance types that this release does not know or has wrong."""
    tags: NotRequired[dict[str, str]]
    """Tags of everything but instances, unless `tag_instances`. Default: none."""


_WIRING = (
    "pool",
    "cluster_name",
    "cluster_subnet_ids",
    "version",
    "cluster_endpoint",
    "cluster_certificate_authority",
    "cluster_service_cidr",
    "cluster_security_group_id",
    "vpc_id",
    "catalog",
    "tags",
)


class GpuPool(pulumi.ComponentResource):
    """GPU nodes of one kind, with the labels and taints that sharing them needs.

    A change of replicas changes nothing here: how a GPU is shared is the device plugin's business.
    """

    node_group_name: pulumi.Output[str]
    """Name of the node group."""
    request: pulumi.Output[dict[str, int]]
    """What a pod asks for to get one share."""
    node_selector: pulumi.Output[dict[str, str]]
    """What a pod selects to land on this pool."""

    def __init__(
        self, name: str, args: GpuPoolArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Make the pool.

        Args:
            name: Name of the component and of its node group.
            args: What the pool is.
            opts: Pulumi's resource options.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        spec = model_of(Pool, "GpuPool", args, _WIRING)
        additions = model_of(CatalogAdditions, "GpuPool", args.get("catalog", {}), ())
        catalog, found = catalog_of(additions, None)
        tags = dict(args.get("tags", {}))
        wires = {"pool": args["pool"], "clusterName": args["cluster_name"], "tags": tags or None}
        super().__init__("eks-gpushare:index:GpuPool", name, props(spec, **wires), opts)
        accept("GpuPool", [*found, *check_pool(args["pool"], spec, catalog)], self, opts)
        plan = plan_pool(args["pool"], spec, catalog)
        child = pulumi.ResourceOptions(parent=self)
        group = register_group(_group(name, plan, args, catalog, child), self)
        self.node_group_name = group.node_group_name
        self.request = pulumi.Output.from_input(dict(plan.request))
        self.node_selector = pulumi.Output.from_input(dict(plan.node_selector))
        self.register_outputs(
            {
                "nodeGroupName": self.node_group_name,
                "request": self.request,
                "nodeSelector": self.node_selector,
            }
        )


def _group(
    name: str,
    plan: PoolPlan,
    args: GpuPoolArgs,
    catalog: Catalog,
    child: pulumi.ResourceOptions,
) -> GroupSpec:
    """The node group of a plan; wires that only some pools need are asked for here."""
    pool = plan.pool
    instance_type = _first(pool, catalog)
    family = pool.custom_ami.family if pool.custom_ami else pool.ami_family
    ami = nvidia_ami(family, instance_type.arch)
    device = ami.disk_device if ami else "/dev/xvda"
    tags = dict(args.get("tags", {}))
    return GroupSpec(
        name=name,
        cluster_name=args["cluster_name"],
        subnet_ids=args["cluster_subnet_ids"],
        instance_types=pool.instance_types,
        sizes=plan.sizes,
        disk_device=device,
        disk_gib=pool.root_volume_gib,
        ami_type=None if pool.custom_ami else ami and ami.type,
        capacity_type=_CAPACITY_TYPES[pool.capacity_type],
        version=args.get("version"),
        release_version=pool.ami_version,
        labels=plan.labels,
        taints=[taint.for_eks() for taint in plan.taints],
        hop_limit=pool.metadata_hop_limit,
        node_repair=pool.node_repair,
        keep_desired=pool.scaled_by == "autoscaler",
        # Reserved capacity is there once: old nodes must leave it before new ones can have it.
        delete_first=pool.reservation is not None,
        template={
            **_image(pool, args),
            **_reservation(pool),
            **_placement(name, pool, tags, child),
            **_network(name, pool, args, instance_type, tags, child),
            **_instance_tags(pool, tags),
        },
        tags=tags,
    )


def _first(pool: Pool, catalog: Catalog) -> InstanceType:
    """A type of the pool: the rules have seen to it that all are of one kind."""
    found = catalog.find(pool.instance_types[0])
    if found is None:
        raise KeyError(pool.instance_types[0])
    return found


def _image(pool: Pool, args: GpuPoolArgs) -> dict[str, Any]:
    if pool.custom_ami is None:
        return {}
    wires = ("cluster_endpoint", "cluster_certificate_authority", "cluster_service_cidr")
    _need(args, wires, "a custom AMI has to be told its cluster")
    user_data = pulumi.Output.all(args["cluster_name"], *(args.get(wire) for wire in wires)).apply(
        lambda known: custom_ami_user_data(*known)
    )
    return {"image_id": pool.custom_ami.id, "user_data": user_data}


def _reservation(pool: Pool) -> dict[str, Any]:
    if pool.reservation is None:
        return {}
    target = {"capacity_reservation_target": {"capacity_reservation_id": pool.reservation.id}}
    template: dict[str, Any] = {"capacity_reservation_specification": target}
    if pool.capacity_type == "capacityBlock":
        # EKS wants the type of a block here and not in the node group.
        template["instance_market_options"] = {"market_type": "capacity-block"}
        template["instance_type"] = pool.instance_types[0]
    return template


def _placement(
    name: str, pool: Pool, tags: dict[str, str], child: pulumi.ResourceOptions
) -> dict[str, Any]:
    if not pool.placement_group:
        return {}
    group = PlacementGroup(f"{name}-placement", strategy="cluster", tags=tags or None, opts=child)
    return {"placement": {"group_name": group.name}}


def _network(
    name: str,
    pool: Pool,
    args: GpuPoolArgs,
    instance_type: InstanceType,
    tags: dict[str, str],
    child: pulumi.ResourceOptions,
) -> dict[str, Any]:
    if not pool.efa:
        return {}
    _need(args, ("vpc_id", "cluster_security_group_id"), "EFA has a security group of its own")
    own = efa_security_group(name, args["vpc_id"], tags, child)
    groups = [args["cluster_security_group_id"], own]
    return {"network_interfaces": efa_interfaces(instance_type, groups)}


def _instance_tags(pool: Pool, tags: dict[str, str]) -> dict[str, Any]:
    if not pool.tag_instances or not tags:
        return {}
    kinds = ("instance", "volume", "network-interface")
    return {"tag_specifications": [{"resource_type": kind, "tags": tags} for kind in kinds]}


def _need(args: GpuPoolArgs, wires: Sequence[str], why: str) -> None:
    missing = [wire for wire in wires if args.get(wire) is None]
    found = [
        finding(codes.MISSING_KEY, (wire,), f"{wire} is required here: {why}.", f"Add {wire}.")
        for wire in missing
    ]
    if found:
        refuse("GpuPool", found)
