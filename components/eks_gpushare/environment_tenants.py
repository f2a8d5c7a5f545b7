"""The tenants of an environment, apart since most stacks have none."""

from collections.abc import Mapping

import pulumi

from eks_gpushare.aws.refs import ClusterRefs
from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.config.component_specs import EnvironmentSpec, TenantsSpec
from eks_gpushare.config.tenants import Tenant
from eks_gpushare.tenants import Tenants


def register_tenants(
    name: str,
    spec: EnvironmentSpec,
    tenants: Mapping[str, Tenant],
    refs: ClusterRefs,
    after: list[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> Tenants:
    """Register the namespaces of tenants, and what is in them.

    Args:
        name: Name of the environment.
        spec: The environment.
        tenants: Its tenants by name.
        refs: Its cluster.
        after: What has to be there before.
        opts: Options that name the parent.
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
    return Tenants._from_spec(
        f"{name}-tenants", block, refs.cluster_name, pulumi.ResourceOptions.merge(opts, wired)
    )


def _version(spec: EnvironmentSpec) -> str | None:
    if isinstance(spec.cluster, NewCluster):
        return spec.cluster.version
    return None if spec.cluster_facts is None else spec.cluster_facts.version
