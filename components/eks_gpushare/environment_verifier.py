"""What looks at an environment's cluster, apart since most stacks have none."""

import json
from collections.abc import Collection

import pulumi

from eks_gpushare.aws.refs import ClusterRefs
from eks_gpushare.config.base import converted
from eks_gpushare.config.component_specs import EnvironmentSpec, ShareVerifierSpec
from eks_gpushare.config.verifier import Verifier
from eks_gpushare.live.declared import declared_side
from eks_gpushare.share_verifier import ShareVerifier
from eks_gpushare.sharing.capacity import most_nodes
from eks_gpushare.sharing.plan import PoolPlan
from eks_gpushare.sharing.verifier import memory_for


def register_verifier(
    name: str,
    spec: EnvironmentSpec,
    block: Verifier,
    plans: Collection[PoolPlan],
    refs: ClusterRefs,
    nodes: list[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> ShareVerifier:
    """Register what looks at the cluster.

    Args:
        name: Name of the environment.
        spec: The environment.
        block: How it looks.
        plans: What each pool will be.
        refs: Its cluster.
        nodes: The nodes without GPUs, on which it runs.
        opts: Options that name the parent.
    """
    nodes_of = (most_nodes(plan) or plan.kept for plan in plans)
    wanted = None if block.memory is not None else memory_for(sum(nodes_of))
    memory = {"memory": wanted} if wanted is not None else {}
    wired = pulumi.ResourceOptions(providers=[refs.provider], depends_on=nodes)
    return ShareVerifier._from_spec(
        f"{name}-verifier",
        converted(ShareVerifierSpec, block, **memory),
        json.dumps(declared_side(spec, spec.region), indent=2),
        pulumi.ResourceOptions.merge(opts, wired),
    )
