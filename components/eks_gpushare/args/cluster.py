"""The plain arguments about a cluster and its network; `eks_gpushare.args` has them too."""

# As in `args`: no postponed annotations, unions, literals or tuples.

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from pulumi import Input


class Endpoint(TypedDict):
    """Who may reach the Kubernetes API server."""

    public: NotRequired[bool]
    """Reachable from `public_cidrs`. Default: false."""
    public_cidrs: NotRequired[list[str]]
    """Networks that may use the public endpoint; required with `public`."""
    private: NotRequired[bool]
    """Reachable from within the VPC. Default: true."""


class PodIdentity(TypedDict):
    """The IAM role of an add-on's service account, by EKS Pod Identity."""

    role_arn: NotRequired[str]
    """A role that is there already and trusts `pods.eks.amazonaws.com`."""
    policy_arns: NotRequired[list[str]]
    """Policies of a role that the stack makes; instead of `role_arn`."""


class Addon(TypedDict):
    """An EKS add-on, or what is changed about one that is made anyway."""

    version: NotRequired[str]
    """Version. Default: the one this release pins, or the one EKS chooses."""
    values: NotRequired[dict[str, Any]]
    """Configuration values, merged over those that the stack gives it."""
    pod_identity: NotRequired[dict[str, PodIdentity]]
    """Roles by service account."""


class Addons(TypedDict):
    """EKS add-ons."""

    ebs_csi: NotRequired[bool]
    """Install the EBS CSI driver. Default: false."""
    prefix_delegation: NotRequired[bool]
    """Give nodes prefixes of 16 addresses, for more pods on small nodes. Default: false."""
    versions: NotRequired[dict[str, str]]
    """Versions by add-on name, over those this release pins."""
    by_name: NotRequired[dict[str, Addon]]
    """Further add-ons by the name that EKS has for them, and changes to the stack's own ones."""


class ExistingCluster(TypedDict):
    """A cluster that is there already: an EKS cluster by name, or any by its kubeconfig."""

    name: NotRequired[str]
    """Name of an EKS cluster of the account and region."""
    kubeconfig: NotRequired[str]
    """Path of a kubeconfig; then nothing in AWS is touched."""
    context: NotRequired[str]
    """Context of the kubeconfig. Default: its current one."""


class ClusterSettings(TypedDict):
    """What is changed about a new cluster."""

    support_type: NotRequired[str]
    """standard or extended. Default: standard."""
    endpoint: NotRequired[Endpoint]
    """Who may reach the API server. Default: the VPC only."""
    admins: NotRequired[list[str]]
    """IAM roles or users that get cluster-admin. Default: only who creates it."""
    named_admins: NotRequired[dict[str, Input[str]]]
    """More of them, each by a name of your own that its access entry gets in the state: for roles
    of the same program, whose ARNs are outputs. Default: none."""
    deletion_protection: NotRequired[bool]
    """Refuse deletion, in EKS and in Pulumi. Default: true."""
    secrets_key_arn: NotRequired[Input[str]]
    """KMS key for secrets. Default: a key of its own."""
    log_retention_days: NotRequired[int]
    """Days that the control plane's logs are kept, in a log group of its own. Default: for ever."""
    log_key_arn: NotRequired[str]
    """KMS key of that log group. Default: CloudWatch's own encryption."""
    addons: NotRequired[Addons]
    """Add-ons and their versions."""


class Cluster(ClusterSettings):
    """The cluster: `existing` alone, or the rest for a new one."""

    existing: NotRequired[ExistingCluster]
    """A cluster that is there already."""
    name: NotRequired[str]
    """Name of the new EKS cluster."""
    version: NotRequired[str]
    """Kubernetes version, such as 1.35."""


class ClusterFacts(TypedDict):
    """What AWS says of an existing EKS cluster: `aws.eks.get_cluster` has all of it."""

    arn: Input[str]
    """ARN of the cluster."""
    endpoint: Input[str]
    """URL of its API server."""
    certificate_authority: Input[str]
    """Certificate authority of the API server, base64."""
    version: str
    """Kubernetes version."""
    vpc_id: Input[str]
    """VPC of the cluster."""
    subnet_ids: Input[Sequence[Input[str]]]
    """Subnets of the cluster."""
    security_group_id: Input[str]
    """Security group that EKS made for the cluster."""
    service_cidr: Input[str]
    """Address range of Kubernetes services."""


class NetworkBlock(TypedDict):
    """The network: `vpc_id` and subnets of one that is there, or the rest for a new one."""

    cidr: NotRequired[str]
    """Address range of the new VPC. Default: 10.0.0.0/16."""
    zones: NotRequired[Any]
    """How many zones, or which. Default: 2."""
    nat_gateways: NotRequired[str]
    """single or perZone. Default: single."""
    flow_logs: NotRequired[bool]
    """Record rejected traffic. Default: false."""
    vpc_id: NotRequired[Input[str]]
    """VPC that is there already."""
    private_subnet_ids: NotRequired[Input[Sequence[Input[str]]]]
    """Its subnets for nodes and the control plane."""
    public_subnet_ids: NotRequired[Input[Sequence[Input[str]]]]
    """Its subnets for load balancers that face the internet."""
