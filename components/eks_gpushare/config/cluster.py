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


class Addons(Model):
    """EKS add-ons."""

    ebs_csi: bool = False
    """Install the EBS CSI driver."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions by add-on name, over those this release pins."""


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
