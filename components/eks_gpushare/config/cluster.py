"""The cluster: made by the stack, or one that is there already."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from eks_gpushare.config.base import Items, Model, PrincipalInput, TextInput, given_keys


class Endpoint(Model):
    """Who may reach the Kubernetes API server."""

    public: bool = False
    """Reachable from `publicCidrs`."""
    public_cidrs: Items[str] = ()
    """Networks that may use the public endpoint; required with `public`, never the whole world."""
    private: bool = True
    """Reachable from within the VPC."""


class PodIdentity(Model):
    """The IAM role of an add-on's service account, by EKS Pod Identity."""

    role_arn: str | None = None
    """A role that is there already and trusts `pods.eks.amazonaws.com`."""
    policy_arns: Items[str] = ()
    """Policies of a role that the stack makes; instead of `roleArn`."""


class Addon(Model):
    """An EKS add-on, or what is changed about one that the stack makes anyway."""

    version: str | None = None
    """Version. Default: the one this release pins, or the one EKS chooses."""
    values: dict[str, Any] = Field(default_factory=dict)
    """Configuration values, merged over those that the stack gives it."""
    pod_identity: dict[str, PodIdentity] = Field(default_factory=dict)
    """Roles by service account."""


class Addons(Model):
    """EKS add-ons."""

    ebs_csi: bool = False
    """Install the EBS CSI driver."""
    prefix_delegation: bool = False
    """Give nodes prefixes of 16 addresses, for more pods on small nodes of the Nitro system."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions by add-on name, over those this release pins."""
    by_name: dict[str, Addon] = Field(default_factory=dict)
    """Further add-ons by the name that EKS has for them, and changes to the stack's own ones."""


class NewCluster(Model):
    """A cluster made by this stack."""

    name: str
    """Name of the EKS cluster."""
    version: str
    """Kubernetes version, quoted: `"1.35"`."""
    support_type: Literal["standard", "extended"] = "standard"
    """What EKS does when standard support ends: upgrade by itself, or charge more."""
    endpoint: Endpoint = Endpoint.model_construct()
    """Who may reach the API server. Default: the VPC only."""
    admins: Items[str] = ()
    """IAM roles or users that get cluster-admin by an EKS access entry."""
    named_admins: dict[str, PrincipalInput] | None = None
    """More of them, each by a name of your own that its access entry gets in the state. In a
    program their ARNs may be outputs."""
    deletion_protection: bool = True
    """Refuse deletion, in EKS and in Pulumi, until this is turned off."""
    secrets_key_arn: TextInput | None = None
    """KMS key for secrets. Default: a key of the stack's own."""
    log_retention_days: int | None = None
    """Days that the control plane's logs are kept, in a log group of the stack's own. Default: for
    ever, in the one that EKS makes; for a cluster that has that one already, see the upgrade notes.
    """
    log_key_arn: str | None = None
    """KMS key of that log group. Default: CloudWatch's own encryption."""
    addons: Addons = Addons.model_construct()
    """Add-ons and their versions."""


class ClusterByName(Model):
    """An EKS cluster of this account and region."""

    name: str
    """Name of the EKS cluster."""


class ClusterByKubeconfig(Model):
    """Any Kubernetes cluster; nothing in AWS is touched."""

    kubeconfig: str
    """Path of the kubeconfig file."""
    context: str | None = None
    """Context in it. Default: its current one."""


def _existing_kind(value: Any) -> str:
    return "<kubeconfig>" if {"kubeconfig", "context"} & given_keys(value) else "<name>"


class ExistingCluster(Model):
    """A cluster that is there already."""

    existing: Annotated[
        Annotated[ClusterByName, Tag("<name>")]
        | Annotated[ClusterByKubeconfig, Tag("<kubeconfig>")],
        Discriminator(_existing_kind),
    ]
    """`{name}` of an EKS cluster, or `{kubeconfig, context}` of any cluster."""


def _cluster_kind(value: Any) -> str:
    return "<existing>" if "existing" in given_keys(value) else "<new>"


Cluster: TypeAlias = Annotated[
    Annotated[NewCluster, Tag("<new>")] | Annotated[ExistingCluster, Tag("<existing>")],
    Discriminator(_cluster_kind),
]
"""The `cluster` block."""
