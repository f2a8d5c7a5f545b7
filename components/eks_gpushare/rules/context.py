"""What a rule sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn, cast

from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.base import UnreadError
from eks_gpushare.config.cluster import ClusterByName, ExistingCluster, NewCluster
from eks_gpushare.config.network import NewNetwork
from eks_gpushare.findings.defects import defect

if TYPE_CHECKING:
    from datetime import date

    from eks_gpushare.catalog import Catalog, Gpu, InstanceType
    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding


class Context(NamedTuple):
    """A stack, and what is known besides it."""

    environment: Environment
    """The environment, as far as it could be read."""
    catalog: Catalog
    """Instance types, the stack's own on top."""
    region: str | None
    """AWS region of the stack; None if the file does not say."""
    today: date
    """For what ends on a day."""
    subnets: int | None = None
    """How many subnets a pool that stands alone is given, where their number is known."""
    nodes_elsewhere: bool = False
    """Whether the pools' nodes are none of this program's concern: of a pool, a device plugin that
    stands alone knows what it advertises, and not who makes its nodes."""

    @property
    def new_cluster(self) -> NewCluster | None:
        """The cluster, where this stack makes it."""
        cluster = self.environment.cluster
        return cluster if isinstance(cluster, NewCluster) else None

    @property
    def new_network(self) -> NewNetwork | None:
        """The network, where this stack makes it."""
        network = self.environment.network
        if self.new_cluster is None or not isinstance(network, NewNetwork):
            return None
        return network

    @property
    def named_cluster(self) -> ClusterByName | None:
        """The EKS cluster that is there already."""
        cluster = self.environment.cluster
        existing = cluster.existing if isinstance(cluster, ExistingCluster) else None
        return existing if isinstance(existing, ClusterByName) else None

    @property
    def in_aws(self) -> bool:
        """Whether the stack makes anything in AWS; with a kubeconfig it does not."""
        return self.new_cluster is not None or self.named_cluster is not None

    @property
    def pools_of_tenants(self) -> frozenset[str]:
        """Names of the pools that tenants share, as far as is known who the tenants are."""
        try:
            tenants = self.environment.tenants or {}
            return frozenset(name for tenant in tenants.values() for name in tenant.pools)
        except UnreadError:
            return frozenset()

    def gpu_types(self, pool: Pool) -> list[tuple[InstanceType, Gpu]]:
        """The instance types of a pool that are known and have a GPU."""
        found = (self.catalog.find(name) for name in pool.instance_types)
        return [(t, t.gpu) for t in found if t is not None and t.gpu is not None]


def catalog_with(environment: Environment, region: str | None, found: list[Finding]) -> Catalog:
    """The catalog with an environment's own entries on top, or one of which nothing is known.

    Args:
        environment: The environment.
        region: AWS region that its prices are for.
        found: Takes what is wrong with the entries.
    """
    try:
        catalog, wrong = catalog_of(environment.catalog, region)
    except UnreadError:
        return cast("Catalog", _UnreadCatalog())
    except Exception as error:  # noqa: BLE001  (as of a check)
        found.append(defect(error, at=("catalog",)))
        return cast("Catalog", _UnreadCatalog())
    found += wrong
    return catalog


class _UnreadCatalog:
    """Stands for a catalog to which something is added that could not be read."""

    def __getattr__(self, name: str) -> NoReturn:
        raise UnreadError(name)
