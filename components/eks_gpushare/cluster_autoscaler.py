"""Cluster Autoscaler, for the managed node groups whose size it decides."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired

import pulumi
from pulumi_aws.eks import PodIdentityAssociation
from pulumi_aws.iam import RolePolicy
from pulumi_kubernetes.core.v1 import Namespace

from eks_gpushare import args as plain
from eks_gpushare.args.account import TaggedInAccount
from eks_gpushare.aws.pod_identity import pod_identity, pod_role
from eks_gpushare.aws.policy_documents import scales_node_groups
from eks_gpushare.aws.roles import roles_of
from eks_gpushare.catalog import versions
from eks_gpushare.catalog.arns import region_of_arn
from eks_gpushare.config.component_specs import ClusterAutoscalerSpec
from eks_gpushare.findings.finding import Finding
from eks_gpushare.in_cluster.chart_parts import chart_release
from eks_gpushare.inputs.component import FromSpec, given_args, props, validate_args, warn
from eks_gpushare.kubernetes_provider import missing_provider
from eks_gpushare.rules.component_rules import check_cluster_autoscaler
from eks_gpushare.sharing import cluster_autoscaler as planned
from eks_gpushare.sharing.charts import release_source
from eks_gpushare.sharing.nodes import sizes
from eks_gpushare.validation import shape_rules

_TIMEOUT_SECONDS = 600
_KUBE_SYSTEM = "kube-system"


class ClusterAutoscalerArgs(plain.ClusterAutoscaler, TaggedInAccount):
    """How it works, and the node groups that it scales."""

    cluster_name: pulumi.Input[str]
    """EKS cluster."""
    version: str
    """Kubernetes version of the cluster, which chooses the image."""
    pools: list[str]
    """Names of the pools that it scales, each with `scaled_by` autoscaler."""
    node_group_names: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Names of their node groups in the same order: `GpuPool.node_group_name`."""
    scaling_group_names: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Names of the Auto Scaling groups that EKS made for these: `GpuPool.scaling_group_name`."""
    nodes: list[plain.Nodes]
    """How many nodes each pool may have: `GpuPool.nodes`. Sizes in AWS do not count."""
    startup_taints: NotRequired[list[str]]
    """Keys of taints that nodes join with and lose again, such as eks-gpushare/mig-layout of pools
    with `apply` migManager. Default: none."""
    status_taints: NotRequired[list[str]]
    """Keys of taints by which single nodes say that something is wrong with them, such as
    eks-gpushare/mig of pools with `apply` boot. Default: none."""
    node_templates: NotRequired[list[str]]
    """What it believes of a node of each pool: `GpuPool.node_template`. It starts anew where one
    changes. Default: none, and of an empty pool it goes on by the nodes that it has seen there."""
    region: NotRequired[str]
    """AWS region of the cluster. Default: that of what the component makes."""
    chart: NotRequired[plain.Chart]
    """Version, mirror and values of the chart. Default: the version this release is for."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of the pools, in the order of these."""

    nodes: Sequence[pulumi.Input[str]]
    """Names of the node groups."""
    scaling: Sequence[pulumi.Input[str]]
    """Names of the Auto Scaling groups that EKS made for them."""


