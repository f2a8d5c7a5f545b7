"""Rules about what starts a workload again that stands at no pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.arns import partition_of_arn, queue_of
from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

WAKE = Rule(
    "GPU859",
    "error",
    "What wakes a workload is one query, or one queue whose length KEDA may read.",
    "KEDA has nothing to ask, or is refused, and the workload is never started.",
    "https://keda.sh/docs/2.20/scalers/aws-sqs/",
)


@check(Scope.WORKLOADS, WAKE)
def wakes_by_one(ctx: Context) -> Iterator[Finding]:
    for name, workload in (ctx.environment.workloads or {}).items():
        wake, at = workload.wake, ("workloads", name, "wake")
        if wake is None:
            continue
        if (wake.query is None) == (wake.queue is None):
            which = "Neither query nor queue is" if wake.query is None else "Both are"
            fix = "Give PromQL for what waits, or the ARN or URL of a queue of SQS."
            yield WAKE.finding(at, f"{which} given.", fix)
        elif wake.queue is not None:
            yield from _queue(ctx, (*at, "queue"), wake.queue)


def _queue(ctx: Context, at: FieldPath, given: str) -> Iterator[Finding]:
    queue = queue_of(given)
    if queue is None:
        example = "arn:aws:sqs:us-west-2:111122223333:jobs"
        message = f'"{given}" is neither the ARN nor the URL of a queue of SQS.'
        fix = f"Write it like {example}, as the console shows it."
        yield WAKE.finding(at, message, fix)
    elif ctx.region is not None:
        own, its = partition_of(ctx.region).id, partition_of_arn(queue.arn)
        if own != its:
            message = f"The queue is in the partition {its}, and the stack in {own}."
            yield WAKE.finding(at, message, "Name a queue in the stack's partition.")


@check(Scope.ENVIRONMENT, WAKE)
def queue_access(ctx: Context) -> Iterator[Finding]:
    """Its operator reads the length of queues by a role, which goes with Pod Identity."""
    keda = ctx.environment.keda
    for name, workload in (ctx.environment.workloads or {}).items():
        if keda is None or workload.wake is None or workload.wake.queue is None:
            continue
        at: FieldPath = ("workloads", name, "wake", "queue")
        if not ctx.in_aws:
            message = "Of a cluster that is known by a kubeconfig nobody can say that it is of EKS."
            fix = "Name the cluster: cluster: {existing: {name: ...}}; or give query."
            yield WAKE.finding(at, message, fix)
        elif not keda.install:
            message = (
                "KEDA is installed by somebody else, and its operator has no role of the stack's."
            )
            yield WAKE.finding(at, message, "Set install: true in keda; or give query.")
