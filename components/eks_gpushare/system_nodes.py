"""Nodes without GPUs, for everything that needs none."""

from collections.abc import Sequence
from typing import NotRequired

import pulumi

from eks_gpushare.args.account import InAccount
from eks_gpushare.args.catalog import CatalogAdditions
from eks_gpushare.args.nodes import SystemSettings
from eks_gpushare.aws.node_group import GroupSpec, register_group
from eks_gpushare.aws.refs import NodeRefs
from eks_gpushare.aws.roles import roles_of
from eks_gpushare.catalog import standard_ami
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.component_specs import SystemNodesSpec
from eks_gpushare.inputs.component import FromSpec, props, validate_args, warn
from eks_gpushare.rules.component_rules import check_system_nodes
from eks_gpushare.sharing.nodes import sizes
from eks_gpushare.sharing.user_data import system_user_data


class SystemNodesArgs(SystemSettings, InAccount):
    """What the nodes are, and the cluster they join."""

    cluster_name: pulumi.Input[str]
    """EKS cluster."""
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Subnets of the nodes."""
    version: NotRequired[str]
    """Kubernetes version. Default: the cluster's at creation."""
    catalog: NotRequired[CatalogAdditions]
    """Instance types that this release does not know. Default: none."""
    tags: NotRequired[dict[str, pulumi.Input[str]]]
    """Tags of everything but instances. Default: none."""


class SystemNodes(pulumi.ComponentResource):
    """A managed node group without GPUs: CoreDNS, operators and the like run here."""

    node_group_name: pulumi.Output[str]
    """Name of the node group."""

    def __init__(
        self, name: str, args: SystemNodesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Make the nodes.

        Args:
            name: Name of the component and of its node group.
            args: What the nodes are.
            opts: Pulumi's resource options.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        spec, found = validate_args(SystemNodesSpec, SystemNodesArgs, args, check_system_nodes)
        refs = NodeRefs(args["cluster_name"], args["subnet_ids"])
        self._register(name, spec, refs, opts)
        warn(found, self)

    def _register(
        self,
        name: str,
        spec: SystemNodesSpec,
        refs: NodeRefs,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        inputs = props(spec, clusterName=refs.cluster_name)
        super().__init__("eks-gpushare:index:SystemNodes", name, inputs, opts)
        catalog, _ = catalog_of(spec.catalog, None)
        first = catalog.find(spec.instance_types[0])
        ami = standard_ami("al2023", first.arch if first else "amd64")
        user_data = system_user_data(spec)
        group = register_group(
            GroupSpec(
                name=name,
                cluster_name=refs.cluster_name,
                subnet_ids=refs.subnet_ids,
                instance_types=spec.instance_types,
                sizes=sizes(spec.nodes),
                disk_device=ami.disk_device,
                disk_gib=spec.root_volume_gib,
                ami_type=ami.type,
                version=spec.version,
                release_version=spec.ami_version,
                node_role=spec.node_role,
                max_unavailable=spec.max_unavailable,
                template={} if user_data is None else {"user_data": user_data},
                tags=spec.tags,
                roles=roles_of(spec),
            ),
            self,
        )
        self.node_group_name = group.node_group_name
        self.register_outputs({"nodeGroupName": self.node_group_name})

    _from_spec = FromSpec(_register)
