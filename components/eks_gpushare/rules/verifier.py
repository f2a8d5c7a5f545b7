"""Rules about what looks at the running cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.documents.addresses import is_plain_address
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.chart_images import BAD_IMAGE, FLOATING_IMAGE, image_findings
from eks_gpushare.rules.names import namespace_name_fault, own_namespace_fault
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.verifier import (
    LEAST_MIB,
    LONGEST_NAME,
    PORT,
    is_cron_job,
    is_regular,
    memory_mib,
    verifier_namespace,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

VERIFIER = Rule(
    "GPU860",
    "error",
    "What looks at the cluster does so at regular times, knows what for, and tells somebody who is "
    "there.",
    "Minutes of a CronJob are counted from each full hour anew, a push to no address and a stack "
    "that declares nothing fail each Job, and the stack makes and takes away the namespace.",
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/",
)

_BLOCK = "verifier"


@check(Scope.VERIFIER, BAD_IMAGE, FLOATING_IMAGE)
def image(ctx: Context) -> Iterator[Finding]:
    given = ctx.environment.verifier
    if given is not None:
        yield from image_findings((_BLOCK, "image"), given.image, "eks-gpushare-verify:0.1.0")


@check(Scope.VERIFIER, VERIFIER)
def times(ctx: Context) -> Iterator[Finding]:
    given = ctx.environment.verifier
    if given is not None and is_cron_job(given) and not is_regular(given.interval_seconds):
        yield VERIFIER.finding(
            (_BLOCK, "intervalSeconds"),
            f"{given.interval_seconds} seconds are no part of an hour in whole minutes.",
            "Use 300, 360, 600, 720, 900, 1200, 1800 or 3600, or less than 300 for a Deployment.",
        )


@check(Scope.VERIFIER, VERIFIER)
def pushgateway(ctx: Context) -> Iterator[Finding]:
    given = ctx.environment.verifier
    if given is None or given.pushgateway is None:
        return
    at, gateway = (_BLOCK, "pushgateway"), given.pushgateway
    if not is_cron_job(given):
        seconds = given.interval_seconds
        yield VERIFIER.finding(
            at,
            f"Every {seconds} seconds a Deployment looks, whose metrics are served and not pushed.",
            f"Remove the key and have port {PORT} scraped, or set intervalSeconds: 300.",
        )
    elif not is_plain_address(gateway):
        yield VERIFIER.finding(
            at,
            f'"{gateway}" is not the address of a Pushgateway, without a name or password in it.',
            "Write it like http://pushgateway.monitoring.svc:9091.",
        )


@check(Scope.VERIFIER, VERIFIER)
def namespace(ctx: Context) -> Iterator[Finding]:
    given = ctx.environment.verifier
    if given is None:
        return
    namespace = verifier_namespace(given)
    fault = own_namespace_fault(namespace, "what looks at the cluster", "gpushare-verify")
    if fault is not None and namespace == given.namespace:
        yield VERIFIER.finding((_BLOCK, "namespace"), *fault)


@check(Scope.VERIFIER, VERIFIER)
def name(ctx: Context) -> Iterator[Finding]:
    given = ctx.environment.verifier
    if given is None or given.name is None:
        return
    fault = namespace_name_fault(given.name)
    if fault is None and len(given.name) > LONGEST_NAME:
        fault = f'"{given.name}" is longer than {LONGEST_NAME} characters.', "Shorten it."
    if fault is not None:
        yield VERIFIER.finding((_BLOCK, "name"), *fault)


@check(Scope.VERIFIER, VERIFIER)
def memory(ctx: Context) -> Iterator[Finding]:
    given = ctx.environment.verifier
    if given is None:
        return
    found = memory_mib(given)
    if found is None or found < LEAST_MIB:
        what = "is no amount of memory" if found is None else f"is less than {LEAST_MIB}Mi"
        yield VERIFIER.finding(
            (_BLOCK, "memory"),
            f'"{given.memory}" {what}.',
            "Write it like 512Mi or 1Gi; a small cluster takes some 60Mi.",
        )
