"""Karpenter, which starts and ends nodes for the pods that wait and the nodes that are empty."""

from collections.abc import Iterator, Mapping
from typing import Any, NotRequired

import pulumi
from pulumi_kubernetes.core.v1 import Namespace

from eks_gpushare import args as plain
from eks_gpushare.args.account import TaggedInAccount
from eks_gpushare.aws.karpenter_controller import register_controller_role
from eks_gpushare.aws.karpenter_policies import read_cluster_arn
from eks_gpushare.aws.roles import roles_of
from eks_gpushare.catalog import versions
from eks_gpushare.config.base import partial_model
from eks_gpushare.config.component_specs import KarpenterSpec
from eks_gpushare.config.environment import CatalogAdditions, Charts, Environment
from eks_gpushare.documents.helm import merge_values, value_at
from eks_gpushare.findings.finding import Finding
from eks_gpushare.in_cluster.chart_parts import chart_release
from eks_gpushare.in_cluster.karpenter_crds import crd_source
from eks_gpushare.inputs.component import FromSpec, given_args, props, validate_args, warn
from eks_gpushare.kubernetes_provider import missing_provider
from eks_gpushare.rules.component_rules import check_karpenter
from eks_gpushare.rules.karpenter_gates import unknown_gates
from eks_gpushare.rules.registry import until_unread
from eks_gpushare.sharing.charts import release_source
from eks_gpushare.sharing.karpenter import controller_values
from eks_gpushare.validation import shape_rules

RELEASE_NAME = "karpenter"
CRD_RELEASE_NAME = "karpenter-crd"
_CRD_NAMESPACE = "kube-system"
"""Whatever the controller's is: to move this release would delete the definitions, and with them
every pool and its nodes."""
_THERE = ("kube-system", "default")
"""Namespaces that every cluster has."""
_TIMEOUT_SECONDS = 600
_REGION = "AWS_REGION"


class KarpenterArgs(plain.KarpenterBlock, TaggedInAccount):
    """The cluster that Karpenter makes nodes for, and what is changed about its chart."""

    cluster_name: pulumi.Input[str]
    """EKS cluster."""
    cluster_arn: pulumi.Input[str]
    """ARN of the cluster, to which the controller's permissions are limited."""
    feature_gates: NotRequired[dict[str, bool]]
    """Feature gates by their names in the chart's values; a static pool needs staticCapacity.
    Default: nodeOverlay, without which no shares are known of a node that is not there yet."""
    chart: NotRequired[plain.Chart]
    """Version, mirror and values of the chart. Default: the version this release is for."""
    crd_chart: NotRequired[plain.Chart]
    """Version and mirror of the chart with the definitions. Default: those of `chart`."""


