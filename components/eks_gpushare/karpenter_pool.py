"""A pool of GPU nodes that Karpenter makes: which nodes, how many, and what they advertise."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NotRequired

import pulumi
from pulumi_aws.ec2 import PlacementGroup
from pulumi_kubernetes.apiextensions import CustomResource

from eks_gpushare import args as plain
from eks_gpushare.aws.refs import KarpenterNodeRefs
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.component_specs import KarpenterPoolSpec
from eks_gpushare.findings.finding import Finding, has_errors
from eks_gpushare.inputs.component import FromSpec, given_args, props, validate_args, warn
from eks_gpushare.kubernetes_provider import missing_provider
from eks_gpushare.one_declaration import declare_pool, disagreements_of_pool
from eks_gpushare.rules.component_rules import check_karpenter_pool
from eks_gpushare.rules.registry import until_unread
from eks_gpushare.served import served_pool, served_spec
from eks_gpushare.sharing.karpenter import node_class, node_overlays, user_data_of
from eks_gpushare.sharing.karpenter.node_pool import node_pool
from eks_gpushare.sharing.plan import plan_pool
from eks_gpushare.validation import shape_rules

_DRAINED = "90m"
"""How long the deletion of a pool is waited for: until every node is drained and its instance is
gone. Pods hold it up as long as `terminationGracePeriod` lets them."""
_READY = "10m"
_WAITED_FOR = {
    # Karpenter looks at images, subnets, groups and its own permissions before it says so.
    "pulumi.com/waitFor": "condition=Ready",
    # Karpenter's nodes are what belongs to a pool. They go first, and the pool when they are gone.
    "pulumi.com/deletionPropagationPolicy": "foreground",
}


class KarpenterPoolArgs(plain.Pool):
    """What a pool is, and what its nodes need to join the cluster."""

    pool: str
    """Name of the pool and of its objects: a key of the device plugin's configuration and the value
    of a label."""
    node_role_name: pulumi.Input[str]
    """Name of the IAM role of the nodes: `karpenter.node_role_name`."""
    cluster_subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Subnets of the nodes, private ones."""
    security_group_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Security groups of the nodes: the cluster's own, such as `[cluster.security_group_id]`."""
    version: NotRequired[str]
    """Kubernetes version of the cluster, for the image. Default: `ami_version` has to be given."""
    vpc_id: NotRequired[pulumi.Input[str]]
    """VPC of the nodes; only with EFA."""
    catalog: NotRequired[plain.CatalogAdditions]
    """Instance types that this release does not know or has wrong."""
    tags: NotRequired[dict[str, pulumi.Input[str]]]
    """Tags of everything but instances, unless `tag_instances`. Default: none."""


