"""The objects by which a cluster holds tenants to their contracts: Kubernetes' own documents.

There is no LimitRange of one share for each container: what it names as `max` the API server sets
as the default of every container that names nothing (`SetDefaults_LimitRangeItem` of
k8s.io/kubernetes), so that each sidecar and each pod without a GPU would take a share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.kubernetes import minor_version
from eks_gpushare.sharing.resources import GPU
from eks_gpushare.sharing.tenant_admission import (
    LEAST_VERSION,
    AdmittedPool,
    AdmittedTenant,
    admission_objects,
)
from eks_gpushare.sharing.tenants import (
    COST_LABEL,
    ISOLATION_LABEL,
    ISOLATION_VALUES,
    TENANT_LABEL,
    kinds,
    of_tenant,
)
from eks_gpushare.sharing.workloads import PART_OF

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.config.tenants import Tenant
    from eks_gpushare.sharing.plan import PoolPlan
    from eks_gpushare.sharing.tenants import PoolContract

QUOTA = "gpu-shares"
"""Name of the quota with the contract."""
SYSTEM_PRIORITY = "system-priority"
"""Name of the quota that keeps tenants' pods below those of the system."""
NETWORK = "tenant"
"""Name of the NetworkPolicy."""
PLATFORM = "platform"
"""Name of the one that lets in what is of no tenant."""
ADMINS = "tenant-admins"
"""Name of the RoleBinding."""
_NETWORKS = "networking.k8s.io/v1"
_RBAC = "rbac.authorization.k8s.io"
_DEVICE_CLASSES = ("gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com")
"""Device classes of NVIDIA's DRA driver."""
_METADATA = "169.254.169.254/32"
"""Where instances ask for the credentials of their role."""
_SYSTEM_CLASSES = ["system-cluster-critical", "system-node-critical"]


def group(tenant: str) -> str:
    """The group of a tenant's admins in Kubernetes."""
    return f"eks-gpushare:tenant:{tenant}"


def namespace_labels(name: str, tenant: Tenant) -> dict[str, str]:
    """Labels of a tenant's namespaces.

    Args:
        name: Name of the tenant.
        tenant: The tenant.
    """
    return {
        **PART_OF,
        TENANT_LABEL: name,
        ISOLATION_LABEL: ISOLATION_VALUES[tenant.isolation],
        # Baseline lets pods with GPUs be, and nothing of the node into them.
        "pod-security.kubernetes.io/enforce": "baseline",
        **({COST_LABEL: tenant.cost.center} if tenant.cost is not None else {}),
    }


def namespace(called: str, name: str, tenant: Tenant) -> dict[str, Any]:
    """A namespace of a tenant.

    Args:
        called: Name of the namespace.
        name: Name of the tenant.
        tenant: The tenant.
    """
    labels = namespace_labels(name, tenant)
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": called, "labels": labels},
    }


def hard(
    name: str,
    tenant: Tenant,
    every: Iterable[PoolContract],
    plans: Mapping[str, PoolPlan],
) -> dict[str, str]:
    """What the quota of a tenant's namespace allows of each resource of a GPU.

    What is not in the contract is 0: shares of pools that the tenant has no part of, whole GPUs,
    and GPUs by claims. Extended resources count under `requests.` alone; another key is accepted
    and counts nothing.

    Args:
        name: Name of the tenant.
        tenant: The tenant.
        every: What tenants have of pools.
        plans: The plans of all pools.
    """
    names = dict.fromkeys(name for plan in plans.values() for name in (*kinds(plan), GPU))
    has = of_tenant(name, every)
    # What a queue admits is not counted twice: a quota would refuse pods that are to wait.
    counted = [resource for resource in sorted(names) if not (tenant.queue and resource in has)]
    return {
        **{f"requests.{resource}": str(has.get(resource, 0)) for resource in counted},
        **{f"{resource}.deviceclass.resource.k8s.io/devices": "0" for resource in _DEVICE_CLASSES},
    }


def guards(
    called: str,
    name: str,
    tenant: Tenant,
    every: Sequence[PoolContract],
    plans: Mapping[str, PoolPlan],
) -> dict[str, dict[str, Any]]:
    """What is in a namespace of a tenant, by the last part of its logical name.

    Args:
        called: Name of the namespace.
        name: Name of the tenant.
        tenant: The tenant.
        every: What tenants have of pools.
        plans: The plans of all pools.
    """
    quota = {"hard": hard(name, tenant, every, plans)}
    above = {
        "hard": {"pods": "0"},
        "scopeSelector": {
            "matchExpressions": [
                {"scopeName": "PriorityClass", "operator": "In", "values": _SYSTEM_CLASSES}
            ]
        },
    }
    found = {
        "quota": _object("v1", "ResourceQuota", called, QUOTA, spec=quota),
        "priority": _object("v1", "ResourceQuota", called, SYSTEM_PRIORITY, spec=above),
        "network": _object(_NETWORKS, "NetworkPolicy", called, NETWORK, spec=_network(name)),
        "platform": _object(_NETWORKS, "NetworkPolicy", called, PLATFORM, spec=_from_platform()),
    }
    if tenant.admins:
        found["admins"] = _object(
            f"{_RBAC}/v1",
            "RoleBinding",
            called,
            ADMINS,
            roleRef={"apiGroup": _RBAC, "kind": "ClusterRole", "name": "admin"},
            subjects=[{"apiGroup": _RBAC, "kind": "Group", "name": group(name)}],
        )
    return found


def _network(tenant: str) -> dict[str, Any]:
    """Pods of a tenant are reached by its own, and reach everything but the instance's metadata.

    Further policies let further ones in.
    """
    own = {"matchLabels": {TENANT_LABEL: tenant}}
    return {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [{"namespaceSelector": own}]}],
        "egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": [_METADATA]}}]}],
    }


def _from_platform() -> dict[str, Any]:
    """What is of no tenant, such as an ingress controller or a Prometheus, reaches them too."""
    of_nobody = {"matchExpressions": [{"key": TENANT_LABEL, "operator": "DoesNotExist"}]}
    return {
        "podSelector": {},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"namespaceSelector": of_nobody}]}],
    }


def _object(api: str, kind: str, space: str, called: str, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": called, "namespace": space, "labels": dict(PART_OF)},
        **fields,
    }


def admission(
    tenants: Mapping[str, Tenant],
    every: Sequence[PoolContract],
    plans: Mapping[str, PoolPlan],
    version: str | None,
) -> list[dict[str, Any]]:
    """The admission policies of tenants, with what each may, in the order to make them.

    Args:
        tenants: The tenants.
        every: What they have of pools.
        plans: The plans of all pools.
        version: Kubernetes version of the cluster, 1.30 or later. Default: the least of these.
    """
    admitted = [
        AdmittedTenant(
            name,
            {
                contract.pool: AdmittedPool(
                    # With what it may borrow: of kinds that it is sure of none, too.
                    tuple(name for name, count in contract.maximum.items() if count),
                    plans[contract.pool].pool.taints,
                )
                for contract in every
                if contract.tenant == name
            },
            queued=tenant.queue,
        )
        for name, tenant in tenants.items()
        if tenant.admission
    ]
    keys = {taint.key for plan in plans.values() for taint in plan.pool.taints}
    known = minor_version(version) if version else LEAST_VERSION
    return admission_objects(admitted, sorted(keys), known, TENANT_LABEL)