class Karpenter(pulumi.ComponentResource):
    """Karpenter's controller, what it may do in AWS, and what its nodes need to join.

    The custom resource definitions are a release of their own, which is updated with the
    controller's and goes last. The controller gets its role by EKS Pod Identity, so the cluster
    needs the add-on eks-pod-identity-agent. It runs on nodes that it did not make.
    Needs a Kubernetes provider: `opts=ResourceOptions(providers=[cluster.provider])`.
    """

    namespace: pulumi.Output[str]
    """Namespace of the controller."""
    node_role_arn: pulumi.Output[str]
    """ARN of the role of its nodes."""
    node_role_name: pulumi.Output[str]
    """Name of that role, which a node class names."""
    queue_name: pulumi.Output[str]
    """Name of the queue that tells it of interruptions; no text where there is none."""

    def __init__(
        self, name: str, args: KarpenterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install Karpenter.

        Args:
            name: Name of the component, which its children's names start with.
            args: The cluster, and what is changed about the chart.
            opts: Pulumi's resource options, with a Kubernetes provider among `providers`.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        given = given_args(KarpenterArgs, args)

        def ruled(spec: KarpenterSpec) -> Iterator[Finding]:
            yield from missing_provider("Karpenter", opts)
            yield from _wrong_arn(given)
            yield from until_unread(_of_others, spec)
            yield from check_karpenter(spec)

        spec, found = validate_args(KarpenterSpec, KarpenterArgs, given, ruled)
        self._register(name, spec, args["cluster_name"], args["cluster_arn"], opts)
        warn(found, self)

    def _register(
        self,
        name: str,
        spec: KarpenterSpec,
        cluster_name: pulumi.Input[str],
        cluster_arn: pulumi.Input[str],
        opts: pulumi.ResourceOptions | None,
        resources: dict[str, dict[str, str]] | None = None,
    ) -> None:
        super().__init__(
            "eks-gpushare:index:Karpenter", name, props(spec, clusterName=cluster_name), opts
        )
        child = pulumi.ResourceOptions(parent=self)
        tags, roles = dict(spec.tags) or None, roles_of(spec)
        needs: list[pulumi.Resource] = []
        if spec.node_role is None:
            from eks_gpushare.aws.karpenter_nodes import register_node_role

            node_role_arn, attached = register_node_role(name, roles, tags, child)
            needs += attached
        else:
            node_role_arn = pulumi.Output.from_input(spec.node_role)
        if spec.access_entry is not False:
            from eks_gpushare.aws.karpenter_nodes import register_access_entry

            needs.append(register_access_entry(name, cluster_name, node_role_arn, tags, child))
        queue = None
        if spec.interruption_queue:
            from eks_gpushare.aws.karpenter_interruptions import register_interruptions

            queue, made = register_interruptions(name, tags, child)
            needs += made
        _, identity = register_controller_role(
            name,
            cluster_name,
            cluster_arn,
            spec.namespace,
            node_role_arn,
            queue.arn if queue else None,
            roles,
            tags,
            child,
        )
        # Pods that start before the association is there get no role, and none later.
        needs += identity
        needs.append(self._definitions(name, spec, child))
        queue_name = queue.name if queue else None
        values = _values(spec, cluster_name, cluster_arn, queue_name, resources)
        self._release = chart_release(
            f"{name}-release",
            RELEASE_NAME,
            self._namespace(name, spec.namespace, child),
            release_source(spec.chart, versions.KARPENTER),
            values,
            spec.chart.timeout_seconds or _TIMEOUT_SECONDS,
            # As long as it runs it may make and end nodes, and has to be able to.
            pulumi.ResourceOptions(parent=self, depends_on=needs),
            skip_crds=True,
        )
        self.namespace = pulumi.Output.from_input(spec.namespace)
        self.node_role_arn = node_role_arn
        self.node_role_name = node_role_arn.apply(role_name)
        self.queue_name = queue.name if queue else pulumi.Output.from_input("")
        self.register_outputs(
            {
                "namespace": self.namespace,
                "nodeRoleArn": self.node_role_arn,
                "nodeRoleName": self.node_role_name,
                "queueName": self.queue_name,
            }
        )

    _from_spec = FromSpec(_register)

    def _definitions(
        self, name: str, spec: KarpenterSpec, child: pulumi.ResourceOptions
    ) -> pulumi.Resource:
        """The custom resource definitions, which Helm would neither update nor take away."""
        chart = spec.crd_chart
        return chart_release(
            f"{name}-crds",
            CRD_RELEASE_NAME,
            _CRD_NAMESPACE,
            crd_source(chart, spec.chart),
            dict(chart.values),
            chart.timeout_seconds or _TIMEOUT_SECONDS,
            child,
        )

    def _namespace(
        self, name: str, called: str, child: pulumi.ResourceOptions
    ) -> pulumi.Input[str]:
        if called in _THERE:
            return called
        made = Namespace(f"{name}-namespace", metadata={"name": called}, opts=child)
        return made.metadata.name


def role_name(arn: str) -> str:
    """The name in the ARN of a role, whose path is no part of it."""
    return arn.rpartition("/")[2]


def _values(
    spec: KarpenterSpec,
    cluster_name: pulumi.Input[str],
    cluster_arn: pulumi.Input[str],
    queue_name: pulumi.Input[str] | None,
    resources: dict[str, dict[str, str]] | None,
) -> dict[str, Any]:
    """Values of the chart, the user's own on top.

    What the pools of a stack need of it, a stack says: Karpenter alone knows of no pools.
    """
    derived = controller_values(
        partial_model(
            Environment,
            karpenter=spec,
            pools={},
            charts=Charts.model_construct(),
            catalog=CatalogAdditions(),
        ),
        cluster_name=cluster_name,
        queue_name=queue_name,
    )
    # Without it Karpenter asks the instance metadata, which pods on these nodes do not reach.
    region = pulumi.Output.from_input(cluster_arn).apply(_region)
    own = [{"name": _REGION, "value": region}]
    told = {
        "controller": {"env": own, **({"resources": resources} if resources else {})},
        "settings": {"featureGates": dict(spec.feature_gates)},
    }
    ours = merge_values(derived, told, keep_null=True)
    values = merge_values(ours, spec.chart.values, keep_null=True)
    given = value_at(spec.chart.values, "controller.env")
    if isinstance(given, list) and _REGION not in [setting.get("name") for setting in given]:
        values["controller"]["env"] = [*own, *given]
    return values


def _region(arn: str) -> str:
    cluster = read_cluster_arn(arn)
    return cluster.region if cluster else ""


def _of_others(spec: KarpenterSpec) -> Iterator[Finding]:
    """What is not this component's to do, or nothing that Karpenter has."""
    if not spec.install:
        message = "Karpenter is what installs it."
        fix = (
            "Remove install, or the component: KarpenterPool takes the node role of any Karpenter."
        )
        yield shape_rules.NOT_ALLOWED.finding(("install",), message, fix)
    at = ("feature_gates",)
    yield from unknown_gates(shape_rules.UNKNOWN_KEY, spec.feature_gates, spec.chart, at)


def _wrong_arn(args: Mapping[str, Any]) -> Iterator[Finding]:
    arn = args.get("cluster_arn")
    if isinstance(arn, str) and read_cluster_arn(arn) is None:
        yield shape_rules.WRONG_TYPE.finding(
            ("cluster_arn",),
            f'"{arn}" is not the ARN of an EKS cluster.',
            "Give cluster.cluster_arn, or arn:aws:eks:us-west-2:111122223333:cluster/NAME.",
        )
