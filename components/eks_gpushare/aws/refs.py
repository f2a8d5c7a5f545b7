"""What the parts of an environment hand to each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes import Provider


@dataclass(frozen=True, slots=True)
class NetworkRefs:
    """A network as the cluster in it sees it, whoever made it."""

    vpc_id: pulumi.Input[str]
    """VPC of the cluster."""
    private_subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Subnets for nodes and the control plane."""
    public_subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None
    """Subnets for load balancers that face the internet."""


@dataclass(frozen=True, slots=True)
class NodeRefs:
    """What nodes have to know of the cluster they join."""

    cluster_name: pulumi.Input[str]
    """EKS cluster."""
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Subnets of the nodes."""
    endpoint: pulumi.Input[str] | None = None
    """URL of the API server; only for a custom AMI."""
    certificate_authority: pulumi.Input[str] | None = None
    """Its certificate authority, base64; only for a custom AMI."""
    service_cidr: pulumi.Input[str] | None = None
    """Address range of Kubernetes services; only for a custom AMI."""
    security_group_id: pulumi.Input[str] | None = None
    """Security group of the cluster; only with EFA."""
    vpc_id: pulumi.Input[str] | None = None
    """VPC of the nodes; only with EFA."""


@dataclass(frozen=True, slots=True)
class ClusterRefs:
    """A cluster as pools and charts see it, made here or before."""

    provider: Provider
    """Kubernetes provider."""
    kubeconfig: pulumi.Output[str]
    """Its kubeconfig."""
    label: pulumi.Input[str]
    """What the cluster is called."""
    cluster_name: pulumi.Input[str] | None = None
    """Name of the EKS cluster; None where it is known by a kubeconfig."""
    cluster_arn: pulumi.Input[str] | None = None
    """Its ARN."""
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]] = ()
    """Subnets for nodes."""
    subnet_by_zone: dict[str, pulumi.Output[str]] | None = None
    """The same by zone, where the stack makes the network."""
    vpc_id: pulumi.Input[str] | None = None
    """VPC of the nodes."""
    security_group_id: pulumi.Input[str] | None = None
    """Security group of the cluster."""
    endpoint: pulumi.Input[str] | None = None
    """URL of the API server."""
    certificate_authority: pulumi.Input[str] | None = None
    """Its certificate authority, base64."""
    service_cidr: pulumi.Input[str] | None = None
    """Address range of Kubernetes services."""
    version: str | None = None
    """Kubernetes version."""


@dataclass(frozen=True, slots=True)
class CollectedRefs:
    """A cluster as AWS's collector of metrics sees it."""

    cluster_arn: pulumi.Input[str]
    """EKS cluster."""
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Subnets that it has interfaces in."""
    security_group_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Security groups of these, which pods answer."""


@dataclass(frozen=True, slots=True)
class WorkspaceRefs:
    """A workspace of Amazon Managed Service for Prometheus that the stack makes."""

    arn: pulumi.Output[str]
    """The workspace."""
    address: pulumi.Output[str]
    """Where it is queried, without the path of the API."""
    region: pulumi.Output[str]
    """AWS region, where requests are signed."""


@dataclass(frozen=True, slots=True)
class KarpenterNodeRefs:
    """What a node class has to name: the role, the network, and where it is guarded."""

    node_role_name: pulumi.Input[str]
    """Name of the IAM role of the nodes, without its path."""
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Subnets of the nodes."""
    security_group_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Security groups of the nodes: that of the cluster, and further ones."""
    vpc_id: pulumi.Input[str] | None = None
    """VPC of the nodes; only with EFA."""
