"""Namespaces that an edit hands from workloads to a tenant, or back: what they are called.

A workload's own namespace is the environment's, a tenant's that of its tenants. Where an edit gives
one to the other, the resource gets another name, type or parent; by an alias it stays what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MADE: Final = "kubernetes:core/v1:Namespace"
LABELLED: Final = "kubernetes:core/v1:NamespacePatch"
"""What a stack says of a namespace that somebody else has made."""
TENANTS: Final = "eks-gpushare:index:Tenants"
SUFFIX: Final = "-tenants"
"""What the name of an environment's tenants adds to its own."""


def of_workloads(environment: str, namespace: str) -> str:
    """The logical name of a namespace that an environment makes for workloads."""
    return f"{environment}-namespace-{namespace}"


def of_tenant(tenants: str, namespace: str) -> str:
    """The logical name of a tenant's, made here or labelled."""
    return f"{tenants}-{namespace}-namespace"


def heirs(urn: str, namespace: str) -> Iterator[str]:
    """The URNs that a namespace may have after an edit that hands it over.

    Args:
        urn: Of the resource that has it before; any that is no such namespace has none.
        namespace: What Kubernetes calls it.
    """
    above, _, name = urn.rpartition("::")
    parents, _, kind = above.rpartition("$")
    if kind not in {MADE, LABELLED}:
        return
    environment, _, last = parents.rpartition("$")
    if last == TENANTS:
        yield f"{parents}${MADE if kind == LABELLED else LABELLED}::{name}"
        owner = name.removesuffix(of_tenant("", namespace)).removesuffix(SUFFIX)
        yield f"{environment}${MADE}::{of_workloads(owner, namespace)}"
    elif name.endswith(own := of_workloads("", namespace)):
        tenants = name.removesuffix(own) + SUFFIX
        for other in (MADE, LABELLED):
            yield f"{parents}${TENANTS}${other}::{of_tenant(tenants, namespace)}"
