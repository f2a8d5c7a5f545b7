"""An environment whose device plugin reads a ConfigMap that somebody wrote by hand.

The components let nobody do that by mistake; a transform of one's own can.
"""

from pathlib import Path

import pulumi
import yaml
from pulumi_kubernetes.core.v1 import ConfigMap

from eks_gpushare import GpuSharingEnvironment
from eks_gpushare.stack import load_stack

FILE = Path(__file__).parent / pulumi.Config().require("configMap")
BY_HAND = yaml.safe_load(FILE.read_text(encoding="utf-8"))


def read_it(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
    """Have the release name the ConfigMap that was written by hand."""
    if args.type_ != "kubernetes:helm.sh/v3:Release":
        return None
    values = {**args.props["values"], "config": {"name": BY_HAND["metadata"]["name"]}}
    return pulumi.ResourceTransformResult({**args.props, "values": values}, args.opts)


environment = GpuSharingEnvironment(
    "gpushare", load_stack(), pulumi.ResourceOptions(transforms=[read_it])
)
ConfigMap(
    "by-hand",
    metadata=BY_HAND["metadata"],
    data=BY_HAND["data"],
    opts=pulumi.ResourceOptions(provider=environment.provider, depends_on=[environment]),
)
