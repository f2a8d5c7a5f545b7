"""The tenants of an environment, apart since most stacks have none."""

from collections.abc import Mapping

import pulumi

from eks_gpushare.aws.refs import ClusterRefs
from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.config.component_specs import EnvironmentSpec, TenantsSpec
from eks_gpushare.config.tenants import Tenant
from eks_gpushare.in_cluster.handed_namespaces import SUFFIX
from eks_gpushare.kueue import Kueue
from eks_gpushare.sharing.plan import PoolPlan
from eks_gpushare.sharing.tenant_queues import queues
from eks_gpushare.sharing.tenants import contracts
from eks_gpushare.tenants import Tenants


def register_tenants(
    name: str,
    spec: EnvironmentSpec,
    tenants: Mapping[str, Tenant],
    plans: Mapping[str, PoolPlan],
    refs: ClusterRefs,
    after: list[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> tuple[Tenants, list[pulumi.Resource]]:
    """Register the namespaces of tenants, what is in them, and their queues.

    Args:
        name: Name of the environment.
        spec: The environment.
        tenants: Its tenants by name.
        plans: The plans of its pools by name.
        refs: Its cluster.
        after: What has to be there before.
        opts: Options that name the parent.

    Returns:
        The tenants, and all that has to be there before their pods: what was made before Kueue
        knew its queue is in none, for good.
    """
    wired = pulumi.ResourceOptions(providers=[refs.provider], depends_on=after)
    block = TenantsSpec.model_construct(
        tenants=dict(tenants),
        pools=dict(spec.pools),
        catalog=spec.catalog,
        region=spec.region,
        version=_version(spec),
        tags=dict(spec.tags),
    )
    options = pulumi.ResourceOptions.merge(opts, wired)
    made = Tenants._from_spec(
        f"{name}{SUFFIX}", block, plans, refs.cluster_name, options, environment=opts.parent
    )
    queued = queues(tenants, contracts(tenants, plans), plans, spec.charts.kueue)
    if queued is None:
        return made, [made]
    wired = pulumi.ResourceOptions(providers=[refs.provider], depends_on=[*after, made])
    kueue = Kueue._from_spec(f"{name}-kueue", queued, pulumi.ResourceOptions.merge(opts, wired))
    return made, [made, kueue]


def _version(spec: EnvironmentSpec) -> str | None:
    if isinstance(spec.cluster, NewCluster):
        return spec.cluster.version
    return None if spec.cluster_facts is None else spec.cluster_facts.version