class ClusterAutoscaler(pulumi.ComponentResource):
    """Cluster Autoscaler for pools whose size it decides, with a role that reaches no others.

    A cluster has one. It needs the add-on eks-pod-identity-agent, nodes that are no GPU pool's, and
    a Kubernetes provider: `opts=ResourceOptions(providers=[cluster.provider])`. To be destroyed
    before the pools are, it depends on them.
    """

    namespace: pulumi.Output[str]
    """Namespace of the release."""
    role_arn: pulumi.Output[str]
    """ARN of its role."""

    def __init__(
        self, name: str, args: ClusterAutoscalerArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install it.

        Args:
            name: Name of the component, which its children's names start with.
            args: How it works, and what it scales.
            opts: Pulumi's resource options, with a Kubernetes provider among `providers`.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        given = given_args(ClusterAutoscalerArgs, args)

        def ruled(spec: ClusterAutoscalerSpec) -> Iterator[Finding]:
            yield from missing_provider("ClusterAutoscaler", opts)
            yield from check_cluster_autoscaler(spec)
            yield from _one_group_each(spec, given)

        spec, found = validate_args(ClusterAutoscalerSpec, ClusterAutoscalerArgs, given, ruled)
        groups = Groups(
            _each(args["node_group_names"], len(spec.pools)),
            _each(args["scaling_group_names"], len(spec.pools)),
        )
        self._register(name, spec, args["cluster_name"], groups, opts)
        warn(found, self)

    def _register(
        self,
        name: str,
        spec: ClusterAutoscalerSpec,
        cluster_name: pulumi.Input[str],
        groups: Groups,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        inputs = props(spec, clusterName=cluster_name)
        super().__init__("eks-gpushare:index:ClusterAutoscaler", name, inputs, opts)
        parts = _Children(name, spec, cluster_name, groups, pulumi.ResourceOptions(parent=self))
        self.namespace, in_namespace = parts.namespace()
        identity, needed = parts.identity(self.namespace)
        self._release = chart_release(
            f"{name}-release",
            planned.NAME,
            self.namespace,
            release_source(spec.chart, versions.CLUSTER_AUTOSCALER),
            parts.values(identity),
            spec.chart.timeout_seconds or _TIMEOUT_SECONDS,
            pulumi.ResourceOptions(parent=self, depends_on=[*in_namespace, *needed]),
        )
        self.role_arn = identity.role_arn
        self.register_outputs({"namespace": self.namespace, "roleArn": self.role_arn})

    _from_spec = FromSpec(_register)


@dataclass(frozen=True, slots=True)
class _Children:
    """What it is made of. Names of children are state: see docs/upgrades.md."""

    name: str
    spec: ClusterAutoscalerSpec
    cluster_name: pulumi.Input[str]
    groups: Groups
    child: pulumi.ResourceOptions

    def namespace(self) -> tuple[pulumi.Output[str], list[pulumi.Resource]]:
        """Where it runs, and what has to be there before."""
        called = self.spec.namespace
        if called == _KUBE_SYSTEM:
            return pulumi.Output.from_input(called), []
        made = Namespace(f"{self.name}-namespace", metadata={"name": called}, opts=self.child)
        return made.metadata.name, [made]

    def identity(
        self, namespace: pulumi.Output[str]
    ) -> tuple[PodIdentityAssociation, list[pulumi.Resource]]:
        """Its role, what that may do, and the way to it: pods are given a role as they start."""
        roles, tags = roles_of(self.spec), dict(self.spec.tags) or None
        role = pod_role(f"{self.name}-role", roles, tags, self.child)
        policy = RolePolicy(
            f"{self.name}-policy",
            role=role.name,
            policy=pulumi.Output.all(self.cluster_name, *self.groups.nodes).apply(
                lambda known: scales_node_groups(roles.partition.id, known[0], known[1:])
            ),
            opts=self.child,
        )
        identity = pod_identity(
            f"{self.name}-identity",
            *(self.cluster_name, namespace, planned.NAME, role, tags, self.child),
        )
        return identity, [policy, identity]

    def values(self, identity: PodIdentityAssociation) -> dict[str, Any]:
        """Values of the chart."""
        spec = self.spec
        named = dict(zip(spec.pools, self.groups.nodes, strict=True))
        scaled = zip(self.groups.scaling, spec.nodes, strict=True)
        # An association is in the region of its cluster.
        region = spec.region or identity.association_arn.apply(region_of_arn)
        return planned.controller_values(
            spec,
            image=versions.CLUSTER_AUTOSCALER_IMAGE,
            tag=versions.cluster_autoscaler_tag(spec.version),
            region=region,
            groups=[planned.scaling_group(*wanted) for wanted in scaled],
            patterns=_patterns(spec.priorities or {}, named),
            startup_taints=spec.startup_taints,
            status_taints=spec.status_taints,
            templates=spec.node_templates,
            given=spec.chart.values,
        )


def _patterns(
    priorities: Mapping[str, int], groups: Mapping[str, pulumi.Input[str]]
) -> dict[int, list[pulumi.Input[str]]]:
    """What the names of the pools' Auto Scaling groups match, by priority."""
    found: dict[int, list[pulumi.Input[str]]] = {}
    for pool, priority in sorted(priorities.items()):
        pattern = pulumi.Output.from_input(groups[pool]).apply(planned.group_pattern)
        found.setdefault(priority, []).append(pattern)
    return found


def _each(names: Any, count: int) -> Sequence[pulumi.Input[str]]:
    """The items of a list that may be known later, one for each pool."""
    if isinstance(names, list | tuple):
        return names
    later = pulumi.Output.from_input(names)
    return [later.apply(lambda known, n=number: known[n]) for number in range(count)]  # type: ignore[misc]  # n is bound here


def _one_group_each(spec: ClusterAutoscalerSpec, args: Mapping[str, Any]) -> Iterator[Finding]:
    if not spec.pools:
        message, fix = "The list is empty.", "Name at least one pool."
        yield shape_rules.WRONG_TYPE.finding(("pools",), message, fix)
    for key, what in _OF_EACH.items():
        given = args.get(key)
        if isinstance(given, list | tuple) and len(given) != len(spec.pools):
            message = f"{len(given)} {what} are given for {len(spec.pools)} pools."
            fix = f"Give one for each pool, in the order of pools: [GpuPool.{_FROM[key]}, ...]."
            yield shape_rules.NOT_ALLOWED.finding((key,), message, fix)
    for index, counts in enumerate(spec.nodes):
        size = sizes(counts)
        if size.min > size.max:
            message = f"At least {size.min} nodes are more than at most {size.max}."
            fix = "Give the nodes of the pool itself: GpuPool.nodes."
            yield shape_rules.NOT_ALLOWED.finding(("nodes", index), message, fix)


_OF_EACH = {
    "node_group_names": "node groups",
    "scaling_group_names": "Auto Scaling groups",
    "nodes": "sizes",
}
_FROM = {
    "node_group_names": "node_group_name",
    "scaling_group_names": "scaling_group_name",
    "nodes": "nodes",
}
