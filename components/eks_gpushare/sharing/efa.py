"""Elastic Fabric Adapter: what nodes advertise of it, and where its device plugin runs.

Source: `stable/aws-efa-k8s-device-plugin` of aws/eks-charts, at the version in `catalog.versions`.
The images of EKS have the driver and not the plugin
(https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.config.taints import by_key, tolerating
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.sharing.labels import POOL_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.config.taints import Taint

EFA = "vpc.amazonaws.com/efa"
"""The resource of one EFA interface."""
FIRST_CARD_WITHOUT_EFA = frozenset({"p6-b300"})
"""Families whose network card 0 is for IP traffic alone, and whose EFA begins at card 1:
https://github.com/aws/aws-parallelcluster/issues/7143."""


def advertised_interfaces(pool: Pool, instance_type: InstanceType) -> dict[str, int]:
    """What the EFA device plugin makes a node of the pool advertise."""
    return {EFA: instance_type.efa_interfaces} if pool.efa else {}


def efa_cards(instance_type: InstanceType) -> list[tuple[int, int]]:
    """Network card and device index of each EFA interface of a type, none of which carries IP.

    One per card, at device index 0, but 1 on card 0 beside the interface for IP traffic:
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html (read 2026-11-22).
    """
    count = instance_type.efa_interfaces
    if instance_type.family in FIRST_CARD_WITHOUT_EFA:
        return [(card, 0) for card in range(1, count + 1)]
    return [(card, 0 if card else 1) for card in range(count)]


def taken_interfaces(pool: Pool, instance_type: InstanceType) -> int:
    """Interfaces of a node's default network card that are for EFA alone, which pods lack."""
    return sum(card == 0 for card, _ in efa_cards(instance_type)) if pool.efa else 0


def pools_with_efa(environment: Environment) -> dict[str, Pool]:
    """The pools that the stack's EFA device plugin is for; none if the cluster has one already."""
    if environment.gpu_stack.efa_device_plugin is False:
        return {}
    return {name: pool for name, pool in environment.pools.items() if pool.efa}


def efa_plugin_values(
    pools: Iterable[str], taints: Iterable[Taint], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Values of the chart.

    It takes instance types for affinity, of which its own list is never complete and would match
    nodes of others too. A label with the pools' names in its place sends it to exactly them.

    Args:
        pools: Names of the pools.
        taints: All taints that their nodes join with.
        given: The user's values, which go over the derived ones.
    """
    derived: dict[str, Any] = {
        "supportedInstanceLabels": {"keys": [POOL_LABEL], "values": sorted(pools)},
        "tolerations": tolerating(sorted(taints, key=by_key)),
    }
    return merge_values(derived, given, keep_null=True)
