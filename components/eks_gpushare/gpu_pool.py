"""A pool of GPU nodes as a managed node group."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NotRequired

import pulumi
from pulumi_aws.ec2 import PlacementGroup
from pulumi_aws.eks.outputs import NodeGroupResource

from eks_gpushare import args as plain
from eks_gpushare.args.account import InAccount
from eks_gpushare.aws.node_group import GroupSpec, register_group
from eks_gpushare.aws.refs import NodeRefs
from eks_gpushare.aws.roles import roles_of
from eks_gpushare.catalog import Catalog, InstanceType, nvidia_ami
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.component_specs import GpuPoolSpec
from eks_gpushare.config.pools import Pool
from eks_gpushare.findings.finding import Finding, has_errors
from eks_gpushare.inputs.component import FromSpec, given_args, props, validate_args, warn
from eks_gpushare.one_declaration import declare_pool, disagreements_of_pool, note_cluster
from eks_gpushare.rules.component_rules import check_pool
from eks_gpushare.rules.registry import until_unread
from eks_gpushare.served import served_pool, served_spec
from eks_gpushare.sharing.cluster_autoscaler import group_labels, node_template, template_tags
from eks_gpushare.sharing.nodes import sizes
from eks_gpushare.sharing.plan import PoolPlan, plan_pool
from eks_gpushare.sharing.user_data import node_user_data
from eks_gpushare.validation import shape_rules

_CAPACITY_TYPES = {
    "onDemand": "ON_DEMAND",
    "spot": "SPOT",
    "reserved": "ON_DEMAND",
    "capacityBlock": "CAPACITY_BLOCK",
}
_IMAGE_INPUTS = ("cluster_endpoint", "cluster_certificate_authority", "cluster_service_cidr")
_EFA_INPUTS = ("vpc_id", "cluster_security_group_id")


class GpuPoolArgs(plain.Pool, InAccount):
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
    tags: NotRequired[dict[str, pulumi.Input[str]]]
    """Tags of everything but instances, unless `tag_instances`. Default: none."""


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
    tolerations: pulumi.Output[list[dict[str, str]]]
    """What a pod must tolerate to run on this pool."""

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
        given = given_args(GpuPoolArgs, args)
        note_cluster(given.get("cluster_name"))
        spec, found = validate_args(
            GpuPoolSpec, GpuPoolArgs, given, lambda spec: _rules(spec, given)
        )
        declare_pool(f'GpuPool "{name}"', served_spec(spec))
        refs = NodeRefs(
            cluster_name=args["cluster_name"],
            subnet_ids=args["cluster_subnet_ids"],
            endpoint=args.get("cluster_endpoint"),
            certificate_authority=args.get("cluster_certificate_authority"),
            service_cidr=args.get("cluster_service_cidr"),
            security_group_id=args.get("cluster_security_group_id"),
            vpc_id=args.get("vpc_id"),
        )
        self._register(name, spec, refs, opts)
        warn(found, self)

    def _register(
        self, name: str, spec: GpuPoolSpec, refs: NodeRefs, opts: pulumi.ResourceOptions | None
    ) -> None:
        catalog, _ = catalog_of(spec.catalog, None)
        inputs = props(spec, clusterName=refs.cluster_name)
        super().__init__("eks-gpushare:index:GpuPool", name, inputs, opts)
        self._spec = spec
        plan = plan_pool(spec.pool, spec, catalog)
        self._node_template = node_template(plan, catalog)
        child = pulumi.ResourceOptions(parent=self)
        parts = _Children(name, spec, refs, _first(spec, catalog), catalog, child)
        group = self._group = register_group(parts.group(plan), self)
        self.node_group_name = group.node_group_name
        self.request = pulumi.Output.from_input(dict(plan.request))
        self.node_selector = pulumi.Output.from_input(dict(plan.node_selector))
        self.tolerations = pulumi.Output.from_input(
            [dict(toleration) for toleration in plan.tolerations]
        )
        self.register_outputs(
            {
                "nodeGroupName": self.node_group_name,
                "request": self.request,
                "nodeSelector": self.node_selector,
                "tolerations": self.tolerations,
            }
        )

    _from_spec = FromSpec(_register)

    @property
    def scaling_group_name(self) -> pulumi.Output[str]:
        """Name of the Auto Scaling group that EKS makes for it: `ClusterAutoscaler` takes it."""
        return self._group.resources.apply(_scaling_group)

    @property
    def nodes(self) -> plain.Nodes:
        """How many nodes it may have, with defaults filled in: `ClusterAutoscaler` takes it."""
        size = sizes(self._spec.nodes)
        return {"min": size.min, "desired": size.desired, "max": size.max}

    @property
    def node_template(self) -> str:
        """A digest of what its nodes are before there is one: `ClusterAutoscaler` takes it."""
        return self._node_template

    @property
    def served(self) -> plain.ServedPool:
        """What a manager has to know of the pool: `DevicePlugin` and `GpuOperator` take it."""
        return served_pool(self._spec)


@dataclass(frozen=True, slots=True)
class _Children:
    """What a pool is made of, by the plan. Names of children are state: see docs/upgrades.md."""

    name: str
    spec: GpuPoolSpec
    refs: NodeRefs
    instance_type: InstanceType
    catalog: Catalog
    child: pulumi.ResourceOptions

    def group(self, plan: PoolPlan) -> GroupSpec:
        """The node group."""
        pool = self.spec
        family = pool.custom_ami.family if pool.custom_ami else pool.ami_family
        ami = nvidia_ami(family, self.instance_type.arch)
        return GroupSpec(
            name=self.name,
            cluster_name=self.refs.cluster_name,
            subnet_ids=self.refs.subnet_ids,
            instance_types=pool.instance_types,
            sizes=plan.sizes,
            disk_device=ami.disk_device if ami else "/dev/xvda",
            disk_gib=pool.root_volume_gib,
            os_device=ami.root_device if ami and ami.data_device else None,
            ami_type=ami.type if ami and not pool.custom_ami else None,
            capacity_type=_CAPACITY_TYPES[pool.capacity_type],
            version=pool.version,
            release_version=pool.ami_version,
            labels=group_labels(plan, self.catalog),
            taints=[taint.for_eks() for taint in plan.taints],
            hop_limit=pool.metadata_hop_limit,
            node_repair=pool.node_repair,
            node_role=pool.node_role,
            max_unavailable=pool.max_unavailable,
            keep_desired=pool.scaled_by == "autoscaler",
            # Reserved capacity is there once: old nodes must leave it before new ones can have it.
            delete_first=pool.reservation is not None,
            template={
                **self._image(),
                **self._user_data(plan),
                **_reservation(pool),
                **self._placement(),
                **self._network(),
                **_instance_tags(pool),
            },
            tags=pool.tags,
            group_tags=template_tags(plan, self.catalog),
            roles=roles_of(pool),
        )

    def _image(self) -> dict[str, Any]:
        return {"image_id": self.spec.custom_ami.id} if self.spec.custom_ami else {}

    def _user_data(self, plan: PoolPlan) -> dict[str, Any]:
        """What the nodes are told at boot; EKS adds the cluster's data where the AMI is its own."""
        made = partial(node_user_data, self.spec, self.catalog, taints=plan.taints)
        if self.spec.custom_ami is None:
            text = made(plan.labels).for_eks_image()
            return {} if text is None else {"user_data": text}
        refs = self.refs
        joined = pulumi.Output.all(
            dict(plan.labels),
            *(refs.cluster_name, refs.endpoint, refs.certificate_authority, refs.service_cidr),
        ).apply(lambda known: made(known[0]).for_own_image(*known[1:]))
        return {"user_data": joined}

    def _placement(self) -> dict[str, Any]:
        if not self.spec.placement_group:
            return {}
        group = PlacementGroup(
            f"{self.name}-placement",
            strategy="cluster",
            tags=dict(self.spec.tags) or None,
            opts=self.child,
        )
        return {"placement": {"group_name": group.name}}

    def _network(self) -> dict[str, Any]:
        vpc_id, cluster_group = self.refs.vpc_id, self.refs.security_group_id
        if not self.spec.efa or vpc_id is None or cluster_group is None:  # EFA without was refused
            return {}
        from eks_gpushare.aws.efa import efa_interfaces, efa_security_group

        own = efa_security_group(self.name, vpc_id, dict(self.spec.tags), self.child)
        return {"network_interfaces": efa_interfaces(self.instance_type, [cluster_group, own])}


