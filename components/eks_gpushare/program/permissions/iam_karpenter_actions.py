"""The part of `iam_actions` that Karpenter needs: its queue, what fills it, and its identity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.program.permissions.iam_grants import Grant, ec2, look, of

if TYPE_CHECKING:
    from collections.abc import Mapping

KARPENTER_ACTIONS: Mapping[str, tuple[Grant, ...]] = {
    "aws:cloudwatch/eventRule:EventRule": (
        Grant(
            of(
                "events",
                "DeleteRule DescribeRule ListTagsForResource PutRule TagResource UntagResource",
            ),
            ("arn:{partition}:events:{region}:{account}:rule/{name}",),
        ),
    ),
    "aws:cloudwatch/eventTarget:EventTarget": (
        Grant(
            ("events:ListTargetsByRule", "events:PutTargets", "events:RemoveTargets"),
            ("arn:{partition}:events:{region}:{account}:rule/{rule}",),
        ),
    ),
    # Of the group that EKS makes with the cluster, and tags with its name, which is the value here:
    # https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html (read 2026-11-24).
    "aws:ec2/tag:Tag": (
        look("DescribeTags"),
        Grant(
            ("ec2:CreateTags", "ec2:DeleteTags"),
            ec2("security-group"),
            condition=("StringLike", "aws:ResourceTag/aws:eks:cluster-name", "{value}"),
        ),
    ),
    "aws:sqs/queue:Queue": (
        Grant(
            of(
                "sqs",
                "CreateQueue DeleteQueue GetQueueAttributes ListQueueTags SetQueueAttributes "
                "TagQueue UntagQueue",
            ),
            ("arn:{partition}:sqs:{region}:{account}:{name}",),
        ),
    ),
    "aws:sqs/queuePolicy:QueuePolicy": (
        Grant(
            ("sqs:GetQueueAttributes", "sqs:SetQueueAttributes"),
            ("arn:{partition}:sqs:{region}:{account}:{queueUrl}",),
        ),
    ),
}
"""By type of resource."""
