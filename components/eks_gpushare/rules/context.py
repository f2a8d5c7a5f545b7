"""What a rule sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.config.cluster import ClusterByName, ExistingCluster, NewCluster
from eks_gpushare.config.network import NewNetwork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import date
    from typing import TypeAlias

    from eks_gpushare.catalog import Catalog, Gpu, InstanceType
    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding

    StackRule: TypeAlias = Callable[["Context"], Iterator[Finding]]
    PoolRule: TypeAlias = Callable[["Context", str, Pool], Iterator[Finding]]


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

    @property
    def new_cluster(self) -> NewCluster | None:
        """The cluster, where this stack makes it."""
        cluster = self.environment.cluster
        return cluster if isinstance(cluster, NewCluster) else None

    @property
    def new_network(self) -> NewNetwork | None:
        """The network, where this stack makes it."""
        network = self.environment.network
        made = self.new_cluster is not None and isinstance(network, NewNetwork)
        return network if made and isinstance(network, NewNetwork) else None

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

    def gpu_types(self, pool: Pool) -> list[tuple[InstanceType, Gpu]]:
        """The instance types of a pool that are known and have a GPU."""
        found = (self.catalog.find(name) for name in pool.instance_types)
        return [(t, t.gpu) for t in found if t is not None and t.gpu is not None]
