"""What the nodes of a pool are told at boot: a MIG layout, or Bottlerocket's settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare.config.sharing import Mig
from eks_gpushare.sharing.bottlerocket import bottlerocket_settings, is_bottlerocket

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.pools import Pool


@dataclass(frozen=True, slots=True)
class NodeUserData:
    """What is said to a node, whatever cluster it joins."""

    bottlerocket: bool = False
    """Whether it is said as Bottlerocket's settings."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Bottlerocket's settings of the device plugin."""
    script: str | None = None
    """Shell script that an AL2023 node runs once."""

    def for_eks_image(self) -> str | None:
        """User data for an AMI of EKS, base64; None if there is nothing to say."""
        if self.bottlerocket:
            from eks_gpushare.documents.bottlerocket import (
                bottlerocket_user_data,
            )

            return bottlerocket_user_data(self.settings) if self.settings else None
        if self.script is None:
            return None
        from eks_gpushare.documents.node_config import user_data

        return user_data(self.script)

    def for_own_image(self, name: str, endpoint: str, authority: str, service_cidr: str) -> str:
        """User data for an AMI of the user's own, which also has to be told its cluster, base64.

        Args:
            name: Name of the EKS cluster.
            endpoint: URL of the API server.
            authority: Its certificate authority, base64.
            service_cidr: Address range of Kubernetes services.
        """
        cluster = (name, endpoint, authority, service_cidr)
        if self.bottlerocket:
            from eks_gpushare.documents.bottlerocket import (
                custom_bottlerocket_user_data,
            )

            return custom_bottlerocket_user_data(self.settings, *cluster)
        from eks_gpushare.documents.node_config import user_data

        return user_data(self.script, cluster)


def node_user_data(pool: Pool, catalog: Catalog) -> NodeUserData:
    """What the nodes of a pool are told.

    Args:
        pool: A pool that the rules have accepted.
        catalog: Where instance types, MIG profiles and layouts are looked up.

    Raises:
        KeyError: For an instance type that the catalog does not have.
        eks_gpushare.sharing.mig.layout.LayoutError: For a layout that the rules refuse.
    """
    if is_bottlerocket(pool):
        types = [found for name in pool.instance_types if (found := catalog.find(name))]
        settings = bottlerocket_settings(pool, types, catalog)
        return NodeUserData(bottlerocket=True, settings=settings)
    if not isinstance(pool.sharing, Mig):
        return NodeUserData()
    from eks_gpushare.sharing.mig_boot import boot_script

    return NodeUserData(script=boot_script(pool, catalog))
