"""KEDA, which sets the number of pods of workloads by what it measures of them."""

from collections.abc import Iterator
from typing import NotRequired

import pulumi
from pulumi_aws.eks import PodIdentityAssociation
from pulumi_aws.iam import RolePolicy
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import Namespace

from eks_gpushare.args import Chart, Prometheus
from eks_gpushare.args.account import TaggedInAccount
from eks_gpushare.aws.policy_documents import queries_workspace, reads_queues, trusted_by
from eks_gpushare.aws.refs import WorkspaceRefs
from eks_gpushare.aws.roles import roles_of
from eks_gpushare.catalog import versions
from eks_gpushare.config.component_specs import KedaSpec
from eks_gpushare.findings.finding import Finding
from eks_gpushare.in_cluster.chart_parts import chart_release
from eks_gpushare.inputs.component import FromSpec, props, validate_args, warn
from eks_gpushare.kubernetes_provider import missing_provider
from eks_gpushare.rules.component_rules import check_keda
from eks_gpushare.sharing.charts import release_source
from eks_gpushare.sharing.keda import (
    AUTHENTICATION,
    OPERATOR_ACCOUNT,
    QUERY_ACTIONS,
    QUEUE_ACTIONS,
    QUEUE_AUTHENTICATION,
    keda_values,
    trigger_authentication,
)

RELEASE_NAME = "keda"
_TIMEOUT_SECONDS = 600


class KedaArgs(TaggedInAccount):
    """Where KEDA asks for the use of GPUs, and what is changed about its chart."""

    prometheus: NotRequired[Prometheus]
    """Where it asks for the use of GPUs. Default: it sets numbers of pods by other means."""
    queues: NotRequired[list[str]]
    """Queues of SQS, by ARN, whose length it may read. Default: none."""
    cluster_name: NotRequired[pulumi.Input[str]]
    """EKS cluster; required with `prometheus.workspace_arn` and `queues`, for a role by Pod
    Identity."""
    namespace: NotRequired[str]
    """Namespace, made by the component. Default: keda."""
    replicas: NotRequired[int]
    """Copies of its operator. Default: 2."""
    chart: NotRequired[Chart]
    """Version, mirror and values of the chart. Default: the version this release is for."""


class Keda(pulumi.ComponentResource):
    """KEDA on nodes without GPUs, with a role for what it asks in AWS.

    A cluster has room for one: the API server has one address for external metrics.
    Needs a Kubernetes provider: `opts=ResourceOptions(providers=[cluster.provider])`.
    """

    namespace: pulumi.Output[str]
    """Namespace of the release."""

    def __init__(
        self, name: str, args: KedaArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install KEDA.

        Args:
            name: Name of the component, which its children's names start with.
            args: Where it asks.
            opts: Pulumi's resource options, with a Kubernetes provider among `providers`.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        cluster_name = args.get("cluster_name")

        def ruled(spec: KedaSpec) -> Iterator[Finding]:
            yield from missing_provider("Keda", opts)
            yield from check_keda(spec, has_cluster=cluster_name is not None)

        spec, found = validate_args(KedaSpec, KedaArgs, args, ruled)
        self._register(name, spec, cluster_name, opts)
        warn(found, self)

    def _register(
        self,
        name: str,
        spec: KedaSpec,
        cluster_name: pulumi.Input[str] | None,
        opts: pulumi.ResourceOptions | None,
        made: WorkspaceRefs | None = None,
    ) -> None:
        super().__init__("eks-gpushare:index:Keda", name, props(spec, "install"), opts)
        child = pulumi.ResourceOptions(parent=self)
        namespace = Namespace(f"{name}-namespace", metadata={"name": spec.namespace}, opts=child)
        workspace = _workspace(spec) if made is None else made.arn
        identity = _identity(name, spec, cluster_name, workspace, child)
        # Pods that were there before their identity would not have it.
        after = pulumi.ResourceOptions(parent=self, depends_on=identity)
        self.release = chart_release(
            f"{name}-release",
            RELEASE_NAME,
            namespace.metadata.name,
            release_source(spec.chart, versions.KEDA),
            keda_values(spec, spec.chart.values),
            spec.chart.timeout_seconds or _TIMEOUT_SECONDS,
            after,
        )
        asked = {"authentication": AUTHENTICATION} if workspace is not None else {}
        if spec.queues:
            asked["queue-authentication"] = QUEUE_AUTHENTICATION
        for role, called in asked.items():
            document = trigger_authentication(called)
            CustomResource(
                f"{name}-{role}",
                api_version=document["apiVersion"],
                kind=document["kind"],
                metadata=document["metadata"],
                spec=document["spec"],
                # It goes with the definition of its kind, which goes with the release.
                opts=pulumi.ResourceOptions(
                    parent=self, depends_on=[self.release], replace_with=[self.release]
                ),
            )
        self.namespace = namespace.metadata.name
        self.register_outputs({"namespace": self.namespace})

    _from_spec = FromSpec(_register)


def _identity(
    name: str,
    spec: KedaSpec,
    cluster_name: pulumi.Input[str] | None,
    workspace: pulumi.Input[str] | None,
    child: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """The role of the operator, for one workspace and some queues; nothing without either."""
    queues = spec.queues
    if cluster_name is None or (workspace is None and not queues):
        return []
    tags = dict(spec.tags) or None
    trust = trusted_by("pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")
    role = roles_of(spec).role(f"{name}-operator", trust, tags, child)
    documents: dict[str, pulumi.Input[str]] = {}
    if workspace is not None:
        documents["query"] = pulumi.Output.from_input(workspace).apply(
            lambda arn: queries_workspace(arn, QUERY_ACTIONS)
        )
    if queues:
        documents["queues"] = reads_queues(tuple(queues), QUEUE_ACTIONS)
    policies = [
        RolePolicy(f"{name}-operator-{what}", role=role.name, policy=document, opts=child)
        for what, document in documents.items()
    ]
    association = PodIdentityAssociation(
        f"{name}-operator",
        cluster_name=cluster_name,
        namespace=spec.namespace,
        service_account=OPERATOR_ACCOUNT,
        role_arn=role.arn,
        tags=tags,
        opts=child,
    )
    return [*policies, association]


def _workspace(spec: KedaSpec) -> str | None:
    return None if spec.prometheus is None else spec.prometheus.workspace_arn
