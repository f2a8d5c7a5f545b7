"""What the nodes of a pool are told at boot: a MIG layout, settings, and how to join a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare.config.sharing import Mig
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.sharing.bottlerocket import bottlerocket_settings, is_bottlerocket
from eks_gpushare.sharing.closed_runtime import closes_at_boot
from eks_gpushare.sharing.driver_gate import why_no_gate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.environment import SystemNodes
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.config.taints import Taint


@dataclass(frozen=True, slots=True)
class NodeUserData:
    """What is said to a node, whatever cluster it joins."""

    bottlerocket: bool = False
    """Whether it is said as Bottlerocket's settings."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Bottlerocket's settings of the device plugin."""
    script: str | None = None
    """Shell script that an AL2023 node runs once."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that a node with an image of the user's own registers with."""
    taints: tuple[tuple[str, str, str], ...] = ()
    """Key, value and effect of the taints that it registers with."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    """What goes below `spec` of an AL2023 node's NodeConfig, such as `kubelet`."""
    parts: tuple[tuple[str, str], ...] = ()
    """Content type and content of further parts of an AL2023 node's user data."""
    more_settings: Mapping[str, Any] = field(default_factory=dict)
    """Bottlerocket's other settings."""

    def for_eks_image(self) -> str | None:
        """User data for an AMI of EKS, base64; None if there is nothing to say.

        EKS adds labels and taints itself, before the node joins.
        """
        if self.bottlerocket:
            from eks_gpushare.documents.bottlerocket import bottlerocket_user_data

            said = self.settings or self.more_settings
            return bottlerocket_user_data(self.settings, self.more_settings) if said else None
        if self.script is None and not self.spec and not self.parts:
            return None
        from eks_gpushare.documents.node_config import user_data

        return user_data(self.script, None, self.spec, self.parts)

    def for_own_image(self, name: str, endpoint: str, authority: str, service_cidr: str) -> str:
        """User data for an AMI of the user's own, which also has to be told its cluster, base64.

        EKS puts nothing into it, and labels and taints of the node group come half a minute after
        the node: pods without a GPU request would be there first. So the node brings its own
        (https://github.com/aws/containers-roadmap/issues/1962).

        Args:
            name: Name of the EKS cluster.
            endpoint: URL of the API server.
            authority: Its certificate authority, base64.
            service_cidr: Address range of Kubernetes services.
        """
        cluster = (name, endpoint, authority, service_cidr)
        if self.bottlerocket:
            from eks_gpushare.documents import bottlerocket

            registered = bottlerocket.registration_settings(self.labels, self.taints)
            more = merge_values(
                {"kubernetes": registered} if registered else {}, self.more_settings
            )
            return bottlerocket.custom_bottlerocket_user_data(self.settings, *cluster, more)
        from eks_gpushare.documents import node_config

        flags = node_config.registration_flags(self.labels, self.taints)
        spec = merge_values({"kubelet": {"flags": flags}} if flags else {}, self.spec)
        return node_config.user_data(self.script, cluster, spec, self.parts)


def node_user_data(
    pool: Pool,
    catalog: Catalog,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Taint] = (),
) -> NodeUserData:
    """What the nodes of a pool are told.

    Args:
        pool: A pool that the rules have accepted.
        catalog: Where instance types, MIG profiles and layouts are looked up.
        labels: All labels of its nodes. Default: none.
        taints: All taints that they join with. Default: none.

    Raises:
        KeyError: For an instance type that the catalog does not have.
        eks_gpushare.sharing.mig.layout.LayoutError: For a layout that the rules refuse.
    """
    from eks_gpushare.sharing import node_settings

    own, mig = pool.custom_ami is not None, isinstance(pool.sharing, Mig)
    given: dict[str, Any] = {
        "labels": (_from_the_start(labels or {}) if mig else dict(labels or {})) if own else {},
        "taints": tuple((taint.key, taint.value, taint.effect) for taint in taints) if own else (),
    }
    if is_bottlerocket(pool):
        types = [found for name in pool.instance_types if (found := catalog.find(name))]
        settings = bottlerocket_settings(pool, types, catalog)
        more = node_settings.bottlerocket_settings_of_nodes(pool)
        return NodeUserData(bottlerocket=True, settings=settings, more_settings=more, **given)
    given["spec"] = node_settings.node_config_spec(pool)
    given["parts"] = (*node_settings.further_parts(pool), *_closing_part(pool))
    if pool.wait_for_driver and why_no_gate(pool) is None:
        from eks_gpushare.documents.driver_gate import driver_gate_part

        return NodeUserData(script=driver_gate_part(), **given)
    if not mig:
        return NodeUserData(**given)
    from eks_gpushare.sharing.mig_boot import boot_script

    return NodeUserData(script=boot_script(pool, catalog), **given)


def _closing_part(pool: Pool) -> Iterator[tuple[str, str]]:
    """What closes the runtime of nodes where the pool says so, after all that the user says."""
    if closes_at_boot(pool):
        from eks_gpushare.documents.closed_runtime import closed_runtime_part
        from eks_gpushare.documents.node_config import SHELL

        yield SHELL, closed_runtime_part()


def system_user_data(nodes: SystemNodes) -> str | None:
    """What nodes without GPUs are told, base64; None if there is nothing to say."""
    if not nodes.kubelet and not nodes.user_data:
        return None
    from eks_gpushare.sharing.node_settings import further_parts, node_config_spec

    return NodeUserData(spec=node_config_spec(nodes), parts=further_parts(nodes)).for_eks_image()


def _from_the_start(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels that a node has to join with.

    Not the one that MIG manager follows: the node group's is in time for it, since a startup taint
    keeps pods away. In the user data, another layout would exchange the nodes it is made on.
    """
    from eks_gpushare.sharing.mig_manager import MIG_CONFIG_LABEL

    return {key: value for key, value in labels.items() if key != MIG_CONFIG_LABEL}
