"""What holds a tenant's pods to its contract when they are made: admission policies of Kubernetes.

The policies are the same for every tenant. What a tenant may, is in a ConfigMap in a namespace of
its own, which no tenant can write, and one binding per tenant and policy leads to it from the
namespaces that have the tenant's label. Who may label namespaces chooses their tenant: leave that
to the platform's administrators, as the ClusterRole `admin` of a namespace does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.config.taints import GPU_TAINT_KEY, by_key
from eks_gpushare.documents.tenant_policies import (
    OF_QUEUES,
    mutating_policy,
    validating_policies,
)
from eks_gpushare.sharing.labels import POOL_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.config.taints import Taint

PARAMETERS_NAMESPACE: Final = "eks-gpushare-tenants"
"""Namespace of the ConfigMaps that say what each tenant may."""
POLICY_NAME: Final = "eks-gpushare-tenants"
"""What the names of the policies and bindings begin with."""
LEAST_VERSION: Final = (1, 30)
"""The Kubernetes version that brought ValidatingAdmissionPolicies."""

_API = "admissionregistration.k8s.io/v1"
_MUTATES = (1, 36)


@dataclass(frozen=True, slots=True)
class AdmittedPool:
    """What pods of a tenant may ask for in one pool."""

    resources: tuple[str, ...]
    """Names of the extended resources, such as `nvidia.com/gpu.shared`."""
    taints: tuple[Taint, ...] = ()
    """Taints of its nodes, which pods that land there get tolerations for."""


@dataclass(frozen=True, slots=True)
class AdmittedTenant:
    """What pods of a tenant may do."""

    name: str
    """The value of the label of its namespaces."""
    pools: Mapping[str, AdmittedPool]
    """The pools that it may use, one at least, by the value of the label `eks-gpushare/pool`."""
    device_classes: tuple[str, ...] = ()
    """Classes that its claims of dynamic resource allocation may name. Default: none, and pods may
    have no claims."""
    queued: bool = False
    """Whether Kueue admits its pods, so that none may pass it by."""

    def parameters(self, taint_keys: Iterable[str]) -> dict[str, str]:
        """The data of its ConfigMap.

        Args:
            taint_keys: Keys of the taints of all GPU pools of the cluster, its own or not.

        Raises:
            ValueError: If it has no pool, or a name that the lists cannot hold.
        """
        if not self.pools:
            raise ValueError(f"the tenant {self.name} may use no pool")
        resources = {name for pool in self.pools.values() for name in pool.resources}
        lists = {
            "pools": sorted(self.pools),
            "resources": sorted(resources),
            "taintKeys": sorted({GPU_TAINT_KEY, *taint_keys}),
            "deviceClasses": sorted(self.device_classes),
        }
        wrong = [name for names in lists.values() for name in names if "," in name or not name]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is no name that a tenant could be given")
        joined = {key: ",".join(names) for key, names in lists.items()}
        joined |= {"queued": "true"} if self.queued else {}
        return {"tenant": self.name, "poolLabel": POOL_LABEL, **joined, **self._placement()}

    def _placement(self) -> dict[str, str]:
        """Where a request goes that names one pool alone, and what its pods have to tolerate."""
        only: dict[str, str] = {}
        for name, pool in sorted(self.pools.items()):
            for resource in pool.resources:
                only[resource] = "" if resource in only else name
        tolerated = {
            f"{name}={key}:{effect}"
            for name, pool in self.pools.items()
            for key, effect in map(by_key, pool.taints)
        }
        return {
            "poolOf": ",".join(f"{key}={pool}" for key, pool in sorted(only.items()) if pool),
            "tolerations": ",".join(sorted(tolerated)),
        }


def admission_objects(
    tenants: Sequence[AdmittedTenant],
    taint_keys: Iterable[str],
    version: tuple[int, int],
    label: str,
) -> list[dict[str, Any]]:
    """Parameters in a namespace of theirs, policies and bindings, in the order to make them.

    Nothing without tenants.

    Args:
        tenants: Whom they are for.
        taint_keys: Keys of the taints of all GPU pools of the cluster.
        version: Kubernetes version of the cluster. From 1.36 on pods that request a GPU get the
            selector of their pool and the tolerations by themselves, where they select nothing and
            one pool of the tenant has what they ask for.
        label: Key of the label by which a namespace belongs to a tenant.

    Raises:
        ValueError: Below 1.30, which has no such policies, or for a tenant without a pool.
    """
    if version < LEAST_VERSION:
        raise ValueError(f"Kubernetes {version[0]}.{version[1]} has no ValidatingAdmissionPolicy")
    if not tenants:
        return []
    keys = tuple(taint_keys)
    ordered = sorted(tenants, key=lambda tenant: tenant.name)
    made: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PARAMETERS_NAMESPACE}}
    ]
    made += [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": tenant.name, "namespace": PARAMETERS_NAMESPACE},
            "data": tenant.parameters(keys),
        }
        for tenant in ordered
    ]
    held = {
        part: [tenant for tenant in ordered if tenant.queued or part not in OF_QUEUES]
        for part in validating_policies()
    }
    made += [
        _policy(f"{POLICY_NAME}-{part}", spec)
        for part, spec in validating_policies().items()
        if held[part]
    ]
    made += [
        _binding(f"{POLICY_NAME}-{part}", tenant, label) for part in held for tenant in held[part]
    ]
    if version >= _MUTATES:
        name = f"{POLICY_NAME}-placement"
        made.append(_policy(name, mutating_policy(), "Mutating"))
        made += [_binding(name, tenant, label, "Mutating") for tenant in ordered]
    return made


def _policy(name: str, spec: Mapping[str, Any], kind: str = "Validating") -> dict[str, Any]:
    return {
        "apiVersion": _API,
        "kind": f"{kind}AdmissionPolicy",
        "metadata": {"name": name},
        "spec": dict(spec),
    }


def _binding(
    policy: str, tenant: AdmittedTenant, label: str, kind: str = "Validating"
) -> dict[str, Any]:
    actions = {"validationActions": ["Deny"]} if kind == "Validating" else {}
    return {
        "apiVersion": _API,
        "kind": f"{kind}AdmissionPolicyBinding",
        "metadata": {"name": f"{policy}-{tenant.name}"},
        "spec": {
            "policyName": policy,
            # Without a namespace it would be a ConfigMap beside the pod, the tenant's own.
            "paramRef": {
                "name": tenant.name,
                "namespace": PARAMETERS_NAMESPACE,
                "parameterNotFoundAction": "Deny",
            },
            "matchResources": {"namespaceSelector": {"matchLabels": {label: tenant.name}}},
            **actions,
        },
    }
