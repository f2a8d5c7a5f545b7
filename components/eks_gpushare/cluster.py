"""An EKS cluster with safe defaults, its pinned add-ons, and a Kubernetes provider for it."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NotRequired, cast

import pulumi
from pulumi_aws.eks import AccessEntry, AccessPolicyAssociation
from pulumi_aws.kms import Alias, Key
from pulumi_eks import AuthenticationMode, Cluster
from pulumi_kubernetes import Provider

from eks_gpushare.args import Taint
from eks_gpushare.args.account import TaggedInAccount
from eks_gpushare.args.cluster import ClusterSettings
from eks_gpushare.aws.addons import register_addons
from eks_gpushare.aws.names import principal_name
from eks_gpushare.aws.policy_documents import same_principal
from eks_gpushare.aws.refs import NetworkRefs
from eks_gpushare.aws.roles import Roles, roles_of
from eks_gpushare.catalog.partitions import Partition
from eks_gpushare.config.component_specs import EksClusterSpec
from eks_gpushare.deletion_protection import DeletionProtection
from eks_gpushare.documents.kubeconfig import with_profile
from eks_gpushare.inputs.component import FromSpec, given_args, props, validate_args, warn
from eks_gpushare.one_declaration import note_cluster
from eks_gpushare.rules.component_rules import check_cluster
from eks_gpushare.sharing.addons import KUBE_PROXY, VPC_CNI, AddonPlan, plan_addons

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
"""All that the control plane can log."""
_ADMIN_POLICY = "AmazonEKSClusterAdminPolicy"
_PER_RUN = ("creator", "profile")
"""Arguments that differ from run to run and machine to machine."""
_KEY_DELETION_DAYS = 30
"""The longest that KMS waits before a key is gone, and what it has locked with it
(https://docs.aws.amazon.com/kms/latest/APIReference/API_ScheduleKeyDeletion.html)."""


class EksClusterArgs(ClusterSettings, TaggedInAccount):
    """What a cluster is made of, and the network it is in."""

    name: str
    """Name of the EKS cluster."""
    version: str
    """Kubernetes version, such as 1.35."""
    vpc_id: pulumi.Input[str]
    """VPC of the cluster."""
    private_subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Subnets of the control plane, in at least two zones."""
    public_subnet_ids: NotRequired[pulumi.Input[Sequence[pulumi.Input[str]]]]
    """Subnets for load balancers that face the internet. Default: none."""
    gpu_taints: NotRequired[list[Taint]]
    """Taints of GPU nodes, for add-ons that watch GPUs.
    Default: `nvidia.com/gpu=true:NoSchedule`."""
    startup_taints: NotRequired[list[Taint]]
    """Taints of nodes that those add-ons leave alone until it is gone, as those of a pool with
    `apply: migManager`. Default: none."""
    creator: NotRequired[str]
    """ARN of who runs the program, as STS says it: `aws.get_caller_identity().arn`. Read when the
    cluster is made: EKS refuses an access entry of one of `admins` whom it has made an admin
    itself. Default: EKS makes whoever creates the cluster an admin."""
    profile: NotRequired[str]
    """AWS profile of the provider's kubeconfig. Default: that of the environment."""
    network_policies: NotRequired[bool]
    """Whether the VPC CNI add-on enforces NetworkPolicies. Default: false; an environment with
    tenants has it."""


class EksCluster(pulumi.ComponentResource):
    """An EKS cluster that only named people and networks reach.

    Access entries instead of the aws-auth map, all control-plane logs, secrets encrypted with a
    KMS key, standard support, pinned add-ons, no node group. CoreDNS becomes healthy once there
    are nodes, so a stack with a cluster and no nodes waits for it in vain.
    """

    cluster_name: pulumi.Output[str]
    """Name of the EKS cluster."""
    cluster_arn: pulumi.Output[str]
    """ARN of the EKS cluster."""
    # By its own name the SDK takes the input `endpoint` for it, where unit tests echo inputs.
    endpoint: pulumi.Output[str] = pulumi.property("endpointUrl")
    """URL of the API server."""
    certificate_authority: pulumi.Output[str]
    """Certificate authority of the API server, base64."""
    service_cidr: pulumi.Output[str]
    """Address range of Kubernetes services."""
    security_group_id: pulumi.Output[str]
    """Security group that EKS puts on the control plane and on managed nodes."""
    kubeconfig: pulumi.Output[str]
    """Kubeconfig as JSON, which gets its tokens from `aws eks get-token`; a secret."""
    provider: Provider
    """Kubernetes provider for the cluster."""

    def __init__(
        self, name: str, args: EksClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Make the cluster.

        Args:
            name: Name of the component, which its children's names start with.
            args: What the cluster is made of.
            opts: Pulumi's resource options.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        note_cluster(given_args(EksClusterArgs, args).get("name"))
        spec, found = validate_args(EksClusterSpec, EksClusterArgs, args, check_cluster)
        network = NetworkRefs(
            args["vpc_id"], args["private_subnet_ids"], args.get("public_subnet_ids")
        )
        self._register(name, spec, network, opts)
        DeletionProtection(name, self._parts, enabled=spec.deletion_protection, parent=self)
        warn(found, self)

    def _register(
        self,
        name: str,
        spec: EksClusterSpec,
        network: NetworkRefs,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        tags = dict(spec.tags)
        super().__init__(
            "eks-gpushare:index:EksCluster",
            name,
            props(spec, *_PER_RUN, vpcId=network.vpc_id),
            opts,
        )
        roles = roles_of(spec)
        addons = plan_addons(
            spec.addons,
            spec.version,
            spec.gpu_taints,
            spec.startup_taints or (),
            network_policies=spec.network_policies is True,
        )
        protected = pulumi.ResourceOptions(parent=self, protect=spec.deletion_protection or None)
        key, keys = _secrets_key(name, spec, tags, protected)
        logs = _logs(f"{name}-logs", spec, self)
        around = pulumi.ResourceOptions(depends_on=logs, transforms=_transforms(spec, roles))
        cluster = _control_plane(
            name, spec, network, key, addons, pulumi.ResourceOptions.merge(protected, around)
        )
        eks = cluster.eks_cluster
        self.cluster_name = _part(eks, "name")
        self.cluster_arn = _part(eks, "arn")
        self.endpoint = _part(eks, "endpoint")
        self.certificate_authority = _part(eks, "certificate_authority", "data")
        self.service_cidr = _part(eks, "kubernetes_network_config", "service_ipv4_cidr")
        self.security_group_id = _part(eks, "vpc_config", "cluster_security_group_id")
        self.kubeconfig = pulumi.Output.secret(cluster.kubeconfig_json)
        child = pulumi.ResourceOptions(parent=self)
        entries = _access_entries(name, spec, cluster, self.cluster_name, roles.partition, child)
        # The identifier is what the provider compares: a new kubeconfig then replaces nothing.
        self.provider = Provider(
            f"{name}-kubernetes",
            kubeconfig=_with_profile(self.kubeconfig, spec.profile),
            cluster_identifier=self.cluster_arn,
            # Whoever installs something may be let in by one of these, until it is removed again.
            opts=pulumi.ResourceOptions(parent=self, depends_on=entries),
        )
        further = register_addons(name, addons.values(), self.cluster_name, roles, tags, child)
        self._parts = [*keys, *logs, cluster, *entries, self.provider, *further]
        self.register_outputs(
            {
                "clusterName": self.cluster_name,
                "clusterArn": self.cluster_arn,
                "endpoint": self.endpoint,
                "certificateAuthority": self.certificate_authority,
                "serviceCidr": self.service_cidr,
                "securityGroupId": self.security_group_id,
                "kubeconfig": self.kubeconfig,
            }
        )

    _from_spec = FromSpec(_register)


def _part(made: pulumi.Output[Any], *names: str) -> pulumi.Output[str]:
    """A part of what was made; None where unit tests have mocks that make nothing."""
    for name in names:
        made = made.apply(partial(_attribute, name))
    return made


def _attribute(name: str, of: object) -> Any:
    return None if of is None else getattr(of, name)


def _secrets_key(
    name: str, spec: EksClusterSpec, tags: dict[str, str], opts: pulumi.ResourceOptions
) -> tuple[pulumi.Input[str], list[pulumi.Resource]]:
    """ARN of the key for secrets, and what is made for it."""
    if spec.secrets_key_arn:
        return spec.secrets_key_arn, []
    key = Key(
        f"{name}-secrets",
        description=f"Secrets of the EKS cluster {spec.name}",
        enable_key_rotation=True,
        deletion_window_in_days=_KEY_DELETION_DAYS,
        tags=tags or None,
        opts=opts,
    )
    alias = Alias(
        f"{name}-secrets",
        name=f"alias/eks/{spec.name}/secrets",
        target_key_id=key.key_id,
        opts=pulumi.ResourceOptions(parent=opts.parent),
    )
    return key.arn, [key, alias]


def _control_plane(
    name: str,
    spec: EksClusterSpec,
    network: NetworkRefs,
    key: pulumi.Input[str],
    addons: dict[str, AddonPlan],
    opts: pulumi.ResourceOptions,
) -> Cluster:
    tags = dict(spec.tags)
    # What is in it inherits its protection, and a protected resource cannot be deleted: what an
    # edit of the stack file may take away is registered beside it.
    return Cluster(
        f"{name}-eks",
        name=spec.name,
        version=spec.version,
        vpc_id=network.vpc_id,
        private_subnet_ids=network.private_subnet_ids,
        public_subnet_ids=network.public_subnet_ids,
        node_associate_public_ip_address=False,
        authentication_mode=AuthenticationMode.API,
        endpoint_private_access=spec.endpoint.private,
        endpoint_public_access=spec.endpoint.public,
        public_access_cidrs=list(spec.endpoint.public_cidrs) or None,
        enabled_cluster_log_types=list(LOG_TYPES),
        encryption_config_key_arn=key,
        upgrade_policy={"support_type": spec.support_type.upper()},
        deletion_protection=spec.deletion_protection,
        skip_default_node_group=True,
        # Managed nodes get the group that EKS makes; further ones would guard nothing.
        skip_default_security_groups=True,
        create_instance_role=False,
        coredns_addon_options={"enabled": False},  # made below, where it is seen and pinned
        kube_proxy_addon_options=_options(addons[KUBE_PROXY], "version"),
        vpc_cni_options=_options(addons[VPC_CNI], "addon_version"),
        tags=tags or None,
        opts=opts,
    )


def _access_entries(
    name: str,
    spec: EksClusterSpec,
    cluster: Cluster,
    cluster_name: pulumi.Input[str],
    partition: Partition,
    child: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    made: list[pulumi.Resource] = []
    for name_of_entry, arn in _admins(spec).items():
        title = f"{name}-eks-{name_of_entry}"
        entry = AccessEntry(
            title,
            cluster_name=cluster_name,
            principal_arn=arn,
            tags=dict(spec.tags) or None,
            opts=pulumi.ResourceOptions(
                parent=child.parent,
                aliases=[pulumi.Alias(parent=cluster)],  # where 0.1.0 had it
            ),
        )
        allowed = AccessPolicyAssociation(
            f"{title}-admin",
            cluster_name=cluster_name,
            principal_arn=arn,
            policy_arn=partition.access_policy(_ADMIN_POLICY),
            access_scope={"type": "cluster"},
            opts=pulumi.ResourceOptions(parent=entry, depends_on=[entry]),
        )
        made += [entry, allowed]
    return made


def _admins(spec: EksClusterSpec) -> dict[str, pulumi.Input[str]]:
    """Who gets cluster-admin, by the names of their access entries."""
    named: dict[str, pulumi.Input[str]] = {principal_name(arn): arn for arn in spec.admins}
    return {**named, **(spec.named_admins or {})}


def _options(addon: AddonPlan, version: str) -> Any:
    """Options of an add-on of the control plane; each has a key of its own for the version."""
    values = {"configuration_values": dict(addon.values)} if addon.values else {}
    return {version: addon.version, **values}


def _logs(name: str, spec: EksClusterSpec, parent: pulumi.Resource) -> list[pulumi.Resource]:
    if spec.log_retention_days is None:
        return []
    from eks_gpushare.aws.control_plane_logs import control_plane_logs

    return [control_plane_logs(name, spec, parent)]


def _with_profile(kubeconfig: pulumi.Output[str], profile: str | None) -> pulumi.Output[str]:
    """The kubeconfig for this program; the one that others are given names no profile."""
    if profile is None:
        return kubeconfig
    return kubeconfig.apply(lambda text: with_profile(text, profile))


def _transforms(spec: EksClusterSpec, roles: Roles) -> list[pulumi.ResourceTransform]:
    """What eks.Cluster has no arguments for, and is changed about what it registers."""
    plain = [arn for arn in _admins(spec).values() if isinstance(arn, str)]
    if any(same_principal(spec.creator or "", admin) for admin in plain):
        return [*roles.for_remote_children(), _without_bootstrap_admin]
    return roles.for_remote_children()


def _without_bootstrap_admin(
    args: pulumi.ResourceTransformArgs,
) -> pulumi.ResourceTransformResult | None:
    """EKS makes whoever creates a cluster an admin, and then refuses the entry of the stack.

    One of `admins` who creates the cluster gets the entry of the stack alone. EKS reads this at
    creation only and eks.Cluster ignores changes of it, so that it does not matter who runs the
    program later: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessConfigRequest.html.
    """
    if args.type_ != "aws:eks/cluster:Cluster":
        return None
    given = cast("dict[str, Any]", args.props["accessConfig"])
    access = {**given, "bootstrapClusterCreatorAdminPermissions": False}
    return pulumi.ResourceTransformResult({**args.props, "accessConfig": access}, args.opts)