def _scaling_group(made: Sequence[NodeGroupResource]) -> str:
    """Name of the one Auto Scaling group of a managed node group."""
    ((group,),) = (resource.autoscaling_groups or () for resource in made)
    return str(group.name)


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


def _instance_tags(pool: GpuPoolSpec) -> dict[str, Any]:
    if not pool.tag_instances or not pool.tags:
        return {}
    tags = dict(pool.tags)
    kinds = ("instance", "volume", "network-interface")
    return {"tag_specifications": [{"resource_type": kind, "tags": tags} for kind in kinds]}


def _first(pool: Pool, catalog: Catalog) -> InstanceType:
    """A type of the pool: the rules have seen to it that all are of one kind."""
    found = catalog.find(pool.instance_types[0])
    if found is None:
        raise KeyError(pool.instance_types[0])
    return found


def _rules(spec: GpuPoolSpec, args: Mapping[str, Any]) -> Iterator[Finding]:
    subnets = args.get("cluster_subnet_ids")
    known = len(subnets) if isinstance(subnets, list | tuple) else None
    found = [*_named(check_pool(spec, known)), *until_unread(_missing, spec, args)]
    yield from (*found, *_unmade(spec))
    if not has_errors(found):
        yield from until_unread(lambda: disagreements_of_pool(served_spec(spec)))


def _named(found: Iterable[Finding]) -> Iterator[Finding]:
    """What is about the pool as a whole is about its name, the key of its block in a stack file."""
    for finding in found:
        yield finding if finding.at else replace(finding, at=("pool",), path="pool")


def _unmade(pool: Pool) -> Iterator[Finding]:
    """Nodes that are not this component's to make."""
    if pool.provisioner != "managedNodeGroup":
        message = f"GpuPool makes a managed node group; {pool.provisioner} leaves that to others."
        fix = "Remove provisioner, or the pool: the device plugin serves such nodes by their label."
        yield shape_rules.NOT_ALLOWED.finding(("provisioner",), message, fix)


def _missing(pool: Pool, args: Mapping[str, Any]) -> Iterator[Finding]:
    """Inputs that only some pools need."""
    needs: list[tuple[str, str]] = []
    if pool.custom_ami is not None:
        needs += [(key, "a custom AMI has to be told its cluster") for key in _IMAGE_INPUTS]
    if pool.efa:
        needs += [(key, "EFA has a security group of its own") for key in _EFA_INPUTS]
    for needed, why in needs:
        if args.get(needed) is None:
            message = f"{needed} is required here: {why}."
            yield shape_rules.MISSING_KEY.finding((needed,), message, f"Add {needed}.")
