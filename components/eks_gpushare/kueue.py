"""Kueue, which lets tenants borrow what others leave, and takes it back for them."""

from typing import NotRequired, TypedDict

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import Namespace

from eks_gpushare.args import Chart, QueuedTenant, QueuePool
from eks_gpushare.catalog import versions
from eks_gpushare.config.queues import KueueSpec
from eks_gpushare.in_cluster.chart_parts import chart_release, manifest_fields
from eks_gpushare.inputs.component import FromSpec, props, validate_args, warn
from eks_gpushare.kubernetes_provider import missing_provider
from eks_gpushare.rules.kueue import check_kueue
from eks_gpushare.sharing.charts import release_source
from eks_gpushare.sharing.kueue import kueue_objects, kueue_values, pool_shares, unguaranteed

RELEASE_NAME = "kueue"
_TIMEOUT_SECONDS = 600


class KueueArgs(TypedDict):
    """What tenants are sure of and may borrow, and what is changed about Kueue's chart."""

    pools: dict[str, QueuePool]
    """Pools by name."""
    tenants: dict[str, QueuedTenant]
    """Tenants by name."""
    namespace: NotRequired[str]
    """Namespace, made by the component. Default: kueue-system."""
    replicas: NotRequired[int]
    """Copies of its controller, all of which answer the API server. Default: 2."""
    chart: NotRequired[Chart]
    """Version, mirror and values of the chart. Default: the version this release is for."""


class Kueue(pulumi.ComponentResource):
    """Kueue, a flavor for each pool, a queue for each tenant and for each of its namespaces.

    A cluster has room for one. While it is down, pods of tenants are refused, and nobody else's.
    Workloads that were there before it are in no queue.
    Needs a Kubernetes provider: `opts=ResourceOptions(providers=[cluster.provider])`.
    """

    namespace: pulumi.Output[str]
    """Namespace of the release."""

    def __init__(
        self, name: str, args: KueueArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install Kueue.

        Args:
            name: Name of the component, which its children's names start with.
            args: Pools and tenants.
            opts: Pulumi's resource options, with a Kubernetes provider among `providers`.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        spec, found = validate_args(
            KueueSpec,
            KueueArgs,
            args,
            lambda spec: (*missing_provider("Kueue", opts), *check_kueue(spec)),
        )
        self._register(name, spec, opts)
        warn(found, self)

    def _register(self, name: str, spec: KueueSpec, opts: pulumi.ResourceOptions | None) -> None:
        super().__init__("eks-gpushare:index:Kueue", name, props(spec), opts)
        child = pulumi.ResourceOptions(parent=self)
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        namespace = Namespace(
            f"{name}-namespace", metadata={"name": spec.namespace, "labels": labels}, opts=child
        )
        shares = pool_shares(spec.pools, spec.tenants)
        self.release = chart_release(
            f"{name}-release",
            RELEASE_NAME,
            namespace.metadata.name,
            release_source(spec.chart, versions.KUEUE),
            kueue_values(shares, spec.replicas, spec.chart.values),
            spec.chart.timeout_seconds or _TIMEOUT_SECONDS,
            child,
        )
        # They go with the definitions of their kinds, which go with the release.
        options = pulumi.ResourceOptions(
            parent=self, depends_on=[self.release], replace_with=[self.release]
        )
        for document in kueue_objects(shares, unguaranteed(spec.pools, shares)):
            metadata = document["metadata"]
            called = "-".join(filter(None, (metadata.get("namespace"), metadata["name"])))
            CustomResource(
                f"{name}-{_ROLES[document['kind']]}-{called}",
                api_version=document["apiVersion"],
                kind=document["kind"],
                **manifest_fields(document),
                opts=pulumi.ResourceOptions.merge(options, _OF_KIND.get(document["kind"])),
            )
        self.namespace = namespace.metadata.name
        self.register_outputs({"namespace": self.namespace})

    _from_spec = FromSpec(_register)


# Kueue refuses another queue of a LocalQueue that is there: a namespace that becomes another
# tenant's gets another one (apis/kueue/v1beta2/localqueue_types.go, 0.16.2: immutable). Its spec
# has nothing else, and a provider without a detailed diff names no more than that.
_OF_KIND = {
    "LocalQueue": pulumi.ResourceOptions(replace_on_changes=["spec"], delete_before_replace=True)
}
_ROLES = {
    "ResourceFlavor": "flavor",
    "Cohort": "cohort",
    "ClusterQueue": "queue",
    "LocalQueue": "local-queue",
}
