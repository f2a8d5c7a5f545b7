"""Rules about what happens on a node between its start and kubelet's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.amis import (
    NODEADM_DROPINS_SINCE,
    release_date,
)
from eks_gpushare.catalog.versions import gpu_operator_source
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.images import newer_release, spelt
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.driver_gate import why_no_gate
from eks_gpushare.sharing.mig_boot import boots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

_VALIDATOR = gpu_operator_source("cmd/nvidia-validator/main.go")

OLD_AMI = rule_of("GPU640")
NOT_WAITING = rule_of(
    "GPU642", not_alone="A pool is not told who serves it, and a manager not how its nodes boot."
)
IDLE_WAIT = Rule(
    "GPU643",
    "error",
    "Kubelet is told to wait for the driver where it can wait.",
    "The key would have no effect, or keep a node from joining for nothing.",
    _VALIDATOR,
)


@check(Scope.POOL, OLD_AMI)
def ami_boots(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    date = release_date(pool.ami_version)
    if date is None or pool.ami_family != "al2023" or pool.provisioner == "existing":
        return
    at = ("pools", name, "amiVersion")
    if boots(pool) and date < NODEADM_DROPINS_SINCE:
        yield OLD_AMI.finding(
            at,
            f"Release {pool.ami_version} is older than {spelt(NODEADM_DROPINS_SINCE)}, from which "
            "on nodes read /etc/eks/nodeadm.d.",
            f"Take a release from {spelt(NODEADM_DROPINS_SINCE)} on{newer_release(pool)}.",
        )


@check(Scope.POOL, NOT_WAITING, IDLE_WAIT, by_manager=True)
def waits(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    asked, at = pool.wait_for_driver, ("pools", name, "waitForDriver")
    if asked is None:
        return
    why = why_no_gate(pool)
    if asked and why is not None:
        yield IDLE_WAIT.finding(at, f"Kubelet cannot wait here: {why}.", "Remove the key.")
    elif not asked and why is None and ctx.environment.gpu_stack.manager == "gpuOperator":
        yield NOT_WAITING.finding(
            at,
            "Kubelet may start before the driver, and the GPU Operator then waits for a driver in "
            "a container, for ever.",
            "Remove the key; setting it, or removing it, rolls the nodes of the pool once.",
        )
