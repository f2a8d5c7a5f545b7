"""The queue by which EC2 tells Karpenter in time that a node is about to go.

Karpenter cordons and drains the node and starts another one meanwhile. Without the queue pods of a
spot node die with it, two minutes after a warning that nobody has read.
"""

import json

import pulumi
from pulumi_aws.cloudwatch import EventRule, EventTarget
from pulumi_aws.sqs import Queue, QueuePolicy

from eks_gpushare.aws.karpenter_policies import queue_policy
from eks_gpushare.aws.names import prefix_of

_KEPT_SECONDS = 300
"""As Karpenter's own template has it: an older warning is about a node that is gone."""
_LONGEST_QUEUE = 80
"""https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html"""
_LONGEST_RULE = 64
"""https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html"""

_EVENTS = {
    "health": ("aws.health", "AWS Health Event"),
    "spot": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state": ("aws.ec2", "EC2 Instance State-change Notification"),
    "reservation": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
}
"""What Karpenter reads: source and kind of each event. They come for every instance of the account
and region, and it passes over those that are not its own."""


def register_interruptions(
    name: str, tags: dict[str, str] | None, child: pulumi.ResourceOptions
) -> tuple[Queue, list[pulumi.Resource]]:
    """Register the queue, who may write into it, and what does.

    Its name has a random end: SQS takes none for a minute after a queue of that name was deleted.

    Args:
        name: What logical names start with.
        tags: Tags of queue and rules.
        child: Options that name the parent.

    Returns:
        The queue, and all that was registered.
    """
    queue = Queue(
        f"{name}-interruptions",
        name_prefix=prefix_of(f"{name}-interruptions", _LONGEST_QUEUE),
        message_retention_seconds=_KEPT_SECONDS,
        sqs_managed_sse_enabled=True,
        tags=tags,
        opts=child,
    )
    policy = QueuePolicy(
        f"{name}-interruptions",
        queue_url=queue.url,
        policy=queue.arn.apply(queue_policy),
        opts=child,
    )
    made: list[pulumi.Resource] = [queue, policy]
    for event, (source, kind) in _EVENTS.items():
        title = f"{name}-{event}"
        rule = EventRule(
            title,
            name_prefix=prefix_of(title, _LONGEST_RULE),
            description=f"Tells Karpenter: {kind}",
            event_pattern=json.dumps({"source": [source], "detail-type": [kind]}),
            tags=tags,
            opts=child,
        )
        target = EventTarget(
            title,
            rule=rule.name,
            target_id="KarpenterInterruptionQueueTarget",
            arn=queue.arn,
            opts=child,
        )
        made += [rule, target]
    return queue, made
