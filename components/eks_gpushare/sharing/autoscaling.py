"""What an autoscaler has to be told of a node that is not there yet.

Karpenter and Cluster Autoscaler both know of a type of instance how many GPUs it has, as EC2 counts
them, and nothing of shares. Each believes what it is told in their place: Karpenter by a
NodeOverlay, Cluster Autoscaler by tags of the node group. Told less than a node advertises, it
pays for nodes that stay empty; told more, it leaves pods waiting or launches a node for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.sharing.efa import EFA
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.sharing.plan import PoolPlan


def promised(plan: PoolPlan, instance_type: str) -> Mapping[str, int]:
    """The GPU resources of a new node, as it will advertise them once its device plugin runs.

    Where no pod can ask for `nvidia.com/gpu`, since the shares have another name, it is told as 0:
    otherwise the autoscaler takes the GPUs of the instance type for it.

    Args:
        plan: Plan of the pool.
        instance_type: One of its types.
    """
    advertised = plan.per_node[instance_type]
    return {GPU: 0} | {name: n for name, n in advertised.items() if name != EFA}
