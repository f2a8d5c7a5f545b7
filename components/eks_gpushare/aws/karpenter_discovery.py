"""The tag by which node classes of one's own find network and security group of a cluster.

The pools of a stack name both by their IDs. The tag is for what others add to its Karpenter, such
as a NodePool without GPUs, whose node class then is as in every guide:
https://karpenter.sh/docs/concepts/nodeclasses/#specsubnetselectorterms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pulumi

DISCOVERY_TAG = "karpenter.sh/discovery"


def tag_security_group(
    name: str,
    group_id: pulumi.Input[str],
    cluster_name: pulumi.Input[str],
    opts: pulumi.ResourceOptions,
) -> pulumi.Resource:
    """Tag the security group that EKS has made for a cluster, which is no resource of the stack.

    Args:
        name: Logical name.
        group_id: The group.
        cluster_name: The cluster.
        opts: Pulumi's resource options.
    """
    from pulumi_aws.ec2 import Tag

    return Tag(name, resource_id=group_id, key=DISCOVERY_TAG, value=cluster_name, opts=opts)
