"""How KEDA asks for the length of a queue of SQS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.arns import queue_of
from eks_gpushare.sharing.keda import QUEUE_AUTHENTICATION

if TYPE_CHECKING:
    from eks_gpushare.config.workloads import Workload


def queue_trigger(workload: Workload) -> dict[str, Any] | None:
    """The messages of the queue that wakes a workload; None of one that no queue wakes."""
    named = workload.wake.queue if workload.wake is not None else None
    queue = None if named is None else queue_of(named)
    if queue is None:
        return None
    return {
        "type": "aws-sqs-queue",
        "name": "wake",
        "metadata": {
            "queueURL": queue.url,
            "awsRegion": queue.region,
            "queueLength": "1",
            # What somebody works on is not done, though nobody else sees it.
            "scaleOnInFlight": "true",
        },
        "authenticationRef": {
            "name": QUEUE_AUTHENTICATION,
            "kind": "ClusterTriggerAuthentication",
        },
    }