class KarpenterPool(pulumi.ComponentResource):
    """A NodePool with its EC2NodeClass, and what Karpenter has to be told of each instance type.

    It is ready once Karpenter says that it can make such nodes. Deleted, it takes its nodes along,
    and is gone when they are: the controller has to run until then, so destroy it afterwards.
    Needs a Kubernetes provider: `opts=ResourceOptions(providers=[cluster.provider],
    depends_on=[karpenter])`.
    """

    node_pool_name: pulumi.Output[str]
    """Name of the NodePool, of the EC2NodeClass and of the pool."""
    request: pulumi.Output[dict[str, int]]
    """What a pod asks for to get one share."""
    node_selector: pulumi.Output[dict[str, str]]
    """What a pod selects to land on this pool."""
    tolerations: pulumi.Output[list[dict[str, str]]]
    """What a pod must tolerate to run on this pool."""

    def __init__(
        self, name: str, args: KarpenterPoolArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Make the pool.

        Args:
            name: Name of the component and of its NodePool in the state.
            args: What the pool is.
            opts: Pulumi's resource options, with a Kubernetes provider among `providers`.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        given = given_args(KarpenterPoolArgs, args)

        def ruled(spec: KarpenterPoolSpec) -> Iterator[Finding]:
            yield from missing_provider("KarpenterPool", opts)
            found = [*check_karpenter_pool(spec), *until_unread(_unmade, spec, given)]
            yield from found
            if not has_errors(found):
                yield from until_unread(lambda: disagreements_of_pool(served_spec(spec)))

        spec, found = validate_args(KarpenterPoolSpec, KarpenterPoolArgs, given, ruled)
        declare_pool(f'KarpenterPool "{name}"', served_spec(spec))
        refs = KarpenterNodeRefs(
            node_role_name=args["node_role_name"],
            subnet_ids=args["cluster_subnet_ids"],
            security_group_ids=args["security_group_ids"],
            vpc_id=args.get("vpc_id"),
        )
        self._register(name, spec, refs, opts)
        warn(found, self)

    def _register(
        self,
        name: str,
        spec: KarpenterPoolSpec,
        refs: KarpenterNodeRefs,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        catalog, _ = catalog_of(spec.catalog, None)
        super().__init__("eks-gpushare:index:KarpenterPool", name, props(spec), opts)
        self._spec = spec
        plan = plan_pool(spec.pool, spec, catalog)
        child = pulumi.ResourceOptions(parent=self)
        groups = pulumi.Output.from_input(refs.security_group_ids).apply(_by_id)
        if spec.efa and refs.vpc_id is not None:  # EFA without was refused
            from eks_gpushare.aws.efa import efa_security_group

            own = efa_security_group(name, refs.vpc_id, dict(spec.tags), child)
            groups = pulumi.Output.all(groups, own).apply(lambda ids: [*ids[0], {"id": ids[1]}])
        placement = None
        if spec.placement_group:
            made = PlacementGroup(
                f"{name}-placement", strategy="cluster", tags=dict(spec.tags) or None, opts=child
            )
            placement = made.name
        document = node_class(
            plan,
            catalog,
            role=refs.node_role_name,
            subnet_terms=(),
            security_group_terms=(),
            user_data=user_data_of(plan, catalog),
            version=spec.version,
            tags=spec.tags,
            placement_group=placement,
        )
        # By their IDs: what else in the account has the same tags is nothing to these nodes.
        document["spec"] |= {
            "subnetSelectorTerms": pulumi.Output.from_input(refs.subnet_ids).apply(_by_id),
            "securityGroupSelectorTerms": groups,
        }
        nodes = register_object(f"{name}-class", document, child)
        overlays = [
            register_object(f"{name}-overlay-{instance_type_of(overlay)}", overlay, child)
            for overlay in node_overlays(plan, catalog)
        ]
        # A pool that is there before its overlays launches a node for every pod that waits.
        after = pulumi.ResourceOptions(parent=self, depends_on=[nodes, *overlays])
        pool = register_object(name, node_pool(plan, catalog), after)
        self.node_pool_name = pool.urn.apply(lambda _: plan.name)  # known once it is there
        self.request = pulumi.Output.from_input(dict(plan.request))
        self.node_selector = pulumi.Output.from_input(dict(plan.node_selector))
        self.tolerations = pulumi.Output.from_input(
            [dict(toleration) for toleration in plan.tolerations]
        )
        self.register_outputs(
            {
                "nodePoolName": self.node_pool_name,
                "request": self.request,
                "nodeSelector": self.node_selector,
                "tolerations": self.tolerations,
            }
        )

    _from_spec = FromSpec(_register)

    @property
    def served(self) -> plain.ServedPool:
        """What a manager has to know of the pool: `DevicePlugin` and `GpuOperator` take it."""
        return served_pool(self._spec)


def register_object(
    name: str, document: Mapping[str, Any], opts: pulumi.ResourceOptions
) -> CustomResource:
    """Register an object of Karpenter's, and wait until it says that it is ready.

    Args:
        name: Logical name.
        document: The whole object.
        opts: Its options.
    """
    waited = pulumi.ResourceOptions(
        custom_timeouts=pulumi.CustomTimeouts(create=_READY, update=_READY, delete=_DRAINED)
    )
    return CustomResource(
        name,
        api_version=document["apiVersion"],
        kind=document["kind"],
        metadata={**document["metadata"], "annotations": dict(_WAITED_FOR)},
        spec=document["spec"],
        opts=pulumi.ResourceOptions.merge(opts, waited),
    )


def instance_type_of(overlay: Mapping[str, Any]) -> str:
    """The instance type that an overlay is for, of which its name in the cluster has no dot."""
    for requirement in overlay["spec"]["requirements"]:
        if requirement["key"] == "node.kubernetes.io/instance-type":
            return str(requirement["values"][0])
    raise KeyError("node.kubernetes.io/instance-type")


def _by_id(ids: Sequence[Any]) -> list[dict[str, str]]:
    return [{"id": identifier} for identifier in ids]


def _unmade(spec: KarpenterPoolSpec, args: Mapping[str, Any]) -> Iterator[Finding]:
    """Nodes that are not this component's to make, and what only some pools need."""
    if spec.provisioner != "karpenter":
        message = (
            f"KarpenterPool makes nodes by Karpenter; {spec.provisioner} leaves that to others."
        )
        fix = "Remove provisioner, or take GpuPool for a managed node group."
        yield shape_rules.NOT_ALLOWED.finding(("provisioner",), message, fix)
    if spec.efa and args.get("vpc_id") is None:
        message = "vpc_id is required here: EFA has a security group of its own."
        yield shape_rules.MISSING_KEY.finding(("vpc_id",), message, "Add vpc_id.")
    if spec.version is None and spec.ami_version is None and spec.custom_ami is None:
        message = "Neither version nor ami_version is given, so no image follows."
        fix = "Add version, the Kubernetes version of the cluster, or better ami_version."
        yield shape_rules.MISSING_KEY.finding(("version",), message, fix)
