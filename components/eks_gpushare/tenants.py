"""Teams that share the GPUs of a cluster, each with a namespace and a contract."""

from collections.abc import Iterator, Mapping
from typing import Any, NotRequired

import pulumi
from pulumi_aws.eks import AccessEntry
from pulumi_kubernetes.admissionregistration.v1 import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, NamespacePatch, ResourceQuota
from pulumi_kubernetes.networking.v1 import NetworkPolicy
from pulumi_kubernetes.rbac.v1 import RoleBinding

from eks_gpushare import args as plain
from eks_gpushare.args.account import Tagged
from eks_gpushare.aws.names import principal_name
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.component_specs import TenantsSpec
from eks_gpushare.findings.finding import Finding
from eks_gpushare.in_cluster.chart_parts import manifest_fields
from eks_gpushare.in_cluster.handed_namespaces import LABELLED, MADE, of_tenant
from eks_gpushare.in_cluster.namespace_aliases import from_workloads
from eks_gpushare.inputs.component import FromSpec, props, validate_args, warn
from eks_gpushare.kubernetes_provider import missing_provider
from eks_gpushare.rules.component_rules import check_tenants
from eks_gpushare.sharing import tenant_objects
from eks_gpushare.sharing.plan import PoolPlan, plan_pool
from eks_gpushare.sharing.tenant_admission import POLICY_NAME
from eks_gpushare.sharing.tenants import contracts, tenants_json

_KINDS = {
    "quota": ResourceQuota,
    "priority": ResourceQuota,
    "network": NetworkPolicy,
    "platform": NetworkPolicy,
    "admins": RoleBinding,
}
"""Classes of what is in a tenant's namespace, by the last part of the logical name."""
_NAMESPACES = {
    True: (Namespace, LABELLED),
    False: (NamespacePatch, MADE),
}
"""By whether the stack makes a namespace: its class, and the type that it may have had before.

A patch fails for a label that others set to another value, and takes its own labels along when it
goes, not the namespace. Whoever moves a name from the one key to the other hands the namespace
over, and so does whoever gives a tenant the namespace of workloads: without the aliases Pulumi
would delete the one that it has made, with the pods in it.
"""

_POLICIES = {
    "MutatingAdmissionPolicy": MutatingAdmissionPolicy,
    "MutatingAdmissionPolicyBinding": MutatingAdmissionPolicyBinding,
    "ValidatingAdmissionPolicy": ValidatingAdmissionPolicy,
    "ValidatingAdmissionPolicyBinding": ValidatingAdmissionPolicyBinding,
}


class TenantsArgs(Tagged):
    """The tenants, and the pools that they share."""

    tenants: dict[str, plain.Tenant]
    """Tenants by name."""
    pools: dict[str, plain.Pool]
    """All GPU pools of the cluster by name: of what a tenant has no part in, it may take none."""
    catalog: NotRequired[plain.CatalogAdditions]
    """Instance types, MIG profiles and layouts that this release does not know. Default: none."""
    region: NotRequired[str]
    """AWS region, for prices. Default: prices stay unknown."""
    version: NotRequired[str]
    """Kubernetes version, 1.30 or later. From 1.36 on pods need not say which pool they are for.
    Default: that is not known."""
    cluster_name: NotRequired[pulumi.Input[str]]
    """EKS cluster; required with `admins`, for their access entries."""


