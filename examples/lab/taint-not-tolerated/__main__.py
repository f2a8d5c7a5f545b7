"""An environment whose node groups get a taint that the environment knows nothing of.

A transform like this is how a company marks its node groups. The device plugin's tolerations come
from the pools, so the taint belongs there: `pools.gpu.taints`.
"""

import pulumi

from eks_gpushare import GpuSharingEnvironment
from eks_gpushare.stack import load_stack

TAINT = {"key": "team", "value": "ml", "effect": "NO_SCHEDULE"}


def taint_gpu_nodes(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
    """Add the company's taint to node groups that have taints already."""
    taints = args.props.get("taints")
    if args.type_ != "aws:eks/nodeGroup:NodeGroup" or not taints:
        return None
    return pulumi.ResourceTransformResult({**args.props, "taints": [*taints, TAINT]}, args.opts)


environment = GpuSharingEnvironment(
    "gpushare", load_stack(), pulumi.ResourceOptions(transforms=[taint_gpu_nodes])
)
