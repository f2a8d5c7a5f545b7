"""Aliases by which a namespace that an edit hands over stays, with the pods in it."""

import pulumi

from eks_gpushare.in_cluster import handed_namespaces as handed


def from_workloads(
    environment: pulumi.Resource, tenants: str, namespace: str
) -> list[pulumi.Alias]:
    """What a tenant's namespace was called while it was that of workloads.

    Args:
        environment: The environment of both.
        tenants: Name of its tenants.
        namespace: What Kubernetes calls it.
    """
    name = handed.of_workloads(tenants.removesuffix(handed.SUFFIX), namespace)
    return [pulumi.Alias(name, type_=handed.MADE, parent=environment)]


def from_tenants(environment: pulumi.Resource, name: str, namespace: str) -> list[pulumi.Alias]:
    """What the namespace of workloads was called while it was a tenant's, made or labelled.

    Args:
        environment: The environment of both.
        name: Its name.
        namespace: What Kubernetes calls it.
    """
    tenants = name + handed.SUFFIX
    parent = pulumi.create_urn(tenants, handed.TENANTS, environment)
    called = handed.of_tenant(tenants, namespace)
    return [
        pulumi.Alias(called, type_=kind, parent=parent) for kind in (handed.MADE, handed.LABELLED)
    ]