class Tenants(pulumi.ComponentResource):
    """A namespace for each tenant, and in it what holds the tenant to its contract.

    A quota of the shares that it is sure of, and of 0 for every other resource of a GPU; a quota
    that keeps its pods below the system's; NetworkPolicies, for which the cluster's network has to
    enforce such; a role for its admins; and admission policies, which refuse pods that reach for
    GPUs past the contract, by parameters in a namespace that no tenant may write. A cluster has
    room for one.
    Needs a Kubernetes provider: `opts=ResourceOptions(providers=[cluster.provider])`.
    """

    tenants: pulumi.Output[dict[str, Any]]
    """Per tenant its namespaces, quota, and what its shares cost."""

    def __init__(
        self, name: str, args: TenantsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Make the namespaces.

        Args:
            name: Name of the component, which its children's names start with.
            args: The tenants and the pools.
            opts: Pulumi's resource options, with a Kubernetes provider among `providers`.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        cluster_name = args.get("cluster_name")

        def ruled(spec: TenantsSpec) -> Iterator[Finding]:
            yield from missing_provider("Tenants", opts)
            yield from check_tenants(spec, has_cluster=cluster_name is not None)

        spec, found = validate_args(TenantsSpec, TenantsArgs, args, ruled)
        catalog, _ = catalog_of(spec.catalog, spec.region)
        plans = {
            pool: plan_pool(pool, given, catalog, spec.region) for pool, given in spec.pools.items()
        }
        self._register(name, spec, plans, cluster_name, opts)
        warn(found, self)

    def _register(
        self,
        name: str,
        spec: TenantsSpec,
        plans: Mapping[str, PoolPlan],
        cluster_name: pulumi.Input[str] | None,
        opts: pulumi.ResourceOptions | None,
        environment: pulumi.Resource | None = None,
    ) -> None:
        super().__init__("eks-gpushare:index:Tenants", name, props(spec, "pools", "catalog"), opts)
        child = pulumi.ResourceOptions(parent=self)
        every = contracts(spec.tenants, plans)
        for tenant, given in spec.tenants.items():
            for called in given.every_namespace:
                role = f"{name}-{called}"  # of one tenant alone, which may have several
                document = tenant_objects.namespace(called, tenant, given)
                make, other = _NAMESPACES[called in given.namespaces]
                aliases = [pulumi.Alias(type_=other)]
                if environment is not None:
                    aliases += from_workloads(environment, name, called)
                options = pulumi.ResourceOptions(parent=self, aliases=aliases)
                made = make(of_tenant(name, called), **manifest_fields(document), opts=options)
                within = pulumi.ResourceOptions(parent=self, depends_on=[made])
                guards = tenant_objects.guards(called, tenant, given, every, plans)
                for kind, guard in guards.items():
                    _KINDS[kind](f"{role}-{kind}", **manifest_fields(guard), opts=within)
        before: list[pulumi.Resource] = []
        for document in tenant_objects.admission(spec.tenants, every, plans, spec.version):
            # The namespace of the parameters comes first; the others find each other by name.
            after = pulumi.ResourceOptions(parent=self, depends_on=before[:1])
            before.append(_admission(name, document, after))
        if cluster_name is not None:
            _access_entries(name, spec, cluster_name, child)
        self.tenants = pulumi.Output.from_input(tenants_json(spec.tenants, every, plans))
        self.register_outputs({"tenants": self.tenants})

    _from_spec = FromSpec(_register)


def _admission(
    name: str, document: Mapping[str, Any], opts: pulumi.ResourceOptions
) -> pulumi.Resource:
    """An admission policy, a binding, or what they read."""
    kind, called = document["kind"], document["metadata"]["name"]
    if kind == "Namespace":
        return Namespace(f"{name}-parameters", **manifest_fields(document), opts=opts)
    if kind == "ConfigMap":
        return ConfigMap(f"{name}-parameters-{called}", **manifest_fields(document), opts=opts)
    part = called.removeprefix(POLICY_NAME)
    role = "binding" if kind.endswith("Binding") else "policy"
    fields = manifest_fields(document)
    made: pulumi.Resource = _POLICIES[kind](f"{name}-{role}{part}", **fields, opts=opts)
    return made


def _access_entries(
    name: str, spec: TenantsSpec, cluster_name: pulumi.Input[str], opts: pulumi.ResourceOptions
) -> None:
    """One for each person or role, with the groups of all its tenants: EKS has no second one."""
    groups: dict[str, list[str]] = {}
    for tenant, given in spec.tenants.items():
        for arn in given.admins:
            groups.setdefault(arn, []).append(tenant_objects.group(tenant))
    for arn, of in groups.items():
        AccessEntry(
            f"{name}-admin-{principal_name(arn)}",
            cluster_name=cluster_name,
            principal_arn=arn,
            kubernetes_groups=of,
            tags=dict(spec.tags) or None,
            opts=opts,
        )
